// Plans of attention, as one operator and as its parts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

TEST(PlanAttention, TakesAMaskOfBools) {
  Case graph;
  const ValueId q = graph.input({2, 4, 5, 8}), k = graph.input({2, 2, 6, 8}),
                v = graph.input({2, 2, 6, 3}), mask = graph.input({5, 6});
  Tensor keep = Tensor::zeros(Dtype::bool_, {5, 6});
  for (int64_t i = 0; i < 30; ++i) keep.data<uint8_t>()[i] = i % 3 != 0;
  graph.fill(mask, keep);
  graph.output(graph.call(
      "scaled_dot_product_attention.default",
      {named("query", Argument(q)), named("key", Argument(k)), named("value", Argument(v)),
       named("attn_mask", Argument(mask)), named("enable_gqa", Argument(true))}));
  EXPECT_EQ(graph.check(), Names{"attention"});
}

// What run_decompositions makes of attention with fewer key heads.
TEST(PlanAttention, TakesFewerKeyHeadsOfTheFusedOperator) {
  Case graph;
  const ValueId q = graph.input({2, 4, 5, 8}), k = graph.input({2, 2, 6, 8}),
                v = graph.input({2, 2, 6, 8});
  graph.output(graph.calls(
      "_scaled_dot_product_flash_attention_for_cpu.default",
      {named("query", Argument(q)), named("key", Argument(k)), named("value", Argument(v))}, 2)[0]);
  EXPECT_EQ(graph.check(), Names{"attention"});
}

// NesT attends within windows. Dimensions before the last four are further batch dimensions.
TEST(PlanAttention, HasMoreDimensions) {
  Case graph;
  const ValueId q = graph.input({2, 3, 4, 5, 8}), v = graph.input({2, 3, 4, 6, 3});
  const ValueId k = graph.call("permute.default", {self(graph.input({2, 4, 6, 3, 8})),
                                                   named("dims", ints({0, 3, 1, 2, 4}))});
  graph.output(graph.call(
      "scaled_dot_product_attention.default",
      {named("query", Argument(q)), named("key", Argument(k)), named("value", Argument(v))}));
  EXPECT_EQ(graph.check(), (Names{"reference", "attention"}));
}

enum class Hides : uint8_t { nothing, masked_fill, where_hidden, where_kept };

// softmax(q k^T) v as single nodes.
struct Parts {
  Sizes rows{2, 3, 5, 8};
  int64_t dim = -1;  // of the softmax
  bool adds_scores_twice = false;
  Hides hides = Hides::nothing;
  bool has_nan_key = false;    // which the mask hides from every query
  bool hides_queries = false;  // with all their keys, by a mask of one column
  double hidden = -std::numeric_limits<double>::infinity();
  int64_t repeats = 1;  // query heads for each head of keys and values
  Dtype dtype = Dtype::float32;
};

class PartsMaker {
 public:
  explicit PartsMaker(const Parts& parts) : parts_(parts), square_(parts.rows) {
    square_.back() = parts.rows[parts.rows.size() - 2];
  }
  bool have_attention_step() {
    Sizes turned = parts_.rows;
    std::swap(turned[turned.size() - 2], turned.back());
    // Case takes inputs before any node.
    Sizes few = parts_.rows;
    few[1] /= parts_.repeats;
    const ValueId q = input(parts_.rows), few_keys = input(few), few_values = input(few);
    if (parts_.has_nan_key) {
      // The first key of every head.
      Tensor keys = Tensor::zeros(Dtype::float32, few);
      for (int64_t j = 0; j < keys.numel(); ++j) {
        const bool is_first = j / few[3] % few[2] == 0;
        keys.data<float>()[j] =
            is_first ? std::numeric_limits<float>::quiet_NaN() : std::sin(static_cast<float>(j));
      }
      graph_.fill(few_keys, keys);
    }
    if (parts_.hides != Hides::nothing) add_mask();
    const ValueId k = repeated(few_keys, few), v = repeated(few_values, few);
    const ValueId keys =
        call("transpose.int",
             {self(k), named("dim0", Argument(int64_t{-1})), named("dim1", Argument(int64_t{-2}))},
             turned);
    ValueId scores = call("matmul.default", {self(q), other(keys)}, square_);
    if (parts_.adds_scores_twice)
      scores = call("add.Tensor", {self(scores), other(scores)}, square_);
    scores = call("div.Tensor", {self(scores), named("other", Argument(2.5))}, square_);
    if (parts_.hides != Hides::nothing) scores = hide(scores);
    const ValueId weights =
        call("softmax.int", {self(scores), named("dim", Argument(parts_.dim))}, square_);
    graph_.output(call("matmul.default", {self(weights), other(v)}, parts_.rows));
    const Names names = graph_.check();
    return std::ranges::find(names, "attention") != names.end();
  }

 private:
  ValueId call(const std::string& target, std::vector<NamedArgument> arguments, const Sizes& sizes,
               std::optional<Dtype> dtype = std::nullopt) {
    const ValueId id = graph_.call(target, std::move(arguments));
    graph_.record(id, sizes, dtype.value_or(parts_.dtype));
    return id;
  }
  ValueId input(const Sizes& sizes) {
    const ValueId id = graph_.input(sizes);
    graph_.record(id, sizes, Dtype::float32);
    if (parts_.dtype != Dtype::float32) graph_.make_halves(id, parts_.dtype);
    return id;
  }
  // Repeats keys or values as Transformers does (repeat_kv).
  ValueId repeated(ValueId heads, Sizes sizes) {
    if (parts_.repeats == 1) return heads;
    sizes.insert(sizes.begin() + 2, 1);
    const ValueId apart =
        call("unsqueeze.default", {self(heads), named("dim", Argument(int64_t{2}))}, sizes);
    sizes[2] = parts_.repeats;
    const ValueId spread = call("expand.default", {self(apart), named("size", ints(sizes))}, sizes);
    return call("reshape.default", {self(spread), named("shape", ints(parts_.rows))}, parts_.rows);
  }
  bool is_hidden(int64_t i) const {
    const int64_t keys = square_[3];
    return i < keys || i % 3 == 0 || (parts_.has_nan_key && i % keys == 0);
  }
  Sizes mask_sizes() const {
    return {parts_.rows[0], 1, square_[2], parts_.hides_queries ? 1 : square_[3]};
  }
  // The mask hides every key of one query, and others by chance.
  void add_mask() {
    const Sizes sizes = mask_sizes();
    noise_ = input(sizes);
    hidden_ = graph_.weight({});
    graph_.record(hidden_, {}, Dtype::float32);
    Tensor numbers = Tensor::zeros(Dtype::float32, sizes),
           hidden = Tensor::zeros(Dtype::float32, {});
    const bool kept = parts_.hides == Hides::where_kept;
    for (int64_t i = 0; i < numbers.numel(); ++i)
      numbers.data<float>()[i] = is_hidden(i) != kept ? 1.0f : -1.0f;
    hidden.data<float>()[0] = static_cast<float>(parts_.hidden);
    graph_.fill(noise_, numbers);
    graph_.fill(hidden_, hidden);
  }
  ValueId hide(ValueId scores) {
    const ValueId mask = call("gt.Scalar", {self(noise_), named("other", Argument(0.0))},
                              mask_sizes(), Dtype::bool_);
    if (parts_.hides == Hides::masked_fill)
      return call(
          "masked_fill.Scalar",
          {self(scores), named("mask", Argument(mask)), named("value", Argument(parts_.hidden))},
          square_);
    const bool kept = parts_.hides == Hides::where_kept;
    return call("where.self",
                {named("condition", Argument(mask)), self(kept ? scores : hidden_),
                 other(kept ? hidden_ : scores)},
                square_);
  }

  const Parts parts_;
  Sizes square_;
  Case graph_;
  ValueId noise_{};
  ValueId hidden_{};  // the number
};

bool have_attention_step(const Parts& parts) { return PartsMaker(parts).have_attention_step(); }

TEST(PlanAttention, IsMadeOfItsPartsAlone) {
  EXPECT_TRUE(have_attention_step({}));
  EXPECT_TRUE(have_attention_step({.rows = {2, 2, 3, 5, 8}, .dim = 4}));
  // No attention step adds the scores as a mask, or takes the softmax over queries.
  EXPECT_FALSE(have_attention_step({.adds_scores_twice = true}));
  EXPECT_FALSE(have_attention_step({.rows = {2, 2, 3, 5, 8}, .dim = 3}));
  // Single nodes round their results to halves.
  EXPECT_FALSE(have_attention_step({.dtype = Dtype::bfloat16}));
}

TEST(PlanAttention, HidesWhatAProgramFillsWithANumber) {
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  for (const Hides hides : {Hides::masked_fill, Hides::where_hidden, Hides::where_kept}) {
    EXPECT_TRUE(have_attention_step({.hides = hides}));
    EXPECT_TRUE(have_attention_step({.hides = hides, .hidden = kLowest}));
    EXPECT_TRUE(have_attention_step({.hides = hides, .hidden = -5}));
    EXPECT_FALSE(have_attention_step({.hides = hides, .hidden = 0}));
    // The number replaces a score, also one that is NaN.
    EXPECT_TRUE(have_attention_step({.hides = hides, .has_nan_key = true, .hidden = -1e9}));
  }
}

// The step would refuse such a mask in every call, and the nodes would be run one by one.
TEST(PlanAttention, NeedsAMaskWithAnElementForEachKey) {
  EXPECT_FALSE(have_attention_step({.hides = Hides::masked_fill, .hides_queries = true}));
}

TEST(PlanAttention, ReadsRepeatedHeadsWhereTheyAre) {
  EXPECT_TRUE(have_attention_step({.rows = {2, 6, 5, 8}, .repeats = 3}));
  EXPECT_TRUE(
      have_attention_step({.rows = {2, 6, 5, 8}, .hides = Hides::masked_fill, .repeats = 2}));
}

}  // namespace
}  // namespace pt2::run
