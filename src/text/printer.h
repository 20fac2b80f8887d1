// Shared by the files of print_program.
#ifndef PT2_TEXT_PRINTER_H
#define PT2_TEXT_PRINTER_H

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pt2/format/schema.h"
#include "pt2/ir/program.h"
#include "pt2/ir/program_text.h"
#include "pt2/ir/stack_traces.h"
#include "text/expressions.h"

namespace pt2 {

// The distinct entries of the nodes' metadata, with a number for each.
class MetadataTable {
 public:
  size_t number_of(const std::pair<std::string, std::string>& entry);
  const std::vector<const std::pair<std::string, std::string>*>& entries() const {
    return entries_;
  }

 private:
  std::map<std::pair<std::string_view, std::string_view>, size_t> numbers_;
  std::vector<const std::pair<std::string, std::string>*> entries_;
};

// The output and the state shared by all files. The program must outlive it.
struct Printer {
  Printer(const Program& source, const TextOptions& text_options);

  const Program& program;
  const TextOptions& options;
  const int version;  // of the schema, as in schema_json.h
  ExpressionPrinter expressions;
  MetadataTable metadata;
  std::string out;
  size_t indent = 2;  // of the current line

  void new_line() {
    out += '\n';
    out.append(indent, ' ');
  }

  void string(std::string_view text);       // in quotes, without escapes if it reads better so
  void json_string(std::string_view text);  // in quotes, with JSON's escapes
  void word_or_string(std::string_view text);
  void strings(const std::vector<std::string>& texts);
  void value_name(std::string_view name);
  void target(std::string_view target);
  void device(const Device& device);
  void dtype(ScalarType dtype);
  // Prints ` spelling="..."` of a record of schema.def, if it has one.
  template <class Record>
  void spelling(const schema::TraceHolder& holder);
  // Whether an argument uses values or defines them; types follow defined values.
  enum class Values : uint8_t { used, defined };
  // `graph` has the argument's values; null if only constants are allowed.
  void argument(const Argument& argument, const Graph* graph, Values values);
  void value_type(const GraphValue& value);
  void argument_spec(const ArgumentSpec& spec);
};

// Notes the expressions of all values of the graph and of its nested graphs.
void note_expressions(ExpressionPrinter& expressions, const Graph& graph);
// Prints "graph name(...) {...}" without a line break at its end. With `with_specs`, inputs and
// outputs are followed by their specs, as in the program's own graph.
void print_graph(Printer& printer, const Graph& graph, bool with_specs);
// Prints "stack_traces {...}" without a line break at its end.
void print_stack_traces(Printer& printer, const StackTraceTable& table);
// True if each input and output has a spec that names it and holds nothing else.
bool specs_fit(const Program& program);

}  // namespace pt2

#endif  // PT2_TEXT_PRINTER_H
