#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "base/try_at.h"
#include "draft/draft_schema.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/signature.h"
#include "serde/from_schema.h"

namespace pt2 {
namespace {

using schema::ArgumentCase;
using DraftCase = draft::ArgumentCase;

schema::Argument tensor_argument(std::string name) {
  return schema::Argument::make<ArgumentCase::as_tensor>(
      schema::TensorArgument{.name = std::move(name)});
}

schema::SymInt convert(const draft::SymInt& value) {
  using enum schema::SymIntCase;
  if (const auto* literal = value.get_if<draft::SymIntCase::as_int>())
    return schema::SymInt::make<as_int>(*literal);
  return schema::SymInt::make<as_expr>(
      schema::SymExpr{.expr_str = value.get<draft::SymIntCase::as_sym>()});
}

schema::Device convert(const draft::Device& device) {
  schema::Device out{.type = device.type};
  if (device.index != kNoDeviceIndex) out.index = device.index;
  return out;
}

schema::TensorMeta convert(const draft::TensorMeta& meta) {
  schema::TensorMeta out{.dtype = static_cast<schema::ScalarType>(meta.dtype),
                         .requires_grad = meta.requires_grad,
                         .device = convert(meta.device),
                         .storage_offset = convert(meta.storage_offset),
                         .layout = schema_layout(meta.layout)};
  for (const draft::SymInt& size : meta.sizes) out.sizes.push_back(convert(size));
  for (const draft::SymInt& stride : meta.strides) out.strides.push_back(convert(stride));
  return out;
}

// Converts the names of one graph: the draft names state by its FQN, the schema by a word.
class GraphConverter {
 public:
  explicit GraphConverter(const draft::Graph& source) : source_(source) {
    for (const draft::TensorValue& value : source.tensor_values) {
      tensors_.insert(value.name);
      used_.take(value.name);
    }
    for (const draft::SymIntValue& value : source.symint_values) used_.take(value.name);
    for (const draft::Node& node : source.nodes)
      for (const draft::ReturnArgument& output : node.outputs)
        if (const auto* number = output.get_if<draft::ReturnArgumentCase::as_symint>())
          defined_.insert(number->name);
    for (const draft::SymIntValue& value : source.symint_values) {
      const auto* literal = value.value.get_if<draft::SymIntCase::as_int>();
      // A SymInt that no node computes is a plain number; the schema has the number itself in its
      // place.
      if (literal != nullptr && !defined_.contains(value.name)) literals_[value.name] = *literal;
    }
  }

  std::string add_state(const std::string& fqn, std::string_view prefix) {
    return names_[fqn] = used_.make(placeholder_name(prefix, fqn));
  }
  bool has_tensor(std::string_view name) const { return tensors_.contains(name); }
  bool is_state(const std::string& name) const { return names_.contains(name); }

  Result<schema::Graph> convert_graph() {
    schema::Graph out;
    for (const draft::TensorValue& value : source_.tensor_values)
      out.tensor_values.emplace_back(name_of(value.name), convert(value.meta));
    for (const draft::SymIntValue& value : source_.symint_values)
      if (!literals_.contains(value.name))
        out.sym_int_values.emplace_back(value.name, convert(value.value));
    for (const draft::TensorArgument& input : source_.inputs)
      if (!is_state(input.name)) out.inputs.push_back(tensor_argument(input.name));
    for (size_t i = 0; i < source_.nodes.size(); ++i) {
      PT2_TRY_AT(schema::Node node, fmt::format(".nodes[{}]", i), convert_node(source_.nodes[i]));
      out.nodes.push_back(std::move(node));
    }
    for (const draft::TensorArgument& output : source_.outputs)
      out.outputs.push_back(tensor_argument(name_of(output.name)));
    return out;
  }

 private:
  const std::string& name_of(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second;
  }

  Result<schema::Node> convert_node(const draft::Node& source) {
    schema::Node out{.target = source.target};
    for (size_t i = 0; i < source.args.size(); ++i) {
      PT2_TRY_AT(schema::Argument arg, fmt::format(".args[{}]", i),
                 convert_argument(source.args[i]));
      out.inputs.push_back(
          {.name = {}, .arg = std::move(arg), .kind = schema::ArgumentKind::POSITIONAL});
    }
    for (const auto& [name, value] : source.kwargs) {
      PT2_TRY_AT(schema::Argument arg, ".kwargs." + name, convert_argument(value));
      out.inputs.push_back(
          {.name = name, .arg = std::move(arg), .kind = schema::ArgumentKind::KEYWORD});
    }
    for (const draft::ReturnArgument& output : source.outputs) {
      if (const auto* tensor = output.get_if<draft::ReturnArgumentCase::as_tensor>()) {
        out.outputs.push_back(tensor_argument(name_of(tensor->name)));
      } else {
        const auto& number = output.get<draft::ReturnArgumentCase::as_symint>();
        out.outputs.push_back(schema::Argument::make<ArgumentCase::as_sym_int>(symint(number)));
      }
    }
    convert_metadata(source.metadata, out);
    return out;
  }

  static void convert_metadata(const draft::NodeMetadata& source, schema::Node& out) {
    if (!source.stack_trace.empty()) out.metadata.emplace_back("stack_trace", source.stack_trace);
    if (!source.nn_module_stack.empty())
      out.metadata.emplace_back("nn_module_stack", source.nn_module_stack);
    for (const auto& [key, value] : source.extra) {
      if (key == draft_key::kNodeName)
        out.name = value;
      else if (key == draft_key::kHopSingleReturn)
        out.is_hop_single_tensor_return = value == "true";
      else
        out.metadata.emplace_back(key, value);
    }
  }

  schema::SymIntArgument symint(const draft::SymIntArgument& argument) const {
    using enum schema::SymIntArgumentCase;
    const auto literal = literals_.find(argument.name);
    if (literal != literals_.end()) return schema::SymIntArgument::make<as_int>(literal->second);
    return schema::SymIntArgument::make<as_name>(argument.name);
  }

  schema::List<schema::TensorArgument> tensors(const draft::List<draft::TensorArgument>& source) {
    schema::List<schema::TensorArgument> out;
    for (const draft::TensorArgument& tensor : source)
      out.push_back({.name = name_of(tensor.name)});
    return out;
  }

  Result<schema::Argument> convert_module(const draft::GraphModule& module) {
    if (!module.parameters.empty() || !module.buffers.empty())
      return Error{ErrorCode::unsupported, "parameters and buffers of a nested module", ".as_gm"};
    GraphConverter nested(module.graph);
    PT2_TRY_AT(schema::Graph graph, ".as_gm.graph", nested.convert_graph());
    const std::string* single = module.metadata.find(draft_key::kSingleReturn);
    graph.is_single_tensor_return = single != nullptr && *single == "true";
    return schema::Argument::make<ArgumentCase::as_graph>(
        schema::GraphArgument{.name = module.name, .graph = std::move(graph)});
  }

  Result<schema::Argument> convert_argument(const draft::Argument& source) {
    using A = schema::Argument;
    switch (source.which()) {
      case DraftCase::as_none:
        return A::make<ArgumentCase::as_none>();
      case DraftCase::as_tensor:
        return tensor_argument(name_of(source.get<DraftCase::as_tensor>().name));
      case DraftCase::as_tensors:
        return A::make<ArgumentCase::as_tensors>(tensors(source.get<DraftCase::as_tensors>()));
      case DraftCase::as_symint:
        return A::make<ArgumentCase::as_sym_int>(symint(source.get<DraftCase::as_symint>()));
      case DraftCase::as_symints: {
        schema::List<schema::SymIntArgument> numbers;
        for (const auto& number : source.get<DraftCase::as_symints>())
          numbers.push_back(symint(number));
        return A::make<ArgumentCase::as_sym_ints>(std::move(numbers));
      }
      case DraftCase::as_bool:
        return A::make<ArgumentCase::as_bool>(source.get<DraftCase::as_bool>());
      case DraftCase::as_bools:
        return A::make<ArgumentCase::as_bools>(source.get<DraftCase::as_bools>());
      case DraftCase::as_int:
        return A::make<ArgumentCase::as_int>(source.get<DraftCase::as_int>());
      case DraftCase::as_ints:
        return A::make<ArgumentCase::as_ints>(source.get<DraftCase::as_ints>());
      case DraftCase::as_float:
        return A::make<ArgumentCase::as_float>(source.get<DraftCase::as_float>());
      case DraftCase::as_floats:
        return A::make<ArgumentCase::as_floats>(source.get<DraftCase::as_floats>());
      case DraftCase::as_str:
        return A::make<ArgumentCase::as_string>(source.get<DraftCase::as_str>());
      case DraftCase::as_gm:
        return convert_module(*source.get<DraftCase::as_gm>());
      case DraftCase::as_scalar_type:
        return A::make<ArgumentCase::as_scalar_type>(
            static_cast<schema::ScalarType>(source.get<DraftCase::as_scalar_type>()));
      case DraftCase::as_memory_format:
        return A::make<ArgumentCase::as_memory_format>(
            static_cast<schema::MemoryFormat>(source.get<DraftCase::as_memory_format>()));
      case DraftCase::as_layout:
        return A::make<ArgumentCase::as_layout>(schema_layout(source.get<DraftCase::as_layout>()));
      case DraftCase::as_device:
        return A::make<ArgumentCase::as_device>(convert(source.get<DraftCase::as_device>()));
      case DraftCase::unknown:
        break;
    }
    return Error{
        ErrorCode::unsupported, "found an argument of a kind that this version does not know", {}};
  }

  const draft::Graph& source_;
  Names used_;
  std::set<std::string_view> tensors_;       // tensors in the table
  std::set<std::string> defined_;            // symints that nodes compute
  std::map<std::string, int64_t> literals_;  // symints that are plain numbers
  std::map<std::string, std::string> names_;
};

class ModuleConverter {
 public:
  explicit ModuleConverter(const draft::GraphModule& module)
      : module_(module), graph_(module.graph) {}

  Result<schema::ExportedProgram> convert_module() {
    add_state(module_.parameters, "p_", [](std::string fqn, schema::TensorArgument arg) {
      return schema::InputSpec::make<schema::InputSpecCase::parameter>(
          schema::InputToParameterSpec{.arg = std::move(arg), .parameter_name = std::move(fqn)});
    });
    add_state(module_.buffers, "b_", [](std::string fqn, schema::TensorArgument arg) {
      return schema::InputSpec::make<schema::InputSpecCase::buffer>(schema::InputToBufferSpec{
          .arg = std::move(arg), .buffer_name = std::move(fqn), .persistent = true});
    });
    PT2_TRY_AT(schema::Graph graph, ".graph", graph_.convert_graph());
    for (const auto& [name, meta] : missing_values_) graph.tensor_values.emplace_back(name, meta);
    add_user_values(graph);
    graph.inputs.insert(graph.inputs.begin(), state_.begin(), state_.end());
    out_.graph_module.graph = std::move(graph);
    add_root_call();
    PT2_TRY_VOID(read_metadata());
    return std::move(out_);
  }

 private:
  template <class MakeSpec>
  void add_state(const draft::Dict<draft::Tensor>& tensors, std::string_view prefix,
                 MakeSpec make) {
    for (const auto& [fqn, tensor] : tensors) {
      const bool has_value = graph_.has_tensor(fqn);
      const std::string name = graph_.add_state(fqn, prefix);
      state_.push_back(tensor_argument(name));
      out_.graph_module.signature.input_specs.push_back(
          make(fqn, schema::TensorArgument{.name = name}));
      if (!has_value) missing_values_.emplace_back(name, convert(tensor.meta));
    }
  }

  void add_user_values(const schema::Graph& graph) {
    schema::GraphSignature& signature = out_.graph_module.signature;
    for (const schema::Argument& input : graph.inputs)
      signature.input_specs.push_back(schema::InputSpec::make<schema::InputSpecCase::user_input>(
          schema::UserInputSpec{.arg = input}));
    for (const schema::Argument& output : graph.outputs)
      signature.output_specs.push_back(
          schema::OutputSpec::make<schema::OutputSpecCase::user_output>(
              schema::UserOutputSpec{.arg = output}));
    user_inputs_ = graph.inputs.size();
    user_outputs_ = graph.outputs.size();
  }

  // Returns the tree spec of torch.export for a forward that takes tensors and returns a tuple of
  // tensors.
  static std::string tuple_spec(size_t leaves) {
    std::string text = R"({"type": "builtins.tuple", "context": "null", "children_spec": [)";
    for (size_t i = 0; i < leaves; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ",
                          R"({"type": null, "context": null, "children_spec": []})");
    return text + "]}";
  }

  void add_root_call() {
    schema::ModuleCallSignature call;
    call.in_spec = fmt::format(
        R"([1, {{"type": "builtins.tuple", "context": "null", "children_spec": [{}, {}]}}])",
        tuple_spec(user_inputs_),
        R"({"type": "builtins.dict", "context": "[]", "children_spec": []})");
    call.out_spec = fmt::format("[1, {}]", tuple_spec(user_outputs_));
    out_.graph_module.module_call_graph.push_back({.fqn = "", .signature = std::move(call)});
  }

  static schema::List<std::string> lines(std::string_view text) {
    schema::List<std::string> out;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      out.emplace_back(text.substr(0, end));
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return out;
  }

  Result<void> read_metadata() {
    out_.schema_version = {.major = schema::kNewestVersion / 100,
                           .minor = schema::kNewestVersion % 100};
    out_.verifiers = {"ATEN"};
    schema::ModuleCallSignature& call = *out_.graph_module.module_call_graph[0].signature;
    for (const auto& [key, value] : module_.metadata) {
      const auto step = fmt::format(".metadata['{}']", key);
      if (key == draft_key::kInSpec)
        call.in_spec = value;
      else if (key == draft_key::kOutSpec)
        call.out_spec = value;
      else if (key == draft_key::kArgumentNames)
        call.forward_arg_names = lines(value);
      else if (key == draft_key::kDialect)
        out_.verifiers = {value};
      else if (key == draft_key::kTorchVersion)
        out_.torch_version = value;
      else if (key == draft_key::kGuards)
        out_.guards_code = lines(value);
      else if (key == draft_key::kSingleReturn)
        out_.graph_module.graph.is_single_tensor_return = value == "true";
      else if (key.starts_with(draft_key::kOpset)) {
        const auto version = parse_int(value);
        if (!version) return Error{ErrorCode::invalid, "found no number", step};
        out_.opset_version.emplace_back(key.substr(draft_key::kOpset.size()), *version);
      } else if (key.starts_with(draft_key::kRange)) {
        PT2_TRY_AT(schema::RangeConstraint range, step, read_range(value));
        out_.range_constraints.emplace_back(key.substr(draft_key::kRange.size()), std::move(range));
      } else {
        out_.graph_module.metadata.emplace_back(key, value);
      }
    }
    return {};
  }

  // Parses "[2, null]".
  static Result<schema::RangeConstraint> read_range(std::string_view text) {
    PT2_TRY(const JsonValue value, parse_json(text));
    if (!value.is_array() || value.items.size() != 2)
      return Error{ErrorCode::invalid, "found no pair of bounds", {}};
    schema::RangeConstraint range;
    const auto bound = [](const JsonValue& item) -> Result<std::optional<int64_t>> {
      if (item.is_null()) return std::optional<int64_t>();
      PT2_TRY(const int64_t number, item.get_int());
      return std::optional(number);
    };
    PT2_TRY(range.min_val, bound(value.items[0]));
    PT2_TRY(range.max_val, bound(value.items[1]));
    return range;
  }

  const draft::GraphModule& module_;
  GraphConverter graph_;
  schema::ExportedProgram out_;
  std::vector<schema::Argument> state_;
  std::vector<std::pair<std::string, schema::TensorMeta>> missing_values_;
  size_t user_inputs_ = 0;
  size_t user_outputs_ = 0;
};

}  // namespace

Result<schema::ExportedProgram> draft_to_schema(const draft::GraphModule& module) {
  return ModuleConverter(module).convert_module();
}

Result<Program> from_draft(const draft::GraphModule& module) {
  PT2_TRY(schema::ExportedProgram source, draft_to_schema(module));
  return from_schema(std::move(source));
}

}  // namespace pt2
