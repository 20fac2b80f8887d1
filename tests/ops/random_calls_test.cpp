// Random calls of every operator, under the sanitizers of the build that runs them.
// PT2_RANDOM_CALLS and PT2_RANDOM_SEED choose how many and which, PT2_RANDOM_BYTES how large a
// tensor may be; PT2_RANDOM_TRACE=1 prints each call before it is made, so that the last line is
// the one that crashed, or that does not end: CTest stops a test that runs for too long.
#include "ops/random_calls.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pt2::ops {
namespace {

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

TEST(RandomCalls, NeitherCrashNorAllocateWithoutBound) {
  const auto max_tensor_bytes = static_cast<uint64_t>(number_from("PT2_RANDOM_BYTES", 1 << 20));
  RandomCalls calls(static_cast<uint64_t>(number_from("PT2_RANDOM_SEED", 1)),
                    read_recorded_folder(std::string(PT2_TEST_DATA) + "/ops"));
  const bool trace = std::getenv("PT2_RANDOM_TRACE") != nullptr;
  for (int64_t left = number_from("PT2_RANDOM_CALLS", 4000); left > 0; --left) {
    const RecordedCall call = calls.next();
    if (trace) std::fprintf(stderr, "%s\n", call_text(call).c_str());
    run_call(call, max_tensor_bytes);
  }
}

}  // namespace
}  // namespace pt2::ops
