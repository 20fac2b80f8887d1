// Measures whether reading, verifying, canonicalizing, printing and writing a graph take time in
// proportion to its nodes. graph_scale [NODES] prints a table of the fastest rounds for NODES/4,
// NODES/2 and NODES (default: 100,000). Exits with 1 if a step of the largest graph takes a second
// or more, or if memory exceeds 2 KB per node beside the text of metadata.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "pt2/format/schema_json.h"
#include "pt2/ir/builder.h"
#include "pt2/ir/canonicalize.h"
#include "pt2/ir/program_text.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/verify.h"
#include "serde/from_schema.h"
#include "serde/to_schema.h"

namespace {

using pt2::arg;

constexpr double kMaxSeconds = 1;
constexpr double kMaxBytesPerNode = 2048;
constexpr int kRounds = 3;

// Builds a residual network. Every value has one to three users, sizes are symbolic, and each node
// has metadata as torch.export writes it.
pt2::Program make_program(size_t nodes) {
  pt2::ProgramBuilder builder;
  const pt2::SymInt batch = builder.dim("s0", {1, 64}, 8);
  const auto meta = builder.tensor(pt2::Dtype::float32, {batch, 8});
  pt2::ValueId x = builder.input("x", meta);
  const pt2::ValueId weight =
      builder.parameter("weight", builder.tensor(pt2::Dtype::float32, {8, 8}));
  for (size_t i = 0; i + 3 <= nodes; i += 3) {
    const auto y = builder.call("torch.ops.aten.linear.default",
                                {arg("input", x), arg("weight", weight)}, meta);
    const auto z = builder.call("torch.ops.aten.relu.default", {arg("self", y)}, meta);
    x = builder.call("torch.ops.aten.add.Tensor", {arg("self", x), arg("other", z)}, meta);
  }
  builder.output(x);
  pt2::Program program = std::move(builder).finish().value();
  for (pt2::NodeId id : program.graph.nodes())
    program.graph.set_node_metadata(
        id, {{"stack_trace", "File \"model.py\", line 178, in forward\n    return self.fc2(x)"},
             {"nn_module_stack",
              "L__self__,,__main__.Model;L__self___fc2,fc2,torch.nn.modules.linear.Linear"}});
  return program;
}

size_t metadata_bytes(const pt2::Program& program) {
  size_t bytes = 0;
  for (pt2::NodeId id : program.graph.nodes())
    for (const auto& [key, value] : program.graph.node(id).metadata)
      bytes += key.size() + value.size();
  return bytes;
}

double fastest(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

bool measure(size_t nodes) {
  const pt2::Program program = make_program(nodes);
  const std::string json = pt2::schema::encode_program(pt2::to_schema(program));
  pt2::Diagnostics warnings;
  const auto source = pt2::schema::decode_program(json, {}, warnings).value();

  const size_t before = mallinfo2().uordblks;
  const pt2::Program read = pt2::from_schema(source).value();
  const double bytes_per_node =
      static_cast<double>(mallinfo2().uordblks - before - metadata_bytes(read)) /
      static_cast<double>(nodes);

  const std::string text = pt2::print_program(program, {.metadata = true});
  std::vector<pt2::Error> errors;

  const std::pair<const char*, std::function<void()>> steps[] = {
      {"decode", [&] { pt2::schema::decode_program(json, {}, warnings).value(); }},
      {"from_schema", [&] { pt2::from_schema(source).value(); }},
      {"verify",
       [&] {
         const auto findings = pt2::verify_program(read, "scale", pt2::Level::full,
                                                   {.operators = pt2::check_operators});
         for (const auto& finding : findings.all()) std::puts(finding.line().c_str());
       }},
      {"canonicalize", [&] { pt2::canonicalize(read).value(); }},
      {"by content", [&] { pt2::canonicalize(read, pt2::TieBreak::content).value(); }},
      {"print", [&] { pt2::print_program(read, {.metadata = true}); }},
      {"parse", [&] { pt2::parse_program(text, "scale.txt", errors).value(); }},
      {"to_schema", [&] { pt2::to_schema(read); }},
      {"encode", [&] { pt2::schema::encode_program(source); }},
  };
  bool ok = bytes_per_node < kMaxBytesPerNode;
  std::printf("%9zu %8.1f %9.0f", nodes, static_cast<double>(json.size()) / 1e6, bytes_per_node);
  for (const auto& [name, work] : steps) {
    const double seconds = fastest(work);
    ok &= seconds < kMaxSeconds;
    std::printf(" %12.3f", seconds);
  }
  std::puts("");
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t nodes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  std::printf("%9s %8s %9s %12s %12s %12s %12s %12s %12s %12s %12s %12s\n", "nodes", "MB json",
              "B/node", "decode s", "from_schema", "verify", "canonicalize", "by content", "print",
              "parse", "to_schema", "encode");
  measure(nodes / 4);
  measure(nodes / 2);
  const bool ok = measure(nodes);
  std::printf("%s: each step under %.0f s, under %.0f bytes a node beside metadata\n",
              ok ? "reached" : "MISSED", kMaxSeconds, kMaxBytesPerNode);
  return ok ? 0 : 1;
}
