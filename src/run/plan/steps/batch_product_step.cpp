// Products of matrices that both change from call to call: each right operand is packed where it is
// used.
#include "kernels/product.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// A tensor as matrices: one for each index of its leading dimensions.
struct Matrices {
  Sizes batch;
  Sizes strides;  // of these
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  const float* data = nullptr;

  explicit Matrices(const Tensor& of)
      : batch(of.sizes().begin(), of.sizes().end() - 2),
        strides(of.strides().begin(), of.strides().end() - 2),
        rows(of.size(of.dim() - 2)),
        columns(of.size(of.dim() - 1)),
        row_stride(of.stride(of.dim() - 2)),
        column_stride(of.stride(of.dim() - 1)),
        data(of.data<float>()) {}

  const float* matrix(int64_t index) const {
    int64_t offset = 0;
    for (size_t dim = batch.size(); dim-- > 0;) {
      offset += index % batch[dim] * strides[dim];
      index /= batch[dim];
    }
    return data + offset;
  }
};

struct BatchProduct {
  Matrices left;
  Matrices right;
  int64_t count;  // of matrices
  float* packed;  // a panel for each thread
  int64_t panel;  // floats of one
  float* out;

  void run(kernels::ThreadPool* threads) const {
    if (count == 1) return multiply(0, 0, threads);
    kernels::run_tasks(threads, count,
                       [&](int64_t index, int thread) { multiply(index, thread, nullptr); });
  }

 private:
  void multiply(int64_t index, int64_t thread, kernels::ThreadPool* threads) const {
    float* memory = packed + thread * panel;
    kernels::pack_right(right.matrix(index),
                        {.depth = left.columns,
                         .columns = right.columns,
                         .depth_stride = right.row_stride,
                         .column_stride = right.column_stride},
                        memory, threads);
    kernels::Product product;
    product.rows = left.rows;
    product.columns = right.columns;
    product.depth = left.columns;
    product.left = left.matrix(index);
    product.left_stride = left.row_stride;
    product.packed = memory;
    product.out = out + index * left.rows * right.columns;
    product.out_stride = right.columns;
    kernels::multiply_packed(product, threads);
  }
};

class BatchProductStep final : public Step {
 public:
  explicit BatchProductStep(const BoundNode& node) : Step({&node}) {}

  std::string_view name() const override { return "batch_product"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* left = frame.tensor(first().arguments[0]);
    const Tensor* right = frame.tensor(first().arguments[1]);
    if (!is_float(left) || !is_float(right) || left->dim() < 2 || left->dim() != right->dim())
      return false;
    const Matrices b(*right);
    const Tensor rows = left->strides().back() == 1 ? *left : to_row_major(frame, *left);
    const Matrices a(rows);
    if (a.batch != b.batch || a.columns != b.rows) return false;
    Sizes sizes = left->sizes();
    sizes.back() = b.columns;
    Tensor out = frame.make(std::move(sizes));
    // Operands of stride 0 have more elements than memory.
    constexpr int64_t kWidestPanel = 64;
    const int64_t panels = kernels::thread_count(frame.threads());
    const auto bound = checked_numel({{a.columns, b.columns + kWidestPanel, panels}});
    if (!bound || *bound > INT64_MAX / 64) return false;
    const int64_t panel = kernels::packed_size(a.columns, b.columns);
    Tensor packed = frame.make({panel * panels});
    const BatchProduct product{
        a, b, out.numel() / (a.rows * b.columns), packed.data<float>(), panel, out.data<float>()};
    frame.launch([product, threads = frame.threads()] { product.run(threads); });
    frame.set(result(), std::move(out), false);
    return true;
  }
};

}  // namespace

StepPointer make_batch_product(const Planner&, const BoundNode& node) {
  return std::make_unique<BatchProductStep>(node);
}

}  // namespace pt2::run
