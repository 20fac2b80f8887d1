// Sorting along one dimension. NaN is larger than all numbers.
#include <algorithm>
#include <numeric>

#include "base/memory_account.h"
#include "ops/compose.h"
#include "ops/pointwise/pointwise.h"
#include "ops/pointwise/unsigned_order.h"
#include "ops/reduction/order.h"
#include "ops/reduction/over_dims.h"
#include "ops/reduction/reduce.h"

namespace pt2::ops {
namespace {

struct Ascending {
  template <class C>
  bool operator()(C a, C b) const {
    return (!is_nan(a) && is_nan(b)) || a < b;
  }
};
struct Descending {
  template <class C>
  bool operator()(C a, C b) const {
    return (is_nan(a) && !is_nan(b)) || a > b;
  }
};

template <class C>
using Pair = std::pair<C, int64_t>;

// Calls function(numbers, value, index): the concatenated rows of `self`, and the rows of both
// results.
template <class F>
void with_rows(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, F&& function) {
  if (self.numel() == 0) return;  // a row may have any length then
  with_real_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> numbers(dim_last(self, dim));
    Tensor value_view = dim_last(values, dim);
    Tensor index_view = dim_last(indices, dim);
    Output<C> value(value_view);
    Output<int64_t> index(index_view);
    function(numbers, value, index);
  });
}

// Calls order(pairs) for every row and writes its first `kept` pairs to values and indices.
template <class F>
void order_rows(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, int64_t kept,
                F&& order) {
  const int64_t length = length_of(self, dim);
  with_rows(values, indices, self, dim,
            [&]<class C>(const Input<C>& rows, auto& value, auto& index) {
              Scratch<Pair<C>> pairs(static_cast<size_t>(length));
              for (int64_t row = 0; row < row_count(self.numel(), length); ++row) {
                for (int64_t i = 0; i < length; ++i)
                  pairs[static_cast<size_t>(i)] = {rows[row * length + i], i};
                order(pairs);
                for (int64_t i = 0; i < kept; ++i) {
                  value[row * kept + i] = pairs[static_cast<size_t>(i)].first;
                  index[row * kept + i] = pairs[static_cast<size_t>(i)].second;
                }
              }
            });
}

// Calls function(less), where less compares pairs in the requested order.
template <class F>
void with_order(bool descending, F&& function) {
  if (descending)
    function([](const auto& a, const auto& b) { return Descending()(a.first, b.first); });
  else
    function([](const auto& a, const auto& b) { return Ascending()(a.first, b.first); });
}

Result<void> check_real_number(const Tensor& self) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  return check_not_bool(self, "self");
}

using SortMetas = std::array<Meta, 2>;

Result<SortMetas> sort_stable_meta(const Tensor& self, const std::optional<bool>&, int64_t dim,
                                   bool) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  PT2_TRY(Meta values, as_self(self));
  Meta indices(Dtype::int64, values.sizes, values.strides);
  return std::array{std::move(values), std::move(indices)};
}

void sort_stable(Tensor& values, Tensor& indices, const Tensor& self, const std::optional<bool>&,
                 int64_t dim, bool descending) {
  const int64_t wrapped = *wrap_dim(dim, self.dim());
  const int64_t length = length_of(self, wrapped);
  with_rows(values, indices, self, wrapped,
            [&]<class C>(const Input<C>& numbers, auto& value, auto& index) {
              StableOrder<C> order(length);
              for (int64_t first = 0; first < self.numel(); first += length)
                order.for_each(numbers.data() + first, descending, [&](int64_t i, int64_t place) {
                  value[first + i] = numbers[first + place];
                  index[first + i] = place;
                });
            });
}

Result<SortMetas> sort_meta(const Tensor& self, int64_t dim, bool descending) {
  return sort_stable_meta(self, std::nullopt, dim, descending);
}

void sort(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool descending) {
  sort_stable(values, indices, self, std::nullopt, dim, descending);
}

Result<Tensor> argsort(Emitter& e, const Tensor& self, int64_t dim, bool descending) {
  PT2_TRY(auto both, e.several<Tensor, Tensor>(aten<"sort.default">, {self, dim, descending}));
  return std::move(std::get<1>(both));
}
Result<Tensor> argsort_stable(Emitter& e, const Tensor& self, bool stable, int64_t dim,
                              bool descending) {
  PT2_TRY(auto both,
          e.several<Tensor, Tensor>(aten<"sort.stable">, {self, stable, dim, descending}));
  return std::move(std::get<1>(both));
}
Result<Tensor> msort(Emitter& e, const Tensor& self) {
  return e(aten<"sort.default">, {self, 0, false});
}

Result<SortMetas> topk_meta(const Tensor& self, int64_t k, int64_t dim, bool, bool) {
  PT2_TRY_VOID(check_real_number(self));
  PT2_TRY(const int64_t wrapped, wrap_dim(dim, self.dim()));
  if (k < 0 || k > length_of(self, wrapped))
    return operator_error("k: found " + std::to_string(k) + ", expected 0 to " +
                          std::to_string(length_of(self, wrapped)));
  Sizes sizes = self.sizes();
  if (self.dim() > 0) sizes[static_cast<size_t>(wrapped)] = k;
  return std::array{Meta(self.dtype(), sizes), Meta(Dtype::int64, sizes)};
}

// Writes the first `k` numbers of a row in order, and their positions, for small k. False if a NaN
// or equal numbers may make the order depend on the sorting algorithm.
template <bool Largest>
bool top_of_row(const float* row, int64_t length, int64_t k, float* values, int64_t* places) {
  const auto is_before = [](float a, float b) { return Largest ? a > b : a < b; };
  int64_t count = 0;
  for (int64_t i = 0; i < length; ++i) {
    const float number = row[i];
    if (count == k && !is_before(number, values[k - 1])) {
      if (is_before(values[k - 1], number)) continue;
      return false;
    }
    if (number != number) return false;
    int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && is_before(number, values[at - 1]); --at) {
      values[at] = values[at - 1];
      places[at] = places[at - 1];
    }
    if (at > 0 && values[at - 1] == number) return false;
    values[at] = number;
    places[at] = i;
  }
  return true;
}

constexpr int64_t kFewOfRow = 16;

// Applies top_of_row to all rows. False, with unspecified results, if some row needs the general
// algorithm.
bool few_of_rows(Tensor& values, Tensor& indices, const Tensor& self, int64_t k, int64_t dim,
                 bool largest) {
  if (self.dtype() != Dtype::float32 || k > kFewOfRow || self.numel() == 0) return false;
  const int64_t length = length_of(self, dim);
  const Input<float> rows(dim_last(self, dim));
  Tensor value_view = dim_last(values, dim), index_view = dim_last(indices, dim);
  Output<float> value(value_view);
  Output<int64_t> index(index_view);
  const auto top = largest ? top_of_row<true> : top_of_row<false>;
  for (int64_t row = 0; row < row_count(self.numel(), length); ++row)
    if (!top(rows.data() + row * length, length, k, value.data() + row * k, index.data() + row * k))
      return false;
  return true;
}

// Equal elements have the order of libstdc++'s algorithms, as in PyTorch (ATen/native/TopKImpl.h
// topk_impl_loop).
void topk(Tensor& values, Tensor& indices, const Tensor& self, int64_t k, int64_t dim, bool largest,
          bool sorted) {
  if (self.dim() == 0) k = 1;  // the result is a number even for k = 0
  if (k == 0) return;
  const int64_t wrapped = *wrap_dim(dim, self.dim());
  const int64_t length = length_of(self, wrapped);
  if (sorted && few_of_rows(values, indices, self, k, wrapped, largest)) return;
  with_order(largest, [&](auto less) {
    order_rows(values, indices, self, wrapped, k, [&](auto& pairs) {
      if (k * 64 <= length) {
        std::partial_sort(pairs.begin(), pairs.begin() + k, pairs.end(), less);
        return;
      }
      std::nth_element(pairs.begin(), pairs.begin() + k - 1, pairs.end(), less);
      if (sorted) std::sort(pairs.begin(), pairs.begin() + k - 1, less);
    });
  });
}

// Writes one element of each row along `dims`, and its index.
template <class F>
void pick_from_rows(Tensor& values, Tensor& indices, const Tensor& self, const Sizes& dims,
                    F&& pick) {
  if (self.dim() == 0) return copy_elements(values, self);
  int64_t length = 1;
  for (int64_t d : dims) length *= self.size(d);
  with_real_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> rows(dims_last(self, dims));
    Output<C> value(values);
    Output<int64_t> index(indices);
    Scratch<Pair<C>> pairs(static_cast<size_t>(length));
    for (int64_t row = 0; row < values.numel(); ++row) {
      for (int64_t i = 0; i < length; ++i)
        pairs[static_cast<size_t>(i)] = {rows[row * length + i], i};
      const Pair<C> picked = pick(pairs);
      value[row] = picked.first;
      index[row] = picked.second;
    }
  });
}

Result<SortMetas> pick_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY_VOID(check_not_empty(self, over.dims));
  const Sizes sizes = reduced_sizes(self, over.dims, over.keepdim);
  return std::array{Meta(self.dtype(), sizes), Meta(Dtype::int64, sizes)};
}

template <class C>
Pair<C> ordered_element(Scratch<Pair<C>>& pairs, int64_t k) {
  auto less = [](const Pair<C>& a, const Pair<C>& b) {
    return Ascending()(a.first, b.first) || (!Ascending()(b.first, a.first) && a.second < b.second);
  };
  std::nth_element(pairs.begin(), pairs.begin() + k, pairs.end(), less);
  return pairs[static_cast<size_t>(k)];
}

// In PyTorch, only numbers that are compared must have a comparable dtype.
Result<SortMetas> mode_meta(const Tensor& self, const OverDims& over) {
  if (self.dim() > 0 && self.numel() > 0) PT2_TRY_VOID(check_not_complex(self, "self"));
  return pick_meta(self, over);
}
Result<SortMetas> median_dim_meta(const Tensor& self, const OverDims& over) {
  PT2_TRY_VOID(check_real_number(self));
  return pick_meta(self, over);
}

Result<SortMetas> kthvalue_meta(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  if (self.dim() > 0) PT2_TRY_VOID(check_real_number(self));
  PT2_TRY(const Sizes dims, one_dim(dim, self.dim()));
  PT2_TRY(SortMetas metas, pick_meta(self, {.dims = dims, .keepdim = keepdim}));
  const int64_t length = dims.empty() ? 1 : self.size(dims[0]);
  if (k < 1 || k > length)
    return operator_error("k: found " + std::to_string(k) + ", expected 1 to " +
                          std::to_string(length));
  return metas;
}

// Returns element k of the ascending order. Of equal elements, it is the one that PyTorch's
// quickselect finds (ATen/native/Sorting.cpp quick_select_template).
template <class C>
Pair<C> selected_element(Scratch<Pair<C>>& pairs, int64_t k) {
  const auto at = [&](int64_t i) -> Pair<C>& { return pairs[static_cast<size_t>(i)]; };
  const auto exceeds = [&](int64_t i, int64_t j) { return Descending()(at(i).first, at(j).first); };
  const auto put_in_order = [&](int64_t i, int64_t j) {
    if (exceeds(i, j)) std::swap(at(i), at(j));
  };
  constexpr int64_t kMostRounds = 64;
  int64_t low = 0, high = std::ssize(pairs) - 1, steps = kMostRounds * std::ssize(pairs);
  while (high > low + 1) {
    // Bad pivots would make the time quadratic.
    steps -= high - low;
    if (steps < 0) return ordered_element(pairs, k);
    // The pivot is the middle one of three elements, which also bound both searches below.
    std::swap(at(low + (high - low) / 2), at(low + 1));
    put_in_order(low + 1, high);
    put_in_order(low, high);
    put_in_order(low + 1, low);
    int64_t i = low + 1, j = high;
    for (;;) {
      while (exceeds(low, ++i)) {
      }
      while (exceeds(--j, low)) {
      }
      if (j < i) break;
      std::swap(at(i), at(j));
    }
    std::swap(at(low), at(j));
    if (j <= k) low = i;
    if (j >= k) high = j - 1;
  }
  if (low < high) put_in_order(low, high);
  return at(k);
}

void kthvalue(Tensor& values, Tensor& indices, const Tensor& self, int64_t k, int64_t dim, bool) {
  pick_from_rows(values, indices, self, *one_dim(dim, self.dim()),
                 [k](auto& pairs) { return selected_element(pairs, k - 1); });
}

// The lower of the two middle elements. A NaN is the median, unless Skip ignores NaNs.
template <bool Skip, class C>
Pair<C> median_of(Scratch<Pair<C>>& pairs) {
  const auto nan =
      std::ranges::find_if(pairs, [](const Pair<C>& pair) { return is_nan(pair.first); });
  const auto count = static_cast<int64_t>(pairs.size());
  if (nan == pairs.end()) return ordered_element(pairs, (count - 1) / 2);
  if (!Skip) return *nan;
  const auto numbers =
      std::ranges::count_if(pairs, [](const Pair<C>& pair) { return !is_nan(pair.first); });
  return ordered_element(pairs, numbers == 0 ? 0 : (numbers - 1) / 2);
}

template <bool Skip>
void median_dim(Tensor& values, Tensor& indices, const Tensor& self, const OverDims& over) {
  pick_from_rows(values, indices, self, over.dims,
                 [](auto& pairs) { return median_of<Skip>(pairs); });
}

Result<Meta> median_meta(const Tensor& self) {
  if (self.numel() > 0) PT2_TRY_VOID(check_real_number(self));
  return Meta(self.dtype(), {});
}

// The median of no elements is NaN; for integers the smallest one, to which NaN converts.
template <bool Skip>
void median(Tensor& out, const Tensor& self) {
  if (self.numel() == 0) {
    fill_elements(out, Scalar(std::numeric_limits<double>::quiet_NaN()));
    return;
  }
  Tensor index = Tensor::zeros(Dtype::int64, {});
  median_dim<Skip>(out, index, self, {.dims = *wrap_dims({}, self.dim())});
}

// Returns the most frequent element, the smallest one on a tie. Of its places, PyTorch chooses the
// one that libstdc++'s sort leaves last (ATen/native/cpu/TensorCompareKernel.cpp mode_kernel_impl).
template <class C>
Pair<C> mode_of(Scratch<Pair<C>>& pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const Pair<C>& a, const Pair<C>& b) { return Ascending()(a.first, b.first); });
  size_t best = 0;
  size_t best_count = 0;
  size_t begin = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].first != pairs[begin].first) begin = i;
    if (i - begin + 1 > best_count) {
      best_count = i - begin + 1;
      best = i;
    }
  }
  return pairs[best];
}

void mode(Tensor& values, Tensor& indices, const Tensor& self, const OverDims& over) {
  pick_from_rows(values, indices, self, over.dims, [](auto& pairs) { return mode_of(pairs); });
}

// clang-format off
constexpr OpDef kSortingOps[] = {
    op<"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", sort_meta, in_order<sort>>.with({.chosen_indices = 1, .work = 20}),
    op<"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
       sort_stable_meta, in_order<sort_stable>>.with({.chosen_indices = 1, .work = 20}),
    op<"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", argsort>.with({.chosen_indices = 0, .work = 20}),
    op<"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", argsort_stable>.with({.chosen_indices = 0, .work = 20}),
    op<"aten::msort(Tensor self) -> Tensor", msort>.with({.work = 20}),
    op<"aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
       topk_meta, in_order<topk>>.with({.chosen_indices = 1}),
    op<"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       kthvalue_meta, in_order<kthvalue>>.with({.chosen_indices = 1, .work = 40}),
    op<"aten::median(Tensor self) -> Tensor", median_meta, in_order<median<false>>>,
    reduces<"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", median_dim_meta, in_order<median_dim<false>>>.with({.chosen_indices = 1}),
    op<"aten::nanmedian(Tensor self) -> Tensor", median_meta, in_order<median<true>>>,
    reduces<"aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", median_dim_meta, in_order<median_dim<true>>>.with({.chosen_indices = 1}),
    reduces<"aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", mode_meta, in_order<mode>>.with({.chosen_indices = 1, .work = 80}),
};
// clang-format on

}  // namespace

std::span<const OpDef> sorting_ops() { return kSortingOps; }

}  // namespace pt2::ops
