#include "run/bound_graph.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_set>

#include "base/printable.h"
#include "ir/graph_place.h"
#include "ir/values/constant_value.h"
#include "ir/walk.h"
#include "ops/bind.h"
#include "ops/meta.h"
#include "run/reference/vmap.h"

namespace pt2::run {
namespace {

// from_schema refuses deeper nesting; this guards programs built by hand.
constexpr int kMaxGraphDepth = 64;

class Binder {
 public:
  explicit Binder(const CustomOperators& operators) : operators_(operators) {}

  Result<std::unique_ptr<BoundGraph>> bind(const Graph& graph, int depth) {
    if (depth > kMaxGraphDepth)
      return Error{ErrorCode::limit,
                   "graphs are nested deeper than " + std::to_string(kMaxGraphDepth), ""};
    auto bound = std::make_unique<BoundGraph>();
    bound->graph = &graph;
    for (const Graph& subgraph : graph.subgraphs()) {
      PT2_TRY(auto nested, bind(subgraph, depth + 1));
      bound->subgraphs.push_back(std::move(nested));
    }
    for (NodeId id : graph.nodes()) {
      PT2_TRY(BoundNode node, bind_node(graph, graph.node(id), *bound));
      bound->nodes.push_back(std::move(node));
    }
    find_releases(*bound);
    PT2_TRY_VOID(find_batched_values(*bound));
    return bound;
  }

  // The error that names every operator without a kernel, if there is any.
  std::optional<Error> missing() const {
    if (missing_.empty()) return std::nullopt;
    std::string text = std::to_string(missing_.size()) +
                       (missing_.size() == 1 ? " operator has" : " operators have") +
                       " no kernel; docs/custom-operators.md says how to add one:";
    for (const auto& [target, places] : missing_) {
      std::string line = target + " (" + places.front();
      if (places.size() > 1) line += " and " + std::to_string(places.size() - 1) + " more";
      text += "\n  " + printable_line(line + ")");
    }
    return Error{ErrorCode::unsupported, std::move(text), ""};
  }

 private:
  Result<BoundNode> bind_node(const Graph& graph, const Node& node, const BoundGraph& bound) {
    BoundNode out;
    out.node = &node;
    out.higher_order = find_higher_order(node.target);
    const std::optional<std::string> method = called_method(graph, node);
    const std::string* target = method             ? &*method
                                : out.higher_order ? called_operator(node)
                                                   : &node.target;
    if (target != nullptr && !calls_print(node)) {
      out.op = ops::find_operator(operators_, *target);
      if (!out.op) {
        missing_[*target].push_back(node_place(graph, node));
        return out;
      }
    }
    Result<void> done =
        out.higher_order ? bind_positional(node, bound, out) : bind_to_signature(node, out);
    if (!done) return at_node(std::move(done).error(), graph, node);
    return out;
  }

  // Binds arguments in the file's order. A dictionary holds hints for compilers and becomes None.
  static Result<void> bind_positional(const Node& node, const BoundGraph& bound, BoundNode& out) {
    auto add = [&](const Argument& argument) -> Result<void> {
      if (const auto* subgraph = argument.get_if<SubgraphId>())
        out.subgraphs.emplace_back(out.arguments.size(),
                                   bound.subgraphs[static_cast<size_t>(*subgraph)].get());
      if (argument.is<ArgumentMap>()) {
        out.arguments.emplace_back();
        return {};
      }
      PT2_TRY(BoundArgument value, bind_argument(argument));
      out.arguments.push_back(std::move(value));
      return {};
    };
    for (const NamedArgument& input : node.inputs) PT2_TRY_VOID(add(input.arg));
    return {};
  }

  static Result<void> bind_to_signature(const Node& node, BoundNode& out) {
    const Signature& signature = out.op.signature();
    std::vector<bool> given(signature.parameter_count, false);
    out.arguments.resize(signature.parameter_count);
    size_t position = 0;
    for (const NamedArgument& input : node.inputs) {
      PT2_TRY(const size_t index, ops::parameter_index(signature, input.name, position++));
      if (given[index]) return ops::operator_error("argument '" + input.name + "' is given twice");
      given[index] = true;
      PT2_TRY(BoundArgument argument, bind_argument(input.arg));
      if (argument.dynamic == nullptr) {
        PT2_TRY(argument.constant,
                ops::coerce(signature.parameter_array[index], std::move(argument.constant)));
      }
      out.arguments[index] = std::move(argument);
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i]) continue;
      PT2_TRY(out.arguments[i].constant, ops::default_value(signature.parameter_array[i]));
    }
    return {};
  }

  static Result<BoundArgument> bind_argument(const Argument& argument) {
    const bool is_dynamic = any_value(argument, [](ValueId) { return true; });
    if (is_dynamic) return BoundArgument{Value(), &argument};
    PT2_TRY(Value constant, constant_value(argument));
    return BoundArgument{std::move(constant), nullptr};
  }

  static void find_releases(BoundGraph& bound) {
    const Graph& graph = *bound.graph;
    constexpr size_t kNever = SIZE_MAX;
    std::vector<size_t> last(graph.value_count(), kNever);
    for (size_t step = 0; step < bound.nodes.size(); ++step) {
      const auto note = [&](ValueId id) { last[static_cast<size_t>(id)] = step; };
      for_each_operand(*bound.nodes[step].node, note);
      for_each_result(*bound.nodes[step].node, note);
    }
    for (const Argument& output : graph.outputs())
      for_each_value(output, [&](ValueId id) { last[static_cast<size_t>(id)] = kNever; });
    for (size_t id = 0; id < last.size(); ++id)
      if (last[id] != kNever)
        bound.nodes[last[id]].released.push_back(ValueId{static_cast<uint32_t>(id)});
  }

  using Signature = ops::Signature;
  const CustomOperators& operators_;
  std::map<std::string, std::vector<std::string>> missing_;
};

// True if a higher-order operator may write to one of its arguments.
bool may_write(const BoundNode& node) {
  if (node.op && node.op.mutates() && !node.higher_order->has(HigherOrderRow::kCopiesArguments))
    return true;
  return std::ranges::any_of(node.subgraphs, [](const auto& subgraph) {
    const std::vector<bool> written = inputs_possibly_written(*subgraph.second);
    return std::ranges::find(written, true) != written.end();
  });
}

}  // namespace

Result<std::unique_ptr<BoundGraph>> bind_graph(const Graph& graph,
                                               const CustomOperators& operators) {
  Binder binder(operators);
  PT2_TRY(auto bound, binder.bind(graph, 0));
  if (auto error = binder.missing()) return *std::move(error);
  return bound;
}

bool may_write_to_argument(const BoundNode& node, size_t index) {
  const ops::Operator& op = node.op;
  const ops::Parameter& parameter = op.signature().parameter_array[index];
  if (parameter.mutated || (op.form == ops::Operator::Form::in_place && index == 0)) return true;
  // Drawing from a generator changes its state.
  if (parameter.type.base == ops::BaseType::generator)
    return node.higher_order != nullptr || node.arguments[index].dynamic != nullptr;
  const std::string_view condition = op.def->facts.updates_statistics_if;
  if (condition.empty() || (parameter.name != "running_mean" && parameter.name != "running_var"))
    return false;
  const BoundArgument& statistic = node.arguments[index];
  if (node.higher_order == nullptr && statistic.dynamic == nullptr && statistic.constant.is_none())
    return false;
  const ops::Parameter* flag = op.signature().find(condition);
  if (flag == nullptr || node.higher_order != nullptr) return true;
  const BoundArgument& given =
      node.arguments[static_cast<size_t>(flag - op.signature().parameter_array)];
  const auto* constant = given.dynamic == nullptr ? given.constant.get_if<bool>() : nullptr;
  return constant == nullptr || *constant;
}

bool may_write_to_arguments(const BoundNode& node) {
  if (node.higher_order != nullptr) return may_write(node);
  for (size_t i = 0; node.op && i < node.op.signature().parameter_count; ++i)
    if (may_write_to_argument(node, i)) return true;
  return false;
}

// A custom operator may return its arguments whatever its signature says: the signature may be
// wrong.
bool may_return_arguments(const BoundNode& node) {
  if (node.higher_order != nullptr || node.op.custom != nullptr) return true;
  if (!node.op || node.op.form == ops::Operator::Form::copy) return false;
  return node.op.mutates() || node.op.signature().may_alias() ||
         node.op.def->facts.sharing != ops::Sharing::as_signed;
}

namespace {

// Graph inputs whose storage a value may share, sorted; null: none. Values share one list, because
// a file may have thousands of values that each share thousands of inputs.
using Roots = std::shared_ptr<const std::vector<uint32_t>>;

Roots joined_roots(const std::vector<Roots>& lists) {
  if (lists.empty()) return nullptr;
  if (lists.size() == 1) return lists[0];
  std::vector<uint32_t> out;
  if (lists.size() == 2) {
    std::ranges::set_union(*lists[0], *lists[1], std::back_inserter(out));
  } else {
    for (const Roots& list : lists) out.insert(out.end(), list->begin(), list->end());
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  return std::make_shared<const std::vector<uint32_t>>(std::move(out));
}

}  // namespace

std::vector<bool> inputs_possibly_written(const BoundGraph& bound) {
  const Graph& graph = *bound.graph;
  std::vector<Roots> roots(graph.value_count());
  std::vector<bool> written(graph.inputs().size(), false);
  std::vector<uint32_t> inputs;
  for (uint32_t i = 0; i < graph.inputs().size(); ++i)
    if (const auto* id = graph.inputs()[i].get_if<ValueId>()) {
      roots[static_cast<size_t>(*id)] = std::make_shared<const std::vector<uint32_t>>(1, i);
      inputs.push_back(i);
    }
  // Joined lists may have this many inputs together. Values beyond it are taken to share all
  // inputs.
  size_t left = size_t{1} << 24;
  const auto every_input = std::make_shared<const std::vector<uint32_t>>(std::move(inputs));

  for (const BoundNode& node : bound.nodes) {
    const bool may_alias = may_return_arguments(node);
    std::vector<Roots> shared;
    std::unordered_set<const void*> seen, marked;
    const bool region_writes = node.higher_order != nullptr && may_write(node);
    for (size_t i = 0; i < node.node->inputs.size(); ++i) {
      const NamedArgument& input = node.node->inputs[i];
      bool mutated = region_writes;
      if (node.op && node.higher_order == nullptr) {
        const auto index = ops::parameter_index(node.op.signature(), input.name, i);
        mutated = index && may_write_to_argument(node, *index);
      }
      for_each_value(input.arg, [&](ValueId id) {
        const Roots& own = roots[static_cast<size_t>(id)];
        if (own == nullptr) return;
        if (mutated && marked.insert(own.get()).second)
          for (const uint32_t root : *own) written[root] = true;
        if (may_alias && seen.insert(own.get()).second) shared.push_back(own);
      });
    }
    size_t joined = 0;
    for (const Roots& list : shared) joined += list->size();
    const bool is_short = shared.size() < 2 || joined <= left;
    if (is_short && shared.size() > 1) left -= joined;
    const Roots all = is_short ? joined_roots(shared) : every_input;
    for_each_result(*node.node, [&](ValueId id) { roots[static_cast<size_t>(id)] = all; });
    for (const ValueId id : node.released) roots[static_cast<size_t>(id)] = nullptr;
  }
  return written;
}

}  // namespace pt2::run
