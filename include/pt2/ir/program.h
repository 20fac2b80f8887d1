// An exported program: graph, signature, ranges of symbols, structure of inputs and outputs, and
// versions. Weights are separate (package.h). A Program is a value; any number of threads may read
// a const Program.
#ifndef PT2_IR_PROGRAM_H
#define PT2_IR_PROGRAM_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/ir/graph.h"
#include "pt2/ir/pytree.h"
#include "pt2/ir/signature.h"
#include "pt2/ir/symbols.h"
#include "pt2/result.h"

namespace pt2 {

struct SchemaVersion {
  int64_t major = 0;
  int64_t minor = 0;
  auto operator<=>(const SchemaVersion&) const = default;
};

// The range of a symbol, or of an expression of a derived dimension ("2*s77").
struct RangeConstraint {
  const SpelledExpr* key = nullptr;
  SymRange range{};
  schema::TraceHolder spelling{};
};

// The signature of a module call. The root (fqn "") has the tree specs of the program; other calls
// have a signature if it was preserved.
struct ModuleCallSignature {
  std::vector<ArgumentSpec> inputs{};
  std::vector<ArgumentSpec> outputs{};
  std::string in_spec{};   // TreeSpec JSON
  std::string out_spec{};  // TreeSpec JSON
  std::optional<std::vector<std::string>> forward_arg_names{};
  schema::TraceHolder spelling{};
};
struct ModuleCallEntry {
  std::string fqn{};
  std::optional<ModuleCallSignature> signature{};
  schema::TraceHolder spelling{};
};

// A constant that schema version 1 holds inside the JSON: the bytes of a torch.save zip.
struct EmbeddedConstant {
  std::string name{};
  std::vector<std::byte> bytes{};
};

struct Program {
  Graph graph{};
  GraphSignature signature{};
  std::vector<RangeConstraint> range_constraints{};
  std::vector<std::string> guards_code{};
  std::vector<ModuleCallEntry> module_call_graph{};
  Metadata metadata{};  // of the graph module
  std::vector<NamedTupleFields> namedtuple_fields{};
  std::vector<EmbeddedConstant> embedded_constants{};

  SchemaVersion schema_version{};
  std::string torch_version{};
  std::vector<std::string>
      verifiers;  // the dialect: "ATEN", "TRAINING"; one entry in every known file
  std::vector<std::pair<std::string, int64_t>> opset_version{};
  // Schema 8.11: the records of weights and constants in the archive, by FQN.
  NameMap tensor_paths{};
  NameMap constant_paths{};
  // Schema 1, as JSON. No release gives them a meaning.
  std::vector<std::string> equality_constraints{};
  std::optional<std::string> example_inputs{};
  schema::TraceHolder spelling{};
  schema::TraceHolder graph_module_spelling{};
  // Owns every expression of the program; copies of the program share it.
  std::shared_ptr<ExprPool> expressions = std::make_shared<ExprPool>();

  // Returns the signature of the root in module_call_graph; null if there is none.
  const ModuleCallSignature* root_call() const;
  // Returns the first verifier; "ATEN" if the file has none (torch/_export/verifier.py).
  std::string_view dialect() const;
};

// An argument of the exported forward. Its leaves are user inputs of the graph. The leaves of all
// arguments, in order, are all user inputs.
struct CallArgument {
  std::string name{};  // "x", "args[0]"
  TreeSpec spec{};
  bool is_keyword = false;
};
// Returns the arguments of forward, from the tree specs if they can be read and fit the signature.
// Otherwise each user input is one argument with its name in the graph.
std::vector<CallArgument> call_arguments(const Program& program);
// Returns the structure of the result, whose leaves are the user outputs. If the spec of the
// program does not fit, returns a tuple of the user outputs.
TreeSpec result_spec(const Program& program);

// Returns the constraint of the expression `size`; null if there is none. Linear in the
// constraints.
const RangeConstraint* find_range(const Program& program, Expr size);

// Return the names of inputs and outputs for people, one for each user input or output in order:
// "x", "args[0]", "x.a[1]", "mask". They are the paths of the leaves of call_arguments and
// result_spec, or the names in the graph if the spec of the result does not fit.
std::vector<std::string> user_input_names(const Program& program);
std::vector<std::string> user_output_names(const Program& program);
// Returns the name for people of each output of the graph: of results as user_output_names, but
// "loss" for a loss; of gradients "grad.fc.weight"; "" for outputs that no caller gets.
std::vector<std::string> graph_output_names(const Program& program);
// Returns the names of the user inputs that are passed by keyword, in the order of
// user_input_names.
std::vector<std::string> keyword_input_names(const Program& program);

}  // namespace pt2

#endif  // PT2_IR_PROGRAM_H
