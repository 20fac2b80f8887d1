#include "tools/values/literals.h"

#include <fmt/format.h>

#include <random>

#include "base/printable.h"
#include "ir/constant_value.h"
#include "ops/convert.h"

namespace pt2::tools {
namespace {

// What is made up for an input whose size a file alone decides.
constexpr int64_t kMaxRandomBytes = 1ll << 30;

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

std::optional<Value> random_value(const ModelValue& input, uint64_t seed) {
  const TensorMeta* meta = input.tensor;
  if (meta == nullptr || !meta->dtype.dtype()) return std::nullopt;
  Sizes sizes;
  for (const SymInt& size : meta->sizes)
    sizes.push_back(size.is_symbolic() ? size.hint().value_or(2) : size.literal());
  const Dtype dtype = *meta->dtype.dtype();
  const auto count = checked_numel(sizes);
  if (!count || *count > kMaxRandomBytes / dtype_size(dtype)) return std::nullopt;
  Tensor tensor = Tensor::zeros(dtype, sizes);
  std::mt19937_64 random(seed);
  const DtypeCategory category = dtype_category(dtype);
  const bool whole = category == DtypeCategory::boolean || category == DtypeCategory::integer;
  for (int64_t i = 0; i < *count; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const double value = whole ? (unit < 0.5 ? 0 : 1) : 2 * unit - 1;
    ops::store_elements(&value, 1, dtype, 1, tensor.raw_data() + i * dtype_size(dtype));
  }
  return Value(std::move(tensor));
}

Result<std::vector<Value>> random_inputs(const Model& model, uint64_t seed) {
  std::vector<Value> values;
  const std::vector<ArgumentSpec> specs = model.program().signature.user_inputs();
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const ModelValue& input = model.inputs()[i];
    if (specs[i].is_constant()) {
      PT2_TRY(Value constant, constant_value(specs[i].value));
      values.push_back(std::move(constant));
      continue;
    }
    std::optional<Value> value = random_value(input, seed + i);
    if (!value)
      return Error{
          ErrorCode::argument,
          fmt::format("input '{}' ({}) cannot be made up, and the file has no sample inputs",
                      printable(input.name), printable(input.type)),
          ""};
    values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace pt2::tools
