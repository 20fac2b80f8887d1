#include "lower/vmap/region.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/symbols/sym_int.h"
#include "ir/walk.h"
#include "lower/new_nodes.h"
#include "ops/table.h"

namespace pt2 {
namespace {

constexpr std::string_view kPrefix = "torch._functorch.predispatch.";

struct StepRow {
  std::string_view name;
  VmapStep step;
  size_t argument_count;
};
constexpr StepRow kSteps[] = {
    {"lazy_load_decompositions", VmapStep::load, 0},
    {"_vmap_increment_nesting", VmapStep::begin, 2},
    {"_add_batch_dim", VmapStep::add, 3},
    {"_remove_batch_dim", VmapStep::remove, 4},
    {"_vmap_decrement_nesting", VmapStep::end, 0},
};

const StepRow* find_step(std::string_view target) {
  if (!target.starts_with(kPrefix)) return nullptr;
  target.remove_prefix(kPrefix.size());
  const auto found = std::ranges::find(kSteps, target, &StepRow::name);
  return found == std::end(kSteps) ? nullptr : &*found;
}

bool is_literal(const Node& node, size_t input) { return node.inputs[input].arg.is<int64_t>(); }

bool lies_in_order(const TensorMeta& meta) {
  int64_t stride = 1;
  if (meta.strides.size() != meta.sizes.size()) return false;
  for (size_t i = meta.sizes.size(); i-- > 0;) {
    if (meta.sizes[i].is_symbolic() || meta.strides[i].is_symbolic()) return false;
    const int64_t size = meta.sizes[i].literal();
    if (size != 1 && meta.strides[i].literal() != stride) return false;
    if (__builtin_mul_overflow(stride, size, &stride)) return false;
  }
  return true;
}

// True if the node may draw random numbers. Unknown operators may, unless they only run nested
// graphs.
bool may_draw(const Graph& graph, const Node& node) {
  bool runs_graphs = false, draws = false;
  for_each_callee(node, [&](SubgraphId id) {
    const Graph& nested = graph.subgraph(id);
    runs_graphs = true;
    draws = draws || std::ranges::any_of(nested.nodes(), [&](NodeId each) {
              return may_draw(nested, nested.node(each));
            });
  });
  if (runs_graphs) return draws;
  const ops::Operator op = ops::find_operator(node.target);
  return !op || op.may_draw();
}

// True if one call with the batch as first dimension gives what vmap draws for all elements at
// once. This holds for operators that create a tensor of given sizes, and for operators that draw
// one number per element of a tensor in row-major order.
bool is_drawn_at_once(const Graph& graph, const Node& node, const VmapRegion& region) {
  const ops::Operator op = ops::find_operator(node.target);
  const ValueId* output = find_only_output(node);
  if (!op || op.form != ops::Operator::Form::as_written || output == nullptr ||
      graph.value(*output).tensor() == nullptr)
    return false;
  const auto batched = std::ranges::count_if(
      node.inputs, [&](const NamedArgument& input) { return region.is_batched(input.arg); });
  using Draws = ops::Facts::Draws;
  const Draws draws = op.def->facts.draws;
  if (draws == Draws::by_sizes)
    return batched == 0 && node.find_input("size") != nullptr &&
           node.find_input("size")->is<ArgumentList>();
  if (draws != Draws::by_elements || batched != 1 || !region.is_batched(node.inputs[0].arg))
    return false;
  const TensorMeta* meta = tensor_meta(graph, node.inputs[0].arg);
  return meta != nullptr && lies_in_order(*meta);
}

class RegionReader {
 public:
  RegionReader(const Graph& graph, NodeId begin, NodeId end, const WrittenMemory& written)
      : graph_(graph), written_(written) {
    region_.begin = begin;
    region_.end = end;
    for (auto at = Graph::NodeRange::Iterator(&graph, static_cast<uint32_t>(begin)); *++at != end;)
      region_.body.push_back(*at);
  }

  VmapReading read() {
    std::optional<std::string> obstacle = read_begin();
    for (size_t i = 0; !obstacle && i < region_.body.size(); ++i) obstacle = visit(region_.body[i]);
    if (!obstacle) obstacle = check_uses();
    if (obstacle) obstacle = "a vmap region " + *obstacle;
    return {std::move(region_), std::move(obstacle)};
  }

 private:
  using Obstacle = std::optional<std::string>;

  Obstacle read_begin() {
    const Node& node = graph_.node(region_.begin);
    if (node.inputs.size() != 2) return "without a size";
    for (const NodeId id : {region_.begin, region_.end})
      if (result_count(graph_.node(id)) != 0)
        return fmt::format("whose {} has a result", graph_.node(id).target);
    region_.size = node.inputs[0].arg;
    const auto* randomness = node.inputs[1].arg.get_if<std::string>();
    draws_ = randomness == nullptr || *randomness != "error";
    draws_the_same_ = randomness != nullptr && *randomness == "same";
    return std::nullopt;
  }

  Obstacle visit(NodeId id) {
    const Node& node = graph_.node(id);
    const StepRow* row = find_step(node.target);
    if (row == nullptr && node.target.starts_with(kPrefix))
      return fmt::format("with {}, which no other node stands for", node.target);
    if (row != nullptr && row->step != VmapStep::load) return visit_step(node, *row);
    if (row != nullptr) return std::nullopt;
    const bool repeats = region_.repeats(node, graph_);
    // With randomness="same", a node without batched inputs draws once, just as without vmap.
    const bool draws = draws_ && may_draw(graph_, node) && (repeats || !draws_the_same_);
    if (draws && (draws_the_same_ || !is_drawn_at_once(graph_, node, region_)))
      return fmt::format("with {}, whose random numbers are drawn for all elements at once",
                         node.target);
    if (draws) region_.drawn.insert(id);
    if (!repeats && !draws) return std::nullopt;
    // vmap counts a storage offset from each element's own first place (BatchRulesViews.cpp).
    const Argument* offset = node.find_input("storage_offset");
    const auto is_whole = [&](ValueId value) { return views_of_whole_.contains(value); };
    if (offset != nullptr && !offset->is<None>() && any_value(node.inputs[0].arg, is_whole))
      return fmt::format("with {}, whose storage offset counts from the start of each element",
                         node.target);
    const bool shows = may_share_memory(node) && any_operand(node, is_whole);
    for_each_result(node, [&](ValueId value) {
      region_.batched.insert(value);
      if (shows) views_of_whole_.insert(value);
    });
    return std::nullopt;
  }

  Obstacle visit_step(const Node& node, const StepRow& row) {
    if (row.step == VmapStep::begin || row.step == VmapStep::end)
      return "around another vmap region that cannot be rewritten";
    const bool adds = row.step == VmapStep::add;
    const ValueId* output = find_only_output(node);
    if (node.inputs.size() != row.argument_count || output == nullptr ||
        graph_.value(*output).tensor() == nullptr || !node.inputs[0].arg.is<ValueId>() ||
        !is_literal(node, adds ? 1 : 3) || !is_literal(node, adds ? 2 : 1))
      return fmt::format("whose {} has other arguments", node.target);
    const int64_t level = *node.inputs[adds ? 2 : 1].arg.get_if<int64_t>();
    if (level_.value_or(level) != level) return "with batch dimensions of two levels";
    level_ = level;
    if (adds) {
      if (!goes_over_batch(node)) return "over dimensions of other sizes than it says";
      region_.batched.insert(*output);
      views_of_whole_.insert(*output);
      return std::nullopt;
    }
    const auto rank = static_cast<int64_t>(graph_.value(*output).tensor()->sizes.size());
    const int64_t dim = *node.inputs[3].arg.get_if<int64_t>();
    if (dim < -rank || dim >= rank) return "whose results lack their batch dimension";
    const ValueId result = *node.inputs[0].arg.get_if<ValueId>();
    if (graph_.value(result).tensor() == nullptr) return "with a result that is not a tensor";
    if (written_.may_hold(*output) && views_of_whole_.contains(result))
      return "whose results may share memory with a tensor that is written to";
    return std::nullopt;
  }

  // True if the dimension that becomes the batch has the recorded size of the batch. The
  // replacement of the region relies on this.
  bool goes_over_batch(const Node& add) const {
    const TensorMeta* meta = graph_.value(*add.inputs[0].arg.get_if<ValueId>()).tensor();
    if (meta == nullptr) return false;
    const auto rank = static_cast<int64_t>(meta->sizes.size());
    int64_t dim = *add.inputs[1].arg.get_if<int64_t>();
    if (dim < -rank || dim >= rank) return false;
    dim += dim < 0 ? rank : 0;
    const SymInt& size = meta->sizes[static_cast<size_t>(dim)];
    if (const auto* number = region_.size.get_if<int64_t>())
      return known_number(size).value_or(*number) == *number;
    const auto* id = region_.size.get_if<ValueId>();
    const auto* value = id == nullptr ? nullptr : std::get_if<SymInt>(&graph_.value(*id).meta);
    if (value == nullptr) return false;
    const bool both = value->is_symbolic() && size.is_symbolic();
    if (both && value->expr() == size.expr()) return true;
    const auto wanted = known_number(*value), found = known_number(size);
    // Different symbolic expressions may be equal by the program's guards, as in a scan of halves.
    if (!wanted || !found) return !both;
    return wanted == found;
  }

  // Checks that batched values are only used within the region.
  Obstacle check_uses() const {
    std::unordered_set<NodeId> body(region_.body.begin(), region_.body.end());
    for (const ValueId value : region_.batched)
      for (const Use& use : graph_.uses(value))
        if (!use.node || !body.contains(*use.node))
          return "with a result that has no batch dimension";
    return std::nullopt;
  }

  const Graph& graph_;
  const WrittenMemory& written_;
  VmapRegion region_;
  // Batched values that may be views of the region's inputs.
  std::unordered_set<ValueId> views_of_whole_;
  bool draws_ = false, draws_the_same_ = false;
  std::optional<int64_t> level_;
};

}  // namespace

VmapStep vmap_step(std::string_view target) {
  const StepRow* row = find_step(target);
  return row == nullptr ? VmapStep::none : row->step;
}

bool VmapRegion::is_batched(const Argument& argument) const {
  return any_value(argument, [&](ValueId id) { return batched.contains(id); });
}

bool VmapRegion::takes_batched(const Node& node) const {
  return any_operand(node, [&](ValueId id) { return batched.contains(id); });
}

bool VmapRegion::repeats(const Node& node, const Graph& graph) const {
  const auto is_tensor = [&](ValueId id) { return graph.value(id).tensor() != nullptr; };
  return takes_batched(node) && (result_count(node) == 0 || any_result(node, is_tensor));
}

VmapReading read_vmap_region(const Graph& graph, NodeId begin, NodeId end,
                             const WrittenMemory& written) {
  return RegionReader(graph, begin, end, written).read();
}

}  // namespace pt2
