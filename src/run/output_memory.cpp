#include "run/output_memory.h"

#include <algorithm>

#include "base/text.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/meta.h"

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

// Null if the value has no elements to write.
Tensor* tensor_of(Value& value) {
  auto* tensor = value.get_if<Tensor>();
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

}  // namespace

Result<void> check_writable(const Tensor& memory) {
  if (!memory.defined() || !memory.has_memory()) return refused("the tensor has no memory");
  if (memory.storage()->is_read_only()) return refused("the memory is read-only");
  if (memory.numel() > 0 && ops::may_overlap(memory))
    return refused("elements share a place in memory");
  return {};
}

Result<Tensor> OutputMemory::get(size_t output, Dtype dtype, const Sizes& sizes) {
  if (failed_) return *failed_;
  std::optional<Tensor>& given = given_[output];
  const auto check = [&]() -> Result<void> {
    if (!given) {
      PT2_TRY(given, allocate_(output, dtype, sizes));
    }
    if (!given->defined()) return {};
    PT2_TRY_VOID(check_writable(*given));
    if (given->dtype() == dtype && given->sizes() == sizes) return {};
    // Formatted like a file's record, because the result may have more elements than a tensor can.
    return refused("the memory is " + given->type_text() + ", the result is " +
                   type_text(dtype, sizes));
  };
  if (Result<void> checked = check(); !checked) {
    Error error = at(std::move(checked).error(), "output '" + outputs_[output].name + "'");
    if (!given) failed_ = error;
    return error;
  }
  return *given;
}

std::vector<std::pair<size_t, Tensor>> OutputMemory::get_all(const Graph& graph,
                                                             std::span<const Value> inputs) {
  std::vector<std::pair<size_t, Tensor>> out;
  std::vector<const Tensor*> others;
  for (const Value& input : inputs)
    if (const auto* tensor = input.get_if<Tensor>(); tensor != nullptr && tensor->defined())
      others.push_back(tensor);
  size_t output = 0;
  for (size_t i = 0; i < graph_outputs_.size(); ++i) {
    if (!graph_outputs_[i].is_callers()) continue;
    const size_t position = output++;
    const auto* id = graph.outputs()[i].get_if<ValueId>();
    const TensorMeta* record = id == nullptr ? nullptr : graph.value(*id).tensor();
    const auto dtype = record == nullptr ? std::nullopt : record->dtype.dtype();
    if (!dtype || std::ranges::any_of(record->sizes, &SymInt::is_symbolic)) return {};
    Sizes sizes;
    for (const SymInt& size : record->sizes) sizes.push_back(size.literal());
    Result<Tensor> memory = get(position, *dtype, sizes);
    if (!memory) return {};
    if (!memory->defined()) continue;
    if (!memory->is_contiguous() || std::ranges::any_of(others, [&](const Tensor* each) {
          return share_bytes(*each, *memory);
        }))
      return {};
    out.emplace_back(i, *std::move(memory));
    others.push_back(&*given_[position]);
  }
  return out;
}

Result<void> OutputMemory::get_for(std::span<const Value> results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const auto* tensor = results[i].get_if<Tensor>();
    if (tensor == nullptr || !tensor->defined()) continue;
    PT2_TRY([[maybe_unused]] const Tensor memory, get(i, tensor->dtype(), tensor->sizes()));
  }
  return {};
}

Result<void> OutputMemory::fill(std::vector<Value>& results) {
  PT2_TRY_VOID(get_for(results));
  const auto is_in_place = [&](size_t i, const Tensor& result) {
    return given_[i]->defined() && is_same_view(result, *given_[i]);
  };
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
