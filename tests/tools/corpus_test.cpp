// Every verb that reads files accepts every real file. The programs in kRunnable give PyTorch's
// results in every release that has them.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "command_runner.h"

namespace pt2::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> corpus_files() {
  std::vector<fs::path> folders{PT2_TEST_DATA "/corpus"};
  if (const char* larger = std::getenv("PT2_CORPUS")) folders.emplace_back(larger);
  std::vector<fs::path> files;
  for (const fs::path& folder : folders)
    for (const auto& file : fs::recursive_directory_iterator(folder))
      if (file.path().extension() == ".pt2" && file.path().parent_path().filename() != "negative")
        files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Corpus, EveryFileOpensWithoutAWord) {
  for (const fs::path& file : corpus_files())
    for (const std::vector<std::string>& verb : {std::vector<std::string>{"info"},
                                                 {"info", "--json"},
                                                 {"ls"},
                                                 {"ls", "--tensors"},
                                                 {"json"},
                                                 {"ops"},
                                                 {"verify"}}) {
      std::vector<std::string> arguments = verb;
      arguments.push_back(file.string());
      const CommandResult result = run_pt2(arguments);
      EXPECT_EQ(result.exit_code, 0) << verb[0] << " " << file << "\n" << result.out;
      EXPECT_EQ(result.err, "") << verb[0] << " " << file;
    }
}

// Programs whose operators are all available.
const std::set<std::string> kRunnable = {"mlp",
                                         "mlp_decomposed",
                                         "conv_bn_relu",
                                         "conv_bn_decomposed",
                                         "embedding_layernorm",
                                         "transformer",
                                         "transformer_decomposed",
                                         "dynamic_batch",
                                         "dynamic_range",
                                         "dynamic_derived",
                                         "dynamic_nested",
                                         "dim_auto",
                                         "dim_dynamic",
                                         "pytree_nested",
                                         "kwargs_inputs",
                                         "keyword_names",
                                         "tied_weights",
                                         "shared_storage",
                                         "buffer_mutation",
                                         "buffer_mutation_functional",
                                         "input_mutation",
                                         "input_mutation_functional",
                                         "inplace_ops",
                                         "dtypes_int",
                                         "dtypes_float",
                                         "dtypes_complex",
                                         "dtypes_uint",
                                         "special_floats"};

TEST(Corpus, RecordedCallsGiveTheRecordedNumbers) {
  size_t count = 0;
  for (const fs::path& file : corpus_files()) {
    if (!kRunnable.contains(file.stem().string())) continue;
    const CommandResult result = run_pt2({"test", file.string()});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    ++count;
  }
  EXPECT_GT(count, 100u);
}

}  // namespace
}  // namespace pt2::test
