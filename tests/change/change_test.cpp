// Changes files and runs them again.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "change/corpus_files.h"
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

using test::corpus, test::open;

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

}  // namespace
}  // namespace pt2
