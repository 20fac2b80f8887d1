#include "pt2/package.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/try_at.h"
#include "package/read_package.h"
#include "pt2/schema_json.h"
#include "serde/from_schema.h"

namespace pt2 {
namespace {

std::string program_place(const Archive& archive, std::string_view model) {
  return fmt::format("{}!{}:", archive.name(), archive.program_record(model));
}

// PyTorch's own dialects, and ExecuTorch's (torch/_export/verifier.py, VerifierMeta).
void check_dialect(const Archive& archive, std::string_view model, const Program& program,
                   Diagnostics& warnings) {
  const std::string_view dialect = program.dialect();
  for (std::string_view known : {"ATEN", "TRAINING", "EDGE"}) {
    if (dialect == known) return;
  }
  warnings.add(Rule::unknown_dialect, program_place(archive, model) + ".verifiers",
               fmt::format("found '{}', expected ATEN, TRAINING or EDGE", dialect));
}

}  // namespace

Error first_error(const Diagnostics& issues) {
  const Diagnostic& first =
      *std::ranges::find(issues.all(), Severity::error, &Diagnostic::severity);
  return {first.code, first.text, first.where};
}

void PayloadReading::fail(Rule rule, Error error, std::string_view place) const {
  // What the archive reports names the file itself.
  const bool has_file = error.where.starts_with(archive.name() + "!");
  const std::string_view separator = error.where.empty() || place.ends_with(':') ? "" : "!";
  if (!has_file)
    error = at(std::move(error), fmt::format("{}!{}{}", archive.name(), place, separator));
  issues.add(rule, std::move(error));
}

Payloads read_payloads(const Archive& archive, std::string_view model, const Program& program,
                       Diagnostics& issues) {
  Payloads payloads;
  const PayloadReading reading{archive, model, payloads, issues};
  // Where both forms are present the pickled one wins, as in torch.export.load.
  const auto read = [&](Role pickled, Role config, PayloadKind kind) {
    const std::string name = archive.record_name(pickled, model);
    if (!name.empty() && archive.find(name) != nullptr) {
      read_torch_save_dict(reading, pickled, kind);
    } else {
      read_configured(reading, config, kind);
    }
  };
  read(Role::weights, Role::weights_config, PayloadKind::weight);
  read(Role::constants, Role::constants_config, PayloadKind::constant);
  read_embedded_constants(reading, program);
  return payloads;
}

Result<schema::ExportedProgram> read_schema(const Archive& archive, std::string_view model,
                                            Diagnostics& warnings) {
  PT2_TRY(Record record, archive.read(archive.program_record(model)));
  const std::string place = program_place(archive, model);
  Diagnostics found;
  auto program = schema::decode_program(record.text(), archive.limits(), found);
  for (const Diagnostic& diagnostic : found.all()) {
    warnings.add(diagnostic.rule, place + diagnostic.where, diagnostic.text);
  }
  if (!program) return at(std::move(program).error(), place);
  return program;
}

Result<Program> read_program(const Archive& archive, std::string_view model,
                             schema::ExportedProgram source, Diagnostics& warnings,
                             Diagnostics& faults) {
  Diagnostics found;
  auto program = from_schema(std::move(source), found);
  const std::string place = program_place(archive, model);
  for (const Diagnostic& fault : found.all())
    faults.add(fault.rule, Error{fault.code, fault.text, place + fault.where});
  if (!program) return at(std::move(program).error(), place);
  check_dialect(archive, model, *program, warnings);
  return program;
}

Result<SampleInputs> read_sample_inputs(const Archive& archive, std::string_view model,
                                        Diagnostics& warnings) {
  const std::string name = archive.record_name(Role::sample_inputs, model);
  const std::string place = fmt::format("{}!{}", archive.name(), name);
  if (name.empty() || archive.find(name) == nullptr) return SampleInputs{};
  PT2_TRY(Record record, archive.read(name));
  auto pickle = read_torch_save(record, PickleMode::listing, archive.limits());
  if (!pickle) return at(std::move(pickle).error(), place + "!");
  for (const RefusedGlobal& global : pickle->refused()) {
    if (!global.called) continue;
    warnings.add(Rule::refused_sample_inputs, place,
                 fmt::format("the pickle calls '{}'; it was not run", global.name));
  }
  SampleInputs inputs{*pickle, {}};
  PT2_TRY_AT(inputs.leaves, place, flatten_sample_inputs(inputs.pickle, archive.limits()));
  return inputs;
}

struct Package::State {
  explicit State(Archive opened) : archive(std::move(opened)) {}

  Archive archive;
  Diagnostics warnings;
  std::vector<Program> programs;  // in the order of archive.models()
  mutable std::mutex mutex;
  mutable std::vector<std::shared_ptr<const Payloads>> payloads;

  Result<size_t> find_model(std::string_view name) const {
    const auto models = archive.models();
    if (name.empty() && models.size() == 1) return size_t{0};
    for (size_t i = 0; i < models.size(); ++i) {
      if (models[i] == (name.empty() ? std::string_view("model") : name)) return i;
    }
    std::string names;
    for (const std::string& model : models) names += (names.empty() ? "" : ", ") + model;
    return Error{ErrorCode::argument,
                 name.empty()
                     ? fmt::format("the package holds several programs; name one of: {}", names)
                     : fmt::format("no program is called '{}', the package holds: {}", name, names),
                 archive.name()};
  }
};

Result<Package> Package::open(const std::string& path, const Limits& limits) {
  PT2_TRY(Archive archive, Archive::open(path, limits));
  return open_archive(std::move(archive));
}

Result<Package> Package::open_bytes(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string name,
                                    const Limits& limits) {
  PT2_TRY(Archive archive, Archive::open_bytes(bytes, std::move(owner), std::move(name), limits));
  return open_archive(std::move(archive));
}

Result<Package> Package::open_archive(Archive archive) {
  auto state = std::make_shared<State>(std::move(archive));
  state->warnings.append(state->archive.warnings());
  for (const std::string& model : state->archive.models()) {
    PT2_TRY(schema::ExportedProgram source, read_schema(state->archive, model, state->warnings));
    Diagnostics faults;
    PT2_TRY(Program program,
            read_program(state->archive, model, std::move(source), state->warnings, faults));
    if (faults.has_errors()) return first_error(faults);
    state->warnings.append(std::move(faults));
    state->programs.push_back(std::move(program));
  }
  state->payloads.resize(state->programs.size());
  return Package(std::move(state));
}

const Archive& Package::archive() const { return state_->archive; }
const Diagnostics& Package::warnings() const { return state_->warnings; }

Result<const Program*> Package::program(std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  return static_cast<const Program*>(&state_->programs[index]);
}

Result<schema::ExportedProgram> Package::schema(std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  Diagnostics already_reported;
  return read_schema(state_->archive, models()[index], already_reported);
}

Result<std::shared_ptr<const Payloads>> Package::payloads(std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  const std::lock_guard lock(state_->mutex);
  std::shared_ptr<const Payloads>& payloads = state_->payloads[index];
  if (!payloads) {
    Diagnostics issues;
    Payloads read =
        read_payloads(state_->archive, models()[index], state_->programs[index], issues);
    if (!issues.empty()) return first_error(issues);
    payloads = std::make_shared<const Payloads>(std::move(read));
  }
  return payloads;
}

Result<SampleInputs> Package::sample_inputs(Diagnostics& warnings, std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  return read_sample_inputs(state_->archive, models()[index], warnings);
}

}  // namespace pt2
