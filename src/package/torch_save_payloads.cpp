// Payloads written by torch.save: whole state dicts and constants (2.1 to 2.8), single tensors
// later.
#include <fmt/format.h>

#include <algorithm>

#include "base/random_state.h"
#include "package/payload_readers.h"
#include "package/script_object.h"

namespace pt2 {
namespace {

Error wrong_content(const PickleValue& found, std::string_view expected) {
  return {ErrorCode::invalid,
          fmt::format("found {}, expected {}", pickle_kind_name(found.kind()), expected),
          {}};
}

// Takes the memory of a copy of the tensor and its parts, without their elements.
Result<void> take_copy(const PickleValue& value, const PayloadReading& reading) {
  const auto bytes_of = [](const PickleTensor& tensor) {
    return tensor.device.size() + tensor.class_name.size() + tensor.missing.size() +
           3 * tensor.sizes.size() * sizeof(int64_t);
  };
  PT2_TRY_VOID(reading.take(bytes_of(value.tensor()) + value.size() * sizeof(PickleValue)));
  for (size_t i = 0; i < value.size(); ++i) {
    const PickleValue part = value[i];
    if (part.is(PickleKind::tensor))
      PT2_TRY_VOID(reading.take(sizeof(Tensor) + bytes_of(part.tensor())));
    if (part.is(PickleKind::string)) PT2_TRY_VOID(reading.take(part.text().size()));
  }
  return {};
}

PayloadTensor from_pickle(const PickleValue& value, PayloadKind kind, std::string name,
                          std::string record) {
  const PickleTensor& pickled = value.tensor();
  PayloadTensor payload;
  payload.kind = kind;
  payload.name = std::move(name);
  payload.tensor = pickled.tensor;
  payload.missing = pickled.missing;
  payload.dtype = pickled.dtype;
  payload.sizes = pickled.sizes;
  payload.device = pickled.device;
  payload.requires_grad = pickled.requires_grad;
  payload.is_parameter = pickled.is_parameter;
  payload.record = std::move(record);
  payload.class_name = pickled.class_name;
  const bool has_names = !payload.missing.empty() && !payload.class_name.empty();
  for (size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is(PickleKind::tensor) || !value[i].tensor().tensor.defined()) continue;
    if (has_names && i > 0 && value[i - 1].is(PickleKind::string))
      payload.part_names.emplace_back(value[i - 1].text());
    payload.parts.push_back(value[i].tensor().tensor);
  }
  if (has_names && payload.part_names.size() != payload.parts.size()) payload.part_names.clear();
  return payload;
}

// A state takes a part of the bytes at most, so one that is too large leaves some for others.
Result<Object> read_object(const PickleValue& value, const PayloadReading& reading) {
  constexpr uint64_t kMost = 16 << 20;
  const uint64_t given = std::min(kMost, reading.object_bytes_left);
  uint64_t left = given;
  Result<Object> object = script_object(value, left);
  reading.object_bytes_left -= given - left;
  return object;
}

Result<void> add_dict(const PayloadReading& reading, const std::string& name, PayloadKind kind) {
  PT2_TRY(Record record, reading.archive.read(name));
  PT2_TRY(Pickle pickle, read_torch_save(record, reading.mode, reading.archive.limits()));
  const PickleValue root = pickle.root();
  // torch.export.load accepts an empty tuple for an empty dict.
  if (root.is(PickleKind::none) || (root.is_sequence() && root.size() == 0)) return {};
  if (!root.is_dict()) return wrong_content(root, "a dict of tensors");
  for (size_t i = 0; i < root.dict_size(); ++i) {
    const PickleValue key = root.key(i);
    if (!key.is(PickleKind::string)) return wrong_content(key, "a name");
    auto added = add_pickled_value(root.value(i), kind, std::string(key.text()), name, reading);
    if (!added)
      reading.fail(Rule::payload_reads, std::move(added).error(),
                   fmt::format("{}['{}']", name, key.text()));
  }
  return {};
}

}  // namespace

Result<void> add_pickled_value(const PickleValue& value, PayloadKind kind, std::string name,
                               std::string record, const PayloadReading& reading) {
  PT2_TRY_VOID(reading.take(record.size()));
  if (value.is(PickleKind::tensor)) {
    PT2_TRY_VOID(take_copy(value, reading));
    reading.payloads.add(from_pickle(value, kind, std::move(name), std::move(record)));
    return {};
  }
  if (value.is(PickleKind::object) && kind == PayloadKind::constant) {
    PT2_TRY_VOID(reading.take(2 * value.text().size()));
    Result<Object> object = read_object(value, reading);
    reading.payloads.add(PayloadObject{.name = std::move(name),
                                       .record = std::move(record),
                                       .type = std::string(value.text()),
                                       .object = object ? *std::move(object) : nullptr});
    return {};
  }
  return wrong_content(value, "a tensor");
}

// Uses listing mode, which accepts any class. The record holds nothing but the object.
void add_object_record(const PayloadReading& reading, std::string name, std::string record_name,
                       ObjectForm form) {
  PayloadObject payload{.name = std::move(name), .record = std::move(record_name)};
  if (auto counted = reading.count_pickle(payload.record); !counted)
    return reading.fail(Rule::payload_reads, std::move(counted).error(), payload.record);
  const auto read = [&]() -> Result<Pickle> {
    PT2_TRY(const Record record, reading.archive.read(payload.record));
    const Limits& limits = reading.archive.limits();
    if (form == ObjectForm::torch_save) return read_torch_save(record, PickleMode::listing, limits);
    const StorageLoader none = [](std::string_view, size_t, uint64_t) {
      return Result<std::shared_ptr<Storage>>(
          Error{ErrorCode::malformed, "the pickle has no storages beside it", ""});
    };
    return read_pickle(record.bytes, PickleMode::listing, none, record.limits_inside(limits));
  };
  if (const Result<Pickle> pickle = read(); pickle && pickle->root().is(PickleKind::object)) {
    payload.type = pickle->root().text();
    Result<Object> object = payload.type == kGeneratorClass ? generator_object(pickle->root())
                                                            : read_object(pickle->root(), reading);
    if (object)
      payload.object = *std::move(object);
    else if (object.error().code == ErrorCode::invalid)
      reading.fail(Rule::payload_reads, std::move(object).error(), payload.record);
  }
  reading.payloads.add(std::move(payload));
}

void read_torch_save_dict(const PayloadReading& reading, Role role, PayloadKind kind) {
  const std::string name = reading.archive.record_name(role, reading.model);
  if (name.empty() || reading.archive.find(name) == nullptr) return;
  auto added = add_dict(reading, name, kind);
  if (!added) reading.fail(Rule::payload_reads, std::move(added).error(), name);
}

void read_embedded_constants(const PayloadReading& reading, const Program& program) {
  const std::string record_name = reading.archive.program_record(reading.model);
  for (const EmbeddedConstant& constant : program.embedded_constants) {
    const Record record = make_record(
        std::string(reinterpret_cast<const char*>(constant.bytes.data()), constant.bytes.size()));
    const auto add = [&]() -> Result<void> {
      PT2_TRY(Pickle pickle, read_torch_save(record, PickleMode::strict, reading.archive.limits()));
      return add_pickled_value(pickle.root(), PayloadKind::constant, constant.name, record_name,
                               reading);
    };
    if (auto added = add(); !added) {
      reading.fail(
          Rule::payload_reads, std::move(added).error(),
          fmt::format("{}:.graph_module.graph.constants['{}']", record_name, constant.name));
    }
  }
}

}  // namespace pt2
