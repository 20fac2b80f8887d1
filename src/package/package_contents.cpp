#include <fmt/format.h>

#include <map>
#include <set>

#include "package/payload_readers.h"
#include "package/read_package.h"
#include "pt2/format/schema.h"
#include "pt2/save.h"

namespace pt2 {
namespace {

class ContentsReader {
 public:
  explicit ContentsReader(const Package& package)
      : package_(package), archive_(package.archive()) {}

  Result<PackageContents> read() {
    contents_.era = archive_.era();
    contents_.origin = std::make_shared<const Origin>(archive_);
    if (archive_.era() == Era::document) return read_document();
    for (const std::string& model : archive_.models()) PT2_TRY_VOID(read_program(model));
    for (const Entry& entry : archive_.zip().entries()) PT2_TRY_VOID(read_other(entry));
    contents_.shares_storages = has_shared_storages();
    return std::move(contents_);
  }

 private:
  Result<void> read_program(const std::string& model) {
    SavedProgram program{.name = model};
    PT2_TRY(const Record json, take(archive_.program_record(model)));
    program.json = json.text();
    program.names_its_payloads = archive_.names_its_payloads(model);
    if (program.names_its_payloads) {
      // Records of any role may hold the tensors; read_other takes them.
    } else if (archive_.era() == Era::raw_payloads) {
      PT2_TRY_VOID(read_raw(program));
    } else {
      PT2_TRY(program.state_dict, take_if_present(Role::weights, model));
      PT2_TRY(program.constants, take_if_present(Role::constants, model));
    }
    PT2_TRY(program.sample_inputs, take_if_present(Role::sample_inputs, model));
    contents_.programs.push_back(std::move(program));
    return {};
  }

  // True if two programs have tensors in the same record.
  bool has_shared_storages() const {
    std::map<const std::byte*, const SavedProgram*> owners;
    for (const SavedProgram& program : contents_.programs)
      for (const SavedTensors* saved : {&program.state_dict, &program.constants})
        if (const auto* tensors = std::get_if<std::vector<SavedTensor>>(saved))
          for (const SavedTensor& each : *tensors) {
            if (!each.tensor.defined() || each.is_fake || each.tensor.storage()->size() == 0)
              continue;
            const std::byte* data = each.tensor.storage()->data();
            if (owners.emplace(data, &program).first->second != &program) return true;
          }
    return false;
  }

  // Converts an early draft to a program of the newest schema, in the newest layout.
  Result<PackageContents> read_document() {
    if (package_.draft() == nullptr)
      return Error{ErrorCode::unsupported, "a bare document has no tensors to save",
                   archive_.name()};
    contents_.era = Era::raw_payloads;
    PT2_TRY(const Program* program, package_.program());
    PT2_TRY(const std::shared_ptr<const Payloads> payloads, package_.payloads());
    std::vector<SavedTensor> tensors;
    for (const PayloadTensor& payload : payloads->tensors()) {
      PT2_TRY(SavedTensor saved, raw_tensor(&payload, payload.name, {}));
      tensors.push_back(std::move(saved));
    }
    contents_.programs.push_back(
        {.json = program_json(*program), .state_dict = std::move(tensors)});
    return std::move(contents_);
  }

  Result<void> read_raw(SavedProgram& program) {
    PT2_TRY(const Program* graph, package_.program(program.name));
    Diagnostics issues;
    const ProgramSource source{.name = program.name, .model = program.name};
    const Payloads payloads = read_payloads(archive_, source, *graph, issues);
    for (const PayloadKind kind : {PayloadKind::weight, PayloadKind::constant}) {
      const Role role = kind == PayloadKind::weight ? Role::weights_config : Role::constants_config;
      const std::string config_name = archive_.record_name(role, program.name);
      taken_.insert(config_name);
      PT2_TRY(const schema::PayloadConfig config, read_payload_config(archive_, config_name));
      std::vector<SavedTensor> tensors;
      for (const auto& [name, meta] : config.config) {
        const std::string record = payload_record(kind, meta.path_name);
        if (is_object(kind, meta)) {
          PT2_TRY(Record content, take(record));
          program.objects.push_back({name, {std::move(content)}, is_opaque_object(meta)});
        } else if (meta.use_pickle) {
          PT2_TRY(SavedTensor saved, pickled_tensor(name, meta, record));
          tensors.push_back(std::move(saved));
        } else {
          PT2_TRY(SavedTensor saved, raw_tensor(payloads.find(kind, name), name, issues));
          // Payload tensors have the loader's device and requires_grad, which are the same for all
          // tensors of a record.
          if (meta.tensor_meta) {
            saved.device =
                device_text(meta.tensor_meta->device.type, meta.tensor_meta->device.index);
            saved.requires_grad = meta.tensor_meta->requires_grad;
          }
          taken_.insert(record);
          tensors.push_back(std::move(saved));
        }
      }
      (kind == PayloadKind::weight ? program.state_dict : program.constants) = std::move(tensors);
    }
    return {};
  }

  static bool is_object(PayloadKind kind, const schema::PayloadMeta& meta) {
    return kind == PayloadKind::constant && !meta.path_name.starts_with("tensor_");
  }

  Result<SavedTensor> pickled_tensor(const std::string& name, const schema::PayloadMeta& meta,
                                     const std::string& record) {
    SavedTensor saved{.name = name, .is_parameter = meta.is_param};
    PT2_TRY(Record content, take(record));
    saved.pickled.push_back(std::move(content));
    if (meta.tensor_meta) saved.meta = std::make_shared<schema::TensorMeta>(*meta.tensor_meta);
    return saved;
  }

  Result<SavedTensor> raw_tensor(const PayloadTensor* payload, const std::string& name,
                                 const Diagnostics& issues) const {
    if (payload == nullptr || !payload->tensor.defined()) {
      auto fault = payload == nullptr ? issues.first_error() : std::nullopt;
      if (fault) return *std::move(fault);
      return Error{ErrorCode::unsupported,
                   payload == nullptr ? "the payload cannot be read" : payload->missing,
                   fmt::format("{}!{}", archive_.name(), name)};
    }
    return SavedTensor{.name = name,
                       .tensor = payload->tensor,
                       .is_parameter = payload->is_parameter,
                       .requires_grad = payload->requires_grad,
                       .device = payload->device,
                       .is_fake = payload->is_fake};
  }

  Result<Record> take(const std::string& name) {
    taken_.insert(name);
    return archive_.read(name);
  }

  Result<Record> take_if_present(Role role, const std::string& model) {
    const std::string name = archive_.record_name(role, model);
    return archive_.find(name) == nullptr ? Record{} : take(name);
  }

  // Skips metadata records, because the writer creates them anew.
  Result<void> read_other(const Entry& entry) {
    const std::string name(archive_.relative_name(entry));
    const RecordRole found = archive_.role(entry);
    if (found.role == Role::metadata || taken_.contains(name)) return {};
    PT2_TRY(Record content, archive_.read(name));
    if (found.role == Role::extra) {
      contents_.extra_files.push_back({std::string(found.name), std::move(content)});
    } else {
      contents_.other_records.push_back({name, std::move(content)});
    }
    return {};
  }

  const Package& package_;
  const Archive& archive_;
  PackageContents contents_;
  std::set<std::string> taken_;
};

}  // namespace

Result<PackageContents> package_contents(const Package& package) {
  return ContentsReader(package).read();
}

}  // namespace pt2
