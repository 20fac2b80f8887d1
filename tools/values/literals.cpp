#include "tools/values/literals.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/convert.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::tools {
namespace {

Error fault(std::string_view what) { return {ErrorCode::argument, what, ""}; }

class LiteralReader {
 public:
  Result<void> read(const JsonValue& value, size_t depth) {
    if (!value.is_array()) return add_number(value, depth);
    if (closed_ && depth >= sizes_.size()) return fault(kUneven);
    if (depth == sizes_.size()) sizes_.push_back(static_cast<int64_t>(value.items.size()));
    if (sizes_[depth] != static_cast<int64_t>(value.items.size())) return fault(kUneven);
    for (const JsonValue& item : value.items) PT2_TRY_VOID(read(item, depth + 1));
    return {};
  }

  Result<Tensor> finish(Dtype dtype) const {
    const DtypeCategory category = dtype_category(dtype);
    const bool whole = category == DtypeCategory::boolean || category == DtypeCategory::integer;
    if (whole && !all_whole_) return fault("has numbers that are not whole");
    if (whole && (!all_fit_ ||
                  !std::ranges::all_of(integers_, [&](int64_t each) { return fits(each, dtype); })))
      return fault("has a number that the dtype does not hold");
    Tensor tensor = Tensor::zeros(dtype, sizes_);
    const auto count = static_cast<int64_t>(floats_.size());
    if (whole)
      ops::store_elements(integers_.data(), count, dtype, 1, tensor.raw_data());
    else
      ops::store_elements(floats_.data(), count, dtype, 1, tensor.raw_data());
    return tensor;
  }

 private:
  static constexpr std::string_view kUneven = "has rows that differ in length";

  // All numbers must be at the same depth.
  Result<void> add_number(const JsonValue& value, size_t depth) {
    if (depth != sizes_.size()) return fault(kUneven);
    closed_ = true;
    if (value.kind == JsonValue::Kind::boolean) {
      integers_.push_back(value.boolean);
      floats_.push_back(value.boolean);
      return {};
    }
    const auto number = value.get_float();
    if (!number) return fault("holds what is no number");
    const auto whole = value.get_int();
    floats_.push_back(*number);
    integers_.push_back(whole ? *whole : 0);
    const bool is_spelled_whole = value.text.find_first_not_of("-0123456789") == std::string::npos;
    all_whole_ = all_whole_ && is_spelled_whole;
    all_fit_ = all_fit_ && whole.has_value() == is_spelled_whole;
    return {};
  }

  Sizes sizes_;
  bool closed_ = false;
  bool all_whole_ = true;
  bool all_fit_ = true;  // in 64 bits
  std::vector<double> floats_;
  std::vector<int64_t> integers_;
};

// Replaces the words of Python and of printed numbers by those of JSON.
std::string with_json_words(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"nan", "NaN"}, {"inf", "Infinity"}, {"True", "true"}, {"False", "false"}};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string out;
  while (!text.empty()) {
    const auto length =
        static_cast<size_t>(std::ranges::find_if_not(text, is_letter) - text.begin());
    const std::string_view word = text.substr(0, std::max<size_t>(length, 1));
    const auto* found =
        std::ranges::find(kWords, word, [](const auto& each) { return each.first; });
    out += found == std::end(kWords) ? word : found->second;
    text.remove_prefix(word.size());
  }
  return out;
}

}  // namespace

bool fits(int64_t number, Dtype dtype) {
  return dtype_category(dtype) != DtypeCategory::integer ||
         ops::expect_representable(Scalar(number), dtype);
}

Result<Tensor> to_tensor(Dtype dtype, const JsonValue& json) {
  LiteralReader reader;
  if (!json.is_array()) return fault("is no list of numbers");
  PT2_TRY_VOID(reader.read(json, 0));
  return reader.finish(dtype);
}

Result<Tensor> parse_tensor(Dtype dtype, std::string_view text) {
  const auto json = parse_json(with_json_words(text), {.allow_non_finite = true});
  if (json) return to_tensor(dtype, *json);
  const bool is_open = std::ranges::count(text, '[') > std::ranges::count(text, ']');
  return fault(is_open ? "lacks a closing bracket" : "is no list of numbers");
}

}  // namespace pt2::tools
