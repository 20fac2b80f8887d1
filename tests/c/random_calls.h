// Random calls of the C interface with the arguments of careless programs: NULL, handles in any
// state, arbitrary sizes, dtypes, counts and options. Every call must return.
#ifndef PT2_TESTS_C_RANDOM_CALLS_H
#define PT2_TESTS_C_RANDOM_CALLS_H

#include <cstdint>
#include <string>

namespace pt2::test {

struct RandomCalls {
  uint64_t succeeded = 0;
  uint64_t failed = 0;
};
// Equal seeds make equal calls. `models` is a folder of .pt2 files, with a slash at the end.
RandomCalls make_random_calls(uint64_t seed, uint64_t count, const std::string& models);

}  // namespace pt2::test

#endif  // PT2_TESTS_C_RANDOM_CALLS_H
