// Products of matrices that both change from call to call, and of all complex ones: each right
// operand is packed at its use.
#include <algorithm>

#include "base/memory_account.h"
#include "kernels/products/complex_parts.h"
#include "kernels/products/half_products.h"
#include "kernels/products/product.h"
#include "kernels/products/row_products.h"
#include "ops/loops.h"
#include "run/plan/halves.h"
#include "run/plan/layout.h"
#include "run/plan/steps/product_weights.h"

namespace pt2::run {
namespace {

// A tensor as matrices, one for each index of `batch`, to which the leading dimensions broadcast.
struct Matrices {
  Sizes batch;
  Sizes strides;  // of the batch dimensions
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  int64_t element = 0;  // in bytes
  const std::byte* data = nullptr;

  Matrices(const Tensor& of, const Sizes& all)
      : batch(all),
        rows(of.size(of.dim() - 2)),
        columns(of.size(of.dim() - 1)),
        row_stride(of.stride(of.dim() - 2)),
        column_stride(of.stride(of.dim() - 1)),
        element(dtype_size(of.dtype())),
        data(of.raw_data()) {
    for (size_t dim = 0; dim < batch.size(); ++dim)
      strides.push_back(stride_along(of, dim, batch.size() + 2));
  }

  template <class Element>
  const Element* matrix(int64_t index) const {
    int64_t offset = 0;
    for (size_t dim = batch.size(); dim-- > 0;) {
      offset += index % batch[dim] * strides[dim];
      index /= batch[dim];
    }
    return reinterpret_cast<const Element*>(data + offset * element);
  }
};

// How matrices are multiplied.
enum class Way : uint8_t {
  packed,    // the right matrix is packed
  few_rows,  // the right matrix is read in place
  column,    // the left matrix is read in place, with the right one's only column
};
// The largest number of left rows for Way::few_rows.
constexpr int64_t kRowsToRead = 4;

// All threads multiply a single matrix together. Of several matrices, each has one thread.
template <class Product>
void multiply_each(const Product& product, kernels::ThreadPool* threads) {
  if (product.count == 1) return product.multiply(0, 0, threads);
  kernels::run_tasks(threads, product.count,
                     [&](int64_t index, int thread) { product.multiply(index, thread, nullptr); });
}

struct BatchProduct {
  Matrices left;
  Matrices right;
  Way way;
  int64_t count;  // of matrices
  float* packed;  // a panel for each thread
  int64_t panel;  // floats in a panel
  const float* bias;
  float* out;

  void multiply(int64_t index, int64_t thread, kernels::ThreadPool* threads) const {
    const auto *from = left.matrix<float>(index), *by = right.matrix<float>(index);
    float* to = out + index * left.rows * right.columns;
    if (way != Way::packed) return multiply_few(from, by, to, threads);
    float* memory = packed + thread * panel;
    kernels::pack_right(by,
                        {.depth = left.columns,
                         .columns = right.columns,
                         .depth_stride = right.row_stride,
                         .column_stride = right.column_stride},
                        memory, threads);
    kernels::Product product;
    product.rows = left.rows;
    product.columns = right.columns;
    product.depth = left.columns;
    product.left = from;
    product.left_stride = left.row_stride;
    product.packed = memory;
    product.out = to;
    product.out_stride = right.columns;
    product.epilogue.bias = bias;
    kernels::multiply_packed(product, threads);
  }

 private:
  void multiply_few(const float* from, const float* by, float* to,
                    kernels::ThreadPool* threads) const {
    kernels::RowProduct product{.rows = left.rows,
                                .columns = right.columns,
                                .depth = left.columns,
                                .left = from,
                                .left_stride = left.row_stride,
                                .right = by,
                                .out = to,
                                .out_stride = right.columns,
                                .epilogue = {.bias = bias}};
    product.turned = right.column_stride != 1;
    product.right_stride = product.turned ? right.column_stride : right.row_stride;
    if (way == Way::column) {
      product.rows = 1;
      product.columns = left.rows;
      product.left = by;
      product.right = from;
      product.turned = left.column_stride == 1;
      product.right_stride = product.turned ? left.row_stride : left.column_stride;
    }
    kernels::multiply_rows(product, threads);
  }
};

// Products of halves, which are packed or read in place as halves. Sums are rounded some rows at a
// time.
struct HalfBatchProduct {
  static constexpr int64_t kRowsAtOnce = 256;

  Matrices left;
  Matrices right;
  Way way;
  Dtype dtype;
  int64_t count;  // of matrices
  float* packed;  // for each thread a panel, or its few rows as floats
  int64_t panel;  // floats in a panel
  float* sums;    // some rows for each thread
  const float* bias;
  std::byte* out;

  int64_t panel_size() const {
    return way == Way::packed ? kernels::packed_half_size(left.columns, right.columns) / 2 + 1
                              : kRowsToRead * left.columns;
  }
  int64_t rows_at_once() const {
    return way == Way::packed ? std::min(left.rows, kRowsAtOnce) : left.rows;
  }

  void multiply(int64_t index, int64_t thread, kernels::ThreadPool* threads) const {
    if (way != Way::packed) return multiply_few(index, thread, threads);
    const kernels::HalfWeights weights = weights_of(index);
    auto* memory = reinterpret_cast<uint16_t*>(packed + thread * panel);
    kernels::pack_halves(weights, memory, threads);
    kernels::HalfProduct part{.left_stride = left.row_stride,
                              .bias = bias,
                              .out = sums + thread * rows_at_once() * right.columns,
                              .out_stride = right.columns};
    for (int64_t row = 0; row < left.rows; row += kRowsAtOnce) {
      part.rows = std::min(kRowsAtOnce, left.rows - row);
      part.left = left.matrix<uint16_t>(index) + row * left.row_stride;
      kernels::multiply_packed_halves(part, weights, memory, threads);
      narrow_to_halves(dtype, part.out, part.rows * right.columns,
                       out + (index * left.rows + row) * right.columns * left.element);
    }
  }

 private:
  kernels::HalfWeights weights_of(int64_t index) const {
    return {.type = rounding_of(dtype),
            .depth = left.columns,
            .columns = right.columns,
            .right = right.matrix<uint16_t>(index),
            .depth_stride = right.row_stride,
            .column_stride = right.column_stride};
  }

  void multiply_few(int64_t index, int64_t thread, kernels::ThreadPool* threads) const {
    const bool is_column = way == Way::column;
    const uint16_t* few = (is_column ? right : left).matrix<uint16_t>(index);
    const int64_t depth = left.columns;
    kernels::RowProduct product{.rows = is_column ? 1 : left.rows,
                                .left = packed + thread * panel,
                                .left_stride = depth,
                                .out = sums + thread * rows_at_once() * right.columns,
                                .out_stride = right.columns,
                                .epilogue = {.bias = bias}};
    for (int64_t row = 0; row < product.rows; ++row)
      widen_halves(dtype, reinterpret_cast<const std::byte*>(few + row * left.row_stride), depth,
                   packed + thread * panel + row * depth);
    kernels::HalfWeights weights = weights_of(index);
    if (is_column) {
      weights.columns = left.rows;
      weights.right = left.matrix<uint16_t>(index);
      weights.depth_stride = left.column_stride;
      weights.column_stride = left.row_stride;
    }
    kernels::multiply_half_rows(product, weights, {few, left.row_stride}, threads);
    const int64_t results = left.rows * right.columns;
    narrow_to_halves(dtype, product.out, results, out + index * results * left.element);
  }
};

class BatchProductStep final : public Step {
 public:
  BatchProductStep(const Planner& planner, const BoundNode& node)
      : Step({&node}),
        is_linear_(is_operator(node, "aten::linear")),
        has_first_bias_(is_operator(node, "aten::addmm")),
        ranks_(product_ranks(node)) {
    const auto id = Frame::value_id(operand(1));
    const Tensor* known = id ? planner.elements(*id) : nullptr;
    if (known != nullptr && known->dtype() == Dtype::complex64 && known->dim() > 1 &&
        !has_contiguous_lines(*known))
      row_major_ = planner.row_major(*known);
  }

  std::string_view name() const override { return kBatchProduct; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* left = frame.tensor(operand(0));
    const Tensor* right = row_major_ ? &*row_major_ : frame.tensor(operand(1));
    const Tensor* bias = is_linear_ || has_first_bias_ ? frame.tensor(operand(2)) : nullptr;
    if (!are_numbers(left) || !are_numbers(right) || left->dtype() != right->dtype() ||
        !ProductRanks::fits(ranks_.left, *left) || !ProductRanks::fits(ranks_.right, *right) ||
        (ranks_.left == 3 && left->size(0) != right->size(0)) ||
        (has_first_bias_ && bias == nullptr) ||
        (bias != nullptr && (!are_numbers(bias) || bias->dtype() != left->dtype())))
      return false;
    const Tensor by = is_linear_ ? turned(*right) : *right;
    auto out = left->dtype() == Dtype::complex64 ? multiply_complex(frame, *left, by, bias)
                                                 : multiply_numbers(frame, *left, by, bias);
    if (!out) return false;
    frame.set(result(), *std::move(out), false);
    return true;
  }

 private:
  static bool are_numbers(const Tensor* tensor) {
    return tensor != nullptr && tensor->defined() && tensor->numel() > 0 && is_aligned(*tensor) &&
           (tensor->dtype() == Dtype::float32 || tensor->dtype() == Dtype::complex64 ||
            is_half(tensor->dtype()));
  }
  static Tensor turned(const Tensor& matrices) {
    Sizes sizes = matrices.sizes(), strides = matrices.strides();
    std::swap(sizes.back(), sizes[sizes.size() - 2]);
    std::swap(strides.back(), strides[strides.size() - 2]);
    return matrices.with_view(std::move(sizes), std::move(strides), matrices.storage_offset());
  }
  // The left matrices, the right ones, the bias.
  const BoundArgument& operand(size_t index) const {
    return first().arguments[has_first_bias_ ? (index + 1) % 3 : index];
  }
  // True if the rows or the columns of all matrices are contiguous.
  static bool has_contiguous_lines(const Tensor& matrices) {
    return matrices.strides().back() == 1 || matrices.stride(matrices.dim() - 2) == 1;
  }
  // True if each right operand is a single column of contiguous elements.
  static bool is_column(const Tensor& right) {
    if (right.dim() > 1 && right.sizes().back() != 1) return false;
    return right.stride(right.dim() == 1 ? 0 : right.dim() - 2) == 1;
  }
  // True if there is no bias, or it has an element for each column.
  static bool fits_columns(const Tensor* bias, int64_t columns) {
    return bias == nullptr || (bias->sizes() == Sizes{columns} && bias->is_contiguous());
  }
  // Returns a left vector as the row of a matrix, a right vector as its column.
  static Tensor as_matrix(const Tensor& tensor, bool is_left) {
    if (tensor.dim() > 1) return tensor;
    Sizes sizes{1, tensor.size(0)}, strides{tensor.size(0), tensor.stride(0)};
    if (!is_left) {
      std::ranges::reverse(sizes);
      std::ranges::reverse(strides);
    }
    return tensor.with_view(std::move(sizes), std::move(strides), tensor.storage_offset());
  }
  // True if all matrices are one and the same.
  static bool is_one_matrix(const Tensor& tensor) {
    for (size_t dim = 0; dim + 2 < tensor.sizes().size(); ++dim)
      if (tensor.sizes()[dim] != 1 && tensor.strides()[dim] != 0) return false;
    return true;
  }
  // Returns all matrices stacked into one, if their rows are evenly spaced; nullopt otherwise.
  static std::optional<Tensor> as_one_matrix(const Tensor& tensor) {
    const auto all = rows_of(tensor);
    if (!all) return std::nullopt;
    return tensor.with_view({all->rows, all->columns}, {all->stride, 1}, tensor.storage_offset());
  }

  static std::optional<Tensor> multiply_numbers(Frame& frame, const Tensor& left,
                                                const Tensor& right, const Tensor* bias) {
    const bool lies_well =
        left.strides().back() == 1 ||
        (left.dim() > 1 && left.stride(left.dim() - 2) == 1 && bias == nullptr && is_column(right));
    return multiply(frame, lies_well ? left : to_row_major(frame, left), right, bias);
  }

  // Multiplies complex matrices as floats (kernels/products/complex_parts.h).
  static std::optional<Tensor> multiply_complex(Frame& frame, const Tensor& left,
                                                const Tensor& right, const Tensor* bias) {
    Tensor a = as_matrix(left, true), b = as_matrix(right, false);
    // The left matrix is copied, the right one is not. So a single column becomes the left row.
    if (b.sizes().back() == 1 && bias == nullptr) {
      std::swap(a, b);
      a = turned(a);
      b = turned(b);
    }
    constexpr int64_t kMost = INT64_MAX / 64;  // doubled sizes do not overflow
    const int64_t columns = b.sizes().back();
    if (!fits_columns(bias, columns) || a.numel() > kMost || b.numel() > kMost) return std::nullopt;
    if (!has_contiguous_lines(b)) b = to_row_major(frame, b);
    const bool has_columns =
        b.stride(b.dim() - 2) == 1 && (columns == 1 || b.strides().back() != 1);
    Tensor pairs = parts_of(b);
    Sizes sizes = pairs.sizes(), strides = pairs.strides();
    sizes.pop_back();
    strides.pop_back();
    const size_t paired = sizes.size() - (has_columns ? 2 : 1);
    sizes[paired] *= 2;
    strides[paired] = 1;
    pairs = pairs.with_view(std::move(sizes), std::move(strides), pairs.storage_offset());

    if (!rows_of(a)) a = to_row_major(frame, a);
    kernels::ComplexSplit split{.rows = a.size(a.dim() - 2),
                                .columns = a.sizes().back(),
                                .turned = has_columns,
                                .from = a.data<float>(),
                                .stride = 2 * rows_of(a)->stride};
    split.count = a.numel() / (split.rows * split.columns);
    sizes = a.sizes();
    sizes[sizes.size() - 2] *= 2;
    if (has_columns) sizes.back() *= 2;
    Tensor lines = frame.make(std::move(sizes));
    split.to = lines.data<float>();
    frame.launch([split, threads = frame.threads()] { kernels::split_complex(split, threads); });

    const auto sums = multiply(frame, lines, pairs, nullptr);
    if (!sums) return std::nullopt;
    sizes.assign(sums->sizes().begin(), sums->sizes().end() - 2);
    if (left.dim() > 1) sizes.push_back(left.size(left.dim() - 2));
    if (right.dim() > 1) sizes.push_back(right.sizes().back());
    Tensor out = frame.make(std::move(sizes), {}, Dtype::complex64);
    const kernels::ComplexJoin join{.count = out.numel() / (split.rows * columns),
                                    .rows = split.rows,
                                    .columns = columns,
                                    .turned = has_columns,
                                    .from = sums->data<float>(),
                                    .bias = bias == nullptr ? nullptr : bias->data<float>(),
                                    .to = out.data<float>()};
    frame.launch([join, threads = frame.threads()] { kernels::join_complex(join, threads); });
    return out;
  }

  // One matrix times several narrow ones is a single product: the rows of the transposed narrow
  // ones times the transposed matrix.
  static std::optional<Tensor> multiply_turned(Frame& frame, const Tensor& left,
                                               const Tensor& right) {
    const auto out = multiply(frame, to_row_major(frame, turned(right)), turned(left), nullptr);
    return out ? std::optional(to_row_major(frame, turned(*out))) : std::nullopt;
  }

  static std::optional<Tensor> multiply(Frame& frame, const Tensor& left, const Tensor& right,
                                        const Tensor* bias) {
    constexpr int64_t kNarrow = 16;
    if (left.dim() == 2 && right.dim() > 2 && right.sizes().back() <= kNarrow && bias == nullptr &&
        left.size(1) == right.size(right.dim() - 2))
      return multiply_turned(frame, left, right);
    Tensor a = as_matrix(left, true);
    Tensor b = as_matrix(right, false);
    const auto leading = [](const Tensor& tensor) {
      return Sizes(tensor.sizes().begin(), tensor.sizes().end() - 2);
    };
    auto batch = ops::broadcast_sizes(std::array{leading(a), leading(b)});
    const int64_t columns = b.sizes().back();
    if (!batch || a.sizes().back() != b.size(b.dim() - 2) || !fits_columns(bias, columns))
      return std::nullopt;
    Sizes sizes = *batch;
    if (left.dim() > 1) sizes.push_back(a.size(a.dim() - 2));
    if (right.dim() > 1) sizes.push_back(columns);
    // If all matrices share a right operand, their rows are multiplied with it in a single product.
    if (a.dim() > 2 && leading(a) == *batch && is_one_matrix(b)) {
      a = *as_one_matrix(rows_of(a) ? a : to_row_major(frame, a));
      b = b.with_view({b.size(b.dim() - 2), columns}, {b.stride(b.dim() - 2), b.strides().back()},
                      b.storage_offset());
      batch->clear();
    }
    const Matrices from(a, *batch), by(b, *batch);
    // Operands of stride 0 have more elements than memory, so these products may overflow.
    constexpr int64_t kWidestPanel = 64;
    const int64_t panels = kernels::thread_count(frame.threads());
    const auto bound = checked_numel({{from.columns, columns + kWidestPanel, panels}});
    const auto numel = checked_numel(sizes);
    if (!numel || !bound || *bound > INT64_MAX / 64) return std::nullopt;
    const Way way = way_of(from, by, bias != nullptr);
    MemoryAccount::count_products({*numel, from.columns});
    if (is_half(a.dtype())) return multiply_halves(frame, from, by, way, a.dtype(), sizes, bias);
    Tensor out = frame.make(std::move(sizes));
    const int64_t panel = way == Way::packed ? kernels::packed_size(from.columns, columns) : 0;
    Tensor packed = frame.make({std::max<int64_t>(panel * panels, 1)});
    const BatchProduct product{from,
                               by,
                               way,
                               *numel / (from.rows * columns),
                               packed.data<float>(),
                               panel,
                               bias == nullptr ? nullptr : bias->data<float>(),
                               out.data<float>()};
    frame.launch([product, threads = frame.threads()] { multiply_each(product, threads); });
    return out;
  }

  static Tensor multiply_halves(Frame& frame, const Matrices& from, const Matrices& by, Way way,
                                Dtype dtype, const Sizes& sizes, const Tensor* bias) {
    const int64_t threads = kernels::thread_count(frame.threads());
    Tensor out = frame.make(sizes, {}, dtype);
    HalfBatchProduct product{.left = from,
                             .right = by,
                             .way = way,
                             .dtype = dtype,
                             .count = out.numel() / (from.rows * by.columns)};
    // Panels begin at multiples of a cache line.
    product.panel = (product.panel_size() + 15) / 16 * 16;
    Tensor packed = frame.make({product.panel * threads});
    Tensor sums = frame.make({product.rows_at_once() * by.columns * threads});
    std::optional<Tensor> wide_bias;
    if (bias != nullptr) wide_bias = widened(frame, *bias);
    product.packed = packed.data<float>();
    product.sums = sums.data<float>();
    product.bias = wide_bias ? wide_bias->data<float>() : nullptr;
    product.out = out.raw_data();
    frame.launch([product, pool = frame.threads()] { multiply_each(product, pool); });
    return out;
  }

  static Way way_of(const Matrices& left, const Matrices& right, bool has_bias) {
    if (right.columns == 1 && (right.row_stride == 1 || right.rows == 1) && !has_bias)
      return Way::column;
    const bool lies_well = right.column_stride == 1 || right.row_stride == 1;
    return left.rows <= kRowsToRead && lies_well ? Way::few_rows : Way::packed;
  }

  bool is_linear_;
  bool has_first_bias_;
  ProductRanks ranks_;
  std::optional<Tensor> row_major_;  // the right operand, if it is known and lies in another way
};

}  // namespace

StepPointer make_batch_product(const Planner& planner, const BoundNode& node) {
  if (is_operator(node, "aten::addmm") &&
      (planner.number(node, "beta") != 1.0 || planner.number(node, "alpha") != 1.0))
    return nullptr;
  return std::make_unique<BatchProductStep>(planner, node);
}

}  // namespace pt2::run
