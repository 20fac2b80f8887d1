#include "pt2/ir/pytree.h"

#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "mutate.h"
#include "pt2/ir/program.h"

namespace pt2 {
namespace {

constexpr std::string_view kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string node(std::string_view type, std::string_view context,
                 std::initializer_list<std::string_view> children) {
  std::string text = "{\"type\": \"" + std::string(type) +
                     "\", \"context\": " + std::string(context) + ", \"children_spec\": [";
  for (std::string_view child : children)
    text += (text.back() == '[' ? "" : ", ") + std::string(child);
  return text + "]}";
}
std::string document(std::string_view tree) { return "[1, " + std::string(tree) + "]"; }

const std::vector<NamedTupleFields> kFields = {{"m.Pair", {"x", "y"}}};

struct Written {
  TreeKind kind;
  std::string text;
  std::vector<std::string> paths;
};
// Specs written by torch 2.15. torch 2.2 wrote the last two.
const Written kWritten[] = {
    {TreeKind::leaf, document(kLeaf), {""}},
    {TreeKind::tuple,
     document(node("builtins.tuple", R"("null")",
                   {kLeaf, node("builtins.tuple", R"("null")", {}), kLeaf})),
     {"[0]", "[2]"}},
    {TreeKind::list,
     document(
         node("builtins.list", R"("null")", {kLeaf, node("builtins.list", R"("null")", {kLeaf})})),
     {"[0]", "[1][0]"}},
    {TreeKind::dict,
     document(node("builtins.dict", R"("[\"b\", \"a b\", 7, \"\\u00e9\\\"\\n\"]")",
                   {kLeaf, kLeaf, kLeaf, kLeaf})),
     {".b", "[\"a b\"]", "[7]", "[\"\u00e9\\\"\\n\"]"}},
    {TreeKind::ordered_dict,
     document(node("collections.OrderedDict", R"("[\"z\", \"y\"]")", {kLeaf, kLeaf})),
     {".z", ".y"}},
    {TreeKind::default_dict,
     document(node("collections.defaultdict",
                   R"({"default_factory_module": "builtins", "default_factory_name": "list", )"
                   R"("dict_context": ["k", 7]})",
                   {kLeaf, kLeaf})),
     {".k", "[7]"}},
    {TreeKind::deque,
     document(node("collections.deque", R"("3")", {kLeaf, kLeaf})),
     {"[0]", "[1]"}},
    {TreeKind::deque, document(node("collections.deque", R"("null")", {})), {}},
    {TreeKind::named_tuple,
     document(node("collections.namedtuple", R"("m.Pair")",
                   {kLeaf, node("builtins.list", R"("null")", {kLeaf})})),
     {".x", ".y[0]"}},
    {TreeKind::immutable_list,
     document(node("torch.fx.immutable_collections.immutable_list", R"("null")", {kLeaf})),
     {"[0]"}},
    {TreeKind::immutable_dict,
     document(node("torch.fx.immutable_collections.immutable_dict", R"("[\"q\"]")", {kLeaf})),
     {".q"}},
    {TreeKind::registered,
     document(node("m.Box", R"("[[\"low\", \"high\"], [\"label\"]]")", {kLeaf, kLeaf})),
     {".low", ".high"}},
    {TreeKind::registered,
     document(node("m.Cache",
                   R"("{\"layers\": 2, \"colour\": {\"__enum__\": true, \"fqn\": \"m:Colour\", )"
                   R"(\"name\": \"RED\"}}")",
                   {kLeaf, kLeaf})),
     {"[0]", "[1]"}},
    {TreeKind::registered,
     document(node("torch.return_types.topk", R"("null")", {kLeaf, kLeaf})),
     {"[0]", "[1]"}},
    {TreeKind::registered,
     document(node("m.Shape", R"("[3, 4]")", {kLeaf, kLeaf})),
     {"[0]", "[1]"}},
    {TreeKind::named_tuple,
     document(node("collections.namedtuple",
                   R"({"class_name": "Pair", "fields": ["left", "right"]})", {kLeaf, kLeaf})),
     {".left", ".right"}},
    {TreeKind::registered,
     document(node("m.Box", R"(["m.Box", ["low", "high"], ["label"]])", {kLeaf, kLeaf})),
     {".low", ".high"}},
};

TEST(TreeSpec, EveryKindIsReadNamedAndWritten) {
  std::set<TreeKind> kinds;
  for (const Written& each : kWritten) {
    const auto spec = parse_tree_spec(each.text, kFields);
    ASSERT_TRUE(spec) << spec.error().text();
    kinds.insert(spec->kind);
    EXPECT_EQ(spec->kind, each.kind) << each.text;
    EXPECT_EQ(leaf_paths(*spec, ""), each.paths);
    EXPECT_EQ(leaf_count(*spec), each.paths.size());
    EXPECT_EQ(print_tree_spec(*spec), each.text);
  }
  EXPECT_EQ(kinds.size(), static_cast<size_t>(TreeKind::registered) + 1);
}

TEST(TreeSpec, MadeHereIsSpelledAsTorchDoes) {
  const TreeSpec leaf;
  EXPECT_EQ(make_tuple_spec({leaf, make_tuple_spec({}), leaf}), *parse_tree_spec(kWritten[1].text));
  EXPECT_EQ(make_list_spec({leaf, make_list_spec({leaf})}), *parse_tree_spec(kWritten[2].text));
  EXPECT_EQ(make_dict_spec({"b", "a b", 7, "\u00e9\"\n"}, {leaf, leaf, leaf, leaf}),
            *parse_tree_spec(kWritten[3].text));
}

TEST(TreeSpec, NamesLeavesAsPythonReachesThem) {
  const std::string tuple = node("builtins.tuple", R"("null")", {kLeaf, kLeaf});
  const std::string dict = node("builtins.dict", R"("[\"a\", \"b c\", 7]")", {kLeaf, tuple, kLeaf});
  const std::string pair = node("collections.namedtuple", R"("m.Pair")", {kLeaf, kLeaf});
  const std::string missing = node("collections.namedtuple", R"("m.Unknown")", {kLeaf});
  const std::string defaults = node(
      "collections.defaultdict",
      R"({"default_factory_module": "builtins", "default_factory_name": "list", "dict_context": ["k"]})",
      {kLeaf});
  const std::string data =
      node("m.Data", R"("[[\"low\", \"none\", \"high\"], [\"none\"]]")", {kLeaf, kLeaf});
  const std::string root =
      node("builtins.tuple", R"("null")", {dict, pair, missing, defaults, data});
  const auto spec = parse_tree_spec(document(root), kFields);
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ(leaf_count(*spec), 10u);
  const std::vector<std::string> expected = {
      "r[0].a", "r[0][\"b c\"][0]", "r[0][\"b c\"][1]", "r[0][7]",  "r[1].x",
      "r[1].y", "r[2][0]",          "r[3].k",           "r[4].low", "r[4].high"};
  EXPECT_EQ(leaf_paths(*spec, "r"), expected);
}

TEST(TreeSpec, RefusesWhatIsNoTree) {
  const auto dict = [](std::string_view context) {
    return document(node("builtins.dict", context, {kLeaf, kLeaf}));
  };
  const std::pair<std::string, std::string_view> kCases[] = {
      {"{not json", "JSON"},
      {"[]", "expected [protocol, tree]"},
      {"[1]", "expected [protocol, tree]"},
      {document("3"), "a node without type, context and children_spec"},
      {document("{}"), "a node without type, context and children_spec"},
      {document(R"({"type": null, "context": null, "children_spec": 3})"),
       "a node without type, context and children_spec"},
      {document(R"({"type": 3, "context": null, "children_spec": []})"), "the type is not a name"},
      {document(R"({"type": "", "context": null, "children_spec": []})"), "the type is not a name"},
      {document(R"({"type": null, "context": null, "children_spec": [)" + std::string(kLeaf) +
                "]}"),
       "a leaf has children"},
      {document(R"({"type": null, "context": "null", "children_spec": []})"),
       "a leaf has a context"},
      {dict(R"("null")"), "the context of builtins.dict is not a list of keys"},
      {dict(R"("[\"a\"]")"), "builtins.dict: 1 keys for 2 children"},
      {dict(R"("[\"a\", \"a\"]")"), "builtins.dict: a key is there twice"},
      {document(node("collections.defaultdict", R"("[\"a\"]")", {kLeaf})),
       "the context of collections.defaultdict is not a list of keys"},
  };
  for (const auto& [text, message] : kCases) {
    const auto spec = parse_tree_spec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::malformed) << text;
    EXPECT_NE(spec.error().message.find(message), std::string::npos) << spec.error().message;
  }
  const auto other = parse_tree_spec("[2, " + std::string(kLeaf) + "]");
  EXPECT_EQ(other.error().code, ErrorCode::unsupported);
  EXPECT_EQ(other.error().message, "tree spec: protocol 2, expected 1");
}

TEST(TreeSpec, HostileNestingAndNamesAreBounded) {
  std::string nested(kLeaf);
  for (int i = 0; i < 1000; ++i) nested = node("builtins.list", "\"null\"", {nested});
  const auto refused = parse_tree_spec(document(nested));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
  EXPECT_EQ(refused.error().message, "tree spec: nested deeper than 200");

  std::string wide = "{\"type\":\"t\",\"context\":0,\"children_spec\":[";
  for (int i = 0; i < 100'000; ++i) wide += R"({"type":null,"context":null,"children_spec":[]},)";
  wide.back() = ']';
  const auto too_wide = parse_tree_spec(document(wide + "}"));
  ASSERT_FALSE(too_wide);
  EXPECT_EQ(too_wide.error().code, ErrorCode::limit);

  const std::string long_key(100'000, 'k');
  const std::string tuple = node("builtins.tuple", "\"null\"", {kLeaf, kLeaf, kLeaf});
  const auto spec = parse_tree_spec(
      document(node("builtins.dict", "\"[\\\"" + long_key + "\\\"]\"", {tuple})), {});
  ASSERT_TRUE(spec);
  for (const std::string& name : leaf_paths(*spec, "x")) EXPECT_LT(name.size(), 600u);
}

// Reading eight times as many fields of a dataclass takes about eight times as long.
TEST(TreeSpec, FieldsOfClassesTakeLinearTime) {
  const auto seconds = [](int fields) {
    std::string present, absent;
    for (int i = 0; i < fields; ++i) {
      present += std::to_string(i) + ",";
      absent += std::to_string(fields + i) + ",";
    }
    const std::string text =
        document(node("C", "[[" + present + "0],[" + absent + "1]]", {std::string(kLeaf)}));
    const std::clock_t start = std::clock();
    EXPECT_TRUE(parse_tree_spec(text));
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(16'000), 24 * seconds(2'000) + 0.05);
}

TEST(TreeSpec, ProgramNamesFollowTheCall) {
  Program program;
  const auto user_input = [](std::string name) {
    return InputSpec{.kind = InputKind::user_input, .arg = {.name = std::move(name)}};
  };
  program.schema_version = {8, 20};
  program.signature.input_specs = {user_input("x"), user_input("t_0"), user_input("t_1"),
                                   user_input("mask")};
  const std::string tuple = node("builtins.tuple", R"("null")", {kLeaf, kLeaf});
  const std::string args = node("builtins.tuple", R"("null")", {kLeaf, tuple});
  const std::string kwargs = node("builtins.dict", R"("[\"mask\"]")", {kLeaf});
  ModuleCallSignature call{.in_spec = document(node("builtins.tuple", R"("null")", {args, kwargs})),
                           .out_spec = document(kLeaf)};
  program.module_call_graph = {{"", call}};
  EXPECT_EQ(user_input_names(program),
            (std::vector<std::string>{"x", "args[1][0]", "args[1][1]", "mask"}));
  program.module_call_graph[0].signature->forward_arg_names = {"x", "pair", "mask"};
  EXPECT_EQ(user_input_names(program),
            (std::vector<std::string>{"x", "pair[0]", "pair[1]", "mask"}));
  EXPECT_EQ(keyword_input_names(program), std::vector<std::string>{"mask"});
  program.module_call_graph[0].signature->in_spec = document(kLeaf);
  EXPECT_EQ(user_input_names(program), (std::vector<std::string>{"x", "t_0", "t_1", "mask"}));
  program.module_call_graph[0].signature->in_spec = "garbage";
  EXPECT_EQ(user_input_names(program), (std::vector<std::string>{"x", "t_0", "t_1", "mask"}));
}

// A damaged spec is refused, or it is printed and parsed again without changes, and its leaves can
// be flattened and unflattened.
TEST(TreeSpec, DamagedTextIsRefusedOrMeansSomething) {
  std::vector<test::Bytes> seeds;
  for (const Written& each : kWritten) seeds.push_back(test::to_bytes(each.text));
  test::Mutator mutator(std::move(seeds));
  size_t understood = 0;
  for (int i = 0; i < 50'000; ++i) {
    const test::Bytes bytes = mutator.next();
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto spec = parse_tree_spec(text, kFields);
    if (!spec) continue;
    ++understood;
    const std::string printed = print_tree_spec(*spec);
    const auto again = parse_tree_spec(printed, kFields);
    ASSERT_TRUE(again) << text << again.error().text();
    ASSERT_EQ(*again, *spec) << text;
    ASSERT_EQ(print_tree_spec(*again), printed);
    std::vector<Value> leaves;
    for (size_t leaf = 0; leaf < leaf_paths(*spec, "x").size(); ++leaf)
      leaves.emplace_back(static_cast<int64_t>(leaf));
    const auto tree = unflatten(leaves, *spec);
    ASSERT_TRUE(tree);
    const auto flat = flatten(*tree, *spec);
    ASSERT_TRUE(flat) << text << flat.error().text();
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf)
      ASSERT_EQ(*(*flat)[leaf].get_if<int64_t>(), static_cast<int64_t>(leaf));
  }
  EXPECT_GT(understood, 1000u);
}

}  // namespace
}  // namespace pt2
