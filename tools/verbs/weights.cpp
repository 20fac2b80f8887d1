#include "pt2/tools/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/printable.h"
#include "base/strided_copy.h"
#include "package/held_tensors.h"
#include "package/read_budget.h"
#include "pt2/tools/stats.h"
#include "tools/json_members.h"
#include "tools/names.h"
#include "tools/table.h"
#include "tools/values/tensors.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

constexpr std::string_view kActions[] = {"ls", "export", "set", "cast", "share"};

struct WeightsArguments {
  std::string action;
  Writing writing;
  // For the action "set": the input file, and how to read it.
  std::string tensors;
  std::string key;
  std::vector<std::string> prefixes;
  std::optional<std::string> from;
  std::optional<std::string> to;
  bool partial = false;
  bool cast = false;
};

struct Row {
  const PayloadTensor* payload = nullptr;
  std::string use;  // "parameter", "buffer", "constant", "unused"
  std::string alias;
  uint64_t bytes = 0;
  uint64_t stored = 0;  // bytes of the storages that this row uses first
  uint64_t wasted = 0;  // bytes of these storages without a tensor; all if every row is "unused"
  TensorRange range;
};

std::string_view use_name(InputKind kind) {
  switch (kind) {
    case InputKind::parameter:
      return "parameter";
    case InputKind::buffer:
      return "buffer";
    case InputKind::constant_tensor:
      return "constant";
    case InputKind::user_input:
    case InputKind::custom_obj:
    case InputKind::token:
      return "";
  }
  return "";
}

// A storage: the first row that shows it, its size, and the parts of it that tensors cover.
struct Shown {
  size_t row = 0;
  uint64_t size = 0;
  bool is_used = false;  // by any row
  uint64_t bytes = 0;    // of all tensors together
  std::vector<std::pair<uint64_t, uint64_t>> spans{};

  void add(const Tensor& tensor) {
    bytes += static_cast<uint64_t>(tensor.nbytes());
    if (tensor.numel() == 0) return;
    const int64_t begin = tensor.storage_offset(), width = dtype_size(tensor.dtype());
    const int64_t end = begin + *extent(tensor.sizes(), tensor.strides());
    spans.emplace_back(begin * width, end * width);
  }

  // Tensors may overlap, and strides may leave gaps in a span; the smaller sum is closer.
  uint64_t wasted() {
    if (!is_used) return size;
    std::ranges::sort(spans);
    uint64_t covered = 0, reached = 0;
    for (const auto& [begin, end] : spans) {
      covered += std::max(end, reached) - std::max(begin, reached);
      reached = std::max(end, reached);
    }
    return size - std::min({size, covered, bytes});
  }
};

std::vector<Row> list_rows(const Program& program, const Payloads& payloads) {
  std::map<const PayloadTensor*, std::string_view> uses;
  for (const InputSpec& spec : program.signature.input_specs)
    if (const PayloadTensor* payload = payloads.bound_to(spec))
      uses.emplace(payload, use_name(spec.kind));
  std::map<const void*, Shown> storages;
  ReadBudget budget(payloads);
  std::vector<Row> rows;
  for (const PayloadTensor& payload : payloads.tensors()) {
    Row row{.payload = &payload, .bytes = held_bytes(payload)};
    const auto use = uses.find(&payload);
    row.use = use == uses.end() ? "unused" : use->second;
    for (const Tensor& tensor : held_tensors(payload)) {
      const uint64_t size = tensor.storage()->size();
      const auto [found, is_new] =
          storages.try_emplace(tensor.storage().get(), Shown{rows.size(), size});
      found->second.add(tensor);
      found->second.is_used |= use != uses.end();
      if (is_new)
        row.stored += size;
      else if (found->second.row != rows.size())
        row.alias = payloads.tensors()[found->second.row].name;
    }
    if (payload.missing.empty() && budget.take(payload.tensor))
      row.range = tensor_range(payload.tensor);
    rows.push_back(std::move(row));
  }
  for (auto& [storage, shown] : storages) rows[shown.row].wasted += shown.wasted();
  return rows;
}

// Returns "torchao.quantization.Int8Tensor: qdata i8[64, 32], scale f32[64, 1]".
std::string missing_text(const PayloadTensor& payload) {
  std::string out = payload.class_name.empty() ? payload.missing : payload.class_name;
  for (size_t i = 0; i < payload.parts.size(); ++i)
    out += fmt::format("{}{}{}", i == 0 ? ": " : ", ",
                       i < payload.part_names.size() ? payload.part_names[i] + " " : "",
                       payload.parts[i].type_text());
  return printable(out);
}

std::string rows_text(const std::vector<Row>& rows) {
  TextTable table({{"NAME"},
                   {"TYPE"},
                   {"USE"},
                   {"BYTES", Align::right},
                   {"MIN", Align::right},
                   {"MAX", Align::right},
                   {"NOTES"}});
  uint64_t total = 0, wasted = 0;
  for (const Row& row : rows) {
    const PayloadTensor& payload = *row.payload;
    const bool is_missing = !payload.missing.empty();
    std::string notes = is_missing ? missing_text(payload) : "";
    const auto note = [&](std::string text) { notes += (notes.empty() ? "" : "; ") + text; };
    if (!row.alias.empty()) note("shares memory with " + printable(row.alias));
    if (row.range.nans > 0) note(fmt::format("{} NaN", row.range.nans));
    if (row.wasted > 0) note(counted(row.wasted, "unused byte"));
    total += row.stored;
    wasted += row.wasted;
    table.add({printable(payload.name),
               is_missing ? printable(payload.dtype) : payload.tensor.type_text(), row.use,
               is_missing && payload.parts.empty() ? "" : std::to_string(row.bytes),
               row.range.has_numbers() ? fmt::format("{:.4g}", row.range.min) : "",
               row.range.has_numbers() ? fmt::format("{:.4g}", row.range.max) : "", notes});
  }
  return table.text() + fmt::format("{}, {} ({} unused)\n", counted(rows.size(), "tensor"),
                                    bytes_text(total), bytes_text(wasted));
}

std::string rows_json(const std::string& file, const std::vector<Row>& rows) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", file);
    write_objects(json, "weights", rows, [&](const Row& row) {
      const PayloadTensor& payload = *row.payload;
      write_text(json, "name", payload.name);
      write_text(json, "use", row.use);
      write_text(json, "missing", payload.missing);
      if (!payload.missing.empty()) {
        if (!payload.parts.empty()) write_integer(json, "bytes", row.bytes);
        return;
      }
      write_text(json, "dtype", dtype_name(payload.tensor.dtype()));
      write_integers(json, "sizes", payload.tensor.sizes());
      write_integer(json, "bytes", row.bytes);
      write_text(json, "shares_memory_with", row.alias);
      write_integer(json, "unused_bytes", row.wasted);
      write_integer(json, "nans", static_cast<uint64_t>(row.range.nans));
      if (!row.range.has_numbers()) return;
      write_number(json, "min", row.range.min);
      write_number(json, "max", row.range.max);
    });
  });
}

Result<int> list(const WeightsArguments& options, const Package& package,
                 Environment& environment) {
  PT2_TRY(const Program* program, package.program(options.writing.source.model));
  PT2_TRY(const auto payloads, package.payloads(options.writing.source.model));
  const std::vector<Row> rows = list_rows(*program, *payloads);
  print(environment.out,
        options.writing.json ? rows_json(options.writing.source.file, rows) : rows_text(rows));
  return kOk;
}

// Warns of tensors that consist of more than elements, such as sparse tensors: no tensor file can
// hold them. Returns their names.
Result<std::vector<std::string>> tell_left_out(const Package& package, const std::string& model,
                                               const NamedTensors& written,
                                               Environment& environment) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : written) names.insert(name);
  PT2_TRY(const auto payloads, package.payloads(model));
  std::vector<std::string> out;
  for (const PayloadTensor& payload : payloads->tensors())
    if (!names.contains(payload.name)) {
      out.push_back(payload.name);
      print_warning(environment,
                    fmt::format("{} is left out: {}", printable(payload.name),
                                payload.missing.empty() ? "it has no elements in the file"
                                                        : printable(payload.missing)));
    }
  return out;
}

Result<int> export_weights(const WeightsArguments& options, const Package& package,
                           const PackageContents& contents, const std::string& model,
                           Environment& environment) {
  if (options.writing.output.empty())
    return Error{ErrorCode::argument,
                 "-o FILE is missing: the .safetensors, .npz or .npy file to write", ""};
  PT2_TRY_VOID(check_tensor_file("-o", options.writing.output));
  PT2_TRY(const NamedTensors tensors, weights_of(contents, model));
  PT2_TRY_VOID(check_not_read(options.writing.output, {options.writing.source.file}));
  PT2_TRY_VOID(write_tensor_file(options.writing.output, tensors));
  PT2_TRY(const std::vector<std::string> left_out,
          tell_left_out(package, model, tensors, environment));
  uint64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<uint64_t>(tensor.nbytes());
  if (options.writing.json)
    print(environment.out, json_object([&](JsonWriter& json) {
            write_text(json, "file", options.writing.output);
            write_integer(json, "tensors", tensors.size());
            write_integer(json, "bytes", bytes);
            write_texts(json, "left_out", left_out);
          }));
  else
    print(environment.out, fmt::format("{}: {}, {}\n", printable(options.writing.output),
                                       counted(tensors.size(), "tensor"), bytes_text(bytes)));
  return kOk;
}

Result<CastOptions> cast_options(const WeightsArguments& options) {
  CastOptions cast;
  for (const auto& [text, dtype] : {std::pair(options.from.value_or("float32"), &cast.from),
                                    {options.to.value_or("bfloat16"), &cast.to}}) {
    const auto found = find_dtype(text);
    if (!found)
      return Error{
          ErrorCode::argument,
          fmt::format("there is no dtype '{}'; expected a name such as float32, float16 or "
                      "bfloat16",
                      printable(text)),
          ""};
    *dtype = *found;
  }
  if (cast.from == cast.to)
    return usage_error(
        fmt::format("cast: found {} twice, expected two dtypes: --from DTYPE and "
                    "--to DTYPE",
                    dtype_name(cast.from)));
  return cast;
}

// Puts NEW in the place of OLD at the beginning of names, as "OLD=NEW" says.
Result<void> replace_prefix(const std::string& text, NamedTensors& tensors) {
  const size_t sign = text.find('=');
  if (sign == text.npos)
    return usage_error(
        fmt::format("--prefix: found '{}', expected OLD=NEW, such as module.=", printable(text)));
  const std::string old_prefix = text.substr(0, sign), new_prefix = text.substr(sign + 1);
  bool is_used = false;
  for (auto& [name, tensor] : tensors) {
    if (!name.starts_with(old_prefix)) continue;
    name.replace(0, old_prefix.size(), new_prefix);
    is_used = true;
  }
  if (is_used) return {};
  return usage_error(
      fmt::format("--prefix: no name in TENSORS begins with '{}'", printable(old_prefix)));
}

Result<ChangeLines> apply(const WeightsArguments& options, PackageContents& contents,
                          const std::string& model) {
  if (options.action == "share") return share_weights(contents);
  if (options.action == "cast") {
    PT2_TRY(const CastOptions cast, cast_options(options));
    return cast_weights(contents, model, cast);
  }
  if (options.tensors.empty())
    return Error{ErrorCode::argument, "TENSORS is missing: pt2 weights set FILE TENSORS -o NEW",
                 ""};
  PT2_TRY_VOID(check_not_read(options.writing.output, {options.tensors}));
  PT2_TRY(NamedTensors tensors, read_tensor_file(input_path(options.tensors),
                                                 options.writing.source.limits, options.key));
  for (const auto& [name, tensor] : tensors)
    if (name.empty())
      return Error{ErrorCode::argument,
                   "found a tensor without a name, as in every .npy file; expected an .npz or "
                   ".safetensors file with the names that 'pt2 weights ls' lists",
                   options.tensors};
  for (const std::string& prefix : options.prefixes) PT2_TRY_VOID(replace_prefix(prefix, tensors));
  return set_weights(contents, model, tensors, {.partial = options.partial, .cast = options.cast});
}

// Checks a single argument, which is the file to list. If no such file exists, an action may be
// meant.
Result<void> check_listed(const std::string& word) {
  std::error_code unknown;
  if (word == "-" || std::filesystem::exists(word, unknown)) return {};
  const auto whole = [](std::string_view action) { return action; };
  const std::string near = nearest_name(word, kActions, whole);
  if (!near.empty())
    return usage_error(fmt::format("there is no file and no action '{}'{} The actions are {}",
                                   printable(word), did_you_mean(near), fmt::join(kActions, ", ")));
  return Error{ErrorCode::io,
               fmt::format("there is no such file, and no action of this name: {}",
                           fmt::join(kActions, ", ")),
               word};
}

Result<void> check_action(const WeightsArguments& options) {
  const auto is_action = [](const std::string& word) {
    return std::ranges::find(kActions, word) != std::end(kActions);
  };
  if (is_action(options.action)) return {};
  const std::string& second = options.writing.source.file;
  return Error{ErrorCode::argument,
               is_action(second)
                   ? fmt::format("the action comes first: pt2 weights {} {}", second,
                                 printable(options.action))
                   : fmt::format("there is no action '{}'; expected one of {}",
                                 printable(options.action), fmt::join(kActions, ", ")),
               ""};
}

Result<void> check_options(const WeightsArguments& options) {
  return check_options_of(
      options.action,
      {{!options.writing.output.empty(), "-o", {"export", "set", "cast", "share"}},
       {options.writing.check, "--check", {"set", "cast", "share"}},
       {!options.tensors.empty(), "TENSORS", {"set"}},
       {!options.writing.source.model.empty(), "--model", {"ls", "export", "set", "cast"}},
       {options.partial, "--partial", {"set"}},
       {options.cast, "--cast", {"set"}},
       {!options.key.empty(), "--key", {"set"}},
       {!options.prefixes.empty(), "--prefix", {"set"}},
       {options.from.has_value(), "--from", {"cast"}},
       {options.to.has_value(), "--to", {"cast"}}});
}

Result<int> weights(WeightsArguments options, Environment& environment) {
  // A file without an action is listed.
  if (options.writing.source.file.empty() && !check_action(options)) {
    PT2_TRY_VOID(check_listed(options.action));
    options.writing.source.file = std::exchange(options.action, "ls");
  }
  PT2_TRY_VOID(check_action(options));
  if (options.writing.source.file.empty())
    return Error{ErrorCode::argument,
                 fmt::format("FILE is missing: pt2 weights {} FILE", options.action), ""};
  PT2_TRY_VOID(check_options(options));
  const Writing& writing = options.writing;
  PT2_TRY_VOID(check_one_standard_input(std::vector{writing.source.file, options.tensors}));
  PT2_TRY(const Package package, open_package(writing.source, environment));
  if (options.action == "ls") return list(options, package, environment);
  print_foreign_code(environment, package);
  if (options.action != "export") PT2_TRY_VOID(check_can_change(package, writing.source.file));
  std::string model;  // empty for "share", which concerns all programs
  if (options.action != "share") {
    PT2_TRY(model, chosen_model(writing.source, package));
  }
  PT2_TRY(PackageContents contents, package_contents(package));
  if (options.action == "export")
    return export_weights(options, package, contents, model, environment);
  PT2_TRY(const ChangeLines lines, apply(options, contents, model));
  return write_changed(writing, package, contents, lines, environment);
}

}  // namespace

Action setup_weights(CommandLine& line) {
  auto options = std::make_shared<WeightsArguments>();
  line.add_option("ACTION", options->action,
                  "ls, or no ACTION: list names, types, ranges;\n"
                  "export: to .safetensors, .npz, .npy; set: take them from such a\n"
                  "file; cast: store them in another dtype; share: store equal ones\n"
                  "once")
      .required();
  add_source(line, options->writing.source, false);
  line.add_option("TENSORS", options->tensors,
                  "for set: the .safetensors or .npz file to take them from, a state\n"
                  "dict or checkpoint of torch.save (.pt, .bin, .ckpt), or a folder of\n"
                  "Hugging Face");
  line.add_flag("--partial", options->partial,
                "for set: weights that TENSORS lacks stay as they are");
  line.add_flag("--cast", options->cast, "for set: convert tensors to the dtypes of the weights");
  line.add_option("--key", options->key,
                  "for set: where a checkpoint has several state dicts, the one to\n"
                  "take: state_dict_ema")
      .type_name("KEY");
  line.add_option("--prefix", options->prefixes,
                  "for set: OLD=NEW: names in TENSORS that begin with OLD begin with\n"
                  "NEW; module.= drops a prefix, =model. adds one")
      .type_name("EDIT")
      .one_at_a_time();
  line.add_option("--from", options->from, "for cast: weights of this dtype; float32 if not given")
      .type_name("DTYPE");
  line.add_option("--to", options->to, "for cast: the dtype to store; bfloat16 if not given")
      .type_name("DTYPE");
  add_model_option(line, options->writing.source);
  add_writing_options(line, options->writing);
  return [options](Environment& environment) { return weights(*options, environment); };
}

}  // namespace pt2::tools
