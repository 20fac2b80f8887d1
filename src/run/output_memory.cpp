#include "run/output_memory.h"

#include <algorithm>

#include "ops/loops.h"
#include "ops/memory_format.h"

namespace pt2::run {
namespace {

Error refused(std::string text) { return {ErrorCode::argument, std::move(text), ""}; }

bool share_bytes(const Tensor& a, const Tensor& b) {
  const Storage& first = *a.storage();
  const Storage& second = *b.storage();
  return first.data() < second.data() + second.size() &&
         second.data() < first.data() + first.size();
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.raw_data() == b.raw_data() && a.strides() == b.strides();
}

// Null for a value that has no elements to write.
Tensor* tensor_of(Value& value) {
  auto* tensor = value.get_if<Tensor>();
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

}  // namespace

Result<void> check_writable(const Tensor& memory) {
  if (!memory.defined()) return refused("the tensor has no memory");
  if (memory.storage()->is_read_only()) return refused("the memory is read-only");
  if (memory.numel() > 0 && ops::may_overlap(memory))
    return refused("elements share a place in memory");
  return {};
}

Result<Tensor> OutputMemory::get(size_t output, Dtype dtype, const Sizes& sizes) {
  std::optional<Tensor>& given = given_[output];
  const auto check = [&]() -> Result<void> {
    if (!given) {
      PT2_TRY(given, allocate_(output, dtype, sizes));
    }
    if (!given->defined()) return {};
    PT2_TRY_VOID(check_writable(*given));
    if (given->dtype() == dtype && given->sizes() == sizes) return {};
    return refused("the memory is " + given->type_text() + ", the result is " +
                   Tensor::without_elements(dtype, sizes).type_text());
  };
  if (Result<void> checked = check(); !checked)
    return at(std::move(checked).error(), "output '" + outputs_[output].name + "'");
  return *given;
}

Result<void> OutputMemory::fill(std::vector<Value>& results) {
  const auto is_in_place = [&](size_t i, const Tensor& result) {
    return given_[i]->defined() && is_same_view(result, *given_[i]);
  };
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor* tensor = tensor_of(results[i]);
    if (tensor == nullptr) continue;
    PT2_TRY([[maybe_unused]] const Tensor memory, get(i, tensor->dtype(), tensor->sizes()));
  }
  // Copies results out of memory that is about to be overwritten.
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor* tensor = tensor_of(results[i]);
    if (tensor == nullptr || is_in_place(i, *tensor)) continue;
    if (std::ranges::any_of(given_, [&](const std::optional<Tensor>& memory) {
          return memory && memory->defined() && share_bytes(*tensor, *memory);
        }))
      *tensor = tensor->clone();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor* tensor = tensor_of(results[i]);
    if (tensor == nullptr || !given_[i]->defined()) continue;
    if (!is_in_place(i, *tensor)) ops::copy_elements(*given_[i], *tensor);
    *tensor = *given_[i];
  }
  return {};
}

}  // namespace pt2::run
