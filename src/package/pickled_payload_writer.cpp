#include "package/payload_writers.h"

namespace pt2 {
namespace {

Result<Pickle> pickle_of(const std::vector<SavedTensor>& tensors,
                         std::span<const SavedObject> objects, PickleKind dict) {
  PickleBuilder builder;
  std::vector<PickleBuilder::Pair> pairs;
  for (const SavedTensor& saved : tensors) {
    const PickleValue key = builder.string(saved.name);
    PT2_TRY(const PickleValue value, packed_tensor(builder, saved));
    pairs.emplace_back(key, value);
  }
  for (const SavedObject& object : objects) {
    const PickleValue key = builder.string(object.name);
    PT2_TRY(const PickleValue value, packed_object(builder, object));
    pairs.emplace_back(key, value);
  }
  return builder.finish(builder.dict(dict, pairs));
}

}  // namespace

Result<std::vector<Record>> pickle_payloads(const SavedTensors& tensors,
                                            std::span<const SavedObject> objects, PickleKind dict,
                                            TorchSaveFormat format, const Origin* origin) {
  if (const auto* record = std::get_if<Record>(&tensors)) {
    if (objects.empty()) return std::vector<Record>{*record};
    return Error{ErrorCode::argument, "constants that are one file already take no objects",
                 objects.front().name};
  }
  PT2_TRY(const Pickle pickle,
          pickle_of(std::get<std::vector<SavedTensor>>(tensors), objects, dict));
  PartsSink sink;
  PT2_TRY_VOID(write_torch_save(pickle, sink, format, {}, origin));
  return sink.take();
}

}  // namespace pt2
