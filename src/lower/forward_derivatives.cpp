#include "lower/forward_derivatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/decompose/decompose.h"
#include "lower/derivative_rules.h"
#include "lower/new_nodes.h"
#include "lower/pass.h"
#include "lower/signature.h"
#include "ops/table.h"

namespace pt2 {
namespace {

constexpr std::string_view kFunctorch = "torch._functorch.predispatch.";
// The maximum depth of nested jvp: each level doubles the work.
constexpr int kMaxLevels = 8;
// The maximum number of calls: those of a formula are formulas again at the levels below. In real
// programs each operator grows to about ten.
constexpr size_t kMaxCalls = 50'000;
constexpr size_t kMaxGrowth = 256;

// Returns the name of an operation on dual numbers, such as "_make_dual", in either spelling of the
// target; empty for other targets.
std::string_view dual_operation(std::string_view target) {
  if (target == "torch.ops.aten._make_dual.default") return "_make_dual";
  if (target == "torch.ops.aten._unpack_dual.default") return "_unpack_dual";
  if (!target.starts_with(kFunctorch)) return {};
  target.remove_prefix(kFunctorch.size());
  constexpr std::string_view kNames[] = {
      "_make_dual",       "_unpack_dual",           "_unwrap_for_grad",      "_enter_dual_level",
      "_exit_dual_level", "_jvp_increment_nesting", "_jvp_decrement_nesting"};
  return std::ranges::find(kNames, target) != std::end(kNames) ? target : std::string_view();
}

// True if the operator selects elements of an operand along a dimension and also returns their
// indices.
bool gives_elements_and_indices(std::string_view target) {
  const ops::Operator op = ops::find_operator(target);
  return op && op.form == ops::Operator::Form::as_written && op.def->facts.chosen_indices == 1;
}

// Changes the type of a tensor to that of its reduction, which keeps dimension `dim` with size 1.
// Strides are only updated if they are literals.
void keep_dim(TensorMeta& meta, int64_t dim) {
  const auto rank = static_cast<int64_t>(meta.sizes.size());
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) return;
  const auto at = static_cast<size_t>(dim);
  const SymInt size = std::exchange(meta.sizes[at], SymInt(1));
  const auto is_symbolic = [](const SymInt& number) { return number.is_symbolic(); };
  if (size.is_symbolic() || size.literal() == 0 || meta.strides.size() != meta.sizes.size() ||
      std::ranges::any_of(meta.strides, is_symbolic))
    return;
  const int64_t own = meta.strides[at].literal();
  for (SymInt& stride : meta.strides)
    if (stride.literal() > own) stride = SymInt(stride.literal() / size.literal());
}

// True if a result of the node can have a tangent. Assertions, comparisons and sizes only read
// values.
bool may_vary(const Graph& graph, const Node& node) {
  return any_result(node, [&](ValueId id) {
    const TensorMeta* meta = graph.value(id).tensor();
    const auto dtype = meta != nullptr ? meta->dtype.dtype() : std::nullopt;
    return meta != nullptr && (!dtype || dtype_category(*dtype) >= DtypeCategory::floating);
  });
}

class Lowering : public DerivativeBuilder {
 public:
  Lowering(const Graph& graph, NodeBudget& budget) : out_(graph), budget_(budget) {}

  Result<Graph> run() {
    const std::vector<NodeId> order(out_.nodes().begin(), out_.nodes().end());
    order_ = order.size();
    for (NodeId id : order) {
      node_ = id;
      const Node node = out_.node(id);  // a copy: insertions move the graph's nodes
      PT2_TRY_VOID(visit(node));
    }
    PT2_TRY_VOID(replace_outputs());
    for (size_t i = replaced_.size(); i-- > 0;) PT2_TRY_VOID(out_.erase_node(replaced_[i]));
    return std::move(out_);
  }

  // The arguments of `wanted` hold terms.
  Result<Term> call(DerivativeCall wanted) override {
    PT2_TRY(std::optional<Dual> dual, open(wanted));
    if (!dual) {
      const ValueId like = wanted.like;
      PT2_TRY(const std::vector<Term> results, emit(std::move(wanted), {Argument(like)}));
      return results[0];
    }
    PT2_TRY(const Term result, call(dual->primal));
    PT2_TRY(const Term tangent,
            placed(tangent_of(*this, *dual->rule, {dual->primal, dual->tangents, result})));
    if (tangent == kNoTerm) return result;
    return add_term({.level = dual->level, .primal = result, .tangent = tangent});
  }

 private:
  // A graph value, or a dual number whose parts are terms.
  struct TermData {
    int level = 0;  // 0: a graph value, `value`
    ValueId value{};
    Term primal = kNoTerm;
    Term tangent = kNoTerm;
  };
  struct Parts {
    Term primal;
    Term tangent;  // kNoTerm: zero
  };

  // A call with dual operands, split into primals and tangents at their highest level.
  struct Dual {
    int level;
    const DerivativeRule* rule;
    DerivativeCall primal;
    std::vector<NamedArgument> tangents;
  };

  // Splits the call; nothing (nullopt) if no operand is dual.
  Result<std::optional<Dual>> open(const DerivativeCall& wanted) {
    if (++calls_ > kMaxCalls + kMaxGrowth * order_)
      return refused(fmt::format("its forward derivatives take more than {} operators",
                                 kMaxCalls + kMaxGrowth * order_),
                     ErrorCode::limit);
    int level = 0;
    for_each_operand(wanted, [&](Term id) { level = std::max(level, term(id).level); });
    if (level == 0) return std::optional<Dual>();
    // Rules find operands by name, and an operand without one would count as constant.
    for (const NamedArgument& input : wanted.inputs)
      if (input.name.empty() && any_value(input.arg, [&](Term id) { return is_dual(id); }))
        return refused(fmt::format("{} has a dual operand without a name", wanted.target));
    const DerivativeRule* rule = find_derivative_rule(wanted.target);
    if (rule == nullptr || (!rule->holds_for_complex && has_complex_operand(wanted)))
      return refused(fmt::format("the forward derivative of {} is not known here", wanted.target));
    Dual out{.level = level, .rule = rule, .primal = wanted, .tangents = wanted.inputs};
    change_values(out.primal.inputs, [&](Term id) { return part(id, level).primal; });
    change_values(out.tangents, [&](Term id) { return part(id, level).tangent; });
    return std::optional(std::move(out));
  }

  // Emits a call of a linear operator whose result is a list like `like`.
  Result<std::vector<Term>> call_for_list(DerivativeCall wanted, const Argument& like) {
    PT2_TRY(std::optional<Dual> dual, open(wanted));
    if (!dual) return emit(std::move(wanted), {like});
    if (!is_linear(*dual->rule)) return refused(kSeveralResults);
    PT2_TRY(std::vector<Term> results, call_for_list(dual->primal, like));
    PT2_TRY(std::optional<DerivativeCall> of_tangents,
            linear_call(*this, *dual->rule, {dual->primal, dual->tangents, kNoTerm}));
    if (!of_tangents) return results;
    PT2_TRY(const std::vector<Term> tangents, call_for_list(*std::move(of_tangents), like));
    for (size_t i = 0; i < results.size(); ++i)
      results[i] = add_term({.level = dual->level, .primal = results[i], .tangent = tangents[i]});
    return results;
  }

  Term add_term(TermData data) {
    terms_.push_back(data);
    return Term{static_cast<uint32_t>(terms_.size() - 1)};
  }
  const TermData& term(Term id) const { return terms_[static_cast<size_t>(id)]; }
  bool is_dual(Term id) const { return term(id).level > 0; }
  Parts part(Term id, int level) const {
    const TermData& data = term(id);
    return data.level == level ? Parts{data.primal, data.tangent} : Parts{id, kNoTerm};
  }
  Term term_of(ValueId id) {
    const auto found = of_value_.find(id);
    if (found != of_value_.end()) return found->second;
    return of_value_.emplace(id, add_term({.value = id})).first->second;
  }
  bool is_changed(ValueId id) const {
    const auto found = of_value_.find(id);
    return found != of_value_.end() &&
           (term(found->second).level > 0 || term(found->second).value != id);
  }

  // Adds the node to an error of a rule, which does not know it.
  Result<Term> placed(Result<Term> result) const {
    if (result || !result.error().where.empty()) return result;
    return at(std::move(result).error(), place());
  }

  std::string place() const {
    const Node& node = out_.node(node_);
    std::string name;
    for_each_result(node, [&](ValueId id) {
      if (name.empty()) name = out_.value(id).name;
    });
    return fmt::format("%{} ({})", name, node.target);
  }

  Error refused(std::string_view text, ErrorCode code = ErrorCode::unsupported) const {
    return {code, text, place()};
  }
  static constexpr std::string_view kSeveralResults =
      "an operator with several results has dual operands";

  Result<void> visit(const Node& node) {
    const std::string_view operation = dual_operation(node.target);
    if (!operation.empty()) {
      replaced_.push_back(node_);
      return visit_dual_operation(operation, node);
    }
    bool dual = false, changed = false;
    for_each_operand(node, [&](ValueId id) {
      changed |= is_changed(id);
      dual |= term(term_of(id)).level > 0;
    });
    if (!changed) return {};
    if (!dual || !may_vary(out_, node)) return replace_inputs(node);
    const std::vector<ValueId> results = results_of(node);
    if (gives_elements_and_indices(node.target) && results.size() == 2) {
      replaced_.push_back(node_);
      return visit_choice(node, results);
    }
    if (node.outputs.size() != 1 || results.empty()) return refused(kSeveralResults);
    DerivativeCall wanted{.target = node.target, .inputs = node.inputs, .like = results[0]};
    change_values(wanted.inputs, [&](ValueId id) { return term_of(id); });
    replaced_.push_back(node_);
    if (node.outputs[0].is<ValueId>()) {
      PT2_TRY(of_value_[results[0]], call(std::move(wanted)));
      return {};
    }
    PT2_TRY(const std::vector<Term> computed, call_for_list(std::move(wanted), node.outputs[0]));
    for (size_t i = 0; i < results.size(); ++i) of_value_[results[i]] = computed[i];
    return {};
  }

  // The tangent of the selected elements consists of the elements of the tangent at the same
  // indices.
  Result<void> visit_choice(const Node& node, std::span<const ValueId> results) {
    DerivativeCall wanted{.target = node.target, .inputs = node.inputs, .like = results[0]};
    change_values(wanted.inputs, [&](ValueId id) { return term_of(primal_value(term_of(id))); });
    const auto* operand = find_argument<ValueId>(node, "self");
    const auto* keeps = find_argument<bool>(node, "keepdim");
    const std::optional<int64_t> dim = literal(node, "dim", -1);
    if (operand == nullptr || !dim) return malformed();
    const Term x = term_of(*operand);
    const bool keeps_rank = ops::find_operator(node.target).signature().find("keepdim") == nullptr;
    const ChosenAt at{
        .dim = *dim, .keeps = keeps_rank || (keeps != nullptr && *keeps), .like = results[0]};
    PT2_TRY(const std::vector<Term> made, emit(std::move(wanted), node.outputs));
    of_value_[results[1]] = made[1];
    PT2_TRY(of_value_[results[0]], chosen(x, made[0], made[1], at));
    return {};
  }

  struct ChosenAt {
    int64_t dim;
    bool keeps;
    ValueId like;
  };
  // `values` are the elements of x at `indices`, without tangents.
  Result<Term> chosen(Term x, Term values, Term indices, const ChosenAt& at) {
    const TermData data = term(x);
    if (data.level == 0) return values;
    PT2_TRY(const Term primal, chosen(data.primal, values, indices, at));
    const NamedArgument dim{.name = "dim", .arg = Argument(at.dim)};
    Term places = indices;
    if (!at.keeps) {
      PT2_TRY(places, call({.target = "torch.ops.aten.unsqueeze.default",
                            .inputs = {{.name = "self", .arg = Argument(indices)}, dim},
                            .like = at.like,
                            .typed_as = x,
                            .dtype = Dtype::int64,
                            .kept_dims = {at.dim}}));
    }
    DerivativeCall gather{.target = "torch.ops.aten.gather.default",
                          .inputs = {{.name = "self", .arg = Argument(data.tangent)},
                                     dim,
                                     {.name = "index", .arg = Argument(places)}},
                          .like = at.like};
    if (!at.keeps) {
      gather.typed_as = x;
      gather.kept_dims = {at.dim};
    }
    PT2_TRY(Term tangent, call(std::move(gather)));
    if (!at.keeps) {
      PT2_TRY(tangent, call({.target = "torch.ops.aten.squeeze.dim",
                             .inputs = {{.name = "self", .arg = Argument(tangent)}, dim},
                             .like = at.like}));
    }
    return add_term({.level = data.level, .primal = primal, .tangent = tangent});
  }

  Result<void> visit_dual_operation(std::string_view operation, const Node& node) {
    if (operation == "_jvp_increment_nesting") return enter();
    if (operation == "_jvp_decrement_nesting") --nesting_;
    if (operation != "_make_dual" && operation != "_unpack_dual" && operation != "_unwrap_for_grad")
      return {};
    const Term operand = first_operand(node);
    if (operand == kNoTerm) return malformed();
    const int level = std::max(nesting_, 1);
    if (operation == "_make_dual") {
      const auto* tangent = node.inputs.size() > 1 ? node.inputs[1].arg.get_if<ValueId>() : nullptr;
      const auto* result = find_only_output(node);
      if (tangent == nullptr || result == nullptr) return malformed();
      const Term change = term_of(*tangent);
      // PyTorch refuses this too (_set_fw_grad). The levels bound how deep terms are.
      if (std::max(term(operand).level, term(change).level) >= level)
        return refused("a dual number is made of dual numbers of its own level",
                       ErrorCode::invalid);
      of_value_[*result] = add_term({.level = level, .primal = operand, .tangent = change});
      return {};
    }
    if (operation == "_unwrap_for_grad") {
      const auto* result = find_only_output(node);
      if (result == nullptr) return malformed();
      of_value_[*result] = part(operand, level).primal;  // also the `aux` of jvp
      return {};
    }
    return unpack(node, operand, level);
  }

  Result<void> unpack(const Node& node, Term operand, int level) {
    const std::vector<ValueId> results = results_of(node);
    if (results.size() != 2) return malformed();
    auto [primal, tangent] = part(operand, level);
    if (tangent == kNoTerm && !out_.uses(results[1]).empty()) {
      PT2_TRY(tangent, call({"torch.ops.aten.zeros_like.default",
                             {{.name = "self", .arg = Argument(primal)}},
                             results[1]}));
    }
    of_value_[results[0]] = primal;
    if (tangent != kNoTerm) of_value_[results[1]] = tangent;
    return {};
  }

  Result<void> enter() {
    if (++nesting_ <= kMaxLevels) return {};
    return refused(fmt::format("more than {} nested jvp levels", kMaxLevels), ErrorCode::limit);
  }

  Error malformed() const {
    return refused("found other arguments or results than those of a dual number",
                   ErrorCode::invalid);
  }

  Term first_operand(const Node& node) {
    const auto* id = node.inputs.empty() ? nullptr : node.inputs[0].arg.get_if<ValueId>();
    return id == nullptr ? kNoTerm : term_of(*id);
  }

  // Returns the primal of a dual number, with the tangents of all levels removed.
  ValueId primal_value(Term id) const {
    while (is_dual(id)) id = term(id).primal;
    return term(id).value;
  }

  bool has_complex_operand(const DerivativeCall& wanted) const {
    return any_operand(wanted, [&](Term id) {
      const TensorMeta* meta = out_.value(primal_value(id)).tensor();
      const auto dtype = meta == nullptr ? std::nullopt : meta->dtype.dtype();
      return dtype && dtype_category(*dtype) == DtypeCategory::complex;
    });
  }

  // Replaces dual numbers by their primals, in nodes that only read values and in nodes after the
  // unpacking.
  Result<void> replace_inputs(const Node& node) {
    std::vector<NamedArgument> inputs = node.inputs;
    change_values(inputs, [&](ValueId id) { return primal_value(term_of(id)); });
    out_.set_node_inputs(node_, std::move(inputs));
    return {};
  }

  Result<void> replace_outputs() {
    std::vector<Argument> outputs(out_.outputs().begin(), out_.outputs().end());
    bool dual = false;
    change_values(outputs, [&](ValueId id) {
      dual |= is_dual(term_of(id));
      return term(term_of(id)).value;
    });
    if (dual) return Error{ErrorCode::invalid, "the graph returns a dual number"};
    out_.set_outputs(std::move(outputs));
    return {};
  }

  // Inserts the call. Returns terms for its results, which have the metadata of `like`.
  Result<std::vector<Term>> emit(DerivativeCall wanted, std::vector<Argument> like) {
    change_values(wanted.inputs, [&](Term id) { return term(id).value; });
    std::vector<Term> results;
    std::optional<Error> error;
    const auto make = [&](ValueId id) {
      const GraphValue& old = out_.value(id);
      GraphValue result{.name = out_.unused_name(old.name + "_jvp"), .meta = old.meta};
      if (wanted.typed_as != kNoTerm) result.meta = out_.value(primal_value(wanted.typed_as)).meta;
      if (auto* meta = std::get_if<TensorMeta>(&result.meta)) {
        for (const int64_t dim : wanted.kept_dims) keep_dim(*meta, dim);
        if (wanted.dtype) meta->dtype = {dtype_info(*wanted.dtype).schema_number};
      }
      auto value = out_.add_value(std::move(result));
      if (!value) {
        error = std::move(value).error();
        return Argument(id);
      }
      results.push_back(add_term({.value = *value}));
      return Argument(*value);
    };
    change_values(like, make);
    if (error) return *std::move(error);
    Node node{.target = std::move(wanted.target),
              .inputs = std::move(wanted.inputs),
              .outputs = std::move(like),
              .metadata = out_.node(node_).metadata};
    if (!budget_.take(weight_of(out_, node)))
      return at(budget_.exceeded_by("forward derivatives add"), place());
    out_.insert_node(std::move(node), node_);
    return results;
  }

  Graph out_;
  NodeBudget& budget_;
  NodeId node_{};  // the node being replaced
  int nesting_ = 0;
  size_t order_ = 0;  // nodes of the original graph
  size_t calls_ = 0;
  std::vector<TermData> terms_ = {{}};  // the first entry is kNoTerm
  std::unordered_map<ValueId, Term> of_value_;
  std::vector<NodeId> replaced_;
};

using Targets = std::set<std::string, std::less<>>;

// The operators without a rule that have dual operands.
void collect_without_rule(const Graph& graph, Targets& targets) {
  std::unordered_set<ValueId> dual;
  int nesting = 0;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::string_view operation = dual_operation(node.target);
    if (operation == "_jvp_increment_nesting") ++nesting;
    if (operation == "_jvp_decrement_nesting") --nesting;
    bool takes_dual = operation == "_make_dual";
    takes_dual |= any_operand(node, [&](ValueId value) { return dual.contains(value); });
    for_each_callee(
        node, [&](SubgraphId nested) { collect_without_rule(graph.subgraph(nested), targets); });
    const bool unpacks = operation == "_unpack_dual" || operation == "_unwrap_for_grad";
    if (!takes_dual || (unpacks && nesting <= 1)) continue;
    for_each_result(node, [&](ValueId value) { dual.insert(value); });
    if (may_vary(graph, node) && operation.empty() &&
        find_derivative_rule(node.target) == nullptr && !gives_elements_and_indices(node.target))
      targets.insert(node.target);
  }
}

// Decomposes the operators without a rule. Operators without a formula remain, and the lowering
// reports them.
bool decompose_what_has_no_rule(Program& program, Pipeline& pipeline) {
  bool changed = false;
  Targets tried;
  while (has_form(program.graph, Form::without_vmap_regions)) {
    Targets targets;
    collect_without_rule(program.graph, targets);
    std::erase_if(targets, [&](const std::string& target) { return tried.contains(target); });
    if (targets.empty()) break;
    const OperatorSet set{.all_but = targets};
    changed = decompose_to(set, program, pipeline).changed || changed;
    tried.merge(targets);
  }
  return changed;
}

}  // namespace

Result<std::optional<Graph>> lower_forward_derivatives(const Graph& graph, NodeBudget& budget) {
  std::optional<Graph> out;
  if (!makes_no_dual_numbers(graph)) {
    PT2_TRY(out, Lowering(graph, budget).run());
  }
  for (size_t i = 0; i < graph.subgraphs().size(); ++i) {
    PT2_TRY(std::optional<Graph> nested, lower_forward_derivatives(graph.subgraphs()[i], budget));
    if (!nested) continue;
    if (!out) out = graph;
    out->subgraph(SubgraphId{static_cast<uint32_t>(i)}) = *std::move(nested);
  }
  return out;
}

PassResult forward_derivatives(Program& program, Pipeline& pipeline) {
  PassResult result;
  if (!makes_no_dual_numbers(program.graph))
    result.changed = decompose_what_has_no_rule(program, pipeline);
  auto lowered = lower_forward_derivatives(program.graph, pipeline.budget);
  if (!lowered) {
    Error error = std::move(lowered).error();
    result.failures.push_back(
        {.where = std::move(error.where), .text = std::move(error.message), .code = error.code});
  } else if (*lowered) {
    program.graph = **std::move(lowered);
    rename_results(program);
    result.changed = true;
  }
  return result;
}

bool makes_no_dual_numbers(const Graph& graph) {
  return !any_node(graph,
                   [](const Node& node) { return dual_operation(node.target) == "_make_dual"; });
}

}  // namespace pt2
