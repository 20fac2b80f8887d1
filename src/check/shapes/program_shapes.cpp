#include "check/shapes/program_shapes.h"

#include "check/shapes/symbol_samples.h"
#include "ir/target.h"

namespace pt2::check {
namespace {

using Region = ProgramShapes::Region;

// Returns the region that a node with this target opens in its graph.
Region opened_region(std::string_view target) {
  if (target == "torch.amp.autocast_mode._enter_autocast") return Region::casts;
  return target == "torch._functorch.predispatch._add_batch_dim" ||
                 target == "torch._functorch.predispatch._vmap_increment_nesting"
             ? Region::hides_dimensions
             : Region::plain;
}

// False if autocast may explain the fault. Casts change dtypes, and thereby which operands an
// operator refuses and how it lays out its result; sizes stay.
bool counts(const ProgramShapes::Entry& entry, const ShapeFault& fault) {
  return entry.region == Region::plain || fault.rule == Rule::result_sizes;
}

// True if autocast may change the dtype in which the operator computes. For a composite operator
// autocast applies to the operators inside.
bool may_cast(const ops::Operator& op) {
  if (op.custom != nullptr) return true;
  const ops::Facts& facts = op.def->facts;
  return facts.autocast != ops::AutocastRule::as_given || op.def->formula != nullptr ||
         facts.undecomposed != ops::Undecomposed::no;
}

// Returns a fault that appears under every assignment that the operator accepts. An operator may
// refuse an assignment that violates an assumption the file does not record.
std::optional<ShapeFault> common_fault(ShapeCheck& check,
                                       std::span<const Abstraction> assignments) {
  std::optional<ShapeFault> fault;
  for (const Abstraction& record : assignments) {
    ShapeVerdict verdict = check.judge(record);
    if (verdict.is_refused()) continue;
    if (!verdict.fault) return std::nullopt;
    fault = std::move(verdict.fault);
  }
  return fault;
}

}  // namespace

ProgramShapes::ProgramShapes(const Program& program, std::span<const PlacedGraph> graphs)
    : program_(program),
      graphs_(graphs),
      hints_(possible_hints(program, graphs)),
      regions_(graphs.size(), Region::plain),
      always_(graphs.size(), true) {
  for (size_t g = 0; g < graphs.size(); ++g) {
    const PlacedGraph& placed = graphs[g];
    if (placed.caller != nullptr) {
      const std::string_view caller = last_part(placed.caller->target);
      regions_[g] = std::max(regions_[placed.caller_graph],
                             caller == "wrap_with_autocast" ? Region::casts : Region::plain);
      always_[g] = always_[placed.caller_graph] && caller != "cond";
    }
    for (NodeId id : placed.graph->nodes())
      regions_[g] = std::max(regions_[g], opened_region(placed.graph->node(id).target));
  }
}

void ProgramShapes::add(size_t graph, size_t position, const Node& node, const ops::Operator& op) {
  Region region = regions_[graph];
  if (region == Region::hides_dimensions) return;
  if (region == Region::casts && !may_cast(op)) region = Region::plain;
  entries_.push_back({ShapeCheck(*graphs_[graph].graph, node, op), graph, position,
                      always_[graph] && region == Region::plain, region});
}

std::vector<SymbolBindings> ProgramShapes::assignments(size_t count) {
  std::vector<ShapeCheck*> checks;
  for (Entry& entry : entries_)
    if (entry.always && entry.check.has_symbols()) checks.push_back(&entry.check);
  return admissible_bindings(program_, hints_, checks, count);
}

std::vector<ProgramShapes::Fault> ProgramShapes::find_faults(size_t count) {
  std::vector<Fault> faults;
  std::vector<Entry*> symbolic;
  const Abstraction by_hints = by_record(hints_, Layouts::any);
  for (Entry& entry : entries_) {
    ShapeVerdict example = entry.check.judge(by_hints);
    if (example.fault && !entry.check.is_assertion() && counts(entry, *example.fault))
      faults.push_back({&entry, *std::move(example.fault)});
    else if (entry.check.has_symbols())
      symbolic.push_back(&entry);
  }
  if (symbolic.empty()) return faults;
  std::vector<SymbolBindings> bindings = assignments(count);
  // If no assignment runs, a wrong record may be the reason. Assignments that only satisfy the
  // ranges still find that record.
  if (bindings.empty()) bindings = ranged_bindings(program_, hints_, count);
  std::vector<Abstraction> others;
  for (const SymbolBindings& each : bindings) others.push_back(by_record(each, Layouts::any));
  for (Entry* entry : symbolic)
    if (auto fault = common_fault(entry->check, others); fault && counts(*entry, *fault))
      faults.push_back({entry, *std::move(fault)});
  return faults;
}

}  // namespace pt2::check
