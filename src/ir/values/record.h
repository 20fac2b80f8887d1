// Compares tensors with a program's records of them.
#ifndef PT2_IR_VALUES_RECORD_H
#define PT2_IR_VALUES_RECORD_H

#include <algorithm>
#include <span>

#include "pt2/ir/graph.h"
#include "pt2/tensor.h"

namespace pt2 {

// True if the rank and all recorded concrete sizes agree; symbolic sizes fit any size.
inline bool fit_sizes(std::span<const int64_t> found, const TensorMeta& record) {
  return std::ranges::equal(found, record.sizes, [](int64_t size, const SymInt& recorded) {
    return recorded.is_symbolic() || recorded.literal() == size;
  });
}

// True if sizes and dtype fit the record; always true for a dtype of a newer release.
inline bool fits_record(const Tensor& found, const TensorMeta& record) {
  const auto dtype = record.dtype.dtype();
  return !dtype || (*dtype == found.dtype() && fit_sizes(found.sizes(), record));
}

// True for symbolic numbers and truth values; false for tensors and objects.
inline bool is_number(const GraphValue& value) {
  return value.kind() != ValueKind::tensor && value.kind() != ValueKind::custom_obj;
}
// Returns a value as a result of its graph: the schema wraps numbers.
inline Argument result_argument(const Graph& graph, ValueId id) {
  return Argument(
      id, is_number(graph.value(id)) ? Argument::Wrapper::symbolic : Argument::Wrapper::plain);
}

}  // namespace pt2

#endif  // PT2_IR_VALUES_RECORD_H
