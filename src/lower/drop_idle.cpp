// Drops nodes whose result equals one of their arguments: dropout outside of training, detach, a
// conversion to the dtype that a tensor already has, as_strided with the strides of its argument, a
// view with the sizes that its argument has or had before it was viewed otherwise, a copy that is
// only read.
// Drops the assertions of dtypes that export writes beside conversions, if they certainly hold.
// Such nodes hide that their neighbors can be fused.
#include <algorithm>

#include "base/check.h"
#include "check/shapes/proven_dtypes.h"
#include "check/shapes/recorded_sizes.h"
#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "lower/arguments.h"
#include "lower/functional/views.h"
#include "lower/new_nodes.h"
#include "lower/pass.h"
#include "lower/written_memory.h"

namespace pt2 {
namespace {

struct Idle {
  NodeId node{};
  ValueId argument{};
  std::optional<ValueId> result{};  // absent for an assertion
  ops::Sharing sharing{};
  // True if the node does nothing only because the argument has its recorded dtype: a conversion to
  // that dtype, or its assertion.
  bool needs_dtype() const { return !result || sharing == ops::Sharing::unless_cast; }
  // True if the argument must have its recorded sizes.
  bool needs_sizes = false;
  // True if the result may have other strides than the argument.
  bool changes_strides = false;
};

// Returns the assertion of the argument's recorded dtype. The device is not compared here either,
// and tensors are strided.
std::optional<Idle> find_assertion(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.target != "torch.ops.aten._assert_tensor_metadata.default" || !node.outputs.empty())
    return std::nullopt;
  const Argument* tensor = node.find_input("a");
  const TensorMeta* meta = tensor_meta(graph, tensor);
  if (meta == nullptr) return std::nullopt;
  // The operator refuses arguments of other names or kinds: such a node must stay.
  for (const NamedArgument& input : node.inputs) {
    const auto* dtype = input.arg.get_if<ScalarType>();
    const auto* layout = input.arg.get_if<Layout>();
    const bool is_none = input.arg.is<None>();
    const bool holds =
        (input.name == "a" && &input.arg == tensor) || (input.name == "size" && is_none) ||
        (input.name == "stride" && is_none) ||
        (input.name == "dtype" && (is_none || (dtype != nullptr && *dtype == meta->dtype))) ||
        (input.name == "device" && (is_none || device_argument(input.arg))) ||
        (input.name == "layout" && (is_none || (layout != nullptr && *layout == Layout::strided)));
    if (!holds || std::ranges::count(node.inputs, input.name, &NamedArgument::name) != 1)
      return std::nullopt;
  }
  return Idle{.node = id, .argument = *tensor->get_if<ValueId>()};
}

// True if the items are these numbers. Items that are values of the graph have their record.
bool are(const Graph& graph, const ArgumentList* items, const std::vector<SymInt>& numbers) {
  if (items == nullptr || items->items.size() != numbers.size()) return false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto* literal = items->items[i].get_if<int64_t>();
    const auto* id = items->items[i].get_if<ValueId>();
    const auto* number = id != nullptr ? std::get_if<SymInt>(&graph.value(*id).meta) : nullptr;
    if (literal != nullptr ? !(numbers[i] == SymInt(*literal))
                           : number == nullptr || !(*number == numbers[i]))
      return false;
  }
  return true;
}

// True for an as_strided that shows all elements of a row-major tensor in their order: its strides
// may only differ where the size is 1. PyTorch puts it behind the mean of images that lie
// channels-last (ATen/native/AdaptiveAveragePooling.cpp). Reductions give row-major results here,
// whatever the strides of their operands.
bool shows_row_major(const Graph& graph, const Node& node) {
  if (node.target != "torch.ops.aten.as_strided.default") return false;
  const Argument* self = node.find_input("self");
  const TensorMeta* meta = tensor_meta(graph, self);
  if (meta == nullptr || !are(graph, find_argument<ArgumentList>(node, "size"), meta->sizes) ||
      literal(node, "storage_offset", 0) != 0)
    return false;
  const Node* maker = find_maker(graph, *self->get_if<ValueId>());
  const ops::Operator made = maker != nullptr ? ops::find_operator(maker->target) : ops::Operator();
  if (!made || made.custom != nullptr || made.form != ops::Operator::Form::as_written ||
      ops::find_family(*made.def) == nullptr || ops::find_family(*made.def)->name != "reduction")
    return false;
  const auto* strides = find_argument<ArgumentList>(node, "stride");
  if (strides == nullptr || strides->items.size() != meta->sizes.size()) return false;
  std::optional<int64_t> expected = 1;  // nothing if a size behind decides it in each call
  for (size_t dim = meta->sizes.size(); dim-- > 0;) {
    const SymInt& size = meta->sizes[dim];
    if (size == SymInt(1)) continue;
    const auto* stride = strides->items[dim].get_if<int64_t>();
    if (stride == nullptr || !expected || *stride != *expected) return false;
    int64_t product = 0;
    const bool is_known = !size.is_symbolic() && size.literal() > 0 &&
                          !__builtin_mul_overflow(*expected, size.literal(), &product);
    expected = is_known ? std::optional(product) : std::nullopt;
  }
  return true;
}

// Returns the tensor that a view shows in another shape, with its elements in the same order; null
// if the node is no such view.
const ValueId* reshaped(const Graph& graph, const Node* node) {
  const ops::Operator op = node != nullptr ? ops::find_operator(node->target) : ops::Operator();
  if (!op || find_only_output(*node) == nullptr) return nullptr;
  const Aliasing aliasing = aliasing_of(graph, *node, op);
  if (!aliasing.view || aliasing.view->inverse != Inverse::reshape) return nullptr;
  return node->inputs[aliasing.view->input].arg.get_if<ValueId>();
}

// True for a view that shows elements in their order. It then shows all of them, once, if it has as
// many in each dimension.
bool keeps_order(const View& view) {
  switch (view.inverse) {
    case Inverse::expand:
    case Inverse::reshape:
    case Inverse::scatter:  // a slice; select and diagonal have other sizes
    case Inverse::narrow:
      return true;
    default:
      return false;
  }
}

// True if the sizes that a view asks for are `sizes`. -1 stands for the size that remains, or in
// expand for an unchanged one.
bool asks_for(const Graph& graph, const ArgumentList& asked, std::vector<SymInt> sizes,
              Inverse inverse) {
  if (asked.items.size() != sizes.size()) return false;
  int open = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto* literal = asked.items[i].get_if<int64_t>();
    if (literal == nullptr || *literal != -1) continue;
    sizes[i] = SymInt(-1);
    ++open;
  }
  return (open <= 1 || inverse == Inverse::expand) && are(graph, &asked, sizes);
}

// Returns the tensor that the node, a view of `base`, shows as it is, directly or behind views with
// other sizes: x.view(1, n * c, h, w).view(n, c, h, w), which run_decompositions() leaves between
// two norms.
std::optional<ValueId> shown_unchanged(const Graph& graph, const Node& node, const View& view,
                                       const ValueId* base) {
  const int most_views = view.inverse == Inverse::reshape ? 4 : 1;
  const TensorMeta* now = graph.value(*find_only_output(node)).tensor();
  const auto* asked = find_argument<ArgumentList>(node, "size");
  for (int i = 0; i < most_views && base != nullptr && now != nullptr; ++i) {
    const TensorMeta* before = graph.value(*base).tensor();
    if (before == nullptr) return std::nullopt;
    if (now->sizes == before->sizes && now->dtype == before->dtype &&
        (asked == nullptr || asks_for(graph, *asked, before->sizes, view.inverse)))
      return *base;
    base = reshaped(graph, find_maker(graph, *base));
  }
  return std::nullopt;
}

// True if no node gives memory of the value to others.
bool is_only_read(const Graph& graph, ValueId id) {
  return std::ranges::none_of(graph.uses(id), [&](const Use& use) {
    return !use.node || may_share_memory(graph.node(*use.node));
  });
}

// Returns the node if its result equals its argument. A result of the graph must stay, because
// callers know it by name.
std::optional<Idle> find_idle(const Graph& graph, NodeId id) {
  if (const auto assertion = find_assertion(graph, id)) return assertion;
  const Node& node = graph.node(id);
  const ops::Operator op = ops::find_operator(node.target);
  const ValueId* result = find_only_output(node);
  if (!op || result == nullptr) return std::nullopt;
  for (const Use& use : graph.uses(*result))
    if (!use.node) return std::nullopt;
  if (shows_row_major(graph, node))
    return Idle{.node = id,
                .argument = *node.find_input("self")->get_if<ValueId>(),
                .result = *result,
                .sharing = ops::Sharing::always,
                .needs_sizes = true};
  if (const auto view = copied_view(graph, node, op); view && is_only_read(graph, *result))
    if (const auto* argument = node.inputs[view->input].arg.get_if<ValueId>())
      return Idle{.node = id,
                  .argument = *argument,
                  .result = *result,
                  .sharing = op.signature().find("dtype") != nullptr ? ops::Sharing::unless_cast
                                                                     : ops::Sharing::always,
                  .changes_strides = true};
  const Aliasing aliasing = aliasing_of(graph, node, op);
  if (!aliasing.view) return std::nullopt;
  const auto* argument = node.inputs[aliasing.view->input].arg.get_if<ValueId>();
  if (keeps_order(*aliasing.view))
    if (const auto shown = shown_unchanged(graph, node, *aliasing.view, argument))
      return Idle{.node = id,
                  .argument = *shown,
                  .result = *result,
                  .sharing = ops::Sharing::always,
                  .needs_sizes = true,
                  .changes_strides = true};
  if (argument == nullptr || aliasing.view->inverse != Inverse::same) return std::nullopt;
  const ops::Sharing sharing = op.def->facts.sharing;
  return Idle{.node = id,
              .argument = *argument,
              .result = *result,
              .sharing = sharing,
              .changes_strides = sharing == ops::Sharing::unless_contiguous};
}

// Removes the nodes that need a dtype which their argument is not proven to have: a file may record
// a wrong one.
void leave_unproven(const Graph& graph, const SymbolBindings& hints, bool inputs_hold,
                    std::vector<Idle>& idle) {
  std::vector<bool> wanted(graph.value_count(), false);
  for (const Idle& each : idle)
    if (each.needs_dtype()) wanted[static_cast<size_t>(each.argument)] = true;
  const std::vector<bool> proven =
      check::proven_dtypes(graph, hints, inputs_hold, std::move(wanted));
  std::erase_if(idle, [&](const Idle& each) {
    return each.needs_dtype() && !proven[static_cast<size_t>(each.argument)];
  });
}

// Erases the node and then the views that led to it alone from `argument`.
void erase_with_views(Graph& graph, NodeId id, ValueId argument) {
  const ValueId* base = reshaped(graph, &graph.node(id));
  ValueId next = base == nullptr ? argument : *base;
  PT2_CHECK(graph.erase_node(id).has_value());  // the result has no uses
  while (next != argument && graph.uses(next).empty()) {
    const NodeId view = *maker_of(graph, next);
    next = *reshaped(graph, &graph.node(view));
    PT2_CHECK(graph.erase_node(view).has_value());
  }
}

}  // namespace

bool has_no_idle_node(const Graph& graph) {
  return std::ranges::none_of(graph.nodes(),
                              [&](NodeId id) { return find_idle(graph, id).has_value(); });
}

PassResult drop_idle(Program& program, Pipeline&) {
  // Autocast converts implicitly, without nodes.
  const bool tells_dtypes = has_form(program.graph, Form::without_autocast);
  // Recorded strides may differ from the actual ones.
  const bool keeps_strides = looks_at_strides(program.graph);
  std::optional<SymbolBindings> hints;
  std::optional<bool> sizes_hold;
  bool changed = false;
  for_each_graph(program.graph, [&](Graph& graph) {
    std::vector<Idle> idle;
    for (const NodeId id : graph.nodes())
      if (const std::optional<Idle> found = find_idle(graph, id))
        if ((tells_dtypes || !found->needs_dtype()) && (!keeps_strides || !found->changes_strides))
          idle.push_back(*found);
    if (std::ranges::any_of(idle, &Idle::needs_dtype)) {
      if (!hints) hints = check::hint_bindings(placed_graphs(program));
      // Callers of a nested graph may pass other dtypes than it records.
      leave_unproven(graph, *hints, &graph == &program.graph, idle);
    }
    if (std::ranges::any_of(idle, &Idle::needs_sizes)) {
      if (!sizes_hold) sizes_hold = check::recorded_sizes_hold(program);
      if (!*sizes_hold) std::erase_if(idle, [](const Idle& each) { return each.needs_sizes; });
    }
    for (const Idle& each : idle) {
      // The argument may have been the result of a node that was dropped.
      const std::optional<Idle> now = find_idle(graph, each.node);
      if (!now) continue;
      if (now->result) graph.replace_all_uses(*now->result, now->argument);
      erase_with_views(graph, now->node, now->argument);
      changed = true;
    }
  });
  return {.changed = changed};
}

}  // namespace pt2
