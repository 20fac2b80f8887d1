#include "decode/encoder.h"

#include <algorithm>

#include "ops/loops.h"

namespace pt2::decode {
namespace {

bool is_mask(const ModelValue& input) { return input.name.ends_with("attention_mask"); }

const Tensor* find_tensor(const NamedTensors& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensors::value_type::first);
  return found == tensors.end() ? nullptr : &found->second;
}

// Returns a mask of ones with the sizes of the first given tensor: [sequences, tokens].
Result<Tensor> whole_mask(const ModelValue& mask, const Batch& batch) {
  const auto dtype = mask.tensor->dtype.dtype();
  if (!dtype || mask.tensor->sizes.size() != 2 || batch.given.empty() ||
      batch.given[0].second.dim() < 2)
    return Error{ErrorCode::argument, "found nothing given for it, expected " + mask.type,
                 "input '" + mask.name + "'"};
  const Tensor& read = batch.given[0].second;
  Tensor out = Tensor::zeros(*dtype, {read.size(0), read.size(1)});
  ops::fill_elements(out, Scalar(int64_t{1}));
  return out;
}

}  // namespace

Result<void> encode(const Model& encoder, unsigned threads, const CallOptions& options,
                    Batch& batch) {
  NamedTrees inputs;
  for (const ModelValue& input : encoder.inputs()) {
    Tensor value;
    if (const Tensor* given = find_tensor(batch.given, input.name)) {
      value = *given;
    } else if (input.tensor != nullptr && is_mask(input)) {
      PT2_TRY(value, whole_mask(input, batch));
    } else {
      continue;  // a constant; order_inputs reports missing inputs
    }
    if (is_mask(input)) batch.encoded_mask = value;
    inputs.emplace_back(input.name, Value(std::move(value)));
  }
  PT2_TRY(std::vector<Value> ordered, encoder.order_inputs(inputs));
  Session session(encoder, {.threads = threads});
  PT2_TRY(const std::vector<Value> results, session.run(ordered, options));
  for (size_t i = 0; i < results.size(); ++i)
    if (const auto* tensor = results[i].get_if<Tensor>())
      batch.encoded.emplace_back(encoder.outputs()[i].name, *tensor);
  return {};
}

}  // namespace pt2::decode
