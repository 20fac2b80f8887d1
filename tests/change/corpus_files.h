// Opens files of the corpus.
#ifndef PT2_TESTS_CHANGE_CORPUS_FILES_H
#define PT2_TESTS_CHANGE_CORPUS_FILES_H

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "pt2/package.h"

namespace pt2::test {

inline std::string corpus(std::string_view name) {
  return std::string(PT2_TEST_DATA) + "/corpus/" + std::string(name);
}

inline Package open(const std::string& path) {
  auto package = Package::open(path);
  EXPECT_TRUE(package.has_value()) << path;
  return *std::move(package);
}

}  // namespace pt2::test

#endif  // PT2_TESTS_CHANGE_CORPUS_FILES_H
