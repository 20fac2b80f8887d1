#include "pt2/tools/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/convert.h"
#include "pt2/tools/run_trace.h"

namespace pt2 {
namespace {

using Complex = std::complex<double>;

constexpr int64_t kChunk = 1024;
// A result's error may be this many times PyTorch's own error.
constexpr double kErrorFactor = 2;
// The signal-to-noise ratio where the expected signal is 0 and there is noise.
constexpr double kNoSignal = -std::numeric_limits<double>::infinity();

struct ToleranceRow {
  Dtype dtype;
  Tolerance tolerance;
  double rounding;  // the gap between 1 and the next larger number
};
// clang-format off
constexpr ToleranceRow kTolerances[] = {
    {Dtype::float16,    {1e-3,   1e-5}, 0x1p-10},
    {Dtype::bfloat16,   {1.6e-2, 1e-5}, 0x1p-7},
    {Dtype::float32,    {1.3e-6, 1e-5}, 0x1p-23},
    {Dtype::float64,    {1e-7,   1e-7}, 0x1p-52},
    {Dtype::complex32,  {1e-3,   1e-5}, 0x1p-10},
    {Dtype::complex64,  {1.3e-6, 1e-5}, 0x1p-23},
    {Dtype::complex128, {1e-7,   1e-7}, 0x1p-52},
};
// clang-format on

const ToleranceRow* find_tolerance(Dtype dtype) {
  const auto* row = std::ranges::find(kTolerances, dtype, &ToleranceRow::dtype);
  return row == std::end(kTolerances) ? nullptr : row;
}

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(Complex value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }
bool is_nan(double value) { return std::isnan(value); }
bool is_nan(Complex value) { return std::isnan(value.real()) || std::isnan(value.imag()); }

std::string element_text(double value) { return fmt::format("{}", value); }
std::string element_text(int64_t value) { return fmt::format("{}", value); }
std::string element_text(uint64_t value) { return fmt::format("{}", value); }
std::string element_text(Complex value) {
  return fmt::format("{}{:+}i", value.real(), value.imag());
}

template <class T>
bool same(T found, T expected) {
  return found == expected || (is_nan(found) && is_nan(expected));
}

template <class T>
bool is_close(T found, T expected, const Tolerance& tolerance) {
  if (same(found, expected)) return true;
  return is_finite(found) && is_finite(expected) &&
         std::abs(found - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

std::string place_text(const Sizes& sizes, int64_t index) {
  if (sizes.empty()) return "";
  std::vector<int64_t> place(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0;) {
    place[dim] = index % sizes[dim];
    index /= sizes[dim];
  }
  return fmt::format(" at [{}]", fmt::join(place, ", "));
}

// Reads `count` elements of a contiguous tensor from `start` on.
template <class T>
void load(const Tensor& tensor, int64_t start, int64_t count, T* out) {
  ops::load_elements(tensor.raw_data() + start * dtype_size(tensor.dtype()), 1, tensor.dtype(),
                     count, out);
}

void add_error(double error, double size, Comparison& out) {
  out.largest_error = std::max(out.largest_error, error);
  if (size > 0) out.largest_relative_error = std::max(out.largest_relative_error, error / size);
}

// Counts the elements that differ and keeps the worst one.
template <class T>
class Differences {
 public:
  void add(int64_t index, T found, T expected, double error) {
    ++count_;
    // An infinite or undefined error is worse than every number.
    if (count_ > 1 && !(error > worst_error_) && !(is_worst(error) && !is_worst(worst_error_)))
      return;
    worst_error_ = error;
    index_ = index;
    found_ = found;
    expected_ = expected;
  }

  std::string text(const Sizes& sizes, int64_t numel) const {
    if (count_ == 0) return "";
    return fmt::format("{} of {} elements differ, the most{}: found {}, expected {}", count_, numel,
                       place_text(sizes, index_), element_text(found_), element_text(expected_));
  }

 private:
  static bool is_worst(double error) { return !std::isfinite(error); }

  int64_t count_ = 0;
  int64_t index_ = 0;
  T found_{};
  T expected_{};
  double worst_error_ = 0;
};

// visit(index, element of found, element of expected)
template <class T>
void for_each_pair(const Tensor& found, const Tensor& expected, auto&& visit) {
  std::vector<T> ours(kChunk), theirs(kChunk);
  for (int64_t start = 0; start < found.numel(); start += kChunk) {
    const int64_t count = std::min(kChunk, found.numel() - start);
    load(found, start, count, ours.data());
    load(expected, start, count, theirs.data());
    for (int64_t i = 0; i < count; ++i)
      visit(start + i, ours[static_cast<size_t>(i)], theirs[static_cast<size_t>(i)]);
  }
}

template <class T>
void compare_close(const Tensor& found, const Tensor& expected, const Tolerance& tolerance,
                   Comparison& out) {
  Differences<T> differences;
  for_each_pair<T>(found, expected, [&](int64_t index, T a, T b) {
    const double error = same(a, b) ? 0 : std::abs(a - b);
    if (std::isfinite(error)) add_error(error, std::abs(b), out);
    if (!is_close(a, b, tolerance)) differences.add(index, a, b, error);
  });
  out.difference = differences.text(found.sizes(), found.numel());
}

template <class T>
void compare_with_reference(const Tensor& found, const Tensor& expected, const Tensor& reference,
                            const Tolerance& tolerance, double rounding, Comparison& out) {
  std::vector<T> ours(kChunk), theirs(kChunk), exact(kChunk);
  // `far_error` is the largest error of elements beyond the tolerance: errors within the tolerance
  // never fail a comparison.
  double our_error = 0, far_error = 0, their_error = 0, largest = 0;
  Differences<T> differences;
  for (int64_t start = 0; start < found.numel(); start += kChunk) {
    const int64_t count = std::min(kChunk, found.numel() - start);
    load(found, start, count, ours.data());
    load(expected, start, count, theirs.data());
    load(reference, start, count, exact.data());
    for (int64_t i = 0; i < count; ++i) {
      const T a = ours[static_cast<size_t>(i)], b = theirs[static_cast<size_t>(i)],
              c = exact[static_cast<size_t>(i)];
      if (!is_finite(a) || !is_finite(b)) {
        if (!same(a, b)) differences.add(start + i, a, b, std::abs(a - b));
        continue;
      }
      add_error(std::abs(a - b), std::abs(b), out);
      if (!is_finite(c)) continue;
      const double error = std::abs(a - c);
      our_error = std::max(our_error, error);
      if (!is_close(a, b, tolerance)) far_error = std::max(far_error, error);
      their_error = std::max(their_error, std::abs(b - c));
      largest = std::max(largest, std::abs(c));
    }
  }
  out.found_error = our_error;
  out.expected_error = their_error;
  out.difference = differences.text(found.sizes(), found.numel());
  if (out.equal() && far_error > kErrorFactor * their_error + rounding * largest)
    out.difference = fmt::format("the error against float64 is {:.3g}, PyTorch's is {:.3g}",
                                 far_error, their_error);
  // There is no remark if the tolerance allows the error anyway.
  if (kErrorFactor * their_error >= largest &&
      their_error > tolerance.absolute + tolerance.relative * largest)
    out.remark = fmt::format(
        "PyTorch's own error against float64 is {:.3g} where the largest value is {:.3g}: a rule "
        "that allows {} times its error says nothing here",
        their_error, largest, kErrorFactor);
}

// The Euclidean norm of numbers whose squares may overflow or underflow.
class Norm {
 public:
  void add(double size) {
    if (size == 0) return;
    const double ratio = size > scale_ ? scale_ / size : size / scale_;
    sum_ = size > scale_ ? 1 + sum_ * ratio * ratio : sum_ + ratio * ratio;
    scale_ = std::max(scale_, size);
  }
  bool is_zero() const { return scale_ == 0; }
  double decibels() const { return 20 * std::log10(scale_) + 10 * std::log10(sum_); }

 private:
  double scale_ = 0;
  double sum_ = 0;  // of squares, in units of scale_ * scale_
};

// As torch.ao.ns.fx.utils.compute_sqnr, but infinite instead of NaN if both norms are 0.
double signal_to_noise(const Norm& signal, const Norm& noise) {
  if (noise.is_zero()) return std::numeric_limits<double>::infinity();
  if (signal.is_zero()) return kNoSignal;
  const double out = signal.decibels() - noise.decibels();
  return std::isnan(out) ? kNoSignal : out;  // the differences overflowed
}

// Returns how the non-finite elements differ. If they do not differ, sets out.sqnr.
template <class T>
std::string measure_noise(const Tensor& found, const Tensor& expected, Comparison& out) {
  Differences<T> differences;
  Norm signal, noise;
  for_each_pair<T>(found, expected, [&](int64_t index, T a, T b) {
    if (is_finite(a) && is_finite(b)) {
      signal.add(std::abs(b));
      noise.add(std::abs(b - a));
    } else if (!same(a, b)) {
      differences.add(index, a, b, std::abs(a - b));
    }
  });
  std::string difference = differences.text(found.sizes(), found.numel());
  if (difference.empty()) out.sqnr = signal_to_noise(signal, noise);
  return difference;
}

// With `min_sqnr`, the noise replaces the verdict of the elementwise comparison. Without it, the
// ratio is only reported beside a difference.
template <class T>
void judge_noise(const Tensor& found, const Tensor& expected, const CompareOptions& options,
                 Comparison& out) {
  if (!options.min_sqnr && out.equal()) return;
  std::string difference = measure_noise<T>(found, expected, out);
  if (!options.min_sqnr) return;
  // Without a signal, no noise is small enough.
  if (out.sqnr && !(*out.sqnr >= *options.min_sqnr && *out.sqnr > kNoSignal))
    difference = fmt::format("signal to noise is {:.4g} dB, expected at least {:.4g} dB", *out.sqnr,
                             *options.min_sqnr);
  out.difference = std::move(difference);
  out.remark.clear();  // the remark is on a rule that did not decide
}

// T is uint64_t for that dtype, whose elements are loaded with their bits.
template <class T>
void compare_exact(const Tensor& found, const Tensor& expected, Comparison& out) {
  const auto size = static_cast<size_t>(dtype_size(found.dtype()));
  Differences<T> differences;
  for (int64_t i = 0; i < found.numel(); ++i) {
    const size_t offset = static_cast<size_t>(i) * size;
    if (std::memcmp(found.raw_data() + offset, expected.raw_data() + offset, size) == 0) continue;
    int64_t loaded[2] = {};
    load(found, i, 1, &loaded[0]);
    load(expected, i, 1, &loaded[1]);
    const auto a = static_cast<T>(loaded[0]), b = static_cast<T>(loaded[1]);
    const double error = std::abs(static_cast<double>(a) - static_cast<double>(b));
    add_error(error, std::abs(static_cast<double>(b)), out);
    differences.add(i, a, b, error);
  }
  out.difference = differences.text(found.sizes(), found.numel());
}

Tolerance chosen_tolerance(const CompareOptions& options, const Tolerance& usual) {
  return {options.relative.value_or(usual.relative), options.absolute.value_or(usual.absolute)};
}

template <class T>
void compare_inexact(const Tensor& found, const Tensor& expected, const CompareOptions& options,
                     const Tensor* reference, Comparison& out) {
  const ToleranceRow* row = find_tolerance(found.dtype());
  const Tolerance tolerance = chosen_tolerance(options, default_tolerance(found.dtype()));
  if (reference == nullptr || row == nullptr) {
    compare_close<T>(found, expected, tolerance, out);
    return judge_noise<T>(found, expected, options, out);
  }
  if (reference->sizes() != found.sizes() ||
      dtype_category(reference->dtype()) != dtype_category(found.dtype())) {
    out.difference = "the reference is " + reference->type_text();
    return;
  }
  const Result<Tensor> dense = reference->try_contiguous();
  if (!dense) {
    out.difference = "the reference: " + dense.error().text();
    return;
  }
  compare_with_reference<T>(found, expected, *dense, tolerance, row->rounding, out);
  judge_noise<T>(found, expected, options, out);
}

// The largest element so far, by the rules of torch.argmax: the first of equal elements, and NaN
// above every number.
struct Largest {
  double value = 0;
  int64_t index = -1;

  void add(double element, int64_t at) {
    if (index >= 0 && (is_nan(value) || !(element > value || is_nan(element)))) return;
    value = element;
    index = at;
  }
};

// Counts rows whose largest element is at another index; ties do not count.
void compare_argmax(const Tensor& found, const Tensor& expected, const Tolerance& tolerance,
                    Comparison& out) {
  const int64_t length = expected.dim() == 0 ? 0 : expected.sizes().back();
  if (length < 2) return;
  out.rows = expected.numel() / length;
  std::vector<double> ours(kChunk), theirs(kChunk);
  for (int64_t row = 0; row < out.rows; ++row) {
    Largest mine, wanted;
    for (int64_t start = 0; start < length; start += kChunk) {
      const int64_t count = std::min(kChunk, length - start);
      load(found, row * length + start, count, ours.data());
      load(expected, row * length + start, count, theirs.data());
      for (int64_t i = 0; i < count; ++i) {
        mine.add(ours[static_cast<size_t>(i)], start + i);
        wanted.add(theirs[static_cast<size_t>(i)], start + i);
      }
    }
    if (mine.index == wanted.index) continue;
    double other = 0;
    load(expected, row * length + mine.index, 1, &other);
    if (!is_close(other, wanted.value, tolerance)) ++out.argmax_differs;
  }
}

Comparison compare_tensors(const Tensor& found, const Tensor& expected,
                           const CompareOptions& options, const Tensor* reference) {
  Comparison out;
  if (found.dtype() != expected.dtype() || found.sizes() != expected.sizes()) {
    out.difference = fmt::format("found {}, expected {}", found.type_text(), expected.type_text());
    return out;
  }
  if (!options.values || found.numel() == 0) return out;
  for (const Tensor* tensor : {&found, &expected, reference}) {
    if (tensor == nullptr || tensor->has_memory()) continue;
    out.difference = fmt::format("{} is {}, without memory for its elements",
                                 tensor == &found      ? "found"
                                 : tensor == &expected ? "expected"
                                                       : "the reference",
                                 tensor->type_text());
    return out;
  }
  const Result<Tensor> dense_found = found.try_contiguous();
  const Result<Tensor> dense_expected = expected.try_contiguous();
  if (!dense_found || !dense_expected) {
    out.difference = (dense_found ? dense_expected : dense_found).error().text();
    return out;
  }
  const Tensor &ours = *dense_found, &theirs = *dense_expected;
  switch (dtype_category(found.dtype())) {
    case DtypeCategory::boolean:
    case DtypeCategory::integer:
      if (found.dtype() == Dtype::uint64)
        compare_exact<uint64_t>(ours, theirs, out);
      else
        compare_exact<int64_t>(ours, theirs, out);
      break;
    case DtypeCategory::floating:
      compare_inexact<double>(ours, theirs, options, reference, out);
      compare_argmax(ours, theirs, chosen_tolerance(options, default_tolerance(found.dtype())),
                     out);
      break;
    case DtypeCategory::complex:
      compare_inexact<Complex>(ours, theirs, options, reference, out);
      break;
  }
  return out;
}

// True unless both values are a T, and the two differ.
template <class T>
bool agree(const Value& found, const Value& expected) {
  const T* value = found.get_if<T>();
  return value == nullptr || *value == *expected.get_if<T>();
}

Comparison compare_lists(const Value::List& found, const Value::List& expected,
                         const CompareOptions& options) {
  Comparison out;
  if (found.size() != expected.size())
    out.difference =
        fmt::format("found list of {}, expected list of {}", found.size(), expected.size());
  for (size_t i = 0; i < found.size() && out.equal(); ++i) {
    const Comparison item = compare(found[i], expected[i], options);
    out.largest_error = std::max(out.largest_error, item.largest_error);
    out.largest_relative_error = std::max(out.largest_relative_error, item.largest_relative_error);
    if (!item.equal()) out.difference = fmt::format("[{}]: {}", i, item.difference);
  }
  return out;
}

}  // namespace

Tolerance default_tolerance(Dtype dtype) {
  const ToleranceRow* row = find_tolerance(dtype);
  return row == nullptr ? Tolerance{} : row->tolerance;
}

Comparison compare(const Value& found, const Value& expected, const CompareOptions& options,
                   const Tensor* reference) {
  Comparison out;
  if (found.data.index() != expected.data.index()) {
    out.difference = fmt::format("found {}, expected {}", found.type_text(), expected.type_text());
    return out;
  }
  if (const auto* tensor = found.get_if<Tensor>())
    return compare_tensors(*tensor, *expected.get_if<Tensor>(), options, reference);
  if (const auto* list = found.get_if<Value::List>())
    return compare_lists(*list, *expected.get_if<Value::List>(), options);
  if (!options.values) return out;
  // A number is compared as a tensor of one element.
  if (options.min_sqnr && (found.is<double>() || found.is<Complex>()))
    return compare_tensors(*as_tensor(found), *as_tensor(expected), options, nullptr);
  const Tolerance tolerance = chosen_tolerance(options, default_tolerance(Dtype::float64));
  bool equal = true;
  if (const auto* number = found.get_if<double>())
    equal = is_close(*number, *expected.get_if<double>(), tolerance);
  else if (const auto* complex = found.get_if<Complex>())
    equal = is_close(*complex, *expected.get_if<Complex>(), tolerance);
  else
    equal = agree<int64_t>(found, expected) && agree<bool>(found, expected) &&
            agree<std::string>(found, expected) && agree<Dtype>(found, expected) &&
            agree<MemoryFormat>(found, expected) && agree<Layout>(found, expected) &&
            agree<Device>(found, expected);
  if (!equal)
    out.difference = fmt::format("found {}, expected {}", found.type_text(), expected.type_text());
  return out;
}

}  // namespace pt2
