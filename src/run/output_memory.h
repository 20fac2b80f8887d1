// The caller's memory for the results of a call.
#ifndef PT2_RUN_OUTPUT_MEMORY_H
#define PT2_RUN_OUTPUT_MEMORY_H

#include <optional>
#include <span>
#include <vector>

#include "pt2/model.h"

namespace pt2::run {

// Error `argument` unless results can be written to `memory`: it is defined and writable, and no
// two elements share a place.
Result<void> check_writable(const Tensor& memory);

// Asks the caller for each output's memory at most once. Outputs are counted as in Model::outputs.
class OutputMemory {
 public:
  // Both must outlive it; `outputs` are those of the model.
  OutputMemory(const OutputAllocator& allocate, std::span<const ModelValue> outputs)
      : allocate_(allocate), outputs_(outputs), given_(outputs.size()) {}

  // The memory for an output, checked; undefined where the caller has none. It may overlap with
  // inputs: who fills it while inputs are still read looks whether it does. Error `argument`, at
  // the output, when it does not fit.
  Result<Tensor> get(size_t output, Dtype dtype, const Sizes& sizes);

  // Moves results into their memory, those of them that are tensors and have some: nothing is
  // written before all the memory is there and fits. Results may lie anywhere, in the memory of
  // another output, too.
  Result<void> fill(std::vector<Value>& results);

 private:
  const OutputAllocator& allocate_;
  std::span<const ModelValue> outputs_;
  std::vector<std::optional<Tensor>> given_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_OUTPUT_MEMORY_H
