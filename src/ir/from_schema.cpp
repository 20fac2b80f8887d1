#include "ir/from_schema.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "ir/from_schema_internal.h"
#include "schema/path.h"

namespace pt2 {
namespace {

// Nothing for an infinite bound, which is null since 8.1 and a float before.
Result<std::optional<int64_t>> read_bound(const std::optional<int64_t>& integer,
                                          const std::optional<double>& real, double infinity) {
  if (!real) return integer;
  if (*real == infinity) return std::optional<int64_t>();
  return Error{ErrorCode::invalid,
               fmt::format("the bound is {}, expected an integer or {}", *real, infinity),
               {}};
}

Result<RangeConstraint> read_range(const std::string& key, const schema::RangeConstraint& source,
                                   ExprPool& pool) {
  RangeConstraint constraint;
  PT2_TRY(constraint.key, pool.parse(key));
  PT2_TRY(constraint.range.min, read_bound(source.min_val, source.min_val_float, -INFINITY));
  PT2_TRY(constraint.range.max, read_bound(source.max_val, source.max_val_float, INFINITY));
  const SymRange& range = constraint.range;
  if (range.min && range.max && *range.min > *range.max) {
    return Error{ErrorCode::invalid, fmt::format("the range {} is empty", print(range)), {}};
  }
  return constraint;
}

Result<ModuleCallSignature> read_call(schema::ModuleCallSignature& source) {
  ModuleCallSignature call;
  const auto read_all = [](std::vector<schema::Argument>& arguments, std::string_view field,
                           std::vector<ArgumentSpec>& specs) -> Result<void> {
    for (size_t i = 0; i < arguments.size(); ++i) {
      PT2_TRY_AT(ArgumentSpec spec, fmt::format(".{}[{}]", field, i),
                 read_argument_spec(arguments[i]));
      specs.push_back(std::move(spec));
    }
    return {};
  };
  PT2_TRY_VOID(read_all(source.inputs, "inputs", call.inputs));
  PT2_TRY_VOID(read_all(source.outputs, "outputs", call.outputs));
  call.in_spec = std::move(source.in_spec);
  call.out_spec = std::move(source.out_spec);
  call.forward_arg_names = std::move(source.forward_arg_names);
  return call;
}

Result<std::vector<ModuleCallEntry>> read_calls(schema::GraphModule& source, int64_t major) {
  std::vector<ModuleCallEntry> calls;
  // Version 1 has the root's tree specs beside an empty list of calls.
  if (major == 1) {
    ModuleCallSignature root;
    root.in_spec = std::move(source.call_spec.in_spec);
    root.out_spec = std::move(source.call_spec.out_spec);
    calls.push_back({"", std::move(root)});
  }
  for (size_t i = 0; i < source.module_call_graph.size(); ++i) {
    schema::ModuleCallEntry& entry = source.module_call_graph[i];
    ModuleCallEntry call{.fqn = std::move(entry.fqn)};
    if (entry.signature) {
      PT2_TRY_AT(call.signature, fmt::format(".module_call_graph[{}].signature", i),
                 read_call(*entry.signature));
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

Result<std::vector<EmbeddedConstant>> read_constants(const Constants& source) {
  std::vector<EmbeddedConstant> constants;
  for (const auto& [name, text] : source) {
    auto bytes = decode_base64(text);
    if (!bytes) {
      return Error{ErrorCode::malformed, "found something else than base64",
                   ".graph.constants" + key_step(name)};
    }
    constants.push_back({name, *std::move(bytes)});
  }
  return constants;
}

Result<void> read_graph_module(schema::GraphModule& source, Program& program) {
  const SchemaContext context{program.schema_version.major, program.expressions.get()};
  PT2_TRY(program.embedded_constants, read_constants(source.graph.constants));
  PT2_TRY_AT(program.graph, ".graph", read_graph(source.graph, context, 1, source.graph.constants));
  if (context.major == 1) {
    program.signature =
        read_signature_v1(source.signature_v1, program.graph, source.graph.constants);
  } else {
    PT2_TRY_AT(program.signature, ".signature", read_signature(source.signature, context.major));
  }
  PT2_TRY(program.module_call_graph, read_calls(source, context.major));
  program.metadata = std::move(source.metadata);
  for (auto& [type_name, fields] : source.treespec_namedtuple_fields) {
    program.namedtuple_fields.push_back({type_name, std::move(fields.field_names)});
  }
  return {};
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> make_base64_values() {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (size_t i = 0; i < kBase64.size(); ++i)
    values[static_cast<uint8_t>(kBase64[i])] = static_cast<int8_t>(i);
  return values;
}
constexpr std::array<int8_t, 256> kBase64Values = make_base64_values();

}  // namespace

std::string key_step(std::string_view key) {
  std::string step;
  schema::append_key_step(step, key);
  return step;
}

std::optional<std::vector<std::byte>> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=') && text.size() % 4 != 2) text.remove_suffix(1);
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int bit_count = 0;
  for (char c : text) {
    const int8_t value = kBase64Values[static_cast<uint8_t>(c)];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> bit_count & 0xff));
  }
  return bytes;
}

Result<Program> from_schema(schema::ExportedProgram source) {
  Program program;
  program.schema_version = {source.schema_version.major, source.schema_version.minor};
  if (auto read = read_graph_module(source.graph_module, program); !read) {
    return at(std::move(read).error(), ".graph_module");
  }
  for (const auto& [key, range] : source.range_constraints) {
    PT2_TRY_AT(RangeConstraint constraint, ".range_constraints" + key_step(key),
               read_range(key, range, *program.expressions));
    program.range_constraints.push_back(constraint);
  }
  program.guards_code = std::move(source.guards_code);
  program.torch_version = std::move(source.torch_version);
  program.verifiers = std::move(source.verifiers);
  if (program.verifiers.empty() && !source.dialect.empty())
    program.verifiers.push_back(std::move(source.dialect));
  program.opset_version = std::move(source.opset_version);
  return program;
}

}  // namespace pt2
