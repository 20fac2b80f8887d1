// Calls of the C interface with whatever a careless program may give it: NULL, handles in any
// state, sizes, dtypes, counts and options of all kinds. Every call must end in an answer.
#ifndef PT2_TESTS_C_RANDOM_CALLS_H
#define PT2_TESTS_C_RANDOM_CALLS_H

#include <cstdint>
#include <string>

namespace pt2::test {

struct RandomCalls {
  uint64_t succeeded = 0;
  uint64_t failed = 0;
};
// The same seed makes the same calls. `models` is a folder of .pt2 files with its slash.
RandomCalls make_random_calls(uint64_t seed, uint64_t count, const std::string& models);

}  // namespace pt2::test

#endif  // PT2_TESTS_C_RANDOM_CALLS_H
