#include "run/call_budget.h"

#include <algorithm>
#include <unordered_set>

#include "base/platform.h"

namespace pt2::run {

uint64_t file_bytes(const Package& package, std::string_view model, const Payloads& payloads) {
  uint64_t bytes = 0;
  for (const Entry& entry : package.archive().zip().entries()) bytes += entry.compressed_size;
  if (package.draft(model) == nullptr) return bytes;
  std::unordered_set<const Storage*> seen;
  for (const PayloadTensor& payload : payloads.tensors())
    if (!payload.is_fake && payload.tensor.defined() &&
        seen.insert(payload.tensor.storage().get()).second)
      bytes += payload.tensor.storage()->size();
  return bytes;
}

uint64_t bytes_of(std::span<const Value> values) {
  uint64_t bytes = 0;
  for (const Value& value : values)
    if (const auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->defined())
      bytes += tensor->storage()->size();
  return bytes;
}

Limits scaled_limits(Limits limits, uint64_t bytes) {
  constexpr uint64_t kUnit = 1 << 20;
  limits.max_work = saturating_product(limits.max_work, std::max<uint64_t>(bytes / kUnit, 1));
  return limits;
}

std::shared_ptr<MemoryAccount> open_account(const Limits& limits, uint64_t bytes) {
  constexpr uint64_t kAlways = 768ull << 20;
  const uint64_t most = saturating_sum(saturating_product(bytes, limits.max_tensor_ratio), kAlways);
  return std::make_shared<MemoryAccount>(std::min(most, limits.max_tensor_bytes),
                                         scaled_limits(limits, bytes).max_work);
}

}  // namespace pt2::run
