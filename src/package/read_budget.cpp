#include "package/read_budget.h"

#include <map>
#include <set>

#include "base/printable.h"

namespace pt2 {
namespace {

constexpr uint64_t kAlways = 64 << 20;

void add_storages(const Value& value, std::map<const Storage*, uint64_t>& storages) {
  if (const auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->defined())
    storages[tensor->storage().get()] = tensor->storage()->size();
  if (const auto* list = value.get_if<Value::List>())
    for (const Value& item : *list) add_storages(item, storages);
}

}  // namespace

ReadBudget::ReadBudget(const Payloads& payloads) : left_(kAlways) {
  std::map<size_t, uint64_t> storages;
  for (const PayloadTensor& payload : payloads.tensors())
    if (payload.tensor.defined() && !payload.is_fake)
      storages[payload.storage_group] = payload.tensor.storage()->size();
  for (const auto& [group, size] : storages) left_ += 2 * size;
  std::map<const Storage*, uint64_t> in_objects;
  for (const PayloadObject& each : payloads.objects())
    if (each.object != nullptr) add_storages(each.object->state, in_objects);
  for (const auto& [storage, size] : in_objects) left_ += 2 * size;
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

Result<void> check_elements(std::span<const std::pair<std::string, Tensor>> tensors) {
  uint64_t bytes = kAlways;
  std::set<const Storage*> seen;
  for (const auto& [name, tensor] : tensors)
    if (tensor.defined() && seen.insert(tensor.storage().get()).second)
      bytes += 2 * tensor.storage()->size();
  ReadBudget budget(bytes);
  for (const auto& [name, tensor] : tensors) PT2_TRY_VOID(budget.check(name, tensor));
  return {};
}

}  // namespace pt2
