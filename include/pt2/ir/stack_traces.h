// Stack traces in the compact form of schema 5.3. A graph lists the Python files and lines once,
// and the stack_trace of each node refers to them. Programs in memory always have full traces, as
// files of every other version do.
#ifndef PT2_IR_STACK_TRACES_H
#define PT2_IR_STACK_TRACES_H

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pt2/format/file_spelling.h"

namespace pt2 {

class Graph;

// The table of one graph: CoFileInfo and CoLineInfo of the schema.
struct StackTraceTable {
  struct Line {
    std::string number{};    // decimal digits
    std::string function{};  // the function that contains it
    std::string text{};      // the source line; empty if Python could not read the file
    schema::TraceHolder spelling{};
  };
  struct File {
    std::string name{};
    std::vector<Line> lines{};
    schema::TraceHolder spelling{};
  };
  std::vector<File> files{};
  // False if the traces of the file have an unknown form. Then the traces and the table stay
  // unchanged.
  bool is_expanded = true;
};

// Makes to_schema write the graph and its nested graphs with tables. Only version 5.3 has tables.
void compact_stack_traces(Graph& graph);

// Converts stack traces with one table, which must outlive the index.
class StackTraceIndex {
 public:
  explicit StackTraceIndex(StackTraceTable& table);

  // Returns the full trace, as traceback.format_list prints it, for a compact one. "0:12;3:7" has
  // file and line of each frame, outermost first. A leading "~" means that torch.fx stripped the
  // text. Nothing if `compact` is no such text or refers to entries that the table lacks.
  std::optional<std::string> expand(std::string_view compact) const;
  // Returns the compact trace for a full one. Nothing if `trace` does not have the form that
  // traceback prints, or has lines that the table lacks.
  std::optional<std::string> find(std::string_view trace) const;
  // As `find`, but adds missing lines to the table.
  std::optional<std::string> compact(std::string_view trace);
  // True if `text` has the form that `expand` reads, or the form that `compact` reads.
  static bool is_compact(std::string_view text);
  static bool is_traceback(std::string_view text);

 private:
  std::optional<size_t> find_file(std::string_view name, const StackTraceTable::Line& line) const;
  size_t add(std::string_view name, StackTraceTable::Line line);
  void index_line(size_t file, size_t line);

  StackTraceTable& table_;
  std::map<std::string, std::vector<size_t>, std::less<>> files_;  // by name
  std::map<std::pair<size_t, std::string>, size_t> lines_;         // by file and number
};

}  // namespace pt2

#endif  // PT2_IR_STACK_TRACES_H
