// Shared by from_draft and to_draft, which convert between the structs of the early draft and those
// of the newest schema.
#ifndef PT2_DRAFT_DRAFT_SCHEMA_H
#define PT2_DRAFT_DRAFT_SCHEMA_H

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "pt2/format/draft.h"

namespace pt2 {

// Returns the draft's program in the newest schema; its graph is not yet checked.
Result<schema::ExportedProgram> draft_to_schema(const draft::GraphModule& module);

// Keys of GraphModule.metadata for data without a field in the draft (docs/draft.md).
namespace draft_key {
inline constexpr std::string_view kPrefix = "pt2.";
inline constexpr std::string_view kInSpec = "pt2.in_spec";
inline constexpr std::string_view kOutSpec = "pt2.out_spec";
inline constexpr std::string_view kArgumentNames = "pt2.forward_arg_names";  // one name per line
inline constexpr std::string_view kDialect = "pt2.dialect";
inline constexpr std::string_view kTorchVersion = "pt2.torch_version";
inline constexpr std::string_view kOpset = "pt2.opset.";        // then the namespace: "10"
inline constexpr std::string_view kRange = "pt2.range.";        // then the symbol: "[2, null]"
inline constexpr std::string_view kGuards = "pt2.guards_code";  // one guard per line
inline constexpr std::string_view kSingleReturn =
    "pt2.is_single_tensor_return";  // "true", for any graph
// Keys of NodeMetadata.extra.
inline constexpr std::string_view kNodeName = "pt2.name";
inline constexpr std::string_view kHopSingleReturn =
    "pt2.is_hop_single_tensor_return";  // "true", "false"
}  // namespace draft_key

// The used names; derives unused names from wanted ones.
class Names {
 public:
  void take(std::string_view name) { taken_.emplace(name); }
  bool contains(std::string_view name) const { return taken_.contains(name); }
  // Takes and returns `wanted`, or else the first unused name of wanted_1, wanted_2, … Counting
  // continues from the last number used, so repeated names cost no more than different ones.
  std::string make(const std::string& wanted) {
    std::string name = wanted;
    for (int64_t& i = counters_[wanted]; taken_.contains(name);)
      name = wanted + "_" + std::to_string(++i);
    take(name);
    return name;
  }

 private:
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int64_t> counters_;
};

// The draft's numbers of layouts and devices, and the schema's.
inline constexpr int64_t kStridedInSchema = 7;
inline int64_t draft_layout(schema::Layout layout) {
  const auto number = static_cast<int64_t>(layout);
  return number == kStridedInSchema ? 1 : number + 1;
}
inline schema::Layout schema_layout(draft::Layout layout) {
  const auto number = static_cast<int64_t>(layout);
  return static_cast<schema::Layout>(number == 1 ? kStridedInSchema : number - 1);
}
inline constexpr int64_t kNoDeviceIndex = -1;

}  // namespace pt2

#endif  // PT2_DRAFT_DRAFT_SCHEMA_H
