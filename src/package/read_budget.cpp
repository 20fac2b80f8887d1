#include "package/read_budget.h"

#include <map>

#include "base/printable.h"

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

ReadBudget::ReadBudget(std::span<const Tensor> tensors) : left_(kAlways) {
  std::map<const Storage*, uint64_t> storages;
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) storages[tensor.storage().get()] = tensor.storage()->size();
  for (const auto& [storage, size] : storages) left_ += 2 * size;
}

Result<void> ReadBudget::check(const std::string& name, const Tensor& tensor) {
  if (take(tensor)) return {};
  return Error{ErrorCode::limit,
               "found " + tensor.type_text() + ", of more bytes than the file holds",
               printable(name)};
}

bool ReadBudget::take(const Tensor& tensor) {
  const auto bytes = static_cast<uint64_t>(tensor.nbytes());
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

}  // namespace pt2
