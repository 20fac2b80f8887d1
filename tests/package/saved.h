// Packages saved to memory.
#ifndef PT2_TESTS_PACKAGE_SAVED_H
#define PT2_TESTS_PACKAGE_SAVED_H

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

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
  return Package::open_bytes(std::as_bytes(std::span(*owner)), owner, "saved.pt2").value();
}

// Saves the contents and opens them again.
inline Package saved(const PackageContents& contents) { return opened(saved_bytes(contents)); }

}  // namespace pt2::test

#endif  // PT2_TESTS_PACKAGE_SAVED_H
