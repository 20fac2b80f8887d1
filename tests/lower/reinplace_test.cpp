// Functional programs whose state is large: plans write updates of a part of it in place.
#include <gtest/gtest.h>

#include <algorithm>

#include "check/shapes/recorded_sizes.h"
#include "package/saved.h"
#include "pt2/ir/program_text.h"
#include "pt2/model.h"
#include "run/graph_maker.h"

namespace pt2 {
namespace {

using run::elements, run::floats;

constexpr int64_t kRows = 2048;  // a buffer is larger than what plans copy in each call

std::shared_ptr<const Package> package_with(const std::string& graph,
                                            const std::vector<SavedTensor>& state) {
  std::vector<Error> errors;
  const Program program = parse_program(R"(program schema 8.20 {
  torch "2.15.0"
  dialect "ATEN"
  opset aten 10
)" + graph + "}\n",
                                        "state", errors)
                              .value();
  PackageContents contents;
  contents.programs.resize(1);
  contents.programs[0].json = program_json(program);
  contents.programs[0].state_dict = state;
  return std::make_shared<const Package>(test::saved(contents));
}

// A program with buffers "k" and "v" f32[2, 2048, 32] and inputs %pos i64[1] and %x f32[2, 1, 32].
std::shared_ptr<const Package> package_of(const std::string& nodes, const std::string& results) {
  std::vector<float> start(2 * kRows * 32);
  for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(i % 97) * 0.25f;
  const Tensor state = floats({2, kRows, 32}, start);
  return package_with(
      R"(graph(%b_k: f32[2, 2048, 32] = buffer "k", %b_v: f32[2, 2048, 32] = buffer "v", %pos: i64[1], %x: f32[2, 1, 32]) {
)" + nodes +
          "    return " + results + "\n  }\n",
      {{.name = "k", .tensor = state}, {.name = "v", .tensor = state.clone()}});
}

std::vector<Value> inputs_of(int64_t position, float start) {
  std::vector<float> x(2 * 32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = start + static_cast<float>(i);
  const int64_t positions[] = {position};
  return {Value(Tensor::from<int64_t>(Dtype::int64, {1}, std::span<const int64_t>(positions))),
          Value(floats({2, 1, 32}, x))};
}

// Returns the number of steps that write in place.
size_t count_writes(const Model& model) {
  size_t count = 0;
  for (const PlannedStep& step : model.plan())
    count += static_cast<size_t>(std::ranges::count_if(step.operators, [](const std::string& name) {
      return name.find("_.") != std::string::npos;
    }));
  return count;
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
  return count_writes(planned);
}

// Rows of %x f32[2, width], and values made of them f32[2, rows, width].
struct Rows {
  int64_t rows, width;

  std::string row(bool in_whole) const {
    return "f32[2, " + std::to_string(width) + "]" +
           (in_whole ? " strides=[" + std::to_string(rows * width) + ", 1]" : "");
  }
  std::string sizes() const {
    return "[2, " + std::to_string(rows) + ", " + std::to_string(width) + "]";
  }
  std::string zeros() const {
    return "    %y0: f32" + sizes() + " = aten.zeros.default(size=" + sizes() +
           ", *, dtype=f32, device=device cpu)\n";
  }
  // Writes %x to each row of %y0.
  std::string copies() const {
    std::string out;
    for (int64_t i = 0; i < rows; ++i) {
      const std::string number = std::to_string(i);
      out += "    %row" + number + ": " + row(true) +
             " = aten.select.int(self=%y0, dim=1, index=" + number + ")\n    %copy" + number +
             ": " + row(true) + " = aten.copy_.default(self=%row" + number + ", src=%x)\n";
    }
    return out;
  }
  // Gives %y1, %y2, ...: %y0 with one, two, ... rows replaced by %x.
  std::string scatters() const {
    std::string out;
    for (int64_t i = 0; i < rows; ++i)
      out += "    %y" + std::to_string(i + 1) + ": f32" + sizes() +
             " = aten.select_scatter.default(self=%y" + std::to_string(i) +
             ", src=%x, dim=1, index=" + std::to_string(i) + ")\n";
    return out;
  }

  // Calls of `nodes` give what the reference engine gives, and neither earlier results nor inputs
  // change. Returns the number of steps that write in place.
  size_t writes_of(const std::string& nodes, const std::string& results) const {
    const auto package = package_with("graph(%x: " + row(false) + ", %z: f32" + sizes() + ") {\n" +
                                          nodes + "    return " + results + "\n  }\n",
                                      {});
    const Model planned = Model::from_package(package, {.engine = EngineKind::planned}).value(),
                reference = Model::from_package(package, {.engine = EngineKind::reference}).value();
    Session fast(planned), slow(reference);
    const auto numbers = [&](int64_t count, int call) {
      return std::vector<float>(static_cast<size_t>(2 * count * width), static_cast<float>(call));
    };
    std::vector<std::vector<Value>> found, expected;
    for (int call = 0; call < 3; ++call) {
      std::vector<Value> given{Value(floats({2, width}, numbers(1, call))),
                               Value(floats({2, rows, width}, numbers(rows, 7)))};
      std::vector<Value> same = given;
      found.push_back(fast.run(given).value());
      EXPECT_EQ(elements(given[1]), numbers(rows, 7));
      expected.push_back(slow.run(same).value());
    }
    for (size_t call = 0; call < found.size(); ++call)
      for (size_t i = 0; i < found[call].size(); ++i)
        EXPECT_EQ(elements(found[call][i]), elements(expected[call][i])) << "call " << call;
    return count_writes(planned);
  }
};

// Without in-place writes, each row would cost a copy of all rows.
TEST(Reinplace, ManyRowsOfOneValueAreWrittenInPlace) {
  constexpr Rows many{64, 256}, few{3, 4};
  EXPECT_EQ(many.writes_of(many.zeros() + many.copies(), "%y0"), 64u);
  EXPECT_EQ(few.writes_of(few.zeros() + few.copies(), "%y0"), 0u);
  EXPECT_EQ(many.writes_of(many.zeros() + many.scatters(), "%y64"), 64u);
  EXPECT_EQ(few.writes_of(few.zeros() + few.scatters(), "%y3"), 0u);
}

TEST(Reinplace, RowsOfAnInputAreWrittenToACopy) {
  constexpr Rows many{64, 256};
  const std::string from_input =
      "    %y0: f32" + many.sizes() + " = aten.alias.default(self=%z)\n" + many.scatters();
  EXPECT_EQ(many.writes_of(from_input, "%y64"), 63u);
}

TEST(Reinplace, RowsOfValuesThatAreReadLaterAreCopied) {
  constexpr Rows many{64, 256};
  const std::string rows = many.zeros() + many.scatters();
  EXPECT_EQ(many.writes_of(rows, "%y64, %y32"), 0u);
  const auto row_of = [&](const std::string& value) {
    return "    %row: " + many.row(true) + " = aten.select.int(self=" + value +
           ", dim=1, index=40)\n    %twice: " + many.row(false) +
           " = aten.add.Tensor(self=%row, other=%row)\n";
  };
  EXPECT_EQ(many.writes_of(rows + row_of("%y32"), "%y64, %twice"), 0u);
  EXPECT_EQ(many.writes_of(rows + row_of("%y64"), "%y64, %twice"), 64u);
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
                    again =
                        R"(    %view_1: f32[2048, 32] = aten.select.int(self=%new, dim=0, index=1)
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
  // An old value of the same buffer is copied to another place after it was written.
  EXPECT_EQ(
      writes_of(R"(    %old: f32[2, 1, 32] = aten.slice.Tensor(self=%b_k, dim=1, start=3, end=4)
    %put: f32[2, 2048, 32] = aten.index_put.default(self=%b_k, indices=[none, %pos], values=%x)
    %new: f32[2, 2048, 32] = aten.slice_scatter.default(self=%put, src=%old, dim=1, start=7, end=8)
)",
                R"(%new -> buffer_mutation "k", %x)"),
      0u);
}

TEST(Reinplace, CopiesAreInPlace) {
  EXPECT_EQ(writes_of(R"(    %new: f32[2, 2048, 32] = aten.copy.default(self=%b_k, src=%x)
    %part: f32[2, 1, 32] = aten.slice.Tensor(self=%b_v, dim=1, start=7, end=8)
    %row: f32[2, 32] = aten.select.int(self=%part, dim=1, index=0)
    %copy: f32[2, 32] = aten.copy.default(self=%row, src=%pos)
    %wide: f32[2, 1, 32] = aten.select_scatter.default(self=%part, src=%copy, dim=1, index=0)
    %other: f32[2, 2048, 32] = aten.slice_scatter.default(self=%b_v, src=%wide, dim=1, start=7, end=8)
    %y: f32[2, 1, 32] = aten.neg.default(self=%wide)
)",
                      R"(%new -> buffer_mutation "k", %other -> buffer_mutation "v", %y)"),
            2u);
}

// A file may record a list where the operator gives one tensor.
TEST(Reinplace, ListsStay) {
  const auto package =
      package_of(R"(    [%new: f32[2, 2048, 32]] = aten.copy.default(self=%b_k, src=%x)
    %y: f32[2, 1, 32] = aten.neg.default(self=%x)
)",
                 R"(%new -> buffer_mutation "k", %y)");
  const Model planned = Model::from_package(package, {.engine = EngineKind::planned}).value();
  Session session(planned);
  std::vector<Value> given = inputs_of(3, 0);
  const auto found = session.run(given);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::invalid);
}

// As PyTorch writes self.k[:, 3:4] += x and self.v[0][4:5].copy_(x[0]): it makes the views again.
TEST(Reinplace, ViewsMayBeMadeAgain) {
  EXPECT_EQ(
      writes_of(R"(    %part: f32[2, 1, 32] = aten.slice.Tensor(self=%b_k, dim=1, start=3, end=4)
    %sum: f32[2, 1, 32] = aten.add.Tensor(self=%part, other=%x)
    %added: f32[2, 2048, 32] = aten.slice_scatter.default(self=%b_k, src=%sum, dim=1, start=3, end=4)
    %from: f32[2, 1, 32] = aten.slice.Tensor(self=%added, dim=1, start=3, end=4)
    %to: f32[2, 1, 32] = aten.slice.Tensor(self=%added, dim=1, start=3, end=4)
    %copy: f32[2, 1, 32] = aten.copy.default(self=%to, src=%from)
    %new: f32[2, 2048, 32] = aten.slice_scatter.default(self=%added, src=%copy, dim=1, start=3, end=4)
    %row: f32[1, 32] = aten.select.int(self=%x, dim=0, index=0)
    %view: f32[2048, 32] = aten.select.int(self=%b_v, dim=0, index=0)
    %line: f32[1, 32] = aten.slice.Tensor(self=%view, dim=0, start=4, end=5)
    %copy_1: f32[1, 32] = aten.copy.default(self=%line, src=%row)
    %view_1: f32[2048, 32] = aten.select.int(self=%b_v, dim=0, index=0)
    %put: f32[2048, 32] = aten.slice_scatter.default(self=%view_1, src=%copy_1, dim=0, start=4, end=5)
    %other: f32[2, 2048, 32] = aten.select_scatter.default(self=%b_v, src=%put, dim=0, index=0)
    %y: f32[2, 2048, 32] = aten.mul.Tensor(self=%new, other=%other)
)",
                R"(%new -> buffer_mutation "k", %other -> buffer_mutation "v", %y)"),
      3u);
}

TEST(Reinplace, PartsMayOverlapTheirPlace) {
  EXPECT_EQ(
      writes_of(
          R"(    %part: f32[2, 2047, 32] = aten.slice.Tensor(self=%b_k, dim=1, start=0, end=2047)
    %new: f32[2, 2048, 32] = aten.slice_scatter.default(self=%b_k, src=%part, dim=1, start=1, end=2048)
)",
          R"(%new -> buffer_mutation "k", %x)"),
      1u);
}

// A scatter refuses a part of other sizes. A copy would repeat it.
TEST(Reinplace, PartsFitTheirPlace) {
  const auto error_of = [](const std::string& new_value) {
    const auto package = package_with(
        R"(symbol u0 (integer)
  graph(%u: f32[3, 4], %pos: i64[1], %x: f32[1, 4]) {
    %i: SymInt[u0] = aten.item.default(self=%pos)
    %next: SymInt[u0 + 1] = _operator.add(%i, 1)
)" + new_value +
            R"(
    return %new -> user_input_mutation "u", %pos
  }
)",
        {});
    const Model model = Model::from_package(package).value();
    const auto results = model.run({{"u", Value(floats({3, 4}, std::vector<float>(12)))},
                                    {"pos", Value(Tensor::of<int64_t>({-1}))},
                                    {"x", Value(floats({1, 4}, {1, 2, 3, 4}))}});
    return results ? "" : results.error().message;
  };
  EXPECT_EQ(error_of("%new: f32[3, 4] = aten.slice_scatter.default(self=%u, src=%x, dim=0, "
                     "start=%i, end=%next)"),
            "src: found sizes [1, 4], expected [0, 4]");
  EXPECT_EQ(error_of("%new: f32[3, 4] = aten.slice_scatter.default(self=%u, src=%x, dim=0, "
                     "start=0, end=2)"),
            "src: found sizes [1, 4], expected [2, 4]");
  // A part of a place that the call computes.
  EXPECT_EQ(error_of(R"(
    %row: f32[1, 4] = aten.slice.Tensor(self=%u, dim=0, start=%i, end=%next)
    %part: f32[1, 4] = aten.slice_scatter.default(self=%row, src=%x, dim=1, start=0, end=4)
    %new: f32[3, 4] = aten.slice_scatter.default(self=%u, src=%part, dim=0, start=%i, end=%next))"),
            "src: found sizes [1, 4], expected [0, 4]");
}

// The caller's tensors may have gaps, or elements that lie at one place. The new value has neither.
TEST(Reinplace, InputsMayHaveAnyStrides) {
  const auto package = package_with(R"(graph(%u: f32[3, 4], %pos: i64[1], %x: f32[1, 4]) {
    %new: f32[3, 4] = aten.index_copy.default(self=%u, dim=0, index=%pos, source=%x)
    %line: f32[12] = aten.view.default(self=%new, size=[12])
    %y: f32[12] = aten.neg.default(self=%line)
    return %new -> user_input_mutation "u", %y
  }
)",
                                    {});
  const Model planned = Model::from_package(package, {.engine = EngineKind::planned}).value(),
              reference = Model::from_package(package, {.engine = EngineKind::reference}).value();
  EXPECT_EQ(count_writes(planned), 1u);
  for (const Sizes& strides : {Sizes{4, 1}, Sizes{1, 3}, Sizes{8, 2}, Sizes{0, 1}}) {
    std::vector<Value> given;
    for (int i = 0; i < 2; ++i)
      given.emplace_back(Tensor::zeros_strided(Dtype::float32, {3, 4}, strides));
    std::vector<std::vector<float>> results;
    for (const Model* model : {&planned, &reference}) {
      std::vector<Value> inputs = {given[results.size()], Value(Tensor::of<int64_t>({1})),
                                   Value(floats({1, 4}, {1, 2, 3, 4}))};
      results.push_back(elements(model->run(inputs).value()[0]));
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(elements(given[0]), elements(given[1]));
  }
}

// A view of a new value begins where its storage does, the input within a larger one.
TEST(Reinplace, ProgramsThatAskForStoragesStay) {
  const auto package = package_with(R"(graph(%u: f32[3, 4], %pos: i64[1], %x: f32[1, 4]) {
    %new: f32[3, 4] = aten.index_copy.default(self=%u, dim=0, index=%pos, source=%x)
    %line: f32[12] = aten.as_strided.default(self=%new, size=[12], stride=[1], storage_offset=0)
    %y: f32[12] = aten.neg.default(self=%line)
    return %new -> user_input_mutation "u", %y
  }
)",
                                    {});
  const Model planned = Model::from_package(package).value();
  const Tensor whole = floats({4, 4}, {9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::vector<Value> results = planned
                                         .run({{"u", Value(whole.with_view({3, 4}, {4, 1}, 4))},
                                               {"pos", Value(Tensor::of<int64_t>({1}))},
                                               {"x", Value(floats({1, 4}, {1, 2, 3, 4}))}})
                                         .value();
  EXPECT_EQ(elements(results[0]), (std::vector<float>{0, 0, 0, 0, -1, -2, -3, -4, 0, 0, 0, 0}));
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

// Returns whether the recorded sizes of a graph hold.
bool sizes_hold(const std::string& graph) {
  std::vector<Error> errors;
  const Program program = parse_program(R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
)" + graph + "}\n",
                                        "sizes", errors)
                              .value();
  return check::recorded_sizes_hold(program);
}

// The layout that the file records does not make the sizes of the next result unknown.
TEST(Reinplace, RecordsOfOtherLayoutsAreCheckedToo) {
  EXPECT_FALSE(sizes_hold(R"(graph(%x: f32[3, 3] layout=layout(0)) {
    %clone: f32[1, 9] = aten.clone.default(self=%x)
    return %clone
  }
)"));
}

// A record that torch.export may write instead of the operator's result proves nothing: with
// another default dtype it records f32 here.
TEST(Reinplace, DtypesThatOnlyTheExporterKnowsAreNotProven) {
  const auto filled = [](const std::string& result) {
    return sizes_hold(R"(graph(%x: f32[3]) {
    %filled: f32[] = aten.full_like.default(self=7.0, fill_value=7.0)
    return )" + result +
                      "\n  }\n");
  };
  EXPECT_FALSE(filled("%filled"));
  EXPECT_TRUE(filled("%x"));  // nobody reads the record
}

TEST(Reinplace, SizesThatDependOnDataAreNotProvenByConstants) {
  const auto nonzero = [](const std::string& symbols, const std::string& record) {
    return sizes_hold(symbols + "graph(%x: f32[3, 3]) {\n    %found: " + record +
                      " = aten.nonzero.default(self=%x)\n    return %found\n  }\n");
  };
  EXPECT_TRUE(nonzero("symbol u0 (integer)\n", "i64[u0, 2]"));
  EXPECT_FALSE(nonzero("", "i64[9, 2]"));
}

TEST(Reinplace, ANodeHasAllResultsOfItsOperator) {
  EXPECT_FALSE(sizes_hold(R"(graph(%x: f32[3, 3]) {
    %largest: f32[3] = aten.max.dim(self=%x, dim=1)
    return %largest
  }
)"));
}

}  // namespace
}  // namespace pt2
