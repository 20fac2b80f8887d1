// Values for the symbols of a program: those of the exported example, and others under which the
// program can run.
#ifndef PT2_CHECK_SHAPES_SYMBOL_SAMPLES_H
#define PT2_CHECK_SHAPES_SYMBOL_SAMPLES_H

#include <span>
#include <vector>

#include "check/shapes/shape_check.h"
#include "ir/graph_place.h"
#include "pt2/program.h"

namespace pt2::check {

// The recorded hints; symbols without one are not bound. Linear in the values.
SymbolBindings hint_bindings(std::span<const PlacedGraph> graphs);

// Up to `count` choices that bind every symbol, are not the hints, and are admissible: within the
// program's range constraints, with its guards true, and with none of `nodes` (assertions among
// them) refusing its operands. The same for the same program. Fewer when the search finds no more:
// releases before 2.11 record no guards, so what a program assumes of its symbols shows only in
// what its operators refuse. Choices may be equal where little is left to choose. Linear in the
// nodes: the search has a budget.
std::vector<SymbolBindings> admissible_bindings(const Program& program, const SymbolBindings& hints,
                                                std::span<ShapeCheck* const> nodes, size_t count);
// `count` choices that are within the ranges of the symbols and no more.
std::vector<SymbolBindings> ranged_bindings(const Program& program, const SymbolBindings& hints,
                                            size_t count);

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_SYMBOL_SAMPLES_H
