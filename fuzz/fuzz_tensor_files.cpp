#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor_files/tensor_files_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pt2::test::fuzz_tensor_files(std::as_bytes(std::span(data, size)));
  return 0;
}
