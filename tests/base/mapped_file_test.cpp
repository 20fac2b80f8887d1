// Files that cannot be mapped.
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

namespace pt2 {
namespace {

TEST(MappedFile, OfAPipeHasAllThatItGives) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{65536}, size_t{65537}, size_t{3'000'001}}) {
    std::string sent(size, '\0');
    for (size_t i = 0; i < size; ++i) sent[i] = static_cast<char>(i * 31 + i / 65536);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::thread writer([&] {
      for (size_t at = 0; at < size;) {
        const ssize_t count = write(ends[1], sent.data() + at, size - at);
        if (count <= 0) break;
        at += static_cast<size_t>(count);
      }
      close(ends[1]);
    });
    const auto file = MappedFile::open("/proc/self/fd/" + std::to_string(ends[0]), size);
    writer.join();
    close(ends[0]);
    ASSERT_TRUE(file) << file.error().text();
    const std::span<const std::byte> bytes = (*file)->bytes();
    ASSERT_EQ(bytes.size(), size);
    EXPECT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span(sent)))) << size;
  }
}

TEST(MappedFile, OfADeviceIsNoLargerThanAllowed) {
  const auto file = MappedFile::open("/dev/zero", 100'000);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::limit);
}

}  // namespace
}  // namespace pt2
