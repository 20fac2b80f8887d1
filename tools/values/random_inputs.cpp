#include "tools/values/random_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/platform.h"
#include "base/printable.h"
#include "ir/values/constant_value.h"
#include "ops/convert.h"

namespace pt2::tools {
namespace {

uint64_t most_bytes(const Package& package) {
  constexpr uint64_t kAlways = 128 << 20;
  const Archive& archive = package.archive();
  return std::max(
      kAlways, saturating_product(archive.zip().bytes().size(), archive.limits().max_tensor_ratio));
}

void fill(Tensor& tensor, uint64_t seed) {
  constexpr int64_t kChunk = 256;
  std::mt19937_64 random(seed);
  const DtypeCategory category = dtype_category(tensor.dtype());
  const bool whole = category == DtypeCategory::boolean || category == DtypeCategory::integer;
  std::array<double, kChunk> values;
  for (int64_t begin = 0; begin < tensor.numel(); begin += kChunk) {
    const int64_t count = std::min(kChunk, tensor.numel() - begin);
    for (int64_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      values[static_cast<size_t>(i)] = whole ? (unit < 0.5 ? 0 : 1) : 2 * unit - 1;
    }
    ops::store_elements(values.data(), count, tensor.dtype(), 1,
                        tensor.raw_data() + begin * dtype_size(tensor.dtype()));
  }
}

}  // namespace

RandomInputs::RandomInputs(const Model& model, uint64_t seed)
    : model_(model), seed_(seed), left_(most_bytes(model.package())) {}

Result<Value> RandomInputs::make(size_t index) {
  const ModelValue& input = model_.inputs()[index];
  const std::string name =
      fmt::format("input '{}' ({})", printable(input.name), printable(input.type));
  const TensorMeta* meta = input.tensor;
  if (meta == nullptr || !meta->dtype.dtype())
    return Error{ErrorCode::argument, name + " cannot be made up; give it with -i", ""};
  Sizes sizes;
  for (const SymInt& size : meta->sizes)
    sizes.push_back(size.is_symbolic() ? size.hint().value_or(2) : size.literal());
  const Dtype dtype = *meta->dtype.dtype();
  const auto count = checked_numel(sizes);
  const auto width = static_cast<uint64_t>(dtype_size(dtype));
  if (!count || static_cast<uint64_t>(*count) > left_ / width)
    return Error{ErrorCode::limit,
                 fmt::format("{}: random numbers would take more than {} bytes, too many for the "
                             "size of the file (max_tensor_ratio); give it with -i",
                             name, left_),
                 ""};
  left_ -= static_cast<uint64_t>(*count) * width;
  has_made_any_ = true;
  Tensor tensor = Tensor::zeros(dtype, sizes);
  fill(tensor, seed_ + index);
  return Value(std::move(tensor));
}

Result<std::vector<Value>> RandomInputs::make_all() {
  std::vector<Value> values;
  const std::vector<ArgumentSpec> specs = model_.program().signature.user_inputs();
  for (size_t i = 0; i < model_.inputs().size(); ++i) {
    PT2_TRY(Value value, specs[i].is_constant() ? constant_value(specs[i].value) : make(i));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace pt2::tools
