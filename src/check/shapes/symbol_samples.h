// Values for the symbols of a program: those of the exported example, and others under which the
// program can run.
#ifndef PT2_CHECK_SHAPES_SYMBOL_SAMPLES_H
#define PT2_CHECK_SHAPES_SYMBOL_SAMPLES_H

#include <span>
#include <vector>

#include "check/shapes/shape_check.h"
#include "ir/graph_place.h"
#include "pt2/ir/guards.h"
#include "pt2/ir/program.h"

namespace pt2::check {

// A guard, and the expression of each of its sources in the program: a size of an input, or an
// input that is a number; empty if the program does not give it.
struct SourcedGuard {
  Guard guard;
  std::vector<Expr> sources{};
};
// Returns the guards that can be parsed.
std::vector<SourcedGuard> sourced_guards(const Program& program);

// Returns the recorded hints; symbols without a hint are not bound. Linear in the values.
SymbolBindings hint_bindings(std::span<const PlacedGraph> graphs);
// The same without hints outside of the ranges of their symbols. Linear in the values.
SymbolBindings possible_hints(const Program& program, std::span<const PlacedGraph> graphs);

// Returns up to `count` assignments that bind every symbol, differ from the hints and are
// admissible: they satisfy the program's range constraints and guards, and none of `nodes`
// (assertions among them) refuses its operands. Deterministic. Returns fewer if the search finds no
// more: releases before 2.11 record no guards, so only the operators that refuse reveal what a
// program assumes of its symbols. Assignments may be equal if few choices remain. Linear in the
// nodes: the search has a budget.
std::vector<SymbolBindings> admissible_bindings(const Program& program, const SymbolBindings& hints,
                                                std::span<ShapeCheck* const> nodes, size_t count);
// Returns `count` assignments that only satisfy the ranges of the symbols.
std::vector<SymbolBindings> ranged_bindings(const Program& program, const SymbolBindings& hints,
                                            size_t count);

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_SYMBOL_SAMPLES_H
