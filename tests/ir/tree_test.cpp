#include <gtest/gtest.h>

#include "pt2/ir/pytree.h"

namespace pt2 {
namespace {

std::vector<int64_t> integers(const Result<std::vector<Value>>& values) {
  std::vector<int64_t> out;
  EXPECT_TRUE(values) << values.error().text();
  if (values)
    for (const Value& value : *values) out.push_back(*value.get_if<int64_t>());
  return out;
}

TreeSpec parse(const std::string& tree, const std::vector<NamedTupleFields>& fields = {}) {
  return parse_tree_spec("[1, " + tree + "]", fields).value();
}

const std::string kTwo = R"({"type": null, "context": null, "children_spec": []}, )"
                         R"({"type": null, "context": null, "children_spec": []})";

// The spec of {"b": leaf, "a": (leaf, leaf), 7: leaf}.
const TreeSpec kDict = make_dict_spec(
    {"b", "a", 7}, {TreeSpec(), make_tuple_spec({TreeSpec(), TreeSpec()}), TreeSpec()});
const TreeSpec kBox = parse(
    R"({"type": "m.Box", "context": "[[\"low\", \"high\"], [\"label\"]]", "children_spec": [)" +
    kTwo + "]}");
const TreeSpec kPair = parse(
    R"({"type": "collections.namedtuple", "context": "m.Pair", "children_spec": [)" + kTwo + "]}",
    {{"m.Pair", {"left", "right"}}});

TEST(Tree, FlattensInTheOrderOfTheSpec) {
  const Tree tree = Tree::dict({{7, 4}, {"a", Tree::list({2, 3})}, {"b", 1}});
  EXPECT_EQ(integers(flatten(tree, kDict)), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(integers(flatten(Tree(5), TreeSpec())), std::vector<int64_t>{5});
  EXPECT_EQ(integers(flatten(Tree::tuple({}), make_list_spec({}))), std::vector<int64_t>{});
}

TEST(Tree, FieldsAreGivenByNameOrByPosition) {
  for (const TreeSpec& spec : {kBox, kPair}) {
    const std::string first = spec.keys[0].text, second = spec.keys[1].text;
    EXPECT_EQ(integers(flatten(Tree::dict({{second, 2}, {first, 1}}), spec)),
              (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(integers(flatten(Tree::tuple({1, 2}), spec)), (std::vector<int64_t>{1, 2}));
  }
  EXPECT_EQ(integers(flatten(Tree::dict({{"low", 1}, {"label", Tree()}, {"high", 2}}), kBox)),
            (std::vector<int64_t>{1, 2}));
}

TEST(Tree, SaysWhichLeafIsMissingOrSuperfluous) {
  const Tree pair = Tree::list({2, 3});
  struct Case {
    Tree tree;
    TreeSpec spec;
    std::string_view message;
  };
  const Case kCases[] = {
      {Tree::dict({{"b", 1}, {7, 4}}), kDict, "'x.a' is missing"},
      {Tree::dict({{"b", 1}, {"a", Tree::list({2})}, {7, 4}}), kDict, "'x.a[1]' is missing"},
      {Tree::dict({{"b", 1}, {"a", Tree::list({2, 3, 4})}, {7, 4}}), kDict,
       "'x.a[2]' is not expected"},
      {Tree::dict({{"b", 1}, {"a", pair}, {7, 4}, {"c d", 5}}), kDict,
       "'x[\"c d\"]' is not expected"},
      {Tree::dict({{"b", 1}, {"a", pair}, {"7", 4}}), kDict, "'x[7]' is missing"},
      {Tree::dict({{"b", 1}, {"a", pair}, {7, 4}, {"b", 1}}), kDict, "'x': a key is given twice"},
      {Tree::dict({{"b", pair}, {"a", pair}, {7, 4}}), kDict,
       "'x.b': found a list of 2, expected a single value"},
      {Tree::dict({{"b", 1}, {"a", 2}, {7, 4}}), kDict,
       "'x.a': found int 2, expected builtins.tuple of 2"},
      {Tree::list({1, pair, 4}), kDict, "'x': found a list of 3, expected builtins.dict of 3"},
      {Tree::dict({{"a", 1}}), make_list_spec({TreeSpec()}),
       "'x': found a dict of 1, expected builtins.list of 1"},
      {Tree::dict({{"a", 1}}), make_dict_spec({}, {}), "'x.a' is not expected"},
      {Tree::dict({{"low", 1}, {"high", 2}, {"label", 3}}), kBox,
       "x.label is int 3, and was None when the program was exported"},
      {Tree::dict({{"low", 1}}), kBox, "'x.high' is missing"},
      {Tree::tuple({1}), kPair, "'x.right' is missing"},
  };
  for (const Case& each : kCases) {
    const auto flat = flatten(each.tree, each.spec, "x");
    ASSERT_FALSE(flat) << each.message;
    EXPECT_EQ(flat.error().code, ErrorCode::argument);
    EXPECT_EQ(flat.error().message, each.message);
  }
}

TEST(Tree, IsBuiltFromItsLeaves) {
  const Tree tree = unflatten({1, 2, 3, 4}, kDict).value();
  EXPECT_EQ(tree.kind(), TreeKind::dict);
  EXPECT_EQ(tree["a"][1].leaf().value().get_if<int64_t>()[0], 3);
  EXPECT_EQ(tree[7].leaf().value().get_if<int64_t>()[0], 4);
  EXPECT_EQ(integers(flatten(tree, kDict)), (std::vector<int64_t>{1, 2, 3, 4}));
  const Tree box = unflatten({1, 2}, kBox).value();
  EXPECT_EQ(box["high"].leaf().value().get_if<int64_t>()[0], 2);
  EXPECT_EQ(box[1].leaf().value().get_if<int64_t>()[0], 2);
  EXPECT_EQ(integers(flatten(unflatten({1, 2}, kPair).value(), kPair)),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(integers(flatten(unflatten({1, 2}, kPair).value(),
                             make_tuple_spec({TreeSpec(), TreeSpec()}))),
            (std::vector<int64_t>{1, 2}));
  const auto wrong = unflatten({1, 2, 3}, kDict);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "found 3 leaves, expected 4");
}

TEST(Tree, ViewsSayWhatIsNotThere) {
  const Tree tree = unflatten({1, Value(Tensor::zeros(Dtype::float32, {2})), 3, 4}, kDict).value();
  EXPECT_TRUE(tree["a"][0].tensor());
  EXPECT_TRUE(tree["a"].tree());
  EXPECT_FALSE(tree["c"].exists());
  const std::pair<TreeView, std::string_view> kCases[] = {
      {tree["c"], "there is no '.c' in the value, a dict of 3, which has .b, .a, [7]"},
      {tree["c"][0]["deeper"], "there is no '.c' in the value, a dict of 3, which has .b, .a, [7]"},
      {tree[0], "there is no '[0]' in the value, a dict of 3, which has .b, .a, [7]"},
      {tree["a"][2], "there is no '.a[2]' in '.a', a list of 2"},
      {tree["b"]["x"], "there is no '.b.x' in '.b', int 1"},
      {tree["b"], "'.b': found int 1, expected a tensor"},
      {tree["a"], "'.a': found a list of 2, expected a single value"},
  };
  for (const auto& [view, message] : kCases) {
    const auto tensor = view.tensor();
    ASSERT_FALSE(tensor);
    EXPECT_EQ(tensor.error().code, ErrorCode::argument);
    EXPECT_EQ(tensor.error().message, message);
  }
}

}  // namespace
}  // namespace pt2
