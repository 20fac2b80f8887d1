// Stack traces in the compact form of schema 5.3: a graph lists the files and lines of Python once,
// and each node's stack_trace only refers to them. Programs in memory always have whole traces, as
// every other version has them in its files.
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
    std::string function{};  // the function it is in
    std::string text{};      // the source line; empty where Python could not read the file
    schema::TraceHolder spelling{};
  };
  struct File {
    std::string name{};
    std::vector<Line> lines{};
    schema::TraceHolder spelling{};
  };
  std::vector<File> files{};
  // False where the traces of a file are in a form that is not known here: they and the table stay
  // as they are.
  bool is_expanded = true;
};

// Makes to_schema write the graph, and those nested in it, with tables. Only version 5.3 has them.
void compact_stack_traces(Graph& graph);

// Looks frames up in one table, which must outlive it.
class StackTraceIndex {
 public:
  explicit StackTraceIndex(StackTraceTable& table);

  // "0:12;3:7" (file and line), outermost frame first, as traceback.format_list prints these lines;
  // a leading "~" says that torch.fx stripped the text. Nothing when it is no such text or names
  // what the table lacks.
  std::optional<std::string> expand(std::string_view compact) const;
  // The opposite; nothing when `trace` is not as traceback prints it or has lines that the table
  // lacks.
  std::optional<std::string> find(std::string_view trace) const;
  // As `find`, adding what the table lacks.
  std::optional<std::string> compact(std::string_view trace);
  // Whether `text` has the form that `expand` reads, or that `compact` reads.
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
