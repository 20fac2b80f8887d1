#include "pt2/ir/stack_traces.h"

#include <fmt/format.h>

#include <charconv>

#include "pt2/ir/graph.h"

namespace pt2 {
namespace {

using Line = StackTraceTable::Line;

// The maximum number of entries with the same file name that are searched. Differing versions of a
// source line explain far fewer. The limit bounds the search in hostile files.
constexpr size_t kMaxSameFile = 64;

struct TraceFrame {
  std::string_view file;
  Line line;
};

// Prints one frame like traceback.format_list.
std::string print_frame(std::string_view file, const Line& line) {
  std::string text =
      fmt::format("  File \"{}\", line {}, in {}\n", file, line.number, line.function);
  if (!line.text.empty()) text += fmt::format("    {}\n", line.text);
  return text;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// True if torch.fx stripped the trace (str.strip), which removes the first frame's indentation and
// the last newline.
bool is_stripped(std::string_view trace) {
  return trace.starts_with("File \"") && !trace.ends_with('\n');
}
constexpr char kStripped = '~';

// Removes the first frame from `rest`; nullopt if printing the frame would not give the same text.
std::optional<TraceFrame> take_frame(std::string_view& rest) {
  constexpr std::string_view kStart = "  File \"";
  constexpr std::string_view kNumber = "\", line ";
  constexpr std::string_view kFunction = ", in ";
  if (!rest.starts_with(kStart)) return std::nullopt;
  const size_t next = rest.find("\n  File \"");
  const std::string_view text = rest.substr(0, next == rest.npos ? next : next + 1);
  const size_t number = text.find(kNumber);
  const size_t function = number == text.npos ? number : text.find(kFunction, number);
  const size_t end = function == text.npos ? function : text.find('\n', function);
  if (end == text.npos) return std::nullopt;
  TraceFrame frame;
  frame.file = text.substr(kStart.size(), number - kStart.size());
  frame.line.number = text.substr(number + kNumber.size(), function - number - kNumber.size());
  frame.line.function = text.substr(function + kFunction.size(), end - function - kFunction.size());
  constexpr size_t kIndent = 4;
  if (text.size() > end + 1 + kIndent)
    frame.line.text = text.substr(end + 1 + kIndent, text.size() - end - 2 - kIndent);
  if (!is_number(frame.line.number) || print_frame(frame.file, frame.line) != text)
    return std::nullopt;
  rest.remove_prefix(text.size());
  return frame;
}

// Calls `visit(TraceFrame)` for each frame until it returns false. False if `trace` is not a
// traceback or a visit failed.
template <class Visit>
bool for_each_frame(std::string_view trace, Visit visit) {
  std::string whole;
  if (is_stripped(trace)) trace = whole = fmt::format("  {}\n", trace);
  if (trace.empty()) return false;
  while (!trace.empty()) {
    auto frame = take_frame(trace);
    if (!frame || !visit(*std::move(frame))) return false;
  }
  return true;
}

// Calls `visit` for each reference of "file:line;file:line", with the same result as
// for_each_frame.
template <class Visit>
bool for_each_reference(std::string_view compact, Visit visit) {
  if (compact.starts_with(kStripped)) compact.remove_prefix(1);
  for (bool more = true; more;) {
    const size_t end = compact.find(';');
    const std::string_view item = compact.substr(0, end);
    const size_t colon = item.find(':');
    if (colon == item.npos) return false;
    const std::string_view number = item.substr(colon + 1);
    size_t file = 0;
    const char* last = item.data() + colon;
    const auto [stop, code] = std::from_chars(item.data(), last, file);
    if (code != std::errc() || stop != last || !is_number(number) || !visit(file, number))
      return false;
    more = end != compact.npos;
    if (more) compact.remove_prefix(end + 1);
  }
  return true;
}

void append_reference(std::string& out, size_t file, std::string_view number) {
  const bool is_first = out.empty() || out.back() == kStripped;
  fmt::format_to(std::back_inserter(out), "{}{}:{}", is_first ? "" : ";", file, number);
}

}  // namespace

StackTraceIndex::StackTraceIndex(StackTraceTable& table) : table_(table) {
  for (size_t file = 0; file < table.files.size(); ++file) {
    std::vector<size_t>& same_name = files_[table.files[file].name];
    if (same_name.size() < kMaxSameFile) same_name.push_back(file);
    for (size_t line = 0; line < table.files[file].lines.size(); ++line) index_line(file, line);
  }
}

void StackTraceIndex::index_line(size_t file, size_t line) {
  lines_.emplace(std::pair(file, table_.files[file].lines[line].number), line);
}

bool StackTraceIndex::is_compact(std::string_view text) {
  return for_each_reference(text, [](size_t, std::string_view) { return true; });
}

bool StackTraceIndex::is_traceback(std::string_view text) {
  return for_each_frame(text, [](const TraceFrame&) { return true; });
}

std::optional<std::string> StackTraceIndex::expand(std::string_view compact) const {
  std::string trace;
  const bool known = for_each_reference(compact, [&](size_t file, std::string_view number) {
    const auto found = lines_.find(std::pair(file, std::string(number)));
    if (found == lines_.end()) return false;
    const StackTraceTable::File& source = table_.files[file];
    trace += print_frame(source.name, source.lines[found->second]);
    return true;
  });
  if (!known) return std::nullopt;
  if (compact.starts_with(kStripped)) {
    trace = trace.substr(2, trace.size() - 3);
    // Any other text would have a different compact form.
    if (!is_stripped(trace)) return std::nullopt;
  }
  return trace;
}

// Returns the first entry of that file name in which the line with that number has the same
// content.
std::optional<size_t> StackTraceIndex::find_file(std::string_view name, const Line& line) const {
  const auto same_name = files_.find(name);
  if (same_name == files_.end()) return std::nullopt;
  for (size_t file : same_name->second) {
    const auto found = lines_.find(std::pair(file, line.number));
    if (found == lines_.end()) continue;
    const Line& known = table_.files[file].lines[found->second];
    if (known.function == line.function && known.text == line.text) return file;
  }
  return std::nullopt;
}

// Adds the line to the first entry of that file name without a line of that number, or to a new
// entry.
size_t StackTraceIndex::add(std::string_view name, Line line) {
  std::vector<size_t>& same_name = files_[std::string(name)];
  size_t file = table_.files.size();
  for (size_t each : same_name) {
    if (lines_.contains(std::pair(each, line.number))) continue;
    file = each;
    break;
  }
  if (file == table_.files.size()) {
    table_.files.push_back({.name = std::string(name)});
    same_name.push_back(file);
  }
  table_.files[file].lines.push_back(std::move(line));
  index_line(file, table_.files[file].lines.size() - 1);
  return file;
}

std::optional<std::string> StackTraceIndex::find(std::string_view trace) const {
  std::string compact(is_stripped(trace) ? 1 : 0, kStripped);
  const bool known = for_each_frame(trace, [&](const TraceFrame& frame) {
    const auto file = find_file(frame.file, frame.line);
    if (file) append_reference(compact, *file, frame.line.number);
    return file.has_value();
  });
  return known ? std::optional(std::move(compact)) : std::nullopt;
}

std::optional<std::string> StackTraceIndex::compact(std::string_view trace) {
  if (!is_traceback(trace)) return std::nullopt;
  std::string compact(is_stripped(trace) ? 1 : 0, kStripped);
  const bool placed = for_each_frame(trace, [&](TraceFrame frame) {
    auto file = find_file(frame.file, frame.line);
    const std::string number = frame.line.number;
    if (!file) {
      const auto same_name = files_.find(frame.file);
      if (same_name != files_.end() && same_name->second.size() >= kMaxSameFile) return false;
      file = add(frame.file, std::move(frame.line));
    }
    append_reference(compact, *file, number);
    return true;
  });
  return placed ? std::optional(std::move(compact)) : std::nullopt;
}

void compact_stack_traces(Graph& graph) {
  if (!graph.stack_traces) graph.stack_traces.emplace();
  for (size_t i = 0; i < graph.subgraphs().size(); ++i)
    compact_stack_traces(graph.subgraph(static_cast<SubgraphId>(i)));
}

}  // namespace pt2
