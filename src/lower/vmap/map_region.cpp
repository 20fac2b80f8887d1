// Writes a vmap region as one node. higher_order.map_impl calls a nested graph, the body of the
// region, for each element and stacks the results (torch/_higher_order_ops/map.py, map_dense).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "ir/symbols/sym_int.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/new_nodes.h"
#include "lower/vmap/region.h"
#include "lower/vmap/results.h"
#include "ops/table.h"
#include "pt2/ir/builder.h"
#include "pt2/ir/edit.h"
#include "pt2/ir/expr_rewrite.h"

namespace pt2 {
namespace {

using Obstacle = std::optional<std::string>;

constexpr std::string_view kMap = "torch.ops.higher_order.map_impl";

bool is_integer(const TensorMeta& meta) {
  const auto dtype = meta.dtype.dtype();
  if (!dtype) return true;
  return dtype_info(*dtype).category == DtypeCategory::integer;
}

class RegionMapper {
 public:
  RegionMapper(const Program& program, ExprSpelling spelling, Graph& graph,
               const VmapRegion& region)
      : program_(program), spelling_(spelling), graph_(graph), region_(region) {}

  Obstacle run() {
    if (Obstacle obstacle = read()) return obstacle;
    if (Obstacle obstacle = extract()) return obstacle;
    write();
    return std::nullopt;
  }

 private:
  Obstacle read() {
    const auto* size = region_.size.get_if<ValueId>();
    if (size != nullptr) {
      const auto* number = std::get_if<SymInt>(&graph_.value(*size).meta);
      if (number == nullptr) return "over a size that is not a number";
      size_ = *number;
    } else if (const auto* literal = region_.size.get_if<int64_t>(); literal && *literal > 0) {
      size_ = SymInt(*literal);
    } else {
      return "over a size that is not a number";
    }
    if (!region_.drawn.empty())
      return "of many elements, or of a symbolic number, that draws a random number for each";
    for (const NodeId id : region_.body)
      if (Obstacle obstacle = visit(id)) return obstacle;
    if (Obstacle obstacle = check_writes()) return obstacle;
    return check_uses();
  }

  Obstacle visit(NodeId id) {
    const Node& node = graph_.node(id);
    switch (vmap_step(node.target)) {
      case VmapStep::add:
        inner_.insert(only_output(node));
        mapped_[only_output(node)] = id;
        return std::nullopt;
      case VmapStep::remove:
        removes_.push_back(id);
        return std::nullopt;
      case VmapStep::load:
      case VmapStep::begin:
      case VmapStep::end:
        return std::nullopt;
      case VmapStep::none:
        return visit_call(id);
    }
    return std::nullopt;
  }

  // Nodes that do not depend on the elements stay in place.
  Obstacle visit_call(NodeId id) {
    const Node& node = graph_.node(id);
    if (!any_operand(node, [&](ValueId value) { return inner_.contains(value); })) {
      std::ranges::copy(written_values(graph_, node), std::back_inserter(written_));
      return std::nullopt;
    }
    if (Obstacle obstacle = check_call(node)) return obstacle;
    calls_.push_back(id);
    for_each_result(node, [&](ValueId value) { inner_.insert(value); });
    Obstacle obstacle;
    for_each_operand(node, [&](ValueId value) {
      if (!obstacle) obstacle = take_operand(value);
    });
    return obstacle;
  }

  static Obstacle check_call(const Node& node) {
    if (node.target == kMap) return std::nullopt;
    const ops::Operator op = ops::find_operator(node.target);
    if (op && op.mutates())
      return fmt::format("of many elements, or of a symbolic number, that writes with {}",
                         node.target);
    // Before it maps, map_impl derives the body's gradient on uninitialized memory
    // (create_fw_bw_graph).
    if (op && op.custom == nullptr && ops::takes_any_values(*op.def)) return std::nullopt;
    return fmt::format(
        "of many elements, or of a symbolic number, with {}, which map_impl "
        "would call on uninitialized numbers",
        node.target);
  }

  Obstacle take_operand(ValueId value) {
    if (const TensorMeta* meta = graph_.value(value).tensor()) {
      const bool comes_in = !inner_.contains(value) || mapped_.contains(value);
      if (comes_in && is_integer(*meta))
        return "of many elements, or of a symbolic number, over integers, which map_impl "
               "would leave uninitialized at first";
      if (comes_in) taken_.push_back(value);
      return std::nullopt;
    }
    return inner_.contains(value) ? std::nullopt : take_number(value);
  }

  // map_impl takes only tensors: a number from outside is computed again in the body.
  Obstacle take_number(ValueId value) {
    constexpr std::string_view kLacks =
        "of many elements, or of a symbolic number, with a number that no tensor has as its "
        "size";
    std::vector<ValueId> open = {value};
    while (!open.empty()) {
      const auto maker = maker_of(graph_, open.back());
      open.pop_back();
      if (!maker) return std::string(kLacks);
      const Node& node = graph_.node(*maker);
      const bool is_size = node.target == kSymSize;
      if (!is_size && target_form(node.target) != TargetForm::function) return std::string(kLacks);
      if (!numbers_.insert(*maker).second || is_size) continue;
      for_each_operand(node, [&](ValueId id) { open.push_back(id); });
    }
    return std::nullopt;
  }

  // The body is called at the end of the region, after the writes of the nodes that stay in place.
  Obstacle check_writes() const {
    if (written_.empty()) return std::nullopt;
    const std::vector<uint32_t> classes = memory_classes(graph_);
    const auto class_of = [&](ValueId value) { return classes[static_cast<size_t>(value)]; };
    std::unordered_set<uint32_t> written;
    for (const ValueId value : written_) written.insert(class_of(value));
    if (std::ranges::any_of(taken_,
                            [&](ValueId value) { return written.contains(class_of(value)); }))
      return "of many elements, or of a symbolic number, that reads memory which it writes to";
    return std::nullopt;
  }

  Obstacle check_uses() const {
    const std::unordered_set<NodeId> body(region_.body.begin(), region_.body.end());
    for (const NodeId id : removes_)
      for (const Use& use : graph_.uses(only_output(graph_.node(id))))
        if (use.node && body.contains(*use.node)) return "whose results are used within";
    for (const ValueId value : inner_)
      for (const Use& use : graph_.uses(value))
        if (!use.node || !body.contains(*use.node)) return "with a number that is used after it";
    return std::nullopt;
  }

  // Builds the nested graph: (elements…, operands…) -> results.
  Obstacle extract() {
    std::vector<NodeId> nodes;
    for (const NodeId id : graph_.nodes())
      if (numbers_.contains(id)) nodes.push_back(id);
    nodes.insert(nodes.end(), calls_.begin(), calls_.end());
    for (const NodeId id : removes_) {
      const ValueId value = removed(id);
      if (inner_.contains(value) && !mapped_.contains(value) &&
          std::ranges::find(results_, value) == results_.end())
        results_.push_back(value);
    }
    if (results_.empty()) return std::nullopt;
    Result<ExtractedGraph> extracted = extract_graph(graph_, nodes);
    if (!extracted) return "that cannot be taken out of its graph";
    body_ = std::move(extracted->graph);
    for (const ValueId value : extracted->inputs)
      (mapped_.contains(value) ? elements_ : operands_).push_back(value);
    std::vector<Argument> inputs, outputs;
    for (const auto* values : {&elements_, &operands_})
      for (const ValueId value : *values) inputs.emplace_back(*body_.find_value(name(value)));
    for (const ValueId value : results_) outputs.emplace_back(*body_.find_value(name(value)));
    body_.set_inputs(std::move(inputs));
    body_.set_outputs(std::move(outputs));
    body_.name = GraphNames(graph_).unused(fmt::format("body_graph_{}", graph_.subgraphs().size()));
    return std::nullopt;
  }

  const std::string& name(ValueId value) const { return graph_.value(value).name; }
  ValueId removed(NodeId remove) const {
    return *graph_.node(remove).inputs[0].arg.get_if<ValueId>();
  }

  void write() {
    for (const NodeId id : removes_) graph_.move_node(id, region_.end);
    if (!results_.empty()) add_map();
    for (const NodeId id : removes_) give(id);
    for (size_t i = calls_.size(); i-- > 0;) erase(calls_[i]);
    for (const auto& [value, id] : mapped_) erase(id);
    erase(region_.begin);
    erase(region_.end);
  }

  // The node's results must have no uses left.
  void erase(NodeId id) { (void)graph_.erase_node(id); }

  void add_map() {
    NewNodes before(graph_, removes_.front());
    const bool pads = may_be_empty();
    const SymInt count = pads ? plus_one(size_) : size_;
    std::vector<ValueId> wholes;
    for (const ValueId element : elements_)
      wholes.push_back(add_whole(before, element, pads, count));
    std::vector<Argument> outputs;
    std::vector<ValueId> stacked;
    for (const ValueId value : results_) {
      stacked.push_back(before.add_value("getitem", stacked_meta(value, count)));
      outputs.emplace_back(stacked.back());
    }
    before.insert({.target = std::string(kMap),
                   .inputs = {arg("", Argument(graph_.add_subgraph(std::move(body_)))),
                              arg("", tensors(wholes)), arg("", tensors(operands_))},
                   .outputs = std::move(outputs),
                   .is_hop_single_tensor_return = false});
    for (size_t i = 0; i < results_.size(); ++i)
      stacked_[results_[i]] = pads ? add_slice(before, stacked[i], results_[i]) : stacked[i];
  }

  // True if the batch may be empty. map_impl has no result for an empty batch: one element of zeros
  // is then appended, and its result is sliced off again.
  bool may_be_empty() const {
    if (!size_.is_symbolic()) return false;
    const RangeConstraint* constraint = find_range(program_, size_.expr());
    return constraint == nullptr || constraint->range.min.value_or(0) < 1;
  }

  ValueId add_whole(NewNodes& before, ValueId element, bool pads, const SymInt& count) {
    const Node& add = graph_.node(mapped_.at(element));
    ValueId whole = *add.inputs[0].arg.get_if<ValueId>();
    const int64_t dim = *add.inputs[1].arg.get_if<int64_t>();
    TensorMeta meta = *graph_.value(element).tensor();
    meta.storage_offset = {};
    meta.sizes.insert(meta.sizes.begin(), size_);
    meta.strides = contiguous(meta.sizes);
    if (dim != 0) {
      TensorMeta moved = meta;
      if (const TensorMeta* own = graph_.value(whole).tensor();
          own != nullptr && static_cast<size_t>(dim) < own->strides.size()) {
        moved.strides = own->strides;
        std::rotate(moved.strides.begin(), moved.strides.begin() + dim,
                    moved.strides.begin() + dim + 1);
        moved.storage_offset = own->storage_offset;
      }
      whole = before.call("torch.ops.aten.movedim.int", "movedim", std::move(moved),
                          {arg("self", whole), arg("source", dim), arg("destination", int64_t{0})});
    }
    if (!pads) return whole;
    std::vector<int64_t> padding(2 * meta.sizes.size());
    padding.back() = 1;
    meta.sizes[0] = count;
    return before.call("torch.ops.aten.constant_pad_nd.default", "constant_pad_nd", std::move(meta),
                       {arg("self", whole), arg("pad", ints(padding))});
  }

  TensorMeta stacked_meta(ValueId value, const SymInt& count) {
    TensorMeta meta = *graph_.value(value).tensor();
    meta.storage_offset = {};
    meta.sizes.insert(meta.sizes.begin(), count);
    meta.strides = contiguous(meta.sizes);
    return meta;
  }

  ValueId add_slice(NewNodes& before, ValueId stacked, ValueId value) {
    return before.call("torch.ops.aten.slice.Tensor", "slice", stacked_meta(value, size_),
                       {arg("self", stacked), arg("dim", int64_t{0}), arg("start", int64_t{0}),
                        arg("end", int64_t{-1})});
  }

  // Replaces _remove_batch_dim(value, level, size, dim).
  void give(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId value = removed(id);
    const TensorMeta meta = *graph_.value(only_output(node)).tensor();
    int64_t dim = *node.inputs[3].arg.get_if<int64_t>();
    if (dim < 0) dim += static_cast<int64_t>(meta.sizes.size());
    if (!inner_.contains(value)) return expand_result(graph_, id, value, region_.size, dim);
    if (const auto element = mapped_.find(value); element != mapped_.end()) {
      const Node& add = graph_.node(element->second);
      return become(graph_, id, "torch.ops.aten.movedim.int",
                    {arg("self", add.inputs[0].arg), arg("source", add.inputs[1].arg),
                     arg("destination", dim)});
    }
    arrange_result(graph_, id, stacked_.at(value), dim);
  }

  std::vector<SymInt> contiguous(const std::vector<SymInt>& sizes) {
    std::vector<SymInt> strides(sizes.size(), SymInt(1));
    for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = times(strides[i], sizes[i]);
    return strides;
  }

  Expr expr_of(const SymInt& number) { return expression_of(number, *program_.expressions); }

  SymInt plus_one(const SymInt& number) {
    const auto hint = known_number(number);
    return spelled({.op = ExprOp::add, .args = {expr_of(number), expr_of(SymInt(1))}},
                   hint && *hint < INT64_MAX ? std::optional(*hint + 1) : std::nullopt);
  }

  SymInt times(const SymInt& a, const SymInt& b) {
    const auto left = known_number(a), right = known_number(b);
    int64_t product = 0;
    const bool is_known = left && right && !__builtin_mul_overflow(*left, *right, &product);
    if (!a.is_symbolic() && !b.is_symbolic()) return SymInt(product);
    if (a == 1) return b;
    if (b == 1) return a;
    return spelled({.op = ExprOp::multiply, .args = {expr_of(a), expr_of(b)}},
                   is_known ? std::optional(product) : std::nullopt);
  }

  // Writes the expression in the wanted spelling. If it exceeds the limits of expressions, falls
  // back to its first operand: the number only informs readers of the file and does not affect the
  // execution.
  SymInt spelled(ExprNode node, std::optional<int64_t> hint) {
    ExprPool& pool = *program_.expressions;
    const Expr fallback = node.args[0];
    const Expr expr = pool.intern(std::move(node));
    const auto simple = simplify(pool, expr);
    const auto parsed = pool.parse(print_expr(simple ? *simple : expr, spelling_));
    if (parsed) return SymInt(*parsed, hint);
    const auto again = pool.parse(print_expr(fallback, spelling_));
    return again ? SymInt(*again, hint) : SymInt(hint.value_or(0));
  }

  const Program& program_;
  const ExprSpelling spelling_;
  Graph& graph_;
  const VmapRegion& region_;
  SymInt size_;
  std::vector<NodeId> calls_, removes_;
  std::vector<ValueId> written_;        // what nodes outside of the body write to
  std::vector<ValueId> taken_;          // tensors from outside that the body reads
  std::unordered_set<NodeId> numbers_;  // numbers from outside that are computed again in the body
  std::unordered_set<ValueId> inner_;   // values of the body
  std::map<ValueId, NodeId> mapped_;    // elements, and the _add_batch_dim nodes that make them
  std::vector<ValueId> results_;        // values of the body
  std::vector<ValueId> elements_, operands_;
  Graph body_;
  std::map<ValueId, ValueId> stacked_;  // the stacked values of results
};

}  // namespace

Obstacle map_vmap_region(const Program& program, ExprSpelling spelling, Graph& graph,
                         const VmapRegion& region) {
  Obstacle obstacle = RegionMapper(program, spelling, graph, region).run();
  if (obstacle) obstacle = "a vmap region " + *obstacle;
  return obstacle;
}

}  // namespace pt2
