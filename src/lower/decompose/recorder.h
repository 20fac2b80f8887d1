// What a formula calls, written down call by call.
#ifndef PT2_LOWER_DECOMPOSE_RECORDER_H
#define PT2_LOWER_DECOMPOSE_RECORDER_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/emitter.h"
#include "ops/table.h"

namespace pt2 {

// A tensor of a formula; 0 is none.
using TermNumber = int64_t;

// One call. Arguments as they were given, coerced; tensors are those that term_of knows.
struct FormulaCall {
  const ops::Operator* op = nullptr;
  std::vector<Value> arguments{};
  std::vector<Value> results{};
};

// Tensors have no elements here. What their storage offset would be says which term they are: no
// rule looks at it, and a view that a formula makes without a call is not known any more.
class Recorder : public ops::Inferrer {
 public:
  using Expands = std::function<bool(const ops::Operator&)>;
  // Operators for which `expands` holds are replaced by what their formulas call.
  // `data_size` is how many places nonzero finds, if that is known; `autocast` the dtype of the
  // region of torch.autocast around the node, if there is one.
  Recorder(const Expands& expands, std::optional<int64_t> data_size, std::optional<Dtype> autocast)
      : expands_(expands), data_size_(data_size), autocast_(autocast) {}

  // What the formula of the operator calls. Arguments are bound and numbered.
  Result<std::vector<Value>> expand(const ops::Operator& op, std::vector<Value> bound);

  Result<std::vector<Value>> call(const ops::Operator& op,
                                  std::span<const Value> arguments) override;
  // Gives every tensor in it that has no elements a number, in order.
  void number(Value& value);

  const std::vector<FormulaCall>& calls() const { return calls_; }

 private:
  Result<std::vector<Value>> infer(const ops::Operator& op, const std::vector<Value>& bound);

  const Expands& expands_;
  const std::optional<int64_t> data_size_;
  const std::optional<Dtype> autocast_;
  bool is_cast_ = false;  // autocast has treated the operator whose formula is followed
  TermNumber last_ = 0;
  std::vector<FormulaCall> calls_;
};

// "torch.ops.aten.copy_.default", under which the operator stands in a graph.
std::string written_target(const ops::Operator& op);

inline TermNumber term_of(const Tensor& tensor) {
  return tensor.defined() ? 0 : tensor.storage_offset();
}

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_RECORDER_H
