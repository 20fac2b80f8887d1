#include "package/read_budget.h"

#include <map>

namespace pt2 {
namespace {

constexpr uint64_t kAlways = 64 << 20;

}  // namespace

ReadBudget::ReadBudget(const Payloads& payloads) : left_(kAlways) {
  std::map<size_t, uint64_t> storages;
  for (const PayloadTensor& payload : payloads.tensors())
    if (payload.tensor.defined() && !payload.is_fake)
      storages[payload.storage_group] = payload.tensor.storage()->size();
  for (const auto& [group, size] : storages) left_ += 2 * size;
}

bool ReadBudget::take(const Tensor& tensor) {
  const auto bytes = static_cast<uint64_t>(tensor.nbytes());
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

}  // namespace pt2
