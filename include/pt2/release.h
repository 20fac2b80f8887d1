// The table of PyTorch releases that write exported programs. The command `pt2 convert` writes for
// these releases, and `pt2 info` compares a file with them.
#ifndef PT2_RELEASE_H
#define PT2_RELEASE_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pt2/format/archive.h"
#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

struct Release {
  // The form of a range without an upper bound in files.
  enum class Unbounded : uint8_t { clamped, infinite, null };

  int number = 0;                    // 206 is 2.6
  std::string_view torch_version{};  // "2.6.0"
  int schema = 0;                    // as schema::version_number: 802
  Era era = Era::flat;
  Unbounded unbounded = Unbounded::null;
  bool refuses_unknown_fields = false;
  bool has_storage_offsets = false;
};

// Returns all releases, oldest first. Static storage.
std::span<const Release> releases();
const Release& newest_release();
// Finds a release by "2.6", "2.6.0" or "torch-2.6"; null if there is none.
const Release* find_release(std::string_view text);
// Returns the first release whose schema is at least `schema` and has the same major version; null
// if there is none.
const Release* first_release_with(int schema);
// Returns the release that wrote a program, according to its torch_version, or else to its schema
// version. For a program newer than all known releases, returns the newest release.
const Release& release_of(const Program& program);
// Returns the name of a release, "2.6".
std::string release_name(const Release& release);

}  // namespace pt2

#endif  // PT2_RELEASE_H
