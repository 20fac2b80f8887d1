// Hashes of one module's files from several PyTorch releases are equal wherever the canonical
// programs are equal.
#include "pt2/tools/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "lower/written_memory.h"
#include "package/corpus.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/canonicalize.h"
#include "serde/from_schema.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

// Returns the canonical program in the newest release's spelling, without versions, guards and
// other information about the release.
std::string canonical_text(const Program& program) {
  Program canonical = canonicalize(program, TieBreak::content).value();
  canonical.torch_version.clear();
  canonical.schema_version = {8, 20};
  canonical.guards_code.clear();
  canonical.opset_version.clear();
  for_each_graph(canonical.graph, [](Graph& graph) {
    for (const NodeId id : graph.nodes()) {
      graph.set_node_metadata(id, {});
      graph.set_node_name(id, std::nullopt);
    }
  });
  return schema::encode_program(to_schema(canonical));
}

std::string bytes_of(const PayloadTensor& payload) {
  if (!payload.missing.empty()) return payload.missing;
  const Tensor tensor = payload.tensor.contiguous();
  return tensor.type_text() + std::string(reinterpret_cast<const char*>(tensor.raw_data()),
                                          static_cast<size_t>(tensor.nbytes()));
}

bool same_tensors(const Payloads& left, const Payloads& right) {
  return left.tensors().size() == right.tensors().size() &&
         std::ranges::all_of(left.tensors(), [&](const PayloadTensor& each) {
           const PayloadTensor* other = right.find(each.kind, each.name);
           return other != nullptr && bytes_of(each) == bytes_of(*other);
         });
}

struct File {
  std::string path, program, weights;
  std::shared_ptr<const Payloads> payloads;
};

TEST(Hash, IsThatOfEveryFileWithTheSameCanonicalProgram) {
  std::map<std::pair<std::string, std::string>, std::vector<File>> groups;
  for (const corpus::File& each : corpus::files()) {
    const Package package = Package::open(each.path).value();
    if (package.models().size() != 1) continue;
    const Program& program = *package.program().value();
    const auto payloads = package.payloads();
    if (!payloads) continue;
    const auto weights = hash_weights(program, **payloads);
    groups[{each.name, canonical_text(program)}].push_back(
        {each.path, hash_program(program), weights ? *weights : "", *payloads});
  }
  size_t compared = 0, equal_weights = 0, several = 0;
  for (const auto& [key, files] : groups) {
    several += files.size() > 1;
    for (size_t i = 1; i < files.size(); ++i) {
      ++compared;
      EXPECT_EQ(files[i].program, files[0].program) << files[i].path << " and " << files[0].path;
      if (!same_tensors(*files[i].payloads, *files[0].payloads)) continue;
      ++equal_weights;
      EXPECT_EQ(files[i].weights, files[0].weights) << files[i].path << " and " << files[0].path;
    }
  }
  RecordProperty("groups", std::to_string(several));
  std::printf(
      "%zu programs of several releases, %zu files equal to the first of them, %zu with "
      "equal weights\n",
      several, compared, equal_weights);
  EXPECT_GT(compared, 50u);
  EXPECT_GT(equal_weights, 50u);
}

// Skips programs that write to memory. Their canonical form is another program: PyTorch moves reads
// before writes.
TEST(Hash, IsThatOfTheCanonicalFormItself) {
  for (const corpus::File& each : corpus::files()) {
    const Package package = Package::open(each.path).value();
    if (package.models().size() != 1) continue;
    const Program& program = *package.program().value();
    if (writes(program.graph)) continue;
    for (const TieBreak tie : {TieBreak::position, TieBreak::content}) {
      const auto canonical = canonicalize(program, tie);
      if (!canonical) continue;
      EXPECT_EQ(hash_program(*canonical), hash_program(program)) << each.path;
      Diagnostics warnings;
      const auto read = from_schema(
          schema::decode_program(schema::encode_program(to_schema(*canonical)), Limits{}, warnings)
              .value());
      ASSERT_TRUE(read) << each.path << ": " << read.error().text();
      EXPECT_EQ(hash_program(*read), hash_program(program)) << each.path;
    }
  }
}

}  // namespace
}  // namespace pt2
