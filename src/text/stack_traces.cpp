// Prints and parses the stack trace tables of schema 5.3.
#include "pt2/ir/stack_traces.h"

#include "base/hash/text_hash.h"
#include "text/parser.h"
#include "text/printer.h"

namespace pt2 {
namespace {

Result<StackTraceTable::Line> parse_line(Parsing& parsing) {
  StackTraceTable::Line line;
  PT2_TRY(line.number, parsing.reader.string());
  PT2_TRY(line.function, parsing.reader.string());
  PT2_TRY(line.text, parsing.reader.string());
  PT2_TRY_VOID(parsing.spelling<schema::CoLineInfo>(line.spelling));
  return line;
}

Result<StackTraceTable::File> parse_file(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  StackTraceTable::File file;
  if (!reader.accept_word("file")) return reader.unexpected("'file'");
  PT2_TRY(file.name, reader.string());
  PT2_TRY_VOID(parsing.spelling<schema::CoFileInfo>(file.spelling));
  PT2_TRY_VOID(reader.expect("{"));
  TextSet<std::string> numbers;
  while (!reader.at("}")) {
    const size_t offset = reader.current().offset;
    PT2_TRY(StackTraceTable::Line line, parse_line(parsing));
    if (!numbers.insert(line.number).second)
      return reader.error_at(offset, ErrorCode::invalid, "found a line twice");
    file.lines.push_back(std::move(line));
  }
  PT2_TRY_VOID(reader.expect("}"));
  return file;
}

}  // namespace

void print_stack_traces(Printer& printer, const StackTraceTable& table) {
  printer.out += table.is_expanded ? "stack_traces {" : "stack_traces unknown {";
  printer.indent += 2;
  for (const StackTraceTable::File& file : table.files) {
    printer.new_line();
    printer.out += "file ";
    printer.string(file.name);
    printer.spelling<schema::CoFileInfo>(file.spelling);
    printer.out += " {";
    printer.indent += 2;
    for (const StackTraceTable::Line& line : file.lines) {
      printer.new_line();
      for (const std::string* text : {&line.number, &line.function, &line.text}) {
        printer.string(*text);
        if (text != &line.text) printer.out += ' ';
      }
      printer.spelling<schema::CoLineInfo>(line.spelling);
    }
    printer.indent -= 2;
    printer.new_line();
    printer.out += '}';
  }
  printer.indent -= 2;
  printer.new_line();
  printer.out += '}';
}

Result<StackTraceTable> parse_stack_traces(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  StackTraceTable table;
  table.is_expanded = !reader.accept_word("unknown");
  PT2_TRY_VOID(reader.expect("{"));
  while (!reader.at("}")) {
    PT2_TRY(StackTraceTable::File file, parse_file(parsing));
    table.files.push_back(std::move(file));
  }
  PT2_TRY_VOID(reader.expect("}"));
  return table;
}

}  // namespace pt2
