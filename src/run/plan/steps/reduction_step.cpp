// Sums, means and extremes over dimensions, in the memory order of images, and logarithms of sums
// of exponentials.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/reduction/reduce.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::Reduction;

constexpr struct {
  std::string_view name;
  std::string_view overload;
  std::optional<Reduction> reduction;
} kReductions[] = {
    {"aten::sum", "", Reduction::sum},        {"aten::sum", "dim_IntList", Reduction::sum},
    {"aten::mean", "", Reduction::mean},      {"aten::mean", "dim", Reduction::mean},
    {"aten::amax", "", Reduction::maximum},   {"aten::amin", "", Reduction::minimum},
    {"aten::logsumexp", "", std::nullopt},    {"aten::max", "dim", Reduction::maximum},
    {"aten::min", "dim", Reduction::minimum},
};

bool reduce(Frame& frame, Reduction reduction, const Tensor& from, const Sizes& dims,
            const Tensor& out) {
  return frame.launch([reduction, dims, from, out] {
    Tensor to = out;
    return ops::reduce_floats(reduction, to, from, dims);
  });
}

// Returns a copy without gaps or overlaps. Its innermost dimension is the longest of those with
// contiguous elements: windows of a signal are copied as whole signals.
Tensor to_block(Frame& frame, const Tensor& tensor) {
  const auto distance = [&](size_t dim) {
    const int64_t stride = tensor.strides()[dim];
    return stride == 0 ? std::numeric_limits<int64_t>::max() : stride;
  };
  std::vector<size_t> order(tensor.sizes().size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (distance(a) != distance(b)) return distance(a) > distance(b);
    return tensor.sizes()[a] < tensor.sizes()[b];
  });
  return to_order(frame, tensor, order);
}

// Runs instructions on tensors that broadcast to `out`.
void launch_chain(Frame& frame, std::span<const Tensor> tensors,
                  const std::vector<kernels::TileInstruction>& instructions, Tensor& out) {
  launch_tiles(frame, *tile_loops(out.sizes(), out.strides(), tensors), instructions, out);
}

// Computes log(sum(exp(x - largest))) + largest, with 0 in place of an infinite largest. `from` is
// row-major.
void log_sum_exp(Frame& frame, const Tensor& from, const Sizes& dims, Tensor& out) {
  using kernels::TileSource;
  constexpr TileSource kFirst{}, kSecond{.index = 1}, kTile{.from = TileSource::From::tile};
  Sizes sizes = from.sizes();
  for (const int64_t dim : dims) sizes[static_cast<size_t>(dim)] = 1;
  Tensor largest = frame.make(sizes), sums = frame.make(sizes);
  const Tensor seen = frame.make(out.sizes());
  reduce(frame, Reduction::maximum, from, dims, seen);
  frame.launch([in = seen.data<float>(), to = largest.data<float>(), count = seen.numel()] {
    for (int64_t i = 0; i < count; ++i) to[i] = std::isinf(in[i]) ? 0.0f : in[i];
  });
  Tensor powers = frame.make(from.sizes());
  launch_chain(frame, std::array{from, largest},
               {{.function = kernels::Binary::subtract, .a = kFirst, .b = kSecond},
                {.function = kernels::Unary::exponential, .a = kTile, .b = {}}},
               powers);
  reduce(frame, Reduction::sum, powers, dims, sums);
  const Tensor both[] = {sums.with_view(out.sizes(), out.strides(), sums.storage_offset()),
                         largest.with_view(out.sizes(), out.strides(), largest.storage_offset())};
  launch_chain(frame, both,
               {{.function = kernels::Unary::logarithm, .a = kFirst, .b = {}},
                {.function = kernels::Binary::add, .a = kTile, .b = kSecond}},
               out);
}

class ReductionStep final : public Step {
 public:
  // Empty `dims` mean all dimensions. Without a reduction the step computes log_sum_exp.
  ReductionStep(const BoundNode& node, std::optional<Reduction> reduction, Sizes dims,
                bool keeps_dims)
      : Step({&node}), reduction_(reduction), dims_(std::move(dims)), keeps_dims_(keeps_dims) {}

  std::string_view name() const override {
    return reduction_ == Reduction::mean ? "mean" : "reduction";
  }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(first().arguments[0]);
    const bool adds = reduction_ == Reduction::sum || reduction_ == Reduction::mean;
    if (!is_float(input) && !(adds && has_elements(input, Dtype::complex64))) return false;
    if (input->dim() == 0) return false;
    const Tensor lying = fills_block(*input) ? *input : to_block(frame, *input);
    const auto reduced = reduced_dims(lying.dim());
    if (!reduced) return false;
    // The dimensions in memory order.
    std::vector<size_t> order(lying.sizes().size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(
        order, [&](size_t a, size_t b) { return lying.strides()[a] > lying.strides()[b]; });
    Sizes sizes, strides, dims, out_sizes;
    for (const size_t dim : order) {
      if ((*reduced)[dim]) dims.push_back(std::ssize(sizes));
      if (!(*reduced)[dim]) out_sizes.push_back(lying.sizes()[dim]);
      sizes.push_back(lying.sizes()[dim]);
      strides.push_back(lying.strides()[dim]);
    }
    const Tensor turned =
        lying.with_view(std::move(sizes), std::move(strides), lying.storage_offset());
    Tensor out = frame.make(out_sizes, {}, input->dtype());
    if (reduction_ ? !reduce(frame, *reduction_, turned, dims, out)
                   : turned.dim() > kernels::kTileDims)
      return false;
    if (!reduction_) log_sum_exp(frame, turned, dims, out);
    set_result(frame, out, order, *reduced);
    return true;
  }

 private:
  // Marks the reduced dimensions; nullopt if a dimension is out of range or named twice.
  std::optional<std::vector<bool>> reduced_dims(int64_t rank) const {
    std::vector<bool> out(static_cast<size_t>(rank), dims_.empty());
    for (const int64_t dim : dims_) {
      const auto at = wrapped_dim(dim, rank);
      if (!at || out[*at]) return std::nullopt;
      out[*at] = true;
    }
    return out;
  }

  // `out` has the remaining dimensions in memory order.
  void set_result(Frame& frame, const Tensor& out, const std::vector<size_t>& order,
                  const std::vector<bool>& reduced) const {
    Sizes sizes, strides;
    for (size_t dim = 0; dim < reduced.size(); ++dim) {
      if (reduced[dim]) {
        if (!keeps_dims_) continue;
        sizes.push_back(1);
        strides.push_back(1);
        continue;
      }
      size_t place = 0;
      for (const size_t other : order) {
        if (other == dim) break;
        if (!reduced[other]) ++place;
      }
      sizes.push_back(out.sizes()[place]);
      strides.push_back(out.strides()[place]);
    }
    const Tensor seen = out.with_view(std::move(sizes), std::move(strides), out.storage_offset());
    const bool rearranged = seen.dim() > 2 && is_channels_last(seen) && !seen.is_contiguous();
    frame.set(result(), rearranged ? seen : to_row_major(frame, seen), rearranged);
  }

  std::optional<Reduction> reduction_;
  Sizes dims_;
  bool keeps_dims_;
};

}  // namespace

StepPointer make_reduction(const Planner& planner, const BoundNode& node) {
  // Without this argument all dimensions are reduced.
  const bool over_dims = Planner::argument(node, "dim") != nullptr;
  const auto keeps = over_dims ? planner.flag(node, "keepdim") : std::optional(false);
  if (!keeps || !planner.only_first_result_used(node) ||
      (Planner::argument(node, "dtype") != nullptr && !planner.is_none(node, "dtype")))
    return nullptr;
  for (const auto& row : kReductions) {
    if (!is_operator(node, row.name, row.overload)) continue;
    Sizes dims;
    if (const auto all = planner.integers(node, "dim"))
      dims = *all;
    else if (const auto dim = planner.integer(node, "dim"))
      dims = {*dim};
    else if (over_dims && !planner.is_none(node, "dim"))
      return nullptr;
    // With an empty list of dimensions PyTorch's logsumexp sums over all of them but keeps them in
    // the result.
    if (!row.reduction && dims.empty()) return nullptr;
    return std::make_unique<ReductionStep>(node, row.reduction, std::move(dims), *keeps);
  }
  return nullptr;
}

}  // namespace pt2::run
