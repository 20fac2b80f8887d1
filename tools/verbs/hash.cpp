#include "pt2/tools/hash.h"

#include <fmt/format.h>

#include <optional>

#include "base/printable.h"
#include "tools/files.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct HashArguments {
  std::vector<std::string> files;
  Source source;
  bool file = false;
  bool program = false;
  bool weights = false;
  bool json = false;
};

struct Hashes {
  std::string model;
  std::string file, program, weights;  // empty if not requested
};

Result<std::vector<Hashes>> hash_one(const HashArguments& options, const std::string& name) {
  PT2_TRY(const Package package, Package::open(input_path(name), options.source.limits));
  std::vector<std::string> models(package.models().begin(), package.models().end());
  if (!options.source.model.empty()) {
    PT2_TRY(std::string model, package.model_name(options.source.model));
    models = {std::move(model)};
  }
  const bool all = !options.file && !options.program && !options.weights;
  const std::string file = all || options.file ? hash_file(package) : "";
  std::vector<Hashes> out;
  for (const std::string& model : models) {
    Hashes hashes{.model = models.size() > 1 ? model : "", .file = file};
    PT2_TRY(const Program* program, package.program(model));
    if (all || options.program) hashes.program = hash_program(*program);
    if (all || options.weights) {
      PT2_TRY(const std::shared_ptr<const Payloads> payloads, package.payloads(model));
      PT2_TRY(hashes.weights, hash_weights(*program, *payloads));
    }
    out.push_back(std::move(hashes));
  }
  return out;
}

template <class Visit>
void for_each_hash(const Hashes& hashes, Visit&& visit) {
  if (!hashes.file.empty()) visit("file", hashes.file);
  if (!hashes.program.empty()) visit("program", hashes.program);
  if (!hashes.weights.empty()) visit("weights", hashes.weights);
}

void print_hashes(const std::string& file, const Hashes& hashes, Environment& environment) {
  const std::string name = file + (hashes.model.empty() ? "" : ":" + hashes.model);
  for_each_hash(hashes, [&](std::string_view what, const std::string& hash) {
    print(environment.out, fmt::format("{}  {:<7}  {}\n", hash, what, printable(name)));
  });
}

Result<int> hash_files(const HashArguments& options, Environment& environment) {
  PT2_TRY(const std::vector<std::string> files,
          list_files(options.files, kProgramEndings, environment));
  std::vector<std::optional<Result<std::vector<Hashes>>>> results(files.size());
  for_each_file(files.size(), environment,
                [&](size_t i) { results[i] = hash_one(options, files[i]); });
  int code = kOk;
  JsonWriter json;
  json.begin_object();
  json.key("programs");
  json.begin_array();
  for (size_t i = 0; i < files.size(); ++i) {
    if (!*results[i]) {
      print_error(environment, results[i]->error());
      code = std::max(code, exit_code(results[i]->error().code));
      continue;
    }
    for (const Hashes& hashes : **results[i]) {
      if (!options.json) {
        print_hashes(files[i], hashes, environment);
        continue;
      }
      json.begin_object();
      write_text(json, "path", files[i]);
      write_text(json, "model", hashes.model);
      for_each_hash(hashes, [&](std::string_view what, const std::string& hash) {
        write_text(json, what, hash);
      });
      json.end_object();
    }
  }
  json.end_array();
  json.end_object();
  if (options.json) print(environment.out, json.text() + "\n");
  return code;
}

}  // namespace

Action setup_hash(CommandLine& line) {
  auto options = std::make_shared<HashArguments>();
  line.add_option("FILE", options->files, "files and folders; - is standard input").required();
  line.add_flag("--file", options->file, "only the hash of the file's bytes");
  line.add_flag("--program", options->program,
                "only that of what it computes, without names and sources");
  line.add_flag("--weights", options->weights,
                "only that of names and elements of the weights it uses");
  add_model_option(line, options->source);
  add_limit_option(line, options->source.limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return hash_files(*options, environment); };
}

}  // namespace pt2::tools
