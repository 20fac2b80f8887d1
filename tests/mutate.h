// Fuzzing without a fuzzing engine: runs the entry points of fuzz/ on randomly damaged real files
// for some seconds. The sequence is the same in every run; its length depends on the time.
#ifndef PT2_TESTS_MUTATE_H
#define PT2_TESTS_MUTATE_H

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <random>

#include "seeds.h"

namespace pt2::test {

class Mutator {
 public:
  explicit Mutator(std::vector<Bytes> seeds) : seeds_(std::move(seeds)) {}

  Bytes next() {
    Bytes bytes = any_seed();
    for (size_t count = 1 + below(4); count > 0; --count) change(bytes);
    return bytes;
  }

 private:
  // std::uniform_int_distribution is not used: its results differ between standard libraries.
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const Bytes& any_seed() { return seeds_[below(seeds_.size())]; }

  void change(Bytes& bytes) {
    if (bytes.empty()) bytes = any_seed();
    size_t place = below(bytes.size());
    size_t length = std::min(bytes.size() - place, size_t{1} << below(10));
    auto at = bytes.begin() + static_cast<std::ptrdiff_t>(place);
    auto end = at + static_cast<std::ptrdiff_t>(length);
    switch (below(8)) {
      case 0:
        *at ^= std::byte{1} << below(8);
        break;
      case 1:
        *at = static_cast<std::byte>(random_());
        break;
      case 2:
        put_integer(bytes, place);
        break;
      case 3:
        put_digits(bytes, place);
        break;
      case 4:
        bytes.erase(at, bytes.end());
        break;
      case 5:
        bytes.erase(at, end);
        break;
      case 6: {
        Bytes again(at, end);
        bytes.insert(at, again.begin(), again.end());
        break;
      }
      case 7:
        splice(bytes, place);
        break;
    }
  }

  // Writes a little-endian number of a width that zip, pickle and torch.save headers use. It is
  // near the borders of its range or near the old number.
  void put_integer(Bytes& bytes, size_t place) {
    size_t width = std::min(bytes.size() - place, size_t{1} << below(4));
    uint64_t old = 0;
    std::memcpy(&old, bytes.data() + place, width);
    const uint64_t values[] = {0,          1,      ~uint64_t{0}, ~uint64_t{0} >> 1,
                               0x7fffffff, 0xffff, bytes.size(), old + 1,
                               old - 1,    old * 2};
    uint64_t value = values[below(std::size(values))];
    std::memcpy(bytes.data() + place, &value, width);
  }

  // Replaces the next decimal number in the text.
  void put_digits(Bytes& bytes, size_t place) {
    auto is_digit = [](std::byte byte) { return byte >= std::byte{'0'} && byte <= std::byte{'9'}; };
    auto first =
        std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(place), bytes.end(), is_digit);
    auto last = std::find_if_not(first, bytes.end(), is_digit);
    constexpr std::string_view kNumbers[] = {"0",
                                             "-1",
                                             "4294967296",
                                             "9223372036854775807",
                                             "18446744073709551616",
                                             "1e999",
                                             "0.5",
                                             "null",
                                             "\"1\"",
                                             "[]"};
    Bytes number = to_bytes(kNumbers[below(std::size(kNumbers))]);
    auto rest = bytes.erase(first, last);
    bytes.insert(rest, number.begin(), number.end());
  }

  void splice(Bytes& bytes, size_t place) {
    const Bytes& other = any_seed();
    size_t from = below(other.size());
    bytes.resize(place);
    bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
  }

  std::vector<Bytes> seeds_;
  std::mt19937_64 random_{20240229};
};

// Calls `entry` with every seed of `target`, then with damaged seeds. Keeps the current input in
// `<target>_last_input.bin` of the working folder, because a sanitizer ends the process.
inline void run_mutations(std::string_view target, void (*entry)(std::span<const std::byte>),
                          std::chrono::seconds duration = std::chrono::seconds(10)) {
  std::vector<Bytes> seeds = make_seeds(target, PT2_TEST_DATA);
  ASSERT_FALSE(seeds.empty());
  std::string path = std::string(target) + "_last_input.bin";
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
  ASSERT_GE(file, 0) << path;
  auto run = [&](const Bytes& bytes) {
    bool kept = ftruncate(file, static_cast<off_t>(bytes.size())) == 0 &&
                pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    ASSERT_TRUE(kept) << path;
    entry(bytes);
  };
  for (const Bytes& seed : seeds) run(seed);
  auto stop = std::chrono::steady_clock::now() + duration;
  Mutator mutator(std::move(seeds));
  size_t runs = 0;
  for (; std::chrono::steady_clock::now() < stop; ++runs) run(mutator.next());
  close(file);
  unlink(path.c_str());
  std::printf("%zu inputs\n", runs);
}

}  // namespace pt2::test

#endif  // PT2_TESTS_MUTATE_H
