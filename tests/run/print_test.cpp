// What programs print. The expected texts are those of PyTorch 2.15 and Python.
#include <gtest/gtest.h>

#include <cmath>

#include "pt2/model.h"
#include "run/graph_maker.h"
#include "run/reference/tensor_text.h"

namespace pt2::run {
namespace {

template <class T>
Tensor rising(Dtype dtype, Sizes sizes, double scale = 1) {
  const Tensor shape = Tensor::zeros(dtype, sizes);
  std::vector<T> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<double>(i) * scale);
  return Tensor::from<T>(dtype, std::move(sizes), std::span<const T>(values));
}

TEST(PrintedTensors, AreThoseOfPyTorch) {
  const float inf = INFINITY;
  EXPECT_EQ(tensor_text(floats({2, 2}, {0.25f, -2, 3.5f, 100})),
            "tensor([[  0.2500,  -2.0000],\n        [  3.5000, 100.0000]])");
  EXPECT_EQ(tensor_text(floats({3}, {1, 2, -30})), "tensor([  1.,   2., -30.])");
  EXPECT_EQ(tensor_text(floats({2}, {1e-5f, 1})), "tensor([1.0000e-05, 1.0000e+00])");
  EXPECT_EQ(tensor_text(floats({3}, {inf, -std::nanf(""), 2})), "tensor([inf, nan, 2.])");
  EXPECT_EQ(tensor_text(floats({2}, {-0.0f, 0})), "tensor([-0., 0.])");
  EXPECT_EQ(tensor_text(floats({}, {2.5f})), "tensor(2.5000)");
  EXPECT_EQ(tensor_text(floats({0, 3}, {})), "tensor([], size=(0, 3))");
  EXPECT_EQ(tensor_text(Tensor::zeros(Dtype::int32, {0})), "tensor([], dtype=torch.int32)");
  EXPECT_EQ(tensor_text(Tensor::of<int64_t>({1, -20, 3})), "tensor([  1, -20,   3])");
  EXPECT_EQ(tensor_text(Tensor::of<bool>({1, 2}, {true, false})), "tensor([[ True, False]])");
  EXPECT_EQ(tensor_text(Tensor::of<std::complex<float>>({{1, 2}, {-0.5, -3}})),
            "tensor([ 1.0000+2.j, -0.5000-3.j])");
  EXPECT_EQ(tensor_text(Tensor::of<double>({1.5, 2})),
            "tensor([1.5000, 2.0000], dtype=torch.float64)");
  EXPECT_EQ(tensor_size_text(Tensor::zeros(Dtype::int64, {5})),
            "tensor(..., size=(5,), dtype=torch.int64)");
}

TEST(PrintedTensors, BreakLinesWherePyTorchDoes) {
  EXPECT_EQ(tensor_text(rising<int64_t>(Dtype::int64, {40})),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n"
            "        36, 37, 38, 39])");
  EXPECT_EQ(tensor_text(rising<uint8_t>(Dtype::uint8, {30})),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29], dtype=torch.uint8)");
  EXPECT_EQ(
      tensor_text(rising<double>(Dtype::float64, {2, 3, 2}, 0.125)),
      "tensor([[[0.0000, 0.1250],\n         [0.2500, 0.3750],\n         [0.5000, 0.6250]],\n"
      "\n        [[0.7500, 0.8750],\n         [1.0000, 1.1250],\n         [1.2500, 1.3750]]], "
      "dtype=torch.float64)");
  EXPECT_EQ(tensor_text(Tensor::zeros(Dtype::float16, {2, 14})),
            "tensor([[0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],\n"
            "        [0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]],\n"
            "       dtype=torch.float16)");
}

TEST(PrintedTensors, LargeOnesHaveGaps) {
  EXPECT_EQ(tensor_text(rising<float>(Dtype::float32, {1200})),
            "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.1970e+03, 1.1980e+03,\n"
            "        1.1990e+03])");
  EXPECT_EQ(tensor_text(rising<int64_t>(Dtype::int64, {2, 600})),
            "tensor([[   0,    1,    2,  ...,  597,  598,  599],\n"
            "        [ 600,  601,  602,  ..., 1197, 1198, 1199]])");
  const Tensor expanded = floats({}, {1}).with_view(Sizes(20, 7), Sizes(20, 0), 0);
  EXPECT_EQ(printed_elements(expanded), 3656158440062976);
}

Result<std::string> printed(std::string format, std::vector<NamedArgument> arguments,
                            Tensor tensor = floats({}, {2.5f})) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  arguments.insert(arguments.begin(), named("", std::move(format)));
  arguments.push_back(named("x", x));
  maker.calls("torch.ops.higher_order.print", std::move(arguments), 0);
  maker.graph.set_outputs({Argument(x)});
  PT2_TRY(auto bound, bind_graph(maker.graph));
  std::string text;
  const std::function<void(std::string_view)> keep = [&](std::string_view line) { text += line; };
  ops::Context context;
  context.on_print = &keep;
  PT2_TRY_VOID(Executor(context).run(*bound, {Value(std::move(tensor))}));
  return text;
}

TEST(Print, FormatsAsPython) {
  const auto text = [](std::string format, std::vector<NamedArgument> arguments) {
    const auto found = printed(std::move(format), std::move(arguments));
    return found ? *found : found.error().text();
  };
  const NamedArgument three = named("", int64_t{3}), name = named("n", std::string("ab"));
  EXPECT_EQ(text("{x:>8.3f}|{:5}|{0:05d}|{n:<6}|{0:.1f}|{0!r}", {three, name}),
            "   2.500|    3|00003|ab    |3.0|3");
  EXPECT_EQ(text("{{{}}} {x} {x:6}", {three}), "{3} 2.5    2.5");
  EXPECT_EQ(text("{} {:>6} {}", {named("", true), named("", 2.0), named("", Argument())}),
            "True    2.0 None");
  // Formats that only Python has print the value alone.
  EXPECT_EQ(text("{:,} {x:%}", {three}), "3 2.5");
}

TEST(Print, RefusesWhatPythonRefuses) {
  const auto error = [](std::string format) {
    const auto found = printed(std::move(format), {named("", int64_t{3})});
    return found ? "printed " + *found : found.error().text();
  };
  EXPECT_NE(error("{} {}").find("no argument for the field '{}'"), std::string::npos);
  EXPECT_NE(error("{y}").find("no argument for the field '{y}'"), std::string::npos);
  EXPECT_NE(error("{1}").find("no argument for the field '{1}'"), std::string::npos);
  EXPECT_NE(error("a } b").find("single brace"), std::string::npos);
  EXPECT_NE(error("a {0").find("single brace"), std::string::npos);
  EXPECT_NE(error("{x.shape}").find("only names and numbers"), std::string::npos);
  EXPECT_NE(error("{0:>2000000000}").find("widths up to 999"), std::string::npos);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "{0:999}";
  EXPECT_NE(error(many).find("longer than 1 MiB"), std::string::npos);
}

TEST(Print, LargeTensorsAreShort) {
  const auto text = printed("{x}", {}, floats({}, {1}).with_view(Sizes(20, 7), Sizes(20, 0), 0));
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_TRUE(text->starts_with("tensor(..., size=(7, 7, ")) << *text;
}

TEST(Print, CallersAreTold) {
  for (const char* name : {"prints", "prints_core"})
    for (const EngineKind engine : {EngineKind::planned, EngineKind::reference}) {
      const Model model =
          Model::load(std::string(PT2_TEST_DATA "/exports/") + name + ".pt2", {.engine = engine})
              .value();
      std::vector<std::string> texts;
      CallOptions options;
      options.on_print = [&](std::string_view text) { texts.emplace_back(text); };
      Session session(model);
      std::vector<std::string> expected;
      // Later calls may repeat a recording of earlier ones.
      for (int call = 0; call < 4; ++call) {
        std::vector<Value> inputs = {Value(floats({3, 2}, {0, 1, 2, 3, 4, 5}))};
        if (model.inputs().size() == 2) inputs.insert(inputs.begin(), Value(floats({0}, {})));
        const auto outputs = session.run(inputs, options);
        ASSERT_TRUE(outputs) << outputs.error().text();
        expected.push_back(
            "rows    3, mean 2.50 {} tensor([[0., 1.],\n        [2., 3.],\n        [4., 5.]])");
        expected.push_back("printed");
        EXPECT_EQ(texts, expected) << name;
      }
    }
}

}  // namespace
}  // namespace pt2::run
