#include "tools/values/tensors.h"

#include <unordered_map>

#include "archive/crc32.h"

namespace pt2::tools {
namespace {

std::string_view payload_name(PayloadKind kind) {
  return kind == PayloadKind::weight ? "weights" : "constants";
}

void add_payload_tensor(const PayloadTensor& each, TensorList& list) {
  const std::string_view payload = payload_name(each.kind);
  if (!each.missing.empty()) {
    list.others.push_back({payload, each.name, each.missing});
    return;
  }
  list.tensors.push_back({.payload = payload,
                          .name = each.name,
                          .tensor = each.tensor,
                          .storage = each.storage_group,
                          .requires_grad = each.requires_grad,
                          .is_parameter = each.is_parameter});
}

void add_sample_inputs(const SampleInputs& samples, TensorList& list) {
  std::unordered_map<const Storage*, size_t> storages;
  for (const SampleInput& leaf : samples.leaves) {
    if (!leaf.value.is(PickleKind::tensor)) {
      list.others.push_back(
          {"sample_inputs", leaf.path, std::string(pickle_kind_name(leaf.value.kind()))});
      continue;
    }
    const PickleTensor& each = leaf.value.tensor();
    if (!each.missing.empty()) {
      list.others.push_back({"sample_inputs", leaf.path, each.missing});
      continue;
    }
    const size_t next = storages.size();
    const size_t storage = storages.emplace(each.tensor.storage().get(), next).first->second;
    list.tensors.push_back({.payload = "sample_inputs",
                            .name = leaf.path,
                            .tensor = each.tensor,
                            .storage = storage,
                            .requires_grad = each.requires_grad,
                            .is_parameter = each.is_parameter});
  }
}

}  // namespace

Result<TensorList> read_tensor_list(const Package& package, const std::string& model,
                                    Environment& environment) {
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, package.payloads(model));
  Diagnostics warnings;
  PT2_TRY(SampleInputs samples, package.sample_inputs(warnings, model));
  print_warnings(environment, warnings);
  TensorList list{.samples = samples.pickle, .tensors = {}, .others = {}};
  for (const PayloadTensor& each : payloads->tensors()) add_payload_tensor(each, list);
  for (const PayloadObject& each : payloads->objects())
    list.others.push_back({"constants", each.name, each.type});
  add_sample_inputs(samples, list);
  return list;
}

uint32_t content_crc32(const Tensor& tensor) {
  const Tensor contiguous = tensor.contiguous();
  return crc32(0, {contiguous.raw_data(), static_cast<size_t>(contiguous.nbytes())});
}

}  // namespace pt2::tools
