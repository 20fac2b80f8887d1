#include <fmt/format.h>

#include "base/printable.h"
#include "package/payload_readers.h"
#include "pt2/format/draft.h"

namespace pt2 {
namespace {

// Returns the rule for damaged bytes, for an unusable storage, or for a tensor out of bounds.
Rule rule_of(const Error& error) {
  if (error.code == ErrorCode::corrupt && error.where.ends_with(".checksum"))
    return Rule::draft_checksum;
  return error.where.starts_with(".storage") ? Rule::draft_storage : Rule::payload_bounds;
}

}  // namespace

void read_draft_payloads(const PayloadReading& reading, const draft::GraphModule& module,
                         const std::string& place) {
  DraftTensorReader reader(reading.archive.folder());
  const auto read = [&](const draft::Dict<draft::Tensor>& tensors, std::string_view field,
                        bool is_parameter) {
    for (const auto& [name, source] : tensors) {
      auto tensor = reader.read(source);
      if (!tensor) {
        const Rule rule = rule_of(tensor.error());
        Error error =
            at(std::move(tensor).error(), fmt::format("{}['{}']", field, printable(name)));
        reading.fail(rule, std::move(error), place + ":");
        continue;
      }
      PayloadTensor payload;
      payload.name = name;
      payload.dtype = dtype_name(tensor->dtype());
      payload.sizes = tensor->sizes();
      payload.device = source.meta.device.type;
      payload.requires_grad = source.meta.requires_grad;
      payload.is_parameter = is_parameter;
      payload.record = place;
      payload.tensor = *std::move(tensor);
      reading.payloads.add(std::move(payload));
    }
  };
  read(module.parameters, ".parameters", true);
  read(module.buffers, ".buffers", false);
}

}  // namespace pt2
