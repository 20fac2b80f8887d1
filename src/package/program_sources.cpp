// Finds the programs of a file: whole records, members of containers, early drafts.
#include <fmt/format.h>

#include <iterator>
#include <set>

#include "base/json_keys.h"
#include "base/mapped_file.h"
#include "draft/draft_schema.h"
#include "package/read_package.h"
#include "pt2/format/container.h"
#include "pt2/format/schema_json.h"
#include "serde/from_schema.h"

namespace pt2 {
namespace {

// Warns of dialects other than those of PyTorch and ExecuTorch (torch/_export/verifier.py,
// VerifierMeta).
void check_dialect(const Archive& archive, const ProgramSource& source, const Program& program,
                   Diagnostics& warnings) {
  const std::string_view dialect = program.dialect();
  for (std::string_view known : {"ATEN", "TRAINING", "EDGE"}) {
    if (dialect == known) return;
  }
  warnings.add(Rule::unknown_dialect, program_place(archive, source) + ".verifiers",
               fmt::format("found '{}', expected ATEN, TRAINING or EDGE", dialect));
}

// Releases the pages of text that was read; they need not stay in memory.
schema::PieceReader::Release release_of(const MappedFile* file) {
  return [file](std::string_view done) {
    if (file != nullptr) file->release(std::as_bytes(std::span(done)));
  };
}

class SourceReader {
 public:
  SourceReader(const Archive& archive, std::string_view model, const Record& record,
               SourceForm form, Diagnostics& warnings)
      : file_(archive.file().get()),
        record_(archive.program_record(model)),
        limits_(record.limits_inside(archive.limits())),
        model_(model),
        is_alone_(archive.models().size() == 1),
        is_document_(archive.era() == Era::document),
        json_(record.text()),
        form_(form),
        warnings_(warnings) {}

  Result<std::vector<ProgramSource>> read() {
    switch (document_kind(json_)) {
      case DocumentKind::container:
      case DocumentKind::methods:
        return read_container();
      case DocumentKind::draft:
        // A draft holds its own tensors and does not refer to an archive, so it is read only as a
        // bare document.
        return is_document_ ? read_early_draft() : read_whole();
      case DocumentKind::program:
      case DocumentKind::unknown:  // decoding reports what is missing
        return read_whole();
    }
    return read_whole();
  }

 private:
  ProgramSource make_source(std::string name, std::string path) const {
    return {.name = std::move(name), .model = std::string(model_), .path = std::move(path)};
  }

  PayloadPaths make_paths(std::string_view path, const NameMap& paths) const {
    return {fmt::format("{}:{}", record_, path),
            std::make_shared<const std::map<std::string, std::string>>(paths.begin(), paths.end())};
  }
  // An ExportedProgram of schema 8.11 has its own paths.
  template <class AnyProgram>
  void add_own_paths(const AnyProgram& program, ProgramSource& source) const {
    source.payload_paths = {make_paths(source.path + ".tensor_paths", program.tensor_paths),
                            make_paths(source.path + ".constant_paths", program.constant_paths)};
  }

  Result<std::vector<ProgramSource>> read_whole() {
    std::vector<ProgramSource> sources{make_source(std::string(model_), "")};
    if (form_ != SourceForm::schema) sources[0].read = read_long();
    if (sources[0].read) {
      add_own_paths(*sources[0].read, sources[0]);
      return sources;
    }
    PT2_TRY(sources[0].program, schema::decode_program(json_, limits_, warnings_));
    add_own_paths(sources[0].program, sources[0]);
    return sources;
  }

  std::optional<Program> read_long() {
    const auto origins = form_ == SourceForm::any_brief ? NodeOrigins::brief : NodeOrigins::whole;
    return read_in_pieces(json_, limits_, warnings_, release_of(file_), origins);
  }

  // A backend's name is the prefix of the name of each of its methods, so a long name would be
  // repeated without bound.
  Result<void> check_backends(const schema::Model& model) const {
    for (const auto& [backend, program] : model.delegates)
      if (backend.size() > limits_.max_name_bytes)
        return Error{ErrorCode::limit,
                     fmt::format("a backend's name has {} bytes, expected at most {} "
                                 "(max_name_bytes)",
                                 backend.size(), limits_.max_name_bytes),
                     ".delegates"};
    return {};
  }

  Result<std::vector<ProgramSource>> read_container() {
    PT2_TRY(schema::Container container, schema::decode_container(json_, limits_, warnings_));
    std::vector<PayloadPaths> shared;
    if (const auto* model = std::get_if<schema::Model>(&container)) {
      PT2_TRY_VOID(check_backends(*model));
      shared = {make_paths(".tensorPaths", model->tensorPaths),
                make_paths(".constantPaths", model->constantPaths)};
    }
    std::vector<ProgramSource> sources;
    for (schema::ContainerMember& member : schema::container_members(container)) {
      ProgramSource source = make_source(std::move(member.name), std::move(member.path));
      // The names start with the record's name, unless it is the archive's only program record. The
      // container's own program gets the record's name itself.
      if (source.path == ".program" && !is_alone_)
        source.name = model_;
      else if (!is_alone_)
        source.name = fmt::format("{}/{}", model_, source.name);
      source.is_main = member.is_main;
      source.program = std::move(*member.program);
      add_own_paths(source.program, source);
      source.payload_paths.insert(source.payload_paths.end(), shared.begin(), shared.end());
      sources.push_back(std::move(source));
    }
    if (sources.empty())
      return Error{ErrorCode::invalid, "found no program in the container, expected one or more",
                   ""};
    return sources;
  }

  Result<std::vector<ProgramSource>> read_early_draft() {
    PT2_TRY(draft::GraphModule module, read_draft(json_, limits_, warnings_));
    std::vector<ProgramSource> sources{make_source(std::string(model_), "")};
    PT2_TRY(sources[0].program, draft_to_schema(module));
    sources[0].draft = std::make_shared<const draft::GraphModule>(std::move(module));
    return sources;
  }

  const MappedFile* file_;
  std::string record_;
  const Limits limits_;
  std::string_view model_;
  bool is_alone_;
  bool is_document_;
  std::string_view json_;
  SourceForm form_;
  Diagnostics& warnings_;
};

}  // namespace

std::string program_place(const Archive& archive, const ProgramSource& source) {
  return fmt::format("{}!{}:{}", archive.name(), archive.program_record(source.model), source.path);
}

Result<std::vector<ProgramSource>> read_sources(const Archive& archive, std::string_view model,
                                                Diagnostics& warnings, SourceForm form) {
  const std::string record_name = archive.program_record(model);
  PT2_TRY(Record record, archive.read(record_name));
  const std::string place = fmt::format("{}!{}:", archive.name(), record_name);
  Diagnostics found;
  auto sources = SourceReader(archive, model, record, form, found).read();
  for (const Diagnostic& diagnostic : found.all())
    warnings.add(diagnostic.rule, place + diagnostic.where, diagnostic.text);
  if (!sources) return at(std::move(sources).error(), place);
  return sources;
}

std::optional<ProgramPieces> open_pieces(const Package& package, const std::string& model,
                                         size_t piece_bytes) {
  const Archive& archive = package.archive();
  if (package.is_member(model) || package.draft(model) != nullptr) return std::nullopt;
  auto record = archive.read(archive.program_record(model));
  if (!record) return std::nullopt;
  ProgramPieces out{.record = *std::move(record), .reader = nullptr};
  out.reader =
      schema::PieceReader::open(out.record.text(), out.record.limits_inside(archive.limits()),
                                piece_bytes, release_of(archive.file().get()));
  if (out.reader == nullptr) return std::nullopt;
  return out;
}

void check_names(const Archive& archive, std::span<const ProgramSource> sources,
                 Diagnostics& findings) {
  std::set<std::string_view> names;
  for (const ProgramSource& source : sources)
    if (!names.insert(source.name).second)
      findings.add(Rule::program_name, program_place(archive, source),
                   fmt::format("a program before it is called '{}' too", source.name));
}

Result<Program> read_program(const Archive& archive, ProgramSource& source, Diagnostics& warnings,
                             Diagnostics& faults) {
  Diagnostics found;
  auto program = source.read ? Result<Program>(*std::exchange(source.read, std::nullopt))
                             : from_schema(std::move(source.program), found);
  const std::string place = program_place(archive, source);
  for (const Diagnostic& fault : found.all())
    faults.add(fault.rule, Error{fault.code, fault.text, place + fault.where});
  if (!program) return at(std::move(program).error(), place);
  check_dialect(archive, source, *program, warnings);
  return program;
}

}  // namespace pt2
