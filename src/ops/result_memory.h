// A caller's memory for what an operator is about to allocate.
#ifndef PT2_OPS_RESULT_MEMORY_H
#define PT2_OPS_RESULT_MEMORY_H

#include <optional>

#include "ops/meta.h"

namespace pt2::ops {

// Memory for the next tensor of its dtype and sizes that is allocated on this thread while the
// object lives: a result that a caller wants there.
class ResultMemory {
 public:
  // Row-major.
  explicit ResultMemory(Tensor memory);
  ~ResultMemory();
  ResultMemory(const ResultMemory&) = delete;
  ResultMemory& operator=(const ResultMemory&) = delete;
  // Nothing where there is none, or where it is taken.
  static std::optional<Tensor> take(const Meta& meta);

 private:
  Tensor memory_;
  ResultMemory* outer_;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_RESULT_MEMORY_H
