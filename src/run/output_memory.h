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

// Pieces of memory. Comparing many takes as long as sorting them: a program may have thousands of
// inputs and outputs.
class MemoryRanges {
 public:
  void add(const Storage& storage);
  // True if a piece shares bytes with the storage, or with one of the others.
  bool overlap(const Storage& storage) { return overlap(range_of(storage)); }
  bool overlap(const MemoryRanges& others);
  // True if two pieces share bytes.
  bool overlap_each_other();

 private:
  struct Range {
    const std::byte* begin;
    const std::byte* end;
  };
  static Range range_of(const Storage& storage) {
    return {storage.data(), storage.data() + storage.size()};
  }
  void sort();
  bool overlap(const Range& range);

  std::vector<Range> ranges_;  // once sorted, without overlaps
  bool is_sorted_ = true;
  bool had_overlaps_ = false;
};

// Asks the caller for the memory of each output at most once. Outputs are indexed as in
// Model::outputs.
class OutputMemory {
 public:
  // `allocate`, `outputs` (the model's) and `graph_outputs` must outlive the object. Only get_all()
  // needs `graph_outputs`.
  OutputMemory(const OutputAllocator& allocate, std::span<const ModelValue> outputs,
               std::span<const GraphOutput> graph_outputs = {})
      : allocate_(allocate),
        outputs_(outputs),
        graph_outputs_(graph_outputs),
        given_(outputs.size()) {}

  // Returns the checked memory for an output; undefined if the caller gives none. The memory may
  // overlap inputs: an engine that fills it while inputs are still read must check for that. Error
  // `argument`, at the output, if the memory does not fit.
  Result<Tensor> get(size_t output, Dtype dtype, const Sizes& sizes);

  // Returns the caller's memory for the outputs of the graph, with their positions. Empty if the
  // program records no dtype or no static shape of an output, or more bytes than a call may hold,
  // or if memory does not fit the record, is not row-major, or overlaps `inputs` or other memory.
  std::vector<std::pair<size_t, Tensor>> get_all(const Graph& graph, std::span<const Value> inputs);

  // Asks for the memory of all results, as fill() does, but writes nothing.
  Result<void> get_for(std::span<const Value> results);

  // Copies tensor results into the caller's memory where it gave some, and replaces them. Nothing
  // is written before all memory has been obtained and fits. Results may lie anywhere, even in the
  // memory of another output.
  Result<void> fill(std::vector<Value>& results);

 private:
  const OutputAllocator& allocate_;
  std::span<const ModelValue> outputs_;
  std::span<const GraphOutput> graph_outputs_;
  std::vector<std::optional<Tensor>> given_;
  std::optional<Error> failed_;  // of `allocate_`: it ends the call, so nothing more is asked for
};

}  // namespace pt2::run

#endif  // PT2_RUN_OUTPUT_MEMORY_H
