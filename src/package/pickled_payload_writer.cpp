#include "package/payload_writers.h"

namespace pt2 {
namespace {

Result<Pickle> pickle_of(const std::vector<SavedTensor>& tensors, PickleKind dict) {
  PickleBuilder builder;
  std::vector<PickleBuilder::Pair> pairs;
  for (const SavedTensor& saved : tensors) {
    if (saved.is_fake || !saved.pickled.bytes.empty())
      return Error{ErrorCode::unsupported,
                   "only a plain tensor with its elements can be in this layout", saved.name};
    if (!saved.tensor.defined())
      return Error{ErrorCode::argument, "the tensor has no elements", saved.name};
    PickleTensor value{.tensor = saved.tensor,
                       .device = saved.device,
                       .is_parameter = saved.is_parameter,
                       .requires_grad = saved.requires_grad};
    const PickleValue key = builder.string(saved.name);
    pairs.emplace_back(key, builder.tensor(std::move(value)));
  }
  return builder.finish(builder.dict(dict, pairs));
}

}  // namespace

Result<std::vector<Record>> pickle_tensors(const SavedTensors& tensors, PickleKind dict,
                                           TorchSaveFormat format, const Origin* origin) {
  if (const auto* record = std::get_if<Record>(&tensors)) return std::vector<Record>{*record};
  PT2_TRY(const Pickle pickle, pickle_of(std::get<std::vector<SavedTensor>>(tensors), dict));
  PartsSink sink;
  PT2_TRY_VOID(write_torch_save(pickle, sink, format, {}, origin));
  return sink.take();
}

}  // namespace pt2
