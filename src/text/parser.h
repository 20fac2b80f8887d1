// Shared by the files of parse_program.
#ifndef PT2_TEXT_PARSER_H
#define PT2_TEXT_PARSER_H

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash/text_hash.h"
#include "pt2/format/schema.h"
#include "pt2/ir/program.h"
#include "pt2/limits.h"
#include "text/expressions.h"
#include "text/reader.h"

namespace pt2 {

// The state shared by all files.
struct Parsing {
  // A node's reference to an entry of the metadata table; the table may follow later in the text.
  struct Reference {
    int64_t number = 0;
    size_t offset = 0;
  };

  Parsing(std::string_view text, std::string_view name, std::vector<Error>& errors)
      : reader(text, name, errors) {}

  TextReader reader;
  Program program{};
  int version = 0;  // of the schema, as in schema_json.h
  std::optional<ExpressionReader> expressions{};
  // In the order in which nodes end: nodes of nested graphs come before the node that calls them.
  std::vector<Reference> references{};
  std::vector<size_t> reference_counts{};  // one for each node
  TextSet<std::string> keys{};
  // Set by an input or output of the program whose spec cannot be written beside it.
  std::optional<Error> missing_spec{};
  int depth = 0;

  // Counts the graphs, lists and maps around the current place, to bound recursion on hostile text.
  class Level {
   public:
    explicit Level(Parsing& parsing, int weight = 1) : parsing_(parsing), weight_(weight) {
      parsing.depth += weight;
    }
    ~Level() { parsing_.depth -= weight_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Result<void> check() const;

   private:
    Parsing& parsing_;
    const int weight_;
  };

  // Reports a key that occurs twice in a dictionary.
  void check_unique(std::string_view dictionary, const std::string& key, size_t offset);
  // Parses `spelling="..."` of a record of schema.def, if it is next.
  template <class Record>
  Result<void> spelling(schema::TraceHolder& holder);
  Result<std::string> json();  // in quotes
  Result<std::vector<std::string>> strings();
};

// The names of one graph during parsing.
class ValueScope {
 public:
  using Meta = decltype(GraphValue::meta);
  explicit ValueScope(Parsing& parsing) : parsing_(parsing) {}

  Graph graph;

  // Returns the value. Reports errors at `offset`; the argument is then None.
  Argument use(const std::string& name, size_t offset);
  // Defines a value of the current node or of the inputs; usable from finish() on.
  Argument define(const std::string& name, Meta meta, size_t offset);
  void finish();
  void define_by_nothing(const std::string& name, Meta meta, size_t offset);
  // Declares a value by name, in the order of the file's tables; its definition must follow.
  void expect(const std::string& name, size_t offset);
  void check_all_defined(size_t offset);

 private:
  enum class State : uint8_t { expected, pending, defined, by_nothing };
  std::optional<ValueId> add(const std::string& name, Meta meta, State state, size_t offset);

  Parsing& parsing_;
  std::vector<State> states_;  // by ValueId
  std::vector<ValueId> pending_;
};

enum class Access : uint8_t { use, define };
// `scope` holds the values; null if only constants are allowed.
Result<Argument> parse_argument(Parsing& parsing, ValueScope* scope, Access access);
// Checks that the text's schema version supports the form of the argument at `offset`.
Result<void> check_argument_version(const Parsing& parsing, const Argument& argument,
                                    const Graph* graph, size_t offset);
Result<void> check_argument_kind(const Parsing& parsing, std::optional<ArgumentKind> kind,
                                 size_t offset);
// Parses a value's name and kind, or a constant with the name of its input.
Result<ArgumentSpec> parse_argument_spec(Parsing& parsing);
// Parses ` as "name"`, if it is next.
Result<void> parse_constant_name(Parsing& parsing, ArgumentSpec& spec);
Result<std::string> parse_target(Parsing& parsing);
// Parses "#12".
Result<Parsing::Reference> parse_reference(TextReader& reader);
// True if a target and its arguments follow.
bool at_target(const Parsing& parsing);

Result<ValueScope::Meta> parse_value_type(Parsing& parsing, const std::string& value_name);
Result<ScalarType> parse_dtype(Parsing& parsing);
Result<Layout> parse_layout(Parsing& parsing);
Result<Device> parse_device(Parsing& parsing);

Result<InputKind> parse_input_kind(Parsing& parsing);
Result<OutputKind> parse_output_kind(Parsing& parsing);
Result<void> parse_spec_target(Parsing& parsing, InputSpec& spec);
Result<void> parse_spec_target(Parsing& parsing, OutputSpec& spec);
Result<void> parse_persistent(Parsing& parsing, InputSpec& spec);
// Called after the word "signature".
Result<void> parse_signature(Parsing& parsing, GraphSignature& signature);

// Called after the word "graph". The specs of the program's own inputs and outputs are beside them
// and go to `signature`; null for nested graphs.
Result<Graph> parse_graph(Parsing& parsing, GraphSignature* signature);
// Called after the word "stack_traces".
Result<StackTraceTable> parse_stack_traces(Parsing& parsing);
// Gives the program's nodes their metadata, once the table is known. Valid only if no error
// occurred before.
using MetadataEntries = std::unordered_map<int64_t, std::pair<std::string, std::string>>;
void resolve_metadata(Parsing& parsing, const MetadataEntries& entries, const Limits& limits);

}  // namespace pt2

#endif  // PT2_TEXT_PARSER_H
