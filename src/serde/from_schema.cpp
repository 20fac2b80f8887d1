#include "serde/from_schema.h"

#include <fmt/format.h>

#include <cmath>

#include "base/base64.h"
#include "base/text.h"
#include "ir/structure.h"
#include "ir/symbols/symbols_internal.h"
#include "schema/path.h"
#include "serde/from_schema_internal.h"

namespace pt2 {
namespace {

// Returns nullopt for an infinite bound, which is null since 8.1 and a float before.
Result<std::optional<int64_t>> read_bound(const std::optional<int64_t>& integer,
                                          const std::optional<double>& real, double infinity) {
  if (!real) return integer;
  if (*real == infinity) return std::optional<int64_t>();
  return Error{ErrorCode::invalid,
               fmt::format("the bound is {}, expected an integer or {}", *real, infinity),
               {}};
}

Result<std::optional<RangeConstraint>> read_range(const std::string& key,
                                                  const schema::RangeConstraint& source,
                                                  ReadContext& context) {
  RangeConstraint constraint;
  auto parsed = context.pool.parse(key);
  if (!parsed) {
    context.report(Rule::expression, parsed.error().message + evaluated_text(key),
                   parsed.error().code);
    return std::optional<RangeConstraint>();
  }
  constraint.key = *parsed;
  const auto bound = [&](const std::optional<int64_t>& integer, const std::optional<double>& real,
                         double infinity) -> std::optional<int64_t> {
    auto read = read_bound(integer, real, infinity);
    if (read) return *read;
    context.report(Rule::range, read.error().message);
    return std::nullopt;
  };
  constraint.range.min = bound(source.min_val, source.min_val_float, -INFINITY);
  constraint.range.max = bound(source.max_val, source.max_val_float, INFINITY);
  if (constraint.range.is_empty())
    context.report(Rule::range, fmt::format("the range {} is empty", print(constraint.range)));
  constraint.spelling = source.trace;
  return std::optional(constraint);
}

Result<ModuleCallSignature> read_call(schema::ModuleCallSignature& source, ReadContext& context) {
  ModuleCallSignature call;
  const auto read_all = [&](std::vector<schema::Argument>& arguments, std::string_view field,
                            std::vector<ArgumentSpec>& specs) -> Result<void> {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto step = context.item(field, i);
      PT2_TRY(ArgumentSpec spec, read_argument_spec(arguments[i], context));
      specs.push_back(std::move(spec));
    }
    return {};
  };
  PT2_TRY_VOID(read_all(source.inputs, "inputs", call.inputs));
  PT2_TRY_VOID(read_all(source.outputs, "outputs", call.outputs));
  call.in_spec = std::move(source.in_spec);
  call.out_spec = std::move(source.out_spec);
  call.forward_arg_names = std::move(source.forward_arg_names);
  call.spelling = std::move(source.trace);
  return call;
}

Result<std::vector<ModuleCallEntry>> read_calls(schema::GraphModule& source, ReadContext& context) {
  std::vector<ModuleCallEntry> calls;
  // In version 1 the root's tree specs are beside an empty list of calls.
  if (context.major == 1) {
    ModuleCallSignature root;
    root.in_spec = std::move(source.call_spec.in_spec);
    root.out_spec = std::move(source.call_spec.out_spec);
    calls.push_back({"", std::move(root)});
  }
  for (size_t i = 0; i < source.module_call_graph.size(); ++i) {
    const auto step = context.item("module_call_graph", i);
    schema::ModuleCallEntry& entry = source.module_call_graph[i];
    ModuleCallEntry call{.fqn = std::move(entry.fqn)};
    if (entry.signature) {
      const auto field = context.field("signature");
      PT2_TRY(call.signature, read_call(*entry.signature, context));
    }
    call.spelling = std::move(entry.trace);
    calls.push_back(std::move(call));
  }
  return calls;
}

Result<std::vector<EmbeddedConstant>> read_constants(const Constants& source,
                                                     ReadContext& context) {
  std::vector<EmbeddedConstant> constants;
  const auto graph = context.field("graph");
  const auto field = context.field("constants");
  for (const auto& [name, text] : source) {
    const auto step = context.key(name);
    auto bytes = decode_base64(text);
    if (!bytes) return context.fail(ErrorCode::malformed, "found something other than base64");
    constants.push_back({name, *std::move(bytes)});
  }
  return constants;
}

Result<void> read_graph_module(schema::GraphModule& source, ReadContext& context,
                               Program& program) {
  const auto module = context.field("graph_module");
  PT2_TRY(program.embedded_constants, read_constants(source.graph.constants, context));
  {
    const auto step = context.field("graph");
    PT2_TRY(program.graph, read_graph(source.graph, context, 1, source.graph.constants));
  }
  if (context.major == 1) {
    program.signature =
        read_signature_v1(source.signature_v1, program.graph, source.graph.constants);
  } else {
    const auto step = context.field("signature");
    PT2_TRY(program.signature, read_signature(source.signature, context));
  }
  PT2_TRY(program.module_call_graph, read_calls(source, context));
  program.metadata = std::move(source.metadata);
  for (auto& [type_name, fields] : source.treespec_namedtuple_fields)
    program.namedtuple_fields.push_back({type_name, std::move(fields.field_names)});
  program.graph_module_spelling = std::move(source.trace);
  return {};
}

Result<Program> convert(schema::ExportedProgram source, schema::PieceReader* pieces,
                        NodeOrigins origins, Diagnostics& faults) {
  Program program;
  program.schema_version = {source.schema_version.major, source.schema_version.minor};
  ReadContext context(program.schema_version.major, *program.expressions, faults);
  context.pieces = pieces;
  context.origins = origins;
  PT2_TRY_VOID(read_graph_module(source.graph_module, context, program));
  const auto ranges = context.field("range_constraints");
  for (const auto& [key, range] : source.range_constraints) {
    const auto step = context.key(key);
    PT2_TRY(auto constraint, read_range(key, range, context));
    if (constraint) program.range_constraints.push_back(*std::move(constraint));
  }
  program.guards_code = std::move(source.guards_code);
  program.torch_version = std::move(source.torch_version);
  program.verifiers = std::move(source.verifiers);
  if (program.verifiers.empty() && !source.dialect.empty())
    program.verifiers.push_back(std::move(source.dialect));
  program.opset_version = std::move(source.opset_version);
  program.tensor_paths = std::move(source.tensor_paths);
  program.constant_paths = std::move(source.constant_paths);
  for (schema::Json& constraint : source.equality_constraints)
    program.equality_constraints.push_back(std::move(constraint.text));
  if (source.example_inputs) program.example_inputs = std::move(source.example_inputs->text);
  program.spelling = std::move(source.trace);
  check_structure(program, faults);
  return program;
}

}  // namespace

std::string key_step(std::string_view key) {
  std::string step;
  schema::append_key_step(step, key);
  return step;
}

auto ReadContext::field(std::string_view name) -> Step {
  path_.push_back({name});
  return Step(*this);
}

auto ReadContext::item(std::string_view name, size_t index) -> Step {
  path_.push_back({name, index});
  return Step(*this);
}

auto ReadContext::key(std::string_view name) -> Step {
  path_.push_back({.name = name, .is_key = true});
  return Step(*this);
}

std::string ReadContext::place() const {
  std::string text;
  for (const Place& each : path_) {
    if (each.is_key) {
      // A key can be as long as the file, and all findings of its entry name it.
      constexpr size_t kMaxKey = 1000;
      const std::string_view key = each.name.substr(0, kMaxKey);
      text += key_step(key.substr(0, valid_utf8_prefix(key)));
      continue;
    }
    if (!each.name.empty()) text += fmt::format(".{}", each.name);
    if (each.index != SIZE_MAX) text += fmt::format("[{}]", each.index);
  }
  return text;
}

void ReadContext::report(Rule rule, std::string text, ErrorCode code) {
  faults_.add(rule, Error{code, std::move(text), place()});
}

Error ReadContext::fail(ErrorCode code, std::string text) const {
  return {code, std::move(text), place()};
}

Result<TensorMeta> read_tensor_meta(const schema::TensorMeta& source, int64_t major,
                                    ExprPool& pool) {
  Diagnostics faults;
  ReadContext context(major, pool, faults);
  PT2_TRY(TensorMeta meta, read_tensor_meta(source, context));
  if (auto fault = faults.first_error()) return *std::move(fault);
  return meta;
}

Result<Program> from_schema(schema::ExportedProgram source, Diagnostics& faults) {
  return convert(std::move(source), nullptr, NodeOrigins::whole, faults);
}

Result<Program> from_schema(schema::ExportedProgram source) {
  Diagnostics faults;
  PT2_TRY(Program program, from_schema(std::move(source), faults));
  if (auto fault = faults.first_error()) return *std::move(fault);
  return program;
}

std::optional<Program> read_in_pieces(std::string_view json, const Limits& limits,
                                      Diagnostics& warnings, schema::PieceReader::Release release,
                                      NodeOrigins origins, size_t piece_bytes) {
  const auto pieces = schema::PieceReader::open(json, limits, piece_bytes, std::move(release));
  if (pieces == nullptr) return std::nullopt;
  Diagnostics faults;
  auto program = convert(pieces->take_outline(), pieces.get(), origins, faults);
  if (!program || !faults.empty()) return std::nullopt;
  Diagnostics found = pieces->warnings();
  warnings.append(std::move(found));
  return *std::move(program);
}

}  // namespace pt2
