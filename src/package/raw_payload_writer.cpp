// Imitates _package_state_dict and _package_constants of torch/export/pt2_archive/_package.py, and
// _package_weights.py.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "package/payload_readers.h"
#include "package/payload_writers.h"
#include "pt2/format/schema.h"
#include "pt2/format/schema_json.h"

namespace pt2 {
namespace {

constexpr int64_t kStrided = 7;  // Layout of the schema

schema::SymInt literal(int64_t number) {
  schema::SymInt value;
  value.set<schema::SymIntCase::as_int>(number);
  return value;
}

std::vector<schema::SymInt> literals(const Sizes& numbers) {
  std::vector<schema::SymInt> values;
  for (const int64_t number : numbers) values.push_back(literal(number));
  return values;
}

schema::TensorMeta meta_of(const SavedTensor& saved) {
  if (saved.meta) return *saved.meta;
  const Tensor& tensor = saved.tensor;
  schema::TensorMeta meta;
  meta.dtype = static_cast<schema::ScalarType>(dtype_info(tensor.dtype()).schema_number);
  meta.sizes = literals(tensor.sizes());
  meta.requires_grad = saved.requires_grad;
  Device device = device_of(saved.device);
  meta.device = {.type = std::move(device.type), .index = device.index};
  meta.strides = literals(tensor.strides());
  meta.storage_offset = literal(tensor.storage_offset());
  meta.layout = static_cast<schema::Layout>(kStrided);
  return meta;
}

// Tensors with equal keys share a record. This is PyTorch's (data pointer, dtype): a fake tensor
// has no pointer, and an empty storage has the pointer 0.
struct StorageKey {
  enum class Kind : uint8_t { fake, empty, real } kind;
  const Storage* storage;
  Dtype dtype;
  auto operator<=>(const StorageKey&) const = default;
};

StorageKey key_of(const SavedTensor& saved) {
  const Storage* storage = saved.tensor.storage().get();
  if (saved.is_fake) return {StorageKey::Kind::fake, nullptr, saved.tensor.dtype()};
  if (storage->size() == 0) return {StorageKey::Kind::empty, nullptr, saved.tensor.dtype()};
  return {StorageKey::Kind::real, storage, saved.tensor.dtype()};
}

std::optional<schema::TensorMeta> pickled_meta(const SavedTensor& saved) {
  if (saved.meta) return *saved.meta;
  if (saved.tensor.defined()) return meta_of(saved);
  return std::nullopt;
}

class RawPayloadWriter {
 public:
  RawPayloadWriter(PackageWriter& writer, std::string folder) : writer_(writer), folder_(folder) {}

  Result<void> write_tensors(const std::vector<SavedTensor>& tensors, std::string_view prefix) {
    for (const SavedTensor& saved : tensors) PT2_TRY_VOID(check(saved));
    for (const SavedTensor& saved : tensors) {
      if (saved.pickled.empty()) continue;
      const std::string file = next_name(prefix);
      PT2_TRY_VOID(writer_.add(folder_ + file, saved.pickled));
      PT2_TRY_VOID(add(saved.name, file, saved.is_parameter, true, pickled_meta(saved)));
    }
    return write_groups(tensors, prefix);
  }

  Result<void> write_object(const SavedObject& object) {
    const std::string_view prefix = object.is_opaque ? "opaque_obj_" : "custom_obj_";
    const std::string file = next_name(prefix);
    PT2_TRY_VOID(writer_.add(folder_ + file, object.content));
    return add(object.name, file, false, true, {});
  }

  Result<void> write_config(std::string_view name) {
    return writer_.add(folder_ + std::string(name), schema::encode(config_));
  }

 private:
  size_t count(std::string_view prefix) const {
    return writer_.zip.count_prefix(writer_.prefix + folder_ + std::string(prefix));
  }

  // Numbers start at the count of earlier programs' records, as in PyTorch. Counting visits every
  // record, so it is done once.
  std::string next_name(std::string_view prefix) {
    size_t& number = writer_.numbers[folder_ + std::string(prefix)];
    if (counted_.insert(prefix).second) number = std::max(number, count(prefix));
    while (writer_.taken.contains(fmt::format("{}{}{}", folder_, prefix, number))) ++number;
    return fmt::format("{}{}", prefix, number++);
  }

  static Result<void> check(const SavedTensor& saved) {
    if (saved.tensor.defined() || !saved.pickled.empty()) return {};
    return Error{ErrorCode::argument, "the tensor has no elements", saved.name};
  }

  Result<void> write_groups(const std::vector<SavedTensor>& tensors, std::string_view prefix) {
    std::vector<std::vector<const SavedTensor*>> groups;
    std::map<StorageKey, size_t> places;
    for (const SavedTensor& saved : tensors) {
      if (!saved.pickled.empty()) continue;
      const auto [place, is_new] = places.emplace(key_of(saved), groups.size());
      if (is_new) groups.emplace_back();
      groups[place->second].push_back(&saved);
    }
    // Within one program PyTorch writes each group, even if another group holds the same bytes.
    std::map<WrittenStorage, std::string> own;
    for (const auto& group : groups) {
      const Storage& storage = *group.front()->tensor.storage();
      Record content{std::span(storage.data(), storage.size()), nullptr};
      if (group.front()->is_fake) content = {};
      const WrittenStorage key{content.bytes.data(), content.bytes.size(),
                               group.front()->tensor.dtype(), folder_};
      const auto known =
          content.bytes.empty() ? writer_.storages.end() : writer_.storages.find(key);
      const bool is_new = known == writer_.storages.end();
      const std::string file = is_new ? next_name(prefix) : known->second;
      if (is_new) {
        PT2_TRY_VOID(writer_.add(folder_ + file, content));
        own.emplace(key, file);
      }
      for (const SavedTensor* saved : group)
        PT2_TRY_VOID(add(saved->name, file, saved->is_parameter, false, meta_of(*saved)));
    }
    if (writer_.shares_storages) writer_.storages.merge(own);
    return {};
  }

  Result<void> add(const std::string& name, const std::string& file, bool is_parameter,
                   bool use_pickle, std::optional<schema::TensorMeta> meta) {
    if (!names_.insert(name).second)
      return Error{ErrorCode::argument, "two payloads have this name", name};
    schema::PayloadMeta payload{
        .path_name = file, .is_param = is_parameter, .use_pickle = use_pickle};
    if (meta) payload.tensor_meta = *std::move(meta);
    config_.config.emplace_back(name, std::move(payload));
    return {};
  }

  PackageWriter& writer_;
  std::string folder_;
  schema::PayloadConfig config_;
  std::set<std::string> names_;
  std::set<std::string_view> counted_;  // the prefixes whose records are counted
};

// Returns the program's payloads from one of its folders.
Result<UnpackedPayloads> payloads_of(const SavedTensors& saved) {
  const auto* record = std::get_if<Record>(&saved);
  if (record == nullptr)
    return UnpackedPayloads{.tensors = std::get<std::vector<SavedTensor>>(saved)};
  PT2_TRY(UnpackedPayloads unpacked, unpack_torch_save(*record));
  if (!unpacked.refused.empty()) return unpacked.refused.front();
  return unpacked;
}

}  // namespace

Result<void> write_raw_weights(PackageWriter& writer, const SavedProgram& program) {
  PT2_TRY(const UnpackedPayloads payloads, payloads_of(program.state_dict));
  RawPayloadWriter weights(writer, "data/weights/");
  PT2_TRY_VOID(weights.write_tensors(payloads.tensors, "weight_"));
  if (!payloads.objects.empty())
    return Error{ErrorCode::unsupported, "only a tensor can be a weight",
                 payloads.objects.front().name};
  return weights.write_config(program.name + "_weights_config.json");
}

Result<void> write_raw_constants(PackageWriter& writer, const SavedProgram& program) {
  PT2_TRY(const UnpackedPayloads payloads, payloads_of(program.constants));
  RawPayloadWriter constants(writer, "data/constants/");
  PT2_TRY_VOID(constants.write_tensors(payloads.tensors, "tensor_"));
  for (const std::vector<SavedObject>* objects : {&payloads.objects, &program.objects})
    for (const SavedObject& object : *objects) PT2_TRY_VOID(constants.write_object(object));
  return constants.write_config(program.name + "_constants_config.json");
}

}  // namespace pt2
