// Removes regions of torch.vmap, which only newer releases and few engines support. The nodes of a
// region are repeated for each element of the batch. Large batches, and batches whose size is known
// only at run time, become a map_impl call.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "ir/graph_place.h"
#include "lower/arguments.h"
#include "lower/new_nodes.h"
#include "lower/pass.h"
#include "lower/vmap/region.h"
#include "lower/vmap/results.h"
#include "ops/table.h"
#include "pt2/ir/builder.h"

namespace pt2 {
namespace {

// Unrolled regions may take at most 1/kShare of the budget: map_impl is the fallback, and other
// passes need the rest.
constexpr uint64_t kShare = 5;
// The maximum number of map_impl calls, and of nodes that all of them together may visit: making
// one call visits the whole graph.
constexpr size_t kMaxMaps = 1'000;
constexpr size_t kMaxLooks = 10'000'000;
// The maximum depth of nested regions: reading a region includes the regions nested in it.
constexpr size_t kMaxDepth = 64;

bool has_regions(const Graph& graph) {
  return any_node(graph, [](const Node& node) { return vmap_step(node.target) != VmapStep::none; });
}

// Unrolls a region. The first element of each batched value reuses the graph's own value.
class Unroller {
 public:
  Unroller(Graph& graph, const VmapRegion& region, int64_t size)
      : graph_(graph), region_(region), size_(static_cast<size_t>(size)) {}

  // Returns how many nodes of usual size unrolling adds.
  uint64_t growth() const {
    uint64_t repeated = 0, results = 0;
    for (const NodeId id : region_.body) {
      const Node& node = graph_.node(id);
      const VmapStep step = vmap_step(node.target);
      if (step == VmapStep::remove || region_.drawn.contains(id)) ++results;
      if (is_repeated(id)) repeated += weight_of(graph_, node);
    }
    constexpr size_t kNodesOfAResult = 4;
    if (size_ > 1 && repeated > std::numeric_limits<uint64_t>::max() / 2 / size_)
      return std::numeric_limits<uint64_t>::max();
    return repeated * size_ + kNodesOfAResult * results;
  }

  // True if the batch is empty but some node needs an element, to read a property that all elements
  // share.
  bool lacks_an_element() const {
    return size_ == 0 && std::ranges::any_of(region_.body, [&](NodeId id) {
             const Node& node = graph_.node(id);
             if (vmap_step(node.target) == VmapStep::remove) return !has_literal_sizes(node);
             return !is_repeated(id) && region_.takes_batched(node);
           });
  }

  void unroll() {
    for (size_t i = 0; i < region_.body.size(); ++i) {
      const NodeId id = region_.body[i];
      next_ = i + 1 < region_.body.size() ? region_.body[i + 1] : region_.end;
      visit(id);
    }
    if (size_ == 0)
      for (size_t i = region_.body.size(); i-- > 0;)
        if (is_repeated(region_.body[i])) erase(region_.body[i]);
    erase(region_.begin);
    erase(region_.end);
  }

 private:
  // True if the node makes one value for each element.
  bool is_repeated(NodeId id) const {
    const Node& node = graph_.node(id);
    const VmapStep step = vmap_step(node.target);
    return step == VmapStep::add || region_.drawn.contains(id) ||
           (step == VmapStep::none && region_.repeats(node, graph_));
  }

  bool has_literal_sizes(const Node& node) const {
    return std::ranges::none_of(graph_.value(only_output(node)).tensor()->sizes,
                                &SymInt::is_symbolic);
  }

  // The node's results must have no uses left.
  void erase(NodeId id) { (void)graph_.erase_node(id); }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const VmapStep step = vmap_step(node.target);
    if (step == VmapStep::remove) return join(id);
    if (size_ == 0 || !is_repeated(id)) return;
    if (step == VmapStep::add)
      return split(id, *node.inputs[0].arg.get_if<ValueId>(),
                   *node.inputs[1].arg.get_if<int64_t>());
    if (region_.drawn.contains(id)) return draw(id);
    for (size_t element = 1; element < size_; ++element) repeat(id, element);
  }

  // Replaces _add_batch_dim(x, dim, level) by x.select(dim, element) for each element.
  void split(NodeId id, ValueId whole, int64_t dim) {
    const ValueId first = only_output(graph_.node(id));
    const auto* meta = graph_.value(whole).tensor();
    const SymInt stride = stride_of(meta, dim);
    graph_.set_node_target(id, "torch.ops.aten.select.int");
    for (size_t element = 0; element < size_; ++element) {
      const auto index = static_cast<int64_t>(element);
      std::vector<NamedArgument> inputs = {arg("self", whole), arg("dim", dim),
                                           arg("index", index)};
      if (element == 0) {
        graph_.set_node_inputs(id, std::move(inputs));
        continue;
      }
      const NodeId copy = repeat(id, element);
      graph_.set_node_inputs(copy, std::move(inputs));
      shift(only_output(graph_.node(copy)), *graph_.value(first).tensor(), stride, index);
    }
  }

  // Emits one call that draws the random numbers of all elements.
  void draw(NodeId id) {
    Node node = graph_.node(id);
    const TensorMeta meta = *graph_.value(only_output(node)).tensor();
    const auto size = static_cast<int64_t>(size_);
    if (region_.is_batched(node.inputs[0].arg)) {
      const ValueId value = *node.inputs[0].arg.get_if<ValueId>();
      std::vector<ValueId> elements;
      for (size_t i = 0; i < size_; ++i) elements.push_back(element_of(value, i));
      node.inputs[0].arg =
          Argument(NewNodes(graph_, id)
                       .call(kStack, "stack",
                             stacked(*graph_.value(value).tensor(), static_cast<int64_t>(size_)),
                             stack_inputs(elements, 0)));
    } else {
      for (NamedArgument& input : node.inputs)
        if (auto* sizes = input.arg.get_if<ArgumentList>(); sizes && input.name == "size")
          sizes->items.insert(sizes->items.begin(), Argument(size));
    }
    const std::string name = graph_.value(only_output(node)).name;
    const ValueId whole = NewNodes(graph_, id)
                              .call(node.target, name, stacked(meta, static_cast<int64_t>(size_)),
                                    std::move(node.inputs));
    split(id, whole, 0);
  }

  static SymInt stride_of(const TensorMeta* meta, int64_t dim) {
    if (meta == nullptr) return {};
    const auto rank = static_cast<int64_t>(meta->strides.size());
    if (dim < 0) dim += rank;
    return dim >= 0 && dim < rank ? meta->strides[static_cast<size_t>(dim)] : SymInt();
  }

  // Sets the storage offset of element `index`.
  void shift(ValueId value, const TensorMeta& first, const SymInt& stride, int64_t index) {
    if (stride.is_symbolic() || first.storage_offset.is_symbolic()) return;
    TensorMeta meta = first;
    int64_t offset = 0;
    if (__builtin_mul_overflow(stride.literal(), index, &offset) ||
        __builtin_add_overflow(offset, first.storage_offset.literal(), &offset))
      return;
    meta.storage_offset = SymInt(offset);
    graph_.set_value_meta(value, std::move(meta));
  }

  // Returns a copy of the node for an element other than the first.
  NodeId repeat(NodeId id, size_t element) {
    Node node = graph_.node(id);
    node.name.reset();
    for (NamedArgument& input : node.inputs) {
      change_values(input.arg, [&](ValueId value) { return element_of(value, element); });
      copy_subgraphs(input.arg);
    }
    change_values(node.outputs, [&](ValueId value) { return new_element(value); });
    return graph_.insert_node(std::move(node), next_);
  }

  ValueId element_of(ValueId value, size_t element) const {
    const auto found = elements_.find(value);
    return found == elements_.end() ? value : found->second[element];
  }

  ValueId new_element(ValueId first) {
    GraphValue value{.name = graph_.unused_name(graph_.value(first).name),
                     .meta = graph_.value(first).meta};
    std::vector<ValueId>& elements = elements_[first];
    if (elements.empty()) elements.push_back(first);
    elements.push_back(graph_.add_value(std::move(value)).value());
    return elements.back();
  }

  void copy_subgraphs(Argument& argument) {
    for_each_leaf(argument, [&](Argument& leaf) {
      auto* id = leaf.get_if<SubgraphId>();
      if (id == nullptr) return;
      if (!graph_names_) graph_names_.emplace(graph_);
      Graph copy = graph_.subgraph(*id);
      copy.name = graph_names_->unused(copy.name);
      *id = graph_.add_subgraph(std::move(copy));
    });
  }

  // Replaces _remove_batch_dim(value, level, size, dim). The result keeps its name, which may be
  // the name of a program result.
  void join(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId value = *node.inputs[0].arg.get_if<ValueId>();
    const TensorMeta meta = *graph_.value(only_output(node)).tensor();
    int64_t dim = *node.inputs[3].arg.get_if<int64_t>();
    if (dim < 0) dim += static_cast<int64_t>(meta.sizes.size());
    if (!region_.batched.contains(value))
      return expand_result(graph_, id, value, region_.size, dim);
    if (size_ == 0) return make_empty(id, meta);
    std::vector<ValueId> elements;
    for (size_t i = 0; i < size_; ++i) elements.push_back(element_of(value, i));
    stack(id, elements, meta, dim);
  }

  void make_empty(NodeId id, const TensorMeta& meta) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : meta.sizes) sizes.push_back(size.literal());
    become(graph_, id, "torch.ops.aten.empty.memory_format",
           {arg("size", ints(sizes)), kwarg("dtype", meta.dtype), kwarg("device", meta.device),
            kwarg("pin_memory", false)});
  }

  // Stacks the elements. The result keeps its strides, because later nodes may take views of it.
  void stack(NodeId id, const std::vector<ValueId>& elements, const TensorMeta& meta, int64_t dim) {
    const std::vector<int64_t> order = memory_order(meta, dim);
    std::vector<int64_t> others = order;
    std::erase(others, dim);
    if (std::ranges::is_sorted(order))
      return become(graph_, id, kStack, stack_inputs(elements, dim));
    const bool lie_in_order = std::ranges::is_sorted(others);
    std::ranges::sort(others);
    others.insert(lie_in_order ? others.begin() + (std::ranges::find(order, dim) - order.begin())
                               : others.begin(),
                  dim);
    const int64_t place = std::ranges::find(others, dim) - others.begin();
    const ValueId stacked =
        NewNodes(graph_, id)
            .call(kStack, "stack", permuted(meta, others), stack_inputs(elements, place));
    if (!lie_in_order) return arrange_result(graph_, id, stacked, dim);
    become(graph_, id, "torch.ops.aten.permute.default",
           {arg("self", stacked), arg("dims", ints(inverse(order)))});
  }

  static constexpr std::string_view kStack = "torch.ops.aten.stack.default";

  static std::vector<NamedArgument> stack_inputs(const std::vector<ValueId>& elements,
                                                 int64_t dim) {
    return {arg("tensors", tensors(elements)), kwarg("dim", dim)};
  }

  Graph& graph_;
  const VmapRegion& region_;
  const size_t size_;
  std::optional<GraphNames> graph_names_;  // set when the first nested graph is copied
  NodeId next_{};                          // the node after the visited one
  std::unordered_map<ValueId, std::vector<ValueId>> elements_;
};

class VmapRewriter {
 public:
  VmapRewriter(Program& program, Pipeline& pipeline)
      : program_(program),
        pipeline_(pipeline),
        share_(pipeline.budget.most() / kShare),
        program_writes_(writes(program.graph)) {}

  PassResult run() {
    rewrite(program_.graph, false);
    return std::move(result_);
  }

 private:
  // Nested graphs are rewritten first, while there are few nodes to repeat.
  void rewrite(Graph& graph, bool is_nested) {
    for (size_t i = 0; i < graph.subgraphs().size(); ++i)
      rewrite(graph.subgraph(SubgraphId{static_cast<uint32_t>(i)}), true);
    if (!has_regions(graph)) return;
    const WrittenMemory written(graph, is_nested && program_writes_);
    std::vector<NodeId> open;
    for (const NodeId id : graph.nodes()) {
      switch (vmap_step(graph.node(id).target)) {
        case VmapStep::load:
          result_.changed |= static_cast<bool>(graph.erase_node(id));
          break;
        case VmapStep::begin:
          open.push_back(id);
          break;
        case VmapStep::end:
          if (open.empty()) break;
          if (open.size() > kMaxDepth)
            refuse(graph, open.back(), fmt::format("a vmap region deeper than {}", kMaxDepth));
          else
            close(graph, open.back(), id, written);
          open.pop_back();
          break;
        case VmapStep::add:
        case VmapStep::remove:
          if (open.empty()) refuse(graph, id, "a batch dimension outside of a vmap region");
          break;
        case VmapStep::none:
          break;
      }
    }
    for (const NodeId id : open) refuse(graph, id, "a vmap region without an end");
  }

  void close(Graph& graph, NodeId begin, NodeId end, const WrittenMemory& written) {
    VmapReading reading = read_vmap_region(graph, begin, end, written);
    const std::optional<std::string> obstacle =
        reading.obstacle ? reading.obstacle : rewrite(graph, std::move(reading.region));
    if (obstacle)
      refuse(graph, begin, *obstacle);
    else
      result_.changed = true;
  }

  void refuse(const Graph& graph, NodeId begin, std::string text) {
    result_.failures.push_back(
        {.node = describe_node(graph, graph.node(begin)), .text = std::move(text)});
  }

  std::optional<std::string> rewrite(Graph& graph, VmapRegion region) {
    const auto* size = region.size.get_if<int64_t>();
    if (size != nullptr && *size >= 0) {
      Unroller unroller(graph, region, *size);
      if (unroller.lacks_an_element()) return "a vmap region without elements, of symbolic sizes";
      const uint64_t growth = unroller.growth();
      if (growth <= std::min(share_, pipeline_.budget.left()) && pipeline_.budget.take(growth)) {
        share_ -= growth;
        unroller.unroll();
        return std::nullopt;
      }
    }
    const size_t looks = graph.node_count();
    if (mapped_ == kMaxMaps || looks > kMaxLooks - looked_) return too_many_maps(size);
    ++mapped_;
    looked_ += looks;
    return map_vmap_region(program_, pipeline_.spelling, graph, region);
  }

  std::string too_many_maps(const int64_t* size) const {
    if (size == nullptr)
      return fmt::format("a vmap region of a symbolic size after {} others, expected fewer",
                         mapped_);
    return fmt::format(
        "a vmap region of {} elements: copies of its nodes for each are more than one in {} of the "
        "nodes that max_new_nodes {} allows, and {} such regions are calls of map_impl already",
        *size, kShare, pipeline_.budget.most(), mapped_);
  }

  Program& program_;
  Pipeline& pipeline_;
  uint64_t share_;
  const bool program_writes_;
  PassResult result_;
  size_t mapped_ = 0, looked_ = 0;
};

}  // namespace

// A region that remains is a failure at the node that opens it, but the program stays equivalent.
PassResult unvmap(Program& program, Pipeline& pipeline) {
  return VmapRewriter(program, pipeline).run();
}

bool has_no_vmap_region(const Graph& graph) {
  return !any_node(graph,
                   [](const Node& node) { return vmap_step(node.target) == VmapStep::begin; });
}

}  // namespace pt2
