// Searches values in sorted boundaries, in sets, and in bins.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/pointwise/unsigned_order.h"
#include "ops/reduction/order.h"

namespace pt2::ops {
namespace {

// NaN compares above all numbers.
template <class C>
bool less(C a, C b) {
  return (a == a && b != b) || a < b;
}

template <class C>
int64_t insertion_point(const C* sorted, const int64_t* order, int64_t count, C value, bool right) {
  int64_t low = 0;
  int64_t high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const C at = sorted[order != nullptr ? order[middle] : middle];
    // As in PyTorch, which never finds a boundary that is NaN to be the greater one: NaN and what
    // exceeds the numbers are inserted at the end (ATen/native/Bucketization.cpp).
    const bool after = right ? !(at > value) : !(at >= value);
    if (after)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Returns true if values equal to a boundary are inserted behind it.
Result<bool> is_right(bool right, const std::optional<std::string>& side) {
  if (!side) return right;
  if (*side != "left" && *side != "right")
    return operator_error("side: found '" + *side + "', expected left or right");
  if (right && *side == "left")
    return operator_error("side: found left with right=True, expected right");
  return *side == "right";
}

Result<Meta> positions_meta(const Tensor& sorted, const Tensor& values,
                            const OptionalTensor& sorter, bool out_int32) {
  PT2_TRY_VOID(check_rank_at_least(sorted, 1, "sorted_sequence"));
  PT2_TRY_VOID(check_not_complex(sorted, "sorted_sequence"));
  PT2_TRY_VOID(check_not_complex(values, "self"));
  // PyTorch cannot compare bool with bool. If only one operand is bool, it is converted.
  if (values.dtype() == Dtype::bool_) PT2_TRY_VOID(check_not_bool(sorted, "sorted_sequence"));
  const Sizes lead(sorted.sizes().begin(), sorted.sizes().end() - 1);
  if (sorted.dim() > 1 && (values.dim() != sorted.dim() ||
                           !std::equal(lead.begin(), lead.end(), values.sizes().begin())))
    return operator_error("self: found " + values.type_text() + ", expected the leading sizes of " +
                          sorted.type_text());
  if (sorter) {
    PT2_TRY_VOID(check_sizes(*sorter, sorted.sizes(), "sorter"));
    PT2_TRY_VOID(check_dtype(*sorter, Dtype::int64, "sorter"));
  }
  return Meta(out_int32 ? Dtype::int32 : Dtype::int64, values.sizes());
}

// Searches each row of `values` in the same row of `sorted`, or in its only row.
Result<void> find_positions(Tensor& out, const Tensor& sorted, const Tensor& values,
                            const OptionalTensor& sorter, bool right) {
  const bool shared = sorted.dim() == 1;
  const int64_t length = sorted.size(sorted.dim() - 1);
  const Input<int64_t> order(sorter.value_or(Tensor::zeros(Dtype::int64, {0})));
  for (int64_t i = 0; i < order.size(); ++i)
    if (order[i] < 0 || order[i] >= length)
      return operator_error("sorter: found " + std::to_string(order[i]) + ", expected 0 to " +
                            std::to_string(length - 1));
  const Dtype common = Promotion().add(sorted).add(values).result();
  with_real_compute_type(common, [&]<class C>() {
    const Input<C> boundaries(sorted, common);
    const Input<C> wanted(values, common);
    Output<int64_t> found(out);
    const int64_t per_row =
        shared || values.dim() == 0 ? values.numel() : values.size(values.dim() - 1);
    for (int64_t i = 0; i < wanted.size(); ++i) {
      const int64_t begin = shared ? 0 : i / per_row * length;
      found[i] = insertion_point(boundaries.data() + begin, sorter ? order.data() + begin : nullptr,
                                 length, wanted[i], right);
    }
  });
  return {};
}

// What is sought, as a tensor. Promotes a number as arithmetic does
// (ATen/native/BucketizationUtils.h searchsorted_scalar_tensor): -3 among uint8 values is 253.
const Tensor& sought(const Tensor& values, const Tensor&) { return values; }
Tensor sought(const Scalar& number, const Tensor& boundaries) {
  return scalar_tensor(number, Promotion().add(boundaries).add(number).result());
}

// `Sought` is Tensor or Scalar.
template <class Sought>
Result<Meta> searchsorted_meta(const Tensor& sorted, const Sought& self, bool out_int32, bool right,
                               const std::optional<std::string>& side,
                               const OptionalTensor& sorter) {
  PT2_TRY_VOID(is_right(right, side));
  return positions_meta(sorted, sought(self, sorted), sorter, out_int32);
}
template <class Sought>
Result<void> searchsorted(Tensor& out, const Tensor& sorted, const Sought& self, bool, bool right,
                          const std::optional<std::string>& side, const OptionalTensor& sorter) {
  return find_positions(out, sorted, sought(self, sorted), sorter, *is_right(right, side));
}
template <class Sought>
Result<Meta> bucketize_meta(const Sought& self, const Tensor& boundaries, bool out_int32, bool) {
  PT2_TRY_VOID(check_rank(boundaries, 1, "boundaries"));
  return positions_meta(boundaries, sought(self, boundaries), std::nullopt, out_int32);
}
template <class Sought>
Result<void> bucketize(Tensor& out, const Sought& self, const Tensor& boundaries, bool,
                       bool right) {
  return find_positions(out, boundaries, sought(self, boundaries), std::nullopt, right);
}

// An operand of isin. Promotes a number as searchsorted does, except that a bool stays one: isin
// refuses it.
template <class Other>
const Tensor& member(const Tensor& tensor, const Other&) {
  return tensor;
}
Tensor member(const Scalar& number, const Tensor& tensor) {
  return number.category() == DtypeCategory::boolean ? scalar_tensor(number, Dtype::bool_)
                                                     : sought(number, tensor);
}

// Elements and Tests are Tensor or Scalar.
template <class Elements, class Tests>
Result<Meta> isin_meta(const Elements& elements, const Tests& tests, bool, bool) {
  const Tensor &a = member(elements, tests), &b = member(tests, elements);
  PT2_TRY_VOID(check_not_complex(a, "elements"));
  PT2_TRY_VOID(check_not_complex(b, "test_elements"));
  PT2_TRY_VOID(check_not_bool(a, "elements"));
  PT2_TRY_VOID(check_not_bool(b, "test_elements"));
  return Meta(Dtype::bool_, a.sizes());
}
void find_members(Tensor& out, const Tensor& elements, const Tensor& test_elements, bool invert) {
  const Dtype common = Promotion().add(elements).add(test_elements).result();
  with_real_compute_type(common, [&]<class C>() {
    const Input<C> values(elements, common);
    const Input<C> tests(test_elements, common);
    std::vector<C> sorted(tests.data(), tests.data() + tests.size());
    std::erase_if(sorted, [](C x) { return x != x; });
    std::ranges::sort(sorted);
    Output<int64_t> found(out);
    for (int64_t i = 0; i < values.size(); ++i) {
      const bool inside = values[i] == values[i] && std::ranges::binary_search(sorted, values[i]);
      found[i] = inside != invert;
    }
  });
}
template <class Elements, class Tests>
void isin(Tensor& out, const Elements& elements, const Tests& tests, bool, bool invert) {
  find_members(out, member(elements, tests), member(tests, elements), invert);
}

Result<Tensor> bincount(const Tensor& self, const OptionalTensor& weights, int64_t minlength) {
  PT2_TRY_VOID(check_rank(self, 1, "self"));
  if (dtype_category(self.dtype()) != DtypeCategory::integer)
    return operator_error("self: found " + std::string(dtype_name(self.dtype())) +
                          ", expected an integer dtype");
  if (minlength < 0)
    return operator_error("minlength: found " + std::to_string(minlength) + ", expected 0 or more");
  if (weights) PT2_TRY_VOID(check_sizes(*weights, self.sizes(), "weights"));
  const Input<int64_t> values(self);
  int64_t least = 0, most = minlength - 1;
  for (const int64_t value : std::span(values.data(), static_cast<size_t>(values.size()))) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least < 0 || most == INT64_MAX)
    return operator_error("self: found " + std::to_string(least < 0 ? least : most) +
                          ", expected no negative numbers");
  const int64_t length = most + 1;
  Dtype dtype = Dtype::int64;
  if (weights && self.numel() > 0)
    dtype = weights->dtype() == Dtype::float32 ? Dtype::float32 : Dtype::float64;
  PT2_TRY(Tensor out, allocate(Meta(dtype, {length})));
  if (!weights || self.numel() == 0) {
    auto* counts = out.data<int64_t>();
    for (int64_t i = 0; i < values.size(); ++i) ++counts[values[i]];
    return out;
  }
  const Input<double> weight(*weights);
  Output<double> sums(out);
  double* at = sums.data();
  for (int64_t i = 0; i < values.size(); ++i) at[values[i]] += weight[i];
  return out;
}

Result<Tensor> histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  PT2_TRY_VOID(check_floating(self, "self"));
  if (bins < 1)
    return operator_error("bins: found " + std::to_string(bins) + ", expected 1 or more");
  const Input<double> values(self);
  double low = min.to_double();
  double high = max.to_double();
  if (low == high && values.size() > 0) {
    low = *std::min_element(values.data(), values.data() + values.size());
    high = *std::max_element(values.data(), values.data() + values.size());
    // The functions of the C++ library may skip a NaN.
    if (std::any_of(values.data(), values.data() + values.size(),
                    [](double value) { return std::isnan(value); }))
      low = high = std::nan("");
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high) || low > high)
    return operator_error("min and max: found " + std::to_string(low) + " and " +
                          std::to_string(high) + ", expected finite numbers, min at most max");
  PT2_TRY_VOID(expect_representable(low, self.dtype()));
  PT2_TRY_VOID(expect_representable(high, self.dtype()));
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), {bins})));
  Output<double> counts(out);
  // The last bin counts the values outside of the range, because a branch would be unpredictable.
  Scratch<int64_t> numbers(static_cast<size_t>(bins) + 1);
  // Computes in self's precision, whose rounding decides at the edges of bins. For half floats
  // every step is rounded.
  const auto count = [&]<class T>(T) {
    const auto rounded = [dtype = self.dtype()](T x) {
      if (is_half(dtype)) round_elements<T>(dtype, 1, &x);
      return x;
    };
    const T left = rounded(static_cast<T>(low)), right = rounded(static_cast<T>(high));
    const T width = rounded(right - left), most = rounded(static_cast<T>(bins));
    for (int64_t i = 0; i < values.size(); ++i) {
      const T value = static_cast<T>(values[i]);
      const bool is_inside = value >= left && value <= right;
      const T way = rounded((is_inside ? value : left) - left);
      const T place = rounded(rounded(way * most) / width);
      // A width that overflows or rounds to 0 makes the place NaN.
      const int64_t end = place == place ? bins - 1 : 0;
      const int64_t bin = place < most ? std::min(static_cast<int64_t>(place), bins - 1) : end;
      ++numbers[static_cast<size_t>(is_inside ? bin : bins)];
    }
  };
  self.dtype() == Dtype::float64 ? count(double{}) : count(float{});
  for (int64_t bin = 0; bin < bins; ++bin)
    counts[bin] = static_cast<double>(numbers[static_cast<size_t>(bin)]);
  return out;
}

// The distinct slices along a dimension. Slices are compared as a whole.
struct Distinct {
  std::vector<int64_t> first;    // a representative of each distinct slice, in result order
  std::vector<int64_t> inverse;  // the distinct slice that each row equals
  std::vector<int64_t> counts;
};

template <class C>
Distinct distinct_rows(const C* rows, int64_t count, int64_t length, bool sorted) {
  auto row_less = [&](int64_t a, int64_t b) {
    return std::lexicographical_compare(rows + a * length, rows + (a + 1) * length,
                                        rows + b * length, rows + (b + 1) * length, less<C>);
  };
  auto row_equal = [&](int64_t a, int64_t b) {
    return std::equal(rows + a * length, rows + (a + 1) * length, rows + b * length);
  };
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (sorted && length == 1)
    StableOrder<C>(count).for_each(
        rows, false, [&](int64_t i, int64_t place) { order[static_cast<size_t>(i)] = place; });
  else if (sorted)
    std::ranges::stable_sort(order, row_less);
  Distinct out;
  out.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !row_equal(order[i - 1], order[i])) {
      out.first.push_back(order[i]);
      out.counts.push_back(0);
    }
    ++out.counts.back();
    out.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(out.first.size()) - 1;
  }
  return out;
}

using UniqueResult = std::tuple<Tensor, Tensor, Tensor>;

struct UniqueOptions {
  bool sorted;
  bool return_inverse;
  bool return_counts;
};

Tensor integers(const std::vector<int64_t>& values, const Sizes& sizes) {
  return Tensor::from(Dtype::int64, sizes, std::span<const int64_t>(values));
}

// `rows` must have the compared slices along its first dimension.
Result<UniqueResult> unique_rows(const Tensor& rows, const UniqueOptions& options,
                                 const Sizes& inverse_sizes) {
  PT2_TRY_VOID(check_not_complex(rows, "self"));
  const int64_t count = rows.size(0);
  const Tensor dense = rows.contiguous(), ordered = in_int64_order(dense);
  const int64_t length = count == 0 ? 0 : rows.numel() / count;
  Distinct found;
  with_real_compute_type(ordered.dtype(), [&]<class C>() {
    const Input<C> values(ordered);
    found = distinct_rows(values.data(), count, length, options.sorted);
  });
  Sizes sizes = rows.sizes();
  sizes[0] = static_cast<int64_t>(found.first.size());
  PT2_TRY(Tensor out, allocate(Meta(rows.dtype(), sizes)));
  const int64_t bytes = length * dtype_size(rows.dtype());
  for (size_t i = 0; i < found.first.size(); ++i)
    std::copy_n(dense.raw_data() + found.first[i] * bytes, bytes,
                out.raw_data() + static_cast<int64_t>(i) * bytes);
  const Tensor none = Tensor::zeros(Dtype::int64, {0});
  return UniqueResult{out, options.return_inverse ? integers(found.inverse, inverse_sizes) : none,
                      options.return_counts ? integers(found.counts, {sizes[0]}) : none};
}

Tensor flattened(const Tensor& self) {
  const Tensor dense = self.contiguous();
  return dense.with_view({dense.numel()}, {1}, dense.storage_offset());
}

// Always sorted: PyTorch's unsorted order is that of a hash table.
Result<UniqueResult> unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  return unique_rows(flattened(self), {true, return_inverse, return_counts}, self.sizes());
}

// Computes all three results, even if they are not requested (ATen/native/Unique.cpp
// _unique_dim_cpu_template).
Result<UniqueResult> unique_along(const Tensor& self, int64_t dim, bool sorted) {
  const UniqueOptions options{sorted, true, true};
  PT2_TRY(const int64_t wrapped, wrap_dim(dim, self.dim()));
  PT2_TRY_VOID(check_rank_at_least(self, 1, "self"));
  if (self.numel() == 0)
    for (int64_t i = 0; i < self.dim(); ++i)
      if (i != wrapped && self.size(i) == 0 && self.size(wrapped) != 0)
        return operator_error("self: found " + self.type_text() +
                              ", expected only the chosen dim to be empty");
  Sizes others;
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != wrapped) others.push_back(i);
  PT2_TRY(UniqueResult result, unique_rows(dims_last(self, others), options, {self.size(wrapped)}));
  // Moves the chosen dimension back to its place.
  const Tensor& rows = std::get<0>(result);
  Sizes sizes = rows.sizes();
  Sizes strides = rows.strides();
  std::rotate(sizes.begin(), sizes.begin() + 1, sizes.begin() + wrapped + 1);
  std::rotate(strides.begin(), strides.begin() + 1, strides.begin() + wrapped + 1);
  std::get<0>(result) = rows.with_view(sizes, strides, rows.storage_offset());
  return result;
}

Result<UniqueResult> unique_dim(const Tensor& self, int64_t dim, bool, bool, bool) {
  return unique_along(self, dim, true);
}

Result<UniqueResult> unique_dim_consecutive(const Tensor& self, int64_t dim, bool, bool) {
  return unique_along(self, dim, false);
}
Result<std::tuple<Tensor, Tensor>> unique(const Tensor& self, bool sorted, bool return_inverse) {
  PT2_TRY(const UniqueResult result, unique2(self, sorted, return_inverse, false));
  return std::tuple(std::get<0>(result), std::get<1>(result));
}

Result<UniqueResult> unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts,
                                        const std::optional<int64_t>& dim) {
  const UniqueOptions options{false, return_inverse, return_counts};
  if (dim && !(*dim == 0 && self.dim() == 1)) return unique_along(self, *dim, false);
  return unique_rows(flattened(self), options, self.sizes());
}

Result<Meta> histc_meta(const Tensor& self, int64_t bins, const Scalar&, const Scalar&) {
  if (bins < 1)
    return operator_error("bins: found " + std::to_string(bins) + ", expected 1 or more");
  return Meta(self.dtype(), {bins});
}

// clang-format off
constexpr OpDef kSearchingOps[] = {
    op<"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", searchsorted_meta<Tensor>,
       searchsorted<Tensor>>,
    op<"aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", searchsorted_meta<Scalar>,
       searchsorted<Scalar>>,
    op<"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", bucketize_meta<Tensor>, bucketize<Tensor>>,
    op<"aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", bucketize_meta<Scalar>, bucketize<Scalar>>,
    op<"aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", isin_meta<Tensor, Tensor>, isin<Tensor, Tensor>>.with({.work = 250}),
    op<"aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor", isin_meta<Tensor, Scalar>, isin<Tensor, Scalar>>,
    op<"aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", isin_meta<Scalar, Tensor>, isin<Scalar, Tensor>>.with({.work = 80}),
    composed<"aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", depends_on_data, bincount>,
    composed<"aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", histc_meta, histc>.with({.slope = Slope::constant}),
    composed<"aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", depends_on_data, unique2>.with({.work = 40}),
    composed<"aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       depends_on_data, unique_dim>.with({.work = 100}),
    composed<"aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", depends_on_data, unique>,
    composed<"aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       depends_on_data, unique_dim_consecutive>,
    composed<"aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
       depends_on_data, unique_consecutive>,
};
// clang-format on

}  // namespace

std::span<const OpDef> searching_ops() { return kSearchingOps; }

}  // namespace pt2::ops
