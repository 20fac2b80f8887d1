// The PyTorch releases that write exported programs, as one table: what `pt2 convert` can write
// for, and what `pt2 info` compares a file with.
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
  // How a range without an upper bound is written.
  enum class Unbounded : uint8_t { clamped, infinite, null };

  int number = 0;                    // 206 is 2.6
  std::string_view torch_version{};  // "2.6.0"
  int schema = 0;                    // as schema::version_number: 802
  Era era = Era::flat;
  Unbounded unbounded = Unbounded::null;
  bool refuses_unknown_fields = false;
  bool has_storage_offsets = false;
};

// Oldest first; static storage.
std::span<const Release> releases();
const Release& newest_release();
// "2.6", "2.6.0", "torch-2.6"; null when there is none.
const Release* find_release(std::string_view text);
// The first release whose schema is at least `schema`, of the same major version; null when none
// is.
const Release* first_release_with(int schema);
// The release that wrote a program: by its torch_version, else by its schema version. For a program
// newer than every release here, the newest.
const Release& release_of(const Program& program);
// "2.6".
std::string release_name(const Release& release);

}  // namespace pt2

#endif  // PT2_RELEASE_H
