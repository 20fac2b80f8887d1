#include "decode/cache_tree.h"

#include "base/json.h"

namespace pt2::decode {
namespace {

std::optional<int64_t> int_member(const JsonValue& state, std::string_view name) {
  const JsonValue* member = state.find(name);
  const Result<int64_t> value = member == nullptr ? Result<int64_t>(-1) : member->get_int();
  return value && *value >= 0 ? std::optional(*value) : std::nullopt;
}

CacheLayer layer_of(const JsonValue& state) {
  CacheLayer out{.window = int_member(state, "sliding_window"),
                 .length = int_member(state, "max_cache_len")};
  // Only static sliding windows count their tokens in a number beside the tensor. If all tokens can
  // be removed again (_is_croppable), the window is at least as long as the planned generation, so
  // the layer attends to every token.
  const auto tokens = int_member(state, "cumulative_length_int");
  if (!tokens || !out.length) return out;
  out.moves_up = *tokens >= *out.length;
  const JsonValue* croppable = state.find("_is_croppable");
  const Result<bool> holds_all = croppable == nullptr ? Result<bool>(false) : croppable->get_bool();
  if (!holds_all || !*holds_all) out.window = out.length;
  return out;
}

class ContextWalk {
 public:
  explicit ContextWalk(std::vector<CacheLeaf>& leaves) : leaves_(leaves) {}

  // Visits the flattened form of the object at `path`; parse_json bounds the depth of `value`. All
  // leaves below a long key would have copies of it.
  void visit(const JsonValue& value, const std::string& path) {
    constexpr size_t kLongestPath = 4096;
    if (path.size() > kLongestPath) return;
    if (value.is_array()) return visit_items(value.items, path);
    if (!value.is_object()) return;
    const JsonValue* tag = value.find("_t");
    const Result<std::string_view> kind = tag == nullptr ? std::string_view() : tag->get_string();
    if (!kind) return;
    if (kind->empty()) return visit_members(value.members, path);
    if (*kind == "tensor" || *kind == "sym") return visit_leaf(value, path);
    if (const JsonValue* state = value.find("s"); *kind == "obj" && state != nullptr)
      return visit_object(*state, path);
    const JsonValue* held = value.find("v");
    if (held == nullptr) return;
    if (*kind == "items" && held->is_array()) return visit_pairs(held->items, path);
    if (*kind == "map") return visit_members(held->members, path);
    if (*kind == "seq") return visit_items(held->items, path);
  }

 private:
  void visit_leaf(const JsonValue& value, const std::string& path) {
    const JsonValue* index = value.find("i");
    const Result<int64_t> place = index == nullptr ? Result<int64_t>(-1) : index->get_int();
    if (!place || *place < 0 || static_cast<size_t>(*place) >= leaves_.size()) return;
    leaves_[static_cast<size_t>(*place)].path = path;
    visited_.push_back(static_cast<size_t>(*place));
  }
  void visit_items(const std::vector<JsonValue>& items, const std::string& path) {
    for (size_t i = 0; i < items.size(); ++i) visit(items[i], path + "[" + std::to_string(i) + "]");
  }
  void visit_members(const JsonValue::Members& members, const std::string& path) {
    for (const JsonMember& member : members)
      visit(member.value, path.empty() ? member.key : path + "." + member.key);
  }
  // Visits [key, value] pairs, the form of a dict whose keys are not strings.
  void visit_pairs(const std::vector<JsonValue>& pairs, const std::string& path) {
    for (const JsonValue& pair : pairs)
      if (pair.is_array() && pair.items.size() == 2)
        visit(pair.items[1], path + "[" + pair.items[0].text + "]");
  }
  void visit_object(const JsonValue& state, const std::string& path) {
    const size_t first = visited_.size();
    visit_members(state.members, path);
    if (path.empty() ||
        (state.find("cumulative_length") == nullptr && state.find("keys") == nullptr))
      return;
    const CacheLayer layer = layer_of(state);
    for (size_t i = first; i < visited_.size(); ++i) {
      CacheLeaf& leaf = leaves_[visited_[i]];
      leaf.layer = layer;
      // DynamicSlidingWindowLayer also holds its window size as a tensor.
      if (leaf.path == path + "._sliding_window_tensor") leaf.initial = layer.window;
    }
  }

  std::vector<CacheLeaf>& leaves_;
  std::vector<size_t> visited_;  // indices of leaves; those of an object follow one another
};

void append_leaves(const TreeSpec& spec, std::vector<CacheLeaf>& out) {
  if (spec.is_leaf()) {
    out.emplace_back();
    return;
  }
  std::vector<CacheLeaf> leaves;
  for (const TreeSpec& child : spec.children) append_leaves(child, leaves);
  const bool is_flat = leaves.size() == spec.children.size();
  if (spec.kind == TreeKind::registered && is_flat) {
    Result<JsonValue> context = parse_json(spec.context, {.allow_non_finite = true});
    // The context is JSON, or a JSON string that contains JSON.
    if (context && context->is_string())
      context = parse_json(context->text, {.allow_non_finite = true});
    if (context) ContextWalk(leaves).visit(*context, "");
  }
  out.insert(out.end(), leaves.begin(), leaves.end());
}

}  // namespace

std::vector<CacheLeaf> cache_leaves(const TreeSpec& spec) {
  std::vector<CacheLeaf> out;
  append_leaves(spec, out);
  return out;
}

}  // namespace pt2::decode
