#include <fmt/format.h>

#include "base/mapped_file.h"
#include "package/payload_readers.h"
#include "pt2/format/schema.h"
#include "pt2/format/schema_json.h"
#include "serde/from_schema.h"

namespace pt2 {
namespace {

// Properties of all tensors of a record; the first entry that uses the record decides them.
struct OpenRecord {
  std::shared_ptr<Storage> storage;
  Dtype dtype;
  std::string device;
  bool requires_grad;
};

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
    for (const auto& [name, meta] : config.config) note_fake(meta);
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
      add_object_record(reading_, name, record,
                        is_opaque_object(meta) ? ObjectForm::pickle : ObjectForm::torch_save);
      return {};
    }
    if (meta.use_pickle) return add_pickled(name, record);
    if (!meta.tensor_meta)
      return invalid_payload(
          "found no tensor_meta, expected one: it says the dtype and sizes of the raw bytes");
    constexpr int64_t kNewest = 8;
    PT2_TRY(TensorMeta tensor_meta, read_tensor_meta(*meta.tensor_meta, kNewest, pool_));
    PT2_TRY(PayloadTensor payload, raw_tensor(tensor_meta, record, rule));
    payload.name = name;
    payload.is_parameter = kind_ == PayloadKind::weight && meta.is_param;
    if (payload.is_parameter) payload.requires_grad = tensor_meta.requires_grad;
    reading_.payloads.add(std::move(payload));
    return {};
  }

  // Returns the record of a config entry. Accepts only a name inside the archive's own folder.
  Result<std::string> record_of(const schema::PayloadMeta& meta) const {
    const std::string_view path = meta.path_name;
    if (path.empty() || path == "." || path == ".." ||
        path.find_first_of("/\\:") != std::string_view::npos) {
      return invalid_payload(fmt::format("path_name is '{}', expected a bare record name", path));
    }
    std::string record = payload_record(kind_, path);
    if (reading_.archive.find(record) == nullptr)
      return invalid_payload(fmt::format("there is no record '{}'", record));
    if (kind_ == PayloadKind::constant && !path.starts_with("tensor_") &&
        !path.starts_with("custom_obj_") && !is_opaque_object(meta)) {
      return Error{
          ErrorCode::unsupported, fmt::format("the constant '{}' is of no known kind", path), {}};
    }
    return record;
  }

  Result<void> add_pickled(const std::string& name, const std::string& record_name) {
    PT2_TRY_VOID(reading_.count_pickle(record_name));
    PT2_TRY(Record record, reading_.archive.read(record_name));
    PT2_TRY(Pickle pickle, read_torch_save(record, PickleMode::strict, reading_.archive.limits()));
    return add_pickled_value(pickle.root(), kind_, name, record_name, reading_);
  }

  Result<const OpenRecord*> open(const std::string& name, const TensorMeta& first, Rule& rule) {
    const auto found = records_.find(name);
    if (found != records_.end()) return static_cast<const OpenRecord*>(&found->second);
    PT2_TRY(Dtype dtype, known_dtype(first.dtype));
    PT2_TRY(Record record, reading_.archive.read(name));
    if (std::shared_ptr<Storage> storage = fake_storage(name)) {
      OpenRecord zeros{std::move(storage), dtype,
                       device_text(first.device.type, first.device.index), first.requires_grad};
      return static_cast<const OpenRecord*>(
          &records_.emplace(name, std::move(zeros)).first->second);
    }
    const auto element_size = static_cast<size_t>(dtype_size(dtype));
    if (record.bytes.size() % element_size != 0) {
      rule = Rule::payload_bounds;
      return invalid_payload(
          fmt::format("the record '{}' has {} bytes, expected a multiple of the {} bytes of a {}",
                      name, record.bytes.size(), element_size, dtype_name(dtype)));
    }
    OpenRecord opened{make_storage(record, element_size), dtype,
                      device_text(first.device.type, first.device.index), first.requires_grad};
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
    payload.is_fake = fake_bytes_.contains(name);
    if (meta.layout != Layout::strided) {
      payload.missing = fmt::format("layout {}", static_cast<int>(meta.layout));
    } else if (record->storage->size() == 0 && numel && *numel > 0) {
      payload.missing = "fake tensor";
    } else {
      PT2_TRY(payload.tensor, Tensor::view_of(record->storage, record->dtype, std::move(sizes),
                                              std::move(strides), offset[0]));
    }
    return payload;
  }

  // torch.export.save writes no bytes for fake tensors, and all fake tensors of one dtype share an
  // empty record. PyTorch creates zeros of the first tensor's size (_build_file_map). libpt2
  // creates as many zeros as the largest tensor needs, so that all the tensors can be read.
  void note_fake(const schema::PayloadMeta& meta) {
    const std::string record = payload_record(kind_, meta.path_name);
    const Entry* entry = reading_.archive.find(record);
    if (meta.use_pickle || !meta.tensor_meta || entry == nullptr || entry->size > 0) return;
    const auto bytes = bytes_of(*meta.tensor_meta);
    if (!bytes || *bytes == 0) return;
    uint64_t& largest = fake_bytes_[record];
    largest = std::max(largest, *bytes);
  }

  // Returns the number of bytes from the storage's start to the tensor's last element; nullopt if
  // sizes and strides give no valid number.
  std::optional<uint64_t> bytes_of(const schema::TensorMeta& source) {
    constexpr int64_t kNewest = 8;
    const auto meta = read_tensor_meta(source, kNewest, pool_);
    const auto dtype = meta ? meta->dtype.dtype() : std::nullopt;
    if (!dtype) return std::nullopt;
    const auto sizes = literals(meta->sizes, "sizes");
    const auto strides = literals(meta->strides, "strides");
    const auto offset = literals({meta->storage_offset}, "storage_offset");
    if (!sizes || !strides || !offset || sizes->size() != strides->size()) return std::nullopt;
    int64_t last = (*offset)[0];
    for (size_t i = 0; i < sizes->size(); ++i) {
      if ((*sizes)[i] == 0) return 0;
      int64_t reach = 0;
      if ((*sizes)[i] < 0 || (*strides)[i] < 0 ||
          __builtin_mul_overflow((*sizes)[i] - 1, (*strides)[i], &reach) ||
          __builtin_add_overflow(last, reach, &last))
        return std::nullopt;
    }
    int64_t bytes = 0;
    if (last < 0 || __builtin_add_overflow(last, 1, &last) ||
        __builtin_mul_overflow(last, dtype_size(*dtype), &bytes))
      return std::nullopt;
    return static_cast<uint64_t>(bytes);
  }

  // Null if the record holds no fake tensors, or if its zeros would exceed the limit.
  std::shared_ptr<Storage> fake_storage(const std::string& record) {
    const auto fake = fake_bytes_.find(record);
    const uint64_t limit = reading_.archive.limits().max_fake_bytes;
    if (fake == fake_bytes_.end() || fake->second > limit - std::min(reading_.fake_bytes, limit))
      return nullptr;
    const auto zeros = MappedFile::zeros(fake->second);
    if (!zeros) return nullptr;
    reading_.fake_bytes += fake->second;
    return Storage::borrow_read_only((*zeros)->bytes(), *zeros);
  }

  const PayloadReading& reading_;
  PayloadKind kind_;
  ExprPool pool_;
  std::map<std::string, uint64_t> fake_bytes_;  // by record
  std::map<std::string, OpenRecord> records_;
};

}  // namespace

std::string device_text(const std::string& type, std::optional<int64_t> index) {
  return index ? fmt::format("{}:{}", type, *index) : type;
}

std::string payload_record(PayloadKind kind, std::string_view path_name) {
  return fmt::format("data/{}/{}", kind == PayloadKind::weight ? "weights" : "constants",
                     path_name);
}

Result<schema::PayloadConfig> read_payload_config(const Archive& archive, const std::string& name) {
  PT2_TRY(Record record, archive.read(name));
  Diagnostics ignored;
  return schema::decode<schema::PayloadConfig>(record.text(),
                                               record.limits_inside(archive.limits()), ignored);
}

void read_configured(const PayloadReading& reading, Role config_role, PayloadKind kind) {
  const std::string name = reading.archive.record_name(config_role, reading.model);
  if (name.empty() || reading.archive.find(name) == nullptr) return;
  auto config = read_payload_config(reading.archive, name);
  if (!config) return reading.fail(Rule::payload_reads, std::move(config).error(), name + ":");
  ConfiguredReader(reading, kind).read(*config, name);
}

}  // namespace pt2
