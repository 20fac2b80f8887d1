#include "ops/listed_calls.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>

#include "ops/bind.h"
#include "ops/loops.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

using Listed = std::multimap<std::string, std::vector<Value>>;

Value zeros(const Sizes& sizes, Dtype dtype = Dtype::int64) {
  return Value(Tensor::zeros(dtype, sizes));
}

Value indices(std::initializer_list<int64_t> numbers) {
  return Value(Tensor::of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers));
}

Value packed_linear(Value weight) {
  return Value(std::make_shared<const ScriptObject>(
      ScriptObject{"__torch__.torch.classes.quantized.LinearPackedParamsBase",
                   Value(Value::List{std::move(weight), Value()})}));
}

void add_convolutions(Listed& out) {
  const Value none, one = ints({1, 1}), none_2 = ints({0, 0}), plane = counted({1, 2, 4, 4});
  out.insert({"aten._conv_depthwise2d.default",
              {plane, counted({2, 1, 2, 2}), ints({2, 2}), none, one, none_2, one}});
  const std::vector<Value> of_11{
      plane, counted({2, 2, 2, 2}), none, one, none_2, one, false, none_2, 1, false, false, false};
  out.insert({"aten._convolution.deprecated", of_11});
  std::vector<Value> of_12 = of_11;
  of_12.emplace_back(false);
  out.insert({"aten._convolution.default", of_12});
  out.insert({"aten.convolution.default",
              {counted({1, 2, 4}), counted({2, 1, 4}), none, ints({INT64_MAX}), ints({3}),
               ints({2}), false, ints({0}), 2}});
  const Value space = counted({1, 2, 3, 3, 3}), one_3 = ints({1, 1, 1});
  out.insert({"aten.conv3d.default", {space, counted({2, 2, 2, 2, 2})}});
  out.insert(
      {"aten.conv_depthwise3d.default",
       {space, counted({2, 1, 2, 2, 2}), ints({2, 2, 2}), none, one_3, ints({0, 0, 0}), one_3}});
}

void add_products(Listed& out) {
  const Value a = counted({2, 3}, Dtype::bfloat16), b = counted({3, 4}, Dtype::bfloat16);
  const Value as = counted({1, 2, 3}, Dtype::float16), bs = counted({1, 3, 4}, Dtype::float16);
  out.insert({"aten.mm.dtype", {a, b, Dtype::float32}});
  out.insert({"aten.mm.dtype", {a, b, Dtype::bfloat16}});
  out.insert({"aten.bmm.dtype", {as, bs, Dtype::float32}});
  out.insert({"aten.addmm.dtype", {counted({4}), a, b, Dtype::float32, 2, 0.5}});
  out.insert({"aten.baddbmm.dtype", {counted({2, 4}), as, bs, Dtype::float32}});
}

void add_losses(Listed& out) {
  const Value probabilities = counted({4, 1, 3}), targets = indices({1, 2});
  for (const char* target : {"aten._ctc_loss.default", "aten.ctc_loss.IntList"})
    out.insert({target, {probabilities, targets, ints({4}), ints({2})}});
  for (const char* target : {"aten._ctc_loss.Tensor", "aten.ctc_loss.Tensor"})
    out.insert({target, {probabilities, targets, indices({4}), indices({2})}});
  out.insert({"aten.multi_margin_loss.default", {counted({2, 3}), indices({0, 2})}});
}

void add_gradients(Listed& out) {
  out.insert({"aten.trace_backward.default", {counted({}), ints({2, 3})}});
  out.insert(
      {"aten.index_select_backward.default", {counted({2, 3}), ints({4, 3}), 0, indices({3, 1})}});
  out.insert({"aten._embedding_bag_dense_backward.default",
              {counted({2, 3}), indices({0, 1, 1}), indices({0, 0, 1}), indices({2, 1}), zeros({0}),
               4, false, 0, Value()}});
  out.insert({"aten._upsample_bicubic2d_aa_backward.default",
              {counted({1, 1, 2, 2}), ints({2, 2}), ints({1, 1, 4, 4}), false}});
  const Value rows = counted({3, 2}), experts = counted({2, 2, 4}), ends = indices({1, 3});
  out.insert({"transformers.grouped_mm_fallback.default", {rows, experts, ends}});
  out.insert({"transformers.grouped_mm_fallback_backward.default",
              {rows, experts, ends, counted({3, 4})}});
}

void add_indexing(Listed& out) {
  out.insert({"aten.gather.default", {counted({3}), 0, indices({2, 0})}});
  out.insert({"aten.take.default", {counted({3}), indices({2, 0})}});
  out.insert({"aten.cartesian_prod.default", {Value(Value::List{counted({2}), counted({3})})}});
  out.insert({"aten.bernoulli.Tensor",
              {counted({4}), Value(Tensor::of<float>({4}, {0.3F, 0.6F, 0.4F, 0.7F}))}});
  out.insert({"prims.as_strided.default", {counted({3}), ints({2}), ints({1}), 1}});
  out.insert({"aten.scatter.value", {counted({3}), 0, indices({1}), 7.0}});
  out.insert({"aten.masked_fill.Scalar", {counted({3}), zeros({3}, Dtype::bool_), 7.0}});
  out.insert({"aten.index_fill.int_Scalar", {counted({3}), 0, indices({1}), 7.0}});
  out.insert({"aten.where.ScalarOther", {counted({3}, Dtype::bool_), counted({3}), 7.0}});
}

void add_quantized(Listed& out) {
  const Value x = counted({2, 3}), plain = packed_linear(counted({4, 3}));
  const Value integers =
      packed_linear(Value(Value::List{counted({4, 3}, Dtype::int8), 0.5, int64_t{1}}));
  for (const char* name : {"linear_dynamic", "linear_relu_dynamic"}) {
    const std::string target = std::string("quantized.") + name;
    out.insert({target + ".default", {x, integers}});
    out.insert({target + "_fp16.default", {x, plain}});
  }
  const Value scale = counted({3}), none_yet = zeros({3}, Dtype::int32), block = ints({1, 3});
  out.insert({"aten.fake_quantize_per_channel_affine.default", {x, scale, none_yet, 1, 0, 255}});
  out.insert({"torchao.choose_qparams_affine.default",
              {x, std::string("ASYMMETRIC"), block, Dtype::int8}});
  out.insert({"torchao.dequantize_affine.default",
              {counted({2, 3}, Dtype::int8), block, counted({2}), counted({2}, Dtype::int8),
               Dtype::int8}});
  out.insert({"torchao.choose_scale_float8.default", {x, block}});
  for (const char* name : {"quantize", "dequantize"})
    out.insert({std::string("torchao.") + name + "_affine_float8_non_decomposed.default",
                {x, counted({2, 1})}});
}

void add_writing(Listed& out) {
  for (const char* name : {"dropout_", "feature_dropout_", "feature_alpha_dropout_"})
    out.insert({std::string("aten.") + name + ".default", {counted({4, 8, 2}), 0.5, true}});
  for (const bool trains : {false, true})
    out.insert(
        {"aten._native_batch_norm_legit.default",
         {counted({2, 3, 2}), Value(), Value(), counted({3}), counted({3}), trains, 0.1, 1e-5}});
  out.insert({"torchaudio._lfilter_core_loop.default",
              {counted({1, 2, 3}), counted({2, 2}), zeros({1, 2, 4}, Dtype::float32)}});
  out.insert({"torchaudio._overdrive_core_loop.default",
              {counted({2, 3}), counted({2, 3}), zeros({2}, Dtype::float32),
               zeros({2}, Dtype::float32), zeros({2, 3}, Dtype::float32)}});
  out.insert({"aten.embedding_backward.default",
              {counted({3, 2}), indices({0, 2, 0}), 4, 1, false, false}});
  const Value three = counted({3}), places = indices({2, 0, 2});
  out.insert({"aten.gather_backward.default", {three, three, 0, places, false}});
  out.insert({"aten.cummaxmin_backward.default", {three, three, places, 0}});
  for (const Value& line : {Value(counted({1})), three})
    out.insert({"aten.cumprod_backward.default", {line, line, 0, line}});
  out.insert({"aten.masked_select_backward.default",
              {counted({2}), three, Value(Tensor::of<bool>({3}, {true, false, true}))}});
  out.insert({"aten.affine_grid_generator_backward.default",
              {counted({2, 2, 3, 2}), ints({2, 1, 2, 3}), false}});
  out.insert({"aten.embedding_renorm.default", {counted({3, 2}), indices({0, 2}), 1.0, 2.0}});
  out.insert(
      {"aten._pad_packed_sequence.default", {counted({5, 2}), indices({2, 2, 1}), false, 0.0, 4}});
}

// Adds casts of tensors that already have the dtype, and of tensors that do not.
void add_casts(Listed& out) {
  using enum Dtype;
  const std::pair<const char*, Dtype> casts[] = {
      {"Byte", uint8}, {"Char", int8},    {"Short", int16},   {"Int", int32},
      {"Long", int64}, {"Half", float16}, {"Float", float32}, {"Double", float64}};
  out.insert({"aten.chalf.default", {zeros({2}, Dtype::complex32)}});
  for (const auto& [name, own] : casts)
    for (const Dtype dtype : {own, bool_})
      out.insert({std::string("aten._cast_") + name + ".default", {counted({2}, dtype)}});
}

Listed make_listed() {
  Listed out;
  add_convolutions(out);
  add_products(out);
  add_losses(out);
  add_gradients(out);
  add_indexing(out);
  add_quantized(out);
  add_writing(out);
  add_casts(out);
  return out;
}

}  // namespace

Value ints(const Sizes& numbers) { return Value(Value::List(numbers.begin(), numbers.end())); }

Tensor counted(const Sizes& sizes, Dtype dtype) {
  Tensor numbers = Tensor::zeros(Dtype::int64, sizes);
  for (int64_t i = 0; i < numbers.numel(); ++i) numbers.data<int64_t>()[i] = i + 1;
  Tensor out = Tensor::zeros(dtype, sizes);
  copy_elements(out, numbers);
  return out;
}

std::vector<std::vector<Value>> listed_calls(const std::string& target) {
  static const Listed kListed = make_listed();
  std::vector<std::vector<Value>> out;
  const auto [begin, end] = kListed.equal_range(target);
  for (auto each = begin; each != end; ++each) out.push_back(each->second);
  return out;
}

Result<std::vector<Value>> run(std::string_view target, const std::vector<Value>& arguments) {
  const Operator op = find_operator(target);
  EXPECT_TRUE(op) << target;
  PT2_TRY(const std::vector<Value> all, bind_in_order(op.signature(), arguments));
  Context context;
  return call(op, context, all);
}

}  // namespace pt2::ops
