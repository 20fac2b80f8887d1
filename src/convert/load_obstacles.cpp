#include "convert/load_obstacles.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "convert/operator_blockers.h"
#include "convert/schema_blockers.h"
#include "ir/version_facts.h"
#include "package/read_package.h"

namespace pt2 {
namespace {

// Later layouts include the earlier ones: a release opens its own layout and all before it.
bool opens(const Release& release, Era era) { return era <= release.era; }

// Returns the obstacle that the container alone shows.
std::optional<Blocker> container_obstacle(const Package& package, int schema,
                                          const Release& release) {
  Blocker blocker{.kind = BlockerKind::container};
  // 2.1 and 2.2 compare the whole version, later releases the major version
  // (torch/export/__init__.py).
  if (schema / 100 != release.schema / 100) {
    blocker.text =
        fmt::format("schema version {}, where it reads {}.x", schema / 100, release.schema / 100);
    return blocker;
  }
  const Era era = package.archive().era();
  if (opens(release, era)) return std::nullopt;
  if (era == Era::document) {
    blocker.text = "a document, where it reads archives";
    return blocker;
  }
  blocker.text = "an archive in the layout of a later release";
  const auto first =
      std::ranges::find_if(releases(), [&](const Release& each) { return opens(each, era); });
  blocker.first = &*first;
  return blocker;
}

// Collects what makes releases refuse one program of the file as it is. A release that refuses the
// container is not checked further.
class LoadChecks {
 public:
  LoadChecks(const Package& package, const Program& program, std::vector<LoadObstacles>& out) {
    for (LoadObstacles& each : out) {
      const auto add = [&](Blocker blocker) { each.blockers.push_back(std::move(blocker)); };
      const int schema = version_number(program.schema_version);
      const Release& release = *each.release;
      if (auto blocker = container_obstacle(package, schema, release)) {
        add(*std::move(blocker));
        continue;
      }
      if (release.refuses_unknown_fields && schema > release.schema && schema >= 803)
        add({.kind = BlockerKind::field,
             .text = fmt::format("fields of schema 8.{}, where it refuses what is newer than 8.{}",
                                 schema % 100, release.schema % 100),
             .first = find_release("2.9")});
      check_operators(program, release, add);
      to_.push_back(&each);
    }
  }

  Result<void> check(const Package& package, const std::string& model, size_t piece_bytes) {
    if (to_.empty()) return {};
    if (const auto pieces = open_pieces(package, model, piece_bytes); pieces) {
      start();
      if (check_pieces(*pieces->reader)) return finish();
    }
    PT2_TRY(schema::ExportedProgram written, package.schema(model));
    start();
    for (WrittenSchemaCheck& each : checks_) each.check_outline(written);
    return finish();
  }

 private:
  void start() {
    checks_.clear();
    for (const LoadObstacles* each : to_) checks_.emplace_back(*each->release);
  }

  // False if the reader can only read the whole text.
  bool check_pieces(schema::PieceReader& reader) {
    schema::ExportedProgram outline = reader.take_outline();
    for (WrittenSchemaCheck& each : checks_) each.check_outline(outline);
    const auto check_all = [&](auto next, auto check) {
      while (true) {
        auto piece = next();
        if (!piece) return false;
        if (piece->empty()) return true;
        for (WrittenSchemaCheck& each : checks_) check(each, *piece);
      }
    };
    return check_all([&] { return reader.next_nodes(); },
                     [](WrittenSchemaCheck& check, auto& nodes) { check.check_nodes(nodes); }) &&
           check_all([&] { return reader.next_values(); },
                     [](WrittenSchemaCheck& check, auto& values) { check.check_values(values); });
  }

  Result<void> finish() {
    for (size_t i = 0; i < to_.size(); ++i)
      std::ranges::move(checks_[i].take(), std::back_inserter(to_[i]->blockers));
    return {};
  }

  std::vector<LoadObstacles*> to_;
  std::vector<WrittenSchemaCheck> checks_;
};

}  // namespace

Result<std::vector<LoadObstacles>> load_obstacles(const Package& package, size_t piece_bytes) {
  std::vector<LoadObstacles> out;
  for (const Release& release : releases()) out.push_back({&release, {}});
  for (const std::string& model : package.models()) {
    PT2_TRY(const Program* program, package.program(model));
    PT2_TRY_VOID(LoadChecks(package, *program, out).check(package, model, piece_bytes));
  }
  return out;
}

Result<std::vector<LoadObstacles>> load_obstacles(const Package& package) {
  return load_obstacles(package, schema::kPieceBytes);
}

}  // namespace pt2
