// The recorded dtypes and sizes of one node against its operator's shape rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/table.h"
#include "pt2/diagnostics.h"
#include "pt2/graph.h"
#include "run/symbol_samples.h"

namespace pt2::run {

// What a value of the graph is under one choice of its symbols: a tensor of its dtype and sizes
// without elements, or a number. Nothing when it is unknown, or larger than any tensor may be.
std::optional<Value> abstract_value(const GraphValue& value, const SymbolBindings& bindings);
// The same of an argument; error `unsupported` for what no operator here takes.
Result<std::optional<Value>> abstract_value(const Graph& graph, const Argument& argument,
                                            const SymbolBindings& bindings);

struct ShapeFault {
  Rule rule;
  std::optional<size_t> output;  // nothing: the call as a whole
  std::string text;
};

// Nothing when all is well, or when nobody can say: operators without a rule, sizes that depend on
// data, symbols without values.
std::optional<ShapeFault> check_shapes(const Graph& graph, const Node& node,
                                       const ops::Operator& op, const SymbolSamples& samples);

}  // namespace pt2::run
