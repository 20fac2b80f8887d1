// Operators of packages other than PyTorch, compared with results of torchao 0.18 and with results
// computed by hand (torchaudio's loop, executorch's quantized levels, torch.nn's loss).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ops/listed_calls.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

template <class T>
std::vector<T> tensor_elements(const Value& value) {
  const auto range = value.get_if<Tensor>()->elements<T>();
  return {range.begin(), range.end()};
}

const char* const kChoose = "torch.ops.torchao.choose_qparams_affine.default";
const char* const kQuantize = "torch.ops.torchao.quantize_affine.default";
const char* const kDequantize = "torch.ops.torchao.dequantize_affine.default";
using Floats = std::vector<float>;
using Levels = std::vector<int8_t>;

struct Mapping {
  const char* name;
  Floats scales;
  Levels quantized;
  Floats values;
};
const Mapping kMappings[] = {
    {"SYMMETRIC",
     {0.007843137718737125f, 0.0235294122248888f, 0.0313725508749485f, 0.054901961237192154f},
     {-127, 64, 85, 127, 8, -127, 18, 127},
     {-0.9960784912109375f, 0.501960813999176f, 2.0f, 2.9882352352142334f, 0.250980406999588f,
      -3.98431396484375f, 0.9882352948188782f, 6.972548961639404f}},
    {"ASYMMETRIC",
     {0.0058823530562222f, 0.0117647061124444f, 0.01666666753590107f, 0.027450980618596077f},
     {-128, 127, 42, 127, 127, -128, -92, 127},
     {-1.0f, 0.5f, 2.0f, 3.0f, 0.25f, -4.0f, 0.9882352948188782f, 7.0f}},
    {"SYMMETRIC_NO_CLIPPING_ERR",
     {0.0078125f, 0.023622047156095505f, 0.03125f, 0.05511811003088951f},
     {-128, 64, 85, 127, 8, -128, 18, 127},
     {-1.0f, 0.5f, 2.007874011993408f, 3.0f, 0.25f, -4.0f, 0.9921259880065918f, 7.0f}},
};

Value turned(const Value& tensor) { return run("torch.ops.aten.t.default", {tensor}).value()[0]; }

// Another loop computes blocks whose elements are adjacent in memory.
TEST(Torchao, BlocksAreThoseOfTheTurnedTensor) {
  std::vector<float> numbers;
  for (int i = 0; i < 6 * 64; ++i) numbers.push_back(0.37f * static_cast<float>(i * i % 113 - 50));
  numbers[5] = NAN;
  numbers[70] = INFINITY;
  const Value x = Tensor::from<float>(Dtype::float32, {6, 64}, std::span<const float>(numbers));
  const Value along = Value::List{int64_t{1}, int64_t{32}},
              across = Value::List{int64_t{32}, int64_t{1}};
  for (const Dtype dtype : {Dtype::int8, Dtype::uint8}) {
    const Tensor scale = Tensor::of<float>(
        {6, 2}, {0.1f, 0.2f, 0.3f, 0.015f, 1.0f, 3.0f, 0.1f, 0.2f, 0.3f, 0.015f, 1.0f, 3.0f});
    const Tensor zero = Tensor::of<int32_t>({6, 2}, {3, 4, -5, 6, 0, 100, 3, 4, -5, 6, 0, 100});
    const auto quantized = run(kQuantize, {x, along, scale, zero, dtype}).value();
    const auto other =
        run(kQuantize, {turned(x), across, turned(scale), turned(zero), dtype}).value();
    const Tensor levels = quantized[0].get_if<Tensor>()->contiguous(),
                 expected = turned(other[0]).get_if<Tensor>()->contiguous();
    ASSERT_EQ(levels.sizes(), expected.sizes());
    EXPECT_EQ(
        std::memcmp(levels.raw_data(), expected.raw_data(), static_cast<size_t>(levels.nbytes())),
        0);
    const auto values = run(kDequantize, {quantized[0], along, scale, zero, dtype}).value();
    const auto back =
        run(kDequantize, {other[0], across, turned(scale), turned(zero), dtype}).value();
    EXPECT_EQ(tensor_elements<float>(values[0]),
              tensor_elements<float>(turned(back[0]).get_if<Tensor>()->contiguous()));
  }
}

TEST(Torchao, QuantizesByBlocks) {
  const Tensor x = Tensor::of<float>({2, 4}, {-1, 0.5, 2, 3, 0.25, -4, 1, 7});
  const Value block = Value::List{int64_t{1}, int64_t{2}};
  for (const Mapping& mapping : kMappings) {
    SCOPED_TRACE(mapping.name);
    const auto chosen = run(kChoose, {x, mapping.name, block, Dtype::int8});
    ASSERT_TRUE(chosen) << chosen.error().text();
    EXPECT_EQ(tensor_elements<float>((*chosen)[0]), mapping.scales);
    const auto quantized = run(kQuantize, {x, block, (*chosen)[0], (*chosen)[1], Dtype::int8});
    ASSERT_TRUE(quantized) << quantized.error().text();
    EXPECT_EQ(tensor_elements<int8_t>((*quantized)[0]), mapping.quantized);
    const auto values =
        run(kDequantize, {(*quantized)[0], block, (*chosen)[0], (*chosen)[1], Dtype::int8});
    ASSERT_TRUE(values) << values.error().text();
    EXPECT_EQ(tensor_elements<float>((*values)[0]), mapping.values);
  }
}

const char* const kChooseFloat8 = "torch.ops.torchao.choose_scale_float8.default";
const char* const kToFloat8 = "torch.ops.torchao.quantize_affine_float8_non_decomposed.default";
const char* const kFromFloat8 = "torch.ops.torchao.dequantize_affine_float8_non_decomposed.default";

Tensor two_rows() {
  return Tensor::of<float>({2, 8}, {-1, 0.5, 2, 3, 0.25, -4, 1, 7, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST(Torchao, ChoosesScalesOfFloat8) {
  const Tensor x = two_rows();
  const auto scales = [&](std::vector<int64_t> block, std::vector<Value> others) {
    std::vector<Value> arguments = {x, Value(Value::List(block.begin(), block.end()))};
    arguments.insert(arguments.end(), others.begin(), others.end());
    const auto chosen = run(kChooseFloat8, arguments);
    EXPECT_TRUE(chosen) << chosen.error().text();
    return chosen ? tensor_elements<float>(chosen->at(0)) : Floats();
  };
  EXPECT_EQ(scales({1, 4}, {}), (Floats{0.0066964286379516125f, 0.015625f, 0.008928571827709675f,
                                        0.01785714365541935f}));
  EXPECT_EQ(scales({2, 8}, {Dtype::float8_e5m2, Dtype::float32, 0.5, 2.0}),
            (Floats{3.487723370199092e-05f}));
  EXPECT_EQ(scales({1, 2}, {Dtype::float8_e4m3fnuz, Dtype::float8_e8m0fnu}),
            (Floats{0.00390625f, 0.015625f, 0.015625f, 0.03125f, 0.0078125f, 0.015625f, 0.03125f,
                    0.03125f}));
  const Value block = Value::List{int64_t{1}, int64_t{4}};
  EXPECT_FALSE(run(kChooseFloat8, {x, block, Dtype::int8}));
  EXPECT_FALSE(run(kChooseFloat8, {x, block, Dtype::float8_e5m2, Dtype::float64}));
}

TEST(Torchao, QuantizesToFloat8ByBlocks) {
  const auto there_and_back = [](const Tensor& values, const Tensor& scale, Dtype dtype) {
    const auto levels = run(kToFloat8, {values, scale, dtype}).value();
    EXPECT_EQ(levels[0].get_if<Tensor>()->dtype(), dtype);
    return tensor_elements<float>(run(kFromFloat8, {levels[0], scale}).value()[0]);
  };
  const Tensor x = two_rows();
  const auto tripled = run("torch.ops.aten.mul.Tensor", {x, Tensor::of<float>({1}, {3})}).value();
  // Elements above 448 times their block's scale become that bound.
  const Tensor scales =
      *run(kChooseFloat8, {x, Value::List{int64_t{1}, int64_t{4}}}).value()[0].get_if<Tensor>();
  EXPECT_EQ(there_and_back(*tripled[0].get_if<Tensor>(), scales, Dtype::float8_e4m3fn),
            (Floats{-3, 1.5, 3, 3, 0.75, -7, 3, 7, 2.857142925262451f, 4, 4, 4, 8, 8, 8, 8}));
  const Tensor one = Tensor::of<float>({1, 1}, {3.487723370199092e-05f});
  EXPECT_EQ(there_and_back(x, one, Dtype::float8_e5m2),
            (Floats{-1, 0.5, 2, 2, 0.25, -2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2}));
  EXPECT_FALSE(run(kToFloat8, {x, Tensor::of<float>({2, 3}, {1, 1, 1, 1, 1, 1})}));
  EXPECT_FALSE(run(kToFloat8, {x, Tensor::zeros(Dtype::float32, {2, 0})}));
}

TEST(Torchao, RefusesBlocksThatDoNotFit) {
  const Tensor x = Tensor::of<float>({2, 4}, {-1, 0.5, 2, 3, 0.25, -4, 1, 7});
  const Tensor one = Tensor::of<float>({1}, {1});
  for (const Value::List& block : {Value::List{int64_t{1}}, Value::List{int64_t{1}, int64_t{3}}})
    EXPECT_FALSE(run(kQuantize, {x, block, one, one, Dtype::int8}));
  EXPECT_FALSE(run(kChoose, {x, "ODD", Value::List{int64_t{1}, int64_t{2}}, Dtype::int8}));
}

TEST(Torchaudio, FiltersEachChannel) {
  const Tensor windows = Tensor::of<float>({1, 2, 3}, {1, 2, 3, 1, 1, 1});
  const Tensor coefficients = Tensor::of<float>({2, 2}, {0.5, 1, -1, 1});
  Tensor waveform = Tensor::zeros(Dtype::float32, {1, 2, 4});
  const char* const target = "torch.ops.torchaudio._lfilter_core_loop.default";
  const auto done = run(target, {windows, coefficients, waveform});
  ASSERT_TRUE(done) << done.error().text();
  // The first row is 1, 2 - 0.5 * 1, 3 - 0.5 * 1.5; the second one holds sums.
  EXPECT_EQ(tensor_elements<float>(Value(waveform)), (Floats{0, 1, 1.5, 2.25, 0, 1, 2, 3}));
  EXPECT_EQ(tensor_elements<float>(done->at(0)), tensor_elements<float>(Value(waveform)));
  const Tensor other = Tensor::zeros(Dtype::float32, {1, 2, 3});
  EXPECT_FALSE(run(target, {windows, coefficients, other}));
  // The rule refuses it too: edits of sizes ask the rule alone.
  const Operator op = find_operator(target);
  EXPECT_TRUE(op.def->infer(std::vector<Value>{windows, coefficients, waveform}));
  EXPECT_FALSE(op.def->infer(std::vector<Value>{windows, coefficients, other}));
}

TEST(Torchaudio, OverdriveKeepsTheLastOfEachRow) {
  const Tensor waveform = Tensor::of<float>({2, 2}, {4, 8, 0, 0}),
               temp = Tensor::of<float>({2, 2}, {1, 3, 0, -2});
  Tensor last_in = Tensor::of<float>({2}, {0, 1}), last_out = Tensor::of<float>({2}, {0, 0});
  Tensor output = Tensor::zeros(Dtype::float32, {2, 2});
  const char* const target = "torch.ops.torchaudio._overdrive_core_loop.default";
  const auto done = run(target, {waveform, temp, last_in, last_out, output});
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(tensor_elements<float>(Value(last_in)), (Floats{3, -2}));
  // First row: 1 - 0, then 3 - 1 + 0.995 * 1. Second row: 0 - 1, then -2 - 0 + 0.995 * -1.
  EXPECT_EQ(tensor_elements<float>(Value(last_out)), (Floats{2.995f, -2.995f}));
  EXPECT_EQ(tensor_elements<float>(Value(output)), (Floats{2.75, 6.24625f, -0.75, -2.24625f}));
  EXPECT_EQ(tensor_elements<float>(done->at(2)), tensor_elements<float>(Value(output)));
  const std::vector<Value> wrong{waveform, temp, last_in, Tensor::zeros(Dtype::float32, {3}),
                                 output};
  EXPECT_FALSE(run(target, wrong));
  EXPECT_FALSE(find_operator(target).def->infer(wrong));
}

const char* const kFourBits = "torch.ops.quantized_decomposed.embedding_4bit.default";
const char* const kTwoBits = "torch.ops.quantized_decomposed.embedding_2bit.default";

TEST(Executorch, UnpacksTheRowsThatAreLookedUp) {
  const Tensor weight = Tensor::of<uint8_t>({2, 1}, {0, 0xe4}),
               rows = Tensor::of<int64_t>({1}, {1});
  const Tensor scales = Tensor::of<float>({2, 2}, {9, 9, 0.5, 2}),
               zeros = Tensor::of<float>({2, 2}, {9, 9, 1, 0});
  // The levels are 0, 1, 2, 3, from the lowest bits up; the offset is -2.
  const auto twos = run(kTwoBits, {weight, scales, zeros, -2, 1, rows});
  ASSERT_TRUE(twos) << twos.error().text();
  EXPECT_EQ(tensor_elements<float>((*twos)[0]), (Floats{-1.5, -1, 0, 2}));
  // The levels are 14 and 4; the offset is -8.
  const auto fours =
      run(kFourBits, {weight, Tensor::of<float>({2}, {9, 0.5}), Value(), -8, 7, rows});
  ASSERT_TRUE(fours) << fours.error().text();
  EXPECT_EQ(tensor_elements<float>((*fours)[0]), (Floats{3, -2}));
}

TEST(Executorch, RefusesColumnsThatAreTooMany) {
  const Tensor weight = Tensor::zeros(Dtype::uint8, {0, int64_t{1} << 61}),
               none = Tensor::zeros(Dtype::float32, {0}), rows = Tensor::zeros(Dtype::int64, {0});
  EXPECT_FALSE(run(kTwoBits, {weight, none, Value(), -2, 1, rows}));
  // A column count of 2^40 is also refused if all columns are views of one byte.
  const Tensor row = Tensor::zeros(Dtype::uint8, {1}).with_view({1, int64_t{1} << 40}, {0, 0}, 0);
  EXPECT_FALSE(run(kTwoBits, {row, Tensor::zeros(Dtype::float32, {1}), Value(), -2, 1,
                              Tensor::zeros(Dtype::int64, {1})}));
}

// The number of chunks is bounded even if the call asks for one chunk per row, and the size of
// chunks does not change the loss.
TEST(TorchNn, HasNoMoreChunksThanItNeeds) {
  const int64_t rows = int64_t{1} << 16;
  const Tensor row = Tensor::of<float>({1, 2}, {1, 2}).with_view({rows, 2}, {0, 1}, 0),
               matrix = Tensor::of<float>({2, 2}, {1, 0, 0, 1}),
               target = Tensor::of<int64_t>({1}, {1}).with_view({rows}, {0}, 0);
  const auto loss = [&](int64_t chunk) {
    return run("torch.ops.torch_nn._linear_cross_entropy_batch_chunked.default",
               {row, matrix, target, Value(), Value(), std::string("mean"), int64_t{-100}, 0.0,
                chunk, std::string("compact"), Dtype::float32, true, false, true, false});
  };
  const auto one = loss(1), all = loss(rows);
  ASSERT_TRUE(one && all);
  // The loss is log(1 + exp(-1)).
  EXPECT_NEAR(tensor_elements<float>((*one)[0])[0], 0.31326, 1e-4);
  EXPECT_NEAR(tensor_elements<float>((*all)[0])[0], 0.31326, 1e-4);
}

}  // namespace
}  // namespace pt2::ops
