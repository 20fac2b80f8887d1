// Payloads of schema 8.6 to 8.11: the container, or the program itself, maps each name to the
// record with its bytes. No release wrote such archives. docs/containers.md says which parts are
// known and which are our interpretation.
#include <fmt/format.h>

#include <complex>
#include <set>

#include "archive/zip_format.h"
#include "base/printable.h"
#include "package/payload_readers.h"

namespace pt2 {
namespace {

std::optional<PayloadKind> payload_kind(const InputSpec& spec) {
  switch (spec.kind) {
    case InputKind::parameter:
      return PayloadKind::weight;
    case InputKind::buffer:
      return spec.persistent.value_or(true) ? PayloadKind::weight : PayloadKind::constant;
    case InputKind::constant_tensor:
      return PayloadKind::constant;
    case InputKind::user_input:
    case InputKind::custom_obj:
    case InputKind::token:
      return std::nullopt;
  }
  return std::nullopt;
}

void collect_objects(const Graph& graph, std::set<std::string>& names) {
  for (NodeId id : graph.nodes())
    for (const NamedArgument& input : graph.node(id).inputs)
      if (const auto* object = input.arg.get_if<CustomObject>()) names.insert(object->name);
  for (const Graph& subgraph : graph.subgraphs()) collect_objects(subgraph, names);
}

class PathReader {
 public:
  PathReader(const PayloadReading& reading, const Program& program,
             std::span<const PayloadPaths> maps)
      : reading_(reading), program_(program), maps_(maps) {}

  void read() {
    std::set<std::string> objects;
    collect_objects(program_.graph, objects);
    for (const InputSpec& spec : program_.signature.input_specs) {
      if (!spec.target) continue;
      if (spec.kind == InputKind::custom_obj) objects.insert(*spec.target);
      if (payload_kind(spec) && reading_.payloads.bound_to(spec) == nullptr)
        bind(*spec.target,
             [&](const std::string& record, Rule& rule) { return add_tensor(spec, record, rule); });
    }
    for (const std::string& name : objects)
      if (reading_.payloads.find_object(name) == nullptr)
        bind(name, [&](const std::string& record, Rule&) -> Result<void> {
          add_object_record(reading_, name, record);
          return {};
        });
  }

 private:
  // Ignores a name without a path: another check reports names of the signature without payload.
  template <class Add>
  void bind(const std::string& name, Add add) {
    for (const PayloadPaths& map : maps_) {
      const auto found = map.paths->find(name);
      if (found == map.paths->end()) continue;
      Rule rule = Rule::payload_path;
      const auto bound = [&]() -> Result<void> {
        PT2_TRY(std::string record, find_record(found->second));
        rule = Rule::payload_reads;
        return add(record, rule);
      }();
      if (!bound)
        reading_.fail(rule, bound.error(), fmt::format("{}['{}']", map.place, printable(name)));
      return;
    }
  }

  // Returns the name of an existing record. Accepts a leading '/': the comment in the schema has
  // "/data/tensor/w", relative to the archive's root.
  Result<std::string> find_record(std::string_view path) const {
    if (path.starts_with('/')) path.remove_prefix(1);
    if (reading_.archive.find(path) == nullptr)
      return invalid_payload(fmt::format("there is no record '{}'", printable(path)));
    return std::string(path);
  }

  Result<void> add_tensor(const InputSpec& spec, const std::string& record, Rule& rule) {
    const auto id = program_.graph.find_value(spec.arg.name);
    const TensorMeta* meta = id ? program_.graph.value(*id).tensor() : nullptr;
    if (meta == nullptr)
      return invalid_payload("nothing says which dtype and sizes its bytes have");
    PayloadTensor payload;
    PT2_TRY(Record bytes, reading_.archive.read(record));
    PT2_TRY(const bool is_pickled, is_torch_save(bytes, *meta));
    if (is_pickled) {
      PT2_TRY_VOID(reading_.count_pickle(record));
      PT2_TRY(Pickle pickle, read_torch_save(bytes, PickleMode::strict, reading_.archive.limits()));
      return add_pickled_value(pickle.root(), *payload_kind(spec), *spec.target, record, reading_);
    }
    const auto dtype = meta->dtype.dtype();
    if (!dtype) return Error{ErrorCode::unsupported, "its dtype is not known here", {}};
    payload.kind = *payload_kind(spec);
    payload.name = *spec.target;
    payload.record = record;
    payload.dtype = dtype_name(*dtype);
    payload.device = device_text(meta->device.type, meta->device.index);
    payload.is_parameter = spec.kind == InputKind::parameter;
    payload.requires_grad = payload.is_parameter && meta->requires_grad;
    PT2_TRY(payload.sizes, literals(meta->sizes, "sizes"));
    PT2_TRY(Sizes strides, literals(meta->strides, "strides"));
    PT2_TRY(Sizes offset, literals({meta->storage_offset}, "storage_offset"));
    rule = Rule::payload_bounds;
    PT2_TRY(payload.tensor, Tensor::view_of(storage_of(record, bytes), *dtype, payload.sizes,
                                            std::move(strides), offset[0]));
    reading_.payloads.add(std::move(payload));
    return {};
  }

  // Raw bytes may begin like a zip file by chance, but then their size is the size that the graph
  // states.
  static Result<bool> is_torch_save(const Record& record, const TensorMeta& meta) {
    if (!zip::begins_as_zip(record.text())) return false;
    PT2_TRY(Sizes sizes, literals(meta.sizes, "sizes"));
    const auto numel = checked_numel(sizes);
    const auto dtype = meta.dtype.dtype();
    if (!numel || !dtype) return true;
    const auto width = static_cast<size_t>(dtype_size(*dtype));
    const size_t size = record.bytes.size();
    return size % width != 0 || size / width != static_cast<size_t>(*numel);
  }

  // Returns the storage of a record. All names for one record share its storage.
  std::shared_ptr<Storage> storage_of(const std::string& name, const Record& record) {
    std::shared_ptr<Storage>& storage = storages_[name];
    if (!storage) storage = make_storage(record, alignof(std::complex<double>));
    return storage;
  }

  const PayloadReading& reading_;
  const Program& program_;
  std::span<const PayloadPaths> maps_;
  std::map<std::string, std::shared_ptr<Storage>> storages_;
};

}  // namespace

void read_path_payloads(const PayloadReading& reading, const Program& program,
                        std::span<const PayloadPaths> maps) {
  PathReader(reading, program, maps).read();
}

}  // namespace pt2
