#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "archive/zip_format.h"
#include "base/printable.h"
#include "base/text.h"
#include "decode/exported_folder.h"
#include "pt2/tools/weights.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

struct PackOptions {
  std::vector<std::string> files;
  std::string output;
  Limits limits;
};

struct UnpackOptions {
  Source source;
  std::string folder;
};

struct NamedFile {
  std::string name;  // the program's name in the new file
  std::string path;
  bool is_chosen = true;  // the user or the manifest chose the name
};

// Returns the files for "decode=dec.pt2", for "dec.pt2" (a program called "dec"), or for a folder
// of an exporter, whose manifest names its programs.
Result<std::vector<NamedFile>> files_of(const std::string& argument) {
  const size_t sign = argument.find('=');
  std::error_code unknown;
  if (sign != argument.npos && sign + 1 == argument.size())
    return usage_error(fmt::format("found '{}', expected NAME=FILE", printable(argument)));
  if (sign != argument.npos && !std::filesystem::exists(argument, unknown))
    return std::vector{NamedFile{argument.substr(0, sign), argument.substr(sign + 1)}};
  if (!decode::is_folder(argument))
    return std::vector{NamedFile{std::filesystem::path(argument).stem().string(), argument, false}};
  PT2_TRY(const decode::ExportedFolder folder, decode::read_exported_folder(argument));
  std::vector<NamedFile> files;
  for (const decode::FolderProgram& each : folder.programs) files.push_back({each.name, each.path});
  return files;
}

Result<int> pack_files(const PackOptions& options, Environment& environment) {
  struct Packed {
    NamedFile file;
    Package package;
  };
  std::vector<Packed> packages;
  std::vector<std::string> paths;
  uint64_t before = 0;
  for (const std::string& argument : options.files) {
    PT2_TRY(std::vector<NamedFile> files, files_of(argument));
    for (NamedFile& file : files) {
      paths.push_back(file.path);
      PT2_TRY_VOID(check_one_standard_input(paths));
      PT2_TRY(
          Package package,
          open_package({.file = file.path, .model = "", .limits = options.limits}, environment));
      PT2_TRY_VOID(check_can_change(package, file.path));
      before += package.archive().zip().bytes().size();
      packages.push_back({std::move(file), std::move(package)});
    }
  }
  std::vector<PackedProgram> programs;
  for (const auto& [file, package] : packages) {
    const std::span<const std::string> models = package.models();
    if (models.size() == 1) {
      programs.push_back({file.name, &package});
      continue;
    }
    if (file.is_chosen)
      return Error{ErrorCode::argument,
                   fmt::format("found {} programs ({}), expected one for the name '{}'; without "
                               "the name all are taken under their own, and pt2 unpack FILE gives "
                               "each a file",
                               models.size(), fmt::join(models, ", "), file.name),
                   file.path};
    for (const std::string& model : models) programs.push_back({model, &package, model});
  }
  PT2_TRY(const PackageContents contents, pack(programs));
  PT2_TRY(const uint64_t after, save_written(contents, options.output, environment));
  print(is_written_to(options.output, environment.out) ? environment.err : environment.out,
        fmt::format("{}: {}, {}\n", printable(shown_output(options.output)),
                    counted(programs.size(), "program"), changed_bytes_text(before, after)));
  return kOk;
}

// The names come from the file, which is untrusted. Checks all names before any file is written.
Result<void> check_file_names(const std::vector<std::string>& models, const std::string& file) {
  std::set<std::string_view, zip::LessButForCase> known;
  for (const std::string& model : models) {
    if (!is_file_name(model))
      return Error{ErrorCode::invalid,
                   fmt::format("found the program's name '{}', expected one that a file of a "
                               "folder can have on any system; save it under another, or "
                               "unpack others: --model NAME",
                               printable(model)),
                   file};
    if (!known.insert(model).second)
      return Error{ErrorCode::invalid,
                   fmt::format("the program's name '{}' is another's but for the case of letters, "
                               "and systems may take them for one file; unpack one: --model NAME",
                               printable(model)),
                   file};
  }
  return {};
}

Result<int> unpack_file(const UnpackOptions& options, Environment& environment) {
  if (options.folder == "-")
    return usage_error("-o: found '-', expected a folder; pt2 pack writes one program to -o -");
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY_VOID(check_can_change(package, options.source.file));
  std::vector<std::string> models(package.models().begin(), package.models().end());
  if (!options.source.model.empty()) {
    PT2_TRY(std::string model, package.model_name(options.source.model));
    models = {std::move(model)};
  }
  PT2_TRY_VOID(check_file_names(models, options.source.file));
  const auto path_of = [&](const std::string& model) {
    return (std::filesystem::path(options.folder) / (model + ".pt2")).string();
  };
  for (const std::string& model : models)
    PT2_TRY_VOID(check_not_read(path_of(model), {options.source.file}));
  std::error_code failed;
  std::filesystem::create_directory(options.folder, failed);
  if (failed)
    return Error{ErrorCode::io, "cannot make this folder: " + failed.message(), options.folder};
  PT2_TRY(const PackageContents whole, package_contents(package));
  for (const std::string& model : models) {
    PT2_TRY(const PackageContents contents, unpack(whole, model));
    const std::string path = path_of(model);
    PT2_TRY_VOID(save_package(contents, path));
    print(environment.out, fmt::format("{}: {}\n", printable(path), bytes_text(size_of(path))));
  }
  return kOk;
}

}  // namespace

Action setup_pack(CommandLine& line) {
  auto options = std::make_shared<PackOptions>();
  line.add_option("FILE", options->files,
                  "NAME=FILE; FILE, whose program is called after it (several\n"
                  "keep their names); or a folder of Transformers' exporter,\n"
                  "with its programs' names")
      .required();
  add_written_option(line, options->output, "the .pt2 file to write; - is standard output")
      .required();
  add_limit_option(line, options->limits);
  return [options](Environment& environment) { return pack_files(*options, environment); };
}

Action setup_unpack(CommandLine& line) {
  auto options = std::make_shared<UnpackOptions>();
  add_source(line, options->source);
  line.add_option("-o,--output", options->folder,
                  "the folder to write NAME.pt2 into; made if it is missing,\nbut not those that "
                  "it lies in")
      .type_name("FOLDER")
      .required();
  add_model_option(line, options->source);
  return [options](Environment& environment) { return unpack_file(*options, environment); };
}

}  // namespace pt2::tools
