// Shared by the files of from_schema.
#ifndef PT2_SERDE_FROM_SCHEMA_INTERNAL_H
#define PT2_SERDE_FROM_SCHEMA_INTERNAL_H

#include <string>
#include <vector>

#include "serde/from_schema.h"

namespace pt2 {

// The facts about the file that all readers need, and the current place in it. Violations of the
// graph's rules are collected with their place, and reading continues; it stops only at faults that
// leave no program.
class ReadContext {
 public:
  ReadContext(int64_t major_version, ExprPool& expressions, Diagnostics& faults)
      : major(major_version), pool(expressions), faults_(faults) {}

  const int64_t major;  // of the schema version
  ExprPool& pool;
  schema::PieceReader* pieces = nullptr;  // the rest of the outermost graph, if read in pieces
  NodeOrigins origins = NodeOrigins::whole;

  // While a Step lives, the place is inside it. The name must outlive the Step.
  class Step {
   public:
    ~Step() { context_.path_.pop_back(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    friend class ReadContext;
    explicit Step(ReadContext& context) : context_(context) {}
    ReadContext& context_;
  };
  [[nodiscard]] Step field(std::string_view name);
  [[nodiscard]] Step item(std::string_view name, size_t index);  // ".name[index]", "[index]"
  [[nodiscard]] Step key(std::string_view name);                 // a key of a dictionary

  void report(Rule rule, std::string text, ErrorCode code = ErrorCode::invalid);
  Error fail(ErrorCode code, std::string text) const;

 private:
  struct Place {
    std::string_view name;
    size_t index = SIZE_MAX;
    bool is_key = false;
  };
  std::string place() const;

  Diagnostics& faults_;
  std::vector<Place> path_;
};

Result<SymInt> read_sym(const schema::SymInt& source, ReadContext& context);
Result<SymFloat> read_sym(const schema::SymFloat& source, ReadContext& context);
Result<SymBool> read_sym(const schema::SymBool& source, ReadContext& context);
Result<TensorMeta> read_tensor_meta(const schema::TensorMeta& source, ReadContext& context);

// The names of one graph during reading.
class ValueScope {
 public:
  ValueScope(Graph& graph, ReadContext& context, int depth)
      : graph_(graph), context_(context), depth_(depth) {}

  // A name is used, or defined. A name without a table entry gets a value without a definition,
  // which check_structure reports.
  enum class Access : uint8_t { use, define };
  ValueId resolve(const std::string& name, ValueKind kind, Access access);
  bool has(const std::string& name, ValueKind kind) const;
  // Operands of higher-order operators are in lists of tensors even if they have other types:
  // PyTorch has no list for mixed types (serialize.py, serialize_input).
  void set_mixed_lists(bool mixed) { mixed_lists_ = mixed; }
  ValueKind kind_in_list(const std::string& name) const;
  // Reads a nested graph and adds it to this graph.
  Result<SubgraphId> add_subgraph(schema::GraphArgument& source);
  ReadContext& context() const { return context_; }

 private:
  Graph& graph_;
  ReadContext& context_;
  int depth_;
  bool mixed_lists_ = false;
};

// `scope` resolves names; null if only constants are allowed.
Result<Argument> read_argument(schema::Argument& source, ReadContext& context, ValueScope* scope,
                               ValueScope::Access access);
Result<ArgumentSpec> read_argument_spec(schema::Argument& source, ReadContext& context);

// Version 1's constants, which become inputs after the other inputs.
using Constants = schema::Dict<std::string>;
Result<Graph> read_graph(schema::Graph& source, ReadContext& context, int depth,
                         const Constants& constants);

Result<GraphSignature> read_signature(schema::GraphSignature& source, ReadContext& context);
GraphSignature read_signature_v1(const schema::GraphSignatureV1& source, const Graph& graph,
                                 const Constants& constants);

// Returns ".name", or ["any text"]: the JSON decoder's spelling of places.
std::string key_step(std::string_view key);

}  // namespace pt2

#endif  // PT2_SERDE_FROM_SCHEMA_INTERNAL_H
