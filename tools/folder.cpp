#include "tools/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/printable.h"
#include "decode/encoder.h"
#include "decode/exported_folder.h"
#include "decode/roles.h"
#include "decode/shared_weights.h"
#include "package/held_tensors.h"
#include "pt2/tools/stats.h"
#include "run/calling_convention.h"
#include "tools/json_members.h"
#include "tools/table.h"

namespace pt2::tools {
namespace {

struct ProgramSummary {
  std::string name;
  std::string file;
  uint64_t file_bytes = 0;
  std::vector<ModelValue> inputs;
  std::vector<ModelValue> outputs;
  // The roles of a language model, or the reason why it is not one.
  std::optional<decode::ProgramRoles> roles;
  std::string no_roles;
  size_t weights = 0;
  uint64_t weight_bytes = 0;
  // Weights that are already in memory for earlier programs.
  size_t shared = 0;
  uint64_t shared_bytes = 0;
};

struct FolderSummary {
  std::string path;
  decode::ExportedFolder folder;
  std::vector<ProgramSummary> programs;
};

void count_weights(const Payloads& payloads, decode::SharedWeights& weights, ProgramSummary& out) {
  const uint64_t before = weights.shared_bytes();
  for (const PayloadTensor& each : payloads.tensors()) {
    ++out.weights;
    out.weight_bytes += held_bytes(each);
    if (weights.find(each).defined()) ++out.shared;
  }
  out.shared_bytes = weights.shared_bytes() - before;
}

Result<FolderSummary> summarise(const Source& source, Environment& environment) {
  FolderSummary out{.path = source.file};
  PT2_TRY(out.folder, decode::read_exported_folder(source.file));
  decode::SharedWeights weights;
  for (const decode::FolderProgram& program : out.folder.programs) {
    Source file = source;
    file.file = program.path;
    PT2_TRY(const Package package, open_package(file, environment));
    print_foreign_code(environment, package);
    PT2_TRY(const Program* opened, package.program());
    run::CallingConvention convention(*opened);
    Result<decode::ProgramRoles> roles = decode::find_roles(convention);
    ProgramSummary summary{.name = program.name,
                           .file = program.path.substr(program.path.find_last_of("/\\") + 1),
                           .file_bytes = package.archive().zip().bytes().size(),
                           .inputs = std::move(convention.inputs),
                           .outputs = std::move(convention.outputs)};
    if (program.name == decode::kEncoder)
      summary.no_roles = "it runs once, before all tokens";
    else if (roles)
      summary.roles = *std::move(roles);
    else
      summary.no_roles = roles.error().text();
    PT2_TRY(auto payloads, package.payloads());
    count_weights(*payloads, weights, summary);
    weights.add(std::move(payloads));
    out.programs.push_back(std::move(summary));
  }
  return out;
}

// Adds lines to a table. Adjacent cache entries with the same type take one line.
void add_values(TextTable& table, std::string_view kind, const std::vector<ModelValue>& values,
                const std::vector<decode::Role>& roles) {
  for (size_t i = 0; i < values.size();) {
    const decode::Role role = i < roles.size() ? roles[i] : decode::Role::other;
    size_t end = i + 1;
    if (role == decode::Role::cache)
      while (end < values.size() && roles[end] == role && values[end].type == values[i].type) ++end;
    std::string name = printable(values[i].name);
    if (end > i + 1) name += fmt::format(" and {} more", end - i - 1);
    table.add({std::string(kind), std::move(name), printable(values[i].type),
               std::string(decode::role_name(role))});
    i = end;
  }
}

std::string cache_text(const ProgramSummary& program) {
  if (!program.roles || program.roles->cache.empty()) return "";
  const auto& cache = program.roles->cache;
  const auto grows = [](const decode::CacheEntry& each) { return each.growing.has_value(); };
  const auto growing = std::ranges::count_if(cache, grows);
  if (growing == 0)
    return fmt::format("{} of fixed sizes, from each step to the next", cache.size());
  const size_t dim = *std::ranges::find_if(cache, grows)->growing;
  return fmt::format("{}, of which {} grow with each token (dimension {})", cache.size(), growing,
                     dim);
}

std::string sampling_text(const Sampling& sampling) {
  if (sampling.temperature == 0) return "the most likely token";
  std::string out = fmt::format("drawn, temperature {}", sampling.temperature);
  if (sampling.top_k > 0) out += fmt::format(", top_k {}", sampling.top_k);
  if (sampling.top_p < 1) out += fmt::format(", top_p {}", sampling.top_p);
  return out;
}

std::string summary_text(const FolderSummary& summary, const Environment& environment) {
  const decode::ExportedFolder& folder = summary.folder;
  std::string out;
  for (const ProgramSummary& program : summary.programs) {
    out += coloured(environment, Colour::bold, printable(program.name)) + "\n";
    TextTable values({{""}, {""}, {""}, {""}}, "  ");
    add_values(values, "in", program.inputs,
               program.roles ? program.roles->inputs : std::vector<decode::Role>());
    add_values(values, "out", program.outputs,
               program.roles ? program.roles->outputs : std::vector<decode::Role>());
    out += values.text();
    TextTable about({{""}, {""}}, "  ");
    about.add(
        {"file", fmt::format("{} ({})", printable(program.file), bytes_text(program.file_bytes))});
    std::string weights = fmt::format("{} ({})", program.weights, bytes_text(program.weight_bytes));
    if (program.shared > 0)
      weights += fmt::format(", {} equal to earlier ones and in memory once ({})", program.shared,
                             bytes_text(program.shared_bytes));
    about.add({"weights", std::move(weights)});
    if (const std::string cache = cache_text(program); !cache.empty()) about.add({"cache", cache});
    if (!program.roles) about.add({"generate", "not by itself: " + printable(program.no_roles)});
    out += about.text();
  }
  out += coloured(environment, Colour::bold, "about") + "\n";
  TextTable about({{""}, {""}}, "  ");
  about.add({"folder", printable(summary.path)});
  about.add({"format", folder.format.empty() ? "no export.json: each .pt2 file is a program"
                                             : "Transformers, " + printable(folder.format)});
  const std::string& architecture = folder.programs.front().architecture;
  if (!architecture.empty()) about.add({"architecture", printable(architecture)});
  if (folder.model_type) about.add({"model type", printable(*folder.model_type)});
  about.add({"next token", sampling_text(folder.settings.sampling)});
  if (folder.settings.max_new_tokens)
    about.add({"at most", fmt::format("{} new tokens", *folder.settings.max_new_tokens)});
  else if (folder.settings.max_length)
    about.add({"at most", fmt::format("{} tokens with the prompt", *folder.settings.max_length)});
  if (!folder.settings.stop_ids.empty())
    about.add({"stops at", fmt::format("token {}", fmt::join(folder.settings.stop_ids, ", "))});
  if (!folder.settings.ignored.empty())
    about.add({"ignored", printable(fmt::format("{}", fmt::join(folder.settings.ignored, ", ")))});
  return out + about.text();
}

void write_count(JsonWriter& json, std::string_view key, const std::optional<int64_t>& count) {
  json.key(key);
  if (count)
    json.integer(*count);
  else
    json.null();
}

void write_values(JsonWriter& json, std::string_view key, const std::vector<ModelValue>& values,
                  const std::vector<decode::Role>& roles) {
  size_t index = 0;
  write_objects(json, key, values, [&](const ModelValue& value) {
    write_text(json, "name", value.name);
    write_text(json, "type", value.type);
    if (index < roles.size()) write_text(json, "role", decode::role_name(roles[index]));
    ++index;
  });
}

std::string summary_json(const FolderSummary& summary) {
  const decode::ExportedFolder& folder = summary.folder;
  return json_object([&](JsonWriter& json) {
    write_text(json, "folder", summary.path);
    write_text(json, "format", folder.format);
    write_text(json, "architecture", folder.programs.front().architecture);
    write_text(json, "model_type", folder.model_type.value_or(""));
    write_objects(json, "programs", summary.programs, [&](const ProgramSummary& program) {
      write_text(json, "name", program.name);
      write_text(json, "file", program.file);
      write_integer(json, "bytes", program.file_bytes);
      write_values(json, "inputs", program.inputs,
                   program.roles ? program.roles->inputs : std::vector<decode::Role>());
      write_values(json, "outputs", program.outputs,
                   program.roles ? program.roles->outputs : std::vector<decode::Role>());
      write_flag(json, "generates", program.roles.has_value());
      write_integer(json, "weights", program.weights);
      write_integer(json, "weight_bytes", program.weight_bytes);
      write_integer(json, "shared_weights", program.shared);
      write_integer(json, "shared_weight_bytes", program.shared_bytes);
    });
    json.key("generation");
    json.begin_object();
    json.key("temperature");
    json.number(folder.settings.sampling.temperature);
    write_integer(json, "top_k", static_cast<uint64_t>(folder.settings.sampling.top_k));
    json.key("top_p");
    json.number(folder.settings.sampling.top_p);
    write_count(json, "max_new_tokens", folder.settings.max_new_tokens);
    write_count(json, "max_length", folder.settings.max_length);
    write_integers(json, "stop_ids", folder.settings.stop_ids);
    write_texts(json, "not_followed", folder.settings.ignored);
    json.end_object();
  });
}

}  // namespace

Result<std::string> program_in_folder(const Source& source) {
  PT2_TRY(const decode::ExportedFolder folder, decode::read_exported_folder(source.file));
  std::string names;
  for (const decode::FolderProgram& program : folder.programs) {
    if (program.name == source.model) return program.path;
    names += (names.empty() ? "" : ", ") + program.name;
  }
  return Error{
      ErrorCode::argument,
      (source.model.empty() ? "name a program of the folder with --model"
                            : "the folder has no program '" + source.model + "'; expected one of") +
          ": " + names,
      source.file};
}

Result<int> show_folder(const Source& source, bool json, Environment& environment) {
  PT2_TRY(const FolderSummary summary, summarise(source, environment));
  print(environment.out, json ? summary_json(summary) : summary_text(summary, environment));
  return kOk;
}

}  // namespace pt2::tools
