#include "serde/to_schema.h"

#include <algorithm>
#include <cmath>

#include "base/base64.h"
#include "pt2/format/schema_json.h"
#include "serde/to_schema_internal.h"

namespace pt2 {
namespace {

schema::RangeConstraint write_range(const RangeConstraint& constraint, int version) {
  schema::RangeConstraint out{.min_val = constraint.range.min, .max_val = constraint.range.max};
  // An unbounded side is null from 8.1 on, and an infinite float before.
  if (version < 801 && !out.min_val) out.min_val_float = -INFINITY;
  if (version < 801 && !out.max_val) out.max_val_float = INFINITY;
  out.trace = constraint.spelling;
  return out;
}

schema::ModuleCallSignature write_call(const ModuleCallSignature& call, int version) {
  schema::ModuleCallSignature out;
  for (const ArgumentSpec& spec : call.inputs)
    out.inputs.push_back(write_argument_spec(spec, version));
  for (const ArgumentSpec& spec : call.outputs)
    out.outputs.push_back(write_argument_spec(spec, version));
  out.in_spec = call.in_spec;
  out.out_spec = call.out_spec;
  out.forward_arg_names = call.forward_arg_names;
  out.trace = call.spelling;
  return out;
}

void write_calls(const Program& program, schema::GraphModule& out, int version) {
  for (const ModuleCallEntry& entry : program.module_call_graph) {
    // Version 1 has the root's tree specs beside the list of calls.
    if (version < 200 && entry.fqn.empty() && entry.signature) {
      out.call_spec = {.in_spec = entry.signature->in_spec, .out_spec = entry.signature->out_spec};
      continue;
    }
    schema::ModuleCallEntry call{.fqn = entry.fqn};
    if (entry.signature) call.signature = write_call(*entry.signature, version);
    call.trace = entry.spelling;
    out.module_call_graph.push_back(std::move(call));
  }
}

schema::GraphModule write_graph_module(const Program& program, int version) {
  schema::GraphModule out;
  // In version 1 constants are not graph inputs.
  std::vector<bool> is_left_out;
  if (version < 200)
    for (const InputSpec& spec : program.signature.input_specs)
      is_left_out.push_back(spec.kind == InputKind::constant_tensor);
  out.graph = write_graph(program.graph, is_left_out, version);
  for (const EmbeddedConstant& constant : program.embedded_constants)
    out.graph.constants.emplace_back(constant.name, encode_base64(constant.bytes));
  if (version < 200) {
    out.signature_v1 = write_signature_v1(program.signature);
  } else {
    out.signature = write_signature(program.signature, version);
  }
  write_calls(program, out, version);
  out.metadata = program.metadata;
  for (const NamedTupleFields& fields : program.namedtuple_fields)
    out.treespec_namedtuple_fields.emplace_back(
        fields.type_name, schema::NamedTupleDef{.field_names = fields.field_names});
  out.trace = program.graph_module_spelling;
  return out;
}

}  // namespace

schema::ExportedProgram to_schema(const Program& program) {
  schema::ExportedProgram out;
  out.schema_version = {.major = program.schema_version.major,
                        .minor = program.schema_version.minor};
  const int version = schema::version_number(out.schema_version);
  out.graph_module = write_graph_module(program, version);
  out.opset_version = program.opset_version;
  for (const RangeConstraint& constraint : program.range_constraints)
    out.range_constraints.emplace_back(constraint.key->text, write_range(constraint, version));
  for (const std::string& json : program.equality_constraints)
    out.equality_constraints.push_back({.text = json});
  if (program.example_inputs) out.example_inputs = schema::Json{.text = *program.example_inputs};
  if (version < 600) {
    if (version >= 200 && !program.verifiers.empty()) out.dialect = program.verifiers.front();
  } else {
    out.verifiers = program.verifiers;
    out.torch_version = program.torch_version;
  }
  out.tensor_paths = program.tensor_paths;
  out.constant_paths = program.constant_paths;
  out.guards_code = program.guards_code;
  out.trace = program.spelling;
  return out;
}

}  // namespace pt2
