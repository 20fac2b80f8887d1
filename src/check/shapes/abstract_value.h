// What the values of a graph are under one choice of its symbols, by the file's record alone.
#ifndef PT2_CHECK_SHAPES_ABSTRACT_VALUE_H
#define PT2_CHECK_SHAPES_ABSTRACT_VALUE_H

#include <functional>
#include <optional>
#include <vector>

#include "ops/signature.h"
#include "pt2/ir/graph.h"
#include "pt2/value.h"

namespace pt2::check {

// A tensor of the recorded dtype and sizes without elements, or a number. Nothing when it is
// unknown, or larger than any tensor may be.
std::optional<Value> abstract_value(const GraphValue& value, const SymbolBindings& bindings);
// Where the program's own sizes do not matter: a tensor of the recorded dtype and rank whose sizes
// are all 1, which nearly every operator takes together with others of that kind; or the number 1.
std::optional<Value> abstract_value_of_ones(const GraphValue& value);
// How a value of the graph is abstracted; nothing when it is unknown.
using Abstraction = std::function<std::optional<Value>(const GraphValue&)>;
// As abstract_value does under these bindings, which must outlive it.
Abstraction by_record(const SymbolBindings& bindings);
// The same of an argument; error `unsupported` for what no operator here takes.
Result<std::optional<Value>> abstract_value(const Graph& graph, const Argument& argument,
                                            const Abstraction& abstraction);

// Those of a node in the order of the signature, defaults filled in; nothing when one of them is
// not known or does not fit.
std::optional<std::vector<Value>> abstract_arguments(const Graph& graph, const Node& node,
                                                     const ops::Signature& signature,
                                                     const Abstraction& abstraction);

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_ABSTRACT_VALUE_H
