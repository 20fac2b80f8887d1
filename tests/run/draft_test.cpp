// Real programs are converted to the early draft, through its JSON, and back. The report names
// everything that the draft cannot express.
#include "pt2/format/draft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "package/corpus.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/canonicalize.h"
#include "pt2/model.h"
#include "pt2/ops/operators.h"
#include "pt2/package.h"
#include "pt2/save.h"
#include "pt2/tools/recorded_calls.h"
#include "pt2/tools/replay.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

void forget_hint(schema::SymInt& value) {
  if (auto* expr = value.get_if<schema::SymIntCase::as_expr>()) expr->hint.reset();
}

// Returns the program's canonical form without the parts that the draft omits by design.
std::string canonical(Program program) {
  program.schema_version = {8, 20};
  program.module_call_graph.clear();
  schema::ExportedProgram source = to_schema(canonicalize(program).value());
  source.trace = {};
  source.torch_version.clear();
  for (auto& [name, meta] : source.graph_module.graph.tensor_values) {
    for (schema::SymInt& size : meta.sizes) forget_hint(size);
    for (schema::SymInt& stride : meta.strides) forget_hint(stride);
  }
  for (auto& [name, value] : source.graph_module.graph.sym_int_values) forget_hint(value);
  return schema::encode_program(source);
}

// Returns the calls recorded beside the file, if any.
std::vector<RecordedCall> calls_beside(const std::string& path) {
  const auto file = map_file(fs::path(path).replace_extension(".safetensors").string());
  if (!file) return {};
  return read_recorded_calls(read_safetensors(*file).value()).value().calls;
}

TEST(Draft, RealProgramsComeBack) {
  size_t expressible = 0, refused = 0, replayed = 0;
  for (const corpus::File& file : corpus::files()) {
    // Files before schema 8.4 do not say which arguments are positional.
    if (file.release != "2.7.1" && file.release != "2.15.0") continue;
    SCOPED_TRACE(file.path);
    const auto package = Package::open(file.path);
    ASSERT_TRUE(package) << package.error().text();
    if (package->models().size() != 1) continue;
    DraftReport report;
    const auto written = package_draft(*package, {}, report);
    EXPECT_EQ(written.has_value(), report.inexpressible.empty());
    if (!written) {
      EXPECT_EQ(written.error().code, ErrorCode::unsupported);
      ++refused;
      continue;
    }
    const std::string json = write_draft(written->module);
    Diagnostics warnings;
    const auto read = read_draft(json, {}, warnings);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_TRUE(write_draft(*read) == json);
    auto program = from_draft(*read);
    ASSERT_TRUE(program) << program.error().text();
    name_positional_arguments(*program);
    const Program& original = **package->program();
    // The draft has no argument names. Signatures supply them, but custom operators have none here.
    if (!std::ranges::all_of(operators_used(original), &OperatorUse::has_kernel)) continue;
    // The draft may change the signature. For example, constants become buffers.
    const bool has_same_signature =
        std::ranges::none_of(report.left_out, [](const std::string& what) {
          return what.starts_with("signature.") && !what.ends_with("shares its storage");
        });
    if (has_same_signature) {
      EXPECT_EQ(canonical(*program), canonical(original));
    }
    ++expressible;

    // Opened as a file, the draft gives PyTorch's numbers.
    const Record record = make_record(json);
    auto opened = Package::open_bytes(record.bytes, record.owner, "x.draft.json");
    ASSERT_TRUE(opened) << opened.error().text();
    const auto model = Model::from_package(std::make_shared<const Package>(*std::move(opened)));
    ASSERT_TRUE(model) << model.error().text();
    Session session(*model);
    for (const RecordedCall& call : calls_beside(file.path)) {
      const CallReport result = replay(session, call);
      EXPECT_TRUE(result.passed()) << (result.differences.empty() ? "" : result.differences[0]);
      ++replayed;
    }
  }
  std::printf("%zu programs came back, %zu are inexpressible, %zu calls\n", expressible, refused,
              replayed);
  EXPECT_GE(expressible, 70u);
  EXPECT_GE(refused, 19u);
  EXPECT_GE(replayed, 110u);
}

std::string inexpressible(const std::string& name) {
  const Package package =
      Package::open(std::string(PT2_TEST_DATA) + "/corpus/2.15.0/" + name + ".pt2").value();
  DraftReport report;
  EXPECT_FALSE(package_draft(package, {}, report));
  return report.inexpressible.empty() ? "" : report.inexpressible.front();
}

TEST(Draft, NamesWhatItCannotExpress) {
  EXPECT_EQ(inexpressible("buffer_mutation_functional"),
            "signature.output_specs[0]: a buffer_mutation");
  EXPECT_EQ(inexpressible("symint_io"), "graph.inputs[1]: it is not a tensor");
  EXPECT_EQ(inexpressible("constant_inputs"), "graph.inputs[1]: it is not a tensor");
  EXPECT_EQ(inexpressible("dtypes_uint"), "signature.input_specs[0]: the dtype uint16");
}

}  // namespace
}  // namespace pt2
