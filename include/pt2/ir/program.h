// An exported program: graph, signature, ranges of its symbols, structure of its inputs and
// outputs, and where it comes from. Weights are apart (package.h). A Program is a value; a const
// one may be read by any number of threads.
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

// Keys are symbols, or expressions of derived dimensions ("2*s77").
struct RangeConstraint {
  const SpelledExpr* key = nullptr;
  SymRange range{};
  schema::TraceHolder spelling{};
};

// A module call whose signature was preserved; the root (fqn "") holds the tree specs of the
// program.
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

// A constant that schema version 1 keeps inside the JSON: the bytes of a torch.save zip.
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
  // Schema 8.11: where weights and constants lie in the archive, by FQN.
  NameMap tensor_paths{};
  NameMap constant_paths{};
  // Schema 1, as JSON; no release gives them a meaning.
  std::vector<std::string> equality_constraints{};
  std::optional<std::string> example_inputs{};
  schema::TraceHolder spelling{};
  schema::TraceHolder graph_module_spelling{};
  // Owns every expression of the program; copies of the program share it.
  std::shared_ptr<ExprPool> expressions = std::make_shared<ExprPool>();

  // The root's entry of module_call_graph; null when there is none.
  const ModuleCallSignature* root_call() const;
  // The first verifier, "ATEN" when the file names none (torch/_export/verifier.py).
  std::string_view dialect() const;
};

// An argument of the exported forward. Its leaves are user inputs of the graph; the leaves of all
// arguments, in order, are all the user inputs.
struct CallArgument {
  std::string name{};  // "x", "args[0]"
  TreeSpec spec{};
  bool is_keyword = false;
};
// From the tree specs where they are understood and fit the signature; else each user input is an
// argument by its name in the graph.
std::vector<CallArgument> call_arguments(const Program& program);
// The structure of the result, whose leaves are the user outputs. Where the program's own spec does
// not fit, a tuple of the user outputs.
TreeSpec result_spec(const Program& program);

// The constraint of a size's expression; null when there is none. Linear in the constraints.
const RangeConstraint* find_range(const Program& program, Expr size);

// The names by which people know a program's inputs and outputs, one for each user input or output
// in order: "x", "args[0]", "x.a[1]", "mask". They are the paths of the leaves of call_arguments
// and result_spec, or the graph's own names where the result's spec does not fit.
std::vector<std::string> user_input_names(const Program& program);
std::vector<std::string> user_output_names(const Program& program);
// Names of the user inputs that are passed by keyword (a subset of user_input_names, same order).
std::vector<std::string> keyword_input_names(const Program& program);

}  // namespace pt2

#endif  // PT2_IR_PROGRAM_H
