// Row-major copies: clone, contiguous.
#include <cstring>

#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

class CopyStep final : public Step {
 public:
  CopyStep(const BoundNode& node, bool may_share) : Step({&node}), may_share_(may_share) {}

  std::string_view name() const override { return "copy"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& input = first().arguments[0];
    const Tensor* tensor = frame.tensor(input);
    const auto id = Frame::value_id(input);
    if (tensor == nullptr || !tensor->defined() || tensor->numel() == 0 || !id ||
        frame.is_rearranged(*id) || (tensor->is_contiguous() && may_share_))
      return false;
    if (!tensor->is_contiguous()) {
      frame.set(result(), to_row_major(frame, *tensor), false);
      return true;
    }
    Tensor out = frame.make(tensor->sizes(), {}, tensor->dtype());
    frame.launch([from = tensor->raw_data(), to = out.raw_data(),
                  bytes = static_cast<size_t>(out.nbytes())] { std::memcpy(to, from, bytes); });
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  bool may_share_;  // the memory of a row-major operand
};

}  // namespace

StepPointer make_copy(const Planner& planner, const BoundNode& node) {
  if (!is_operator(node, "aten::clone") && !is_operator(node, "aten::contiguous")) return nullptr;
  const Value* given = planner.constant(node, "memory_format");
  const auto* format = given == nullptr ? nullptr : given->get_if<MemoryFormat>();
  const bool shares = is_operator(node, "aten::contiguous");
  if (given == nullptr || (format == nullptr && (shares || !given->is_none()))) return nullptr;
  // Other formats depend on strides.
  if (format != nullptr && *format != MemoryFormat::contiguous &&
      (shares || *format != MemoryFormat::preserve))
    return nullptr;
  return std::make_unique<CopyStep>(node, shares);
}

}  // namespace pt2::run
