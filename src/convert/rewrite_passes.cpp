// Rewritings that run passes (src/lower) for the releases that need them.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "convert/converter.h"
#include "ir/graph_place.h"
#include "ir/higher_order.h"
#include "lower/functional/functionalize.h"

namespace pt2 {
namespace {

std::string_view refusal(InputKind kind) {
  switch (kind) {
    case InputKind::user_input:
    case InputKind::parameter:
    case InputKind::buffer:
      return "";
    case InputKind::constant_tensor:
      return "a constant";
    case InputKind::custom_obj:
    case InputKind::token:
      return "what is not a tensor";
  }
  return "";
}

// Returns the inputs that the program must not write to, each with the reason.
Result<std::unordered_map<ValueId, std::string>> refused_inputs(const Converter& converter) {
  const Program& program = converter.program;
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, converter.payloads());
  std::unordered_map<ValueId, std::string> refused;
  std::map<size_t, ValueId> first_of_storage;
  for (const InputSpec& spec : program.signature.input_specs) {
    const auto id = program.graph.find_value(spec.arg.name);
    if (!id) continue;
    if (const std::string_view reason = refusal(spec.kind); !reason.empty()) refused[*id] = reason;
    const PayloadTensor* payload = payloads->bound_to(spec);
    if (payload == nullptr || !payload->missing.empty()) continue;
    const auto [first, is_first] = first_of_storage.try_emplace(payload->storage_group, *id);
    if (is_first || first->second == *id) continue;
    for (const ValueId each : {first->second, *id}) refused[each] = "memory that two inputs share";
  }
  return refused;
}

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

// Rewrites functions of torch.func that are nodes only from 2.13 on.
void rewrite_functions(Converter& converter, Pass pass) {
  const Release* first = find_release("2.13");
  if (converter.target.release->number >= first->number) return;
  PassResult result = run_pass(pass, converter.program, converter.pipeline);
  for (PassFailure& failure : result.failures)
    converter.block({.kind = BlockerKind::function,
                     .text = std::move(failure.text),
                     .where = std::move(failure.where),
                     .node = std::move(failure.node),
                     .first = first});
  converter.changed = result.changed;
}

}  // namespace

Result<void> rewrite_jvp(Converter& converter) {
  rewrite_functions(converter, Pass::forward_derivatives);
  return {};
}

Result<void> rewrite_vmap(Converter& converter) {
  rewrite_functions(converter, Pass::unvmap);
  return {};
}

// A region that stays in place is a higher-order operator that the release lacks; check_operators
// reports it.
Result<void> rewrite_gradient_regions(Converter& converter) {
  constexpr int kFirstWithRegions = 204, kFirstWithWrites = 205;
  const int release = converter.target.release->number;
  if (release >= kFirstWithWrites) return {};
  const Pass pass =
      release < kFirstWithRegions ? Pass::inline_regions : Pass::inline_writing_regions;
  converter.changed = run_pass(pass, converter.program, converter.pipeline).changed;
  return {};
}

// Disabled autocast regions, around rotary embeddings and quantizers, take sizes as inputs if the
// sizes are dynamic.
Result<void> rewrite_number_regions(Converter& converter) {
  constexpr int kFirstWithNumbers = 207;
  if (converter.target.release->number >= kFirstWithNumbers ||
      !has_number_region(converter.program))
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

// Functionalizes the program for releases that only have the dialect ATEN.
Result<void> rewrite_functional_form(Converter& converter) {
  constexpr int kFirstWithTraining = 205;
  if (converter.target.release->number >= kFirstWithTraining ||
      is_functional(converter.program.graph))
    return {};
  PT2_TRY(const auto refused, refused_inputs(converter));
  converter.pipeline.refuse_input = [&](ValueId id) {
    const auto found = refused.find(id);
    return found != refused.end() ? found->second : std::string();
  };
  PassResult result = run_pass(Pass::functionalize, converter.program, converter.pipeline);
  converter.pipeline.refuse_input = nullptr;
  for (PassFailure& failure : result.failures)
    converter.block({.kind = BlockerKind::dialect,
                     .text = std::move(failure.text),
                     .where = std::move(failure.where),
                     .node = std::move(failure.node),
                     .first = find_release("2.5")});
  converter.changed = result.changed;
  return {};
}

}  // namespace pt2
