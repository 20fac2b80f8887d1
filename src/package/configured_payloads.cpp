#include <fmt/format.h>

#include "serde/from_schema.h"
#include "package/payload_readers.h"
#include "pt2/schema.h"
#include "pt2/schema_json.h"

namespace pt2 {
namespace {

Error invalid(std::string message) { return {ErrorCode::invalid, std::move(message), {}}; }

// What the first name of a record decides for all of them.
struct OpenRecord {
  std::shared_ptr<Storage> storage;
  Dtype dtype;
  std::string device;
  bool requires_grad;
};

std::string device_text(const Device& device) {
  return device.index ? fmt::format("{}:{}", device.type, *device.index) : device.type;
}

Result<Sizes> literals(const std::vector<SymInt>& numbers, std::string_view what) {
  Sizes sizes;
  for (const SymInt& number : numbers) {
    if (number.is_symbolic()) {
      return invalid(
          fmt::format("{} holds the expression {}, expected numbers", what, print(number)));
    }
    sizes.push_back(number.literal());
  }
  return sizes;
}

Result<Dtype> known_dtype(ScalarType type) {
  if (const auto dtype = type.dtype()) return *dtype;
  return Error{ErrorCode::unsupported,
               fmt::format("dtype {} is not known to this version", type.number),
               {}};
}

class ConfiguredReader {
 public:
  ConfiguredReader(const PayloadReading& reading, PayloadKind kind)
      : reading_(reading), kind_(kind) {}

  void read(const schema::PayloadConfig& config, const std::string& config_name) {
    for (const auto& [name, meta] : config.config) {
      Rule rule = Rule::payload_reads;
      auto added = add(name, meta, rule);
      if (!added)
        reading_.fail(rule, std::move(added).error(),
                      fmt::format("{}:.config['{}']", config_name, name));
    }
  }

 private:
  Result<void> add(const std::string& name, const schema::PayloadMeta& meta, Rule& rule) {
    PT2_TRY(std::string record, record_of(meta));
    if (kind_ == PayloadKind::constant && !meta.path_name.starts_with("tensor_")) {
      reading_.payloads.add(PayloadObject{name, record, {}});
      return {};
    }
    if (meta.use_pickle) return add_pickled(name, record);
    if (!meta.tensor_meta) return invalid("no tensor_meta beside raw bytes");
    constexpr int64_t kNewest = 8;
    PT2_TRY(TensorMeta tensor_meta, read_tensor_meta(*meta.tensor_meta, kNewest, pool_));
    PT2_TRY(PayloadTensor payload, raw_tensor(tensor_meta, record, rule));
    payload.name = name;
    payload.is_parameter = kind_ == PayloadKind::weight && meta.is_param;
    if (payload.is_parameter) payload.requires_grad = tensor_meta.requires_grad;
    reading_.payloads.add(std::move(payload));
    return {};
  }

  // A name inside the archive's own folder and nothing else.
  Result<std::string> record_of(const schema::PayloadMeta& meta) const {
    const std::string_view path = meta.path_name;
    if (path.empty() || path == "." || path == ".." ||
        path.find_first_of("/\\:") != std::string_view::npos) {
      return invalid(fmt::format("path_name is '{}', expected a bare record name", path));
    }
    std::string record =
        fmt::format("data/{}/{}", kind_ == PayloadKind::weight ? "weights" : "constants", path);
    if (reading_.archive.find(record) == nullptr)
      return invalid(fmt::format("there is no record '{}'", record));
    if (kind_ == PayloadKind::constant && !path.starts_with("tensor_") &&
        !path.starts_with("custom_obj_") && !path.starts_with("opaque_obj_")) {
      return Error{
          ErrorCode::unsupported, fmt::format("the constant '{}' is of no known kind", path), {}};
    }
    return record;
  }

  Result<void> add_pickled(const std::string& name, const std::string& record_name) {
    PT2_TRY(Record record, reading_.archive.read(record_name));
    PT2_TRY(Pickle pickle, read_torch_save(record, PickleMode::strict, reading_.archive.limits()));
    return add_pickled_value(pickle.root(), kind_, name, record_name, reading_.payloads);
  }

  Result<const OpenRecord*> open(const std::string& name, const TensorMeta& first, Rule& rule) {
    const auto found = records_.find(name);
    if (found != records_.end()) return static_cast<const OpenRecord*>(&found->second);
    PT2_TRY(Dtype dtype, known_dtype(first.dtype));
    PT2_TRY(Record record, reading_.archive.read(name));
    const auto element_size = static_cast<size_t>(dtype_size(dtype));
    if (record.bytes.size() % element_size != 0) {
      rule = Rule::payload_bounds;
      return invalid(
          fmt::format("the record '{}' has {} bytes, expected a multiple of the {} bytes of a {}",
                      name, record.bytes.size(), element_size, dtype_name(dtype)));
    }
    OpenRecord opened{make_storage(record, dtype_alignment(dtype)), dtype, device_text(first.device), first.requires_grad};
    return static_cast<const OpenRecord*>(&records_.emplace(name, std::move(opened)).first->second);
  }

  Result<PayloadTensor> raw_tensor(const TensorMeta& meta, const std::string& name, Rule& rule) {
    PT2_TRY(Sizes sizes, literals(meta.sizes, "sizes"));
    PT2_TRY(Sizes strides, literals(meta.strides, "strides"));
    PT2_TRY(Sizes offset, literals({meta.storage_offset}, "storage_offset"));
    PT2_TRY(const OpenRecord* record, open(name, meta, rule));
    PayloadTensor payload;
    payload.kind = kind_;
    payload.record = name;
    payload.dtype = dtype_name(record->dtype);
    payload.sizes = sizes;
    payload.device = record->device;
    payload.requires_grad = record->requires_grad;
    rule = Rule::payload_bounds;
    const auto numel = checked_numel(sizes);
    if (meta.layout != Layout::strided) {
      payload.missing = fmt::format("layout {}", static_cast<int>(meta.layout));
    } else if (record->storage->size() == 0 && numel && *numel > 0) {
      // torch.export.save writes nothing for a fake tensor; torch makes zeros of it, at whatever
      // size the file says.
      payload.missing = "fake tensor";
    } else {
      PT2_TRY(payload.tensor, Tensor::view_of(record->storage, record->dtype, std::move(sizes),
                                              std::move(strides), offset[0]));
    }
    return payload;
  }

  const PayloadReading& reading_;
  PayloadKind kind_;
  ExprPool pool_;
  std::map<std::string, OpenRecord> records_;
};

Result<schema::PayloadConfig> read_config(const Archive& archive, const std::string& name) {
  PT2_TRY(Record record, archive.read(name));
  Diagnostics ignored;
  return schema::decode<schema::PayloadConfig>(record.text(), archive.limits(), ignored);
}

}  // namespace

void read_configured(const PayloadReading& reading, Role config_role, PayloadKind kind) {
  const std::string name = reading.archive.record_name(config_role, reading.model);
  if (name.empty() || reading.archive.find(name) == nullptr) return;
  auto config = read_config(reading.archive, name);
  if (!config) return reading.fail(Rule::payload_reads, std::move(config).error(), name + ":");
  ConfiguredReader(reading, kind).read(*config, name);
}

}  // namespace pt2
