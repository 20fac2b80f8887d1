#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pt2/format/archive.h"
#include "read_file.h"
#include "text/round_trip.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

Result<Program> parse(std::string_view text) {
  std::vector<Error> errors;
  return parse_program(text, "text", errors);
}

TEST(ProgramText, EveryPartOfTheGrammarIsReadAndPrinted) {
  const std::string text = test::read_file(fs::path(PT2_TEST_DATA) / "text" / "every_part.txt");
  const auto program = parse(text);
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(print_program(*program, {.metadata = true}), text);
  EXPECT_EQ(test::round_trip_fault(*program), "");
  // The file of the program can express everything in the text.
  const auto again = test::read_program(test::json_of(*program));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(test::json_of(*again), test::json_of(*program));
}

// tests/data/text/RELEASE_NAME.txt is the text of the program in corpus/RELEASE/NAME.pt2.
// PT2_REBASE=1 rewrites the texts; then the difference must be reviewed.
TEST(ProgramText, RealProgramsLookAsTheyDid) {
  size_t count = 0;
  for (const auto& file : fs::directory_iterator(fs::path(PT2_TEST_DATA) / "text")) {
    const std::string name = file.path().stem().string();
    const size_t split = name.find('_');
    if (name[0] < '0' || name[0] > '9') continue;
    SCOPED_TRACE(name);
    const fs::path source = fs::path(PT2_TEST_DATA) / "corpus" / name.substr(0, split) /
                            (name.substr(split + 1) + ".pt2");
    const auto archive = Archive::open(source.string());
    ASSERT_TRUE(archive) << archive.error().text();
    const auto record = archive->read(archive->program_record(archive->models()[0]));
    ASSERT_TRUE(record) << record.error().text();
    const auto program = test::read_program(record->text());
    ASSERT_TRUE(program) << program.error().text();
    const std::string text = print_program(*program, {.metadata = true});
    if (std::getenv("PT2_REBASE") != nullptr) std::ofstream(file.path(), std::ios::binary) << text;
    EXPECT_EQ(text, test::read_file(file.path()));
    ++count;
  }
  EXPECT_GE(count, 8u);
}

// Returns a minimal program with the given body of its graph.
std::string with_body(std::string_view body, std::string_view items = "") {
  return "program schema 8.20 {\n" + std::string(items) + "graph(%x: f32[2]) {\n" +
         std::string(body) + "\n}\n}\n";
}

TEST(ProgramText, BlanksCommentsAndLineBreaksMeanNothing) {
  const auto program = parse(
      "program schema 8.20{; a comment with \" and }\r\n"
      "symbol s0 graph ( %x : f32 [ s0 // 2 , 3 ] , ) { %y:f32[2]=aten\n.relu.default\n"
      "(self =%x,)return\t%y}}");
  ASSERT_FALSE(program);  // a word must not contain a line break
  const auto better = parse(
      "program schema 8.20{; a comment with \" and }\r\n"
      "symbol s0 graph ( %x : f32 [ s0 // 2 , 3 ] , ) { %y:f32[2]=aten.relu.default\n"
      "(self =%x,)return\t%y}}");
  ASSERT_TRUE(better) << better.error().text();
  EXPECT_EQ(print_program(*better), R"(program schema 8.20 {
  torch ""
  symbol s0

  graph(
      %x: f32[(s0//2), 3]
  ) {
    %y: f32[2] = aten.relu.default(self=%x)
    return %y
  }
}
)");
}

TEST(ProgramText, NamesOfValuesMayHaveQuotes) {
  const auto program = parse(with_body(R"(%"a\"b\\c": f32[2] = a.b()
return %"a\"b\\c")"));
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_TRUE(program->graph.find_value(R"(a"b\c)"));
  EXPECT_EQ(test::round_trip_fault(*program), "");
}

TEST(ProgramText, ExpressionsKeepTheFilesText) {
  const auto program = parse(
      with_body("%n: SymInt[s0 + 1] = _operator.add(1)\nreturn %n", "symbol s0 = 3 (integer)\n"));
  ASSERT_TRUE(program) << program.error().text();
  const auto id = program->graph.find_value("n");
  ASSERT_TRUE(id);
  const auto& size = std::get<SymInt>(program->graph.value(*id).meta);
  EXPECT_EQ(size.spelled()->text, "Add(Symbol('s0', integer=True), Integer(1))");
  EXPECT_EQ(size.hint(), 4);
}

// A file lists tensors before symbolic numbers. The text has both in the order of the nodes.
TEST(ProgramText, HintsThatDisagreeAreKept) {
  const auto program = parse(with_body(
      "%n: SymInt[s0{-2}] = _operator.add(1)\n%y: f32[s0] = aten.relu.default(%x)\nreturn %n, %y",
      "symbol s0 = 10\n"));
  ASSERT_TRUE(program) << program.error().text();
  const auto from_file = test::read_program(test::json_of(*program));
  ASSERT_TRUE(from_file) << from_file.error().text();
  EXPECT_EQ(test::round_trip_fault(*from_file), "");
}

TEST(ProgramText, SignaturesThatDoNotFitStandApart) {
  auto program = parse(with_body("return %x"));
  ASSERT_TRUE(program) << program.error().text();
  program->signature.input_specs[0].arg.name = "other";
  program->signature.output_specs.clear();
  const std::string text = print_program(*program);
  EXPECT_NE(text.find("  signature {\n    input user_input %other\n  }\n"), text.npos) << text;
  EXPECT_EQ(test::round_trip_fault(*program), "");
}

struct Wrong {
  std::string_view text;
  std::vector<std::string_view> errors;
};

TEST(ProgramText, ErrorsSayWhereWhatAndWhy) {
  const std::vector<Wrong> cases = {
      {"", {"text:1:1: found the end, expected 'program'"}},
      {"program schema 8 {}", {"text:1:16: found '8', expected a schema version such as 8.20"}},
      {"program schema 9.0 {}", {"text:1:16: schema version 9 is not known here"}},
      {"program schema 8.20 {}", {"text:1:1: found no graph, expected one"}},
      {"program schema 8.20 {\n  torch 2.15\n  opset aten x\n  wrong\n}",
       {"text:2:9: found '2.15', expected a string in quotes",
        "text:3:14: found 'x', expected an integer of 64 bits",
        "text:4:3: found 'wrong', expected 'graph', 'range', 'call' or another part of a program"}},
      {"program schema 8.20 {\n  torch \"2.15\n}",
       {"text:2:9: found a string without its end, expected a string in quotes"}},
      {"program schema 8.20 { \xff }", {"text:1:23: found a byte that is not UTF-8"}},
      {"program schema 8.20 {\n torch \"\u00e4\u00f6\" 1\n}",
       {"text:2:13: found '1', expected 'graph', 'range', 'call' or another part of a program"}},
      {"program schema 8.20 { range s0 [1, 2] }", {"text:1:29: no symbol 's0' is declared"}},
      {"program schema 8.20 { symbol a symbol a }",
       {"text:1:39: the symbol 'a' is declared twice"}},
      {"program schema 8.20 { symbol a range a [2, 1] }", {"text:1:38: the range [2, 1] is empty"}},
      {"program schema 8.20 { graph() { return } signature { input wrong } }",
       {"text:1:60: found 'wrong', expected one of user_input, parameter, buffer, constant_tensor, "
        "custom_obj, token"}},
      {"program schema 8.20 { opset aten 1 opset aten 1 }",
       {"text:1:42: the opset 'aten' is there twice"}},
  };
  for (const Wrong& wrong : cases) {
    std::vector<Error> errors;
    EXPECT_FALSE(parse_program(wrong.text, "text", errors));
    ASSERT_EQ(errors.size(), wrong.errors.size()) << wrong.text << "\n" << errors[0].text();
    for (size_t i = 0; i < errors.size(); ++i) EXPECT_EQ(errors[i].text(), wrong.errors[i]);
  }
}

// A construct that the text's schema version lacks is reported at its place in the text, not in the
// JSON that is made from it.
TEST(ProgramText, VersionsHaveTheirArguments) {
  const std::tuple<std::string_view, std::string_view, std::string_view> cases[] = {
      {"8.13", "a.b(complex(1.0, 2.0))",
       "2:5: as_complex is in schema 8.14 and later, the text is of 8.13"},
      {"8.14", "a.b(complex(1.0, 2.0))", ""},
      {"8.13", "a.b({\"k\": 1})",
       "2:5: as_string_to_argument is in schema 8.15 and later, the text is of 8.13"},
      {"8.15", "a.b({\"k\": complex(1.0, 2.0), \"l\": float_lists[[1.0]]})",
       "2:35: as_float_lists is in schema 8.19 and later, the text is of 8.15"},
      {"8.7", "a.b(none?)",
       "2:5: as_optional_tensor is in schema 8.8 and later, the text is of 8.7"},
      {"8.20", "a.b(unknown(\"as_new\", \"1\"))",
       "2:5: the schema has no as_new, the text is of 8.20"},
      {"8.21", "a.b(unknown(\"as_new\", \"1\"))", ""},
      {"8.2", "a.b(1, *, c=2)",
       "2:8: whether an argument is positional or a keyword is recorded in schema 8.4 and later, "
       "the text is of 8.2"},
      {"8.2", "a.b(kind 1, 1)",
       "2:5: whether an argument is positional or a keyword is recorded in schema 8.4 and later, "
       "the text is of 8.2"},
      {"8.2", "a.b(kind none, 1)", ""},
      {"8.4", "a.b(1, *, c=2)", ""},
      {"8.20", "a.b(kind 7, 1)", "2:5: found the kind 7, expected 0, 1 or 2"},
  };
  for (const auto& [version, statement, expected] : cases) {
    const auto program = parse(
        fmt::format("program schema {} {{ graph() {{\n{}\nreturn\n}} }}", version, statement));
    EXPECT_EQ(program ? "" : program.error().text(),
              expected.empty() ? "" : "text:" + std::string(expected))
        << statement;
  }
}

// Each statement is tested alone, on line 3 of the text.
TEST(ProgramText, ErrorsInStatements) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"%y: f32[2] = aten.relu.default(self=%z)",
       "3:37: found 'z', expected a value that is defined above"},
      {"%y: f32[2] = aten.relu.default(self=%y)",
       "3:37: found 'y', expected a value that is defined above"},
      {"%x: f32[2] = aten.relu.default()", "3:1: the value 'x' is defined twice"},
      {"%y: f33[2] = aten.relu.default()", "3:5: found 'f33', expected a dtype such as f32"},
      {"%y = aten.relu.default()", "3:4: found '=', expected ':'"},
      {"%y: f32[2 = aten.relu.default()", "3:11: found '=', expected ']'"},
      {"%y: f32[2,, 3] = aten.relu.default()",
       "3:11: found ',', expected a number or an expression"},
      {"%y: f32[s9] = aten.relu.default()", "3:9: no symbol 's9' is declared"},
      {"%y: f32[2]{4} = aten.relu.default()", "3:11: found '{', expected '='"},
      {"%y: f32[2] = relu()", "3:14: found 'relu', expected a target such as aten.add.Tensor"},
      {"a.b([1, \"x\"])", "3:5: found items of kinds that no list of the format holds together"},
      {"a.b(ints[0.5])", "3:9: found an item that a list of 'ints' cannot hold"},
      {"a.b(99999999999999999999)",
       "3:5: found '99999999999999999999', expected a float, or an integer of 64 bits"},
      {"a.b(1 2)", "3:7: found '2', expected ')'"},
      {"a.b(None)", "3:5: found 'None', expected an argument, such as %x, none, true, 2"},
      {"a.b({\"k\": 1, \"k\": 2})", "3:14: found a key twice"},
      {"a.b(unknown(\"t\", \"{\"))", "3:18: "},
      {"a.b(\"\\q\")", "3:5: found an escape that JSON does not have"},
      {"a.b() #7", "3:7: metadata {...} has no #7"},
      {"a.b() spelling=\"{}\" spelling=\"{}\"", "3:21: found 'spelling', expected an argument"},
      {"a.b() spelling='{\"keys\": [[\"nothing\"]]}'", "3:16: Node has no member 'nothing'"},
      {"value %u: f32[2] a.b(%u)", "3:22: found 'u', expected a value that is defined above"},
  };
  for (const auto& [statement, expected] : cases) {
    const auto program = parse(with_body(std::string(statement) + "\nreturn"));
    ASSERT_FALSE(program) << statement;
    EXPECT_TRUE(program.error().text().starts_with("text:" + std::string(expected)))
        << statement << "\n"
        << program.error().text();
  }
}

TEST(ProgramText, MayBeginWithAByteOrderMark) {
  EXPECT_TRUE(parse("\xef\xbb\xbf" + with_body("return")));
}

TEST(ProgramText, ReadingGoesOnBehindErrors) {
  std::vector<Error> errors;
  const auto program = parse_program(with_body("%a: f32[2] = aten.relu.default(self=%nothing)\n"
                                               "%b: f32[2] = aten.relu.default(self %a)\n"
                                               "%c: f32[2] = aten.relu.default(self=%b)\n"
                                               "a.b(graph g() {\n  wrong wrong\n  return\n}, %c)\n"
                                               "return %d"),
                                     "text", errors);
  ASSERT_FALSE(program);
  std::string lines;
  for (const Error& error : errors) lines += error.where + " ";
  EXPECT_EQ(lines, "text:3:37 text:4:32 text:7:3 text:10:8 ");
}

TEST(ProgramText, NestingAndSizeAreBounded) {
  std::string deep = "a.b(";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  EXPECT_EQ(parse(with_body(deep)).error().code, ErrorCode::limit);
  std::string graphs;
  for (int i = 0; i < 100'000; ++i) graphs += "a.b(graph(){";
  EXPECT_EQ(parse(with_body(graphs)).error().code, ErrorCode::limit);

  // Searching for the end of the string at each of these quotes would take minutes.
  std::string quotes = "\"";
  for (int i = 0; i < 300'000; ++i) quotes += "\\\"";
  EXPECT_EQ(parse(with_body(quotes)).error().code, ErrorCode::malformed);

  // Counting columns from the start of a long line for each of its errors would, too.
  std::string undefined = "a.b([%q";
  for (int i = 0; i < 300'000; ++i) undefined += ", %q";
  std::vector<Error> many;
  EXPECT_FALSE(parse_program(with_body(undefined + "])"), "text", many));
  ASSERT_GE(many.size(), 3u);
  EXPECT_EQ(many[0].where, "text:3:6");
  EXPECT_EQ(many[2].where, "text:3:14");

  // Ten nodes refer to an entry of 100 bytes.
  std::string nodes;
  for (int i = 0; i < 10; ++i) nodes += "a.b() #0\n";
  const std::string text =
      with_body(nodes + "return", "metadata { #0 k \"" + std::string(99, 'x') + "\" }\n");
  std::vector<Error> errors;
  const Limits limits{.max_json_bytes = 999};
  EXPECT_EQ(parse_program(text, "text", errors, limits).error().code, ErrorCode::limit);
  EXPECT_TRUE(parse_program(text, "text", errors, Limits{.max_json_bytes = 1000}));

  // A small text must not take gigabytes.
  std::string references;
  for (int i = 0; i < 2'000; ++i) references += "a.b() #0\n";
  const std::string small =
      with_body(references + "return", "metadata { #0 k \"" + std::string(100'000, 'x') + "\" }\n");
  EXPECT_EQ(parse(small).error().code, ErrorCode::limit);
}

}  // namespace
}  // namespace pt2
