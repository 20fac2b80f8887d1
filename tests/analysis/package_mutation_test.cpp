// The whole-file fuzzer without an engine: real files with bytes changed, for a few seconds.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <random>

#include "package/corpus.h"
#include "package/package_fuzz.h"

namespace pt2 {
namespace {

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Small files, so that mutations hit structure; one of each layout.
std::vector<std::vector<std::byte>> seeds() {
  std::vector<std::vector<std::byte>> found;
  for (const corpus::File& file : corpus::files()) {
    if (file.name != "mlp.pt2" && file.name != "tied_weights.pt2" && file.name != "cond.pt2")
      continue;
    found.push_back(read_file(file.path));
  }
  return found;
}

void mutate(std::vector<std::byte>& bytes, std::mt19937_64& random) {
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes && !bytes.empty(); ++i) {
    const size_t position = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[position] = static_cast<std::byte>(random());
        break;
      case 1:
        bytes[position] ^= static_cast<std::byte>(1 << random() % 8);
        break;
      case 2:
        // Digits and punctuation keep JSON readable more often.
        bytes[position] = static_cast<std::byte>("0123456789-\"[]{},: "[random() % 19]);
        break;
      case 3: {
        const size_t from = random() % bytes.size();
        const size_t length =
            std::min<size_t>(random() % 64, bytes.size() - std::max(from, position));
        std::memmove(&bytes[position], &bytes[from], length);
        break;
      }
    }
  }
  if (random() % 20 == 0) bytes.resize(random() % (bytes.size() + 1));
}

TEST(PackageMutation, NoChangedFileDoesHarm) {
  const auto originals = seeds();
  ASSERT_GE(originals.size(), 15u);
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  size_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    std::vector<std::byte> bytes = originals[random() % originals.size()];
    mutate(bytes, random);
    fuzz_file(bytes);
  }
  EXPECT_GT(runs, 10u);
}

}  // namespace
}  // namespace pt2
