// Memory that the caller provides for the results of a call.
#ifndef PT2_RUN_OUTPUT_MEMORY_H
#define PT2_RUN_OUTPUT_MEMORY_H

#include <optional>
#include <span>
#include <vector>

#include "pt2/model.h"
#include "run/calling_convention.h"

namespace pt2::run {

// Error `argument` unless results can be written to `memory`: it must be defined and writable, and
// no two of its elements may overlap.
Result<void> check_writable(const Tensor& memory);

// Asks the caller for each output's memory at most once. Outputs are counted as in Model::outputs.
class OutputMemory {
 public:
  // `allocate` and `outputs`, the model's, must outlive the object; so must those of the graph,
  // which get_all() needs.
  OutputMemory(const OutputAllocator& allocate, std::span<const ModelValue> outputs,
               std::span<const GraphOutput> graph_outputs = {})
      : allocate_(allocate),
        outputs_(outputs),
        graph_outputs_(graph_outputs),
        given_(outputs.size()) {}

  // The checked memory for an output; undefined where the caller gives none. The memory may overlap
  // inputs: an engine that fills it while inputs are still read must check for that. Error
  // `argument`, at the output, when the memory does not fit.
  Result<Tensor> get(size_t output, Dtype dtype, const Sizes& sizes);

  // The memory for the outputs of the graph, by their position, where all that the caller gives
  // fits what the program records, row-major, and none of it overlaps `inputs` or other memory.
  // Nothing where one would have to look at results first.
  std::vector<std::pair<size_t, Tensor>> get_all(const Graph& graph, std::span<const Value> inputs);

  // Moves tensor results into the caller's memory, where it gave some. Nothing is written before
  // all memory has been obtained and fits. Results may lie anywhere, even in the memory of another
  // output.
  Result<void> fill(std::vector<Value>& results);

 private:
  const OutputAllocator& allocate_;
  std::span<const ModelValue> outputs_;
  std::span<const GraphOutput> graph_outputs_;
  std::vector<std::optional<Tensor>> given_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_OUTPUT_MEMORY_H
