// Histograms in several dimensions: the number of points in each bin of a grid
// (ATen/native/Histogram.cpp, ATen/native/cpu/HistogramKernel.cpp).
#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

using OptionalRange = std::optional<std::vector<double>>;
using Histogram = std::tuple<Tensor, Tensor>;
using HistogramOfMany = std::tuple<Tensor, Tensors>;

Result<void> check_points(const Tensor& self) {
  if (self.dtype() == Dtype::float32 || self.dtype() == Dtype::float64) return {};
  return operator_error("self: found " + self.type_text() + ", expected float32 or float64");
}

// Returns the points, one per row.
Result<Tensor> rows_of(const Tensor& self) {
  PT2_TRY_VOID(check_points(self));
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  const int64_t width = self.sizes().back();
  return reshape(self, {row_count(self.numel(), width), width});
}

struct Span {
  double low = 0;
  double high = 1;
};
// Returns the given range, or the range of the coordinates. An empty range is widened by 0.5 on
// both sides.
Result<Span> span_of(const Tensor& rows, int64_t column, const OptionalRange& range) {
  Span span;
  if (range) {
    span = {(*range)[static_cast<size_t>(2 * column)],
            (*range)[static_cast<size_t>(2 * column + 1)]};
  } else if (rows.size(0) > 0) {
    PT2_TRY(const Tensor line, select(rows, 1, column));
    const Input<double> x(line);
    span = {x[0], x[0]};
    for (int64_t i = 0; i < x.size(); ++i) {
      span.low = std::isnan(x[i]) ? x[i] : std::min(span.low, x[i]);
      span.high = std::isnan(x[i]) ? x[i] : std::max(span.high, x[i]);
    }
  }
  if (!std::isfinite(span.low) || !std::isfinite(span.high))
    return operator_error("range: found [" + std::to_string(span.low) + ", " +
                          std::to_string(span.high) + "], expected finite numbers");
  if (span.low > span.high)
    return operator_error("range: found [" + std::to_string(span.low) + ", " +
                          std::to_string(span.high) + "], expected ascending numbers");
  if (span.low == span.high) {
    span.low -= 0.5;
    span.high += 0.5;
  }
  return span;
}

Result<void> check_bins(int64_t coordinates, const Sizes& bins, const OptionalRange& range) {
  if (static_cast<int64_t>(bins.size()) != coordinates)
    return operator_error("bins: found " + std::to_string(bins.size()) + " for " +
                          std::to_string(coordinates) + " coordinates, expected one for each");
  if (range && range->size() != 2 * bins.size())
    return operator_error("range: found " + std::to_string(range->size()) +
                          " numbers, expected two for each coordinate");
  for (const int64_t count : bins)
    if (count < 1)
      return operator_error("bins: found " + sizes_text(bins) + ", expected numbers from 1 on");
  return {};
}
Result<Tensors> even_edges(const Tensor& rows, const Sizes& bins, const OptionalRange& range) {
  PT2_TRY_VOID(check_bins(rows.size(1), bins, range));
  Tensors edges;
  for (size_t i = 0; i < bins.size(); ++i) {
    PT2_TRY(const int64_t count, multiply_add(bins[i], 1, 1));
    PT2_TRY(const Span span, span_of(rows, static_cast<int64_t>(i), range));
    PT2_TRY(Tensor line,
            apply(aten<"linspace.default">, {span.low, span.high, count, rows.dtype()}));
    edges.push_back(std::move(line));
  }
  return edges;
}
Result<void> check_edges(const Tensor& points, int64_t coordinates, const Tensors& edges) {
  if (static_cast<int64_t>(edges.size()) != coordinates)
    return operator_error("bins: found " + std::to_string(edges.size()) + " for " +
                          std::to_string(coordinates) + " coordinates, expected one for each");
  for (const Tensor& line : edges) {
    PT2_TRY_VOID(check_rank(line, 1, "bins"));
    PT2_TRY_VOID(check_same_dtype(line, points, "bins"));
    if (line.numel() < 1) return operator_error("bins: found no edges, expected one or more");
  }
  return {};
}

// The bins between edges.
class Boxes {
 public:
  explicit Boxes(const Tensor& edges) : edges_(edges) {
    const double span = edges_[edges_.size() - 1] - edges_[0];
    in_one_ = span > 0 ? static_cast<double>(edges_.size() - 1) / span : 0;
  }
  // Returns the size of a bin.
  double width(int64_t box) const { return edges_[box + 1] - edges_[box]; }
  // Returns the bin of a coordinate; -1 outside. The last bin includes its upper edge.
  int64_t find(double x) const {
    const double* begin = edges_.data();
    const double* end = begin + edges_.size();
    if (!(x >= begin[0] && x <= end[-1])) return -1;
    // Estimates the bin for even edges. Edges usually are even, except for rounding.
    const int64_t last = edges_.size() - 2;
    const double at = (x - begin[0]) * in_one_;  // NaN if the edges are extremely far apart
    int64_t box = at < static_cast<double>(last) ? static_cast<int64_t>(at) : last;
    if (box > 0 && x < begin[box]) --box;
    if (box < last && x >= begin[box + 1]) ++box;
    if (x >= begin[box] && (x < begin[box + 1] || box == last)) return box;
    return std::min<int64_t>(std::upper_bound(begin, end, x) - begin - 1, last);
  }

 private:
  Input<double> edges_;
  double in_one_;  // bins per unit length
};

Result<Tensor> counted(const Tensor& rows, const Tensors& edges, const OptionalTensor& weight,
                       bool density) {
  Sizes sizes;
  std::vector<Boxes> lines;
  for (const Tensor& line : edges) {
    sizes.push_back(line.numel() - 1);
    lines.emplace_back(line);
  }
  if (weight && weight->numel() != rows.size(0))
    return operator_error("weight: found " + weight->type_text() +
                          ", expected a number for each of " + std::to_string(rows.size(0)) +
                          " points");
  PT2_TRY(Tensor out, allocate({rows.dtype(), sizes}));
  if (out.numel() == 0) return out;
  const Input<double> x(rows);
  const Input<double> weights(weight.value_or(Tensor::zeros(Dtype::float64, {0})));
  double total = 0;
  {
    Output<double> counts(out);
    const auto width = static_cast<int64_t>(lines.size());
    for (int64_t row = 0; row < rows.size(0); ++row) {
      int64_t place = 0;
      for (int64_t k = 0; k < width && place >= 0; ++k) {
        const int64_t box = lines[static_cast<size_t>(k)].find(x[row * width + k]);
        place = box < 0 ? -1 : place * sizes[static_cast<size_t>(k)] + box;
      }
      if (place < 0) continue;
      counts[place] += weight ? weights[row] : 1;
      total += weight ? weights[row] : 1;
    }
    if (!density) return out;
    for (int64_t i = 0; i < out.numel(); ++i) {
      double volume = total;
      int64_t rest = i;
      for (size_t k = lines.size(); k-- > 0;) {
        const int64_t box = rest % sizes[k];
        volume *= lines[k].width(box);
        rest /= sizes[k];
      }
      counts[i] /= volume;
    }
  }
  return out;
}

Result<Tensors> edges_of_counts(const Tensor& self, const Sizes& bins, const OptionalRange& range,
                                const OptionalTensor&, bool) {
  PT2_TRY(const Tensor rows, rows_of(self));
  return even_edges(rows, bins, range);
}
Result<HistogramOfMany> of_counts(const Tensor& self, const Sizes& bins, const OptionalRange& range,
                                  const OptionalTensor& weight, bool density) {
  PT2_TRY(const Tensor rows, rows_of(self));
  PT2_TRY(Tensors edges, even_edges(rows, bins, range));
  PT2_TRY(Tensor hist, counted(rows, edges, weight, density));
  return HistogramOfMany(std::move(hist), std::move(edges));
}
Result<Tensor> hist_of_counts(const Tensor& self, const Sizes& bins, const OptionalRange& range,
                              const OptionalTensor& weight, bool density) {
  PT2_TRY(auto both, of_counts(self, bins, range, weight, density));
  return std::move(std::get<0>(both));
}
Result<Meta> hist_of_counts_meta(const Tensor& self, const Sizes& bins, const OptionalRange& range,
                                 const OptionalTensor&, bool) {
  PT2_TRY_VOID(check_points(self));
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  PT2_TRY_VOID(check_bins(self.sizes().back(), bins, range));
  return Meta(self.dtype(), bins);
}
Result<HistogramOfMany> of_one_count(const Tensor& self, int64_t bins, const OptionalRange& range,
                                     const OptionalTensor& weight, bool density) {
  PT2_TRY(const Tensor rows, rows_of(self));
  constexpr int64_t kMaxCoordinates = 64;
  if (rows.size(1) > kMaxCoordinates)
    return operator_error("self: found " + std::to_string(rows.size(1)) +
                          " coordinates, expected at most " + std::to_string(kMaxCoordinates));
  return of_counts(rows, Sizes(static_cast<size_t>(rows.size(1)), bins), range, weight, density);
}
Result<Tensor> hist_of_edges(const Tensor& self, const Tensors& bins, const OptionalTensor& weight,
                             bool density) {
  PT2_TRY(const Tensor rows, rows_of(self));
  PT2_TRY_VOID(check_edges(rows, rows.size(1), bins));
  return counted(rows, bins, weight, density);
}
Result<Meta> hist_of_edges_meta(const Tensor& self, const Tensors& bins, const OptionalTensor&,
                                bool) {
  Sizes sizes;
  for (const Tensor& line : bins) sizes.push_back(std::max<int64_t>(line.numel() - 1, 0));
  return Meta(self.dtype(), std::move(sizes));
}
Result<HistogramOfMany> of_edges(Emitter& e, const Tensor& self, const Tensors& bins,
                                 const OptionalRange&, const OptionalTensor& weight, bool density) {
  PT2_TRY(Tensor hist,
          e(aten<"_histogramdd_from_bin_tensors.default">, {self, bins, weight, density}));
  return HistogramOfMany(std::move(hist), bins);
}

Result<std::array<Meta, 2>> line_of_count_meta(const Tensor& self, int64_t bins,
                                               const OptionalRange& range, const OptionalTensor&,
                                               bool) {
  PT2_TRY_VOID(check_points(self));
  PT2_TRY_VOID(check_bins(1, {bins}, range));
  PT2_TRY(const int64_t edges, multiply_add(bins, 1, 1));
  return std::array{Meta(self.dtype(), {bins}), Meta(self.dtype(), {edges})};
}
Result<std::array<Meta, 2>> line_of_edges_meta(const Tensor& self, const Tensor& bins,
                                               const OptionalTensor&, bool) {
  PT2_TRY_VOID(check_points(self));
  PT2_TRY_VOID(check_edges(self, 1, {bins}));
  return std::array{Meta(self.dtype(), {bins.numel() - 1}), Meta::like(bins)};
}
// The histogram of one coordinate, for a tensor of any shape.
Result<Histogram> line_of_count(const Tensor& self, int64_t bins, const OptionalRange& range,
                                const OptionalTensor& weight, bool density) {
  PT2_TRY(const Tensor rows, reshape(self, {self.numel(), 1}));
  PT2_TRY(auto both, of_counts(rows, {bins}, range, weight, density));
  return Histogram(std::move(std::get<0>(both)), std::move(std::get<1>(both)[0]));
}
Result<Histogram> line_of_edges(const Tensor& self, const Tensor& bins,
                                const OptionalTensor& weight, bool density) {
  PT2_TRY(const Tensor rows, reshape(self, {self.numel(), 1}));
  PT2_TRY(Tensor hist, hist_of_edges(rows, {bins}, weight, density));
  return Histogram(std::move(hist), bins.contiguous());
}

// clang-format off
constexpr OpDef kHistogramsOps[] = {
    composed<"aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)", line_of_count_meta, line_of_count>,
    composed<"aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)", line_of_edges_meta, line_of_edges>.with({.sharing = Sharing::possibly}),
    op<"aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)", of_counts>.with({.undecomposed = Undecomposed::lacks_steps}),
    op<"aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)", of_one_count>.with({.undecomposed = Undecomposed::lacks_steps}),
    op<"aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)", of_edges>.with({.sharing = Sharing::possibly}),
    op<"aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]", edges_of_counts>,
    composed<"aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor", hist_of_counts_meta, hist_of_counts>,
    composed<"aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor", hist_of_edges_meta, hist_of_edges>,
};
// clang-format on

}  // namespace

std::span<const OpDef> histograms_ops() { return kHistogramsOps; }

}  // namespace pt2::ops
