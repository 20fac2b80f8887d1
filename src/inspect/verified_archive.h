// Verifies and opens a file in one step, because a pipe can be read only once.
#ifndef PT2_INSPECT_VERIFIED_ARCHIVE_H
#define PT2_INSPECT_VERIFIED_ARCHIVE_H

#include <string>

#include "pt2/diagnostics.h"
#include "pt2/format/archive.h"
#include "pt2/result.h"
#include "pt2/verify.h"

namespace pt2 {

struct VerifiedArchive {
  Diagnostics findings;
  Result<Archive> archive;  // also opened if verify refused it, as long as it is a zip file
};
VerifiedArchive verify_archive(const std::string& path, Level level, const VerifyOptions& options);

}  // namespace pt2

#endif  // PT2_INSPECT_VERIFIED_ARCHIVE_H
