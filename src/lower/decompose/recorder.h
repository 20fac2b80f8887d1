// Records the calls that a formula makes.
#ifndef PT2_LOWER_DECOMPOSE_RECORDER_H
#define PT2_LOWER_DECOMPOSE_RECORDER_H

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/emitter.h"
#include "ops/table.h"

namespace pt2 {

// The number of a tensor in a formula; 0: not a term.
using TermNumber = int64_t;

// One call, with the given arguments after coercion. term_of identifies its tensors.
struct FormulaCall {
  const ops::Operator* op = nullptr;
  std::vector<Value> arguments{};
  std::vector<Value> results{};
};

// Runs a formula on tensors without elements. The storage offset of a tensor holds its term number.
// This is safe because no shape rule reads the offset. A view that a formula makes without a call
// is not recognised as a known term.
class Recorder : public ops::Inferrer {
 public:
  using Expands = std::function<bool(const ops::Operator&)>;
  // `expands`: true for operators that are replaced by the calls of their formulas. `data_size`:
  // the number of elements that nonzero finds or repeat_interleave gives, if known.
  Recorder(const Expands& expands, std::optional<int64_t> data_size, bool strides_vary)
      : expands_(expands), data_size_(data_size), strides_vary_(strides_vary) {}

  // Records the calls of the operator's formula. The arguments must be bound and numbered.
  Result<std::vector<Value>> expand(const ops::Operator& op, std::vector<Value> bound) {
    return op.def->write_boxed(*op.def, *this, bound);
  }

  Result<std::vector<Value>> call(const ops::Operator& op,
                                  std::span<const Value> arguments) override;
  bool requires_grad(const Tensor& tensor) const override;
  bool strides_vary() const override { return strides_vary_; }
  // Numbers every tensor without elements in `value`, in order.
  void number(Value& value, bool requires_grad);

  const std::vector<FormulaCall>& calls() const { return calls_; }
  // True if a call needed the data size.
  bool depends_on_elements() const { return depends_on_elements_; }

 private:
  Result<std::vector<Value>> infer(const ops::Operator& op, const std::vector<Value>& bound);

  const Expands& expands_;
  const std::optional<int64_t> data_size_;
  const bool strides_vary_;
  bool depends_on_elements_ = false;
  TermNumber last_ = 0;
  std::set<TermNumber> with_gradients_;
  std::vector<FormulaCall> calls_;
};

// The operator's target in a graph, "torch.ops.aten.copy_.default".
std::string written_target(const ops::Operator& op);

inline TermNumber term_of(const Tensor& tensor) {
  return tensor.defined() ? 0 : tensor.storage_offset();
}

template <class Visit>
void for_each_tensor(const Value& value, const Visit& visit) {
  if (const auto* tensor = value.get_if<Tensor>()) visit(*tensor);
  if (const auto* list = value.get_if<Value::List>())
    for (const Value& item : *list) for_each_tensor(item, visit);
}

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_RECORDER_H
