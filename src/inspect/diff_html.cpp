#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "inspect/plain_text.h"
#include "ir/target.h"
#include "pt2/tools/diff.h"

namespace pt2 {
namespace {

// The number of equal nodes shown between changes; longer runs are folded.
constexpr size_t kContext = 4;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><title>pt2 diff</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root{color-scheme:light dark;--line:#8884;--old:#f853;--new:#3b75;--other:#db43}
body{font:14px/1.5 system-ui,sans-serif;margin:1.5em}
table{border-collapse:collapse;width:100%;table-layout:fixed}
td{font:12px/1.5 ui-monospace,monospace;padding:1px 8px;vertical-align:top;overflow-wrap:anywhere;
border-bottom:1px solid var(--line)}
tr.old td:first-child{background:var(--old)}tr.new td:last-child{background:var(--new)}
tr.other td{background:var(--other)}tr.fold td{text-align:center;opacity:.6}
li{font:12px/1.6 ui-monospace,monospace;overflow-wrap:anywhere}
</style>
)";

std::string node_text(const Program& program, const std::optional<NodeId>& id) {
  if (!id) return "";
  const Graph& graph = program.graph;
  const Node& node = graph.node(*id);
  const ArgumentNames names{
      [&](ValueId value) { return "%" + graph.value(value).name; },
      [&](SubgraphId nested) { return "graph " + graph.subgraph(nested).name; }};
  std::string out;
  for (const Argument& output : node.outputs) {
    if (!out.empty()) out += ", ";
    append_argument(out, output, names);
  }
  out += fmt::format(" = {}(", short_target(node.target));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i != 0) out += ", ";
    if (!node.inputs[i].name.empty()) out += node.inputs[i].name + "=";
    append_argument(out, node.inputs[i].arg, names);
  }
  return escape_markup(out + ")");
}

}  // namespace

std::string diff_html(const Program& before, const Program& after, const Difference& difference) {
  std::string out(kHead);
  out += fmt::format("<h1>{} differences</h1>\n<ul>\n", difference.changes.size());
  for (const Change& change : difference.changes)
    out += fmt::format("<li>{}: {}</li>\n", change_section_name(change.section),
                       escape_markup(change.line()));
  out += "</ul>\n<table>\n";
  std::vector<bool> shown(difference.nodes.size());
  for (size_t i = 0; i < shown.size(); ++i)
    if (difference.nodes[i].changed)
      for (size_t k = i - std::min(i, kContext); k < std::min(i + kContext + 1, shown.size()); ++k)
        shown[k] = true;
  for (size_t i = 0, folded = 0; i <= shown.size(); ++i) {
    if (i < shown.size() && !shown[i]) {
      ++folded;
      continue;
    }
    if (folded != 0)
      out += fmt::format("<tr class=fold><td colspan=2>{} equal nodes</td></tr>\n", folded);
    folded = 0;
    if (i == shown.size()) break;
    const NodePair& pair = difference.nodes[i];
    const std::string_view kind = !pair.before   ? "new"
                                  : !pair.after  ? "old"
                                  : pair.changed ? "other"
                                                 : "same";
    out += fmt::format("<tr class={}><td>{}</td><td>{}</td></tr>\n", kind,
                       node_text(before, pair.before), node_text(after, pair.after));
  }
  return out + "</table>\n</html>\n";
}

}  // namespace pt2
