#include "run/call_budget.h"

#include <algorithm>
#include <unordered_set>

#include "base/platform.h"
#include "run/model_shared.h"

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

uint64_t budget_bytes(const Session& session, std::span<const Value> inputs) {
  return session.shared().file_bytes +
         (session.options().inputs_raise_limits ? bytes_of(inputs) : 0);
}

Limits scaled_limits(Limits limits, uint64_t bytes) {
  constexpr uint64_t kUnit = 1 << 20;
  limits.max_work = saturating_product(limits.max_work, std::max<uint64_t>(bytes / kUnit, 1));
  return limits;
}

namespace {

uint64_t allowed_bytes(const Limits& limits, uint64_t bytes) {
  constexpr uint64_t kAlways = 768ull << 20;
  const uint64_t most = saturating_sum(saturating_product(bytes, limits.max_tensor_ratio), kAlways);
  return std::min(most, limits.max_tensor_bytes);
}

}  // namespace

std::shared_ptr<MemoryAccount> account_of_calls() {
  auto account = MemoryAccount::current();
  return account != nullptr && account->spans_calls() ? account : nullptr;
}

std::shared_ptr<MemoryAccount> open_account(const Limits& limits, uint64_t bytes) {
  if (auto shared = account_of_calls()) return shared;
  return std::make_shared<MemoryAccount>(allowed_bytes(limits, bytes),
                                         scaled_limits(limits, bytes).max_work);
}

std::shared_ptr<MemoryAccount> open_account_of_calls(const Limits& limits, uint64_t bytes,
                                                     uint64_t times) {
  if (auto shared = account_of_calls()) return shared;
  return std::make_shared<MemoryAccount>(
      allowed_bytes(limits, bytes),
      saturating_product(scaled_limits(limits, bytes).max_work, times), true);
}

std::shared_ptr<MemoryAccount> open_account_of_calls(std::initializer_list<const Session*> sessions,
                                                     std::span<const Value> inputs) {
  if (auto shared = account_of_calls()) return shared;
  uint64_t most = 0, max_work = 0;
  for (const Session* session : sessions) {
    const Limits& limits = session->shared().limits;
    const uint64_t bytes = budget_bytes(*session, inputs);
    most = std::max(most, allowed_bytes(limits, bytes));
    max_work = saturating_sum(max_work, scaled_limits(limits, bytes).max_work);
  }
  return std::make_shared<MemoryAccount>(most, max_work, true);
}

}  // namespace pt2::run
