// gather and the corresponding writes: each element of an index tensor gives a position along one
// dimension.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/element_size.h"
#include "ops/shape/offsets.h"

namespace pt2::ops {
namespace {

// Treats a 0-dim tensor as a tensor of one element.
Tensor at_least_1d(const Tensor& tensor) {
  return tensor.dim() > 0 ? tensor : tensor.with_view({1}, {1}, tensor.storage_offset());
}

// Error unless index fits into `self` in every dim except `dim`, and into `src` in every dim.
Result<void> check_index(const Tensor& self, int64_t dim, const Tensor& index) {
  PT2_TRY_VOID(wrap_dim(dim, self.dim()));
  if (index.numel() == 0) return {};
  PT2_TRY_VOID(check_index_dtype(index, "index"));
  const int64_t rank = std::max<int64_t>(self.dim(), 1);
  PT2_TRY_VOID(check_rank(at_least_1d(index), rank, "index"));
  const int64_t wrapped = *wrap_dim(dim, self.dim());
  for (int64_t i = 0; i < rank && self.dim() > 0; ++i)
    if (i != wrapped && at_least_1d(index).size(i) > self.size(i))
      return operator_error("index: found sizes " + sizes_text(index.sizes()) +
                            ", expected at most " + sizes_text(self.sizes()) + " apart from dim " +
                            std::to_string(wrapped));
  return {};
}

Result<void> check_source(const Tensor& self, const Tensor& index, const Tensor& src) {
  PT2_TRY_VOID(check_same_dtype(src, self, "src"));
  if (index.numel() == 0) return {};
  const Tensor source = at_least_1d(src);
  const Tensor where = at_least_1d(index);
  PT2_TRY_VOID(check_rank(source, where.dim(), "src"));
  for (int64_t i = 0; i < where.dim(); ++i)
    if (where.size(i) > source.size(i))
      return operator_error("index: found sizes " + sizes_text(index.sizes()) +
                            ", expected at most src's " + sizes_text(src.sizes()));
  return {};
}

// Returns how many adjacent elements of `target` each index selects: those of all dimensions after
// `dim` if the index was expanded along them, else 1.
int64_t run_length(const Tensor& target, size_t dim, const Tensor& index) {
  int64_t length = 1;
  for (size_t i = index.sizes().size(); i-- > dim + 1;) {
    if (index.sizes()[i] == 1) continue;
    if (index.strides()[i] != 0 || target.strides()[i] != length) return 1;
    length *= index.sizes()[i];
  }
  return length;
}

// Returns the first of `count` positions that is outside [0, size), or null. The main loop has no
// early exit, so that it vectorizes.
const int64_t* find_outside(const int64_t* places, int64_t count, int64_t size) {
  // Negative if a position, or size - 1 minus a position, is negative.
  uint64_t outside = 0;
  const auto last = static_cast<uint64_t>(size) - 1;
  for (int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<uint64_t>(places[i]);
    outside |= place | (last - place);
  }
  if (outside >> 63 == 0) return nullptr;
  return std::find_if(places, places + count,
                      [size](int64_t place) { return place < 0 || place >= size; });
}

// Calls visit(i, offset, count): `offset` is the position in `self` that index i selects. The
// following `count - 1` indices select the adjacent elements.
template <class F>
Result<void> for_each_target(const Tensor& self, int64_t dim, const Tensor& whole_index,
                             F&& visit) {
  if (whole_index.numel() == 0) return {};
  const Tensor target = at_least_1d(self);
  const auto wrapped = static_cast<size_t>(*wrap_dim(dim, self.dim()));
  Tensor index = at_least_1d(whole_index);
  const int64_t length = run_length(target, wrapped, index);
  if (length > 1) {
    Sizes sizes = index.sizes();
    std::fill(sizes.begin() + static_cast<int64_t>(wrapped) + 1, sizes.end(), 1);
    index = index.with_view(std::move(sizes), index.strides(), index.storage_offset());
  }
  const Input<int64_t> places(index);
  const int64_t size = target.sizes()[wrapped];
  if (const int64_t* wrong = find_outside(places.data(), places.size(), size))
    return operator_error("index " + std::to_string(*wrong) + " is out of range for dim " +
                          std::to_string(wrapped) + " of size " + std::to_string(size));
  Sizes strides = target.strides();
  const int64_t step = strides[wrapped];
  strides[wrapped] = 0;
  const int64_t* place = places.data();
  for_each_line(index.sizes(), strides,
                [&](int64_t i, int64_t offset, int64_t count, int64_t stride) {
                  if (length == 1 && stride == 0 && step == 1) {  // visit gets a literal 1
                    const int64_t* line = place + i;
                    for (int64_t j = 0; j < count; ++j) visit(i + j, offset + line[j], int64_t{1});
                    return;
                  }
                  if (length == 1) {  // visit gets a literal 1, for copies of single elements
                    for (int64_t j = 0; j < count; ++j)
                      visit(i + j, offset + j * stride + place[i + j] * step, int64_t{1});
                    return;
                  }
                  for (int64_t j = 0; j < count; ++j)
                    visit((i + j) * length, offset + j * stride + place[i + j] * step, length);
                });
  return {};
}

Result<Meta> gather_meta(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  PT2_TRY_VOID(check_index(self, dim, index));
  return Meta(self.dtype(), index.sizes());
}

// Copies the elements of `whole` that index selects to a dense tensor, or back.
template <bool Gathers>
Result<void> copy_targets(const Tensor& whole, int64_t dim, const Tensor& index,
                          const std::byte* from, std::byte* to) {
  return with_element_size(dtype_size(whole.dtype()), [&]<size_t N>() {
    constexpr auto kBytes = static_cast<int64_t>(N);
    return for_each_target(whole, dim, index, [&](int64_t i, int64_t offset, int64_t count) {
      std::byte* target = to + (Gathers ? i : offset) * kBytes;
      const std::byte* source = from + (Gathers ? offset : i) * kBytes;
      if (count == 1)
        std::memcpy(target, source, N);
      else
        std::memcpy(target, source, N * static_cast<size_t>(count));
    });
  });
}

Result<void> gather(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, bool) {
  return copy_targets<true>(self, dim, index, self.raw_data(), out.raw_data());
}

// Returns the part of src that index covers, as a dense tensor.
Tensor covered(const Tensor& src, const Tensor& index) {
  if (index.numel() == 0) return index;
  const Tensor source = at_least_1d(src);
  return source.with_view(at_least_1d(index).sizes(), source.strides(), source.storage_offset())
      .contiguous();
}

Result<void> scatter(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src) {
  PT2_TRY_VOID(check_index(out, dim, index));
  PT2_TRY_VOID(check_source(out, index, src));
  const Tensor source = covered(src, index);
  return copy_targets<false>(out, dim, index, source.raw_data(), out.raw_data());
}

// Returns `value`, converted to `dtype`, as a view that repeats it over index's sizes.
Tensor repeated(const Scalar& value, Dtype dtype, const Tensor& index) {
  return broadcast_to(scalar_tensor(value, dtype), index.sizes());
}

Result<void> scatter_value(Tensor& out, int64_t dim, const Tensor& index, const Scalar& value) {
  PT2_TRY_VOID(expect_representable(value, out.dtype()));
  return scatter(out, dim, index, repeated(value, out.dtype(), index));
}

enum class Reduction { sum, product, mean, maximum, minimum };

Result<Reduction> parse_reduction(std::string_view text) {
  struct Row {
    std::string_view name;
    Reduction reduction;
  };
  constexpr Row kRows[] = {{"sum", Reduction::sum},      {"add", Reduction::sum},
                           {"prod", Reduction::product}, {"multiply", Reduction::product},
                           {"mean", Reduction::mean},    {"amax", Reduction::maximum},
                           {"amin", Reduction::minimum}};
  for (const Row& row : kRows)
    if (row.name == text) return row.reduction;
  return operator_error("reduce: found '" + std::string(text) +
                        "', expected sum, prod, mean, amax or amin");
}

// Calls f<reduction>(), so that the loop over elements does not ask which reduction it is. Means
// are divided after they were summed.
template <class F>
decltype(auto) with_reduction(Reduction reduction, F&& f) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean:
      break;
    case Reduction::product:
      return f.template operator()<Reduction::product>();
    case Reduction::maximum:
      return f.template operator()<Reduction::maximum>();
    case Reduction::minimum:
      return f.template operator()<Reduction::minimum>();
  }
  return f.template operator()<Reduction::sum>();
}

template <Reduction kReduction, class C>
C combine(C a, C b) {
  using U = std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, C>;
  if constexpr (kReduction == Reduction::product)
    return static_cast<C>(static_cast<U>(a) * static_cast<U>(b));
  else if constexpr (kReduction == Reduction::sum)
    return static_cast<C>(static_cast<U>(a) + static_cast<U>(b));
  else if constexpr (std::is_same_v<C, Complex>)
    return a;  // refused before
  else if constexpr (kReduction == Reduction::maximum)
    return a != a || a > b ? a : b;
  else
    return a != a || a < b ? a : b;
}

template <class C>
C neutral(Reduction reduction) {
  if (reduction == Reduction::product) return C(1);
  if constexpr (!std::is_same_v<C, Complex>) {
    using Limits = std::numeric_limits<C>;
    if (reduction == Reduction::maximum)
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    if (reduction == Reduction::minimum)
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  return C(0);
}

// Integer division rounds down, as in PyTorch.
template <class C>
C divided(C sum, int64_t count) {
  if constexpr (std::is_same_v<C, int64_t>) {
    const int64_t quotient = sum / count;
    return quotient * count > sum ? quotient - 1 : quotient;
  } else {
    return sum / static_cast<C>(count);
  }
}

Result<void> reduce(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src,
                    Reduction reduction, bool include_self) {
  PT2_TRY_VOID(check_index(out, dim, index));
  PT2_TRY_VOID(check_source(out, index, src));
  if (dtype_category(out.dtype()) == DtypeCategory::complex && reduction > Reduction::mean)
    return operator_error("self: found a complex dtype, expected a real one");
  if (out.dtype() == Dtype::bool_ && reduction == Reduction::mean)
    return operator_error("self: found bool, expected numbers");
  return with_compute_type(out.dtype(), [&]<class C>() -> Result<void> {
    const Input<C> values(covered(src, index));
    // Counts for a mean lie in row-major order.
    const bool in_place =
        out.dtype() == kDtypeOf<C> && (reduction != Reduction::mean || out.is_contiguous());
    Tensor totals = in_place ? out : Tensor::zeros(kDtypeOf<C>, out.sizes());
    if (!in_place) copy_elements(totals, out);
    C* total = totals.data<C>();
    const C* value = values.data();
    // Elements of self that do not count are replaced by the neutral element of the reduction.
    if (!include_self)
      PT2_TRY_VOID(for_each_target(totals, dim, index, [&](int64_t, int64_t offset, int64_t count) {
        std::fill_n(total + offset, count, neutral<C>(reduction));
      }));
    PT2_TRY_VOID(with_reduction(reduction, [&]<Reduction kReduction>() {
      return for_each_target(totals, dim, index, [&](int64_t i, int64_t offset, int64_t count) {
        C* place = total + offset;
        for (int64_t j = 0; j < count; ++j) place[j] = combine<kReduction>(place[j], value[i + j]);
      });
    }));
    if (reduction == Reduction::mean) {
      // The sum must wrap around in the dtype of the result before the division.
      if (!in_place && dtype_category(out.dtype()) == DtypeCategory::integer) {
        copy_elements(out, totals);
        copy_elements(totals, out);
      }
      Scratch<int64_t> counts(static_cast<size_t>(totals.numel()), include_self ? 1 : 0);
      PT2_TRY_VOID(for_each_target(totals, dim, index, [&](int64_t, int64_t offset, int64_t count) {
        for (int64_t j = 0; j < count; ++j) ++counts[static_cast<size_t>(offset + j)];
      }));
      for (int64_t i = 0; i < totals.numel(); ++i)
        if (const int64_t count = counts[static_cast<size_t>(i)]; count > 1)
          total[i] = divided(total[i], count);
    }
    if (!in_place) copy_elements(out, totals);
    return {};
  });
}

Result<void> scatter_add(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src) {
  return reduce(out, dim, index, src, Reduction::sum, true);
}

Result<void> scatter_reduce_two(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src,
                                const std::string& reduce_text, bool include_self) {
  PT2_TRY(const Reduction reduction, parse_reduction(reduce_text));
  return reduce(out, dim, index, src, reduction, include_self);
}

Result<void> scatter_reduce(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src,
                            const std::string& reduce_text) {
  if (reduce_text != "add" && reduce_text != "multiply")
    return operator_error("reduce: found '" + reduce_text + "', expected add or multiply");
  return scatter_reduce_two(out, dim, index, src, reduce_text, true);
}

Result<void> scatter_value_reduce(Tensor& out, int64_t dim, const Tensor& index,
                                  const Scalar& value, const std::string& reduce_text) {
  return scatter_reduce(out, dim, index, repeated(value, out.dtype(), index), reduce_text);
}

// PyTorch takes indices modulo the size if a dim is given.
Result<Tensor> take_along_dim(Emitter& e, const Tensor& self, const Tensor& indices,
                              const std::optional<int64_t>& dim) {
  if (!dim)
    return e(aten<"gather.default">, {e(aten<"reshape.default">, {self, Sizes{-1}}), 0,
                                      e(aten<"reshape.default">, {indices, Sizes{-1}})});
  PT2_TRY_VOID(check_rank(indices, self.dim(), "indices"));
  PT2_TRY(const int64_t wrapped, wrap_dim(*dim, self.dim()));
  Sizes one_sizes = self.sizes(), other_sizes = indices.sizes();
  if (self.dim() > 0)
    one_sizes[static_cast<size_t>(wrapped)] = other_sizes[static_cast<size_t>(wrapped)] = 1;
  const std::array both{one_sizes, other_sizes};
  PT2_TRY(Sizes sizes, broadcast_sizes(both));
  const int64_t size = self.dim() == 0 ? 1 : self.size(wrapped);
  PT2_TRY(const Tensor places, e(aten<"remainder.Scalar">, {indices, size}));
  const auto widened = [&](const Tensor& tensor) {
    Sizes wide = sizes;
    if (self.dim() > 0) wide[static_cast<size_t>(wrapped)] = tensor.size(wrapped);
    return wide == tensor.sizes() ? Result<Tensor>(tensor)
                                  : e(aten<"expand.default">, {tensor, wide});
  };
  return e(aten<"gather.default">, {widened(self), wrapped, widened(places)});
}

// The rule of the operators that write to where an index tensor says.
Result<std::vector<Meta>> scatter_meta(std::span<const Value> arguments) {
  const auto* self = arguments[0].get_if<Tensor>();
  const auto* dim = arguments[1].get_if<int64_t>();
  const auto* index = arguments[2].get_if<Tensor>();
  if (self != nullptr && dim != nullptr && index != nullptr)
    PT2_TRY_VOID(check_index(*self, *dim, *index));
  return like_first(arguments);
}

// clang-format off
constexpr OpDef kScatterOps[] = {
    op<"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", gather_meta, gather>.with({.slope = Slope::linear}),
    changed_contiguous<"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter, scatter_meta>.with({.slope = Slope::linear, .linear_in = "self src"}),
    changed_contiguous<"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", scatter_value, scatter_meta>.with({.slope = Slope::linear, .linear_in = "self value"}),
    changed_contiguous<"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", scatter_reduce, scatter_meta>,
    changed_contiguous<"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", scatter_value_reduce, scatter_meta>,
    changed_contiguous<"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter_add, scatter_meta>.with({.slope = Slope::linear, .linear_in = "self src"}),
    changed_contiguous<"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", scatter_reduce_two, scatter_meta>,
    op<"aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", take_along_dim>.with({.slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> scatter_ops() { return kScatterOps; }

}  // namespace pt2::ops
