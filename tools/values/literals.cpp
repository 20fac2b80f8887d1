#include "tools/values/literals.h"

#include <fmt/format.h>

#include "ops/convert.h"

namespace pt2::tools {
namespace {

class LiteralReader {
 public:
  bool read(const JsonValue& value, size_t depth) {
    if (!value.is_array()) return add_number(value, depth);
    if (closed_ && depth >= sizes_.size()) return false;
    if (depth == sizes_.size()) sizes_.push_back(static_cast<int64_t>(value.items.size()));
    if (sizes_[depth] != static_cast<int64_t>(value.items.size())) return false;
    for (const JsonValue& item : value.items)
      if (!read(item, depth + 1)) return false;
    return true;
  }

  // Nothing where the dtype is of whole numbers and one of them is not.
  std::optional<Tensor> finish(Dtype dtype) const {
    const DtypeCategory category = dtype_category(dtype);
    const bool whole = category == DtypeCategory::boolean || category == DtypeCategory::integer;
    if (whole && !all_whole_) return std::nullopt;
    Tensor tensor = Tensor::zeros(dtype, sizes_);
    const auto count = static_cast<int64_t>(floats_.size());
    if (whole)
      ops::store_elements(integers_.data(), count, dtype, 1, tensor.raw_data());
    else
      ops::store_elements(floats_.data(), count, dtype, 1, tensor.raw_data());
    return tensor;
  }

 private:
  // Numbers lie all at one depth.
  bool add_number(const JsonValue& value, size_t depth) {
    if (depth != sizes_.size()) return false;
    closed_ = true;
    if (value.kind == JsonValue::Kind::boolean) {
      integers_.push_back(value.boolean);
      floats_.push_back(value.boolean);
      return true;
    }
    const auto number = value.get_float();
    if (!number) return false;
    const auto whole = value.get_int();
    floats_.push_back(*number);
    integers_.push_back(whole ? *whole : 0);
    all_whole_ = all_whole_ && whole.has_value();
    return true;
  }

  Sizes sizes_;
  bool closed_ = false;
  bool all_whole_ = true;
  std::vector<double> floats_;
  std::vector<int64_t> integers_;
};

}  // namespace

std::optional<Tensor> to_tensor(Dtype dtype, const JsonValue& json) {
  LiteralReader reader;
  if (!json.is_array() || !reader.read(json, 0)) return std::nullopt;
  return reader.finish(dtype);
}

std::optional<Tensor> parse_tensor(Dtype dtype, std::string_view text) {
  const auto json = parse_json(text, {.allow_non_finite = true});
  return json ? to_tensor(dtype, *json) : std::nullopt;
}

}  // namespace pt2::tools
