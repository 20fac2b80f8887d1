#include "lower/vmap/results.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "ir/symbols/sym_int.h"
#include "lower/arguments.h"
#include "lower/new_nodes.h"
#include "pt2/ir/builder.h"

namespace pt2 {
namespace {

constexpr std::string_view kPermute = "torch.ops.aten.permute.default";

}  // namespace

std::vector<int64_t> memory_order(const TensorMeta& meta, int64_t first) {
  std::vector<int64_t> order(meta.sizes.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto stride = [&](int64_t dim) {
    return known_number(meta.strides[static_cast<size_t>(dim)]);
  };
  const bool all_known =
      meta.strides.size() == meta.sizes.size() &&
      std::ranges::all_of(order, [&](int64_t dim) { return stride(dim).has_value(); });
  if (all_known)
    std::ranges::stable_sort(order, std::greater(), stride);
  else
    std::rotate(order.begin(), order.begin() + first, order.begin() + first + 1);
  return order;
}

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

void arrange_result(Graph& graph, NodeId id, ValueId stacked, int64_t dim) {
  const TensorMeta meta = *graph.value(only_output(graph.node(id))).tensor();
  const std::vector<int64_t> order = memory_order(meta, dim);
  std::vector<int64_t> stacked_order(order.size());
  std::iota(stacked_order.begin(), stacked_order.end(), int64_t{0});
  std::rotate(stacked_order.begin(), stacked_order.begin() + dim, stacked_order.begin() + dim + 1);
  const std::vector<int64_t> place = inverse(stacked_order);
  if (order != stacked_order) {
    std::vector<int64_t> to_memory;
    for (const int64_t each : order) to_memory.push_back(place[static_cast<size_t>(each)]);
    NewNodes before(graph, id);
    const TensorMeta in_memory = permuted(meta, order);
    const ValueId moved = before.call(kPermute, "permute", in_memory,
                                      {arg("self", stacked), arg("dims", ints(to_memory))});
    stacked = before.call("torch.ops.aten.clone.default", "clone", in_memory,
                          {arg("self", moved), kwarg("memory_format", MemoryFormat::contiguous)});
  }
  if (std::ranges::is_sorted(order))
    return become(graph, id, "torch.ops.aten.alias.default", {arg("self", stacked)});
  become(graph, id, kPermute, {arg("self", stacked), arg("dims", ints(inverse(order)))});
}

void expand_result(Graph& graph, NodeId id, ValueId value, const Argument& size, int64_t dim) {
  TensorMeta unsqueezed = *graph.value(only_output(graph.node(id))).tensor();
  unsqueezed.sizes[static_cast<size_t>(dim)] = SymInt(1);
  const bool is_symbolic = size.is<ValueId>();
  ArgumentList sizes{.kind = is_symbolic ? ListKind::sym_ints : ListKind::ints};
  sizes.items.assign(unsqueezed.sizes.size(), Argument(int64_t{-1}));
  sizes.items[static_cast<size_t>(dim)] = size;
  const ValueId whole =
      NewNodes(graph, id).call("torch.ops.aten.unsqueeze.default", "unsqueeze",
                               std::move(unsqueezed), {arg("self", value), arg("dim", dim)});
  become(graph, id, "torch.ops.aten.expand.default",
         {arg("self", whole), arg("size", Argument(std::move(sizes)))});
}

}  // namespace pt2
