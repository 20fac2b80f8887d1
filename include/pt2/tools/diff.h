// What differs between two files: programs, sizes, guards, weights, what they say of themselves.
// Nodes are found again by their module, their content and their surroundings, not by their
// position or name.
//
//   PT2_TRY(pt2::Difference difference, pt2::diff(before, after));
//   for (const pt2::Change& change : difference.changes) std::cout << change.line() << '\n';
#ifndef PT2_TOOLS_DIFF_H
#define PT2_TOOLS_DIFF_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/package.h"
#include "pt2/result.h"

namespace pt2 {

enum class ChangeKind : uint8_t { added, removed, changed };
enum class ChangeSection : uint8_t {
  file,       // release, schema, archive, programs
  signature,  // inputs and outputs, dtypes, sizes
  range,      // of symbols
  guard,
  node,
  size,  // of a node's result, where nothing before it explains it
  weight,
  name,  // of values and nodes, and where they come from
};
std::string_view change_kind_name(ChangeKind kind);
std::string_view change_section_name(ChangeSection section);

struct Change {
  ChangeSection section = ChangeSection::node;
  ChangeKind kind = ChangeKind::changed;
  std::string program{};  // where a file has several
  std::string what{};     // "%add_3", "input x", "fc.weight"
  // What it was and what it is; of a changed argument with its name, "other=1".
  std::string before{}, after{};
  std::string module_path{}, source_line{};

  // "~ %add_3 (aten.add.Tensor) of layers.0 at model.py:12: other: 1 -> 2".
  std::string line() const;
};

// Which nodes stand side by side; for pictures.
struct NodePair {
  std::optional<NodeId> before, after;
  bool changed = false;
  // Where its changes begin in Difference::changes, with those of nested graphs; as many follow one
  // another.
  size_t first_change = 0;
  size_t change_count = 0;
};

// Two graphs that two nodes of one pair call.
struct NestedPairs {
  const Graph* before = nullptr;
  const Graph* after = nullptr;
  std::vector<NodePair> nodes{};
};

// Refers to the programs.
struct Difference {
  std::vector<Change> changes{};
  // Of the top graphs, in order. Of a file with several programs: those of the last.
  std::vector<NodePair> nodes{};
  std::vector<NestedPairs> nested{};  // the same

  bool empty() const { return changes.empty(); }
};

struct DiffOptions {
  // Nothing but what is computed and with which weights: no names, sources, releases; of guards
  // only those that both releases could have written. Empty for programs of one hash (hash.h).
  bool semantic = false;
  bool weights = true;
  // Which program of each; empty: the only one, or all, by their names.
  std::string model{};
};

// O(n log n) in the nodes of programs that are alike.
Difference diff_programs(const Program& before, const Program& after,
                         const DiffOptions& options = {});
// Errors: those of Package::payloads and Package::program.
Result<Difference> diff(const Package& before, const Package& after,
                        const DiffOptions& options = {});
// Names of values of the top graphs, before and after: the results of nodes that stand side by
// side.
std::vector<std::pair<std::string, std::string>> paired_values(const Program& before,
                                                               const Program& after);
// One page with the nodes side by side.
std::string diff_html(const Program& before, const Program& after, const Difference& difference);

}  // namespace pt2

#endif  // PT2_TOOLS_DIFF_H
