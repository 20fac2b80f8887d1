// Stack traces of real programs of schema 5.3 are compacted into tables and expanded unchanged.
#include "pt2/ir/stack_traces.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "package/corpus.h"
#include "pt2/format/archive.h"
#include "pt2/format/schema_json.h"
#include "serde/from_schema.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

Program decode(std::string_view json) {
  Diagnostics warnings;
  return from_schema(schema::decode_program(json, {}, warnings).value()).value();
}

std::vector<std::string> traces(const Graph& graph) {
  std::vector<std::string> found;
  for (NodeId id : graph.nodes()) found.emplace_back(stack_trace(graph.node(id)));
  for (const Graph& subgraph : graph.subgraphs())
    for (std::string& trace : traces(subgraph)) found.push_back(std::move(trace));
  return found;
}

std::string program_json(const corpus::File& file) {
  const Archive archive = Archive::open(file.path).value();
  return std::string(archive.read(archive.program_record("model")).value().text());
}

void drop_tables(Graph& graph) {
  graph.stack_traces.reset();
  for (size_t i = 0; i < graph.subgraphs().size(); ++i)
    drop_tables(graph.subgraph(SubgraphId{static_cast<uint32_t>(i)}));
}

TEST(StackTraces, RealProgramsComeBackFromTheirTables) {
  size_t smaller = 0;
  for (const corpus::File& file : corpus::files()) {
    if (file.release != "2.4.1") continue;
    SCOPED_TRACE(file.name);
    const std::string json = program_json(file);
    Program program = decode(json);
    const std::vector<std::string> whole = traces(program.graph);
    compact_stack_traces(program.graph);
    const std::string compact = schema::encode_program(to_schema(program));
    smaller += compact.size() < json.size() ? 1 : 0;

    Program again = decode(compact);
    EXPECT_EQ(traces(again.graph), whole);
    EXPECT_TRUE(schema::encode_program(to_schema(again)) == compact);
    drop_tables(again.graph);
    EXPECT_TRUE(schema::encode_program(to_schema(again)) == json);
  }
  EXPECT_GT(smaller, 5u);
}

constexpr std::string_view kTrace =
    "  File \"a.py\", line 3, in forward\n    return f(x)\n"
    "  File \"b.py\", line 30, in f\n";

TEST(StackTraces, FramesShareFilesAndLines) {
  StackTraceTable table;
  StackTraceIndex index(table);
  EXPECT_EQ(index.compact(kTrace), "0:3;1:30");
  EXPECT_EQ(index.compact("  File \"a.py\", line 4, in g\n    1\n    ^\n"), "0:4");
  EXPECT_EQ(index.compact(kTrace), "0:3;1:30");
  ASSERT_EQ(table.files.size(), 2u);
  EXPECT_EQ(table.files[0].lines.size(), 2u);
  EXPECT_EQ(index.expand("0:3;1:30"), kTrace);
  const std::string_view stripped = kTrace.substr(2, kTrace.size() - 3);
  EXPECT_EQ(index.compact(stripped), "~0:3;1:30");
  EXPECT_EQ(index.expand("~0:3;1:30"), stripped);
  // The source changed between two exports: one line number has two texts.
  EXPECT_EQ(index.compact("  File \"a.py\", line 3, in forward\n    return g(x)\n"), "2:3");
}

TEST(StackTraces, WhatIsNoTracebackStays) {
  StackTraceTable table;
  StackTraceIndex index(table);
  for (std::string_view text :
       {"", "x", "  File \"a.py\", line 3, in f", "  File \"a.py\", line x, in f\n",
        "  File \"a.py\", line 3, in f\n  two\n", "  File \"a.py\", line 3, in f\n    x\n\n  y",
        "0:1"}) {
    EXPECT_EQ(index.compact(text), std::nullopt) << text;
    EXPECT_FALSE(StackTraceIndex::is_traceback(text)) << text;
  }
  EXPECT_TRUE(table.files.empty());
  index.compact(kTrace);
  for (std::string_view text : {"", "0", "0:", ":3", "0:3;", "~", "0:3~", ";0:3", "2:3", "0:4",
                                "-0:3", "0:3x", "99999999999999999999:3"})
    EXPECT_EQ(index.expand(text), std::nullopt) << text;
}

// A file may hold thousands of entries of one name, and as many references to the last.
TEST(StackTraces, FewEntriesOfOneNameAreSearched) {
  StackTraceTable table;
  for (int i = 0; i < 100; ++i)
    table.files.push_back(
        {.name = "a.py", .lines = {{.number = "3", .function = "f", .text = std::to_string(i)}}});
  const StackTraceIndex index(table);
  for (const std::string compact : {"0:3", "99:3"}) {
    const auto trace = index.expand(compact);
    ASSERT_TRUE(trace) << compact;
    EXPECT_EQ(index.find(*trace), compact == "0:3" ? std::optional(compact) : std::nullopt);
  }
}

// The program has a table, but references in an unknown form.
TEST(StackTraces, UnknownReferencesAreKept) {
  const auto files = corpus::files();
  const auto file = std::ranges::find_if(files, [](const corpus::File& each) {
    return each.release == "2.4.1" && each.name == "mlp.pt2";
  });
  ASSERT_NE(file, files.end());
  Program program = decode(program_json(*file));
  compact_stack_traces(program.graph);
  std::string json = schema::encode_program(to_schema(program));
  const std::string_view reference = "\"stack_trace\": \"0:";
  for (size_t at = json.find(reference); at != std::string::npos; at = json.find(reference, at))
    json.replace(at, reference.size(), "\"stack_trace\": \"9:");

  Diagnostics warnings, faults;
  const auto read = from_schema(schema::decode_program(json, {}, warnings).value(), faults);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(faults.all().size(), 1u);
  EXPECT_EQ(faults.all()[0].line(),
            "V210 warning: .graph_module.graph.nodes[0].metadata.stack_trace: the trace does not "
            "name lines of the graph's table");
  EXPECT_TRUE(traces(read->graph)[0].starts_with("9:"));
  EXPECT_EQ(schema::encode_program(to_schema(*read)), json);
}

}  // namespace
}  // namespace pt2
