// Calls programs as Python does, with containers as arguments and results.
#include <gtest/gtest.h>

#include <numeric>

#include "ops/loops.h"
#include "package/broken_programs.h"
#include "package/saved.h"
#include "pt2/model.h"
#include "pt2/tools/compare.h"
#include "run/graph_maker.h"

namespace pt2 {
namespace {

using run::floats;

Model load(const std::string& name) {
  return Model::load(std::string(PT2_TEST_DATA) + "/corpus/" + name).value();
}

std::vector<float> elements(const TreeView& view) {
  const auto tensor = view.tensor();
  EXPECT_TRUE(tensor) << tensor.error().text();
  if (!tensor) return {};
  const Tensor copy = tensor->contiguous();
  return {copy.as<float>().begin(), copy.as<float>().end()};
}

const std::vector<float> kSum = {11, 22};

void expect_nested_result(const Tree& result) {
  EXPECT_EQ(result.kind(), TreeKind::dict);
  EXPECT_EQ(elements(result["sum"]), kSum);
  EXPECT_EQ(elements(result["list"][0]), (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(elements(result["list"][1][0]), std::vector<float>{8});
  EXPECT_EQ(result["empty"].tree().value()->items().size(), 0u);
  EXPECT_EQ(elements(result["nested"]["k"][0]), (std::vector<float>{1, 2}));
  EXPECT_FALSE(result["nested"]["j"].exists());
}

TEST(ModelCall, TakesAndGivesContainers) {
  const Tensor x = floats({1, 2}), y = floats({10, 20}), z = floats({5, 6, 7}), w = floats({8});
  for (const char* release : {"2.15.0", "2.9.1"}) {
    const Model model = load(std::string(release) + "/pytree_nested.pt2");
    ASSERT_EQ(model.arguments().size(), 2u);
    const Tree a = Tree::dict({{"void", Tree::dict({})}, {"pair", Tree::tuple({y, z})}, {"x", x}});
    const auto by_argument = model.call({{"b", Tree::list({w})}, {"a", a}});
    ASSERT_TRUE(by_argument) << by_argument.error().text();
    expect_nested_result(*by_argument);
    const auto by_place = model.call({{"a.x", x}, {"a.pair", Tree::list({y, z})}, {"b[0]", w}});
    ASSERT_TRUE(by_place) << by_place.error().text();
    expect_nested_result(*by_place);
    const auto by_position = model.call({{"0", x}, {"1", y}, {"2", z}, {"3", w}});
    ASSERT_TRUE(by_position) << by_position.error().text();
    expect_nested_result(*by_position);
  }
}

TEST(ModelCall, NamesWhatIsWrong) {
  const Model model = load("2.15.0/pytree_nested.pt2");
  const Tensor x = floats({1, 2}), z = floats({5, 6, 7}), w = floats({8});
  const Tree pair = Tree::tuple({x, z});
  const std::pair<NamedTrees, std::string_view> kCases[] = {
      {{{"a.x", x}, {"a.pair", pair}}, "input 'b[0]' is missing"},
      {{{"a", Tree::dict({{"x", x}})}}, "input 'a.pair' is missing"},
      {{{"a.pair", Tree::tuple({x, z, w})}}, "input 'a.pair[2]' is not expected"},
      {{{"a.y", x}}, "there is no input 'a.y'"},
      {{{"4", x}}, "there is no input '4'"},
      {{{"a.x", x}, {"0", x}}, "input 'a.x' is given twice"},
      {{{"b[0]", pair}}, "input 'b[0]': found a list of 2, expected a single value"},
      {{{"b", w}}, "input 'b': found f32[1], expected builtins.list of 1"},
  };
  for (const auto& [inputs, message] : kCases) {
    const auto result = model.call(inputs);
    ASSERT_FALSE(result) << message;
    EXPECT_EQ(result.error().code, ErrorCode::argument);
    EXPECT_TRUE(result.error().message.starts_with(message)) << result.error().message;
    EXPECT_NE(result.error().message.find("the program takes:\n  a.x: f32[2]\n"),
              std::string::npos);
  }
  EXPECT_FALSE(model.structure_outputs({Value(1)}));
}

TEST(ModelCall, ConstantsMayBeLeftOut) {
  const Model model = load("2.15.0/kwargs_inputs.pt2");
  const Tensor x = Tensor::zeros(Dtype::float32, {2, 3});
  const auto result =
      model.call({{"shift", floats({1, 2, 3})}, {"scale", floats({1, 1, 1})}, {"x", x}});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(elements(TreeView(*result)), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  const Model none = load("2.15.0/pytree_none.pt2");
  const auto nothing = none.call({{"a.x", floats({1, 2})}});
  ASSERT_TRUE(nothing) << nothing.error().text();
  EXPECT_TRUE((*nothing)[0]["nothing"].leaf().value().is_none());
  EXPECT_TRUE((*nothing)[1].leaf().value().is_none());
}

TEST(ModelCall, SessionsKeepTheirState) {
  const Model model = load("2.15.0/buffer_mutation.pt2");
  Session session(model);
  const Tensor x = floats({1, 2, 3});
  const std::string name = model.inputs()[0].name;
  const auto first = session.call({{name, x}});
  const auto second = session.call({{name, x}});
  const auto fresh = model.call({{name, x}});
  ASSERT_TRUE(first && second && fresh);
  EXPECT_EQ(elements(TreeView(*first)), elements(TreeView(*fresh)));
  EXPECT_NE(elements(TreeView(*first)), elements(TreeView(*second)));
}

TEST(ModelCall, RefusesTensorsWithoutElements) {
  const Model model = load("2.15.0/buffer_mutation.pt2");
  const auto outputs = model.run(std::vector<Value>{Tensor::without_elements(Dtype::float32, {3})});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::argument);
}

TEST(ModelCall, CopiesOfSessionsGoApart) {
  const Model model = load("2.15.0/buffer_mutation.pt2");
  Session session(model);
  const Tensor x = floats({1, 2, 3});
  const std::string name = model.inputs()[0].name;
  const auto first = session.call({{name, x}});
  Session copy = session.fork();
  const auto second = session.call({{name, x}});
  const auto third = session.call({{name, x}});
  const auto copied = copy.call({{name, x}});
  ASSERT_TRUE(first && second && third && copied);
  EXPECT_EQ(elements(TreeView(*copied)), elements(TreeView(*second)));
  copy = session.fork();
  const auto fourth = session.call({{name, x}});
  const auto assigned = copy.call({{name, x}});
  ASSERT_TRUE(fourth && assigned);
  EXPECT_EQ(elements(TreeView(*assigned)), elements(TreeView(*fourth)));
}

// Returns a corpus program with the given guard.
Model guarded(const std::string& base, const std::string& guard) {
  const std::string edit = R"(["set", "/guards_code", [")" + guard + R"("]])";
  const Package package =
      test::opened(test::broken_file({.base = base, .edits = {parse_json(edit).value()}}));
  return Model::from_package(std::make_shared<const Package>(package)).value();
}

// Returns 0, 1, 2, …: contiguous, or with the first dimension innermost at a stride of 2.
Tensor filled(const ModelValue& input, bool contiguous) {
  Sizes sizes, strides;
  int64_t stride = 2;
  for (const SymInt& size : input.tensor->sizes) {
    sizes.push_back(size.is_symbolic() ? 5 : size.literal());
    strides.push_back(stride);
    stride *= sizes.back();
  }
  Tensor values = Tensor::zeros(Dtype::float32, sizes);
  std::iota(values.data<float>(), values.data<float>() + values.numel(), 0.0f);
  if (contiguous) return values;
  Tensor out = Tensor::zeros_strided(Dtype::float32, sizes, strides);
  ops::copy_elements(out, values);
  return out;
}

TEST(ModelCall, CopiesInputsIntoTheLayoutThatGuardsAskFor) {
  const std::pair<const char*, const char*> kPrograms[] = {
      {"dynamic_batch", "L['x'].stride()[1] == 1"},
      {"input_mutation", "L['x'].stride()[0] == 1"},
      {"input_mutation_functional", "L['x'].stride()[0] == 1"}};
  for (const auto& [base, guard] : kPrograms) {
    const Model model = guarded(base, guard);
    std::vector<Value> own, other;
    for (const ModelValue& input : model.inputs()) {
      own.push_back(filled(input, true));
      other.push_back(filled(input, false));
    }
    Session session(model), second(model);
    const auto expected = session.run(own), found = second.run(other);
    ASSERT_TRUE(expected && found) << base << (found ? "" : found.error().text());
    ASSERT_EQ(expected->size(), found->size());
    for (size_t i = 0; i < found->size(); ++i)
      EXPECT_TRUE(compare((*found)[i], (*expected)[i]).equal()) << base;
    // The program's in-place changes reach the caller's tensors.
    for (size_t i = 0; i < own.size(); ++i) EXPECT_TRUE(compare(other[i], own[i]).equal()) << base;
  }
}

}  // namespace
}  // namespace pt2
