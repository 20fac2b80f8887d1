#include "serde/stack_trace_table.h"

#include <algorithm>

#include "schema/trace.h"

namespace pt2 {
namespace {

constexpr std::string_view kTraceKey = "stack_trace";
constexpr std::string_view kTableKey = "co_fileinfo_ordered_list";
// Bounds the expanded traces by the bytes of the file: a few bytes can name a long line any number
// of times. Traces of real programs grow by a factor of 40 to 60.
constexpr size_t kMostGrowth = 256;

StackTraceTable read_table(schema::List<schema::CoFileInfo>& source) {
  StackTraceTable table;
  for (schema::CoFileInfo& file : source) {
    StackTraceTable::File& out = table.files.emplace_back();
    out.name = std::move(file.file_name);
    for (auto& [number, line] : file.line_info_map)
      out.lines.push_back(
          {number, std::move(line.name), std::move(line.line), std::move(line.trace)});
    out.spelling = std::move(file.trace);
  }
  return table;
}

// The bytes of all files and lines, and those of the longest frame.
struct TableBytes {
  size_t all = 0;
  size_t longest = 1;
};
TableBytes bytes_of(const StackTraceTable& table) {
  TableBytes bytes;
  for (const StackTraceTable::File& file : table.files) {
    bytes.all += file.name.size();
    for (const StackTraceTable::Line& line : file.lines) {
      const size_t own = line.number.size() + line.function.size() + line.text.size();
      bytes.all += own;
      bytes.longest = std::max(bytes.longest, file.name.size() + own);
    }
  }
  return bytes;
}

schema::List<schema::CoFileInfo> write_table(StackTraceTable table) {
  schema::List<schema::CoFileInfo> out;
  for (StackTraceTable::File& file : table.files) {
    schema::CoFileInfo info{.file_name = std::move(file.name)};
    for (StackTraceTable::Line& line : file.lines)
      info.line_info_map.emplace_back(std::move(line.number),
                                      schema::CoLineInfo{.name = std::move(line.function),
                                                         .line = std::move(line.text),
                                                         .trace = std::move(line.spelling)});
    info.trace = std::move(file.spelling);
    out.push_back(std::move(info));
  }
  return out;
}

// Removes the table's key from the recorded keys of the file; otherwise the encoder would write it
// with an empty list.
void forget_key(schema::TraceHolder& spelling) {
  const schema::Trace* trace = spelling.get();
  const auto is_table = [](const schema::Trace::Field& field) { return field.key == kTableKey; };
  if (trace == nullptr || std::ranges::none_of(trace->fields, is_table)) return;
  std::erase_if(spelling.make().fields, is_table);
}

}  // namespace

std::optional<StackTraceTable> take_stack_traces(schema::Graph& source, ReadContext& context) {
  if (source.co_fileinfo_ordered_list.empty()) return std::nullopt;
  StackTraceTable table = read_table(source.co_fileinfo_ordered_list);
  const StackTraceIndex index(table);
  std::vector<std::pair<std::string*, std::string>> expanded;
  const auto [table_bytes, longest_frame] = bytes_of(table);
  size_t bytes = 0, most = kMostGrowth * table_bytes;
  for (size_t i = 0; i < source.nodes.size() && table.is_expanded; ++i) {
    std::string* trace = source.nodes[i].metadata.find(kTraceKey);
    if (trace == nullptr) continue;
    most += kMostGrowth * trace->size();
    const auto frames = static_cast<size_t>(std::ranges::count(*trace, ';')) + 1;
    auto whole = frames <= most / longest_frame ? index.expand(*trace) : std::nullopt;
    bytes += whole ? whole->size() : 0;
    // The writer compacts every trace that it can. If the result would differ for one trace, the
    // whole graph stays unexpanded.
    const bool comes_back =
        whole ? bytes <= most && index.find(*whole) == *trace
              : !StackTraceIndex::is_compact(*trace) && !StackTraceIndex::is_traceback(*trace);
    if (comes_back && whole) expanded.emplace_back(trace, *std::move(whole));
    if (comes_back) continue;
    const auto step = context.item("nodes", i);
    const auto metadata = context.field("metadata");
    const auto key = context.field(kTraceKey);
    context.report(Rule::stack_trace_table, "the trace does not name lines of the graph's table");
    table.is_expanded = false;
  }
  if (table.is_expanded)
    for (auto& [trace, whole] : expanded) *trace = std::move(whole);
  return table;
}

void put_stack_traces(std::optional<StackTraceTable> table, schema::Graph& out) {
  if (!table) return forget_key(out.trace);
  if (table->is_expanded) {
    StackTraceIndex index(*table);
    for (schema::Node& node : out.nodes) {
      std::string* trace = node.metadata.find(kTraceKey);
      if (trace == nullptr) continue;
      if (auto compact = index.compact(*trace)) *trace = *std::move(compact);
    }
  }
  out.co_fileinfo_ordered_list = write_table(*std::move(table));
}

}  // namespace pt2
