// Text of a hostile file must stay text in a page, a picture or a Graphviz file.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "draw/page_files.h"
#include "draw/texts.h"
#include "drawn_programs.h"
#include "pt2/tools/drawing.h"

namespace pt2 {
namespace {

constexpr const char* kHostile[] = {
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></svg><img src=x onerror=alert(1)>",
    "\"'`${alert(1)}\\",
    "\" onload=\"alert(1)",
    "a\xe2\x80\xa8"
    "b\xe2\x80\xa9"
    "c",  // U+2028, U+2029
    "\xe2\x80\xae"
    "desrever\xe2\x80\xac",  // right-to-left override
    "null\x01\x1b[31m\x7f",
    "\xff\xfe broken \xc0\xaf",
    "__proto__",
    "<%= x %>{{x}}",
    "-->\r\n\t",
};

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Returns a program in which every text is hostile.
Program make_hostile() {
  ProgramBuilder builder;
  const ValueId weight = builder.parameter(kHostile[0], builder.tensor(Dtype::float32, {2}));
  std::vector<ValueId> values{builder.input("x", builder.tensor(Dtype::float32, {2}))};
  for (const char* text : kHostile)
    values.push_back(builder.call(
        std::string("torch.ops.") + text + ".f.default",
        {arg(text, values.back()), arg("w", weight), kwarg("text", Argument(std::string(text)))},
        builder.tensor(Dtype::float32, {2})));
  builder.output(values.back());
  Program program = std::move(builder).finish().value();
  size_t i = 0;
  for (const NodeId id : program.graph.nodes()) {
    const std::string text = kHostile[i];
    program.graph.set_node_metadata(
        id, {{"stack_trace", "File \"" + text + "\", line 1, in " + text + "\n    " + text},
             {"nn_module_stack", "L__self__,,M;a," + text + "," + text}});
    program.graph.set_node_name(id, text + std::to_string(i));
    ++i;
    program.graph.rename_value(values[i], text + std::to_string(i)).value();
  }
  return program;
}

std::string page_of(const Program& program, std::string_view title) {
  const Drawing drawing = draw(program, {.depth = 1000});
  const PageProgram page{.name = std::string(title), .drawing = &drawing};
  return print_page(std::span(&page, 1), title);
}

// Returns the JSON document that the page holds as data.
std::string data_of(const std::string& page) {
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(kBegin) + kBegin.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(Page, HostileTextIsData) {
  const Program program = make_hostile();
  for (const char* title : kHostile) {
    const std::string page = page_of(program, title);
    EXPECT_EQ(count(page, "</script>"), 2u) << title;
    EXPECT_EQ(count(page, "<script"), 2u) << title;
    EXPECT_EQ(count(page, "<img"), 0u) << title;
    EXPECT_EQ(count(page, "</title>"), 1u) << title;
    const std::string data = data_of(page);
    EXPECT_EQ(data.find('<'), data.npos);
    EXPECT_TRUE(std::ranges::all_of(data, [](char c) { return c >= 0x20 && c < 0x7f; }));
    const auto json = parse_json(data);
    ASSERT_TRUE(json) << json.error().message;
    EXPECT_EQ(json->find("programs")->items.size(), 1u);
  }
}

TEST(Page, HostileTextIsDataInPictures) {
  const Program program = make_hostile();
  const Drawing drawing = draw(program, {.depth = 1000});
  const std::string svg = print_svg(drawing, kHostile[2]);
  for (const char* part : {"<script", "<img", "onload=\"", "<!--", "\x1b", "\xff", "\xe2\x80\xae"})
    EXPECT_EQ(count(svg, part), 0u) << part;
  EXPECT_EQ(count(svg, "</svg>"), 1u);
  const std::string dot = print_dot(drawing, kHostile[4]);
  // Outside of quotes the output must contain only the printer's own words.
  bool is_quoted = false;
  std::string outside;
  for (size_t i = 0; i < dot.size(); ++i) {
    if (is_quoted && dot[i] == '\\')
      ++i;
    else if (dot[i] == '"')
      is_quoted = !is_quoted;
    else if (!is_quoted)
      outside += dot[i];
  }
  EXPECT_FALSE(is_quoted);
  EXPECT_EQ(count(outside, "alert"), 0u);
  EXPECT_EQ(count(outside, "onerror"), 0u);
}

TEST(Page, LongTextIsCut) {
  ProgramBuilder builder;
  const std::string huge(1'000'000, 'n');
  const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {2}));
  std::vector<int64_t> numbers(200'000, 7);
  builder.output(builder.call("torch.ops.aten." + huge + ".default",
                              {arg("x", x), arg("sizes", ints(numbers)),
                               arg("text", Argument(huge)), arg(huge, Argument(huge))},
                              builder.tensor(Dtype::float32, {2})));
  const Program program = std::move(builder).finish().value();
  EXPECT_LT(page_of(program, huge).size(), 200'000u);
  const Drawing drawing = draw(program);
  EXPECT_LT(drawing.width, 2000);
  EXPECT_LT(print_svg(drawing, huge).size(), 20'000u);
  EXPECT_LT(print_dot(drawing, huge).size(), 20'000u);
}

// The page's script neither turns text into markup or code, nor loads anything from elsewhere.
TEST(Page, ScriptIsSmallAndMakesNoMarkup) {
  EXPECT_LT(picture::kPageScript.size() + picture::kPageStyle.size(), 150'000u);
  for (const char* word :
       {"innerHTML",    "outerHTML",     "insertAdjacent", "document.write", "eval(",
        "Function(",    "setTimeout(\"", "http:",          "https:",         "fetch(",
        "XMLHttp",      "import(",       "import ",        "srcdoc",         "javascript:",
        "localStorage", "cookie",        "postMessage",    "DOMParser",      "</script"}) {
    EXPECT_EQ(count(picture::kPageScript, word), 0u) << word;
    EXPECT_EQ(count(picture::kPageBody, word), 0u) << word;
    EXPECT_EQ(count(picture::kPageStyle, word), 0u) << word;
  }
  EXPECT_EQ(count(picture::kPageStyle, "url("), 0u);
}

TEST(Page, SameProgramSameBytes) {
  const Program program = test::make_decoder(3);
  EXPECT_EQ(page_of(program, "a"), page_of(program, "a"));
}

TEST(Page, TextsAreShortenedByColumns) {
  EXPECT_EQ(picture::shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(picture::shortened("abcdefg", 6), "abcde…");
  EXPECT_EQ(picture::columns("日本"), 4u);
  EXPECT_EQ(picture::columns("é…"), 2u);
  EXPECT_EQ(picture::shortened("日本語", 5), "日本…");
  EXPECT_EQ(picture::shortened("a\xff\n", 5), "a??");
  EXPECT_EQ(picture::shortened("\xef\xbf\xbe\xef\xbf\xbf\xd8\x9c", 5), "???");  // not XML, bidi
}

// Returns a program of the nodes first, second and a third one with the argument `factor`. Empty
// names are left out.
Program chain(const char* first, const char* second, double factor) {
  ProgramBuilder builder;
  ValueId value = builder.input("x", builder.tensor(Dtype::float32, {2}));
  for (const char* name : {first, second})
    if (*name != 0)
      value = builder.call(std::string("torch.ops.aten.") + name + ".default", {arg("self", value)},
                           builder.tensor(Dtype::float32, {2}));
  value = builder.call("torch.ops.aten.mul.Tensor",
                       {arg("self", value), arg("other", Argument(factor))},
                       builder.tensor(Dtype::float32, {2}));
  builder.output(value);
  return std::move(builder).finish().value();
}

DrawnDifference difference_of(const Program& before, const Program& after) {
  return drawn_difference(after, diff_programs(before, after));
}

TEST(DrawnDifference, IsByTheNodesThatAreDrawn) {
  const Program plain = chain("", "", 2), longer = chain("neg", "", 3);
  const auto of_first = [](const DrawnDifference& drawn, const Program& after) {
    return drawn.nodes.at(&after.graph.node(*after.graph.nodes().begin()));
  };
  const DrawnDifference added = difference_of(plain, longer);
  EXPECT_EQ(added.counts, (std::array<size_t, 3>{1, 0, 1}));
  EXPECT_EQ(added.nodes.size(), 2u);
  EXPECT_EQ(of_first(added, longer).kind, ChangeKind::added);
  const DrawnDifference removed = difference_of(longer, plain);
  EXPECT_EQ(removed.counts, (std::array<size_t, 3>{0, 1, 1}));
  ASSERT_EQ(removed.nodes.size(), 1u);
  const DrawnDifference::OfNode& mul = of_first(removed, plain);
  EXPECT_EQ(mul.kind, ChangeKind::changed);
  ASSERT_EQ(mul.lines.size(), 2u);
  EXPECT_NE((mul.lines[0] + mul.lines[1]).find("other=3.0 -> other=2.0"), std::string::npos);
  ASSERT_EQ(mul.removed.size(), 1u);
  EXPECT_NE(mul.removed[0].find("aten.neg"), std::string::npos);
  EXPECT_TRUE(removed.removed_at_ends.empty());
  EXPECT_TRUE(difference_of(plain, plain).nodes.empty());
}

TEST(DrawnDifference, KeepsWhatStoodAtTheEnd) {
  const Program with = chain("sin", "neg", 2);
  Program without = chain("sin", "neg", 2);
  NodeId last{};
  for (const NodeId id : without.graph.nodes()) last = id;
  without.graph.set_outputs({without.graph.node(last).inputs[0].arg});
  ASSERT_TRUE(without.graph.erase_node(last));
  const DrawnDifference drawn = difference_of(with, without);
  EXPECT_EQ(drawn.counts, (std::array<size_t, 3>{0, 1, 0}));
  ASSERT_EQ(drawn.removed_at_ends.size(), 1u);
  EXPECT_NE(drawn.removed_at_ends[0].find("aten.mul.Tensor"), std::string::npos);
}

// diff_weights reports one change for all weights of a module.
TEST(DrawnDifference, ChangedWeightsAreAtTheirReaders) {
  test::StackedProgram made;
  const ValueId x = made.input("x");
  made.output(made.add(made.linear(x, ""), x, ""));
  const Program program = made.finish();
  Difference difference;
  difference.changes.push_back({.section = ChangeSection::weight,
                                .what = "the root's own",
                                .after = "w: 1 of 16 elements",
                                .weights = {"w"}});
  const DrawnDifference drawn = drawn_difference(program, difference);
  ASSERT_EQ(drawn.nodes.size(), 1u);
  const auto& [node, change] = *drawn.nodes.begin();
  EXPECT_EQ(node->target, "torch.ops.aten.linear.default");
  EXPECT_EQ(change.kind, ChangeKind::changed);
  EXPECT_EQ(change.lines.size(), 1u);
}

TEST(Page, TellsWhatIsComputedTogether) {
  const Program program = chain("sin", "neg", 2);
  const Drawing drawing = draw(program, {.depth = 1000});
  const PageProgram page{.name = "program",
                         .drawing = &drawing,
                         .times = {{"mul", 5.0}},
                         .joined = {{"neg", "mul"}, {"mul", "mul"}}};
  const Result<JsonValue> json = parse_json(data_of(print_page(std::span(&page, 1), "")));
  ASSERT_TRUE(json);
  const JsonValue& drawn = json->find("programs")->items[0];
  std::string found;
  for (const JsonValue& box : drawn.find("boxes")->items) {
    if (box.find("us") != nullptr) found += box.find("f")->text + " took a time\n";
    if (const JsonValue* with = box.find("in"))
      found += box.find("f")->text + " with " +
               drawn.find("strings")->items[static_cast<size_t>(with->get_int().value())].text +
               "\n";
  }
  EXPECT_EQ(found, "neg with mul\nmul took a time\n");
}

TEST(Page, TellsWhatDiffers) {
  const Program before = chain("sin", "", 2), after = make_hostile();
  const Drawing drawing = draw(after, {.depth = 1000});
  PageProgram page{.name = "program", .drawing = &drawing};
  EXPECT_EQ(print_page(std::span(&page, 1), "").find("\"difference\":"), std::string::npos);
  page.difference = difference_of(before, after);
  const std::string data = data_of(print_page(std::span(&page, 1), ""));
  EXPECT_EQ(data.find('<'), std::string::npos);
  const Result<JsonValue> json = parse_json(data);
  ASSERT_TRUE(json);
  const JsonValue& program = json->find("programs")->items[0];
  const JsonValue* difference = program.find("difference");
  ASSERT_NE(difference, nullptr);
  ASSERT_EQ(difference->items.size(), 5u);
  size_t changed = 0;
  for (const JsonValue& box : program.find("boxes")->items) changed += box.find("x") != nullptr;
  EXPECT_EQ(changed, std::size(kHostile));
}

}  // namespace
}  // namespace pt2
