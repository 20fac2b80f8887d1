// Rewritings that run passes (src/lower) for the releases that need them.
#include <algorithm>
#include <set>

#include "convert/converter.h"
#include "ir/graph_place.h"
#include "ir/higher_order.h"
#include "lower/autocast.h"
#include "lower/functional/functionalize.h"
#include "package/shared_memory.h"

namespace pt2 {
namespace {

// True if a region of another gradient or autocast mode takes a symbolic number as an input.
bool has_number_region(const Program& program) {
  return std::ranges::any_of(placed_graphs(program), [&](const PlacedGraph& placed) {
    if (placed.caller == nullptr) return false;
    const HigherOrderRow* row = find_higher_order_operator(placed.caller->target);
    if (row == nullptr || !row->has(HigherOrderRow::kSetsMode)) return false;
    return std::ranges::any_of(placed.graph->inputs(), [&](const Argument& input) {
      const auto* id = input.get_if<ValueId>();
      return id != nullptr && placed.graph->value(*id).kind() == ValueKind::sym_int;
    });
  });
}

// Before this release only an export imports torch/_higher_order_ops/wrap.py: a process that just
// loads a program does not find the operators of regions. A program that the release itself wrote
// stays as it is where an import helps.
constexpr std::string_view kFirstWithImport = "2.7";

bool has_switch(const Program& program, AutocastSwitch kind) {
  return std::ranges::any_of(placed_graphs(program), [&](const PlacedGraph& placed) {
    return std::ranges::any_of(placed.graph->nodes(), [&](NodeId id) {
      return autocast_switch(placed.graph->node(id)) == kind;
    });
  });
}

// True if autocast of another device than the CPU may cast tensors of the program. The passes know
// the CPU's casts alone.
bool casts_elsewhere(const Program& program) {
  std::set<std::string_view> regions, tensors;
  for (const PlacedGraph& placed : placed_graphs(program)) {
    for (const NodeId id : placed.graph->nodes()) {
      const Node& node = placed.graph->node(id);
      const AutocastSwitch kind = autocast_switch(node);
      if ((kind != AutocastSwitch::calls && kind != AutocastSwitch::enters) ||
          node.inputs.size() < 3)
        continue;
      const auto* device = node.inputs[0].arg.get_if<std::string>();
      const auto* enabled = node.inputs[2].arg.get_if<bool>();
      if (device != nullptr && enabled != nullptr && *enabled) regions.insert(*device);
    }
    for (const ValueId id : placed.graph->values())
      if (const TensorMeta* meta = placed.graph->value(id).tensor())
        tensors.insert(meta->device.type);
  }
  tensors.erase("cpu");
  return std::ranges::any_of(regions,
                             [&](std::string_view device) { return tensors.contains(device); });
}

// Runs a pass. What it leaves is blocked for releases before `first`.
void run_or_block(Converter& converter, Pass pass, BlockerKind kind, const Release* first) {
  PassResult result = run_pass(pass, converter.program, converter.pipeline);
  for (PassFailure& failure : result.failures)
    converter.block({.kind = kind,
                     .text = std::move(failure.text),
                     .where = std::move(failure.where),
                     .node = std::move(failure.node),
                     .first = first});
  converter.changed = result.changed;
}

// Rewrites nodes that exist only from release `name` on.
void rewrite_functions(Converter& converter, Pass pass, std::string_view name) {
  const Release* first = find_release(name);
  if (converter.target.release->number < first->number)
    run_or_block(converter, pass, BlockerKind::function, first);
}

}  // namespace

Result<void> rewrite_jvp(Converter& converter) {
  rewrite_functions(converter, Pass::forward_derivatives, "2.13");
  return {};
}

Result<void> rewrite_vmap(Converter& converter) {
  rewrite_functions(converter, Pass::unvmap, "2.13");
  return {};
}

// A region that stays in place is a higher-order operator that the release lacks; check_operators
// reports it.
Result<void> rewrite_gradient_regions(Converter& converter) {
  constexpr int kFirstWithRegions = 204, kFirstWithWrites = 205;
  const int release = converter.target.release->number;
  const bool is_own = release == converter.source.number;
  if (release >= find_release(kFirstWithImport)->number ||
      (is_own && release >= kFirstWithWrites) || casts_elsewhere(converter.program))
    return {};
  const Pass pass =
      is_own && release >= kFirstWithRegions ? Pass::inline_writing_regions : Pass::inline_regions;
  converter.changed = run_pass(pass, converter.program, converter.pipeline).changed;
  return {};
}

// Disabled autocast regions, around rotary embeddings and quantizers, take sizes as inputs if the
// sizes are dynamic.
Result<void> rewrite_number_regions(Converter& converter) {
  constexpr int kFirstWithNumbers = 207;
  if (converter.target.release->number >= kFirstWithNumbers ||
      !has_number_region(converter.program) || casts_elsewhere(converter.program))
    return {};
  for (const Pass pass : {Pass::explicit_autocast, Pass::inline_regions}) {
    Program changed = converter.program;
    const PassResult result = run_pass(pass, changed, converter.pipeline);
    if (!result.failures.empty() || !result.changed) continue;
    converter.program = std::move(changed);
    converter.changed = true;
  }
  return {};
}

// What casts on another device stays in place, and check_operators reports it.
Result<void> rewrite_autocast_regions(Converter& converter) {
  const bool has_nodes = has_switch(converter.program, AutocastSwitch::enters);
  const bool has_calls = has_switch(converter.program, AutocastSwitch::calls);
  const bool is_own = converter.target.release->number == converter.source.number;
  if ((has_nodes || has_calls) && !casts_elsewhere(converter.program))
    rewrite_functions(converter, Pass::explicit_autocast,
                      has_nodes ? "2.8"
                      : is_own  ? "2.5"
                                : kFirstWithImport);
  return {};
}

// Functionalizes the program for releases that only have the dialect ATEN.
Result<void> rewrite_functional_form(Converter& converter) {
  constexpr int kFirstWithTraining = 205;
  if (converter.target.release->number >= kFirstWithTraining ||
      is_functional(converter.program.graph))
    return {};
  PT2_TRY(std::shared_ptr<const Payloads> payloads, converter.payloads());
  converter.pipeline.refuse_input =
      refuse_inputs(converter.program, storage_numbers(std::move(payloads)));
  run_or_block(converter, Pass::functionalize, BlockerKind::dialect, find_release("2.5"));
  converter.pipeline.refuse_input = nullptr;
  return {};
}

}  // namespace pt2
