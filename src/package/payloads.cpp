#include <fmt/format.h>

#include "base/text.h"
#include "package/payload_readers.h"
#include "pt2/package.h"

namespace pt2 {

Error invalid_payload(std::string message) { return {ErrorCode::invalid, std::move(message), {}}; }

Result<Sizes> literals(const std::vector<SymInt>& numbers, std::string_view what) {
  Sizes sizes;
  for (const SymInt& number : numbers) {
    if (number.is_symbolic())
      return invalid_payload(
          fmt::format("{} holds the expression {}, expected numbers", what, print(number)));
    sizes.push_back(number.literal());
  }
  return sizes;
}

Device device_of(std::string_view text) {
  const size_t colon = text.find(':');
  Device device{.type = std::string(text.substr(0, colon))};
  if (colon != text.npos) device.index = parse_int(text.substr(colon + 1));
  return device;
}

namespace {

TensorMeta payload_meta(const PayloadTensor& payload) {
  const Tensor& tensor = payload.tensor;
  return {.dtype = {dtype_info(tensor.dtype()).schema_number},
          .sizes = {tensor.sizes().begin(), tensor.sizes().end()},
          .strides = {tensor.strides().begin(), tensor.strides().end()},
          .requires_grad = payload.requires_grad,
          .device = device_of(payload.device)};
}

}  // namespace

void record_embedded_constants(Program& program, const Payloads& payloads) {
  for (const EmbeddedConstant& constant : program.embedded_constants) {
    const PayloadTensor* payload = payloads.find(PayloadKind::constant, constant.name);
    const auto id = program.graph.find_value(constant.name);
    if (payload != nullptr && payload->missing.empty() && id)
      program.graph.set_value_meta(*id, payload_meta(*payload));
  }
}

const PayloadTensor* Payloads::find(PayloadKind kind, std::string_view name) const {
  const auto& index = kind == PayloadKind::weight ? weights_ : constants_;
  const auto found = index.find(name);
  return found == index.end() ? nullptr : &tensors_[found->second];
}

const PayloadObject* Payloads::find_object(std::string_view name) const {
  const auto found = object_index_.find(name);
  return found == object_index_.end() ? nullptr : &objects_[found->second];
}

const PayloadTensor* Payloads::bound_to(const InputSpec& spec) const {
  if (!spec.target) return nullptr;
  switch (spec.kind) {
    case InputKind::parameter:
      return find(PayloadKind::weight, *spec.target);
    case InputKind::buffer:
      // Files before 2.2 do not record whether a buffer persists; the state dict holds all buffers.
      return find(spec.persistent.value_or(true) ? PayloadKind::weight : PayloadKind::constant,
                  *spec.target);
    case InputKind::constant_tensor:
      return find(PayloadKind::constant, *spec.target);
    case InputKind::user_input:
    case InputKind::custom_obj:
    case InputKind::token:
      return nullptr;
  }
  return nullptr;
}

void Payloads::add(PayloadTensor tensor) {
  tensor.storage_group = storage_groups_;
  if (tensor.tensor.defined()) {
    tensor.storage_group =
        storages_.emplace(tensor.tensor.storage().get(), storage_groups_).first->second;
  }
  if (tensor.storage_group == storage_groups_) ++storage_groups_;
  (tensor.kind == PayloadKind::weight ? weights_ : constants_)
      .emplace(tensor.name, tensors_.size());
  tensors_.push_back(std::move(tensor));
}

void Payloads::add(PayloadObject object) {
  object_index_.emplace(object.name, objects_.size());
  objects_.push_back(std::move(object));
}

}  // namespace pt2
