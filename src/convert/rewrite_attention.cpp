// Renames attention on the CPU: aten._scaled_dot_product_flash_attention up to 2.2, an operator of
// its own in later releases.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "convert/converter.h"
#include "ir/walk.h"

namespace pt2 {
namespace {

constexpr std::string_view kOld = "torch.ops.aten._scaled_dot_product_flash_attention.default";
constexpr std::string_view kNew =
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default";

// A result of the old operator that the new one lacks: its index and dtype. These results carry no
// information on the CPU. Results 4 and 5 are numbers, which files do not list.
struct OldResult {
  int index;
  Dtype dtype;
};
constexpr OldResult kOldResults[] = {{2, Dtype::int32},
                                     {3, Dtype::int32},
                                     {6, Dtype::int64},
                                     {7, Dtype::int64},
                                     {8, Dtype::float32}};

bool is_on_cpu(const Graph& graph, const Node& node) {
  const TensorMeta* meta = tensor_meta(graph, node.find_input("query"));
  return meta != nullptr && meta->device.type == "cpu";
}

bool is_unused(const Graph& graph, const Argument& output) {
  const auto* id = output.get_if<ValueId>();
  return id == nullptr || graph.uses(*id).empty();
}

bool is_false(const NamedArgument& input) {
  const auto* flag = input.arg.get_if<bool>();
  return flag != nullptr && !*flag;
}

bool raise(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<NamedArgument> inputs = node.inputs;
  std::vector<Argument> outputs = node.outputs;
  const auto mask = std::ranges::find(inputs, "return_debug_mask", &NamedArgument::name);
  if (mask != inputs.end() && !is_false(*mask)) return false;
  if (!is_on_cpu(graph, node) || outputs.size() < 2) return false;
  for (size_t i = 2; i < outputs.size(); ++i)
    if (!is_unused(graph, outputs[i])) return false;
  if (mask != inputs.end()) inputs.erase(mask);
  std::vector<ValueId> gone;
  for (size_t i = 2; i < outputs.size(); ++i)
    if (const auto* value = outputs[i].get_if<ValueId>()) gone.push_back(*value);
  outputs.resize(2);
  graph.set_node_inputs(id, std::move(inputs));
  graph.set_node_outputs(id, std::move(outputs));
  graph.set_node_target(id, std::string(kNew));
  // No node defines or uses these values.
  for (const ValueId value : gone) (void)graph.erase_value(value);
  return true;
}

bool lower(Graph& graph, NodeId id, bool writes_defaults) {
  const Node& node = graph.node(id);
  const TensorMeta* meta = node.outputs.size() == 2 ? tensor_meta(graph, node.outputs[1]) : nullptr;
  if (node.find_input("attn_mask") != nullptr || meta == nullptr) return false;
  std::string base = graph.value(*node.outputs[1].get_if<ValueId>()).name;
  if (constexpr std::string_view kUnused = "_unused_1"; base.ends_with(kUnused))
    base.resize(base.size() - kUnused.size());
  const Device device = meta->device;
  std::vector<Argument> outputs = node.outputs;
  for (const OldResult& result : kOldResults) {
    GraphValue value{
        .name = graph.unused_name(fmt::format("{}_unused_{}", base, result.index)),
        .meta = TensorMeta{.dtype = {dtype_info(result.dtype).schema_number}, .device = device}};
    outputs.emplace_back(graph.add_value(std::move(value)).value());
  }
  std::vector<NamedArgument> inputs = graph.node(id).inputs;
  const auto causal = std::ranges::find(inputs, "is_causal", &NamedArgument::name);
  if (writes_defaults && causal != inputs.end())
    inputs.insert(causal + 1, {.name = "return_debug_mask", .arg = Argument(false)});
  graph.set_node_inputs(id, std::move(inputs));
  graph.set_node_outputs(id, std::move(outputs));
  graph.set_node_target(id, std::string(kOld));
  return true;
}

}  // namespace

Result<void> rewrite_cpu_attention(Converter& converter) {
  const bool up = converter.rises_to(300);
  if (!up && !converter.falls_below(300)) return {};
  const bool writes_defaults = converter.target.release->number == 201;
  for_each_graph(converter.program.graph, [&](Graph& graph) {
    for (NodeId id : graph.nodes()) {
      if (graph.node(id).target != (up ? kOld : kNew)) continue;
      converter.changed |= up ? raise(graph, id) : lower(graph, id, writes_defaults);
    }
  });
  return {};
}

}  // namespace pt2
