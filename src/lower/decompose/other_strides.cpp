#include "lower/decompose/other_strides.h"

#include <algorithm>
#include <numeric>

#include "check/shapes/shape_check.h"
#include "lower/arguments.h"

namespace pt2 {
namespace {

// Ignores the strides of dimensions with at most one element: they have no meaning.
bool lie_alike(const Sizes& sizes, const Sizes& a, const Sizes& b) {
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (sizes[dim] > 1 && a[dim] != b[dim]) return false;
  return true;
}

void learn(const Graph& graph, const Argument& output, const Value& computed,
           const SymbolBindings& hints, OtherStrides& known) {
  const auto* tensor = computed.get_if<Tensor>();
  const TensorMeta* meta = tensor_meta(graph, output);
  if (tensor == nullptr || meta == nullptr) return;
  const auto recorded = recorded_strides(*meta, hints);
  if (!recorded || recorded->size() != tensor->sizes().size()) return;
  if (std::ranges::find(tensor->sizes(), 0) == tensor->sizes().end() &&
      !lie_alike(tensor->sizes(), tensor->strides(), *recorded))
    known.insert_or_assign(*output.get_if<ValueId>(), tensor->strides());
}

}  // namespace

std::optional<Sizes> recorded_strides(const TensorMeta& meta, const SymbolBindings& bindings) {
  if (meta.strides.size() != meta.sizes.size()) return std::nullopt;
  Sizes out;
  for (const SymInt& stride : meta.strides) {
    const auto number = evaluate(stride, bindings);
    if (!number || *number < 0) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

void learn_other_strides(const Graph& graph, const Node& node, const ops::Operator& op,
                         const SymbolBindings& hints, OtherStrides& known) {
  check::ShapeCheck check(graph, node, op);
  const auto lying = [&](const GraphValue& value) {
    std::optional<Value> out = check::abstract_value(value, hints);
    const auto* tensor = out ? out->get_if<Tensor>() : nullptr;
    if (tensor == nullptr) return out;
    std::optional<Sizes> strides = recorded_strides(*value.tensor(), hints);
    if (const auto id = graph.find_value(value.name))
      if (const auto other = known.find(*id); other != known.end()) strides = other->second;
    if (strides && strides->size() == tensor->sizes().size())
      out = Value(tensor->with_view(tensor->sizes(), *std::move(strides), 0));
    return out;
  };
  const auto results = check.infer(lying);
  for (size_t i = 0; results && i < std::min(results->size(), node.outputs.size()); ++i)
    for_each_pair(node.outputs[i], (*results)[i],
                  [&](const Argument& output, const Value& computed) {
                    learn(graph, output, computed, hints, known);
                  });
}

Sizes strides_apart(const Sizes& sizes, const Sizes& strides) {
  std::vector<size_t> innermost_first(sizes.size());
  std::iota(innermost_first.begin(), innermost_first.end(), size_t{0});
  std::ranges::reverse(innermost_first);
  std::ranges::stable_sort(innermost_first, {}, [&](size_t dim) { return strides[dim]; });
  Sizes out(sizes.size());
  int64_t step = 1;
  for (const size_t dim : innermost_first) {
    out[dim] = step + 1;
    step = out[dim] * std::max<int64_t>(sizes[dim], 1);
  }
  return out;
}

}  // namespace pt2
