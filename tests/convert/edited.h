// Programs of the corpus, edited and converted.
#ifndef PT2_TESTS_CONVERT_EDITED_H
#define PT2_TESTS_CONVERT_EDITED_H

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pt2/conversion.h"
#include "pt2/package.h"
#include "pt2/save.h"

namespace pt2::test {

inline std::string saved_bytes(const PackageContents& contents) {
  StringSink sink;
  const Result<void> done = save_package(contents, sink, "model");
  EXPECT_TRUE(done) << done.error().text();
  return sink.take();
}

inline Package opened(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return Package::open_bytes(std::as_bytes(std::span(*owner)), owner, "converted.pt2").value();
}

// Saves the contents and opens them again.
inline Package saved(const PackageContents& contents) { return opened(saved_bytes(contents)); }

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
