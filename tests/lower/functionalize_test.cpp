// Functionalization: programs that write to memory are converted for a release without in-place
// operators. Both forms give the same results and leave the same values in the inputs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "package/saved.h"
#include "pt2/conversion.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/program_text.h"
#include "pt2/model.h"

namespace pt2 {
namespace {

using test::saved;

// Returns a program with the inputs f32[4, 6] and i64[4], and the given nodes.
Package program_of(std::string_view nodes) {
  const std::string text = fmt::format(R"(program schema 8.20 {{
    torch "2.15.0"
    dialect "TRAINING"
    opset aten 10
    graph(%x: f32[4, 6], %n: i64[4]) {{
      {}
    }}
  }})",
                                       nodes);
  std::vector<Error> errors;
  const Result<Program> program = parse_program(text, "case", errors);
  EXPECT_TRUE(program) << errors[0].text() << text;
  return saved({.programs = {{.json = program_json(*program)}}});
}

Conversion for_2_3(const Package& package) {
  return convert(package, {.target = conversion_target("2.3").value()}).value();
}

std::string text_of(const Tensor& tensor) {
  const Tensor packed = tensor.contiguous();
  return tensor.type_text() + std::string(reinterpret_cast<const char*>(packed.raw_data()),
                                          static_cast<size_t>(packed.nbytes()));
}

// Returns the inputs after a call, and its results, as texts.
std::vector<std::string> after_a_call(Package package) {
  // Results are compared bit by bit, so both models must use the same kernels.
  const auto model = Model::from_package(std::make_shared<const Package>(std::move(package)),
                                         {.engine = EngineKind::reference});
  if (!model) return {model.error().text()};
  std::vector<float> x(24);
  std::iota(x.begin(), x.end(), -3.5F);
  const std::vector<int64_t> n = {3, 1, 0, 2};
  std::vector<Value> inputs = {
      Value(Tensor::from<float>(Dtype::float32, {4, 6}, std::span<const float>(x))),
      Value(Tensor::from<int64_t>(Dtype::int64, {4}, std::span<const int64_t>(n)))};
  Session session(*model);
  const auto results = session.run(inputs);
  EXPECT_TRUE(results) << results.error().text();
  std::vector<std::string> out;
  for (const std::vector<Value>& values : {inputs, *results})
    for (const Value& value : values) out.push_back(text_of(*value.get_if<Tensor>()));
  return out;
}

class Functional : public testing::TestWithParam<std::string_view> {};

constexpr std::string_view kCases[] = {
    // A write to a whole tensor.
    R"(%a: f32[4, 6] = aten.add_.Tensor(self=%x, other=%x)
       %b: f32[4, 6] = aten.mul.Tensor(self=%x, other=%a)
       return %b, %x, %a)",
    // One tensor under three names.
    R"(%a: f32[4, 6] = aten.add_.Tensor(self=%x, other=1)
       %b: f32[4, 6] = aten.relu_.default(self=%a)
       %d: f32[4, 6] = aten.detach_.default(self=%b)
       %c: f32[4, 6] = aten.mul_.Tensor(self=%x, other=2)
       %e: f32[4, 6] = aten.sub.Tensor(self=%d, other=3)
       return %a, %b, %e)",
    // A copy made before a write must not change.
    R"(%c: f32[4, 6] = aten.clone.default(self=%x)
       %m: f32[4, 6] = aten.mul.Tensor(self=%c, other=2)
       %z: f32[4, 6] = aten.zero_.default(self=%c)
       return %c, %m)",
    // Views of views; other views of the same base must see the write.
    R"(%c: f32[4, 6] = aten.clone.default(self=%x)
       %v: f32[2, 12] = aten.view.default(self=%c, size=[2, 12])
       %t: f32[12, 2] strides=[1, 12] = aten.transpose.int(self=%v, dim0=0, dim1=1)
       %s: f32[2] strides=[12] storage_offset=[3] = aten.select.int(self=%t, dim=0, index=3)
       %other: f32[4] strides=[6] storage_offset=[3] = aten.select.int(self=%c, dim=1, index=3)
       %w: f32[2] strides=[12] storage_offset=[3] = aten.fill_.Scalar(self=%s, value=7)
       return %c, %v, %t, %s, %other, %w)",
    R"(%c: f32[4, 6] = aten.clone.default(self=%x)
       %s: f32[4, 2] strides=[6, 1] storage_offset=[1] = aten.slice.Tensor(self=%c, dim=1, start=1, end=5, step=2)
       %w: f32[4, 2] strides=[6, 1] storage_offset=[1] = aten.neg_.default(self=%s)
       %d: f32[4] strides=[7] storage_offset=[1] = aten.diagonal.default(self=%c, offset=1)
       %e: f32[4] strides=[7] storage_offset=[1] = aten.mul_.Tensor(self=%d, other=3)
       %k: f32[4, 2] strides=[6, 1] storage_offset=[2] = aten.narrow.default(self=%c, dim=-1, start=2, length=2)
       %l: f32[4, 2] strides=[6, 1] storage_offset=[2] = aten.add_.Tensor(self=%k, other=1)
       return %c, %s, %d)",
    R"(%p: f32[6, 4] strides=[1, 6] = aten.permute.default(self=%x, dims=[1, -2])
       %a: f32[6, 4] strides=[1, 6] = aten.add_.Tensor(self=%p, other=%n)
       %u: f32[1, 4, 6] = aten.unsqueeze.default(self=%x, dim=0)
       %m: f32[4, 6, 1] strides=[6, 1, 24] = aten.movedim.intlist(self=%u, source=[0], destination=[2])
       %z: f32[4, 6, 1] strides=[6, 1, 24] = aten.exp_.default(self=%m)
       return %p, %m)",
    // Results that consist of several views.
    R"(%c: f32[4, 6] = aten.clone.default(self=%x)
       [%a: f32[4, 4] strides=[6, 1], %b: f32[4, 2] strides=[6, 1] storage_offset=[4]] = aten.split.Tensor(self=%c, split_size=4, dim=1)
       [%q: f32[6], %r: f32[6] storage_offset=[6], %s: f32[6] storage_offset=[12], %t: f32[6] storage_offset=[18]] = aten.unbind.int(self=%c)
       %w: f32[4, 2] strides=[6, 1] storage_offset=[4] = aten.relu_.default(self=%b)
       %y: f32[6] storage_offset=[12] = aten.copy_.default(self=%s, src=%q)
       return %a, %b, %c, %s, %t)",
    // The functional scatter gives a contiguous tensor, for which this view is impossible.
    R"(%c: f32[4, 6] = aten.clone.default(self=%x)
       %t: f32[6, 4] strides=[1, 6] = aten.t.default(self=%c)
       %i: i64[1, 4] = aten.unsqueeze.default(self=%n, dim=0)
       %w: f32[6, 4] strides=[1, 6] = aten.scatter_.value(self=%t, dim=0, index=%i, value=3)
       %u: f32[4, 6] = aten.t.default(self=%t)
       %v: f32[24] = aten.view.default(self=%u, size=[24])
       return %v)",
    // A write to the base of expanded views.
    R"(%c: f32[4, 6] = aten.clone.default(self=%x)
       %e: f32[2, 4, 6] strides=[0, 6, 1] = aten.expand.default(self=%c, size=[2, 4, 6])
       %w: f32[4, 6] = aten.sub_.Tensor(self=%c, other=1)
       return %e)",
    // Operators that return their argument or a copy of it, depending on the call.
    R"(%c: f32[4, 6] = aten.clone.default(self=%x)
       %same: f32[4, 6] = aten.to.dtype(self=%c, dtype=f32)
       %half: f64[4, 6] = aten.to.dtype(self=%c, dtype=f64)
       %drop: f32[4, 6] = aten.dropout.default(input=%c, p=0.5, train=false)
       %t: f32[6, 4] strides=[1, 6] = aten.t.default(self=%c)
       %r: f32[24] = aten.reshape.default(self=%t, shape=[24])
       %v: f32[24] = aten.reshape.default(self=%c, shape=[24])
       %w: f32[4, 6] = aten.add_.Tensor(self=%c, other=1)
       %y: f32[24] = aten.mul_.Tensor(self=%v, other=2)
       return %same, %half, %drop, %r, %v)",
    // The written memory keeps its dtype.
    R"(%g: f32[4, 6] = aten.gt_.Scalar(self=%x, other=0)
       %d: f64[4, 6] = aten.to.dtype(self=%x, dtype=f64)
       %m: f32[4, 6] = aten.mul_.Tensor(self=%x, other=%d)
       %e: i64[4] = aten.eq_.Scalar(self=%n, other=1)
       return %g, %m)",
    R"(%p: f32[4, 6] = aten.pow_.Scalar(self=%x, exponent=2)
       return %p)",
    // A region without gradients that writes to its operand, nested in a region with gradients.
    R"(%r: f32[4, 6] = higher_order.wrap_with_set_grad_enabled(true, graph outer(%y: f32[4, 6]) {
         %s: f32[4, 6] = higher_order.wrap_with_set_grad_enabled(false, graph inner(%z: f32[4, 6]) {
           %w: f32[4, 6] = aten.mul_.Tensor(self=%z, other=2)
           return %w
         }, %y) is_hop_single_tensor_return=false
         %t: f32[4, 6] = aten.add_.Tensor(self=%s, other=1)
         return %t
       }, %x) is_hop_single_tensor_return=false
       %u: f32[4, 6] = aten.neg.default(self=%r)
       return %u, %x)",
    // A nested graph that writes to its own memory.
    R"(%m: f32[] = aten.sum.default(self=%x)
       %p: bool[] = aten.gt.Scalar(self=%m, other=0)
       %r: f32[4, 6] = higher_order.cond(%p, graph yes(%y: f32[4, 6]) {
         %c: f32[4, 6] = aten.clone.default(self=%y)
         %s: f32[6] = aten.select.int(self=%c, dim=0, index=0)
         %z: f32[6] = aten.zero_.default(self=%s)
         return %c
       }, graph no(%y: f32[4, 6]) {
         %n: f32[4, 6] = aten.neg.default(self=%y)
         return %n
       }, [%x]) is_hop_single_tensor_return=false
       %u: f32[4, 6] = aten.exp_.default(self=%x)
       return %r)",
    // Nothing reads the written memory.
    R"(%c: f32[4, 6] = aten.clone.default(self=%x)
       %s: f32[6] = aten.select.int(self=%c, dim=0, index=0)
       %w: f32[6] = aten.zero_.default(self=%s)
       return %x)",
};

TEST_P(Functional, GivesTheSame) {
  const Package package = program_of(GetParam());
  const Conversion conversion = for_2_3(package);
  for (const Blocker& blocker : conversion.blockers) ADD_FAILURE() << blocker.line();
  const Package functional = saved(conversion.contents);
  EXPECT_EQ((*functional.program())->dialect(), "ATEN");
  for (const NodeId id : (*functional.program())->graph.nodes())
    EXPECT_EQ((*functional.program())->graph.node(id).target.find("_."), std::string::npos);
  EXPECT_EQ(after_a_call(package), after_a_call(functional));
}
INSTANTIATE_TEST_SUITE_P(Functionalize, Functional, testing::ValuesIn(kCases));

std::string blockers_of(std::string_view nodes) {
  std::string lines;
  for (const Blocker& blocker : for_2_3(program_of(nodes)).blockers) lines += blocker.line() + "\n";
  return lines;
}

TEST(Functionalize, NamesWhatHasNoOtherForm) {
  EXPECT_EQ(
      blockers_of(
          R"(%e: f32[2, 4, 6] strides=[0, 6, 1] = aten.expand.default(self=%x, size=[2, 4, 6])
                           %w: f32[2, 4, 6] strides=[0, 6, 1] = aten.zero_.default(self=%e)
                           return %x)"),
      "dialect: %w (torch.ops.aten.zero_.default): torch.ops.aten.zero_.default writes through "
      "torch.ops.aten.expand.default, which no operator does; needs PyTorch 2.5 or later\n");
  EXPECT_EQ(
      blockers_of(R"(%e: f32[4] = aten.as_strided.default(self=%x, size=[4], stride=[1])
                           %w: f32[4, 6] = aten.zero_.default(self=%x)
                           return %e)"),
      "dialect: %w (torch.ops.aten.zero_.default): torch.ops.aten.zero_.default writes to memory "
      "that a result of torch.ops.aten.as_strided.default may share; needs PyTorch 2.5 or later\n");
  // Functionalization replaces the written slice by a new tensor, which has other strides.
  EXPECT_EQ(blockers_of(
                R"(%s: f32[4, 2] strides=[6, 1] = aten.slice.Tensor(self=%x, dim=1, start=0, end=2)
                           %w: f32[4, 2] strides=[6, 1] = aten.zero_.default(self=%s)
                           %e: f32[2] strides=[6] = aten.as_strided.default(self=%s, size=[2], stride=[6])
                           return %e)"),
            "dialect: %e (torch.ops.aten.as_strided.default): torch.ops.aten.as_strided.default "
            "depends on "
            "the strides of memory that was written to before; needs PyTorch 2.5 or later\n");
  // Two results of a nested graph share memory.
  EXPECT_EQ(
      blockers_of(R"(%p: bool[] = aten.any.default(self=%n)
                     %a: f32[4, 6], %b: f32[24] = higher_order.cond(%p, graph yes(%x: f32[4, 6]) {
                       %y: f32[4, 6] = aten.sin.default(self=%x)
                       %v: f32[24] = aten.view.default(self=%y, size=[24])
                       return %y, %v
                     }, graph no(%x: f32[4, 6]) {
                       %y: f32[4, 6] = aten.cos.default(self=%x)
                       %v: f32[24] = aten.view.default(self=%y, size=[24])
                       return %y, %v
                     }, [%x])
                     %w: f32[4, 6] = aten.zero_.default(self=%a)
                     return %b)"),
      "dialect: %w (torch.ops.aten.zero_.default): torch.ops.aten.zero_.default writes to memory "
      "that a result of torch.ops.higher_order.cond may share; needs PyTorch 2.5 or later\n");
  EXPECT_EQ(blockers_of(R"(%w: f32[6, 4] = aten.resize_.default(self=%x, size=[6, 4])
                           return %w)"),
            "dialect: %w (torch.ops.aten.resize_.default): torch.ops.aten.resize_.default writes, "
            "and no operator computes what it does; needs PyTorch 2.5 or later\n");
  // The out form writes to its outs. The row's fact about running statistics holds only for the
  // form without outs.
  EXPECT_EQ(
      blockers_of(
          R"(%o: f32[4, 6] = aten.sin.default(self=%x)
                   %s: f32[6] = aten.sum.dim_IntList(self=%x, dim=[0])
                   %t: f32[6] = aten.sum.dim_IntList(self=%x, dim=[0])
                   %a: f32[4, 6], %b: f32[6], %c: f32[6] = aten.native_batch_norm.out(input=%x, weight=none, bias=none, running_mean=none, running_var=none, training=true, momentum=0.1, eps=1e-05, out=%o, save_mean=%s, save_invstd=%t)
                   return %a)"),
      "dialect: %a (torch.ops.aten.native_batch_norm.out): torch.ops.aten.native_batch_norm.out "
      "writes, and no operator computes what it does; needs PyTorch 2.5 or later\n");
}

// Each write is repeated for 60 views.
TEST(Functionalize, AddsNodesWithinALimit) {
  const auto with_writes = [](size_t count) {
    std::string nodes = "%v0: f32[4, 6] = aten.sin.default(self=%x)\n";
    for (size_t i = 1; i <= 60; ++i)
      nodes +=
          fmt::format("%v{}: f32[4, 6] = aten.view.default(self=%v{}, size=[4, 6])\n", i, i - 1);
    for (size_t i = 0; i < count; ++i)
      nodes += fmt::format("%w{}: f32[4, 6] = aten.neg_.default(self=%v{})\n", i, i % 2 * 60);
    return nodes + "return %v60";
  };
  EXPECT_EQ(blockers_of(with_writes(10)), "");
  const std::string blockers = blockers_of(with_writes(2'000));
  EXPECT_NE(blockers.find("more writes through views than 100000 nodes can do"), std::string::npos);
  EXPECT_EQ(std::ranges::count(blockers, '\n'), 1);
  const Conversion bounded =
      convert(program_of(with_writes(10)),
              {.target = conversion_target("2.3").value(), .limits = {.max_new_nodes = 100}})
          .value();
  ASSERT_EQ(bounded.blockers.size(), 1u);
  EXPECT_NE(bounded.blockers[0].text.find("than 100 nodes can do"), std::string::npos);
}

}  // namespace
}  // namespace pt2
