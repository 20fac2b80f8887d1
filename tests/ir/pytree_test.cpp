#include "ir/pytree.h"

#include <gtest/gtest.h>

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

TEST(Pytree, NamesLeavesAsPythonReachesThem) {
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
  const auto spec = parse_treespec(document(root), {{"m.Pair", {"x", "y"}}});
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ(leaf_count(*spec), 10u);
  const std::vector<std::string> expected = {
      "r[0].a", "r[0][\"b c\"][0]", "r[0][\"b c\"][1]", "r[0][7]",  "r[1].x",
      "r[1].y", "r[2][0]",          "r[3].k",           "r[4].low", "r[4].high"};
  EXPECT_EQ(leaf_names(*spec, "r"), expected);
}

TEST(Pytree, RefusesWhatIsNoTree) {
  for (const std::string& text :
       {std::string("{not json"), std::string("[]"), std::string("[1]"), document("3"),
        document("{}"), document(R"({"type": null, "context": null, "children_spec": 3})"),
        document(R"({"type": 3, "context": null, "children_spec": []})"),
        document(R"({"type": null, "context": null, "children_spec": [)" + std::string(kLeaf) +
                 "]}")}) {
    const auto spec = parse_treespec(text, {});
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::malformed) << text;
  }
  EXPECT_EQ(parse_treespec("[2, " + std::string(kLeaf) + "]", {}).error().code,
            ErrorCode::unsupported);
}

TEST(Pytree, HostileNestingAndNamesAreBounded) {
  std::string nested(kLeaf);
  for (int i = 0; i < 1000; ++i) nested = node("builtins.list", "\"null\"", {nested});
  EXPECT_FALSE(parse_treespec(document(nested), {}));

  const std::string long_key(100'000, 'k');
  const std::string tuple = node("builtins.tuple", "\"null\"", {kLeaf, kLeaf, kLeaf});
  const auto spec = parse_treespec(
      document(node("builtins.dict", "\"[\\\"" + long_key + "\\\"]\"", {tuple})), {});
  ASSERT_TRUE(spec);
  for (const std::string& name : leaf_names(*spec, "x")) EXPECT_LT(name.size(), 600u);
}

TEST(Pytree, ProgramNamesFollowTheCall) {
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

}  // namespace
}  // namespace pt2
