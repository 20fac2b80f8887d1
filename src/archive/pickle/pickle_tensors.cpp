// Writes tensors as their __reduce_ex__ gives them to the pickler (torch/_tensor.py,
// torch/nn/parameter.py), and storages as torch.save names them.
#include <fmt/format.h>

#include "archive/pickle/pickler.h"

namespace pt2 {
namespace {

// Returns the function that rebuilds the tensor itself, not its Parameter. requires_grad may be
// true for a torch.Tensor, but never for the data of a Parameter.
std::string_view rebuild_function(const PickleTensor& tensor) {
  return find_storage_class(tensor.tensor.dtype()) != nullptr ? "torch._utils._rebuild_tensor_v2"
                                                              : "torch._utils._rebuild_tensor_v3";
}

}  // namespace

Result<void> Pickler::save_tensor(PickleId id) {
  const PickleTensor& tensor = object(id).tensor;
  if (!tensor.tensor.defined()) return save_made(id);
  const auto found = graph_.extras.states.find(id);
  const PickleId* state = found == graph_.extras.states.end() ? nullptr : &found->second;
  if (tensor.is_parameter) return save_parameter(tensor, state);
  if (state != nullptr || !tensor.class_name.empty()) return save_of_type(tensor, state);
  return save_plain(tensor, tensor.requires_grad);
}

// Writes the call that made the tensor in the pickle it was read from.
Result<void> Pickler::save_made(PickleId id) {
  const auto making = graph_.extras.makings.find(id);
  if (making == graph_.extras.makings.end()) {
    const std::string& missing = object(id).tensor.missing;
    return Error{ErrorCode::unsupported,
                 fmt::format("a tensor without its elements ({}) cannot be pickled here",
                             missing.empty() ? "undefined" : missing),
                 {}};
  }
  PT2_TRY_VOID(global(making->second.function->name));
  PT2_TRY_VOID(save(making->second.arguments));
  op('R');
  return {};
}

Result<void> Pickler::save_plain(const PickleTensor& tensor, bool requires_grad) {
  PT2_TRY_VOID(global(rebuild_function(tensor)));
  PT2_TRY_VOID(save_tensor_arguments(tensor, requires_grad));
  op('R');
  return {};
}

Result<void> Pickler::save_parameter(const PickleTensor& tensor, const PickleId* state) {
  constexpr std::string_view kRebuild = "torch._utils._rebuild_parameter";
  const std::string function(std::string(kRebuild) + (state != nullptr ? "_with_state" : ""));
  return call(function, state != nullptr ? 4 : 3, [&]() -> Result<void> {
    PickleTensor data = tensor;
    data.requires_grad = false;
    PT2_TRY_VOID(data.class_name.empty() ? save_plain(data, false) : save_of_type(data, nullptr));
    put();
    boolean(tensor.requires_grad);
    PT2_TRY_VOID(save_no_hooks());
    return state != nullptr ? save(*state) : Result<void>();
  });
}

// Writes a subclass, or a tensor with attributes of its own.
Result<void> Pickler::save_of_type(const PickleTensor& tensor, const PickleId* state) {
  return call("torch._tensor._rebuild_from_type_v2", 4, [&]() -> Result<void> {
    PT2_TRY_VOID(global(rebuild_function(tensor)));
    PT2_TRY_VOID(global(tensor.class_name.empty() ? "torch.Tensor" : tensor.class_name));
    PT2_TRY_VOID(save_tensor_arguments(tensor, tensor.requires_grad));
    if (state != nullptr) return save(*state);
    op('N');
    return {};
  });
}

Result<void> Pickler::save_tensor_arguments(const PickleTensor& tensor, bool requires_grad) {
  op('(');
  PT2_TRY_VOID(save_storage(tensor.tensor.storage(), find_storage_class(tensor.tensor.dtype()),
                            tensor.device));
  integer(tensor.tensor.storage_offset());
  save_sizes(tensor.tensor.sizes());
  save_sizes(tensor.tensor.strides());
  boolean(requires_grad);
  PT2_TRY_VOID(save_no_hooks());
  if (find_storage_class(tensor.tensor.dtype()) == nullptr)
    PT2_TRY_VOID(global(fmt::format("torch.{}", dtype_name(tensor.tensor.dtype()))));
  op('t');
  put();
  return {};
}

Result<void> Pickler::save_no_hooks() {
  PT2_TRY_VOID(call("collections.OrderedDict", 0, []() -> Result<void> { return {}; }));
  put();
  return {};
}

void Pickler::save_sizes(const Sizes& sizes) {
  begin_tuple(sizes.size());
  for (const int64_t size : sizes) integer(size);
  end_tuple(sizes.size());
  if (!sizes.empty()) put();
}

// Writes the id ('storage', class, key, location, elements) of torch/serialization.py,
// persistent_id. All ids of a storage share one text object as their key.
Result<void> Pickler::save_storage(const std::shared_ptr<Storage>& storage, const KnownGlobal* type,
                                   std::string_view device) {
  op('(');
  PT2_TRY_VOID(torch_text("storage"));
  PT2_TRY_VOID(global(type != nullptr ? type->name : kUntypedStorage));
  const auto [place, is_new] = saved_storages_.try_emplace(storage.get());
  if (is_new) {
    PT2_TRY_VOID(text(std::to_string(storages_.size())));
    place->second = memo_size_;
    put();
    storages_.push_back(storage);
  } else {
    get(place->second);
  }
  PT2_TRY_VOID(torch_text(device.empty() ? "cpu" : device));
  const size_t element = type != nullptr ? type->storage.element_size : 1;
  integer(static_cast<int64_t>(storage->size() / element));
  op('t');
  put();
  op('Q');
  return {};
}

}  // namespace pt2
