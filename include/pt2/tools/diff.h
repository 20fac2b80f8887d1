// Compares two files: programs, sizes, guards, weights, metadata. The comparison matches nodes by
// their module, their content and their neighbours, not by position or name.
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
  range,      // ranges of symbols
  guard,
  node,
  size,  // the size of a node's result, if no earlier change explains it
  weight,
  name,  // names of values and nodes, and their source locations
};
std::string_view change_kind_name(ChangeKind kind);
std::string_view change_section_name(ChangeSection section);

struct Change {
  ChangeSection section = ChangeSection::node;
  ChangeKind kind = ChangeKind::changed;
  std::string program{};  // set if a file has several programs
  std::string what{};     // "%add_3", "input x", "fc.weight"
  // The old and the new content. For a changed argument with its name, "other=1".
  std::string before{}, after{};
  std::string module_path{}, source_line{};
  std::vector<std::string> weights{};  // for changes of weights: their names, "fc.weight"

  // Returns "~ %add_3 (aten.add.Tensor) of layers.0 at model.py:12: other: 1 -> 2".
  std::string line() const;
};

// Two matching nodes, or a removed or added node. For pictures.
struct NodePair {
  std::optional<NodeId> before, after;
  bool changed = false;
  // The range of its changes in Difference::changes, including those of nested graphs.
  size_t first_change = 0;
  size_t change_count = 0;
};

// Two graphs that two matching nodes call.
struct NestedPairs {
  const Graph* before = nullptr;
  const Graph* after = nullptr;
  std::vector<NodePair> nodes{};
};

// The result of a comparison. Points into the programs, which must outlive it.
struct Difference {
  std::vector<Change> changes{};
  // The node pairs of the top graphs in order, and those of nested graphs. For a file with several
  // programs: the pairs of the last program.
  std::vector<NodePair> nodes{};
  std::vector<NestedPairs> nested{};

  bool empty() const { return changes.empty(); }
};

struct DiffOptions {
  // If true, compare only the computation and the weights: no names, sources or releases, and only
  // guards that both releases could have written. Programs with equal hashes (hash.h) then have no
  // differences.
  bool semantic = false;
  bool weights = true;
  // The program of each file to compare. Empty: the only program, or all, matched by name.
  std::string model{};
};

// Compares two programs. O(n log n) in the nodes if the programs are similar.
Difference diff_programs(const Program& before, const Program& after,
                         const DiffOptions& options = {});
// Compares two files. Errors: those of Package::payloads and Package::program.
Result<Difference> diff(const Package& before, const Package& after,
                        const DiffOptions& options = {});
// Returns pairs of names of values, before and after: the results of matching nodes of the top
// graphs.
std::vector<std::pair<std::string, std::string>> paired_values(const Program& before,
                                                               const Program& after);
// Returns an HTML page with the nodes side by side.
std::string diff_html(const Program& before, const Program& after, const Difference& difference);

}  // namespace pt2

#endif  // PT2_TOOLS_DIFF_H
