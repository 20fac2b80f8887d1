// Operators, functions and sizes that a release does not accept.
#include "convert/operator_blockers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "convert/converter.h"
#include "convert/operator_history.h"
#include "ir/graph_place.h"
#include "ir/target.h"
#include "lower/vmap/region.h"
#include "pt2/ir/expr_bounds.h"

namespace pt2 {
namespace {

// "came with 2.4", "was removed in 2.9".
std::string when(const Lifetime& lifetime, int release) {
  if (release < lifetime.first) return "came with " + release_name(*release_from(lifetime.first));
  const Release* gone = release_from(lifetime.last + 1);
  return gone == nullptr ? "" : "was removed in " + release_name(*gone);
}

const Release* first_with(const Lifetime& lifetime, int release) {
  return release < lifetime.first ? release_from(lifetime.first) : nullptr;
}

// Python functions that deserialize_node accepts from release `first` on, besides the functions on
// symbolic numbers (torch/_export/serde/serialize.py, _is_allowed_unsafe_export_callable and
// related functions; torch/_export/verifier.py).
struct CallableRow {
  int first;
  std::string_view prefix;
};
constexpr CallableRow kCallables[] = {
    {213, "torch._functorch.predispatch."},
    {208, "torch._C._set_grad_enabled"},
    {208, "torch.amp.autocast_mode."},
    {208, "torch.autograd.grad_mode."},
};

// True for the remaining nodes of a vmap region. The blocker is reported at the region's first
// node.
bool belongs_to_vmap(std::string_view target) {
  const VmapStep step = vmap_step(target);
  return step == VmapStep::add || step == VmapStep::remove || step == VmapStep::end;
}

// A class in the structure of inputs or results that the releases `from` to `to` cannot name.
struct TreeClassRow {
  std::string_view written;  // behind a quotation mark
  std::string_view text;
  int from;
  int to;
  BlockerKind kind = BlockerKind::tree_class;
};
constexpr TreeClassRow kTreeClasses[] = {
    {kReturnTypes, "a class of torch.return_types", 203, 214, BlockerKind::result_class},
    {"collections.defaultdict\"", "collections.defaultdict", 201, 201},
    {"collections.deque\"", "collections.deque", 201, 201},
};

// Up to 2.6 the reader looks up every input by name, but symbolic numbers have no name there; up to
// 2.2 constants have none either.
void check_inputs(const PlacedGraph& placed, const Release& release, const AddBlocker& add) {
  constexpr int kFirstWithSymbols = 207;
  if (release.number >= kFirstWithSymbols) return;
  const Graph& graph = *placed.graph;
  constexpr int kFirstWithConstants = 203;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto* id = graph.inputs()[i].get_if<ValueId>();
    if (id == nullptr && release.number < kFirstWithConstants)
      add({.kind = BlockerKind::input,
           .text = "a constant",
           .where = fmt::format("{}.inputs[{}]", placed.place, i),
           .first = release_from(kFirstWithConstants)});
    if (id == nullptr || graph.value(*id).kind() != ValueKind::sym_int) continue;
    add({.kind = BlockerKind::input,
         .text = "the symbolic number " + graph.value(*id).name,
         .where = fmt::format("{}.inputs[{}]", placed.place, i),
         .first = find_release("2.7")});
  }
}

void check_outputs(const Program& program, const Release& release, const AddBlocker& add) {
  const auto outputs = program.graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto constant = constant_result(outputs[i]);
    if (!constant || release.number >= constant->first) continue;
    add({.kind = BlockerKind::output,
         .text = std::string(constant->text),
         .where = fmt::format(".graph_module.graph.outputs[{}]", i),
         .first = release_from(constant->first)});
  }
}

// 2.2 compares the names of the tensors among the results with as many results from the first on
// (torch/_export/verifier.py, _verify_exported_program_signature).
void check_order_of_outputs(const Program& program, const Release& release, const AddBlocker& add) {
  constexpr int kCompared = 202, kFirstWithNumbers = 203;
  if (release.number != kCompared) return;
  bool has_number = false;
  for (size_t i = 0; i < program.signature.output_specs.size(); ++i) {
    const OutputSpec& spec = program.signature.output_specs[i];
    if (spec.kind != OutputKind::user_output) continue;
    if (spec.arg.kind != ArgumentSpec::Kind::tensor) {
      has_number = true;
    } else if (has_number) {
      return add({.kind = BlockerKind::output,
                  .text = "a tensor behind a number",
                  .where = fmt::format(".graph_module.graph.outputs[{}]", i),
                  .first = release_from(kFirstWithNumbers)});
    }
  }
}

// Up to 2.2 the reader takes only tensors from an operator with several results.
void check_results(const PlacedGraph& placed, const Release& release, const AddBlocker& add) {
  constexpr int kFirstWithNumbers = 203;
  if (release.number >= kFirstWithNumbers) return;
  const Graph& graph = *placed.graph;
  size_t position = 0;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const bool has_number = std::ranges::any_of(node.outputs, [&](const Argument& output) {
      const auto* value = output.get_if<ValueId>();
      return value != nullptr && graph.value(*value).tensor() == nullptr;
    });
    if (has_number && node.outputs.size() > 1)
      add({.kind = BlockerKind::output,
           .text = "a number beside other results",
           .where = placed.node_place(position),
           .node = describe_node(graph, node),
           .first = release_from(kFirstWithNumbers)});
    ++position;
  }
}

// 2.1 saves signatures that it cannot load (torch/_export/serde/serialize.py, _dict_to_dataclass).
void check_module_calls(const Program& program, const Release& release, const AddBlocker& add) {
  constexpr int kFirstWithSignatures = 202;
  if (release.number >= kFirstWithSignatures) return;
  for (const ModuleCallEntry& entry : program.module_call_graph)
    if (!entry.fqn.empty() && entry.signature)
      add({.kind = BlockerKind::field,
           .text = "the signature of the module call '" + entry.fqn + "'",
           .where = ".graph_module.module_call_graph",
           .first = release_from(kFirstWithSignatures)});
}

// Kinds of results that the signature of a release cannot express: 2.1 (lists of names) has no list
// for the first two, and tokens came between schema 5.1 and 5.3. check_schema reports the other
// kinds.
struct ResultKindRow {
  OutputKind kind;
  std::string_view text;
  int first;
  int last_checked;
};
constexpr ResultKindRow kResultKinds[] = {
    {OutputKind::user_input_mutation, "user_input_mutation", 203, 201},
    {OutputKind::parameter_mutation, "parameter_mutation", 209, 201},
    {OutputKind::token, "token", 204, 203},
};

void check_result_kinds(const Program& program, const Release& release, const AddBlocker& add) {
  const std::vector<OutputSpec>& specs = program.signature.output_specs;
  for (const ResultKindRow& row : kResultKinds) {
    if (release.number > row.last_checked) continue;
    for (size_t i = 0; i < specs.size(); ++i)
      if (specs[i].kind == row.kind)
        add({.kind = BlockerKind::alternative,
             .text = fmt::format("OutputSpec {}", row.text),
             .where = fmt::format(".graph_module.signature.output_specs[{}]", i),
             .first = release_from(row.first)});
  }
}

// Sizes for which a reader cannot decide whether they are 0. Up to 2.7 the reader makes every
// tensor and asks that question. Symbols are 2 or more then, and data-dependent sizes have no
// example, so the answer must follow from the ranges. Up to 2.5 sympy reads a//b as floor(a*b**-1),
// and the reader knows no range of a power below 0 (torch/utils/_sympy/value_ranges.py,
// pow_by_natural).
class UndecidedSizes {
 public:
  UndecidedSizes(const Program& program, const Release& release, const AddBlocker& add)
      : pool_(*program.expressions),
        reads_quotients_(release.number >= kFirstWithQuotients),
        add_(add) {
    constexpr int64_t kSmallest = 2;
    for (const RangeConstraint& constraint : program.range_constraints) {
      if (!constraint.key->expr.is_symbol()) continue;
      SymRange range = constraint.range;
      if (range.max.value_or(kSmallest) >= kSmallest)
        range.min = std::max(range.min.value_or(kSmallest), kSmallest);
      ranges_.set(constraint.key->expr->symbol, range);
    }
  }

  void check(const PlacedGraph& placed) {
    for (const ValueId id : placed.graph->values()) {
      const GraphValue& value = placed.graph->value(id);
      const TensorMeta* meta = value.tensor();
      for (size_t i = 0; meta != nullptr && i < meta->sizes.size(); ++i) {
        const SymInt& size = meta->sizes[i];
        if (!size.is_symbolic()) continue;
        const bool is_quotient = !reads_quotients_ && divides_by_symbol(size.expr());
        if (!is_quotient && (size.hint() || !is_undecided(size.expr()))) continue;
        add_({.kind = BlockerKind::undecided_size,
              .text = fmt::format("{} {}", print_expr(size.expr(), ExprSpelling::str),
                                  is_quotient ? "divides by a symbol" : "may be 0"),
              .where = fmt::format("{}.tensor_values.{}.sizes[{}]", placed.place, value.name, i),
              .first = release_from(is_quotient ? kFirstWithQuotients : kFirstWithout)});
      }
    }
  }

  static constexpr int kFirstWithout = 208;

 private:
  static constexpr int kFirstWithQuotients = 206;

  // Checks each expression once.
  bool divides_by_symbol(Expr expr) {
    const auto [known, is_new] = quotients_.try_emplace(expr.operator->(), false);
    if (!is_new) return known->second;
    bool divides = expr->op == ExprOp::floor_div && !free_symbols(expr->args[1]).empty();
    for (const Expr& part : expr->args) divides = divides || divides_by_symbol(part);
    return quotients_[expr.operator->()] = divides;
  }

  // Checks each expression once. The reader assumes that a size that is a lone symbol is 2 or more.
  bool is_undecided(Expr expr) {
    if (expr.is_symbol() || !seen_.insert(expr.operator->()).second) return false;
    const std::vector<SymbolId> symbols = free_symbols(expr);
    if (std::ranges::none_of(symbols,
                             [&](SymbolId each) { return is_unbacked(pool_.symbol_name(each)); }))
      return false;
    const SymRange range = integer_bounds(expr, ranges_);
    return (!range.min || *range.min <= 0) && (!range.max || *range.max >= 0);
  }

  const ExprPool& pool_;
  const bool reads_quotients_;
  const AddBlocker& add_;
  std::map<const ExprNode*, bool> quotients_;
  SymbolRanges ranges_;
  std::set<const ExprNode*> seen_;
};

void check_sizes(const Program& program, const Release& release, const AddBlocker& add) {
  if (release.number >= UndecidedSizes::kFirstWithout) return;
  UndecidedSizes sizes(program, release, add);
  for (const PlacedGraph& placed : placed_graphs(program)) sizes.check(placed);
}

}  // namespace

std::optional<ConstantResult> constant_result(const Argument& output) {
  // torch.export.save writes a str although no release loads it.
  constexpr int kNoRelease = std::numeric_limits<int>::max();
  if (output.wrapper != Argument::Wrapper::plain) return std::nullopt;
  if (output.is<None>()) return ConstantResult{"None", 204};
  if (output.is<int64_t>()) return ConstantResult{"a constant int", 204};
  if (output.is<double>()) return ConstantResult{"a constant float", 206};
  if (output.is<bool>()) return ConstantResult{"a constant bool", 207};
  if (output.is<std::string>()) return ConstantResult{"a constant str", kNoRelease};
  return std::nullopt;
}

// A reader reads the structure of every call, also of modules whose signatures were preserved.
void check_tree_classes(const Program& program, const Release& release, const AddBlocker& add) {
  for (const TreeClassRow& row : kTreeClasses) {
    if (release.number < row.from || release.number > row.to) continue;
    for (size_t i = 0; i < program.module_call_graph.size(); ++i) {
      const auto& signature = program.module_call_graph[i].signature;
      if (!signature) continue;
      for (const std::string* spec : {&signature->in_spec, &signature->out_spec})
        if (spec->find('"' + std::string(row.written)) != std::string::npos)
          add({.kind = row.kind,
               .text = std::string(row.text),
               .where = fmt::format(".graph_module.module_call_graph[{}].signature", i),
               .first = release_from(row.to + 1)});
    }
  }
}

void check_operators(const Program& program, const Release& release, const AddBlocker& add) {
  check_tree_classes(program, release, add);
  check_outputs(program, release, add);
  check_order_of_outputs(program, release, add);
  check_module_calls(program, release, add);
  check_result_kinds(program, release, add);
  check_sizes(program, release, add);
  for (const PlacedGraph& placed : placed_graphs(program)) {
    check_inputs(placed, release, add);
    check_results(placed, release, add);
    size_t position = 0;
    for (NodeId id : placed.graph->nodes()) {
      const Node& node = placed.graph->node(id);
      const auto block = [&](BlockerKind kind, std::string text, std::string where,
                             const Release* first) {
        add({kind, std::move(text), std::move(where), describe_node(*placed.graph, node), first});
      };
      const Lifetime* lifetime = find_operator_lifetime(node.target);
      if (lifetime != nullptr && !lifetime->includes(release.number))
        block(BlockerKind::operator_name,
              fmt::format("{} {}", node.target, when(*lifetime, release.number)),
              placed.node_place(position), first_with(*lifetime, release.number));
      for (const CallableRow& row : kCallables)
        if (release.number < row.first && node.target.starts_with(row.prefix) &&
            !belongs_to_vmap(node.target))
          block(BlockerKind::function,
                fmt::format("{} may be a node from {} on", node.target,
                            release_name(*release_from(row.first))),
                placed.node_place(position), release_from(row.first));
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const std::string& name = node.inputs[i].name;
        const Lifetime* span = find_argument_lifetime(node.target, name);
        if (span != nullptr && !span->includes(release.number))
          block(BlockerKind::operator_argument,
                fmt::format("the argument {} of {} {}", name, node.target,
                            when(*span, release.number)),
                placed.input_place(position, i), first_with(*span, release.number));
      }
      ++position;
    }
  }
}

}  // namespace pt2
