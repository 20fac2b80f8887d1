// The operators that print: torch/_higher_order_ops/print.py, and aten::_print.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "base/text.h"
#include "ops/convert.h"
#include "run/reference/executor.h"
#include "run/reference/tensor_text.h"

namespace pt2::run {
namespace {

constexpr int64_t kMostElements = 10'000;  // of all tensors of one text
constexpr size_t kMostText = 1 << 20;      // bytes
constexpr uint64_t kElementWork = 128;     // the time of printing an element, in elements
// A width such as {:>2000000000} would take 2 GB.
constexpr size_t kMostDigits = 3;

bool has_long_number(std::string_view text) {
  size_t digits = 0;
  for (const char c : text) {
    digits = is_digit(c) ? digits + 1 : 0;
    if (digits > kMostDigits) return true;
  }
  return false;
}

template <class T>
std::optional<std::string> try_format(std::string_view spec, const T& value) {
  try {
    return fmt::format(fmt::runtime(fmt::format("{{:{}}}", spec)), value);
  } catch (const fmt::format_error&) {
    return std::nullopt;
  }
}

Value number_in(const Tensor& tensor) {
  const auto load = [&]<class T>(T number) {
    ops::load_elements(tensor.raw_data(), 0, tensor.dtype(), 1, &number);
    return number;
  };
  switch (dtype_category(tensor.dtype())) {
    case DtypeCategory::boolean:
      return Value(load(int64_t{}) != 0);
    case DtypeCategory::integer:
      return Value(load(int64_t{}));
    case DtypeCategory::floating:
      return Value(load(double{}));
    case DtypeCategory::complex:
      return Value(load(ops::Complex{}));
  }
  return {};
}

// format(value, spec) of a number; nothing for what only Python formats so, like "," and "%".
std::optional<std::string> formatted(const Value& value, std::string_view spec) {
  const bool wants_real = std::string_view("eEfFgG").find(spec.back()) != std::string_view::npos;
  if (const auto* flag = value.get_if<bool>()) return formatted(Value(int64_t{*flag}), spec);
  if (const auto* integer = value.get_if<int64_t>())
    return wants_real ? try_format(spec, static_cast<double>(*integer))
                      : try_format(spec, *integer);
  if (const auto* real = value.get_if<double>()) {
    if (wants_real || spec.find('.') != std::string_view::npos) return try_format(spec, *real);
    // Without a type, digits are those of repr(), aligned as a number.
    const bool is_width = is_digit(spec.front());
    return try_format(fmt::format("{}{}", is_width ? ">" : "", spec), print_float(*real));
  }
  const auto* text = value.get_if<std::string>();
  return text == nullptr ? std::nullopt : try_format(spec, *text);
}

// str.format() of Python: "{} {1} {name} {x:.3f} {{}}". A field is a number or a name, with an
// optional conversion and format.
class TextFormat {
 public:
  // The arguments from `first` on are those of the text.
  TextFormat(const Node& node, std::span<const Value> arguments, size_t first) {
    for (size_t i = first; i < arguments.size(); ++i)
      if (const std::string& name = node.inputs[i].name; name.empty())
        positional_.push_back(&arguments[i]);
      else
        named_.emplace(name, &arguments[i]);
  }

  Result<std::string> print(std::string_view format) {
    std::string out;
    while (!format.empty()) {
      const size_t brace = std::min(format.find_first_of("{}"), format.size());
      out += format.substr(0, brace);
      format.remove_prefix(brace);
      if (format.starts_with("{{") || format.starts_with("}}")) {
        out += format.front();
        format.remove_prefix(2);
      } else if (!format.empty()) {
        const size_t end = format.find('}');
        if (format.front() == '}' || end == std::string_view::npos)
          return ops::operator_error("a single brace in the text to print");
        PT2_TRY_VOID(append_field(out, format.substr(1, end - 1)));
        format.remove_prefix(end + 1);
      }
      if (out.size() > kMostText)
        return Error{ErrorCode::limit, "the text to print is longer than 1 MiB", ""};
    }
    return out;
  }

  uint64_t work() const {
    return kElementWork * static_cast<uint64_t>(kMostElements - elements_left_);
  }

 private:
  Result<void> append_field(std::string& out, std::string_view field) {
    const size_t name_end = std::min(field.find_first_of(":!"), field.size());
    const size_t colon = field.find(':', name_end);
    std::string_view spec;
    if (colon != std::string_view::npos) spec = field.substr(colon + 1);
    if (has_long_number(field) || spec.find('{') != std::string_view::npos)
      return unsupported(field);
    PT2_TRY(const Value* given, argument(field.substr(0, name_end)));
    const auto* tensor = given->get_if<Tensor>();
    const bool is_number = tensor != nullptr && tensor->dim() == 0 && tensor->has_memory();
    const Value value = is_number ? number_in(*tensor) : *given;
    std::optional<std::string> text;
    if (!spec.empty()) text = formatted(value, spec);
    out += text ? *text : value_text(value, elements_left_);
    return {};
  }

  Result<const Value*> argument(std::string_view name) {
    if (std::ranges::all_of(name, is_digit)) {
      const size_t position =
          name.empty() ? next_++ : static_cast<size_t>(parse_int(name).value_or(0));
      if (position < positional_.size()) return positional_[position];
    } else if (!is_word(name)) {
      return unsupported(name);
    } else if (const auto found = named_.find(name); found != named_.end()) {
      return found->second;
    }
    return ops::operator_error(fmt::format("no argument for the field '{{{}}}' to print", name));
  }

  static Error unsupported(std::string_view field) {
    return {ErrorCode::unsupported,
            fmt::format("the field '{{{}}}' to print: only names and numbers are printed, with "
                        "widths up to 999",
                        field),
            ""};
  }

  std::vector<const Value*> positional_;
  std::map<std::string_view, const Value*> named_;
  size_t next_ = 0;  // of the arguments that "{}" takes
  int64_t elements_left_ = kMostElements;
};

}  // namespace

// print(format, *arguments, **named), or the same behind a higher-order operator that calls it.
Result<std::vector<Value>> print(Executor& executor, const BoundNode& node,
                                 std::vector<Value> arguments) {
  const size_t first = node.higher_order->first_operand;
  const auto* format = first < arguments.size() ? arguments[first].get_if<std::string>() : nullptr;
  if (format == nullptr) return ops::operator_error("the text to print is not a string");
  if (executor.prints()) {
    TextFormat text(*node.node, arguments, first + 1);
    PT2_TRY(const std::string line, text.print(*format));
    PT2_TRY_VOID(executor.count_work(line.size() + text.work()));
    executor.print(line);
  }
  return std::vector<Value>{Value()};
}

}  // namespace pt2::run
