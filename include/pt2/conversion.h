// Converts a program of one PyTorch release for another: up to the newest, or down to the release
// that a consumer is pinned to. Constructs that the target release can express in another form are
// rewritten. Other constructs that it does not support are blockers, and then no file is written.
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

// The kinds of constructs that a release may not support.
enum class BlockerKind : uint8_t {
#define PT2_BLOCKER(name, loss, what, source) name,
#include "pt2/blockers.def"
};
struct BlockerInfo {
  BlockerKind kind;
  std::string_view name;
  // The name under which a user may accept to drop the construct (ConvertOptions::losses). Empty if
  // dropping it would change the results of the program.
  std::string_view loss;
  std::string_view what;
  std::string_view source;  // in PyTorch
};
// Returns every kind, in the order of the table. Static storage.
std::span<const BlockerInfo> blocker_kinds();

// One construct of a program that a release does not support.
struct Blocker {
  BlockerKind kind;
  std::string text{};   // "the argument kind as_complex"
  std::string where{};  // "model: .graph_module.graph.nodes[3].inputs[1].arg", a record, a name
  NodePlace node{};
  const Release* first = nullptr;  // the first release that supports it; null: none

  const BlockerInfo& info() const;
  // Returns the blocker as text: "operator_name: %rms_norm (…): torch.ops.aten.rms_norm.default
  // came with 2.4; needs PyTorch 2.4 or later".
  std::string line() const;
};

// A rewriting that conversion knows, for documentation and reports. Static storage.
struct RewriteInfo {
  std::string_view name;
  std::string_view what;
  std::string_view source;  // in PyTorch
};
std::span<const RewriteInfo> rewrites();

// The target of a conversion: a schema version, in the layout and with the conventions of a
// release.
struct ConversionTarget {
  const Release* release = nullptr;
  int schema = 0;  // that of the release, or a version between it and the release before
};
// Parses a target: "torch-2.6", "2.6", "newest", "schema 8.14". Error `argument`.
Result<ConversionTarget> conversion_target(std::string_view text);

struct ConvertOptions {
  // A target without a release means the release of the file.
  ConversionTarget target{};
  // The accepted losses, by BlockerInfo::loss.
  std::set<std::string, std::less<>> losses{};
  Limits limits{};
};

struct Conversion {
  ConversionTarget target{};
  // The contents to save. Not usable if there are blockers.
  PackageContents contents{};
  std::vector<Blocker> blockers{};
  // The accepted losses that occurred, as the blockers that they would be otherwise.
  std::vector<Blocker> lost{};
  // Names of rewritings that changed the program, in the order of rewrites().
  std::vector<std::string_view> rewritten{};
};

// Converts a package. Payloads stay in the mapped file of the package, which the contents keep
// alive. A package that already has this release and layout is returned unchanged. Errors: those of
// package_contents and Package::payloads; `argument` for an unknown loss; `unsupported` for
// containers and bare documents. Linear in the programs.
Result<Conversion> convert(const Package& package, const ConvertOptions& options);
// Converts a package for the oldest release without blockers. If all releases have blockers,
// returns the conversion for the newest.
Result<Conversion> convert_for_oldest(const Package& package, const ConvertOptions& options);

// The reasons why torch.export.load of a release cannot load a file. No blockers: it can.
struct LoadObstacles {
  const Release* release;
  std::vector<Blocker> blockers;
};
// Returns the obstacles for every release, in the order of releases(). Errors: those of
// Package::schema. Linear in the size of the programs times the number of releases.
Result<std::vector<LoadObstacles>> load_obstacles(const Package& package);

}  // namespace pt2

#endif  // PT2_CONVERSION_H
