// A caller's memory for the tensor that an operator is about to allocate.
#ifndef PT2_OPS_RESULT_MEMORY_H
#define PT2_OPS_RESULT_MEMORY_H

#include <optional>

#include "ops/meta.h"

namespace pt2::ops {

// Offers `memory` to this thread's allocations while the object lives: the first tensor of the same
// dtype, sizes and strides is placed there. A caller uses it to receive a result in its own memory.
class ResultMemory {
 public:
  // `memory` is row-major.
  explicit ResultMemory(Tensor memory);
  ~ResultMemory();
  ResultMemory(const ResultMemory&) = delete;
  ResultMemory& operator=(const ResultMemory&) = delete;
  // The memory for a tensor of this Meta. Nothing (nullopt) if none is offered, it does not fit, or
  // it is already taken.
  static std::optional<Tensor> take(const Meta& meta);

 private:
  Tensor memory_;
  ResultMemory* outer_;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_RESULT_MEMORY_H
