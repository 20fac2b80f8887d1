#include "run/index_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "ir/target.h"

namespace pt2 {
namespace {

struct ChooserRow {
  std::string_view target;
  size_t indices;  // which result they are
};
// clang-format off
constexpr ChooserRow kChoosers[] = {
    {"torch.ops.aten.topk.default",     1},
    {"torch.ops.aten.sort.default",     1},
    {"torch.ops.aten.sort.stable",      1},
    {"torch.ops.aten.argsort.default",  0},
    {"torch.ops.aten.argsort.stable",   0},
    {"torch.ops.aten.argmax.default",   0},
    {"torch.ops.aten.argmin.default",   0},
    {"torch.ops.aten.max.dim",          1},
    {"torch.ops.aten.min.dim",          1},
    {"torch.ops.aten.kthvalue.default", 1},
    {"torch.ops.aten.median.dim",       1},
};
// clang-format on

}  // namespace

std::vector<std::string> index_choosers(const Program& program) {
  std::unordered_map<std::string, std::string> chosen;  // by the value's name
  const Graph& graph = program.graph;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const auto* row = std::ranges::find(kChoosers, node.target, &ChooserRow::target);
    if (row == std::end(kChoosers) || row->indices >= node.outputs.size()) continue;
    if (const auto* value = node.outputs[row->indices].get_if<ValueId>())
      chosen.emplace(graph.value(*value).name, fmt::format("aten.{}", operator_name(node.target)));
  }
  std::vector<std::string> out;
  for (const ArgumentSpec& spec : program.signature.user_outputs()) {
    const auto found = chosen.find(spec.name);
    out.push_back(found == chosen.end() || spec.is_constant() ? "" : found->second);
  }
  return out;
}

std::string choice_remark(const std::string& chooser, const Value& found, const Value& expected) {
  const auto *ours = found.get_if<Tensor>(), *theirs = expected.get_if<Tensor>();
  if (ours == nullptr || theirs == nullptr || ours->dtype() != Dtype::int64 ||
      theirs->dtype() != Dtype::int64 || ours->sizes() != theirs->sizes())
    return "";
  const Tensor a = ours->contiguous(), b = theirs->contiguous();
  int64_t differing = 0;
  for (int64_t i = 0; i < a.numel(); ++i) differing += a.data<int64_t>()[i] != b.data<int64_t>()[i];
  return fmt::format("indices chosen by {}: {} of {} differ; near ties may choose otherwise",
                     chooser, differing, a.numel());
}

}  // namespace pt2
