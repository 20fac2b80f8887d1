// Entry point for fuzzing: reads any bytes as a file of tensors or recorded calls, and writes the
// result.
#ifndef PT2_TESTS_TENSOR_FILES_TENSOR_FILES_FUZZ_H
#define PT2_TESTS_TENSOR_FILES_TENSOR_FILES_FUZZ_H

#include <span>
#include <string>

#include "pt2/format/npy.h"
#include "pt2/format/safetensors.h"
#include "pt2/tensor_file.h"
#include "pt2/tools/recorded_calls.h"

namespace pt2::test {

// Adds up all elements: this reads every byte of a tensor, so sanitizers detect invalid memory.
inline unsigned touch(const Tensor& tensor) {
  unsigned sum = 0;
  const Tensor copy = tensor.contiguous();
  for (int64_t i = 0; i < copy.nbytes(); ++i) sum += std::to_integer<unsigned>(copy.raw_data()[i]);
  return sum;
}

inline void fuzz_tensor_files(std::span<const std::byte> bytes) {
  const pt2::Record record =
      make_record(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  Limits limits;
  limits.max_inflated_bytes = 1 << 20;
  if (const Result<NamedTensors> tensors = read_tensors(record, limits)) {
    for (const auto& [name, tensor] : *tensors) touch(tensor);
    StringSink npz;
    static_cast<void>(write_npz(*tensors, npz));
  }
  if (const Result<Safetensors> file = read_safetensors(record)) {
    StringSink copy;
    static_cast<void>(write_safetensors(*file, copy));
    const Result<RecordedCalls> calls = read_recorded_calls(*file);
    if (!calls) return;
    for (const RecordedCall& call : calls->calls)
      for (const Value& value : call.inputs)
        if (const auto* tensor = value.get_if<Tensor>()) touch(*tensor);
  }
}

}  // namespace pt2::test

#endif  // PT2_TESTS_TENSOR_FILES_TENSOR_FILES_FUZZ_H
