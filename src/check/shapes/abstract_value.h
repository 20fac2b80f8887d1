// The values of a graph under one assignment of its symbols, from the file's record alone.
#ifndef PT2_CHECK_SHAPES_ABSTRACT_VALUE_H
#define PT2_CHECK_SHAPES_ABSTRACT_VALUE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ops/signature.h"
#include "pt2/ir/graph.h"
#include "pt2/value.h"

namespace pt2::check {

// The tensors that are known: those of a strided layout, or all. Most operators give tensors of
// every layout the same dtypes and sizes.
enum class Layouts : uint8_t { strided, any };

// Returns a tensor without elements of the recorded dtype and sizes, or a number. Nothing if the
// value is unknown or larger than any tensor may be.
std::optional<Value> abstract_value(const GraphValue& value, const SymbolBindings& bindings,
                                    Layouts layouts = Layouts::strided);
// Returns a value for callers to whom the program's own sizes do not matter: a tensor of the
// recorded dtype and rank whose sizes are all 1, which nearly every operator accepts together with
// others of that kind; or the number 1.
std::optional<Value> abstract_value_of_ones(const GraphValue& value);
// Calls `visit` with each symbolic number that the file records of the value, a SymInt, SymFloat or
// SymBool, except strides.
template <class Visit>
void for_each_symbolic(const GraphValue& value, const Visit& visit) {
  const auto see = [&](const auto& number) {
    if (number.is_symbolic()) visit(number);
  };
  if (const auto* number = std::get_if<SymInt>(&value.meta)) see(*number);
  if (const auto* number = std::get_if<SymFloat>(&value.meta)) see(*number);
  if (const auto* flag = std::get_if<SymBool>(&value.meta)) see(*flag);
  if (const TensorMeta* meta = value.tensor())
    for (const SymInt& size : meta->sizes) see(size);
}
// True if another call may have other sizes than the file records: one is an expression. True for
// values that are not tensors.
bool is_symbolic(const GraphValue& value);
// Returns the number of characters of these numbers in the file.
size_t expression_length(const GraphValue& value);
// Maps a value of the graph to an abstract value; nothing if it is unknown.
using Abstraction = std::function<std::optional<Value>(const GraphValue&)>;
// Abstracts as abstract_value does under these bindings, which must outlive the result and stay as
// they are. Computes a value with a long record once, so one result should serve many nodes.
Abstraction by_record(const SymbolBindings& bindings, Layouts layouts = Layouts::strided);
// Abstracts an argument; error `unsupported` if no operator here takes such an argument.
Result<std::optional<Value>> abstract_value(const Graph& graph, const Argument& argument,
                                            const Abstraction& abstraction);

// Returns the arguments of a node in the order of the signature, with defaults filled in; nothing
// if one of them is unknown or does not fit.
std::optional<std::vector<Value>> abstract_arguments(const Graph& graph, const Node& node,
                                                     const ops::Signature& signature,
                                                     const Abstraction& abstraction);

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_ABSTRACT_VALUE_H
