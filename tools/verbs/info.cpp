#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "decode/exported_folder.h"
#include "ir/target.h"
#include "lower/written_memory.h"
#include "package/held_tensors.h"
#include "package/payload_readers.h"
#include "pt2/conversion.h"
#include "pt2/ir/type_text.h"
#include "pt2/ops/operators.h"
#include "pt2/tools/stats.h"
#include "run/calling_convention.h"
#include "run/model_shared.h"
#include "tools/folder.h"
#include "tools/json_members.h"
#include "tools/modules.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/values/shapes.h"
#include "tools/values/solved_guards.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

constexpr size_t kShownOperators = 6;
constexpr size_t kShownGuards = 12;

struct InfoArguments {
  Source source;
  bool modules = false;
  bool releases = false;
  bool json = false;
};

struct Summary {
  std::vector<LoadObstacles> readers;
  const Archive* archive = nullptr;
  const Program* program = nullptr;
  std::string model;
  std::span<const std::string> models;
  bool is_draft = false;
  bool is_member = false;  // of a container
  std::vector<ModelValue> inputs;
  std::vector<ModelValue> outputs;
  std::vector<OperatorUse> operators;
  size_t nodes = 0;
  ProgramStats stats;
  size_t custom_objects = 0;
  std::vector<std::string> mutated;
  HeldStats unused;     // unused weights
  std::string refusal;  // why it cannot run here, apart from operators without a kernel
};

struct EraText {
  std::string_view name;
  std::string_view description;
};
EraText era_text(Era era) {
  switch (era) {
    case Era::flat:
      return {"flat", "flat zip, pickled tensors (PyTorch 2.1 to 2.7)"};
    case Era::pickled_payloads:
      return {"pickled_payloads", "package, pickled tensors (PyTorch 2.8)"};
    case Era::document:
      return {"document", "no archive: bare JSON"};
    case Era::raw_payloads:
      return {"raw_payloads", "package, raw tensors (PyTorch 2.9 on)"};
  }
  return {};
}

// Returns the names of written inputs, from the signature and from nodes that write: programs of
// the dialect TRAINING have no mutations in their signature.
std::vector<std::string> written_names(const Program& program) {
  const GraphSignature& signature = program.signature;
  std::vector<std::string> out;
  for (const NameMap& map : {signature.buffers_to_mutate(), signature.parameters_to_mutate(),
                             signature.user_inputs_to_mutate()})
    for (const auto& [value, target] : map) out.push_back(target);
  std::set<std::string> known(out.begin(), out.end());
  const WrittenMemory memory(program.graph, false);
  const std::vector<std::string> names = user_input_names(program);
  const std::span<const Argument> inputs = program.graph.inputs();
  size_t user = 0;
  for (size_t i = 0; i < std::min(inputs.size(), signature.input_specs.size()); ++i) {
    const InputSpec& spec = signature.input_specs[i];
    const bool is_user = spec.kind == InputKind::user_input;
    const size_t place = user;
    user += is_user;
    const auto* id = inputs[i].get_if<ValueId>();
    if (id == nullptr || !memory.may_hold(*id)) continue;
    std::string name = is_user && place < names.size() ? names[place] : spec.target.value_or("");
    if (!name.empty() && known.insert(name).second) out.push_back(std::move(name));
  }
  return out;
}

// Returns all devices except the CPU.
std::vector<std::string> other_devices(const Program& program) {
  std::set<std::string> out;
  for (const ValueId id : program.graph.values())
    if (const TensorMeta* meta = program.graph.value(id).tensor();
        meta && meta->device.type != "cpu")
      out.insert(device_text(meta->device.type, meta->device.index));
  return {out.begin(), out.end()};
}

// Counts payloads that are bound to no graph input, or to an input that no node reads.
HeldStats unused_weights(const Program& program, const Payloads& payloads) {
  std::set<const PayloadTensor*> used;
  const auto& specs = program.signature.input_specs;
  const std::span<const Argument> inputs = program.graph.inputs();
  for (size_t i = 0; i < std::min(inputs.size(), specs.size()); ++i) {
    const auto* id = inputs[i].get_if<ValueId>();
    if (id != nullptr && !program.graph.uses(*id).empty()) used.insert(payloads.bound_to(specs[i]));
  }
  HeldStats out;
  for (const PayloadTensor& each : payloads.tensors()) {
    if (used.contains(&each)) continue;
    ++out.tensors;
    out.bytes += held_bytes(each);
  }
  return out;
}

Result<Summary> summarise(const Source& source, const Package& package) {
  Summary out;
  out.archive = &package.archive();
  out.models = package.models();
  out.is_member = package.is_member(source.model);
  out.is_draft = package.draft(source.model) != nullptr;
  PT2_TRY(out.program, package.program(source.model));
  PT2_TRY(out.model, chosen_model(source, package));
  const Program& program = *out.program;
  run::CallingConvention convention(program);
  out.inputs = std::move(convention.inputs);
  out.outputs = std::move(convention.outputs);
  out.operators = operators_used(program);
  for (const OperatorUse& use : out.operators) out.nodes += use.calls.size();
  const auto payloads = package.payloads(source.model);
  out.stats = stats(program, payloads ? payloads->get() : nullptr);
  out.custom_objects = static_cast<size_t>(
      std::ranges::count(program.signature.input_specs, InputKind::custom_obj, &InputSpec::kind));
  out.mutated = written_names(program);
  if (payloads) out.unused = unused_weights(program, **payloads);
  const Result<void> loads =
      payloads ? run::check_can_load(program, **payloads) : Result<void>(payloads.error());
  if (!loads) out.refusal = loads.error().text();
  if (out.is_member || out.is_draft) return out;  // no release loads these
  PT2_TRY(out.readers, load_obstacles(package));
  return out;
}

// Returns "2.6 to 2.8, 2.15", or "none".
std::string readers_text(const std::vector<LoadObstacles>& readers) {
  std::string out;
  for (size_t i = 0; i < readers.size(); ++i) {
    if (!readers[i].blockers.empty()) continue;
    size_t last = i;
    while (last + 1 < readers.size() && readers[last + 1].blockers.empty()) ++last;
    out += (out.empty() ? "" : ", ") + release_name(*readers[i].release);
    if (last > i) out += " to " + release_name(*readers[last].release);
    i = last;
  }
  return out.empty() ? "none" : out;
}

// Returns one line for each release: yes, or the first obstacle and the number of others.
std::string releases_text(const std::vector<LoadObstacles>& readers) {
  TextTable table({{"torch"}, {"loads it"}}, "  ");
  for (const LoadObstacles& reader : readers) {
    std::string answer = "yes";
    if (!reader.blockers.empty()) {
      answer = "no: " + printable(reader.blockers.front().line());
      if (reader.blockers.size() > 1)
        answer += fmt::format(" (and {} more)", reader.blockers.size() - 1);
    }
    table.add({release_name(*reader.release), std::move(answer)});
  }
  return table.text();
}

std::string version_text(const SchemaVersion& version) {
  // Before 2.3 there were no minor versions.
  return version.minor == 0 && version.major < 5
             ? std::to_string(version.major)
             : fmt::format("{}.{}", version.major, version.minor);
}

std::string named_types_text(const Environment& environment, std::string_view title,
                             const std::vector<ModelValue>& types) {
  TextTable table({{""}, {""}, {""}}, "  ");
  for (const ModelValue& each : types)
    table.add({printable(each.name), printable(each.type), each.is_keyword ? "keyword" : ""});
  if (table.empty()) table.add({"none"});
  return coloured(environment, Colour::bold, title) + "\n" + table.text();
}

// Returns the conditions on inputs that their types do not express; empty if there are none.
std::string guards_text(const Environment& environment, const Program& program) {
  const std::vector<std::string> guards = solved_guards(program);
  std::string out = guards.empty() ? "" : coloured(environment, Colour::bold, "guards") + "\n";
  for (size_t i = 0; i < guards.size() && i < kShownGuards; ++i)
    out += fmt::format("  {}\n", printable(guards[i]));
  if (guards.size() > kShownGuards)
    out += fmt::format("  and {} more: 'pt2 check'\n", guards.size() - kShownGuards);
  return out;
}

std::string list_text(const std::vector<std::string>& names, size_t shown) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < shown; ++i)
    out += (i > 0 ? ", " : "") + printable(names[i]);
  if (names.size() > shown) out += fmt::format(", and {} more", names.size() - shown);
  return out;
}

std::string operators_text(const Summary& summary) {
  std::vector<std::string> shown;
  size_t missing = 0;
  for (const OperatorUse& use : summary.operators) {
    missing += use.has_kernel ? 0 : 1;
    const std::string count =
        use.calls.size() > 1 ? fmt::format(" x{}", use.calls.size()) : std::string();
    shown.push_back(std::string(short_target(use.target)) + count);
  }
  std::string out = std::to_string(summary.operators.size());
  if (!shown.empty()) out += ": " + list_text(shown, kShownOperators);
  if (missing > 0) out += fmt::format(" ({} without a kernel here: 'pt2 ops --missing')", missing);
  return out;
}

bool has_kernels(const Summary& summary) {
  return std::ranges::all_of(summary.operators, &OperatorUse::has_kernel);
}

std::string runs_text(const Summary& summary) {
  if (!has_kernels(summary)) return "no: 'pt2 ops --missing' says why";
  return summary.refusal.empty() ? "yes" : "no: " + printable(summary.refusal, 400);
}

void add_contents(const Summary& summary, TextTable& table) {
  table.add({"runs here", runs_text(summary)});
  table.add({"nodes", std::to_string(summary.nodes)});
  table.add({"operators", operators_text(summary)});
  for (const auto& [name, held] : held_by_name(summary.stats))
    if (held->tensors > 0)
      table.add(
          {std::string(name), fmt::format("{} ({} elements, {})", held->tensors,
                                          count_text(held->elements), bytes_text(held->bytes))});
  if (summary.unused.tensors > 0)
    table.add({"unused", fmt::format("{} ({}): 'pt2 strip' leaves {} out",
                                     counted(summary.unused.tensors, "weight"),
                                     bytes_text(summary.unused.bytes),
                                     summary.unused.tensors == 1 ? "it" : "them")});
  if (const auto devices = other_devices(*summary.program); !devices.empty())
    table.add({"devices", "made for " + list_text(devices, kShownOperators)});
  if (summary.custom_objects > 0)
    table.add({"custom objects", std::to_string(summary.custom_objects)});
  if (!summary.mutated.empty()) table.add({"changes", list_text(summary.mutated, kShownOperators)});
}

std::string summary_text(const Summary& summary, const Environment& environment) {
  const Archive& archive = *summary.archive;
  const Program& program = *summary.program;
  TextTable about({{""}, {""}}, "  ");
  about.add({"file", fmt::format("{} ({})", printable(shown_place(archive.name())),
                                 bytes_text(archive.zip().bytes().size()))});
  if (!program.torch_version.empty()) about.add({"torch", printable(program.torch_version)});
  about.add({"schema", version_text(program.schema_version)});
  about.add({"archive", summary.is_member ? "a container of programs (schema 8.6 to 8.11)"
                                          : std::string(era_text(archive.era()).description)});
  if (!summary.readers.empty()) about.add({"loads in", "PyTorch " + readers_text(summary.readers)});
  about.add({"dialect", printable(program.dialect())});
  if (summary.is_draft)
    about.add({"draft", "the early draft of the schema; what follows is its form in the newest"});
  if (summary.models.size() > 1) {
    const std::vector<std::string> models(summary.models.begin(), summary.models.end());
    about.add({"program", fmt::format("{} of {}: {}", printable(summary.model), models.size(),
                                      list_text(models, kShownOperators))});
  }
  add_contents(summary, about);
  for (const Archive::ExtraFile& extra : archive.extra_files())
    about.add({"extra file",
               fmt::format("{} ({})", printable(extra.name), bytes_text(extra.entry->size))});
  return named_types_text(environment, "inputs", summary.inputs) +
         named_types_text(environment, "outputs", summary.outputs) +
         guards_text(environment, program) + coloured(environment, Colour::bold, "about") + "\n" +
         about.text();
}

void write_types(JsonWriter& json, std::string_view key, const std::vector<ModelValue>& types) {
  write_objects(json, key, types, [&](const ModelValue& each) {
    write_text(json, "name", each.name);
    write_text(json, "type", each.type);
    write_flag(json, "keyword", each.is_keyword);
    if (each.tensor == nullptr) return;
    const auto dtype = each.tensor->dtype.dtype();
    write_text(json, "dtype",
               dtype ? std::string(dtype_name(*dtype)) : dtype_text(each.tensor->dtype));
    json.key("sizes");
    json.begin_array();
    for (const SymInt& size : each.tensor->sizes) {
      if (size.is_symbolic())
        json.string(pt2::print(size));
      else
        json.integer(size.literal());
    }
    json.end_array();
  });
}

void write_ranges(JsonWriter& json, const Program& program) {
  json.key("ranges");
  json.begin_object();
  for (const RangeConstraint& constraint : program.range_constraints) {
    if (constraint.key == nullptr) continue;
    json.key(print_expr(constraint.key->expr));
    json.begin_array();
    for (const auto& bound : {constraint.range.min, constraint.range.max}) {
      if (bound)
        json.integer(*bound);
      else
        json.null();
    }
    json.end_array();
  }
  json.end_object();
}

void write_contents(JsonWriter& json, const Summary& summary) {
  write_flag(json, "runs_here", has_kernels(summary) && summary.refusal.empty());
  if (!summary.refusal.empty()) write_text(json, "refusal", summary.refusal);
  write_integer(json, "nodes", summary.nodes);
  write_objects(json, "operators", summary.operators, [&](const OperatorUse& use) {
    write_text(json, "target", use.target);
    write_integer(json, "calls", use.calls.size());
    write_flag(json, "has_kernel", use.has_kernel);
  });
  write_held(json, summary.stats);
  write_integer(json, "custom_objects", summary.custom_objects);
  write_integer(json, "unused_weights", summary.unused.tensors);
  write_texts(json, "devices", other_devices(*summary.program));
  write_texts(json, "changes", summary.mutated);
}

std::string summary_json(const Summary& summary) {
  const Archive& archive = *summary.archive;
  const Program& program = *summary.program;
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", archive.name());
    write_integer(json, "bytes", archive.zip().bytes().size());
    write_text(json, "torch_version", program.torch_version);
    write_text(json, "schema_version", version_text(program.schema_version));
    write_text(json, "archive", era_text(archive.era()).name);
    write_objects(json, "releases", summary.readers, [&](const LoadObstacles& reader) {
      write_text(json, "release", release_name(*reader.release));
      std::vector<std::string> obstacles;
      for (const Blocker& blocker : reader.blockers) obstacles.push_back(blocker.line());
      write_texts(json, "obstacles", obstacles);
    });
    write_text(json, "dialect", program.dialect());
    write_text(json, "model", summary.model);
    write_texts(json, "models", summary.models);
    write_types(json, "inputs", summary.inputs);
    write_types(json, "outputs", summary.outputs);
    write_ranges(json, program);
    write_texts(json, "guards", guard_texts(program));
    write_contents(json, summary);
    write_objects(json, "extra_files", archive.extra_files(), [&](const auto& extra) {
      write_text(json, "name", extra.name);
      write_integer(json, "bytes", extra.entry->size);
    });
  });
}

Result<int> show_modules(const InfoArguments& options, const Package& package,
                         Environment& environment) {
  PT2_TRY(const Program* program, package.program(options.source.model));
  PT2_TRY(const std::string model, chosen_model(options.source, package));
  const auto write = [&](JsonWriter& json) {
    write_text(json, "file", package.archive().name());
    write_text(json, "model", model);
    write_modules(json, *program);
  };
  print(environment.out,
        options.json ? json_object(write) : modules_text(*program, stats(*program)));
  return kOk;
}

Result<int> show(const InfoArguments& options, Environment& environment) {
  if (decode::is_folder(options.source.file)) {
    const bool whole = options.source.model.empty() && !options.modules && !options.releases;
    if (whole) return show_folder(options.source, options.json, environment);
    InfoArguments program = options;
    PT2_TRY(program.source.file, program_in_folder(options.source));
    program.source.model.clear();
    return show(program, environment);
  }
  PT2_TRY(const Package package, open_package(options.source, environment));
  print_foreign_code(environment, package);
  if (options.modules) return show_modules(options, package, environment);
  PT2_TRY(const Summary summary, summarise(options.source, package));
  if (options.releases && !options.json) {
    print(environment.out, releases_text(summary.readers));
    return kOk;
  }
  print(environment.out, options.json ? summary_json(summary) : summary_text(summary, environment));
  return kOk;
}

}  // namespace

Action setup_info(CommandLine& line) {
  auto options = std::make_shared<InfoArguments>();
  add_source(line, options->source);
  const Option modules = line.add_flag(
      "--modules", options->modules, "the modules it was made of: class, calls, nodes, parameters");
  line.add_flag("--releases", options->releases,
                "which releases of PyTorch can load it, and why the others cannot")
      .excludes(modules);
  add_model_option(line, options->source);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return show(*options, environment); };
}

}  // namespace pt2::tools
