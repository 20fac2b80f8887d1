// Regions of torch.vmap, whose nodes releases before 2.13 refuse: what a region does for each
// element of a batch becomes nodes for each element.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "convert/converter.h"
#include "convert/vmap_region.h"
#include "ir/graph_place.h"
#include "ops/table.h"

namespace pt2 {
namespace {

// What all regions of a program may add to it: torch.export.load takes about a millisecond for
// each.
constexpr size_t kMaxNodes = 20'000;

NamedArgument positional(std::string name, Argument argument) {
  return {.name = std::move(name), .arg = std::move(argument), .kind = ArgumentKind::positional};
}

NamedArgument keyword(std::string name, Argument argument) {
  return {.name = std::move(name), .arg = std::move(argument), .kind = ArgumentKind::keyword};
}

Argument ints(std::span<const int64_t> numbers) {
  ArgumentList list{.kind = ListKind::ints};
  for (const int64_t number : numbers) list.items.emplace_back(number);
  return Argument(std::move(list));
}

Argument tensors(const std::vector<ValueId>& values) {
  ArgumentList list{.kind = ListKind::tensors};
  for (const ValueId value : values) list.items.emplace_back(value);
  return Argument(std::move(list));
}

template <class Change>
void change_values(Argument& argument, const Change& change) {
  if (auto* id = argument.get_if<ValueId>()) *id = change(*id);
  if (auto* list = argument.get_if<ArgumentList>())
    for (Argument& item : list->items) change_values(item, change);
  if (auto* map = argument.get_if<ArgumentMap>())
    for (auto& [key, item] : map->items) change_values(item, change);
}

ValueId only_output(const Node& node) { return *node.outputs[0].get_if<ValueId>(); }

// Nothing where a symbol's value is not known.
std::optional<int64_t> known(const SymInt& number) {
  return number.is_symbolic() ? number.hint() : number.literal();
}

// The dimensions of a tensor from the one with the longest stride to the one with the shortest;
// `first`, then the others, where strides are not known.
std::vector<int64_t> memory_order(const TensorMeta& meta, int64_t first) {
  std::vector<int64_t> order(meta.sizes.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto stride = [&](int64_t dim) { return known(meta.strides[static_cast<size_t>(dim)]); };
  const bool all_known =
      meta.strides.size() == meta.sizes.size() &&
      std::ranges::all_of(order, [&](int64_t dim) { return stride(dim).has_value(); });
  if (all_known)
    std::ranges::stable_sort(order, std::greater(), stride);
  else
    std::rotate(order.begin(), order.begin() + first, order.begin() + first + 1);
  return order;
}

// `meta` with its dimensions in another order.
TensorMeta permuted(const TensorMeta& meta, std::span<const int64_t> order) {
  TensorMeta out = meta;
  for (size_t i = 0; i < order.size(); ++i) {
    out.sizes[i] = meta.sizes[static_cast<size_t>(order[i])];
    if (meta.strides.size() == order.size())
      out.strides[i] = meta.strides[static_cast<size_t>(order[i])];
  }
  return out;
}

std::vector<int64_t> inverse(std::span<const int64_t> order) {
  std::vector<int64_t> out(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

size_t node_count(const Graph& graph) {
  size_t count = graph.nodes().size();
  for (const Graph& nested : graph.subgraphs()) count += node_count(nested);
  return count;
}

size_t nodes_within(const Graph& graph, const Node& node) {
  size_t count = 1;
  for (const NamedArgument& input : node.inputs)
    for_each_subgraph(input.arg, [&](SubgraphId id) { count += node_count(graph.subgraph(id)); });
  return count;
}

bool has_regions(const Graph& graph) {
  return std::ranges::any_of(
      graph.nodes(), [&](NodeId id) { return vmap_step(graph.node(id).target) != VmapStep::none; });
}

// Elements are the graph's own values: the first of a batched value is the value itself.
class Unroller {
 public:
  Unroller(Graph& graph, VmapRegion region, int64_t size)
      : graph_(graph), region_(std::move(region)), size_(static_cast<size_t>(size)) {}

  // How many nodes there will be more.
  size_t growth() const {
    size_t repeated = 0, results = 0;
    for (const NodeId id : region_.body) {
      const Node& node = graph_.node(id);
      const VmapStep step = vmap_step(node.target);
      if (step == VmapStep::remove) ++results;
      if (is_repeated(node)) repeated += nodes_within(graph_, node);
    }
    constexpr size_t kNodesOfAResult = 4;
    if (size_ > 1 && repeated > std::numeric_limits<size_t>::max() / 2 / size_)
      return std::numeric_limits<size_t>::max();
    return repeated * size_ + kNodesOfAResult * results;
  }

  // An empty batch has no element to ask for what all have in common.
  bool lacks_an_element() const {
    return size_ == 0 && std::ranges::any_of(region_.body, [&](NodeId id) {
             const Node& node = graph_.node(id);
             if (vmap_step(node.target) == VmapStep::remove) return !has_literal_sizes(node);
             return !is_repeated(node) &&
                    std::ranges::any_of(node.inputs, [&](const NamedArgument& input) {
                      return region_.is_batched(input.arg);
                    });
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
        if (is_repeated(graph_.node(region_.body[i]))) erase(region_.body[i]);
    erase(region_.begin);
    erase(region_.end);
  }

 private:
  bool is_repeated(const Node& node) const {
    const VmapStep step = vmap_step(node.target);
    return step == VmapStep::add || (step == VmapStep::none && region_.repeats(node, graph_));
  }

  bool has_literal_sizes(const Node& node) const {
    return std::ranges::none_of(graph_.value(only_output(node)).tensor()->sizes,
                                &SymInt::is_symbolic);
  }

  void erase(NodeId id) { (void)graph_.erase_node(id).value(); }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const VmapStep step = vmap_step(node.target);
    if (step == VmapStep::remove) return join(id);
    if (size_ == 0 || !is_repeated(node)) return;
    if (step == VmapStep::add) return split(id);
    for (size_t element = 1; element < size_; ++element) repeat(id, element);
  }

  // _add_batch_dim(x, dim, level): x.select(dim, element).
  void split(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId whole = *node.inputs[0].arg.get_if<ValueId>(), first = only_output(node);
    const int64_t dim = *node.inputs[1].arg.get_if<int64_t>();
    const auto* meta = graph_.value(whole).tensor();
    const SymInt stride = stride_of(meta, dim);
    graph_.set_node_target(id, "torch.ops.aten.select.int");
    for (size_t element = 0; element < size_; ++element) {
      const auto index = static_cast<int64_t>(element);
      std::vector<NamedArgument> inputs = {positional("self", whole), positional("dim", dim),
                                           positional("index", index)};
      if (element == 0) {
        graph_.set_node_inputs(id, std::move(inputs));
        continue;
      }
      const NodeId copy = repeat(id, element);
      graph_.set_node_inputs(copy, std::move(inputs));
      shift(only_output(graph_.node(copy)), *graph_.value(first).tensor(), stride, index);
    }
  }

  static SymInt stride_of(const TensorMeta* meta, int64_t dim) {
    if (meta == nullptr) return {};
    const auto rank = static_cast<int64_t>(meta->strides.size());
    if (dim < 0) dim += rank;
    return dim >= 0 && dim < rank ? meta->strides[static_cast<size_t>(dim)] : SymInt();
  }

  // The storage offset of element `index`.
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

  // A copy of the node, for another element than the first.
  NodeId repeat(NodeId id, size_t element) {
    Node node = graph_.node(id);
    node.name.reset();
    for (NamedArgument& input : node.inputs) {
      change_values(input.arg, [&](ValueId value) { return element_of(value, element); });
      copy_subgraphs(input.arg);
    }
    for (Argument& output : node.outputs)
      change_values(output, [&](ValueId value) { return new_element(value); });
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
    if (auto* id = argument.get_if<SubgraphId>()) {
      Graph copy = graph_.subgraph(*id);
      copy.name = unused_graph_name(copy.name);
      *id = graph_.add_subgraph(std::move(copy));
    }
    if (auto* list = argument.get_if<ArgumentList>())
      for (Argument& item : list->items) copy_subgraphs(item);
    if (auto* map = argument.get_if<ArgumentMap>())
      for (auto& [key, item] : map->items) copy_subgraphs(item);
  }

  std::string unused_graph_name(const std::string& name) {
    if (graph_names_.empty())
      for (const Graph& nested : graph_.subgraphs()) graph_names_.insert(nested.name);
    std::string free;
    do free = fmt::format("{}_{}", name, ++last_number_);
    while (!graph_names_.insert(free).second);
    return free;
  }

  // _remove_batch_dim(value, level, size, dim). The result keeps its name, which may be that of a
  // result of the program.
  void join(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId value = *node.inputs[0].arg.get_if<ValueId>();
    const TensorMeta meta = *graph_.value(only_output(node)).tensor();
    int64_t dim = *node.inputs[3].arg.get_if<int64_t>();
    if (dim < 0) dim += static_cast<int64_t>(meta.sizes.size());
    if (!region_.batched.contains(value)) return expand(id, value, meta, dim);
    if (size_ == 0) return make_empty(id, meta);
    std::vector<ValueId> elements;
    for (size_t i = 0; i < size_; ++i) elements.push_back(element_of(value, i));
    stack(id, elements, meta, dim);
  }

  // A value that is the same for every element.
  void expand(NodeId id, ValueId value, const TensorMeta& meta, int64_t dim) {
    TensorMeta unsqueezed = meta;
    unsqueezed.sizes[static_cast<size_t>(dim)] = SymInt(1);
    std::vector<int64_t> sizes(meta.sizes.size(), -1);
    sizes[static_cast<size_t>(dim)] = static_cast<int64_t>(size_);
    const ValueId whole =
        insert_before(id, "torch.ops.aten.unsqueeze.default", "unsqueeze", std::move(unsqueezed),
                      {positional("self", value), positional("dim", dim)});
    become(id, "torch.ops.aten.expand.default",
           {positional("self", whole), positional("size", ints(sizes))});
  }

  void make_empty(NodeId id, const TensorMeta& meta) {
    std::vector<int64_t> sizes;
    for (const SymInt& size : meta.sizes) sizes.push_back(size.literal());
    become(id, "torch.ops.aten.empty.memory_format",
           {positional("size", ints(sizes)), keyword("dtype", meta.dtype),
            keyword("device", meta.device), keyword("pin_memory", false)});
  }

  // With the strides that the result has: nodes behind it may take a view of it.
  void stack(NodeId id, const std::vector<ValueId>& elements, const TensorMeta& meta, int64_t dim) {
    const std::vector<int64_t> order = memory_order(meta, dim);
    std::vector<int64_t> others = order;
    std::erase(others, dim);
    const bool is_stacked = std::ranges::is_sorted(order);
    if (std::ranges::is_sorted(others)) {
      const int64_t place = std::ranges::find(order, dim) - order.begin();
      if (is_stacked) return become_stack(id, elements, place);
      const ValueId stacked = insert_stack(id, elements, place, permuted(meta, order));
      return become_permuted(id, stacked, inverse(order));
    }
    // The elements' own dimensions lie in another order.
    std::ranges::sort(others);
    std::vector<int64_t> stacked_order = {dim};
    stacked_order.insert(stacked_order.end(), others.begin(), others.end());
    const ValueId stacked = insert_stack(id, elements, 0, permuted(meta, stacked_order));
    const std::vector<int64_t> place = inverse(stacked_order);
    std::vector<int64_t> to_memory;
    for (const int64_t each : order) to_memory.push_back(place[static_cast<size_t>(each)]);
    const TensorMeta in_memory = permuted(meta, order);
    const ValueId moved =
        insert_before(id, kPermute, "permute", in_memory,
                      {positional("self", stacked), positional("dims", ints(to_memory))});
    const ValueId packed = insert_before(
        id, "torch.ops.aten.clone.default", "clone", in_memory,
        {positional("self", moved), keyword("memory_format", MemoryFormat::contiguous)});
    become_permuted(id, packed, inverse(order));
  }

  static constexpr std::string_view kPermute = "torch.ops.aten.permute.default";
  static constexpr std::string_view kStack = "torch.ops.aten.stack.default";

  static std::vector<NamedArgument> stack_inputs(const std::vector<ValueId>& elements,
                                                 int64_t dim) {
    return {positional("tensors", tensors(elements)), keyword("dim", dim)};
  }

  void become_stack(NodeId id, const std::vector<ValueId>& elements, int64_t dim) {
    become(id, kStack, stack_inputs(elements, dim));
  }

  void become_permuted(NodeId id, ValueId value, const std::vector<int64_t>& dims) {
    become(id, kPermute, {positional("self", value), positional("dims", ints(dims))});
  }

  ValueId insert_stack(NodeId before, const std::vector<ValueId>& elements, int64_t dim,
                       TensorMeta meta) {
    return insert_before(before, kStack, "stack", std::move(meta), stack_inputs(elements, dim));
  }

  ValueId insert_before(NodeId before, std::string_view target, std::string_view name,
                        TensorMeta meta, std::vector<NamedArgument> inputs) {
    const ValueId id =
        graph_.add_value({.name = graph_.unused_name(name), .meta = std::move(meta)}).value();
    graph_.insert_node({.target = std::string(target),
                        .inputs = std::move(inputs),
                        .outputs = {Argument(id)},
                        .metadata = graph_.node(before).metadata},
                       before);
    return id;
  }

  void become(NodeId id, std::string_view target, std::vector<NamedArgument> inputs) {
    graph_.set_node_target(id, std::string(target));
    graph_.set_node_inputs(id, std::move(inputs));
  }

  Graph& graph_;
  const VmapRegion region_;
  const size_t size_;
  std::unordered_set<std::string> graph_names_;  // of nested graphs, once one is copied
  size_t last_number_ = 0;
  NodeId next_{};  // what follows the node that is visited
  std::unordered_map<ValueId, std::vector<ValueId>> elements_;
};

class VmapRewriter {
 public:
  explicit VmapRewriter(Converter& converter)
      : converter_(converter), program_writes_(writes(converter.program.graph)) {}

  // Nested graphs first, so that what is repeated is small.
  void rewrite(Graph& graph, bool is_nested) {
    for (size_t i = 0; i < graph.subgraphs().size(); ++i)
      rewrite(graph.subgraph(SubgraphId{static_cast<uint32_t>(i)}), true);
    if (!has_regions(graph)) return;
    const WrittenMemory written(graph, is_nested && program_writes_);
    std::vector<NodeId> open;
    for (const NodeId id : graph.nodes()) {
      switch (vmap_step(graph.node(id).target)) {
        case VmapStep::load:
          converter_.changed |= static_cast<bool>(graph.erase_node(id));
          break;
        case VmapStep::begin:
          open.push_back(id);
          break;
        case VmapStep::end:
          if (open.empty()) break;
          close(graph, open.back(), id, written);
          open.pop_back();
          break;
        case VmapStep::none:
        case VmapStep::add:
        case VmapStep::remove:
          break;
      }
    }
  }

 private:
  void close(Graph& graph, NodeId begin, NodeId end, const WrittenMemory& written) {
    VmapReading reading = read_vmap_region(graph, begin, end, written);
    const std::optional<std::string> obstacle =
        reading.obstacle ? reading.obstacle : unroll(graph, std::move(reading.region));
    if (!obstacle) {
      converter_.changed = true;
      return;
    }
    converter_.block({.kind = BlockerKind::function,
                      .text = *obstacle,
                      .node = describe_node(graph, graph.node(begin)),
                      .first = find_release("2.13")});
  }

  std::optional<std::string> unroll(Graph& graph, VmapRegion region) {
    const auto* size = region.size.get_if<int64_t>();
    if (size == nullptr || *size < 0) return "a vmap region over a symbolic size";
    Unroller unroller(graph, std::move(region), *size);
    const size_t growth = unroller.growth();
    if (unroller.lacks_an_element()) return "a vmap region without elements, of symbolic sizes";
    if (growth > kMaxNodes - added_) return "a vmap region of too many nodes and elements";
    added_ += growth;
    unroller.unroll();
    return std::nullopt;
  }

  Converter& converter_;
  const bool program_writes_;
  size_t added_ = 0;
};

}  // namespace

Result<void> rewrite_vmap(Converter& converter) {
  constexpr int kFirstWithVmap = 213;
  if (converter.target.release->number >= kFirstWithVmap) return {};
  VmapRewriter(converter).rewrite(converter.program.graph, false);
  return {};
}

}  // namespace pt2
