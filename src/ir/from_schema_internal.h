// Shared by the parts of from_schema.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/try_at.h"
#include "ir/from_schema.h"

namespace pt2 {

// What all parts need to know about the file.
struct SchemaContext {
  int64_t major = 0;
  ExprPool* pool = nullptr;
};

Result<SymInt> read_sym(const schema::SymInt& source, ExprPool& pool);
Result<SymFloat> read_sym(const schema::SymFloat& source, ExprPool& pool);
Result<SymBool> read_sym(const schema::SymBool& source, ExprPool& pool);

// The names of one graph while it is read.
class ValueScope {
 public:
  ValueScope(Graph& graph, const SchemaContext& context, int depth)
      : graph_(graph), context_(context), depth_(depth) {}

  // A value that must be defined already, or one that is defined here.
  enum class Access : uint8_t { use, define };
  Result<ValueId> resolve(const std::string& name, ValueKind kind, Access access);
  bool has(const std::string& name, ValueKind kind) const;
  // Reads a nested graph into this one.
  Result<SubgraphId> add_subgraph(schema::GraphArgument& source);
  const SchemaContext& context() const { return context_; }

 private:
  Graph& graph_;
  const SchemaContext& context_;
  int depth_;
  std::vector<bool> defined_;
};

// `scope` resolves names; null where only constants may stand.
Result<Argument> read_argument(schema::Argument& source, ValueScope* scope,
                               ValueScope::Access access);
Result<ArgumentSpec> read_argument_spec(schema::Argument& source);

// Version 1's constants, which become inputs behind the others.
using Constants = schema::Dict<std::string>;
Result<Graph> read_graph(schema::Graph& source, const SchemaContext& context, int depth,
                         const Constants& constants);

Result<GraphSignature> read_signature(schema::GraphSignature& source, int64_t major);
GraphSignature read_signature_v1(const schema::GraphSignatureV1& source, const Graph& graph,
                                 const Constants& constants);

// ".name", or ["any text"]: as the JSON decoder names places.
std::string key_step(std::string_view key);
// Nothing when the text is not base64.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace pt2
