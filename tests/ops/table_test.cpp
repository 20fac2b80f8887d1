// The operator table itself: targets, derived forms, Python's arithmetic, and hostile arguments.
#include "ops/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "ops/bind.h"
#include "ops/listed_calls.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

TEST(OperatorTable, EveryTargetIsListedOnce) {
  std::set<std::string> seen;
  for (const auto& family : families())
    for (const OpDef& def : family.rows) {
      const std::string target = target_of(*def.signature);
      EXPECT_TRUE(seen.insert(target).second) << target << " has two rows";
      EXPECT_EQ(find_operator(target).def, &def);
    }
}

// `verify` checks what a file records of a result only if the row can tell it.
TEST(OperatorTable, RowsThatReturnTensorsHaveRules) {
  for (const Family& family : families())
    for (const OpDef& def : family.rows) {
      const Signature& own = *def.signature;
      const auto is_one_tensor = [](const ArgumentType& type) {
        return type.base == BaseType::tensor && !type.list;
      };
      if (own.return_count == 0 ||
          !std::all_of(own.return_array, own.return_array + own.return_count, is_one_tensor))
        continue;
      EXPECT_TRUE(def.is_predictable() || def.looks_at_sizes_alone() || def.is_view()) << own.text;
    }
}

TEST(OperatorTable, ArgumentsAreFoundByTheNamesOfOlderReleases) {
  const struct {
    const char *target, *old_name, *new_name;
  } renamed[] = {
#define PT2_ARGUMENT_NAME(last, target, old, new) {target, old, new},
#include "ops/argument_names.def"
  };
  int found = 0;
  for (const auto& row : renamed) {
    const Operator op = find_operator(row.target);
    if (!op) continue;
    const auto index = parameter_index(op.signature(), row.old_name, 0);
    ASSERT_TRUE(index) << index.error().text();
    EXPECT_EQ(op.signature().parameter_array[*index].name, row.new_name);
    ++found;
  }
  EXPECT_GE(found, 3);
}

// torch.export.passes.move_to_device_pass writes devices as text.
TEST(OperatorTable, DevicesMayBeNamed) {
  const Operator op = find_operator("torch.ops.aten.arange.default");
  const Parameter* device = op.signature().find("device");
  for (const auto& [text, expected] :
       {std::pair("cpu", Device{"cpu", std::nullopt}), std::pair("cuda:1", Device{"cuda", 1})}) {
    const auto found = coerce(*device, Value(std::string(text)));
    ASSERT_TRUE(found.has_value()) << text;
    EXPECT_EQ(*found->get_if<Device>(), expected) << text;
  }
  for (const char* text : {"", "disk", "cuda:", "cuda:-1", "cuda:128", "cuda:0:0", "CPU"})
    EXPECT_FALSE(coerce(*device, Value(std::string(text))).has_value()) << text;
}

TEST(OperatorTable, FormsAreDerivedFromTheFunctionalRow) {
  EXPECT_EQ(find_operator("torch.ops.aten.relu_.default").form, Operator::Form::in_place);
  EXPECT_EQ(find_operator("torch.ops.aten.permute_copy.default").form, Operator::Form::copy);
  EXPECT_EQ(find_operator("torch.ops.aten.copy_.default").form, Operator::Form::in_place);
  for (const char* target : {"add.out", "add.Scalar_out", "sum.IntList_out", "max.dim_max",
                             "sort.values", "zeros_like.out", "permute_copy.out", "absolute.out",
                             "tanh_backward.grad_input", "std_mean.correction_out"})
    EXPECT_EQ(find_operator(std::string("torch.ops.aten.") + target).form,
              Operator::Form::with_outs)
        << target;
  for (const char* target : {"add_.out", "add.grad_input", "sym_size.int_out", "add.values"})
    EXPECT_FALSE(find_operator(std::string("torch.ops.aten.") + target)) << target;
  EXPECT_FALSE(find_operator("torch.ops.aten.nonexistent.default"));
  EXPECT_FALSE(find_operator(""));
}

TEST(OperatorTable, FormsWithOutsHaveSignaturesOfTheirOwn) {
  const std::pair<const char*, const char*> cases[] = {
      {"add.out",
       "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> "
       "(Tensor(a!))"},
      {"max.dim_max",
       "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
       "Tensor(b!) max_values) -> (Tensor(a!), Tensor(b!))"},
      {"arange.start_out",
       "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> "
       "(Tensor(a!))"},
      {"unbind_copy.int_out",
       "aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()"}};
  for (const auto& [target, text] : cases)
    EXPECT_EQ(find_operator(std::string("torch.ops.aten.") + target).signature().text, text);
}

TEST(OperatorTable, OutsKeepTheirStridesOrAreResized) {
  const Value self(Tensor::from<float>(Dtype::float32, {2, 2}, std::vector<float>{1, 2, 3, 4}));
  const auto add_to = [&](Tensor out) {
    return run("torch.ops.aten.add.out", {self, self, Value(int64_t{1}), Value(std::move(out))});
  };
  const Tensor transposed = Tensor::zeros(Dtype::float64, {2, 2}).with_view({2, 2}, {1, 2}, 0);
  ASSERT_TRUE(add_to(transposed));
  EXPECT_EQ(transposed.data<double>()[1], 6);
  const Tensor large = Tensor::zeros(Dtype::float32, {9});
  const auto fits = add_to(large);
  ASSERT_TRUE(fits);
  EXPECT_EQ((*fits)[0].get_if<Tensor>()->type_text(), "f32[2, 2]");
  EXPECT_EQ(large.data<float>()[3], 8);
  const auto grown = add_to(Tensor::zeros(Dtype::float32, {0}));
  ASSERT_TRUE(grown);
  EXPECT_EQ((*grown)[0].get_if<Tensor>()->as<float>()[3], 8);
  EXPECT_FALSE(add_to(Tensor::zeros(Dtype::int64, {2, 2})));
  EXPECT_FALSE(add_to(Tensor::zeros(Dtype::float32, {2}).with_view({2, 2}, {0, 1}, 0)));
}

// The parameter that an in-place operator of PyTorch writes is called self, even in dropout_.
TEST(OperatorTable, InPlaceFormsWriteToSelf) {
  for (const auto& family : families())
    for (const OpDef& def : family.rows) {
      std::string target = target_of(*def.signature);
      if (const size_t dot = target.rfind('.'); dot != target.npos) target.insert(dot, "_");
      const Operator in_place = find_operator(target);
      if (!in_place) continue;
      EXPECT_EQ(in_place.signature().begin()->name, "self") << target;
    }
  EXPECT_TRUE(find_operator("torch.ops.aten.dropout_.default"));
}

TEST(OperatorTable, GroupedProductsOfTransformersAreThoseOfPyTorch) {
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), -7.0f);
  const Tensor rows = Tensor::from<float>(Dtype::float32, {5, 2}, std::span(numbers).first(10));
  const Tensor experts = Tensor::from<float>(Dtype::float32, {3, 2, 4}, numbers);
  const Tensor ends = Tensor::from<int32_t>(Dtype::int32, {3}, std::vector<int32_t>{2, 2, 4});
  const auto expected = run("torch.ops.aten._grouped_mm.default",
                            {Value(rows), Value(experts), Value(ends), Value(), Value()});
  const auto found = run("torch.ops.transformers.grouped_mm_fallback.default",
                         {Value(rows), Value(experts), Value(ends)});
  ASSERT_TRUE(expected && found);
  const Tensor& a = *(*expected)[0].get_if<Tensor>();
  const Tensor& b = *(*found)[0].get_if<Tensor>();
  EXPECT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(std::ranges::equal(a.as<float>(), b.as<float>()));
  EXPECT_EQ(b.as<float>()[19], 0);  // rows after the last end are zero

  const Tensor too_far = Tensor::from<int64_t>(Dtype::int64, {3}, std::vector<int64_t>{2, 2, 6});
  EXPECT_FALSE(run("torch.ops.transformers.grouped_mm_fallback.default",
                   {Value(rows), Value(experts), Value(too_far)}));
}

TEST(OperatorTable, InPlaceFormsWriteThroughViews) {
  Tensor base = Tensor::zeros(Dtype::float32, {2, 2});
  const Tensor row = base.with_view({2}, {1}, 2);
  ASSERT_TRUE(run("torch.ops.aten.add_.Tensor", {Value(row), Value(int64_t{3})}));
  EXPECT_EQ(base.as<float>()[1], 0);
  EXPECT_EQ(base.as<float>()[2], 3);
}

TEST(OperatorTable, NumbersPromoteAsNumbers) {
  const Tensor whole = Tensor::zeros(Dtype::int32, {2});
  const Tensor fraction = Tensor::zeros(Dtype::float64, {});
  struct Case {
    Tensor self;
    Value other;
    Dtype expected;
  };
  const Case cases[] = {{whole, Value(int64_t{1}), Dtype::int32},
                        {whole, Value(1.5), Dtype::float32},
                        {whole, Value(fraction), Dtype::float64},
                        {whole, Value(true), Dtype::int32},
                        {fraction, Value(int64_t{1}), Dtype::float64},
                        {whole, Value(std::complex<double>(0, 1)), Dtype::complex64}};
  for (const Case& each : cases) {
    const auto result = run("torch.ops.aten.mul.Tensor", {Value(each.self), each.other});
    ASSERT_TRUE(result);
    EXPECT_EQ((*result)[0].get_if<Tensor>()->dtype(), each.expected)
        << each.self.type_text() << " * " << each.other.type_text();
  }
}

// Expected: the answers of torch.promote_types, result_type and can_cast.
TEST(OperatorTable, QuestionsOfDtypesAreAnswered) {
  const Value whole(Tensor::zeros(Dtype::int32, {2})), scalar(Tensor::zeros(Dtype::bool_, {}));
  const auto answer = [](const char* name, std::vector<Value> arguments) {
    const auto result = run("torch.ops.aten." + std::string(name), std::move(arguments));
    return result ? result->front() : Value();
  };
  const auto promoted = [&](const char* name, Value first, Value second) {
    return *answer(name, {std::move(first), std::move(second)}).get_if<Dtype>();
  };
  EXPECT_EQ(promoted("promote_types.default", Value(Dtype::int64), Value(Dtype::float16)),
            Dtype::float16);
  EXPECT_EQ(promoted("promote_types.default", Value(Dtype::uint8), Value(Dtype::int8)),
            Dtype::int16);
  EXPECT_EQ(promoted("result_type.Tensor", whole, scalar), Dtype::int32);
  EXPECT_EQ(promoted("result_type.Scalar", whole, Value(2.5)), Dtype::float32);
  EXPECT_EQ(promoted("result_type.Scalar_Tensor", Value(int64_t{2}), scalar), Dtype::int64);
  EXPECT_EQ(promoted("result_type.Scalar_Scalar", Value(int64_t{1}), Value(2.5)), Dtype::float32);
  struct Case {
    Dtype from, to;
    bool expected;
  };
  const Case cases[] = {
      {Dtype::int32, Dtype::float16, true},     {Dtype::float64, Dtype::bfloat16, true},
      {Dtype::int64, Dtype::uint8, true},       {Dtype::bool_, Dtype::bool_, true},
      {Dtype::int32, Dtype::bool_, false},      {Dtype::float32, Dtype::int64, false},
      {Dtype::float32, Dtype::complex64, true}, {Dtype::complex64, Dtype::float64, false}};
  for (const Case& each : cases)
    EXPECT_EQ(*answer("can_cast.default", {Value(each.from), Value(each.to)}).get_if<bool>(),
              each.expected)
        << dtype_name(each.from) << " to " << dtype_name(each.to);
  EXPECT_TRUE(*answer("is_set_to.default", {whole, whole}).get_if<bool>());
  EXPECT_FALSE(*answer("is_set_to.default", {whole, scalar}).get_if<bool>());
}

TEST(SymbolicOperators, FollowPython) {
  struct Case {
    const char* target;
    std::vector<Value> arguments;
    Value expected;
  };
  const Case cases[] = {
      {"_operator.floordiv", {Value(int64_t{-7}), Value(int64_t{2})}, Value(int64_t{-4})},
      {"_operator.floordiv", {Value(int64_t{7}), Value(int64_t{-2})}, Value(int64_t{-4})},
      {"_operator.floordiv", {Value(-5.0), Value(HUGE_VAL)}, Value(-1.0)},
      {"_operator.floordiv", {Value(-7.5), Value(2.0)}, Value(-4.0)},
      {"_operator.mod", {Value(int64_t{-7}), Value(int64_t{3})}, Value(int64_t{2})},
      {"_operator.mod", {Value(7.5), Value(-2.0)}, Value(-0.5)},
      {"_operator.truediv", {Value(int64_t{7}), Value(int64_t{2})}, Value(3.5)},
      {"_operator.pow", {Value(int64_t{2}), Value(int64_t{10})}, Value(int64_t{1024})},
      {"_operator.pow", {Value(int64_t{2}), Value(int64_t{-1})}, Value(0.5)},
      {"_operator.add", {Value(true), Value(int64_t{1})}, Value(int64_t{2})},
      {"_operator.and_", {Value(true), Value(false)}, Value(false)},
      {"_operator.and_", {Value(int64_t{6}), Value(int64_t{3})}, Value(int64_t{2})},
      {"_operator.ge", {Value(std::nan("")), Value(0.0)}, Value(false)},
      {"_operator.ne", {Value(std::nan("")), Value(0.0)}, Value(true)},
      {"math.ceil", {Value(1.25)}, Value(int64_t{2})},
      {"math.trunc", {Value(-1.75)}, Value(int64_t{-1})},
      {"torch.sym_max", {Value(int64_t{1}), Value(0.5)}, Value(1.0)},
      {"torch.sym_ite", {Value(true), Value(int64_t{1}), Value(int64_t{2})}, Value(int64_t{1})},
      {"torch.sym_not", {Value(false)}, Value(true)},
      {"torch.sym_sum", {ints({1, 2, 3})}, Value(int64_t{6})},
      {"torch._sym_sqrt", {Value(int64_t{9})}, Value(3.0)}};
  for (const Case& each : cases) {
    const auto result = run(each.target, each.arguments);
    ASSERT_TRUE(result) << each.target;
    EXPECT_EQ((*result)[0].type_text(), each.expected.type_text()) << each.target;
  }
}

TEST(SymbolicOperators, RefuseWhatHasNoAnswer) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(run("_operator.add", {Value(kMax), Value(int64_t{1})}));
  EXPECT_FALSE(run("_operator.neg", {Value(kMin)}));
  EXPECT_FALSE(run("_operator.floordiv", {Value(kMin), Value(int64_t{-1})}));
  EXPECT_FALSE(run("_operator.mod", {Value(int64_t{1}), Value(int64_t{0})}));
  EXPECT_FALSE(run("_operator.pow", {Value(int64_t{10}), Value(int64_t{19})}));
  EXPECT_FALSE(run("_operator.lshift", {Value(int64_t{1}), Value(int64_t{64})}));
  EXPECT_FALSE(run("math.floor", {Value(1e300)}));
}

// Without a check in the rule, each of these overflows, divides by zero or reads out of bounds.
TEST(HostileArguments, AreErrors) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Value matrix(Tensor::zeros(Dtype::float32, {2, 3}));
  const Value planes(Tensor::zeros(Dtype::float32, {1, 2, 3, 3}));
  const Value zeros(Tensor::zeros(Dtype::int64, {3}));
  const Value scalar(Tensor::zeros(Dtype::float32, {}));
  struct Case {
    const char* target;
    std::vector<Value> arguments;
  };
  const Case cases[] = {
      {"torch.ops.aten.view.default", {matrix, ints({kMax, kMax})}},
      {"torch.ops.aten.view.default", {matrix, ints({-1, -1})}},
      {"torch.ops.aten.view.default", {matrix, ints({kMin, 6})}},
      {"torch.ops.aten.expand.default", {scalar, ints({kMax, kMax})}},
      {"torch.ops.aten.permute.default", {matrix, ints({0, 0})}},
      {"torch.ops.aten.select.int", {matrix, Value(int64_t{0}), Value(kMin)}},
      {"torch.ops.aten.slice.Tensor",
       {matrix, Value(int64_t{0}), Value(), Value(), Value(int64_t{0})}},
      {"torch.ops.aten.narrow.default",
       {matrix, Value(int64_t{1}), Value(int64_t{1}), Value(kMax)}},
      {"torch.ops.aten.as_strided.default", {matrix, ints({4}), ints({2}), Value(int64_t{0})}},
      {"torch.ops.aten.as_strided.default", {matrix, ints({0, 2}), ints({kMax, kMax})}},
      {"torch.ops.aten.unfold.default",
       {matrix, Value(int64_t{1}), Value(int64_t{4}), Value(int64_t{1})}},
      {"torch.ops.aten.full.default", {ints({kMax}), Value(int64_t{1})}},
      {"torch.ops.aten.full.default", {ints({-1}), Value(int64_t{1})}},
      {"torch.ops.aten.arange.start_step", {Value(int64_t{0}), Value(kMax), Value(int64_t{1})}},
      {"torch.ops.aten.arange.start_step", {Value(0.0), Value(1.0), Value(0.0)}},
      {"torch.ops.aten.eye.default", {Value(kMax)}},
      {"torch.ops.aten.repeat.default", {matrix, ints({kMax, kMax})}},
      {"torch.ops.aten.combinations.default", {zeros, Value(kMax), Value(true)}},
      {"torch.ops.aten.repeat_interleave.self_int", {matrix, Value(kMax)}},
      {"torch.ops.aten.constant_pad_nd.default", {matrix, ints({kMin, kMax})}},
      {"torch.ops.aten.diag_embed.default", {matrix, Value(kMin)}},
      {"torch.ops.aten.cat.default", {Value(Value::List{})}},
      {"torch.ops.aten.cat.default", {Value(Value::List{matrix, zeros})}},
      {"torch.ops.aten.floor_divide.default", {zeros, zeros}},
      {"torch.ops.aten.remainder.Tensor", {zeros, zeros}},
      {"torch.ops.aten.pow.Tensor_Scalar", {zeros, Value(int64_t{-1})}},
      {"torch.ops.aten.item.default", {matrix}},
      {"torch.ops.aten.item.default", {Value(Tensor())}},
      {"torch.ops.aten.one_hot.default", {zeros, Value(kMax)}},
      {"torch.ops.aten.pixel_shuffle.default", {matrix, Value(kMax)}},
      {"torch.ops.aten.view_as_complex.default", {matrix}},
      {"torch.ops.aten._conj.default", {matrix}},
      {"torch.ops.aten.random.from",
       {Value(Tensor::zeros(Dtype::complex128, {2})), Value(int64_t{0}), Value()}},
      {"torch.ops.aten.fractional_max_pool2d_backward.default",
       {planes, planes, ints({1, 1}), ints({3, 3, 3, 3}),
        Value(Tensor::zeros(Dtype::int64, {1, 2, 3, 3}))}},
      {"torch.ops.aten.where.self", {zeros, matrix, matrix}}};
  for (const Case& each : cases) EXPECT_FALSE(run(each.target, each.arguments)) << each.target;
}

TEST(HostileArguments, RegionsOfNoNumbersStayInsideTheImage) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Value image(Tensor::zeros(Dtype::float32, {1, 4, 5, 5}));
  const std::array<float, 5> corners{0, kNan, kNan, 1e30f, kNan};
  const Value regions(Tensor::from<float>(Dtype::float32, {1, 5}, corners));
  for (const char* target :
       {"torch.ops.torchvision.roi_pool.default", "torch.ops.torchvision.ps_roi_pool.default"})
    EXPECT_TRUE(run(target, {image, regions, Value(1.0), Value(int64_t{2}), Value(int64_t{2})}))
        << target;
}

// Only value has a larger batch, or key and value have one while heads are shared.
TEST(HostileArguments, AttentionStaysInsideItsResult) {
  const auto attend = [](Sizes query, Sizes key, Sizes value, bool shares_heads) {
    return run("torch.ops.aten.scaled_dot_product_attention.default",
               {Value(Tensor::zeros(Dtype::float32, std::move(query))),
                Value(Tensor::zeros(Dtype::float32, std::move(key))),
                Value(Tensor::zeros(Dtype::float32, std::move(value))), Value(), Value(0.0),
                Value(false), Value(), Value(shares_heads)});
  };
  const auto wide = attend({1, 1, 2, 4}, {1, 1, 3, 4}, {5, 1, 3, 4}, false);
  ASSERT_TRUE(wide) << wide.error().text();
  EXPECT_EQ((*wide)[0].get_if<Tensor>()->sizes(), (Sizes{5, 1, 2, 4}));
  EXPECT_FALSE(attend({1, 4, 2, 4}, {5, 2, 3, 4}, {5, 2, 3, 4}, true));
  // The fused kernel, which computes float16 attention, needs four dimensions for all three
  // operands; here value has two.
  const auto halves = [](Sizes sizes) { return Value(Tensor::zeros(Dtype::float16, sizes)); };
  EXPECT_TRUE(run("torch.ops.aten.scaled_dot_product_attention.default",
                  {halves({1, 1, 5, 4}), halves({1, 1, 3, 4}), halves({3, 4}), Value(), Value(0.0),
                   Value(true), Value(), Value(false)}));
}

TEST(HostileArguments, OverflowIsDefined) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const Value smallest(scalar_tensor(kMin, Dtype::int64));
  for (const char* target : {"torch.ops.aten.neg.default", "torch.ops.aten.abs.default",
                             "torch.ops.aten.square.default"})
    EXPECT_TRUE(run(target, {smallest})) << target;
  for (const char* target :
       {"torch.ops.aten.floor_divide.default", "torch.ops.aten.remainder.Tensor",
        "torch.ops.aten.mul.Tensor", "torch.ops.aten.pow.Tensor_Tensor",
        "torch.ops.aten.bitwise_left_shift.Tensor"})
    EXPECT_TRUE(run(target, {smallest, Value(int64_t{-1})})) << target;
  // A tensor without elements may have any sizes and strides.
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Value empty(Tensor::zeros(Dtype::float32, {0}).with_view({kMax, 0}, {3, 1}, 0));
  for (const int64_t start : {kMax, int64_t{1}})
    EXPECT_TRUE(run("torch.ops.aten.slice.Tensor", {empty, Value(int64_t{0}), Value(start)}));
  EXPECT_TRUE(run("torch.ops.aten.select.int", {empty, Value(int64_t{0}), Value(kMax - 1)}));
  EXPECT_TRUE(run("torch.ops.aten.unsqueeze.default", {empty, Value(int64_t{0})}));
}

}  // namespace
}  // namespace pt2::ops
