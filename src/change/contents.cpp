#include "change/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "base/strided_copy.h"
#include "lower/written_memory.h"
#include "package/payload_writers.h"
#include "pt2/format/schema_json.h"
#include "serde/from_schema.h"

namespace pt2 {
namespace {

Result<void> list(SavedTensors& tensors, std::vector<SavedObject>& objects) {
  const auto* record = std::get_if<Record>(&tensors);
  if (record == nullptr) return {};
  PT2_TRY(UnpackedPayloads unpacked, unpack_torch_save(*record));
  if (!unpacked.refused.empty()) return unpacked.refused.front();
  tensors = std::move(unpacked.tensors);
  std::ranges::move(unpacked.objects, std::back_inserter(objects));
  return {};
}

}  // namespace

Result<size_t> find_saved(const PackageContents& contents, std::string_view model) {
  if (model.empty() && contents.programs.size() == 1) return size_t{0};
  const auto found = std::ranges::find(contents.programs, model, &SavedProgram::name);
  if (found != contents.programs.end())
    return static_cast<size_t>(found - contents.programs.begin());
  return Error{
      ErrorCode::argument,
      fmt::format("the file has no program '{}' in a record of its own, and no other can be "
                  "changed",
                  model)};
}

Result<Program> decode_saved(const SavedProgram& saved) {
  Diagnostics warnings;
  PT2_TRY(schema::ExportedProgram decoded, schema::decode_program(saved.json, {}, warnings));
  return from_schema(std::move(decoded));
}

Result<void> list_tensors(SavedProgram& saved) {
  if (saved.names_its_payloads)
    return Error{ErrorCode::unsupported,
                 "the program itself names the records of its tensors (schema 8.6 to 8.11); such "
                 "programs cannot be changed",
                 saved.name};
  PT2_TRY_VOID(list(saved.state_dict, saved.objects));
  return list(saved.constants, saved.objects);
}

std::vector<SavedTensor>& state_of(SavedProgram& saved) {
  return std::get<std::vector<SavedTensor>>(saved.state_dict);
}
std::vector<SavedTensor>& constants_of(SavedProgram& saved) {
  return std::get<std::vector<SavedTensor>>(saved.constants);
}

Tensor packed(const Tensor& tensor) {
  if (tensor.numel() == 0) return Tensor::zeros(tensor.dtype(), tensor.sizes());
  std::vector<size_t> order(tensor.sizes().size());
  std::iota(order.begin(), order.end(), size_t{0});
  // A stride of 0 repeats what lies inside of it.
  std::ranges::stable_sort(order, std::greater(), [&](size_t dim) {
    return tensor.strides()[dim] == 0 ? INT64_MAX : tensor.strides()[dim];
  });
  Sizes strides(order.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= tensor.sizes()[order[i]];
  }
  Tensor out = Tensor::zeros_strided(tensor.dtype(), tensor.sizes(), strides);
  copy_strided(tensor.sizes(), static_cast<size_t>(dtype_size(tensor.dtype())), tensor.raw_data(),
               tensor.strides(), out.raw_data(), strides);
  return out;
}

std::set<std::string> written_targets(const Program& program) {
  std::set<std::string> written;
  for (const OutputSpec& spec : program.signature.output_specs)
    if (spec.kind == OutputKind::buffer_mutation || spec.kind == OutputKind::parameter_mutation)
      written.insert(spec.target.value_or(""));
  const WrittenMemory memory(program.graph, false);
  for (const InputSpec& spec : program.signature.input_specs) {
    const auto id = program.graph.find_value(spec.arg.name);
    if (id && spec.target && memory.may_hold(*id)) written.insert(*spec.target);
  }
  return written;
}

}  // namespace pt2
