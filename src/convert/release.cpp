#include "pt2/release.h"

#include <fmt/format.h>

#include <charconv>

#include "ir/version_facts.h"
#include "pt2/format/schema_json.h"

namespace pt2 {
namespace {

constexpr Release kReleases[] = {
#define PT2_RELEASE(number, torch_version, schema, era, unbounded, refuses, offsets) \
  {number, torch_version, schema, Era::era, Release::Unbounded::unbounded, refuses, offsets},
#include "pt2/releases.def"
};

// Returns the release number of a version such as "2.15.0+cu132"; 0 if the text is no version.
int release_number(std::string_view text) {
  int major = 0, minor = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return 0;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc() || major < 0 || major > 1000 || minor < 0 || minor > 99) return 0;
  return 100 * major + minor;
}

const Release* release_numbered(int number) {
  for (const Release& release : kReleases)
    if (release.number == number) return &release;
  return nullptr;
}

}  // namespace

std::span<const Release> releases() { return kReleases; }

const Release& newest_release() { return *std::rbegin(kReleases); }

const Release* find_release(std::string_view text) {
  if (text.starts_with("torch-")) text.remove_prefix(6);
  return release_numbered(release_number(text));
}

const Release* first_release_with(int schema) {
  for (const Release& release : kReleases)
    if (release.schema >= schema && release.schema / 100 == schema / 100) return &release;
  return nullptr;
}

const Release& release_of(const Program& program) {
  const int number = release_number(program.torch_version);
  if (const Release* release = release_numbered(number)) return *release;
  if (number > newest_release().number) return newest_release();
  const int schema = version_number(program.schema_version);
  const Release* found = kReleases;
  for (const Release& release : kReleases)
    if (release.schema <= schema) found = &release;
  return *found;
}

std::string release_name(const Release& release) {
  return fmt::format("{}.{}", release.number / 100, release.number % 100);
}

}  // namespace pt2
