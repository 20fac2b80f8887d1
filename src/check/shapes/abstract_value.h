// What the values of a graph are under one choice of its symbols, by the file's record alone.
#ifndef PT2_CHECK_SHAPES_ABSTRACT_VALUE_H
#define PT2_CHECK_SHAPES_ABSTRACT_VALUE_H

#include <optional>
#include <vector>

#include "ops/signature.h"
#include "pt2/graph.h"
#include "pt2/value.h"

namespace pt2::check {

// A tensor of the recorded dtype and sizes without elements, or a number. Nothing when it is
// unknown, or larger than any tensor may be.
std::optional<Value> abstract_value(const GraphValue& value, const SymbolBindings& bindings);
// The same of an argument; error `unsupported` for what no operator here takes.
Result<std::optional<Value>> abstract_value(const Graph& graph, const Argument& argument,
                                            const SymbolBindings& bindings);

// Those of a node in the order of the signature, defaults filled in; nothing when one of them is
// not known or does not fit.
std::optional<std::vector<Value>> abstract_arguments(const Graph& graph, const Node& node,
                                                     const ops::Signature& signature,
                                                     const SymbolBindings& bindings);

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_ABSTRACT_VALUE_H
