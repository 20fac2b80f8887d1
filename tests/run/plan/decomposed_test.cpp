// Plans of what run_decompositions() took apart: products, attention, normalization.
#include <algorithm>

#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

// Calls operators whose results have recorded sizes.
class RecordedCase : public Case {
 public:
  ValueId made(const std::string& target, const Sizes& sizes,
               std::vector<NamedArgument> arguments) {
    const ValueId id = call(target, std::move(arguments));
    record(id, sizes, Dtype::float32);
    return id;
  }
  ValueId recorded_input(const Sizes& sizes) {
    const ValueId id = input(sizes);
    record(id, sizes, Dtype::float32);
    return id;
  }
  ValueId view(ValueId of, const Sizes& sizes) {
    return made("view.default", sizes, {self(of), named("size", ints(sizes))});
  }
  ValueId expand(ValueId of, const Sizes& sizes) {
    return made("expand.default", sizes, {self(of), named("size", ints(sizes))});
  }
  ValueId permute(ValueId of, const Sizes& dims, const Sizes& sizes) {
    return made("permute.default", sizes, {self(of), named("dims", ints(dims))});
  }
  ValueId bmm(ValueId left, ValueId right, const Sizes& sizes) {
    return made("bmm.default", sizes, {self(left), named("mat2", Argument(right))});
  }
};

// torch.nn.MultiheadAttention has [time, batch * heads, depth] before it parts the heads. Query and
// key are scaled then; the value is not, so that it lies behind views only.
TEST(PlanDecomposed, MultiheadAttentionIsAttention) {
  RecordedCase graph;
  const ValueId q = graph.recorded_input({5, 6, 8}), k = graph.recorded_input({5, 6, 8}),
                v = graph.recorded_input({5, 6, 8});
  const auto heads = [&](ValueId of) {
    return graph.view(graph.permute(of, {1, 0, 2}, {6, 5, 8}), {2, 3, 5, 8});
  };
  const auto scaled = [&](ValueId of, const Sizes& sizes) {
    return graph.made("mul.Scalar", sizes, {self(of), named("other", Argument(0.6))});
  };
  const ValueId query = scaled(heads(q), {2, 3, 5, 8});
  const ValueId key = scaled(graph.permute(heads(k), {0, 1, 3, 2}, {2, 3, 8, 5}), {2, 3, 8, 5});
  const ValueId scores =
      graph.bmm(graph.view(graph.expand(query, {2, 3, 5, 8}), {6, 5, 8}),
                graph.view(graph.expand(key, {2, 3, 8, 5}), {6, 8, 5}), {6, 5, 5});
  const ValueId weights =
      graph.made("_softmax.default", {2, 3, 5, 5},
                 {self(graph.view(scores, {2, 3, 5, 5})), named("dim", Argument(int64_t{-1})),
                  named("half_to_float", Argument(false))});
  const ValueId sums =
      graph.bmm(graph.view(graph.expand(weights, {2, 3, 5, 5}), {6, 5, 5}),
                graph.view(graph.expand(heads(v), {2, 3, 5, 8}), {6, 5, 8}), {6, 5, 8});
  graph.output(graph.view(sums, {2, 3, 5, 8}));
  const Names names = graph.check();
  EXPECT_NE(std::ranges::find(names, "attention"), names.end());
  EXPECT_EQ(std::ranges::find(names, "batch_product"), names.end());
}

// Keys of three dimensions are turned by another permutation.
TEST(PlanDecomposed, AttentionOfJoinedHeadsIsAttention) {
  RecordedCase graph;
  const ValueId q = graph.recorded_input({6, 5, 8}), k = graph.recorded_input({6, 7, 8}),
                v = graph.recorded_input({6, 7, 8});
  const ValueId scores = graph.bmm(q, graph.permute(k, {0, 2, 1}, {6, 8, 7}), {6, 5, 7});
  const ValueId weights = graph.made(
      "_softmax.default", {6, 5, 7},
      {self(scores), named("dim", Argument(int64_t{-1})), named("half_to_float", Argument(false))});
  graph.output(graph.view(graph.bmm(weights, v, {6, 5, 8}), {6, 5, 8}));
  EXPECT_EQ(graph.check(), Names{"attention"});
}

// A bmm of `count` matrices with a weight repeated `repeats` times, then a bias and an activation.
// The number of repetitions is computed, so the weight is not folded into a constant, if
// `is_computed`.
struct Repeated {
  int64_t count = 4;
  int64_t repeats = 4;
  bool is_computed = false;
  Sizes bias{6};
};
class RepeatedCase : public RecordedCase {
 public:
  explicit RepeatedCase(const Repeated& repeated) {
    const Sizes sizes{repeated.count, 3, 8}, result{repeated.count, 3, 6};
    const ValueId x = recorded_input(sizes), counted = recorded_input({repeated.repeats});
    const ValueId weight = this->weight({6, 8}), bias = this->weight(repeated.bias);
    record(weight, {6, 8}, Dtype::float32);
    record(bias, repeated.bias, Dtype::float32);
    const ValueId turned = permute(weight, {1, 0}, {8, 6});
    const Sizes spread{repeated.repeats, 8, 6};
    ValueId right;
    if (repeated.is_computed) {
      const ValueId number =
          call("sym_size.int", {self(counted), named("dim", Argument(int64_t{0}))});
      right = made("expand.default", spread,
                   {self(turned),
                    named("size", ArgumentList{.kind = ListKind::sym_ints,
                                               .items = {Argument(number), Argument(int64_t{8}),
                                                         Argument(int64_t{6})}})});
    } else {
      right = expand(turned, spread);
    }
    const ValueId product = bmm(x, right, result);
    const ValueId sum = made("add.Tensor", result, {self(view(product, result)), other(bias)});
    output(made("relu.default", result, {self(sum)}));
  }
};

TEST(PlanDecomposed, AWeightOfEveryMatrixIsPacked) {
  EXPECT_EQ(RepeatedCase({}).check(), Names{"product"});
  RepeatedCase computed({.is_computed = true});
  const Names names = computed.check();
  EXPECT_NE(std::ranges::find(names, "product"), names.end());
  EXPECT_EQ(std::ranges::find(names, "batch_product"), names.end());
  EXPECT_EQ(std::ranges::find(computed.kernels(), "pointwise"), computed.kernels().end());
}

TEST(PlanDecomposed, AWeightRepeatedForOtherMatricesIsRefused) {
  EXPECT_TRUE(RepeatedCase({.repeats = 5}).fails_alike());
  EXPECT_TRUE(RepeatedCase({.repeats = 5, .is_computed = true}).fails_alike());
}

TEST(PlanDecomposed, AVectorOfRowsIsNoBias) {
  const Names names = RepeatedCase({.bias = {3, 1}}).check();
  EXPECT_EQ(names.front(), "product");
  EXPECT_GT(names.size(), 1U);
}

// Normalizes the two images of a batch as one with six channels.
Names names_of_instance_norm(bool repeats) {
  RecordedCase graph;
  const Sizes images{2, 3, 4, 5};
  const ValueId x = graph.recorded_input(images);
  const auto parameter = [&] {
    if (!repeats) return graph.weight({6});
    return graph.made("repeat.default", {6},
                      {self(graph.weight({3})), named("repeats", ints({2}))});
  };
  const ValueId weight = parameter(), bias = parameter();
  const ValueId normed = graph.calls(
      "_native_batch_norm_legit.no_stats",
      {named("input", Argument(graph.view(x, {1, 6, 4, 5}))), named("weight", Argument(weight)),
       named("bias", Argument(bias)), named("training", Argument(true)),
       named("momentum", Argument(0.1)), named("eps", Argument(1e-5))},
      3)[0];
  graph.record(normed, {1, 6, 4, 5}, Dtype::float32);
  graph.output(graph.made("relu.default", images, {self(graph.view(normed, images))}));
  return graph.check();
}

TEST(PlanDecomposed, InstanceNormalizationIsFound) {
  EXPECT_EQ(names_of_instance_norm(true), Names{"group_norm"});
  const Names others = names_of_instance_norm(false);
  EXPECT_EQ(std::ranges::find(others, "group_norm"), others.end());
}

// x / sqrt(mean(x * x) + epsilon) * weight, as models write it.
struct WrittenNorm {
  std::string square = "pow.Tensor_Scalar";
  bool divides = false;
  bool is_weight_first = false;
  Sizes dims{-1};
  Sizes weight{6};            // none if empty
  bool scales_other = false;  // another tensor than the one whose mean is taken
  bool keeps_dim = true;
  double alpha = 1;
};
Names names_of(const WrittenNorm& norm) {
  RecordedCase graph;
  const Sizes sizes{6, 6, 6};
  Sizes means = sizes;
  for (const int64_t dim : norm.dims) means[static_cast<size_t>(dim < 0 ? dim + 3 : dim)] = 1;
  if (!norm.keeps_dim) means = {6, 6};
  const ValueId x = graph.recorded_input(sizes), y = graph.recorded_input(sizes);
  std::vector<NamedArgument> squared{self(x)};
  if (norm.square == "pow.Tensor_Scalar")
    squared.push_back(named("exponent", Argument(int64_t{2})));
  if (norm.square == "mul.Tensor") squared.push_back(other(x));
  const ValueId square = graph.made(norm.square, sizes, std::move(squared));
  const ValueId mean = graph.made(
      "mean.dim", means,
      {self(square), named("dim", ints(norm.dims)), named("keepdim", Argument(norm.keeps_dim))});
  const ValueId sum = graph.made(
      "add.Tensor", means,
      {self(mean), named("other", Argument(1e-3)), named("alpha", Argument(norm.alpha))});
  const ValueId root =
      graph.made(norm.divides ? "sqrt.default" : "rsqrt.default", means, {self(sum)});
  const ValueId scaled = norm.scales_other ? y : x;
  ValueId last =
      graph.made(norm.divides ? "div.Tensor" : "mul.Tensor", sizes, {self(scaled), other(root)});
  if (!norm.weight.empty()) {
    const ValueId weight = graph.weight(norm.weight);
    graph.record(weight, norm.weight, Dtype::float32);
    last = norm.is_weight_first ? graph.made("mul.Tensor", sizes, {self(weight), other(last)})
                                : graph.made("mul.Tensor", sizes, {self(last), other(weight)});
  }
  graph.output(last);
  return graph.check();
}

TEST(PlanDecomposed, RmsNormAsModelsWriteItIsFound) {
  for (const std::string square : {"pow.Tensor_Scalar", "mul.Tensor", "square.default"})
    for (const bool flag : {false, true})
      EXPECT_EQ(names_of({.square = square, .divides = flag, .is_weight_first = flag}),
                Names{"rms_norm"});
  EXPECT_EQ(names_of({.weight = {}}), Names{"rms_norm"});
  EXPECT_EQ(names_of({.dims = {2}}), Names{"rms_norm"});
  EXPECT_EQ(names_of({.dims = {2, 1}, .weight = {6, 6}}), Names{"rms_norm"});
  EXPECT_EQ(names_of({.weight = {6, 1}}).front(), "rms_norm");
  EXPECT_EQ(names_of({.dims = {1, 2}}).front(), "rms_norm");
}

TEST(PlanDecomposed, OtherMeansAreNoRmsNorm) {
  for (const WrittenNorm& norm :
       {WrittenNorm{.dims = {1}}, WrittenNorm{.dims = {0, 2}}, WrittenNorm{.scales_other = true},
        WrittenNorm{.keeps_dim = false}, WrittenNorm{.alpha = 2}}) {
    const Names names = names_of(norm);
    EXPECT_EQ(std::ranges::find(names, "rms_norm"), names.end());
  }
}

// Derivatives multiply with matrices of zeros, which run_decompositions() expands from one number.
TEST(PlanDecomposed, SmallMatricesOfOneNumberAreWeights) {
  RecordedCase graph;
  const ValueId matrix = graph.expand(graph.weight({1}), {8, 4});
  graph.output(graph.made("mm.default", {5, 4},
                          {self(graph.recorded_input({5, 8})), named("mat2", Argument(matrix))}));
  graph.check();
  EXPECT_EQ(graph.kernels(), std::vector<std::string>{"product"});
}

}  // namespace
}  // namespace pt2::run
