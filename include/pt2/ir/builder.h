// Builds exported programs without Python, such as torch.export gives. The builder keeps graph,
// signature, tree specs and ranges consistent. The tensors of parameters, buffers and constants are
// supplied when the program is saved.
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

// Make one argument of a call. `name` is its name in the operator's signature. Use kwarg for
// parameters that the signature lists after '*', arg for others. Arguments of higher-order
// operators have no name.
NamedArgument arg(std::string name, Argument value);
NamedArgument kwarg(std::string name, Argument value);
NamedArgument arg(Argument value);
Argument list(ListKind kind, std::vector<Argument> items);
Argument tensors(const std::vector<ValueId>& values);
Argument ints(const std::vector<int64_t>& values);

// Builds one graph: that of the program, or one that a higher-order operator calls. A name that is
// taken gets a number as in torch.fx: "linear", "linear_1". These functions do not return errors:
// they leave out what they cannot build, and ProgramBuilder::finish() returns the first error.
class GraphBuilder {
 public:
  // Returns a builder for an empty graph that this graph can call. It shares the symbols.
  GraphBuilder nested() const { return GraphBuilder(expressions_); }

  // Returns the metadata of a contiguous, strided CPU tensor.
  TensorMeta tensor(Dtype dtype, std::vector<SymInt> sizes);

  ValueId input(std::string_view name, TensorMeta meta);
  // Adds a call of an operator with one result, and returns the result. The node and its value are
  // named after the operator. A higher-order operator returns the result as a bare value.
  ValueId call(std::string target, std::vector<NamedArgument> inputs,
               std::variant<TensorMeta, SymInt, SymFloat, SymBool> result);
  // Adds a call of an operator with several results or none, and returns the results. They are
  // named "getitem", "getitem_1". A higher-order operator returns them as a tuple, as cond does.
  std::vector<ValueId> call_many(std::string target, std::vector<NamedArgument> inputs,
                                 std::vector<TensorMeta> results);
  void output(Argument argument);
  // Returns the argument that passes `graph` to the higher-order operator that calls it.
  Argument subgraph(std::string name, GraphBuilder graph);

 protected:
  explicit GraphBuilder(std::shared_ptr<ExprPool> expressions)
      : expressions_(std::move(expressions)) {}

  ValueId add_value(std::string_view name,
                    std::variant<TensorMeta, SymInt, SymFloat, SymBool> meta);
  void add_call(std::string target, std::vector<NamedArgument> inputs,
                const std::vector<ValueId>& results, bool is_tuple);
  // Returns the expression in the spelling of the newest schema.
  Result<SymInt> spelled(std::string_view text, int64_t hint);

  std::string unused_name(std::string_view name);
  // Records an error. Only the first one is kept.
  void refuse(Error error);
  // Returns false and records an error if the argument contains a value that this builder did not
  // create.
  bool takes(const Argument& argument, std::string_view place);

  std::shared_ptr<ExprPool> expressions_;
  Graph graph_;
  std::set<std::string, std::less<>> node_names_;  // of nodes whose name is not that of a value
  std::optional<Error> mistake_;
};

// Builds a program of the TRAINING dialect in the newest schema.
class ProgramBuilder : public GraphBuilder {
 public:
  ProgramBuilder();

  // Adds a symbolic dimension with a name ("s0"), the admissible range, and the value in the
  // example inputs. If the name is no symbol or the range is empty, it returns the number `hint`,
  // and finish() fails.
  SymInt dim(std::string_view name, SymRange range, int64_t hint);
  // Returns an expression of such dimensions: expr("2*s0 + 1", 17). Error `malformed`.
  Result<SymInt> expr(std::string_view text, int64_t hint) { return spelled(text, hint); }

  // Add an input of the graph. The program has its inputs in the order of PyTorch, whatever the
  // order of these calls: parameters, buffers, constants, user inputs.
  ValueId parameter(std::string fqn, TensorMeta meta);
  ValueId buffer(std::string fqn, TensorMeta meta, bool persistent = true);
  ValueId constant(std::string fqn, TensorMeta meta);
  ValueId input(std::string_view name, TensorMeta meta);
  // Adds a user input that is a number.
  ValueId input(std::string_view name, SymInt value);
  // Makes each run of the program store `value` in the buffer.
  void mutate_buffer(std::string fqn, ValueId value);
  // Adds a result: a value, or a constant number, string or None. No release of PyTorch loads a
  // program that returns a string. A reference to GraphBuilder adds no inputs and outputs of the
  // program: its functions of the same names leave out the signature, and finish() fails.
  void output(Argument argument);

  // Returns the program. Errors: `invalid` if a value is used before it is defined, if a value,
  // size or graph was not created by this builder, if a dimension has an empty range or two ranges,
  // or for a result that output() does not take; `malformed` if the name of a dimension is no
  // symbol. A value of another builder is found only if its id is none of this builder's ids.
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
