// Products of one-byte integers, as torchao writes them, by all threads.
#include "base/memory_account.h"
#include "kernels/products/integer_products.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

class IntegerProductStep final : public Step {
 public:
  explicit IntegerProductStep(const BoundNode& node) : Step({&node}) {}

  std::string_view name() const override { return "product"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* left = frame.tensor(first().arguments[0]);
    const Tensor* right = frame.tensor(first().arguments[1]);
    const bool is_unsigned = has_elements(left, Dtype::uint8);
    if (!is_unsigned && !has_elements(left, Dtype::int8)) return false;
    if (!has_elements(right, Dtype::int8) || left->dim() != 2 || right->dim() != 2 ||
        left->size(1) != right->size(0))
      return false;
    const int64_t rows = left->size(0), columns = right->size(1), depth = left->size(1);
    // Transposed weights of linear layers have this layout.
    if (right->stride(0) != 1 || right->stride(1) < depth) return false;
    const Tensor lying = to_row_major(frame, *left);
    Tensor out = frame.make({rows, columns}, {}, Dtype::int32);
    MemoryAccount::count_products({out.numel(), depth});
    const kernels::IntegerProduct product{
        .rows = rows,
        .columns = columns,
        .depth = depth,
        .left = lying.raw_data(),
        .is_unsigned = is_unsigned,
        .left_stride = depth,
        .right = reinterpret_cast<const int8_t*>(right->raw_data()),
        .right_stride = right->stride(1),
        .out = out.data<int32_t>(),
        .out_stride = columns};
    frame.launch(
        [product, threads = frame.threads()] { kernels::multiply_integers(product, threads); });
    frame.set(result(), std::move(out), false);
    return true;
  }
};

}  // namespace

StepPointer make_integer_product(const Planner&, const BoundNode& node) {
  return std::make_unique<IntegerProductStep>(node);
}

}  // namespace pt2::run
