// Programs of the corpus, edited and converted.
#ifndef PT2_TESTS_CONVERT_EDITED_H
#define PT2_TESTS_CONVERT_EDITED_H

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "package/saved.h"
#include "pt2/conversion.h"

namespace pt2::test {

inline Package corpus_file(const std::string& file) {
  return Package::open(std::string(PT2_TEST_DATA) + "/corpus/" + file + ".pt2").value();
}

// Returns the blockers of the conversion, one per line.
inline std::string blockers(const Package& package, std::string_view target) {
  const Conversion conversion =
      convert(package, {.target = conversion_target(target).value()}).value();
  std::string lines;
  for (const Blocker& blocker : conversion.blockers) lines += blocker.line() + "\n";
  return lines;
}
inline std::string blockers(const std::string& file, std::string_view target) {
  return blockers(corpus_file(file), target);
}

// Returns the package with its program changed by `edit`.
template <class Edit>
Package edited(const Package& package, Edit&& edit) {
  Program program = **package.program();
  edit(program);
  PackageContents contents = package_contents(package).value();
  contents.programs[0].json = program_json(program);
  return saved(contents);
}

// As above, of a corpus file.
template <class Edit>
Package edited(const std::string& file, Edit&& edit) {
  return edited(corpus_file(file), std::forward<Edit>(edit));
}

}  // namespace pt2::test

#endif  // PT2_TESTS_CONVERT_EDITED_H
