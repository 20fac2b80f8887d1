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

// The draft's program in the newest schema; not yet checked as a graph.
Result<schema::ExportedProgram> draft_to_schema(const draft::GraphModule& module);

// Keys of GraphModule.metadata that keep what the draft has no field for (docs/draft.md).
namespace draft_key {
inline constexpr std::string_view kPrefix = "pt2.";
inline constexpr std::string_view kInSpec = "pt2.in_spec";
inline constexpr std::string_view kOutSpec = "pt2.out_spec";
inline constexpr std::string_view kArgumentNames = "pt2.forward_arg_names";  // one a line
inline constexpr std::string_view kDialect = "pt2.dialect";
inline constexpr std::string_view kTorchVersion = "pt2.torch_version";
inline constexpr std::string_view kOpset = "pt2.opset.";        // and the namespace: "10"
inline constexpr std::string_view kRange = "pt2.range.";        // and the symbol: "[2, null]"
inline constexpr std::string_view kGuards = "pt2.guards_code";  // one a line
inline constexpr std::string_view kSingleReturn =
    "pt2.is_single_tensor_return";  // "true", of any graph
// Of NodeMetadata.extra.
inline constexpr std::string_view kNodeName = "pt2.name";
inline constexpr std::string_view kHopSingleReturn =
    "pt2.is_hop_single_tensor_return";  // "true", "false"
}  // namespace draft_key

// Names that are taken, and free ones derived from them.
class Names {
 public:
  void take(std::string_view name) { taken_.emplace(name); }
  bool contains(std::string_view name) const { return taken_.contains(name); }
  // Takes and returns `wanted`, or the first of wanted_1, wanted_2, … that is free. Counting
  // continues from the last number given, so that many equal wishes cost no more than as many
  // different ones.
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

// Numbers of layouts and of devices in both forms.
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
