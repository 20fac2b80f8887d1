#include "run/output_memory.h"

#include <algorithm>
#include <utility>

#include "base/memory_account.h"
#include "base/platform.h"
#include "base/text.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/meta.h"

namespace pt2::run {
namespace {

Error refused(std::string text) { return {ErrorCode::argument, std::move(text), ""}; }

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

void MemoryRanges::add(const Storage& storage) {
  if (storage.size() == 0) return;
  ranges_.push_back(range_of(storage));
  is_sorted_ = false;
}

void MemoryRanges::sort() {
  if (std::exchange(is_sorted_, true)) return;
  std::ranges::sort(ranges_, {}, &Range::begin);
  size_t kept = 0;
  for (const Range& range : ranges_) {
    if (kept == 0 || range.begin >= ranges_[kept - 1].end) {
      ranges_[kept++] = range;
      continue;
    }
    had_overlaps_ = true;
    ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, range.end);
  }
  ranges_.resize(kept);
}

bool MemoryRanges::overlap(const Range& range) {
  sort();
  const auto found = std::ranges::upper_bound(ranges_, range.begin, {}, &Range::end);
  return found != ranges_.end() && found->begin < range.end;
}

bool MemoryRanges::overlap(const MemoryRanges& others) {
  return !ranges_.empty() &&
         std::ranges::any_of(others.ranges_, [&](const Range& each) { return overlap(each); });
}

bool MemoryRanges::overlap_each_other() {
  sort();
  return had_overlaps_;
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
  MemoryRanges read, written;
  for (const Value& input : inputs)
    if (const auto* tensor = input.get_if<Tensor>(); tensor != nullptr && tensor->defined())
      read.add(*tensor->storage());
  // A record may be wrong: callers are not asked for more memory than results may take.
  const std::shared_ptr<MemoryAccount> account = MemoryAccount::current();
  uint64_t bytes = 0;
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
    const auto numel = checked_numel(sizes);
    if (!numel) return {};
    bytes = saturating_sum(bytes, saturating_product(static_cast<uint64_t>(*numel),
                                                     static_cast<uint64_t>(dtype_size(*dtype))));
    if (account != nullptr && bytes > account->limit()) return {};
    Result<Tensor> memory = get(position, *dtype, sizes);
    if (!memory) return {};
    if (!memory->defined()) continue;
    if (!memory->is_contiguous() || read.overlap(*memory->storage())) return {};
    written.add(*memory->storage());
    out.emplace_back(i, *std::move(memory));
  }
  if (written.overlap_each_other()) out.clear();
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
  MemoryRanges overwritten;
  for (const std::optional<Tensor>& memory : given_)
    if (memory && memory->defined()) overwritten.add(*memory->storage());
  // Copies results out of memory that is about to be overwritten.
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor* tensor = tensor_of(results[i]);
    if (tensor == nullptr || is_in_place(i, *tensor)) continue;
    if (overwritten.overlap(*tensor->storage())) *tensor = tensor->clone();
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
