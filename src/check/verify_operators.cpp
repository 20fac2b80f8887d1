#include "pt2/ops/verify_operators.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/hash/text_hash.h"
#include "check/shapes/program_shapes.h"
#include "ir/graph_place.h"
#include "ir/target.h"
#include "ir/values/constant_value.h"
#include "ops/bind.h"

namespace pt2 {
namespace {

// Namespaces of PyTorch's own operators; custom operators use others.
constexpr std::string_view kOwnNamespaces[] = {"aten", "prim", "prims", "quantized",
                                               "quantized_decomposed"};

bool is_own_namespace(std::string_view target) {
  return std::ranges::find(kOwnNamespaces, target_namespace(target)) != std::end(kOwnNamespaces);
}

std::string_view kind_text(const Argument& argument, const Graph& graph) {
  if (const auto* id = argument.get_if<ValueId>()) return value_kind_name(graph.value(*id).kind());
  return argument.is<ArgumentList>() ? "list" : "constant";
}

// Schemas before 5 leave out results that are None.
constexpr int64_t kNoneIsWritten = 5;

// Assignments of the symbols besides the exported example. A wrong expression differs from the
// right one under nearly every assignment, so a few suffice; each costs a pass over the program.
constexpr size_t kAssignments = 4;

class OperatorChecks {
 public:
  OperatorChecks(const Program& program, const std::string& place, Diagnostics& findings)
      : place_(place),
        findings_(findings),
        functional_(program.dialect() != "TRAINING"),
        omits_none_(program.schema_version.major < kNoneIsWritten),
        graphs_(placed_graphs(program)),
        shapes_(program, graphs_) {}

  void check_calls() {
    for (size_t g = 0; g < graphs_.size(); ++g) {
      placed_ = &graphs_[g];
      graph_ = placed_->graph;
      size_t position = 0;
      for (NodeId id : graph_->nodes()) check_node(graph_->node(id), g, position++);
    }
  }

  void check_shapes() {
    for (auto& [entry, fault] : shapes_.find_faults(kAssignments)) {
      const PlacedGraph& placed = graphs_[entry->graph];
      add(fault.rule,
          fault.output ? placed.output_place(entry->position, *fault.output)
                       : placed.node_place(entry->position),
          std::move(fault.text));
    }
  }

 private:
  void add(Rule rule, const std::string& where, std::string text) {
    findings_.add(rule, place_ + where, std::move(text));
  }

  const ops::Operator& find(std::string_view target) {
    auto [entry, is_new] = operators_.try_emplace(target);
    if (is_new) entry->second = ops::find_operator(target);
    return entry->second;
  }

  void check_node(const Node& node, size_t graph, size_t position) {
    const TargetForm form = target_form(node.target);
    if (form == TargetForm::higher_order && !is_higher_order_name(last_part(node.target)))
      add(Rule::unknown_operator, placed_->node_place(position) + ".target",
          "there is no higher-order operator '" + node.target + "' here");
    if (form != TargetForm::overload && form != TargetForm::function) return;
    const ops::Operator& op = find(node.target);
    if (!op) {
      if (is_own_namespace(node.target))
        add(Rule::unknown_operator, placed_->node_place(position) + ".target",
            "there is no operator '" + node.target + "' here");
      return;
    }
    if (functional_ && op.mutates() && !name_says_mutable(node.target))
      add(Rule::not_functional, placed_->node_place(position) + ".target",
          "'" + node.target + "' writes to its arguments");
    const size_t before = findings_.all().size();
    check_arguments(node, op.signature(), position);
    check_results(node, op.signature(), position);
    // Shape rules require arguments that fit the signature.
    if (findings_.all().size() == before) shapes_.add(graph, position, node, op);
  }

  void check_arguments(const Node& node, const ops::Signature& signature, size_t position) {
    std::vector<bool> given(signature.parameter_count, false);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NamedArgument& input = node.inputs[i];
      const auto where = [&] { return placed_->input_place(position, i); };
      auto index = ops::parameter_index(signature, input.name, i);
      if (!index) {
        add(Rule::unknown_argument, where(), std::move(index).error().message);
        continue;
      }
      given[*index] = true;
      const ops::Parameter& parameter = signature.parameter_array[*index];
      if (parameter.keyword_only && input.kind == ArgumentKind::positional)
        add(Rule::argument_kind, where(),
            "'" + input.name + "' is passed by position, expected by keyword");
      if (auto fits = check_type(parameter, input.arg); !fits)
        add(Rule::argument_type, where(), std::move(fits).error().message);
    }
    for (size_t i = 0; i < signature.parameter_count; ++i) {
      if (given[i]) continue;
      if (auto value = ops::default_value(signature.parameter_array[i]); !value)
        add(Rule::missing_argument, placed_->node_place(position) + ".inputs",
            std::move(value).error().message);
    }
  }

  // Compares only kinds: a tensor may have any sizes, a number any value.
  Result<void> check_type(const ops::Parameter& parameter, const Argument& argument) {
    auto value = representative(argument);
    // The type of a custom object or of a future dtype is unknown here.
    if (!value) return {};
    PT2_TRY(Value ignored, ops::coerce(parameter, *std::move(value)));
    static_cast<void>(ignored);
    return {};
  }

  Result<Value> representative(const Argument& argument) {
    if (const auto* id = argument.get_if<ValueId>()) {
      switch (graph_->value(*id).kind()) {
        case ValueKind::tensor:
          return Value(Tensor());
        case ValueKind::sym_int:
          return Value(int64_t{2});
        case ValueKind::sym_float:
          return Value(0.5);
        case ValueKind::sym_bool:
          return Value(true);
        case ValueKind::custom_obj:
          return Error{ErrorCode::unsupported, "a custom object"};
      }
    }
    const auto* list = argument.get_if<ArgumentList>();
    if (list == nullptr) return constant_value(argument);
    Value::List items;
    items.reserve(list->items.size());
    for (const Argument& item : list->items) {
      PT2_TRY(Value value, representative(item));
      items.push_back(std::move(value));
    }
    return Value(std::move(items));
  }

  void check_results(const Node& node, const ops::Signature& signature, size_t position) {
    if (omits_none_ && node.outputs.size() < signature.return_count) return;
    // A mutable custom operator may have no outputs: the written argument is its result. Some
    // releases of a package also return it, some do not.
    if (node.outputs.empty() && signature.is_mutable() && !is_own_namespace(node.target)) return;
    if (node.outputs.size() != signature.return_count)
      return add(Rule::result_count, placed_->node_place(position) + ".outputs",
                 "found " + std::to_string(node.outputs.size()) + " outputs, expected " +
                     std::to_string(signature.return_count));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Argument& output = node.outputs[i];
      const ops::ArgumentType& type = signature.return_array[i];
      if (check::fits_result(*graph_, output, type)) continue;
      add(Rule::result_kind, placed_->output_place(position, i),
          "found a " + std::string(kind_text(output, *graph_)) + " as result of " +
              std::string(signature.text));
    }
  }

  const std::string& place_;
  Diagnostics& findings_;
  const bool functional_;
  const bool omits_none_;
  const std::vector<PlacedGraph> graphs_;
  check::ProgramShapes shapes_;
  const PlacedGraph* placed_ = nullptr;
  const Graph* graph_ = nullptr;
  TextMap<std::string_view, ops::Operator> operators_;
};

// True if every part under `place` was read. A part that could not be read is a placeholder in the
// graph, and sizes computed from it would only repeat the first finding.
bool was_read_whole(const Diagnostics& findings, const std::string& place) {
  return std::ranges::none_of(findings.all(), [&](const Diagnostic& finding) {
    return finding.rule >= Rule::undefined_value && finding.rule <= Rule::misplaced_argument &&
           finding.where.starts_with(place);
  });
}

}  // namespace

void check_operators(const Program& program, const std::string& place, Diagnostics& findings) {
  const bool with_shapes = was_read_whole(findings, place);
  OperatorChecks checks(program, place, findings);
  checks.check_calls();
  if (with_shapes) checks.check_shapes();
}

}  // namespace pt2
