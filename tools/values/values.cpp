#include "tools/values/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "base/printable.h"
#include "base/text.h"
#include "ops/convert.h"
#include "tensor_files/tensor_pieces.h"
#include "tools/json_members.h"
#include "tools/table.h"

namespace pt2::tools {
namespace {

using Complex = std::complex<double>;

constexpr int64_t kMaxListed = 16;
constexpr int64_t kMaxRows = 32;
constexpr int64_t kFirstElements = 6;

// One element of a contiguous tensor.
template <class T>
T element(const Tensor& tensor, int64_t index) {
  T value{};
  ops::load_elements(tensor.raw_data() + index * dtype_size(tensor.dtype()), 1, tensor.dtype(), 1,
                     &value);
  return value;
}

// Drops the sign of NaN, which has no meaning.
double unsigned_nan(double value) { return std::isnan(value) ? std::fabs(value) : value; }

std::string element_text(const Tensor& tensor, int64_t index) {
  switch (dtype_category(tensor.dtype())) {
    case DtypeCategory::boolean:
      return element<int64_t>(tensor, index) != 0 ? "true" : "false";
    case DtypeCategory::integer: {
      const auto value = element<int64_t>(tensor, index);
      return tensor.dtype() == Dtype::uint64 ? fmt::format("{}", static_cast<uint64_t>(value))
                                             : fmt::format("{}", value);
    }
    case DtypeCategory::floating:
      return fmt::format("{:.4g}", unsigned_nan(element<double>(tensor, index)));
    case DtypeCategory::complex: {
      const auto value = element<Complex>(tensor, index);
      return fmt::format("{:.4g}{:+.4g}i", unsigned_nan(value.real()), unsigned_nan(value.imag()));
    }
  }
  return "";
}

std::string elements_text(const Tensor& tensor, int64_t count) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += (i > 0 ? ", " : "") + element_text(tensor, i);
  return out;
}

// The tensor may have any strides.
std::string range_text(const Tensor& tensor) {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  int64_t nans = 0, numbers = 0;
  static_cast<void>(for_each_piece(tensor, [&](const Tensor& piece) -> Result<void> {
    for (int64_t i = 0; i < piece.numel(); ++i) {
      const auto value = element<double>(piece, i);
      if (std::isnan(value)) {
        ++nans;
        continue;
      }
      low = std::min(low, value);
      high = std::max(high, value);
      sum += value;
    }
    numbers += piece.numel();
    return {};
  }));
  numbers -= nans;
  std::string out;
  if (numbers > 0)
    out = fmt::format("min {:.4g}, max {:.4g}, mean {:.4g}", low, high,
                      unsigned_nan(sum / static_cast<double>(numbers)));
  if (nans > 0) out += fmt::format("{}{} NaN", out.empty() ? "" : ", ", nans);
  return out;
}

// The tensor may have any strides, and has more than kMaxListed elements.
std::string first_elements_text(const Tensor& tensor) {
  std::string out;
  const Result<void> done = for_each_piece(tensor, [&](const Tensor& piece) -> Result<void> {
    out = elements_text(piece, std::min(kFirstElements, piece.numel()));
    return Error{ErrorCode::argument, "no more pieces are needed", ""};
  });
  static_cast<void>(done);
  return out;
}

std::string rows_text(const Tensor& tensor) {
  const int64_t rows = tensor.size(0), columns = tensor.size(1);
  TextTable table(
      std::vector<TextTable::Column>(static_cast<size_t>(columns) + 1, {"", Align::right}), "  ");
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<std::string> cells{fmt::format("[{}]", row)};
    for (int64_t column = 0; column < columns; ++column)
      cells.push_back(element_text(tensor, row * columns + column));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string tensor_text(const std::string& title, const Tensor& value) {
  const bool is_small = value.numel() <= kMaxRows * kMaxListed;
  const Tensor tensor = is_small ? value.contiguous() : value;
  const bool is_floating = dtype_category(tensor.dtype()) == DtypeCategory::floating;
  if (is_floating && tensor.dim() == 2 && tensor.numel() > 0 && tensor.size(0) <= kMaxRows &&
      tensor.size(1) <= kMaxListed)
    return title + "\n" + rows_text(tensor);
  if (tensor.dim() == 0) return title + " = " + element_text(tensor, 0) + "\n";
  if (tensor.numel() <= kMaxListed)
    return fmt::format("{} = [{}]\n", title, elements_text(tensor, tensor.numel()));
  const std::string first = first_elements_text(tensor);
  if (!is_floating) return fmt::format("{}\n  first {}\n", title, first);
  return fmt::format("{}\n  {}; first {}\n", title, range_text(tensor), first);
}

void write_complex(JsonWriter& json, Complex value) {
  json.begin_array();
  write_number(json, value.real());
  write_number(json, value.imag());
  json.end_array();
}

void write_element(JsonWriter& json, const Tensor& tensor, int64_t index) {
  switch (dtype_category(tensor.dtype())) {
    case DtypeCategory::boolean:
    case DtypeCategory::integer:
      json.raw(element_text(tensor, index));
      break;
    case DtypeCategory::floating:
      write_number(json, element<double>(tensor, index));
      break;
    case DtypeCategory::complex:
      write_complex(json, element<Complex>(tensor, index));
      break;
  }
}

void write_tensor_type(JsonWriter& json, const Tensor& tensor) {
  write_text(json, "type", tensor.type_text());
  write_text(json, "dtype", dtype_name(tensor.dtype()));
  write_integers(json, "sizes", tensor.sizes());
}

void write_tensor(JsonWriter& json, const Tensor& value) {
  const Tensor tensor = value.contiguous();
  write_tensor_type(json, tensor);
  json.key("values");
  json.begin_array();
  for (int64_t i = 0; i < tensor.numel(); ++i) write_element(json, tensor, i);
  json.end_array();
}

// One of the largest scores of a row: index of its element, column, and label.
struct Score {
  int64_t place = 0;
  size_t column = 0;
  std::string label;  // empty if there are no labels
};
// Ignores labels if their number differs: they belong to another output.
std::vector<Score> top_scores(const Tensor& tensor, int64_t row, size_t count,
                              std::span<const std::string> labels) {
  if (labels.size() != score_count(tensor)) labels = {};
  const int64_t columns = tensor.sizes().back();
  // As torch.topk, NaN is the largest; of equal scores the first comes first.
  const auto is_better = [&](int64_t a, int64_t b) {
    const auto left = element<double>(tensor, a), right = element<double>(tensor, b);
    if (std::isnan(left) != std::isnan(right)) return std::isnan(left);
    return left > right || (!(left < right) && a < b);
  };
  // A heap of the best places so far with the worst of them in front. A list of all places would
  // take more memory than the scores.
  std::vector<int64_t> order;
  for (int64_t place = row * columns; place < (row + 1) * columns; ++place) {
    if (order.size() == count) {
      if (count == 0 || !is_better(place, order.front())) continue;
      std::ranges::pop_heap(order, is_better);
      order.pop_back();
    }
    order.push_back(place);
    std::ranges::push_heap(order, is_better);
  }
  std::ranges::sort_heap(order, is_better);
  std::vector<Score> out;
  for (const int64_t place : order) {
    const auto column = static_cast<size_t>(place - row * columns);
    out.push_back({place, column, column < labels.size() ? labels[column] : std::string()});
  }
  return out;
}

void write_scalar(JsonWriter& json, const Value& value) {
  if (const auto* number = value.get_if<int64_t>())
    json.integer(*number);
  else if (const auto* real = value.get_if<double>())
    write_number(json, *real);
  else if (const auto* boolean = value.get_if<bool>())
    json.boolean(*boolean);
  else if (const auto* complex = value.get_if<Complex>())
    write_complex(json, *complex);
  else if (const auto* text = value.get_if<std::string>())
    json.string(*text);
  else
    json.null();
}

}  // namespace

std::string value_text(const std::string& name, const Value& value,
                       const Environment& environment) {
  const std::string title =
      coloured(environment, Colour::bold, printable(name)) + ": " + printable(value.type_text());
  if (const auto* tensor = value.get_if<Tensor>()) return tensor_text(title, *tensor);
  return title + "\n";
}

size_t score_count(const Tensor& tensor) {
  if (!tensor.defined() || dtype_category(tensor.dtype()) != DtypeCategory::floating ||
      tensor.dim() == 0 || tensor.numel() == 0)
    return 0;
  return static_cast<size_t>(tensor.sizes().back());
}

std::string top_text(const std::string& name, const Tensor& value, size_t count,
                     std::span<const std::string> labels) {
  if (score_count(value) == 0) return "";
  const Tensor tensor = value.contiguous();
  const int64_t rows = tensor.numel() / tensor.sizes().back();
  TextTable table({{""}, {"", Align::right}, {"", Align::right}, {""}}, "  ");
  for (int64_t row = 0; row < std::min(rows, kMaxRows); ++row) {
    bool is_first = rows > 1;
    for (const Score& score : top_scores(tensor, row, count, labels)) {
      table.add({is_first ? fmt::format("[{}]", row) : "", std::to_string(score.column),
                 element_text(tensor, score.place), printable(score.label)});
      is_first = false;
    }
  }
  return printable(name) + "\n" + table.text();
}

void write_top(JsonWriter& json, const Tensor& value, size_t count,
               std::span<const std::string> labels) {
  const Tensor tensor = value.contiguous();
  write_tensor_type(json, tensor);
  json.key("top");
  json.begin_array();
  for (int64_t row = 0; row < tensor.numel() / tensor.sizes().back(); ++row) {
    json.begin_array();
    for (const Score& score : top_scores(tensor, row, count, labels)) {
      json.begin_object();
      write_integer(json, "index", score.column);
      json.key("score");
      write_element(json, tensor, score.place);
      if (!score.label.empty()) write_text(json, "label", score.label);
      json.end_object();
    }
    json.end_array();
  }
  json.end_array();
}

void write_value(JsonWriter& json, const Value& value) {
  if (const auto* tensor = value.get_if<Tensor>()) return write_tensor(json, *tensor);
  write_text(json, "type", value.type_text());
  json.key("value");
  write_scalar(json, value);
}

}  // namespace pt2::tools
