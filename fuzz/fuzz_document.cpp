#include <cstddef>
#include <cstdint>
#include <span>

#include "package/package_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pt2::test::fuzz_readable_file(std::as_bytes(std::span(data, size)));
  return 0;
}
