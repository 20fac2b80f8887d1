#include "pt2/package.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "archive/pickle/pickle_code.h"
#include "base/try_at.h"
#include "ir/node_origins.h"
#include "package/pickle_checks.h"
#include "package/read_package.h"
#include "pt2/format/container.h"
#include "pt2/format/schema_json.h"

namespace pt2 {

void PayloadReading::fail(Rule rule, Error error, std::string_view place) const {
  // Errors from the archive already name the file.
  const bool has_file = error.where.starts_with(archive.name() + "!");
  const std::string_view separator = error.where.empty() || place.ends_with(':') ? "" : "!";
  if (!has_file)
    error = at(std::move(error), fmt::format("{}!{}{}", archive.name(), place, separator));
  issues.add(rule, std::move(error));
}

Result<void> PayloadReading::count_pickle(const std::string& record) const {
  constexpr int kMostNames = 16;
  if (++names_of_pickles[record] <= kMostNames) return {};
  return Error{ErrorCode::limit,
               fmt::format("found more than {} names for one pickled record", kMostNames), ""};
}

Result<void> PayloadReading::take(uint64_t bytes) const {
  if (bytes > copies_left)
    return Error{ErrorCode::limit,
                 "copies of values that several names share take far more bytes than the file", ""};
  copies_left -= bytes;
  return {};
}

Payloads read_payloads(const Archive& archive, const ProgramSource& source, const Program& program,
                       Diagnostics& issues, PickleMode mode) {
  Payloads payloads;
  const PayloadReading reading{archive, source.model, payloads, issues, mode};
  if (source.draft) {
    read_draft_payloads(reading, *source.draft, archive.program_record(source.model));
    return payloads;
  }
  // If both records are present, the pickled record wins, as in torch.export.load.
  const auto read = [&](Role pickled, Role config, PayloadKind kind) {
    const std::string name = archive.record_name(pickled, source.model);
    if (!name.empty() && archive.find(name) != nullptr) {
      read_torch_save_dict(reading, pickled, kind);
    } else {
      read_configured(reading, config, kind);
    }
  };
  read(Role::weights, Role::weights_config, PayloadKind::weight);
  read(Role::constants, Role::constants_config, PayloadKind::constant);
  read_embedded_constants(reading, program);
  read_path_payloads(reading, program, source.payload_paths);
  return payloads;
}

Result<std::shared_ptr<const Payloads>> read_payloads_in_place(const Package& package,
                                                               const std::string& model) {
  PT2_TRY(const Program* program, package.program(model));
  Diagnostics issues;
  Payloads payloads = read_payloads(package.archive(), {.name = model, .model = model}, *program,
                                    issues, PickleMode::in_place);
  if (auto fault = issues.first_error()) return *std::move(fault);
  return std::make_shared<const Payloads>(std::move(payloads));
}

Result<SampleInputs> read_sample_inputs(const Archive& archive, std::string_view model,
                                        Diagnostics& warnings) {
  const std::string name = archive.record_name(Role::sample_inputs, model);
  const std::string place = fmt::format("{}!{}", archive.name(), name);
  if (name.empty() || archive.find(name) == nullptr) return SampleInputs{};
  PT2_TRY(Record record, archive.read(name));
  auto pickle = read_torch_save(record, PickleMode::listing, archive.limits());
  if (!pickle) return at(std::move(pickle).error(), place + "!");
  report_pickle_calls(pickle_calls(*pickle), place, warnings);
  SampleInputs inputs{*pickle, {}};
  PT2_TRY_AT(inputs.leaves, place, flatten_sample_inputs(inputs.pickle, archive.limits()));
  return inputs;
}

struct Package::State {
  explicit State(Archive opened) : archive(std::move(opened)) {}

  Archive archive;
  Diagnostics warnings;
  std::vector<std::string> names;
  std::vector<ProgramSource> sources;  // `program` fields are empty
  std::vector<Program> programs;
  mutable std::mutex mutex;
  mutable std::vector<std::shared_ptr<const Payloads>> payloads;

  // Returns the only program, or the program called "model", or the only main program of the file.
  std::optional<size_t> default_program() const {
    if (names.size() == 1) return 0;
    const auto model = std::ranges::find(names, "model");
    if (model != names.end()) return static_cast<size_t>(model - names.begin());
    const auto main = std::ranges::find(sources, true, &ProgramSource::is_main);
    if (main == sources.end() || std::ranges::count(sources, true, &ProgramSource::is_main) != 1)
      return std::nullopt;
    return static_cast<size_t>(main - sources.begin());
  }

  Result<size_t> find_model(std::string_view name) const {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    const auto chosen = name.empty() ? default_program() : std::nullopt;
    if (chosen) return *chosen;
    const std::string known = fmt::format("{}", fmt::join(names, ", "));
    return Error{ErrorCode::argument,
                 name.empty()
                     ? fmt::format("the package holds several programs; name one of: {}", known)
                     : fmt::format("no program is called '{}', the package holds: {}", name, known),
                 archive.name()};
  }
};

Result<Package> Package::open(const std::string& path, const Limits& limits) {
  PT2_TRY(Archive archive, Archive::open(path, limits));
  return open_archive(std::move(archive), NodeOrigins::whole);
}

Result<Package> Package::open_briefly(const std::string& path, const Limits& limits) {
  PT2_TRY(Archive archive, Archive::open(path, limits));
  return open_archive(std::move(archive), NodeOrigins::brief);
}

Result<Package> Package::open_bytes(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string name,
                                    const Limits& limits) {
  PT2_TRY(Archive archive, Archive::open_bytes(bytes, std::move(owner), std::move(name), limits));
  return open_archive(std::move(archive), NodeOrigins::whole);
}

Result<Package> Package::open_archive(Archive archive, NodeOrigins origins) {
  const SourceForm form = origins == NodeOrigins::brief ? SourceForm::any_brief : SourceForm::any;
  auto state = std::make_shared<State>(std::move(archive));
  state->warnings.append(state->archive.warnings());
  for (const std::string& model : state->archive.models()) {
    PT2_TRY(std::vector<ProgramSource> sources,
            read_sources(state->archive, model, state->warnings, form));
    std::ranges::move(sources, std::back_inserter(state->sources));
  }
  Diagnostics faults;
  check_names(state->archive, state->sources, faults);
  for (ProgramSource& source : state->sources) {
    PT2_TRY(Program program, read_program(state->archive, source, state->warnings, faults));
    if (auto fault = faults.first_error()) return *std::move(fault);
    state->programs.push_back(std::move(program));
    state->names.push_back(source.name);
  }
  state->warnings.append(std::move(faults));
  state->payloads.resize(state->programs.size());
  return Package(std::move(state));
}

const Archive& Package::archive() const { return state_->archive; }
std::span<const std::string> Package::models() const& { return state_->names; }
const Diagnostics& Package::warnings() const& { return state_->warnings; }

Result<std::string> Package::model_name(std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  return state_->names[index];
}

Result<const Program*> Package::program(std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  return static_cast<const Program*>(&state_->programs[index]);
}

Result<schema::ExportedProgram> Package::schema(std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  const ProgramSource& wanted = state_->sources[index];
  Diagnostics already_reported;
  PT2_TRY(std::vector<ProgramSource> sources,
          read_sources(state_->archive, wanted.model, already_reported, SourceForm::schema));
  return std::move(std::ranges::find(sources, wanted.path, &ProgramSource::path)->program);
}

bool Package::is_member(std::string_view model) const {
  const auto index = state_->find_model(model);
  return index && !state_->sources[*index].path.empty();
}

Result<std::optional<schema::Container>> Package::container(std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  const ProgramSource& source = state_->sources[index];
  if (source.path.empty()) return std::optional<schema::Container>();
  PT2_TRY(Record record, state_->archive.read(state_->archive.program_record(source.model)));
  Diagnostics already_reported;
  PT2_TRY(schema::Container container,
          schema::decode_container(record.text(), record.limits_inside(state_->archive.limits()),
                                   already_reported));
  return std::optional(std::move(container));
}

const draft::GraphModule* Package::draft(std::string_view model) const {
  const auto index = state_->find_model(model);
  return index ? state_->sources[*index].draft.get() : nullptr;
}

Result<std::shared_ptr<const Payloads>> Package::payloads(std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  const std::lock_guard lock(state_->mutex);
  std::shared_ptr<const Payloads>& payloads = state_->payloads[index];
  if (!payloads) {
    Diagnostics issues;
    Payloads read =
        read_payloads(state_->archive, state_->sources[index], state_->programs[index], issues);
    if (auto fault = issues.first_error()) return *std::move(fault);
    payloads = std::make_shared<const Payloads>(std::move(read));
  }
  return payloads;
}

Result<SampleInputs> Package::sample_inputs(Diagnostics& warnings, std::string_view model) const {
  PT2_TRY(size_t index, state_->find_model(model));
  return read_sample_inputs(state_->archive, state_->sources[index].model, warnings);
}

}  // namespace pt2
