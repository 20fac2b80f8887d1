// Facts::slope compared with measurements: an operator is linear, locally constant or neither, and
// its row must say so.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ops/facts.h"
#include "ops/pointwise/copying.h"
#include "ops/row_calls.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

bool is_complex(const Tensor& tensor) {
  return dtype_category(tensor.dtype()) == DtypeCategory::complex;
}

// Returns first + factor * second. A complex element counts as two numbers.
Tensor sum(const Tensor& first, double factor, const Tensor& second) {
  Tensor out = copy_as(first, first.dtype(), MemoryFormat::contiguous).value();
  const int64_t numbers = out.nbytes() / static_cast<int64_t>(sizeof(double));
  auto* to = reinterpret_cast<double*>(out.raw_data());
  const auto* from = reinterpret_cast<const double*>(second.raw_data());
  for (int64_t i = 0; i < numbers; ++i) to[i] += factor * from[i];
  return out;
}

// Arguments at two points, at their sum, and near the first point. Floating tensors are in double
// precision. At the second point scalar operands are 0 and, if `integers_vanish`, integer tensors
// too: the tangent of an integer is zero.
struct Points {
  Arguments first, second, sum, near_first;
  bool vary = false, are_complex = false;
};
Points points_of(const OpDef& def, const Arguments& call, uint64_t seed, bool integers_vanish) {
  const bool says_linear = def.facts.slope == Slope::linear;
  const std::string operands = " " + std::string(def.facts.linear_in) + " ";
  Points out;
  for (size_t i = 0; i < call.size(); ++i) {
    const std::string name(def.signature->parameter_array[i].name);
    const bool is_operand = !says_linear || operands.find(" " + name + " ") != std::string::npos;
    const bool is_number = call[i].is<int64_t>() || call[i].is<double>() || call[i].is<bool>() ||
                           call[i].is<std::complex<double>>();
    enum { kFirst, kSecond, kSum, kNear };
    const auto at = [&](int place) {
      if (is_number && is_operand && says_linear && place == kSecond) return Value(int64_t{0});
      uint64_t next_seed = seed + 10 * i;
      return with_tensors(call[i], [&](const Tensor& tensor) {
        if (!is_floating(tensor))
          return place == kSecond && integers_vanish && is_operand && tensor.dtype() != Dtype::bool_
                     ? Tensor::zeros(tensor.dtype(), tensor.sizes())
                     : tensor;
        const Dtype wide = is_complex(tensor) ? Dtype::complex128 : Dtype::float64;
        const Tensor like = copy_as(tensor, wide, MemoryFormat::contiguous).value();
        Tensor first = with_other_elements(like, ++next_seed);
        if (!is_operand) return first;
        out.vary = out.vary || tensor.numel() > 0;
        out.are_complex = out.are_complex || is_complex(tensor);
        Tensor second = with_other_elements(like, next_seed + 1000);
        if (place == kSecond) return second;
        return place == kFirst ? first : sum(first, place == kSum ? 1 : 1e-7, second);
      });
    };
    out.first.push_back(at(kFirst));
    out.second.push_back(at(kSecond));
    out.sum.push_back(at(kSum));
    out.near_first.push_back(at(kNear));
  }
  return out;
}

// Returns the real and imaginary parts of all floating results. Nothing (nullopt) if the call fails
// or a result is not in double precision.
std::optional<std::vector<double>> numbers_of(const OpDef& def, const Arguments& arguments) {
  const auto seen = observe(def, arguments);
  if (!seen) return std::nullopt;
  std::vector<double> out;
  bool is_exact = true;
  for (const Value& result : seen->results)
    for_each_tensor(result, [&](const Tensor& tensor) {
      if (!is_floating(tensor)) return;
      is_exact =
          is_exact && (tensor.dtype() == Dtype::float64 || tensor.dtype() == Dtype::complex128);
      const Tensor numbers = copy_as(tensor, Dtype::complex128, MemoryFormat::contiguous).value();
      const auto* data = reinterpret_cast<const double*>(numbers.raw_data());
      out.insert(out.end(), data, data + 2 * numbers.numel());
    });
  if (!is_exact || out.empty()) return std::nullopt;
  return out;
}

struct Measured {
  int calls = 0;
  bool is_linear = true, is_constant = true;
};
// Measurements with real and with complex operands: sgn is constant for real ones only.
struct OfNumbers {
  Measured real, complex;
};

// Returns the call with tensors of the first tensor's dtype converted to a floating dtype, so that
// they can vary continuously.
Arguments with_floating_numbers(const Arguments& call) {
  std::optional<Dtype> first;
  for (const Value& argument : call)
    for_each_tensor(argument,
                    [&](const Tensor& tensor) { first = first.value_or(tensor.dtype()); });
  Arguments out;
  for (const Value& argument : call)
    out.push_back(
        argument.is<Dtype>()
            ? Value(Dtype::float64)
            : with_tensors(argument, [&](const Tensor& tensor) {
                const bool is_index = tensor.dtype() != first || is_floating(tensor);
                return is_index ? tensor
                                : copy_as(tensor, Dtype::float64, MemoryFormat::contiguous).value();
              }));
  return out;
}

bool is_sum(const std::vector<double>& sum, const std::vector<double>& first,
            const std::vector<double>& second) {
  if (sum.size() != first.size() || sum.size() != second.size()) return false;
  for (size_t i = 0; i < sum.size(); ++i) {
    const double expected = first[i] + second[i];
    if (std::isnan(expected) && std::isnan(sum[i])) continue;
    if (!(std::abs(sum[i] - expected) <= 1e-5 * (1 + std::abs(expected)))) return false;
  }
  return true;
}

void measure(const OpDef& def, const Arguments& call, OfNumbers& measured) {
  const uint64_t seed = static_cast<uint64_t>(measured.real.calls);
  const Points points = points_of(def, call, seed, true);
  if (!points.vary) return;
  const auto first = numbers_of(def, points.first), near_first = numbers_of(def, points.near_first);
  if (!first || !near_first || first->size() != near_first->size()) return;
  const auto is_same = [](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
  };
  Measured& out = points.are_complex ? measured.complex : measured.real;
  ++out.calls;
  out.is_constant = out.is_constant && std::ranges::equal(*first, *near_first, is_same);
  if (!out.is_linear) return;
  const auto sum = numbers_of(def, points.sum);
  const auto second = numbers_of(def, points.second);
  out.is_linear = sum && second && is_sum(*sum, *first, *second);
  if (out.is_linear || def.facts.slope == Slope::linear) return;
  const auto with_indices = numbers_of(def, points_of(def, call, seed, false).second);
  out.is_linear = sum && with_indices && is_sum(*sum, *first, *with_indices);
}

// Rows that say `by_rule` although the measured calls look linear or constant.
const std::set<std::string, std::less<>> kByRule = {
    // For complex operands they are neither constant nor linear.
    "angle",
    "sgn",
    // PyTorch defines a derivative although the function is a step function.
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_tensor_affine_cachemask",
    // Derivatives differ at NaN elements, and no tested element is NaN.
    "nan_to_num",
    "nansum",
    "nanmean",
    // They make and unpack dual numbers.
    "_make_dual",
    "_unpack_dual",
    // The measured calls are special cases: matrices of one element, no weights, one mode, one
    // operand, distant numbers, NaN.
    "_linalg_det",
    "linalg_det",
    "_embedding_bag",
    "_embedding_bag_backward",
    "_embedding_bag_dense_backward",
    "_embedding_bag_forward_only",
    "embedding_bag",
    "embedding_bag.padding_idx",
    "scatter.reduce",
    "einsum",
    "nextafter",
    "combinations",
    "unique_consecutive",
    "unique_dim_consecutive",
    "heaviside",
    "multilabel_margin_loss",
    "multilabel_margin_loss_backward",
    "multilabel_margin_loss_forward",
    "logspace.Tensor_Scalar",
    "_histogramdd_from_bin_tensors",
    "_segment_reduce_backward",
    "special_zeta",
    "special_zeta.self_scalar",
    "histogramdd.TensorList_bins",
    "div.Tensor_mode",
    "div.Scalar_mode",
    "view.dtype",
    "_softmax",
    "_log_softmax",
    "index_fill.int_Scalar",
    "scatter_reduce.two",
    "norm.ScalarOpt_dim_dtype",
    "quantile.scalar",
    "nanquantile.scalar",
    "cosine_embedding_loss",
    "xlogy.Scalar_Other",
    "gradient.scalarrayint",
};

// Bounds for each row.
constexpr size_t kMostTries = 40;
constexpr int kMostCalls = 12;
constexpr int64_t kMostElementsOfCall = 2000;  // of all tensors of a call

int64_t element_count(const Arguments& call) {
  int64_t elements = 0;
  for (const Value& argument : call)
    for_each_tensor(argument, [&](const Tensor& tensor) { elements += tensor.numel(); });
  return elements;
}

TEST(Slopes, AreWhatRowsSay) {
  // These stop derivatives by definition (torch.Tensor.detach), although their values are linear.
  const std::set<std::string, std::less<>> detaching = {"detach", "data"};
  for (const Row& row : rows_where([](const OpDef& def) {
         return !def.may_draw && !def.signature->is_mutable() &&
                def.signature->name.starts_with("aten::");
       })) {
    OfNumbers all;
    std::vector<Arguments> calls;
    for (const Arguments& call : row.calls)
      if (calls.size() < kMostTries && element_count(call) <= kMostElementsOfCall)
        calls.push_back(call);
    for (const Arguments& call : calls)
      if (all.real.calls < kMostCalls) measure(*row.def, call, all);
    if (all.real.calls + all.complex.calls == 0)
      for (const Arguments& call : calls) measure(*row.def, with_floating_numbers(call), all);
    const Measured& measured = all.real.calls > 0 ? all.real : all.complex;
    const Slope said = row.def->facts.slope;
    if (measured.calls == 0) {
      EXPECT_EQ(said, Slope::by_rule) << row.target << " was never seen to give floating numbers";
      continue;
    }
    const std::string name = schema_name(*row.def->signature).substr(sizeof("aten::") - 1);
    if (detaching.contains(name)) continue;
    const Slope found = measured.is_constant ? Slope::constant
                        : measured.is_linear ? Slope::linear
                                             : Slope::by_rule;
    const bool has_rule = kByRule.contains(name) ||
                          name.find("_polynomial_") != std::string::npos ||
                          name.starts_with("_functional_");
    EXPECT_EQ(said, has_rule ? Slope::by_rule : found) << row.target;
  }
}

}  // namespace
}  // namespace pt2::ops
