#include "run/sparse_constants.h"

#include <algorithm>

#include "ir/graph_place.h"
#include "ir/walk.h"
#include "ops/compose.h"
#include "ops/meta.h"

namespace pt2::run {
namespace {

constexpr std::string_view kCoo = "layout torch.sparse_coo";

Error unsupported(const PayloadTensor& payload, const std::string& user) {
  return {ErrorCode::unsupported,
          "the tensor '" + payload.name + "' has the layout torch.sparse_coo and is used by " +
              user + "; only aten.to_dense takes it here",
          ""};
}

Result<void> check_uses(const Graph& graph, ValueId id, const PayloadTensor& payload) {
  const auto is_it = [&](ValueId other) { return other == id; };
  for (NodeId node_id : graph.nodes()) {
    const Node& node = graph.node(node_id);
    if (node.target == "torch.ops.aten.to_dense.default" ||
        node.target == "torch.ops.aten._to_dense.default")
      continue;
    if (any_operand(node, is_it)) return unsupported(payload, node_place(graph, node));
  }
  for (const Argument& output : graph.outputs())
    if (any_value(output, is_it)) return unsupported(payload, "the outputs");
  return {};
}

// indices is [sparse dims, elements], values [elements, dense dims...].
Result<void> check_parts(const PayloadTensor& payload) {
  const Tensor& indices = payload.parts[0];
  const Tensor& values = payload.parts[1];
  const auto dims = static_cast<int64_t>(payload.sizes.size());
  const bool fits = indices.dtype() == Dtype::int64 && indices.dim() == 2 && values.dim() > 0 &&
                    indices.size(0) > 0 && indices.size(0) + values.dim() - 1 == dims &&
                    indices.size(1) == values.size(0) &&
                    std::equal(values.sizes().begin() + 1, values.sizes().end(),
                               payload.sizes.begin() + indices.size(0));
  if (fits) return {};
  return Error{ErrorCode::invalid,
               "the tensor '" + payload.name + "' of sizes " + ops::sizes_text(payload.sizes) +
                   " cannot have indices " + indices.type_text() + " and values " +
                   values.type_text(),
               ""};
}

}  // namespace

bool is_sparse_coo(const PayloadTensor& payload) {
  return payload.missing == kCoo && payload.parts.size() == 2;
}

Result<Tensor> dense_constant(const Graph& graph, std::string_view input,
                              const PayloadTensor& payload, const Limits& limits) {
  if (const auto id = graph.find_value(input)) PT2_TRY_VOID(check_uses(graph, *id, payload));
  PT2_TRY_VOID(check_parts(payload));
  const Tensor& indices = payload.parts[0];
  const Tensor& values = payload.parts[1];
  const auto numel = checked_numel(payload.sizes);
  const auto element = static_cast<uint64_t>(dtype_size(values.dtype()));
  if (!numel || static_cast<uint64_t>(*numel) > limits.max_fake_bytes / element)
    return Error{ErrorCode::limit,
                 "the tensor '" + payload.name + "' of sizes " + ops::sizes_text(payload.sizes) +
                     " exceeds max_fake_bytes",
                 ""};
  Value::List places;
  for (int64_t dim = 0; dim < indices.size(0); ++dim)
    places.emplace_back(indices.with_view({indices.size(1)}, {indices.stride(1)},
                                          indices.storage_offset() + dim * indices.stride(0)));
  return ops::apply(ops::aten<"index_put.default">,
                    {Value(Tensor::zeros(values.dtype(), payload.sizes)), Value(std::move(places)),
                     Value(values), Value(true)});
}

}  // namespace pt2::run
