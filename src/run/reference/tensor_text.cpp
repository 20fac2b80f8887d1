#include "run/reference/tensor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "base/text.h"
#include "ops/convert.h"

namespace pt2::run {
namespace {

// torch.set_printoptions' defaults.
constexpr int64_t kThreshold = 1000;
constexpr int64_t kEdgeItems = 3;
constexpr size_t kLineWidth = 80;
constexpr std::string_view kPrefix = "tensor(";

bool is_abridged(const Tensor& tensor) { return tensor.numel() > kThreshold; }

// "(2, 3)", "(2,)".
std::string sizes_text(const Tensor& tensor) {
  std::string out = fmt::format("({}", fmt::join(tensor.sizes(), ", "));
  return out + (tensor.dim() == 1 ? ",)" : ")");
}

std::string without_point(double value) {
  std::string text = print_float(value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string complex_text(std::complex<double> value) {
  const std::string imaginary = without_point(value.imag());
  if (value.real() == 0 && !std::signbit(value.real())) return imaginary + "j";
  const bool has_sign = imaginary.starts_with('-');
  return fmt::format("({}{}{}j)", without_point(value.real()), has_sign ? "" : "+", imaginary);
}

// How the elements of one tensor are printed, with one width for all (_Formatter).
class FloatFormat {
 public:
  explicit FloatFormat(const std::vector<double>& values) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    const auto counts = [](double value) { return std::isfinite(value) && value != 0; };
    for (const double value : values) {
      if (!counts(value)) continue;
      least = std::min(least, std::abs(value));
      most = std::max(most, std::abs(value));
      is_whole_ = is_whole_ && value == std::ceil(value);
    }
    if (most == 0) return;
    is_scientific_ = most / least > 1000.0 || most > 1.0e8 || least < 1.0e-4;
    for (const double value : values)
      if (counts(value)) width_ = std::max(width_, digits_of(value).size());
  }

  size_t width() const { return width_; }
  std::string text(double value) const { return fmt::format("{:>{}}", digits_of(value), width_); }

 private:
  std::string digits_of(double value) const {
    if (std::isnan(value)) return "nan";
    if (is_scientific_) return fmt::format("{:.4e}", value);
    if (!is_whole_) return fmt::format("{:.4f}", value);
    return fmt::format("{:.0f}{}", value, std::isfinite(value) ? "." : "");
  }

  bool is_whole_ = true;
  bool is_scientific_ = false;
  size_t width_ = 1;
};

class TensorPrinter {
 public:
  explicit TensorPrinter(const Tensor& tensor)
      : tensor_(tensor), is_abridged_(is_abridged(tensor)) {
    const DtypeCategory category = dtype_category(tensor.dtype());
    const bool is_whole = category == DtypeCategory::integer || category == DtypeCategory::boolean;
    read(0, tensor.raw_data(), is_whole);
    if (is_whole)
      write_whole(category == DtypeCategory::boolean);
    else
      write_floats(category == DtypeCategory::complex);
  }

  std::string text() {
    append(0, kPrefix.size());
    return std::move(out_);
  }

 private:
  // Calls the functor with the index of each printed element of a dim, and with -1 for the gap.
  template <class F>
  void for_each_printed(int64_t size, F&& f) const {
    const bool has_gap = is_abridged_ && size > 2 * kEdgeItems;
    for (int64_t i = 0; i < size; ++i) {
      if (has_gap && i == kEdgeItems) {
        f(int64_t{-1});
        i = size - kEdgeItems;
      }
      f(i);
    }
  }

  void read(int64_t dim, const std::byte* from, bool is_whole) {
    if (dim == tensor_.dim()) {
      if (is_whole) {
        ops::load_elements(from, 0, tensor_.dtype(), 1, &whole_.emplace_back());
      } else {
        ops::Complex value;
        ops::load_elements(from, 0, tensor_.dtype(), 1, &value);
        real_.push_back(value.real());
        imaginary_.push_back(value.imag());
      }
      return;
    }
    const int64_t step = tensor_.strides()[dim] * dtype_size(tensor_.dtype());
    for_each_printed(tensor_.sizes()[dim], [&](int64_t i) {
      if (i >= 0) read(dim + 1, from + i * step, is_whole);
    });
  }

  void write_whole(bool is_bool) {
    for (const int64_t value : whole_) {
      if (is_bool)
        texts_.emplace_back(value != 0 ? "True" : "False");
      else if (tensor_.dtype() == Dtype::uint64)
        texts_.push_back(fmt::format("{}", static_cast<uint64_t>(value)));
      else
        texts_.push_back(fmt::format("{}", value));
      width_ = std::max(width_, texts_.back().size());
    }
    for (std::string& text : texts_) text.insert(0, width_ - text.size(), ' ');
  }

  void write_floats(bool is_complex) {
    const FloatFormat real(real_);
    width_ = real.width();
    for (const double value : real_) texts_.push_back(real.text(value));
    if (!is_complex) return;
    const FloatFormat imaginary(imaginary_);
    width_ += imaginary.width() + 1;
    for (size_t i = 0; i < texts_.size(); ++i) {
      std::string text = imaginary.text(imaginary_[i]) + "j";
      text.erase(0, text.find_first_not_of(' '));
      texts_[i] += (text.starts_with('-') ? "" : "+") + text;
    }
  }

  void append(int64_t dim, size_t indent) {
    if (dim == tensor_.dim()) {
      out_ += texts_[next_++];
      return;
    }
    const bool is_row = dim + 1 == tensor_.dim();
    const size_t room = kLineWidth - std::min(indent, kLineWidth);
    const size_t in_line = is_row ? std::max<size_t>(1, room / (width_ + 2)) : 1;
    const size_t breaks = is_row ? 1 : static_cast<size_t>(tensor_.dim() - dim - 1);
    size_t count = 0;
    out_ += '[';
    for_each_printed(tensor_.sizes()[dim], [&](int64_t i) {
      if (count > 0 && count % in_line != 0) out_ += ", ";
      if (count > 0 && count % in_line == 0)
        out_.append(",").append(breaks, '\n').append(indent + 1, ' ');
      ++count;
      if (i < 0)
        out_ += is_row ? " ..." : "...";
      else
        append(dim + 1, indent + 1);
    });
    out_ += ']';
  }

  const Tensor& tensor_;
  bool is_abridged_;
  std::vector<int64_t> whole_;
  std::vector<double> real_, imaginary_;
  std::vector<std::string> texts_;  // of the printed elements, in row-major order
  size_t width_ = 1;                // of an element
  size_t next_ = 0;
  std::string out_;
};

// Puts the suffixes behind the text, on a new line where one does not fit (_add_suffixes).
std::string with_suffixes(std::string text, std::initializer_list<std::string> suffixes) {
  const size_t line = text.rfind('\n');
  size_t length = line == std::string::npos ? text.size() + 2 : text.size() - line + 1;
  for (const std::string& suffix : suffixes) {
    if (suffix.empty()) continue;
    if (length + suffix.size() + 2 > kLineWidth) {
      text.append(",\n").append(kPrefix.size(), ' ').append(suffix);
      length = kPrefix.size() + suffix.size();
    } else {
      text.append(", ").append(suffix);
      length += suffix.size() + 2;
    }
  }
  return text + ")";
}

std::string dtype_suffix(const Tensor& tensor) {
  return fmt::format("dtype=torch.{}", dtype_name(tensor.dtype()));
}

std::string size_suffix(const Tensor& tensor) { return fmt::format("size={}", sizes_text(tensor)); }

}  // namespace

int64_t printed_elements(const Tensor& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.sizes()) {
    const int64_t printed = is_abridged(tensor) ? std::min(size, 2 * kEdgeItems) : size;
    if (__builtin_mul_overflow(count, printed, &count)) return INT64_MAX;
  }
  return count;
}

std::string tensor_text(const Tensor& tensor) {
  const Dtype dtype = tensor.dtype();
  if (tensor.numel() == 0)
    return with_suffixes(fmt::format("{}[]", kPrefix),
                         {tensor.dim() == 1 ? "" : size_suffix(tensor),
                          dtype == Dtype::float32 ? "" : dtype_suffix(tensor)});
  const bool is_usual = dtype == Dtype::float32 || dtype == Dtype::complex64 ||
                        dtype == Dtype::int64 || dtype == Dtype::bool_;
  return with_suffixes(std::string(kPrefix) + TensorPrinter(tensor).text(),
                       {is_usual ? "" : dtype_suffix(tensor)});
}

std::string tensor_size_text(const Tensor& tensor) {
  return with_suffixes(
      fmt::format("{}...", kPrefix),
      {size_suffix(tensor), tensor.dtype() == Dtype::float32 ? "" : dtype_suffix(tensor)});
}

std::string value_text(const Value& value, int64_t& elements_left) {
  if (value.is_none()) return "None";
  if (const auto* flag = value.get_if<bool>()) return *flag ? "True" : "False";
  if (const auto* integer = value.get_if<int64_t>()) return fmt::format("{}", *integer);
  if (const auto* real = value.get_if<double>()) return print_float(*real);
  if (const auto* number = value.get_if<std::complex<double>>()) return complex_text(*number);
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* dtype = value.get_if<Dtype>()) return fmt::format("torch.{}", dtype_name(*dtype));
  if (const auto* tensor = value.get_if<Tensor>()) {
    const int64_t count = tensor->defined() ? printed_elements(*tensor) : INT64_MAX;
    if (count > elements_left) return tensor_size_text(*tensor);
    elements_left -= count;
    return tensor_text(*tensor);
  }
  const auto* list = value.get_if<Value::List>();
  if (list == nullptr) return value.type_text();
  std::string out = "[";
  for (const Value& item : *list)
    out.append(out.size() > 1 ? ", " : "").append(value_text(item, elements_left));
  return out + "]";
}

}  // namespace pt2::run
