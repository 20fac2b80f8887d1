// Changes files and runs them again.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <limits>
#include <optional>

#include "pt2/ir/builder.h"
#include "pt2/ir/edit_program.h"
#include "pt2/ir/program_text.h"
#include "pt2/model.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/save.h"
#include "pt2/tools/compare.h"
#include "pt2/tools/hash.h"
#include "pt2/tools/weights.h"
#include "pt2/verify.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

std::string corpus(std::string_view name) {
  return std::string(PT2_TEST_DATA) + "/corpus/" + std::string(name);
}

Package open(const std::string& path) {
  auto package = Package::open(path);
  EXPECT_TRUE(package.has_value()) << path;
  return *std::move(package);
}

std::vector<Value> samples_of(const Package& package) {
  Diagnostics warnings;
  const SampleInputs samples = package.sample_inputs(warnings).value();
  std::vector<Value> values;
  for (const SampleInput& leaf : samples.leaves) values.emplace_back(leaf.value.tensor().tensor);
  return values;
}

std::vector<Value> run(const std::string& path, std::vector<Value> inputs) {
  auto model = Model::load(path);
  EXPECT_TRUE(model.has_value()) << path << ": " << model.error().text();
  auto outputs = model->run(std::move(inputs));
  EXPECT_TRUE(outputs.has_value()) << path << ": " << outputs.error().text();
  return *std::move(outputs);
}

void expect_sound(const std::string& path) {
  const Diagnostics findings = verify(path, Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all())
    EXPECT_EQ(finding.severity(), Severity::warning) << finding.line();
}

class Change : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
  const std::string source_ = corpus("2.15.0/mlp.pt2");
  const std::string written_ = folder_.file("written.pt2");
};

TEST_F(Change, WeightsComeBackThroughAFile) {
  for (const char* release : {"2.1.2", "2.5.1", "2.8.0", "2.9.1", "2.15.0"}) {
    const std::string source = corpus(std::string(release) + "/mlp.pt2");
    PackageContents contents = package_contents(open(source)).value();
    const NamedTensors weights = weights_of(contents, "").value();
    EXPECT_EQ(weights.size(), 4u);
    EXPECT_TRUE(set_weights(contents, "", weights)->empty());

    NamedTensors other = weights;
    other[0].second = Tensor::zeros(Dtype::float32, other[0].second.sizes());
    EXPECT_EQ(set_weights(contents, "", other)->size(), 1u);
    save_package(contents, written_).value();
    expect_sound(written_);
    const NamedTensors again = weights_of(package_contents(open(written_)).value(), "").value();
    for (size_t i = 0; i < other.size(); ++i)
      EXPECT_TRUE(compare(Value(again[i].second), Value(other[i].second)).equal())
          << other[i].first;
  }
}

TEST_F(Change, WeightsThatNoFileOfTensorsHoldsStayAsTheyAre) {
  PackageContents contents = package_contents(open(corpus("2.8.0/sparse_buffer.pt2"))).value();
  const auto changed = set_weights(contents, "", weights_of(contents, "").value());
  ASSERT_TRUE(changed) << changed.error().text();
  EXPECT_TRUE(changed->empty());
}

TEST_F(Change, TiedWeightsTakeTheSameElements) {
  PackageContents contents = package_contents(open(corpus("2.15.0/tied_weights.pt2"))).value();
  NamedTensors weights = weights_of(contents, "").value();
  const Tensor zeros = Tensor::zeros(Dtype::float32, weights[0].second.sizes());
  EXPECT_EQ(set_weights(contents, "", {weights[0], {weights[1].first, zeros}}).error().where,
            weights[0].first);
  EXPECT_EQ(set_weights(contents, "", {{weights[0].first, zeros}, weights[1]}).error().where,
            weights[0].first);
  EXPECT_TRUE(set_weights(contents, "", weights)->empty());
  EXPECT_EQ(
      set_weights(contents, "", {{weights[0].first, zeros}, {weights[1].first, zeros}})->size(),
      1u);
}

// As in files of safetensors.torch.save_model.
TEST_F(Change, OneTensorIsEnoughForTiedWeights) {
  for (const char* release : {"2.5.1", "2.15.0"}) {
    const std::string source = corpus(std::string(release) + "/tied_weights.pt2");
    PackageContents contents = package_contents(open(source)).value();
    const NamedTensors weights = weights_of(contents, "").value();
    ASSERT_EQ(weights.size(), 2u);
    for (const float element : {1.f, 2.f}) {
      const std::vector<float> elements(static_cast<size_t>(weights[0].second.numel()), element);
      const Tensor tensor =
          Tensor::from<float>(Dtype::float32, weights[0].second.sizes(), elements);
      const std::string& name = weights[element == 1.f ? 0 : 1].first;
      const auto changed = set_weights(contents, "", {{name, tensor}});
      ASSERT_TRUE(changed) << changed.error().text();
      for (const auto& [tied, found] : weights_of(contents, "").value())
        EXPECT_TRUE(compare(Value(found), Value(tensor)).equal()) << tied;
    }
  }
}

// As Module.load_state_dict.
TEST_F(Change, StateDictsAreComplete) {
  PackageContents contents = package_contents(open(source_)).value();
  const NamedTensors weights = weights_of(contents, "").value();
  auto& constants = std::get<std::vector<SavedTensor>>(contents.programs[0].constants);
  constants.push_back({.name = "c", .tensor = Tensor::zeros(Dtype::float32, {2})});
  ASSERT_EQ(weights_of(contents, "")->size(), weights.size() + 1);
  EXPECT_TRUE(set_weights(contents, "", weights).has_value());
  EXPECT_EQ(set_weights(contents, "", {}).error().where, weights[0].first);
}

TEST_F(Change, WeightsThatDoNotFitAreRefused) {
  PackageContents contents = package_contents(open(source_)).value();
  NamedTensors weights = weights_of(contents, "").value();
  EXPECT_EQ(set_weights(contents, "", {weights[0]}).error().code, ErrorCode::argument);
  EXPECT_TRUE(set_weights(contents, "", {weights[0]}, {.partial = true}).has_value());
  const Tensor& first = weights[0].second;
  weights[0].second = Tensor::without_elements(first.dtype(), first.sizes());
  EXPECT_EQ(set_weights(contents, "", weights).error().where, weights[0].first);
  weights[0].second = Tensor::zeros(Dtype::float32, {1});
  EXPECT_EQ(set_weights(contents, "", weights).error().where, weights[0].first);
  weights[0].first = "ghost";
  EXPECT_EQ(set_weights(contents, "", weights).error().where, "ghost");
}

TEST_F(Change, CastWeightsComputeNearlyTheSame) {
  for (const char* release : {"2.2.2", "2.6.0", "2.8.0", "2.15.0"}) {
    const std::string source = corpus(std::string(release) + "/mlp.pt2");
    const Package package = open(source);
    PackageContents contents = package_contents(package).value();
    EXPECT_EQ(cast_weights(contents, "", {.to = Dtype::bfloat16})->size(), 4u);
    save_package(contents, written_).value();
    expect_sound(written_);
    const std::vector<Value> inputs{Value(Tensor::zeros(Dtype::float32, {2, 8}))};
    const auto before = run(source, inputs), after = run(written_, inputs);
    EXPECT_TRUE(compare(after[0], before[0], {.relative = 0.02, .absolute = 0.02}).equal());
  }
}

// The two inputs of the weight have one name, and its other name has no input.
TEST_F(Change, CastWeightsStayTied) {
  const std::string source = corpus("2.6.0/tied_weights.pt2");
  const Package package = open(source);
  PackageContents contents = package_contents(package).value();
  EXPECT_EQ(cast_weights(contents, "", {.to = Dtype::bfloat16})->size(), 1u);
  save_package(contents, written_).value();
  const Diagnostics findings = verify(written_, Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all()) ADD_FAILURE() << finding.line();
  const std::vector<Value> inputs = samples_of(package);
  const auto before = run(source, inputs), after = run(written_, inputs);
  EXPECT_TRUE(compare(after[0], before[0], {.relative = 0.02, .absolute = 0.02}).equal());
}

// torch.export.unflatten fails if a node has no stack of modules.
TEST_F(Change, CastsAreInTheOutermostModule) {
  PackageContents contents = package_contents(open(source_)).value();
  ASSERT_EQ(cast_weights(contents, "", {})->size(), 4u);
  save_package(contents, written_).value();
  const Package package = open(written_);
  const Graph& graph = package.program().value()->graph;
  size_t casts = 0;
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).target != "torch.ops.aten.to.dtype") continue;
    ++casts;
    const std::string* stack = find_metadata(graph.node(id).metadata, "nn_module_stack");
    ASSERT_NE(stack, nullptr);
    EXPECT_EQ(*stack, "L__self__,,__main__.MLP");
  }
  EXPECT_EQ(casts, 4u);
}

// The lowest float32 is -inf in bfloat16, and a softmax of nothing but -inf is NaN.
TEST_F(Change, NoCastMakesAnElementInfinite) {
  PackageContents contents = package_contents(open(source_)).value();
  auto& weights = std::get<std::vector<SavedTensor>>(contents.programs[0].state_dict);
  ASSERT_EQ(weights.size(), 4u);
  const auto set_first = [&](size_t weight, float value) {
    weights[weight].tensor = weights[weight].tensor.clone();
    weights[weight].tensor.data<float>()[0] = value;
  };
  set_first(0, std::numeric_limits<float>::lowest());
  set_first(1, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(cast_weights(contents, "", {})->size(), 3u);
  EXPECT_EQ(weights_of(contents, "")->at(0).second.dtype(), Dtype::float32);
  EXPECT_EQ(weights_of(contents, "")->at(1).second.dtype(), Dtype::bfloat16);
}

TEST_F(Change, SharingAndStrippingChangeNoResult) {
  for (const char* name : {"tied_weights", "shared_storage", "conv_bn_relu", "buffer_mutation"}) {
    const std::string source = corpus("2.15.0/" + std::string(name) + ".pt2");
    const Package package = open(source);
    PackageContents contents = package_contents(package).value();
    ASSERT_TRUE(share_weights(contents).has_value());
    ASSERT_TRUE(
        strip(contents, {.unused = true, .metadata = true, .example_inputs = true}).has_value());
    save_package(contents, written_).value();
    expect_sound(written_);
    const Package again = open(written_);
    EXPECT_EQ(hash_program(*again.program().value()), hash_program(*package.program().value()));
    const auto before = run(source, samples_of(package)),
               after = run(written_, samples_of(package));
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(compare(after[i], before[i]).equal()) << name;
  }
}

// In the second program two tensors lie in one storage. Only together they may move to the storage
// of equal tensors in the first.
TEST_F(Change, SharingKeepsTensorsInOneStorage) {
  for (const bool first_has_view : {false, true}) {
    PackageContents contents = package_contents(open(source_)).value();
    const auto tensors_of = [&](size_t program) -> std::vector<SavedTensor>& {
      return std::get<std::vector<SavedTensor>>(contents.programs.at(program).state_dict);
    };
    const auto make_view = [&](size_t program) {  // of the first weight, for the last one
      Tensor& last = tensors_of(program).back().tensor;
      last = tensors_of(program).front().tensor.with_view(last.sizes(), last.strides(), 0);
    };
    if (first_has_view) make_view(0);
    contents.programs.push_back(contents.programs[0]);
    contents.programs[1].name = "second";
    for (SavedTensor& each : tensors_of(1)) each.tensor = each.tensor.clone();
    make_view(1);
    ASSERT_EQ(tensors_of(1).size(), 4u);
    EXPECT_EQ(share_weights(contents)->size(), first_has_view ? 4u : 2u);
    EXPECT_EQ(tensors_of(1).front().tensor.storage(), tensors_of(1).back().tensor.storage());
    for (const size_t i : {0u, 1u, 2u, 3u})
      EXPECT_EQ(tensors_of(1)[i].tensor.storage() == tensors_of(0)[i].tensor.storage(),
                first_has_view || i == 1 || i == 2)
          << i;
  }
}

TEST_F(Change, UnusedWeightsGo) {
  const std::string source = std::string(PT2_TEST_DATA) + "/negative/weight_extra.pt2";
  PackageContents contents = package_contents(open(source)).value();
  EXPECT_EQ(strip(contents, {.unused = true})->size(), 1u);
  EXPECT_EQ(strip(contents, {.unused = true})->size(), 0u);
}

// A view() in the program may need the strides with which the weight was saved.
TEST_F(Change, WeightsKeepTheOrderOfTheirDimensions) {
  PackageContents contents = package_contents(open(source_)).value();
  auto& weights = std::get<std::vector<SavedTensor>>(contents.programs[0].state_dict);
  const auto weight =
      std::ranges::find_if(weights, [](const SavedTensor& each) { return each.tensor.dim() == 2; });
  ASSERT_NE(weight, weights.end());
  const Sizes sizes = weight->tensor.sizes(), strides{1, sizes[0]};
  weight->tensor = Tensor::zeros(Dtype::float32, {2, sizes[1], sizes[0]});
  for (int64_t i = 0; i < weight->tensor.numel(); ++i)
    weight->tensor.data<float>()[i] = static_cast<float>(i);
  weight->tensor = weight->tensor.with_view(sizes, strides, 0);
  const std::string name = weight->name;
  const auto find = [&] {
    for (const SavedTensor& each :
         std::get<std::vector<SavedTensor>>(contents.programs[0].state_dict))
      if (each.name == name) return each.tensor;
    return Tensor();
  };
  ASSERT_EQ(strip(contents, {.unused = true})->size(), 1u);
  EXPECT_EQ(find().strides(), strides);
  EXPECT_EQ(find().storage()->size(), static_cast<size_t>(find().nbytes()));
  EXPECT_EQ(find().data<float>()[1], 1.0f);
  ASSERT_TRUE(cast_weights(contents, "", {.to = Dtype::float64}).has_value());
  EXPECT_EQ(find().strides(), strides);
  EXPECT_EQ(find().data<double>()[1], 1.0);
}

TEST_F(Change, PackedProgramsShareEqualWeights) {
  const Package one = open(source_), other = open(corpus("2.9.1/mlp.pt2"));
  const std::vector<PackedProgram> programs{{"a", &one}, {"b", &one}, {"c", &other}};
  const PackageContents contents = pack(programs).value();
  save_package(contents, written_).value();
  expect_sound(written_);
  const Package packed = open(written_);
  EXPECT_EQ(packed.models().size(), 3u);
  const auto count =
      std::ranges::count_if(packed.archive().zip().entries(), [](const Entry& entry) {
        return entry.name.find("data/weights/weight_") != entry.name.npos;
      });
  EXPECT_EQ(count, 4);
  // Saving the file again keeps it and its parts unchanged.
  const std::string copy = folder_.file("another.pt2");
  save_package(package_contents(packed).value(), copy).value();
  EXPECT_EQ(std::filesystem::file_size(copy), std::filesystem::file_size(written_));
  save_package(unpack(package_contents(packed).value(), "b").value(), copy).value();
  const Package part = open(copy);
  const auto hash = [](const Package& package) {
    return hash_weights(*package.program().value(), **package.payloads()).value() +
           hash_program(*package.program().value());
  };
  EXPECT_EQ(hash(part), hash(one));
  const std::vector<PackedProgram> twice{{"a", &one}, {"a", &one}};
  EXPECT_EQ(pack(twice).error().code, ErrorCode::argument);
  const std::vector<PackedProgram> none{{"a", nullptr}};
  EXPECT_EQ(pack(none).error().code, ErrorCode::argument);
}

Program program_of(const std::string& path) { return *open(path).program().value(); }

void expect_sound(const Program& program) {
  const Diagnostics findings =
      verify_program(program, "edited", Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all())
    EXPECT_EQ(finding.severity(), Severity::warning) << finding.line();
}

std::string type_of(const Program& program, std::string_view value) {
  const GraphValue& found = program.graph.value(*program.graph.find_value(value));
  std::string out;
  for (const SymInt& size : found.tensor()->sizes) out += print(size) + " ";
  return out;
}

TEST(EditProgram, FixesAndFreesSizes) {
  Program program = program_of(corpus("2.15.0/dynamic_batch.pt2"));
  ASSERT_TRUE(fix_dim(program, "x", 0, 4).has_value());
  EXPECT_EQ(type_of(program, "linear_1"), "4 4 ");
  EXPECT_TRUE(program.range_constraints.empty());
  expect_sound(program);
  EXPECT_EQ(fix_dim(program, "x", 0, 5).error().code, ErrorCode::argument);
  EXPECT_EQ(free_dim(program, "x", 0, "pi", {1, 64}).error().code, ErrorCode::argument);
  ASSERT_TRUE(free_dim(program, "x", 0, "batch", {1, 64}).has_value());
  EXPECT_EQ(type_of(program, "linear_1"), "batch 4 ");
  expect_sound(program);
  // The weights fix the number of features.
  EXPECT_EQ(free_dim(program, "x", 1, "features", {1, 64}).error().code, ErrorCode::unsupported);
  EXPECT_EQ(type_of(program, "linear_1"), "batch 4 ");
  EXPECT_EQ(set_range(program, "x", 0, {0, 64}).error().code, ErrorCode::argument);
  EXPECT_TRUE(set_range(program, "x", 0, {2, 32}).has_value());
}

// The program was exported with 3 as the size.
TEST(EditProgram, KeepsHintsWithinANarrowerRange) {
  Program program = program_of(corpus("2.15.0/dynamic_batch.pt2"));
  ASSERT_TRUE(set_range(program, "x", 0, {20, 32}).has_value());
  for (const std::string_view name : {"x", "linear_1"}) {
    const GraphValue& value = program.graph.value(*program.graph.find_value(name));
    EXPECT_EQ(value.tensor()->sizes[0].hint(), 20) << name;
  }
  expect_sound(program);
}

// A size that holds both symbols is their product or their sum, and -1 stands for what a call
// computes of them. torch.export.load loads such programs, and they compute what the model does.
TEST(EditProgram, FreesASizeBesideOtherSymbols) {
  std::vector<Error> errors;
  Program program = parse_program(R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
  symbol s0 = 2 (positive, integer)
  range s0 [2, 64]

  graph(
      %x: f32[s0, 7, 4]
  ) {
    %flat: f32[7*s0, 4] = aten.flatten.using_ints(self=%x, start_dim=0, end_dim=1)
    %column: f32[s0, 4] strides=[28, 1] = aten.select.int(self=%x, dim=1, index=0)
    %row: f32[7, 4] = aten.select.int(self=%x, dim=0, index=0)
    %both: f32[s0 + 7, 4] = aten.cat.default(tensors=[%column, %row])
    %n: SymInt[s0] = aten.sym_size.int(self=%x, dim=0)
    %lines: f32[s0, 28] = aten.view.default(self=%x, size=[%n, 28])
    %m: SymInt[7*s0] = _operator.mul(a=%n, b=7)
    %rows: f32[7*s0, 4] = aten.reshape.default(self=%x, shape=[%m, 4])
    return %flat, %both, %lines, %rows
  }

  call "" {
    in_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]'
    out_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}]}]'
  }
}
)",
                                  "text", errors)
                        .value();
  ASSERT_TRUE(free_dim(program, "x", 1, "seq", {1, 64}).has_value());
  EXPECT_EQ(type_of(program, "flat"), "s0*seq 4 ");
  EXPECT_EQ(type_of(program, "both"), "s0 + seq 4 ");
  EXPECT_EQ(type_of(program, "lines"), "s0 4*seq ");
  EXPECT_EQ(type_of(program, "rows"), "s0*seq 4 ");
  expect_sound(program);
}

// 4, 2 and 3 heads of keys divide the 12 heads of the query, but the trial with 5 fails.
TEST(EditProgram, FreesOnlyWhatOperatorsTakeInTheWholeRange) {
  ProgramBuilder builder;
  const auto input = [&](const char* name, int64_t heads) {
    return builder.input(name, builder.tensor(Dtype::float32, {1, heads, 6, 8}));
  };
  const ValueId query = input("query", 12), key = input("key", 4);
  builder.output(builder.call(
      "torch.ops.aten.scaled_dot_product_attention.default",
      {arg("query", query), arg("key", key), arg("value", key), kwarg("enable_gqa", true)},
      builder.tensor(Dtype::float32, {1, 12, 6, 8})));
  const Program program = std::move(builder).finish().value();
  Program freed = program;
  const auto refused = free_dim(freed, "key", 1, "h", {1, 64});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("with h = 5: "), std::string::npos)
      << refused.error().message;
  // The refused edit left nothing behind: its name is still free.
  const auto done = free_dim(freed, "key", 1, "h", {1, 4});
  ASSERT_TRUE(done) << done.error().text();
  expect_sound(freed);
}

// x[:224] of 224 rows: the trials with 224, 2 and 3 rows give as many rows, but no more than 224.
TEST(EditProgram, FreesNoSizeBeyondTheEndOfASlice) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {224, 3});
  const ValueId x = builder.input("x", meta);
  builder.output(builder.call("torch.ops.aten.slice.Tensor",
                              {arg("self", x), arg("dim", 0), arg("start", 0), arg("end", 224)},
                              meta));
  const Program program = std::move(builder).finish().value();
  // An operator refuses no size of 2^40 rows because memory holds none.
  for (const std::optional<int64_t> high :
       {std::optional<int64_t>(), std::optional(int64_t{1} << 40)}) {
    Program freed = program;
    const auto refused = free_dim(freed, "x", 0, "n", {0, high});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_NE(refused.error().message.find("with n = 256: "), std::string::npos)
        << refused.error().message;
  }
  Program freed = program;
  EXPECT_TRUE(free_dim(freed, "x", 0, "n", {0, 224}));
}

// expand accepts -1 only at the last place. Each trial costs time in proportion to the list, so the
// number of trials is bounded.
TEST(EditProgram, TriesOnlySoManyPlacesForAFreedSize) {
  const auto freed = [](size_t rank) {
    ProgramBuilder builder;
    const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {1}));
    builder.output(builder.call("torch.ops.aten.expand.default",
                                {arg("self", x), arg("size", ints(Sizes(rank, 1)))},
                                builder.tensor(Dtype::float32, std::vector<SymInt>(rank, 1))));
    Program program = std::move(builder).finish().value();
    return free_dim(program, "x", 0, "n", {1, 64});
  };
  EXPECT_TRUE(freed(64));
  ASSERT_FALSE(freed(65));
  EXPECT_EQ(freed(65).error().code, ErrorCode::unsupported);
}

// The freed size of 0 must not be used as a divisor.
TEST(EditProgram, FreesASizeOfZero) {
  ProgramBuilder builder;
  const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {0, 10}));
  builder.output(builder.call("torch.ops.aten.view.default",
                              {arg("self", x), arg("size", ints({10, 0}))},
                              builder.tensor(Dtype::float32, {10, 0})));
  Program program = std::move(builder).finish().value();
  const auto refused = free_dim(program, "x", 0, "n", {0, 10});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

// Each stride is the product of all later sizes: with many dimensions its expression is long.
TEST(EditProgram, BoundsTheStridesOfAFreedSize) {
  const auto freed = [](size_t rank) {
    ProgramBuilder builder;
    std::vector<SymInt> sizes{2};
    for (size_t i = 1; i < rank; ++i)
      sizes.push_back(builder.dim("s" + std::to_string(i), {1, 100}, 1));
    TensorMeta meta = builder.tensor(Dtype::float32, std::vector<SymInt>(rank, 1));
    meta.sizes = sizes;
    const ValueId x = builder.input("x", meta);
    builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", x)}, meta));
    Program program = std::move(builder).finish().value();
    return free_dim(program, "x", 0, "n", {1, 64});
  };
  EXPECT_TRUE(freed(64));
  const auto refused = freed(2000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
}

// Dim.AUTO makes a constant of a size that the program does not let vary, and guards it.
TEST(EditProgram, FreesASizeOfItsOwnGuard) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  const std::string own = "L['x'].size()[0] == 2", other = "L['x'].size()[1] == 8",
                    wider = "L['x'].size()[0] <= 32";
  program.guards_code = {own, other, wider};
  ASSERT_TRUE(free_dim(program, "x", 0, "batch", {1, 64}).has_value());
  EXPECT_EQ(program.guards_code, (std::vector<std::string>{other, wider}));
  expect_sound(program);
}

// Neither batch can be freed alone: the product takes equal ones.
TEST(EditProgram, FreesSizesOfSeveralInputsTogether) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {2, 3});
  const ValueId x = builder.input("x", meta), y = builder.input("y", meta);
  builder.output(
      builder.call("torch.ops.aten.mul.Tensor", {arg("self", x), arg("other", y)}, meta));
  Program program = std::move(builder).finish().value();
  EXPECT_EQ(free_dim(program, "x", 0, "batch", {1, 64}).error().code, ErrorCode::unsupported);
  const InputDim unequal[] = {{"x", 0}, {"y", 1}}, batches[] = {{"x", 0}, {"y", 0}};
  EXPECT_EQ(free_dims(program, unequal, "batch", {1, 64}).error().message,
            "size 1 of y is 3, expected 2, as the other sizes");
  ASSERT_TRUE(free_dims(program, batches, "batch", {1, 64}).has_value());
  for (const ValueId id : program.graph.values())
    EXPECT_EQ(type_of(program, program.graph.value(id).name), "batch 3 ");
  expect_sound(program);
  EXPECT_EQ(free_dims(program, batches, "rows", {1, 64}).error().message,
            "size 0 of x is batch, expected a fixed size");
}

// Eight times the inputs take about eight times as long, not 64 times: a decoder has a cache or two
// for each layer, and all have the same batch.
TEST(EditProgram, FreesSizesOfManyInputsInProportion) {
  const auto seconds = [](size_t count) {
    ProgramBuilder builder;
    const TensorMeta meta = builder.tensor(Dtype::float32, {2, 3});
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back("x" + std::to_string(i));
    std::vector<InputDim> batches;
    for (const std::string& name : names) {
      const ValueId x = builder.input(name, meta);
      builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", x)}, meta));
      batches.push_back({name, 0});
    }
    Program program = std::move(builder).finish().value();
    const std::clock_t start = std::clock();
    EXPECT_TRUE(free_dims(program, batches, "batch", {1, 64}).has_value());
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(4000), 24 * seconds(500) + 0.02);
}

// With a size that a guard excludes, no call would run.
TEST(EditProgram, SizesKeepTheGuards) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {builder.dim("s0", {2, 64}, 4), 3});
  const ValueId x = builder.input("x", meta);
  builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", x)}, meta));
  Program program = std::move(builder).finish().value();
  program.guards_code = {"(L['x'].size()[0] % 2) == 0", "L['x'].size()[0] <= 32"};
  for (const int64_t size : {7, 34}) {
    const auto fixed = fix_dim(program, "x", 0, size);
    ASSERT_FALSE(fixed) << size;
    EXPECT_EQ(fixed.error().code, ErrorCode::argument);
    EXPECT_TRUE(fixed.error().message.starts_with("every call would break a guard: "))
        << fixed.error().message;
  }
  EXPECT_EQ(set_range(program, "x", 0, {33, 64}).error().code, ErrorCode::argument);
  EXPECT_TRUE(set_range(program, "x", 0, {3, 40}));
  EXPECT_TRUE(fix_dim(program, "x", 0, 8));
}

TEST(EditProgram, RenamesInputsAndOutputs) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  ASSERT_TRUE(rename_input(program, "x", "image").has_value());
  ASSERT_TRUE(rename_output(program, "0", "scores").has_value());
  EXPECT_EQ(user_input_names(program), std::vector<std::string>{"image"});
  EXPECT_TRUE(program.graph.find_value("scores").has_value());
  expect_sound(program);
  EXPECT_EQ(rename_input(program, "image", "a b").error().code, ErrorCode::argument);
  EXPECT_EQ(rename_input(program, "image", "scores").error().code, ErrorCode::argument);
  EXPECT_EQ(rename_input(program, "x", "y").error().code, ErrorCode::argument);
}

// PyTorch generates a function from the program. It has the arguments of forward, also those that
// are no values, and its code uses some names itself.
TEST(EditProgram, GivesNoNameThatAnArgumentOrGeneratedCodeHas) {
  Program constants = program_of(corpus("2.15.0/constant_inputs.pt2"));
  for (const char* name : {"i", "self", "torch", "pytree"}) {
    EXPECT_EQ(rename_input(constants, "x", name).error().code, ErrorCode::argument) << name;
    EXPECT_EQ(rename_output(constants, "add", name).error().code, ErrorCode::argument) << name;
  }
  Program program = program_of(corpus("2.15.0/odd_inputs.pt2"));
  for (ModuleCallEntry& entry : program.module_call_graph)
    if (entry.fqn.empty()) (*entry.signature->forward_arg_names)[1] = "other";
  EXPECT_EQ(rename_input(program, "scalar", "other").error().message,
            "the name 'other' is taken: an argument has it");
  EXPECT_TRUE(rename_input(program, "scalar", "one").has_value());
}

// Of a loss and of gradients callers know other names than the graph ("loss", "grad.w").
TEST(EditProgram, RenamesALossAndGradients) {
  for (const bool by_position : {false, true}) {
    ProgramBuilder builder;
    const TensorMeta vector = builder.tensor(Dtype::float32, {3});
    const ValueId w = builder.input("w", vector);
    builder.output(builder.call("torch.ops.aten.sum.default", {arg("self", w)},
                                builder.tensor(Dtype::float32, {})));
    builder.output(builder.call("torch.ops.aten.ones_like.default", {arg("self", w)}, vector));
    Program program = std::move(builder).finish().value();
    std::vector<OutputSpec>& specs = program.signature.output_specs;
    specs[0].kind = OutputKind::loss_output;
    specs[1].kind = OutputKind::gradient_to_user_input;
    specs[1].target = "w";
    EXPECT_EQ(graph_output_names(program), (std::vector<std::string>{"loss", "grad.w"}));
    ASSERT_TRUE(rename_output(program, by_position ? "0" : "loss", "total").has_value());
    ASSERT_TRUE(rename_output(program, by_position ? "1" : "grad.w", "slope").has_value());
    EXPECT_EQ(specs[0].arg.name, "total");
    EXPECT_EQ(specs[1].arg.name, "slope");
    EXPECT_EQ(rename_output(program, "2", "more").error().message,
              "there is no output '2'; the program returns: loss, grad.w");
  }
}

TEST(EditProgram, RenamesTheKeyOfAResult) {
  Program program = program_of(corpus("2.15.0/pytree_nested.pt2"));
  ASSERT_TRUE(rename_output(program, "sum", "scores").has_value());
  EXPECT_EQ(user_output_names(program)[0], "scores");
  expect_sound(program);
  EXPECT_EQ(rename_output(program, "scores", "list").error().code, ErrorCode::argument);
}

TEST(EditProgram, RenamesNoFieldOfAResult) {
  Program program = program_of(corpus("2.3.1/pytree_namedtuple.pt2"));
  EXPECT_EQ(rename_output(program, "left", "first").error().code, ErrorCode::unsupported);
}

TEST(EditProgram, RenamesNoPartOfAnInput) {
  Program program = program_of(corpus("2.15.0/pytree_nested.pt2"));
  EXPECT_EQ(rename_input(program, user_input_names(program)[0], "least").error().code,
            ErrorCode::unsupported);
}

TEST(EditProgram, ReturnsNoTruthValue) {
  Program program = program_of(corpus("2.8.0/dynamic_derived.pt2"));
  EXPECT_EQ(add_output(program, "eq").error().code, ErrorCode::unsupported);
  const std::vector<std::string> nothing, to{"eq"};
  EXPECT_EQ(extract(program, nothing, to).error().code, ErrorCode::unsupported);
}

TEST(EditProgram, SaysThatAValueIsInANestedGraph) {
  Program program = program_of(corpus("2.15.0/cond.pt2"));
  EXPECT_EQ(add_output(program, "cos").error().message,
            "value 'cos' is in a nested graph, expected one of the outer graph");
}

TEST(EditProgram, TakesAPartOut) {
  const Program whole = program_of(corpus("2.15.0/mlp.pt2"));
  Program head = whole;
  const std::vector<std::string> from{"x"}, middle{"relu"}, to{"linear_1"};
  ASSERT_TRUE(extract(head, from, middle).has_value());
  EXPECT_EQ(head.graph.nodes().size(), 2u);
  expect_sound(head);
  Program tail = whole;
  ASSERT_TRUE(extract(tail, middle, to).has_value());
  EXPECT_EQ(tail.graph.nodes().size(), 1u);
  EXPECT_EQ(user_input_names(tail), std::vector<std::string>{"relu"});
  expect_sound(tail);
  EXPECT_EQ(extract(tail, from, to).error().code, ErrorCode::argument);
}

TEST(EditProgram, ExposesValuesAndSetsArguments) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  ASSERT_TRUE(add_output(program, "%relu").has_value());
  EXPECT_EQ(program.signature.user_outputs().size(), 2u);
  expect_sound(program);
  EXPECT_EQ(add_output(program, "ghost").error().code, ErrorCode::argument);
  EXPECT_EQ(set_argument(program, "relu.self", "3").error().code, ErrorCode::argument);
  EXPECT_EQ(set_argument(program, "relu.ghost", "3").error().code, ErrorCode::argument);
  EXPECT_EQ(set_argument(program, "linear.ghost", "3").error().message,
            "the node has no argument 'ghost'; it has: input, weight, bias");
  EXPECT_EQ(set_argument(program, "x.self", "3").error().code, ErrorCode::argument);
  Program dropout = program_of(corpus("2.15.0/dropout_train.pt2"));
  NodeId with_p{};
  for (const NodeId id : dropout.graph.nodes())
    if (dropout.graph.node(id).find_input("p") != nullptr) with_p = id;
  const Node& found = dropout.graph.node(with_p);
  const std::string name =
      dropout.graph.value(*found.outputs[0].get_if<ValueId>()).name + std::string(".p");
  ASSERT_TRUE(set_argument(dropout, name, "0.25").has_value());
  EXPECT_EQ(*dropout.graph.node(with_p).find_input("p")->get_if<double>(), 0.25);
  // The node leaves alpha at its default of 1.
  Program sum = program_of(corpus("2.15.0/dim_auto.pt2"));
  ASSERT_TRUE(set_argument(sum, "add.alpha", "3").has_value());
  const NodeId add = sum.graph.value(*sum.graph.find_value("add")).definition.node;
  EXPECT_EQ(*sum.graph.node(add).find_input("alpha")->get_if<int64_t>(), 3);
  expect_sound(sum);
}

TEST(EditProgram, ExposesAfterWhatIsWritten) {
  Program program = program_of(corpus("2.15.0/buffer_mutation_functional.pt2"));
  auto& specs = program.signature.output_specs;
  ASSERT_EQ(specs.size(), 3u);
  specs.pop_back();
  const auto outputs = program.graph.outputs();
  program.graph.set_outputs({outputs[0], outputs[1]});
  program.module_call_graph[0].signature->out_spec = print_tree_spec(make_tuple_spec({}));
  ASSERT_TRUE(add_output(program, "mul").has_value());
  EXPECT_EQ(specs.back().kind, OutputKind::user_output);
  expect_sound(program);
}

TEST(EditProgram, TakesOutWhatAModuleComputes) {
  const Program whole = program_of(corpus("2.15.0/module_calls.pt2"));
  Program part = whole;
  ASSERT_TRUE(extract_module(part, "inner").has_value());
  EXPECT_EQ(part.graph.nodes().size(), 3u);
  EXPECT_EQ(user_input_names(part).size(), 1u);
  expect_sound(part);
  // A module that is called twice has one name for each call.
  for (const char* name : {"shared", "shared@1"}) {
    Program call = whole;
    ASSERT_TRUE(extract_module(call, name).has_value()) << name;
    EXPECT_EQ(call.graph.nodes().size(), 1u) << name;
    expect_sound(call);
  }
  for (const char* name : {"", "ghost", "inner.fc"})
    EXPECT_EQ(extract_module(part, name).error().code, ErrorCode::argument) << name;
}

// The nodes at the begin and the end of a vmap have no results, so no value depends on them.
TEST(EditProgram, TakesNoPieceOfAVmap) {
  Program program = program_of(corpus("2.15.0/vmap_forms.pt2"));
  std::vector<std::string> to;
  for (const NodeId id : program.graph.nodes())
    if (program.graph.node(id).target.ends_with("._remove_batch_dim"))
      for_each_value(program.graph.node(id).outputs[0],
                     [&](ValueId value) { to = {program.graph.value(value).name}; });
  ASSERT_FALSE(to.empty());
  EXPECT_EQ(extract(program, {}, to).error().code, ErrorCode::unsupported);
}

// A value that is overwritten later cannot become a result: at the end it has other elements.
TEST(EditProgram, ExposesNothingThatIsWrittenLater) {
  ProgramBuilder builder;
  const auto type = [&] { return builder.tensor(Dtype::float32, {2, 3}); };
  const ValueId x = builder.input("x", type());
  const ValueId copy = builder.call("torch.ops.aten.clone.default", {arg("self", x)}, type());
  const ValueId added =
      builder.call("torch.ops.aten.add.Tensor", {arg("self", x), arg("other", copy)}, type());
  builder.output(builder.call("torch.ops.aten.relu_.default", {arg("self", copy)}, type()));
  Program program = std::move(builder).finish().value();
  const auto name = [&](ValueId id) { return program.graph.value(id).name; };
  const auto refused = add_output(program, name(copy));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  const auto taken = add_output(program, name(added));
  EXPECT_TRUE(taken) << taken.error().text();
  const std::string before = print_program(program);
  const std::vector<std::string> names = {name(added), name(copy)};
  EXPECT_EQ(add_outputs(program, names).error().text(), refused.error().text());
  EXPECT_EQ(print_program(program), before);
}

TEST(EditProgram, ExposesSeveralValuesAsOneAfterTheOther) {
  Program program = program_of(corpus("2.15.0/mlp.pt2")), one_by_one = program;
  const std::vector<std::string> names = {"%linear", "relu", "relu", "x"};
  ASSERT_TRUE(add_outputs(program, names));
  for (const std::string& name : names) ASSERT_TRUE(add_output(one_by_one, name));
  EXPECT_EQ(print_program(program), print_program(one_by_one));
  expect_sound(program);
}

// Unknown operators have no signature: their present arguments decide which kinds are allowed.
TEST(EditProgram, KeepsTheKindsOfUnknownOperatorsArguments) {
  Program custom = program_of(corpus("2.15.0/custom_op.pt2"));
  ASSERT_TRUE(set_argument(custom, "scale_shift.a", "0.5").has_value());
  for (const char* text : {"\"abc\"", "[1, 2]", "none"})
    EXPECT_EQ(set_argument(custom, "scale_shift.a", text).error().code, ErrorCode::argument)
        << text;
  Program cond = program_of(corpus("2.15.0/cond.pt2"));
  EXPECT_EQ(set_argument(cond, "getitem.", "[1]").error().code, ErrorCode::argument);
}

TEST(EditProgram, SaysWhyAnInputOrARangeIsNoGood) {
  Program program = program_of(corpus("2.15.0/constant_inputs.pt2"));
  const auto constant = rename_input(program, "b", "c");
  EXPECT_NE(constant.error().message.find("is a constant"), std::string::npos);
  const auto empty = free_dim(program, "x", 0, "n", {9, 3});
  EXPECT_NE(empty.error().message.find("which is empty"), std::string::npos);
}

TEST(EditProgram, MovesToAnotherDevice) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  set_device(program, {"cuda", 0});
  EXPECT_EQ(program.graph.value(*program.graph.find_value("relu")).tensor()->device.type, "cuda");
}

// torch.export.passes.move_to_device_pass writes devices as text.
TEST(EditProgram, MovesWhatNamesItsDevice) {
  Program program = program_of(corpus("2.15.0/input_mutation_functional.pt2"));
  const NodeId arange = program.graph.value(*program.graph.find_value("arange")).definition.node;
  for (size_t i = 0; i < program.graph.node(arange).inputs.size(); ++i)
    if (program.graph.node(arange).inputs[i].name == "device")
      program.graph.set_node_input(arange, i, Argument(std::string("cpu")));
  set_device(program, {"cuda", 0});
  const Argument* moved = program.graph.node(arange).find_input("device");
  ASSERT_TRUE(moved->is<Device>());
  EXPECT_EQ(*moved->get_if<Device>(), (Device{"cuda", 0}));
}

}  // namespace
}  // namespace pt2
