// Rewrites of what surrounds the graph: inputs and their payloads, tree specs, dialect, versions.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/hash/text_hash.h"
#include "base/json.h"
#include "base/text.h"
#include "convert/converter.h"
#include "convert/operator_blockers.h"
#include "package/payload_readers.h"
#include "pt2/format/pickle_write.h"
#include "pt2/ir/edit.h"
#include "pt2/ir/pytree.h"

namespace pt2 {
namespace {

Result<std::string> torch_save_of(const PayloadTensor& payload) {
  PickleBuilder builder;
  const PickleValue root = builder.tensor({.tensor = payload.tensor,
                                           .device = payload.device,
                                           .is_parameter = payload.is_parameter,
                                           .requires_grad = payload.requires_grad});
  StringSink sink;
  PT2_TRY_VOID(write_torch_save(builder.finish(root), sink, TorchSaveFormat::v0));
  return sink.take();
}

// Adds a blocker if the payload of a constant is not a plain tensor. True if it is.
bool is_plain(Converter& converter, const PayloadTensor* payload, const std::string& name) {
  const bool plain = payload != nullptr && payload->missing.empty();
  if (!plain)
    converter.block({.kind = BlockerKind::tensor_form,
                     .text = "the constant is not a plain tensor",
                     .where = name});
  return plain;
}

// Moves the inputs (and their specs) for which `wanted` holds before all others.
template <class Wanted>
void partition_inputs(Program& program, Wanted wanted) {
  std::vector<InputSpec>& specs = program.signature.input_specs;
  const std::span<const Argument> inputs = program.graph.inputs();
  if (inputs.size() != specs.size()) return;
  std::vector<InputSpec> new_specs;
  std::vector<Argument> new_inputs;
  for (const bool at_front : {true, false}) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (wanted(specs[i]) != at_front) continue;
      new_specs.push_back(specs[i]);
      new_inputs.push_back(inputs[i]);
    }
  }
  specs = std::move(new_specs);
  program.graph.set_inputs(std::move(new_inputs));
}

bool is_constant(const InputSpec& spec) { return spec.kind == InputKind::constant_tensor; }
bool is_for_user(const InputSpec& spec) { return spec.kind == InputKind::user_input; }

// Turns embedded constants into inputs with payloads, the form of torch/_export since 2.2.
Result<void> unpack_constants(Converter& converter) {
  Program& program = converter.program;
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, converter.payloads());
  for (const EmbeddedConstant& constant : program.embedded_constants) {
    const PayloadTensor* payload = payloads->find(PayloadKind::constant, constant.name);
    if (!is_plain(converter, payload, constant.name)) continue;
    converter.added_constants.push_back({.name = constant.name,
                                         .tensor = payload->tensor,
                                         .is_parameter = payload->is_parameter,
                                         .requires_grad = payload->requires_grad,
                                         .device = payload->device});
    converter.changed = true;
  }
  record_embedded_constants(program, *payloads);
  program.embedded_constants.clear();
  partition_inputs(program, [](const InputSpec& spec) { return !is_for_user(spec); });
  return {};
}

Result<void> embed_constants(Converter& converter) {
  Program& program = converter.program;
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, converter.payloads());
  for (const InputSpec& spec : program.signature.input_specs) {
    if (!is_constant(spec)) continue;
    const PayloadTensor* payload = payloads->bound_to(spec);
    const std::string name = spec.target.value_or("");
    if (!is_plain(converter, payload, name)) continue;
    PT2_TRY(const std::string file, torch_save_of(*payload));
    const auto bytes = std::as_bytes(std::span(file));
    program.embedded_constants.push_back({spec.arg.name, {bytes.begin(), bytes.end()}});
    // Schema 1 has no metadata entry for these constants.
    if (const auto id = program.graph.find_value(spec.arg.name))
      program.graph.set_value_meta(*id, TensorMeta{});
    converter.removed_constants.push_back(name);
    converter.changed = true;
  }
  partition_inputs(program, [](const InputSpec& spec) { return !is_constant(spec); });
  return {};
}

// Names that torch.fx gives to no node: those of Python's functions and its own (torch/fx/graph.py,
// _is_illegal_name, _custom_builtins). Nobody calls an input like one of Python's exceptions.
// clang-format off
constexpr std::string_view kTakenNames[] = {
    "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool", "breakpoint", "bytearray", "bytes", "callable",
    "chr", "classmethod", "compile", "complex", "copyright", "credits", "delattr", "device", "dict", "dir", "divmod",
    "enumerate", "eval", "exec", "exit", "filter", "float", "format", "frozenset", "fx_pytree", "getattr", "globals",
    "hasattr", "hash", "help", "hex", "id", "inf", "input", "int", "isinstance", "issubclass", "iter", "len",
    "license", "list", "locals", "map", "max", "memoryview", "min", "nan", "next", "object", "oct", "open", "ord",
    "pow", "print", "property", "pytree", "quit", "range", "repr", "reversed", "round", "set", "setattr", "slice",
    "sorted", "staticmethod", "str", "sum", "super", "torch", "tuple", "type", "vars", "zip"};
// clang-format on

// Returns a name that torch.fx gives a node; nothing if it gives this one (torch/fx/graph.py,
// create_name).
std::optional<std::string> name_for_fx(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const bool is_padded =
      digits + 1 < name.size() && name[digits] == '0' && digits > 0 && name[digits - 1] == '_';
  if (is_identifier(name) && !is_padded &&
      std::ranges::find(kTakenNames, name) == std::end(kTakenNames))
    return std::nullopt;
  std::string out = "_";
  for (const char c : name) out += pt2::is_word(std::string{'_', c}) ? c : '_';
  if (pt2::is_word(name)) out.erase(0, 1);
  return out + "_1";
}

// Returns the name without its number, sum of sum_1; an empty text if it has none.
std::string_view without_number(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool has_number = end != name.npos && end + 1 < name.size() && name[end] == '_';
  return has_number ? name.substr(0, end) : std::string_view();
}

// Returns the names that values have with a number.
TextSet<std::string> numbered_names(const Graph& graph) {
  TextSet<std::string> names;
  for (const ValueId id : graph.values()) names.emplace(without_number(graph.value(id).name));
  return names;
}

bool is_pair_of_args(const TreeSpec& spec) {
  return spec.kind == TreeKind::tuple && spec.children.size() == 2 &&
         spec.children[0].kind == TreeKind::tuple && spec.children[1].kind == TreeKind::dict;
}

// Rewrites the context of a dataclass. Up to 2.2 it is a JSON list [type, fields, fields that are
// None]; in later releases it is the JSON text of the last two.
bool rewrite_dataclass(TreeSpec& spec, bool up) {
  const auto context = parse_json(spec.context);
  if (!context) return false;
  if (up) {
    if (!context->is_array() || context->items.size() != 3) return false;
    JsonWriter fields;
    fields.begin_array();
    fields.value(context->items[1]);
    fields.value(context->items[2]);
    fields.end_array();
    spec.context = print_json_string(fields.text());
    return true;
  }
  const auto text = context->get_string();
  const auto fields = text ? parse_json(*text) : Result<JsonValue>(text.error());
  if (!fields || !fields->is_array() || fields->items.size() != 2) return false;
  JsonWriter list;
  list.begin_array();
  list.string(spec.type);
  list.value(fields->items[0]);
  list.value(fields->items[1]);
  list.end_array();
  spec.context = list.take();
  return true;
}

// The classes of named tuples that a program lists; each is added once.
class TupleClasses {
 public:
  explicit TupleClasses(std::vector<NamedTupleFields>& listed) : listed_(listed) {
    for (const NamedTupleFields& each : listed) known_.insert(each.type_name);
  }
  void add(NamedTupleFields fields) {
    if (known_.insert(fields.type_name).second) listed_.push_back(std::move(fields));
  }

 private:
  std::vector<NamedTupleFields>& listed_;
  TextSet<std::string> known_;
};

bool rewrite_named_tuple(TreeSpec& spec, bool up, TupleClasses& classes) {
  const auto context = parse_json(spec.context);
  if (!context) return false;
  if (up) {
    const JsonValue* name = context->find("class_name");
    const auto text = name ? name->get_string() : Result<std::string_view>(Error{});
    if (!text) return false;
    NamedTupleFields fields{.type_name = std::string(*text)};
    for (const TreeKey& key : spec.keys) fields.field_names.push_back(key.text);
    spec.context = print_json_string(*text);
    classes.add(std::move(fields));
    return true;
  }
  const auto text = context->get_string();
  if (!text) return false;
  JsonWriter object;
  object.begin_object();
  object.key("class_name");
  // The target release needs a Python identifier: collections.namedtuple makes the class from it.
  object.string(text->substr(text->rfind('.') + 1));
  object.key("fields");
  object.begin_array();
  for (const TreeKey& key : spec.keys) object.string(key.text);
  object.end_array();
  object.end_object();
  spec.context = object.take();
  return true;
}

// True if the file does not list the fields of a named tuple. From 2.4 until schema 8.5 the file
// records only the class, which knows its fields. Since 8.5 the program lists the fields.
bool lacks_fields(const TreeSpec& spec) {
  const auto context = parse_json(spec.context);
  return spec.keys.size() != spec.children.size() && context && context->get_string();
}

// Recursive: parse_tree_spec bounds the depth.
bool rewrite_classes(TreeSpec& spec, Converter& converter, TupleClasses& classes,
                     bool into_tuples) {
  bool changed = false;
  const bool up = converter.to > converter.from;
  const bool passes_tuples = converter.rises_to(503) || converter.falls_below(503);
  const bool passes_dataclasses = converter.rises_to(300) || converter.falls_below(300);
  if (spec.kind == TreeKind::named_tuple && passes_tuples) {
    if (!up && lacks_fields(spec))
      converter.block({.kind = BlockerKind::tree_class,
                       .text = "a named tuple whose fields the file does not name",
                       .where = spec.context,
                       .first = first_release_with(503)});
    else
      changed |= rewrite_named_tuple(spec, up, classes);
  }
  if (spec.kind == TreeKind::registered && passes_dataclasses)
    changed |= rewrite_dataclass(spec, up);
  for (TreeSpec& child : spec.children)
    changed |= rewrite_classes(child, converter, classes, into_tuples);
  if (!into_tuples || !spec.type.starts_with(kReturnTypes)) return changed;
  spec = make_tuple_spec(std::move(spec.children));
  return true;
}

// True if the release cannot name classes of torch.return_types and tuples are accepted instead.
bool makes_tuples(Converter& converter) {
  bool found = false;
  const auto add = [&](Blocker blocker) {
    if (converter.accepts(blocker)) found |= converter.block(std::move(blocker));
  };
  check_tree_classes(converter.program, *converter.target.release, add);
  return found;
}

}  // namespace

Result<void> rewrite_tree_specs(Converter& converter) {
  const bool up = converter.rises_to(200);
  if (!up && !converter.falls_below(200)) return {};
  for (ModuleCallEntry& entry : converter.program.module_call_graph) {
    if (!entry.fqn.empty() || !entry.signature) continue;
    auto spec = parse_tree_spec(entry.signature->in_spec);
    if (!spec) return at(std::move(spec).error(), ".module_call_graph[0].signature.in_spec");
    const bool is_pair = is_pair_of_args(*spec);
    if (up && !is_pair)
      spec = make_tuple_spec({*std::move(spec), make_dict_spec({}, {})});
    else if (!up && is_pair && spec->children[1].children.empty())
      spec = TreeSpec(spec->children[0]);
    else
      continue;
    entry.signature->in_spec = print_tree_spec(*spec);
    converter.changed = true;
  }
  return {};
}

Result<void> rewrite_tree_classes(Converter& converter) {
  const bool into_tuples = makes_tuples(converter);
  if (converter.from >= 503 && converter.to >= 503 && !into_tuples) return {};
  Program& program = converter.program;
  TupleClasses classes(program.namedtuple_fields);
  for (ModuleCallEntry& entry : program.module_call_graph) {
    if (!entry.signature) continue;
    for (std::string* text : {&entry.signature->in_spec, &entry.signature->out_spec}) {
      auto spec = parse_tree_spec(*text, program.namedtuple_fields);
      if (!spec) continue;  // the verifier reports a bad tree spec
      if (!rewrite_classes(*spec, converter, classes, into_tuples)) continue;
      *text = print_tree_spec(*spec);
      converter.changed = true;
    }
  }
  return {};
}

Result<void> rewrite_module_calls(Converter& converter) {
  if (!converter.falls_below(200)) return {};
  for (ModuleCallEntry& entry : converter.program.module_call_graph) {
    if (entry.fqn.empty() || !entry.signature) continue;
    entry.signature.reset();
    converter.changed = true;
  }
  return {};
}

Result<void> rewrite_unpacked_constants(Converter& converter) {
  return converter.rises_to(200) ? unpack_constants(converter) : Result<void>();
}

Result<void> rewrite_embedded_constants(Converter& converter) {
  return converter.falls_below(200) ? embed_constants(converter) : Result<void>();
}

Result<void> rewrite_buffers(Converter& converter) {
  if (converter.to >= 300) return {};
  GraphSignature& signature = converter.program.signature;
  TextSet<std::string> mutated;
  for (auto& [output, buffer] : signature.buffers_to_mutate()) mutated.insert(std::move(buffer));
  for (InputSpec& spec : signature.input_specs) {
    if (spec.kind != InputKind::buffer || spec.persistent.value_or(true)) continue;
    const std::string name = spec.target.value_or("");
    if (mutated.contains(name)) {
      converter.block({.kind = BlockerKind::non_persistent_buffer,
                       .text = "every buffer is in the state dict",
                       .where = name,
                       .first = first_release_with(501)});
      continue;
    }
    spec.kind = InputKind::constant_tensor;
    spec.persistent.reset();
    converter.changed = true;
  }
  return {};
}

Result<void> rewrite_input_names(Converter& converter) {
  constexpr int kFirstThatCompares = 202, kLastWithOwnNames = 203;
  // Up to this, a value takes sum_2 where an input called sum takes its name, sum_1. A constant
  // does so in every release from then on: the program has two nodes of one name, and none loads
  // it.
  constexpr int kLastOfValues = 204;
  const int release = converter.target.release->number;
  if (release < kFirstThatCompares) return {};
  Program& program = converter.program;
  std::optional<TextSet<std::string>> numbered;
  const auto new_name = [&](std::string_view name) -> std::optional<std::string> {
    auto found = name_for_fx(name);
    if (!found || release <= kLastWithOwnNames) return found;
    if (!numbered) numbered = numbered_names(program.graph);
    if (!numbered->contains(std::string(name))) return std::nullopt;
    numbered->emplace(without_number(*found));
    return found;
  };
  if (release <= kLastOfValues) converter.changed = rename_inputs(program, new_name);
  if (release <= kLastWithOwnNames) return {};
  for (InputSpec& spec : program.signature.input_specs) {
    if (!spec.arg.is_constant() || spec.arg.name.empty()) continue;
    const auto name = new_name(spec.arg.name);
    if (!name) continue;
    spec.arg.name = program.graph.unused_name(*name);
    converter.changed = true;
  }
  return {};
}

Result<void> rewrite_dialect(Converter& converter) {
  constexpr int kFirstWithTraining = 205;
  Program& program = converter.program;
  // 2.1 lists no verifiers; later readers look up the listed verifiers.
  if (program.verifiers.empty() && converter.rises_to(200)) {
    program.verifiers = {"ATEN"};
    converter.changed = true;
  }
  if (converter.target.release->number >= kFirstWithTraining || program.dialect() != "TRAINING")
    return {};
  program.verifiers = {"ATEN"};
  converter.changed = true;
  return {};
}

Result<void> rewrite_version(Converter& converter) {
  Program& program = converter.program;
  const bool changes_release = converter.source.number != converter.target.release->number;
  converter.changed = changes_release || converter.from != converter.to;
  program.schema_version = {.major = converter.to / 100, .minor = converter.to % 100};
  if (changes_release) program.torch_version = converter.target.release->torch_version;
  return {};
}

}  // namespace pt2
