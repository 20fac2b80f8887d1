// Functional programs whose state is large: plans write updates of a part of it in place.
#include <gtest/gtest.h>

#include <algorithm>

#include "pt2/ir/program_text.h"
#include "pt2/model.h"
#include "pt2/save.h"
#include "run/graph_maker.h"

namespace pt2 {
namespace {

using run::elements, run::floats;

constexpr int64_t kRows = 2048;  // a buffer is larger than what plans copy in each call

// A program with buffers "k" and "v" f32[2, 2048, 32] and inputs %pos i64[1] and %x f32[2, 1, 32].
std::shared_ptr<const Package> package_of(const std::string& nodes, const std::string& results) {
  std::vector<Error> errors;
  const Program program = parse_program(
                              R"(program schema 8.20 {
  torch "2.15.0"
  dialect "ATEN"
  opset aten 10
graph(%b_k: f32[2, 2048, 32] = buffer "k", %b_v: f32[2, 2048, 32] = buffer "v", %pos: i64[1], %x: f32[2, 1, 32]) {
)" + nodes + "    return " + results +
                                  "\n  }\n}\n",
                              "state", errors)
                              .value();
  PackageContents contents;
  contents.programs.resize(1);
  contents.programs[0].json = program_json(program);
  std::vector<float> start(2 * kRows * 32);
  for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(i % 97) * 0.25f;
  const Tensor state = floats({2, kRows, 32}, start);
  contents.programs[0].state_dict = std::vector<SavedTensor>{
      {.name = "k", .tensor = state}, {.name = "v", .tensor = state.clone()}};
  StringSink sink;
  EXPECT_TRUE(save_package(contents, sink));
  const auto file = std::make_shared<const std::string>(sink.take());
  return std::make_shared<const Package>(
      Package::open_bytes(std::as_bytes(std::span(*file)), file, "state.pt2").value());
}

std::vector<Value> inputs_of(int64_t position, float start) {
  std::vector<float> x(2 * 32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = start + static_cast<float>(i);
  const int64_t positions[] = {position};
  return {Value(Tensor::from<int64_t>(Dtype::int64, {1}, std::span<const int64_t>(positions))),
          Value(floats({2, 1, 32}, x))};
}

// Calls give what the reference engine gives, and earlier results do not change. Returns the
// number of steps that write in place.
size_t writes_of(const std::string& nodes, const std::string& results) {
  const auto package = package_of(nodes, results);
  const Model planned = Model::from_package(package, {.engine = EngineKind::planned}).value(),
              reference = Model::from_package(package, {.engine = EngineKind::reference}).value();
  Session fast(planned), slow(reference);
  std::vector<std::vector<Value>> found, expected;
  for (const int64_t position : {3, 5, 3, 2047}) {
    std::vector<Value> given = inputs_of(position, static_cast<float>(found.size()));
    std::vector<Value> same = given;
    found.push_back(fast.run(given).value());
    expected.push_back(slow.run(same).value());
    for (const char* name : {"k", "v"})
      EXPECT_EQ(elements(Value(*fast.state(name))), elements(Value(*slow.state(name)))) << name;
  }
  for (size_t call = 0; call < found.size(); ++call)
    for (size_t i = 0; i < found[call].size(); ++i)
      EXPECT_EQ(elements(found[call][i]), elements(expected[call][i])) << "call " << call;
  size_t count = 0;
  for (const PlannedStep& step : planned.plan())
    count += static_cast<size_t>(std::ranges::count_if(step.operators, [](const std::string& name) {
      return name.find("_.") != std::string::npos;
    }));
  return count;
}

TEST(Reinplace, UpdatesOfItsPartsAreInPlace) {
  EXPECT_EQ(
      writes_of(
          R"(    %new: f32[2, 2048, 32] = aten.index_put.default(self=%b_k, indices=[none, %pos], values=%x)
    %added: f32[2, 2048, 32] = aten.index_put.default(self=%new, indices=[none, %pos], values=%x, accumulate=true)
    %copied: f32[2, 2048, 32] = aten.index_copy.default(self=%b_v, dim=1, index=%pos, source=%x)
    %y: f32[2, 2048, 32] = aten.mul.Tensor(self=%added, other=%copied)
)",
          R"(%added -> buffer_mutation "k", %copied -> buffer_mutation "v", %y)"),
      3u);
}

TEST(Reinplace, ScattersAreCopiesToViews) {
  EXPECT_EQ(
      writes_of(R"(    %part: f32[2, 1, 32] = aten.slice.Tensor(self=%b_k, dim=1, start=7, end=8)
    %copy: f32[2, 1, 32] = aten.copy.default(self=%part, src=%x)
    %new: f32[2, 2048, 32] = aten.slice_scatter.default(self=%b_k, src=%copy, dim=1, start=7, end=8)
    %row: f32[2, 32] = aten.select.int(self=%x, dim=1, index=0)
    %other: f32[2, 2048, 32] = aten.select_scatter.default(self=%b_v, src=%row, dim=1, index=-1)
    %y: f32[2, 2048, 32] = aten.mul.Tensor(self=%new, other=%other)
)",
                R"(%new -> buffer_mutation "k", %other -> buffer_mutation "v", %y)"),
      2u);
}

// As PyTorch writes self.k[1, :, pos] = x and self.v[0] = x after run_decompositions().
TEST(Reinplace, UpdatesOfViewsAreWrittenToTheView) {
  EXPECT_EQ(writes_of(R"(    %row: f32[1, 32] = aten.select.int(self=%x, dim=0, index=0)
    %view: f32[2048, 32] = aten.select.int(self=%b_k, dim=0, index=1)
    %put: f32[2048, 32] = aten.index_put.default(self=%view, indices=[%pos], values=%row)
    %places: i64[2] = aten.arange.start_step(start=0, end=2)
    %column: i64[2, 1, 1] = aten.view.default(self=%places, size=[-1, 1, 1])
    %mask: bool[2, 1, 1] = aten.eq.Scalar(self=%column, other=1)
    %wide: f32[1, 2048, 32] = aten.unsqueeze.default(self=%put, dim=0)
    %expand: f32[2, 2048, 32] = aten.expand.default(self=%wide, size=[2, 2048, 32])
    %new: f32[2, 2048, 32] = aten.where.self(condition=%mask, self=%expand, other=%b_k)
    %old: f32[2048, 32] = aten.select.int(self=%b_v, dim=0, index=0)
    %again: f32[2048, 32] = aten.select.int(self=%b_v, dim=0, index=0)
    %line: f32[1, 32] = aten.slice.Tensor(self=%again, dim=0, start=4, end=5)
    %copy: f32[1, 32] = aten.copy.default(self=%line, src=%row)
    %part: f32[2048, 32] = aten.slice_scatter.default(self=%old, src=%copy, dim=0, start=4, end=5)
    %other: f32[2, 2048, 32] = aten.select_scatter.default(self=%b_v, src=%part, dim=0, index=0)
    %y: f32[2, 2048, 32] = aten.mul.Tensor(self=%new, other=%other)
    %z: f32[2048, 32] = aten.add.Tensor(self=%put, other=%part)
)",
                      R"(%new -> buffer_mutation "k", %other -> buffer_mutation "v", %y, %z)"),
            2u);
}

// The first layer's keys are read after the second layer's are written, and the other way round.
TEST(Reinplace, PartsThatAreReadLaterStay) {
  const std::string nodes = R"(    %row: f32[1, 32] = aten.select.int(self=%x, dim=0, index=0)
    %view: f32[2048, 32] = aten.select.int(self=%b_k, dim=0, index=1)
    %put: f32[2048, 32] = aten.index_put.default(self=%view, indices=[%pos], values=%row)
    %new: f32[2, 2048, 32] = aten.select_scatter.default(self=%b_k, src=%put, dim=0, index=1)
)",
                    again = R"(    %view_1: f32[2048, 32] = aten.select.int(self=%new, dim=0, index=1)
    %put_1: f32[2048, 32] = aten.index_put.default(self=%view_1, indices=[%pos], values=%row, accumulate=true)
    %last: f32[2, 2048, 32] = aten.select_scatter.default(self=%new, src=%put_1, dim=0, index=1)
)",
                    read = "    %y: f32[2048, 32] = aten.neg.default(self=%put)\n";
  EXPECT_EQ(writes_of(nodes + read + again, R"(%last -> buffer_mutation "k", %y)"), 2u);
  EXPECT_EQ(writes_of(nodes + again + read, R"(%last -> buffer_mutation "k", %y)"), 0u);
  EXPECT_EQ(writes_of(nodes, R"(%new -> buffer_mutation "k", %put)"), 0u);
}

// The copied part is an old value of the other buffer, which is written before the part is.
TEST(Reinplace, PartsOfOldValuesAreReadInTime) {
  EXPECT_EQ(
      writes_of(R"(    %old: f32[2, 1, 32] = aten.slice.Tensor(self=%b_k, dim=1, start=3, end=4)
    %part: f32[2, 1, 32] = aten.slice.Tensor(self=%b_v, dim=1, start=7, end=8)
    %copy: f32[2, 1, 32] = aten.copy.default(self=%part, src=%old)
    %new: f32[2, 2048, 32] = aten.index_put.default(self=%b_k, indices=[none, %pos], values=%x)
    %other: f32[2, 2048, 32] = aten.slice_scatter.default(self=%b_v, src=%copy, dim=1, start=7, end=8)
)",
                R"(%new -> buffer_mutation "k", %other -> buffer_mutation "v", %other)"),
      1u);
}

TEST(Reinplace, OldValuesThatAreReadLaterStay) {
  const std::string update =
      "    %new: f32[2, 2048, 32] = aten.index_put.default(self=%b_k, indices=[none, %pos], "
      "values=%x)\n";
  const std::string view = "    %old: f32[2, 1, 32] = aten.slice.Tensor(self=%b_k, dim=1, end=1)\n";
  const std::string sum = "    %y: f32[2, 2048, 32] = aten.add.Tensor(self=%new, other=%old)\n";
  // Read through a view after the update, read by the update itself, and given to the caller.
  EXPECT_EQ(writes_of(view + update + sum, R"(%new -> buffer_mutation "k", %y)"), 0u);
  EXPECT_EQ(writes_of(update, R"(%new -> buffer_mutation "k", %b_k)"), 0u);
  EXPECT_EQ(
      writes_of(R"(    %old: f32[2, 1, 32] = aten.slice.Tensor(self=%b_k, dim=1, start=5, end=6)
    %new: f32[2, 2048, 32] = aten.index_put.default(self=%b_k, indices=[none, %pos], values=%old)
)",
                R"(%new -> buffer_mutation "k", %x)"),
      0u);
}

// The caller's result must not change with the state.
TEST(Reinplace, NewValuesThatTheCallerGetsHaveMemoryOfTheirOwn) {
  const std::string update =
      "    %new: f32[2, 2048, 32] = aten.index_put.default(self=%b_k, indices=[none, %pos], "
      "values=%x)\n";
  EXPECT_EQ(writes_of(update, R"(%new -> buffer_mutation "k", %new)"), 0u);
  EXPECT_EQ(
      writes_of(update + "    %y: f32[4096, 32] = aten.view.default(self=%new, size=[-1, 32])\n",
                R"(%new -> buffer_mutation "k", %y)"),
      0u);
}

// Each buffer gets the new value of the other.
TEST(Reinplace, BuffersMayBeSwapped) {
  EXPECT_EQ(
      writes_of(
          R"(    %new: f32[2, 2048, 32] = aten.index_put.default(self=%b_k, indices=[none, %pos], values=%x)
    %other: f32[2, 2048, 32] = aten.index_put.default(self=%b_v, indices=[none, %pos], values=%x)
)",
          R"(%other -> buffer_mutation "k", %new -> buffer_mutation "v", %x)"),
      0u);
  // The same value for both: the one is in place, the other a copy.
  EXPECT_EQ(
      writes_of(
          R"(    %new: f32[2, 2048, 32] = aten.index_put.default(self=%b_k, indices=[none, %pos], values=%x)
)",
          R"(%new -> buffer_mutation "k", %new -> buffer_mutation "v", %x)"),
      1u);
}

}  // namespace
}  // namespace pt2
