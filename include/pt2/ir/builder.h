// Programs made from nothing: what torch.export gives, without Python. Graph, signature, tree specs
// and ranges are kept in step; the tensors of parameters, buffers and constants are given when the
// program is saved.
//
//   ProgramBuilder builder;
//   const SymInt batch = builder.dim("s0", {1, 64}, 8);
//   const ValueId weight = builder.parameter("fc.weight", builder.tensor(Dtype::float32, {4, 8}));
//   const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {batch, 8}));
//   const ValueId y = builder.call("torch.ops.aten.linear.default",
//                                  {arg("input", x), arg("weight", weight)},
//                                  builder.tensor(Dtype::float32, {batch, 4}));
//   builder.output(y);
//   Program program = std::move(builder).finish().value();
#ifndef PT2_IR_BUILDER_H
#define PT2_IR_BUILDER_H

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pt2/ir/graph.h"
#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

// One argument of a call, under its name in the operator's signature. It is passed by keyword where
// the signature lists it after '*', else by position. Arguments of higher-order operators have no
// name.
NamedArgument arg(std::string name, Argument value);
NamedArgument kwarg(std::string name, Argument value);
NamedArgument arg(Argument value);
Argument list(ListKind kind, std::vector<Argument> items);
Argument tensors(const std::vector<ValueId>& values);
Argument ints(const std::vector<int64_t>& values);

// One graph: the program's own, or one that a higher-order operator calls. A name already taken
// gets a number as in torch.fx: "linear", "linear_1". Nothing here fails: what could not be built
// is left out, and the first such mistake is what ProgramBuilder::finish() returns.
class GraphBuilder {
 public:
  // An empty graph that this one can call, over the same symbols.
  GraphBuilder nested() const { return GraphBuilder(expressions_); }

  // A contiguous, strided tensor of the CPU.
  TensorMeta tensor(Dtype dtype, std::vector<SymInt> sizes);

  ValueId input(std::string_view name, TensorMeta meta);
  // Calls an operator with one result. The node and its value are named after the operator. A
  // higher-order operator returns the result as a bare value.
  ValueId call(std::string target, std::vector<NamedArgument> inputs,
               std::variant<TensorMeta, SymInt, SymFloat, SymBool> result);
  // Calls an operator with several results, or none, which are named "getitem", "getitem_1". A
  // higher-order operator returns them as a tuple, as cond does.
  std::vector<ValueId> call_many(std::string target, std::vector<NamedArgument> inputs,
                                 std::vector<TensorMeta> results);
  void output(Argument argument);
  // The argument that passes `graph` to the higher-order operator that calls it.
  Argument subgraph(std::string name, GraphBuilder graph);

 protected:
  explicit GraphBuilder(std::shared_ptr<ExprPool> expressions)
      : expressions_(std::move(expressions)) {}

  ValueId add_value(std::string_view name,
                    std::variant<TensorMeta, SymInt, SymFloat, SymBool> meta);
  void add_call(std::string target, std::vector<NamedArgument> inputs,
                const std::vector<ValueId>& results, bool is_tuple);
  // The expression in the spelling of the newest schema.
  Result<SymInt> spelled(std::string_view text, int64_t hint);

  std::string unused_name(std::string_view name);
  // Keeps the first mistake.
  void refuse(Error error);
  // False, and a mistake, where the argument has a value that this builder did not give.
  bool takes(const Argument& argument, std::string_view place);

  std::shared_ptr<ExprPool> expressions_;
  Graph graph_;
  std::set<std::string, std::less<>> node_names_;  // of nodes that are named after no value
  std::optional<Error> mistake_;
};

// Builds a program of the TRAINING dialect in the newest schema.
class ProgramBuilder : public GraphBuilder {
 public:
  ProgramBuilder();

  // A symbolic dimension: its name ("s0"), its admissible range, its value in the example inputs.
  // Where the name is no symbol or the range is empty, the number `hint`, and finish() fails.
  SymInt dim(std::string_view name, SymRange range, int64_t hint);
  // An expression of such dimensions: expr("2*s0 + 1", 17). Error `malformed`.
  Result<SymInt> expr(std::string_view text, int64_t hint) { return spelled(text, hint); }

  // Inputs stand in the order that PyTorch gives them, whatever the order of these calls:
  // parameters, buffers, constants, user inputs.
  ValueId parameter(std::string fqn, TensorMeta meta);
  ValueId buffer(std::string fqn, TensorMeta meta, bool persistent = true);
  ValueId constant(std::string fqn, TensorMeta meta);
  ValueId input(std::string_view name, TensorMeta meta);
  // An input that is a number.
  ValueId input(std::string_view name, SymInt value);
  // After each call the buffer holds `value`.
  void mutate_buffer(std::string fqn, ValueId value);
  // A value, or a number, string or None that every call gives.
  void output(Argument argument);

  // Error `invalid` when a value is used before it is defined, is none of this builder's, or a
  // dimension has an empty range; `malformed` when its name is no symbol.
  Result<Program> finish() &&;

 private:
  struct Input {
    InputSpec spec;
    ValueId value;
  };
  struct Output {
    OutputSpec spec;
    Argument argument;
  };
  ValueId add_input(InputSpec spec, std::string_view name, std::variant<TensorMeta, SymInt> meta);
  ModuleCallEntry root_call() const;

  Program program_;
  std::vector<Input> inputs_;
  std::vector<Output> mutations_, results_;
};

}  // namespace pt2

#endif  // PT2_IR_BUILDER_H
