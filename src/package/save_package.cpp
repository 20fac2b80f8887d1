#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "archive/layout.h"
#include "archive/zip_format.h"
#include "package/payload_writers.h"
#include "pt2/format/schema_json.h"
#include "schema/version.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

// The form of the flat layout that torch.export.save wrote for schema versions from `since` on.
struct FlatForm {
  int since;  // as schema::version_number
  std::string_view suffix;
  bool has_constants;
  bool has_sample_inputs;
  PickleKind state_dict;
  TorchSaveFormat format;
};
// clang-format off
constexpr FlatForm kFlatForms[] = {
    {100, "json", false, false, PickleKind::ordered_dict, TorchSaveFormat::v0},  // 2.1
    {200, "json", true,  false, PickleKind::dict,         TorchSaveFormat::v0},  // 2.2
    {300, "pt",   true,  false, PickleKind::ordered_dict, TorchSaveFormat::v0},  // 2.3
    {503, "pt",   true,  true,  PickleKind::ordered_dict, TorchSaveFormat::v0},  // 2.4
    {700, "pt",   true,  true,  PickleKind::dict,         TorchSaveFormat::v0},  // 2.5, 2.6
    {803, "pt",   true,  true,  PickleKind::dict,         TorchSaveFormat::v1},  // 2.7
};
// clang-format on

const FlatForm& flat_form(int version) {
  const FlatForm* found = kFlatForms;
  for (const FlatForm& form : kFlatForms)
    if (form.since <= version) found = &form;
  return *found;
}

Error argument(std::string message, std::string where = {}) {
  return {ErrorCode::argument, std::move(message), std::move(where)};
}

Error no_place(std::string_view what, Era era) {
  return {ErrorCode::unsupported,
          fmt::format("{} have no place in the layout of {}", what,
                      era == Era::flat ? "2.1 to 2.7" : "2.8"),
          {}};
}

Result<void> check(const PackageContents& contents) {
  if (contents.programs.empty()) return argument("there is no program to save");
  if (contents.era == Era::flat && contents.programs.size() > 1)
    return no_place("several programs", contents.era);
  for (const SavedProgram& program : contents.programs) {
    if (program.name.empty() || program.name.find('/') != program.name.npos)
      return argument("a program's name must be one part of a path", program.name);
    if (contents.era == Era::document)
      return argument("a bare document is JSON; it is not saved as an archive");
    if (contents.era != Era::raw_payloads && program.names_its_payloads)
      return no_place("containers", contents.era);
  }
  return {};
}

Result<void> write_flat(PackageWriter& writer, const PackageContents& contents) {
  const SavedProgram& program = contents.programs.front();
  const int version = schema::version_number(schema::find_schema_version(program.json, true));
  const FlatForm& form = flat_form(version);
  const auto add_tensors = [&](std::string_view name, const SavedTensors& tensors,
                               std::span<const SavedObject> objects,
                               PickleKind dict) -> Result<void> {
    PT2_TRY(const std::vector<Record> parts,
            pickle_payloads(tensors, objects, dict, form.format, contents.origin.get()));
    return writer.add(fmt::format("serialized_{}.{}", name, form.suffix), parts);
  };
  PT2_TRY_VOID(writer.add("serialized_exported_program.json", program.json));
  PT2_TRY_VOID(add_tensors("state_dict", program.state_dict, {}, form.state_dict));
  if (form.has_constants)
    PT2_TRY_VOID(add_tensors("constants", program.constants, program.objects, PickleKind::dict));
  // Readers before 2.4 neither use nor reject sample inputs.
  if (form.has_sample_inputs || !program.sample_inputs.bytes.empty())
    PT2_TRY_VOID(writer.add("serialized_example_inputs.pt", program.sample_inputs));
  PT2_TRY_VOID(writer.add("version", schema::version_text(version)));
  for (const SavedFile& file : contents.extra_files)
    PT2_TRY_VOID(writer.add("extra_files/" + file.name, file.content));
  for (const SavedFile& file : contents.other_records)
    PT2_TRY_VOID(writer.add(file.name, file.content));
  return writer.zip.finish();
}

Result<void> write_pickled(PackageWriter& writer, const SavedProgram& program,
                           const Origin* origin) {
  const auto add_tensors = [&](std::string_view folder, const SavedTensors& tensors,
                               std::span<const SavedObject> objects) -> Result<void> {
    PT2_TRY(const std::vector<Record> parts,
            pickle_payloads(tensors, objects, PickleKind::dict, TorchSaveFormat::v1, origin));
    return writer.add(fmt::format("data/{}/{}.pt", folder, program.name), parts);
  };
  PT2_TRY_VOID(writer.add(fmt::format("models/{}.json", program.name), program.json));
  PT2_TRY_VOID(add_tensors("weights", program.state_dict, {}));
  return add_tensors("constants", program.constants, program.objects);
}

Result<void> write_raw(PackageWriter& writer, const SavedProgram& program) {
  if (program.names_its_payloads)
    return writer.add(fmt::format("models/{}.json", program.name), program.json);
  PT2_TRY_VOID(write_raw_weights(writer, program));
  PT2_TRY_VOID(write_raw_constants(writer, program));
  return writer.add(fmt::format("models/{}.json", program.name), program.json);
}

// package_pt2 writes compiled code before the user's files, and ExecuTorch's files after them. The
// archive's own records (PT2ArchiveWriter.__exit__) and the zip writer's records follow.
Result<void> write_package(PackageWriter& writer, const PackageContents& contents) {
  for (const SavedProgram& program : contents.programs) {
    PT2_TRY_VOID(contents.era == Era::raw_payloads
                     ? write_raw(writer, program)
                     : write_pickled(writer, program, contents.origin.get()));
    if (program.names_its_payloads && program.sample_inputs.bytes.empty()) continue;
    PT2_TRY_VOID(
        writer.add(fmt::format("data/sample_inputs/{}.pt", program.name), program.sample_inputs));
  }
  const auto is_last = [&](const SavedFile& file) {
    return classify_record(contents.era, file.name).role == Role::executorch;
  };
  for (const SavedFile& file : contents.other_records)
    if (!is_last(file)) PT2_TRY_VOID(writer.add(file.name, file.content));
  for (const SavedFile& file : contents.extra_files)
    PT2_TRY_VOID(writer.add("extra/" + file.name, file.content));
  for (const SavedFile& file : contents.other_records)
    if (is_last(file)) PT2_TRY_VOID(writer.add(file.name, file.content));
  PT2_TRY_VOID(writer.add("archive_format", "pt2"));
  PT2_TRY_VOID(writer.add("archive_version", "0"));
  PT2_TRY_VOID(writer.add(".data/version", "6\n"));
  PT2_TRY_VOID(writer.add("byteorder", "little"));
  PT2_TRY_VOID(writer.add(".data/serialization_id", writer.zip.serialization_id()));
  return writer.zip.finish();
}

}  // namespace

std::string program_json(const Program& program) {
  return schema::encode_program(to_schema(program));
}

std::string root_folder(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  if (const size_t dot = name.rfind('.'); dot != name.npos) name = name.substr(0, dot);
  // PyTorch cannot write to a path whose name gives no valid folder. Readers accept any root
  // folder, so the fallback is safe.
  return std::string(!zip::name_fault(name).empty() ? "archive" : name);
}

Result<void> save_package(const PackageContents& contents, Sink& sink, std::string_view root) {
  PT2_TRY_VOID(check(contents));
  const Origin* origin = contents.origin.get();
  if (contents.era == Era::flat) {
    PackageWriter writer{.zip = ZipWriter(sink, ZipStyle::python, origin)};
    return write_flat(writer, contents);
  }
  PackageWriter writer{.zip = ZipWriter(sink, ZipStyle::torch, origin),
                       .prefix = std::string(root) + "/",
                       .shares_storages = contents.shares_storages};
  for (const SavedFile& file : contents.other_records) writer.taken.insert(file.name);
  return write_package(writer, contents);
}

Result<void> save_package(const PackageContents& contents, const std::string& path) {
  PT2_TRY_VOID(check(contents));
  PT2_TRY(const std::unique_ptr<FileSink> sink, FileSink::create(path));
  return save_package(contents, *sink, root_folder(path));
}

}  // namespace pt2
