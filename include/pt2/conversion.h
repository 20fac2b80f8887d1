// Converts a program of one PyTorch release for another: up to the newest, or down to the release
// that a consumer is pinned to. What the other release can express in another form is rewritten.
// For the rest there are blockers, and no file is written.
//
//   PT2_TRY(const pt2::Package package, pt2::Package::open("model.pt2"));
//   PT2_TRY(pt2::Conversion conversion,
//           pt2::convert(package, {.target = pt2::conversion_target("torch-2.6").value()}));
//   if (conversion.blockers.empty())
//     PT2_TRY_VOID(pt2::save_package(conversion.contents, "old.pt2"));
#ifndef PT2_CONVERSION_H
#define PT2_CONVERSION_H

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/limits.h"
#include "pt2/package.h"
#include "pt2/release.h"
#include "pt2/save.h"

namespace pt2 {

// What may keep a release from taking a file. `loss` names what a user gives up by accepting it
// (ConvertOptions::losses); it is empty where the program would compute something else.
enum class BlockerKind : uint8_t {
#define PT2_BLOCKER(name, loss, what, source) name,
#include "pt2/blockers.def"
};
struct BlockerInfo {
  BlockerKind kind;
  std::string_view name;
  std::string_view loss;
  std::string_view what;
  std::string_view source;  // in PyTorch
};
// Every kind, in the order of the table; static storage.
std::span<const BlockerInfo> blocker_kinds();

// One thing that a release cannot take.
struct Blocker {
  BlockerKind kind;
  std::string text{};   // "the argument kind as_complex"
  std::string where{};  // "model: .graph_module.graph.nodes[3].inputs[1].arg", a record, a name
  NodePlace node{};
  const Release* first = nullptr;  // the first release that could take it; null: none

  const BlockerInfo& info() const;
  // "operator_name: %rms_norm (…): torch.ops.aten.rms_norm.default came with 2.4; needs PyTorch 2.4
  // or later".
  std::string line() const;
};

// A rewriting that conversion knows: static, for documentation and reports.
struct RewriteInfo {
  std::string_view name;
  std::string_view what;
  std::string_view source;  // in PyTorch
};
std::span<const RewriteInfo> rewrites();

// What to write: a schema version, in the layout and with the conventions of a release.
struct ConversionTarget {
  const Release* release = nullptr;
  int schema = 0;  // the release's, or one between it and the release before
};
// "torch-2.6", "2.6", "newest"; a schema version after "schema ": "schema 8.14". Error `argument`.
Result<ConversionTarget> conversion_target(std::string_view text);

struct ConvertOptions {
  // Without a release: the file's own.
  ConversionTarget target{};
  // Names of BlockerInfo::loss that are accepted.
  std::set<std::string, std::less<>> losses{};
  Limits limits{};
};

struct Conversion {
  ConversionTarget target{};
  // What to save; not to be used when there are blockers.
  PackageContents contents{};
  std::vector<Blocker> blockers{};
  // Accepted losses, as the blockers that they would have been.
  std::vector<Blocker> lost{};
  // Names of rewritings that changed something, in the order of rewrites().
  std::vector<std::string_view> rewritten{};
};

// Payloads stay in the package's mapped file, which the contents keep alive. A package that is
// already of this release and layout comes back as it is. Errors: those of package_contents and
// Package::payloads; `argument` for a loss that nobody knows; `unsupported` for containers and bare
// documents. Linear in the programs.
Result<Conversion> convert(const Package& package, const ConvertOptions& options);
// The oldest release that takes the package without blockers, and the conversion for it. If no
// release does, the conversion for the newest.
Result<Conversion> convert_for_oldest(const Package& package, const ConvertOptions& options);

// Why torch.export.load of a release cannot load a file as it is. Without blockers it can.
struct LoadObstacles {
  const Release* release;
  std::vector<Blocker> blockers;
};
// For every release, in the order of releases(). Errors: those of Package::schema. Linear in the
// programs, times the releases.
Result<std::vector<LoadObstacles>> load_obstacles(const Package& package);

}  // namespace pt2

#endif  // PT2_CONVERSION_H
