// Runs the program fuzzer on random edits. PT2_FUZZ_RUNS is the number of edits, PT2_FUZZ_SEED the
// seed. PT2_FUZZ_ONLY=N makes only the Nth and keeps its file in program_fuzz.pt2. The working
// folder's program_fuzz_number.txt holds the current number, because a sanitizer ends the process.
#include "convert/program_fuzz.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace pt2::test {
namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

Bytes choices_of(uint64_t seed, uint64_t number) {
  std::mt19937_64 random(seed * 1'000'003 + number);
  Bytes bytes(64);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(ProgramFuzz, EditedProgramsAreRefusedOrComputed) {
  const uint64_t seed = number_from("PT2_FUZZ_SEED", 1), runs = number_from("PT2_FUZZ_RUNS", 1500);
  const char* only = std::getenv("PT2_FUZZ_ONLY");
  ProgramFuzz fuzz(PT2_TEST_DATA, only != nullptr ? "program_fuzz.pt2" : "");
  const uint64_t first = only != nullptr ? number_from("PT2_FUZZ_ONLY", 0) : 0;
  for (uint64_t i = first; i < (only != nullptr ? first + 1 : runs); ++i) {
    std::ofstream("program_fuzz_number.txt") << seed << ' ' << i;
    const std::string fault = fuzz.run(choices_of(seed, i));
    EXPECT_EQ(fault, "") << "PT2_FUZZ_SEED=" << seed << " PT2_FUZZ_ONLY=" << i;
  }
  std::filesystem::remove("program_fuzz_number.txt");
  std::printf("%zu loaded, %zu computed\n", fuzz.loaded(), fuzz.computed());
  if (only == nullptr) {
    EXPECT_GT(fuzz.computed(), runs / 20);
  }
}

}  // namespace
}  // namespace pt2::test
