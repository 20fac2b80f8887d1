// Every recorded call of every real program whose operators this build has gives PyTorch's results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/mapped_file.h"
#include "pt2/model.h"
#include "pt2/replay.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

// What must run in every release that has it.
const std::set<std::string> kMustRun = {"mlp",
                                        "mlp_decomposed",
                                        "conv_bn_relu",
                                        "conv_bn_decomposed",
                                        "transformer",
                                        "transformer_decomposed",
                                        "embedding_layernorm",
                                        "dynamic_batch",
                                        "dynamic_derived",
                                        "dynamic_nested",
                                        "dynamic_range",
                                        "dim_auto",
                                        "dim_dynamic",
                                        "pytree_nested",
                                        "kwargs_inputs",
                                        "tied_weights",
                                        "shared_storage",
                                        "buffer_mutation",
                                        "buffer_mutation_functional",
                                        "input_mutation",
                                        "input_mutation_functional",
                                        "inplace_ops",
                                        "dtypes_float",
                                        "dtypes_int",
                                        "dtypes_complex",
                                        "dtypes_uint",
                                        "dtypes_float8",
                                        "special_floats",
                                        "cond",
                                        "cond_simple",
                                        "while_loop",
                                        "map_op",
                                        "scan",
                                        "associative_scan",
                                        "vmap",
                                        "no_grad_region",
                                        "no_grad_simple",
                                        "no_grad_decomposed",
                                        "autocast_region",
                                        "checkpoint"};

std::vector<fs::path> programs() {
  std::vector<fs::path> roots = {fs::path(PT2_TEST_DATA) / "corpus"};
  if (const char* more = std::getenv("PT2_CORPUS")) roots.emplace_back(more);
  std::vector<fs::path> out;
  for (const fs::path& root : roots)
    for (const auto& release : fs::directory_iterator(root))
      if (release.is_directory() && release.path().filename().string().starts_with("2."))
        for (const auto& file : fs::directory_iterator(release))
          if (file.path().extension() == ".pt2") out.push_back(file.path());
  std::sort(out.begin(), out.end());
  return out;
}

// What PyTorch itself got wrong.
bool is_known_defect(const std::string& place) {
  // defaultdict is taken for dict, and its entry is lost from the program.
  return place == "2.6.0/pytree_containers.pt2";
}

TEST(Corpus, RecordedCallsGivePyTorchsResults) {
  size_t passed = 0;
  size_t without_kernels = 0;
  for (const fs::path& path : programs()) {
    const std::string place =
        path.parent_path().filename().string() + "/" + path.filename().string();
    auto recorded_path = path;
    recorded_path.replace_extension(".safetensors");
    if (!fs::exists(recorded_path) || is_known_defect(place)) continue;
    auto model = Model::load(path.string());
    if (!model) {
      if (model.error().code == ErrorCode::unsupported &&
          !kMustRun.contains(path.stem().string())) {
        ++without_kernels;
        if (std::getenv("PT2_VERBOSE"))
          std::printf("%s: %s\n", place.c_str(), model.error().text().c_str());
      } else {
        ADD_FAILURE() << place << ": " << model.error().text();
      }
      continue;
    }
    auto file = MappedFile::open(recorded_path.string());
    ASSERT_TRUE(file);
    auto safetensors = read_safetensors({(*file)->bytes(), *file});
    ASSERT_TRUE(safetensors) << place << safetensors.error().text();
    auto calls = read_recorded_calls(*safetensors);
    ASSERT_TRUE(calls) << place << calls.error().text();
    Session session(*model);
    for (size_t i = 0; i < calls->calls.size(); ++i) {
      const CallReport report = replay(session, calls->calls[i]);
      if (report.passed()) ++passed;
      for (const std::string& difference : report.differences)
        ADD_FAILURE() << place << " call " << i << ": " << difference;
    }
  }
  std::printf("%zu calls passed; %zu programs need operators that are missing\n", passed,
              without_kernels);
  EXPECT_GT(passed, 0u);
}

}  // namespace
}  // namespace pt2
