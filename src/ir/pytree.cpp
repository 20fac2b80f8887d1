#include "ir/pytree.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace pt2 {
namespace {

// Containers of containers; PyTorch's own recursion ends near 1000 levels of Python.
constexpr int kMaxDepth = 200;
// Keys repeat in the name of every leaf below them, so long ones would multiply.
constexpr size_t kMaxNameBytes = 512;
// Each level of the tree is two of JSON.
constexpr JsonOptions kTreeJson{.max_depth = 2 * kMaxDepth + 4, .allow_non_finite = true};

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && !is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

std::string key_accessor(const JsonValue& key) {
  if (key.is_string())
    return is_name(key.text) ? "." + key.text : fmt::format("[{}]", print_json_string(key.text));
  return fmt::format("[{}]", print_json(key));
}

std::vector<std::string> key_accessors(const JsonValue& keys) {
  std::vector<std::string> accessors;
  for (const JsonValue& key : keys.items) accessors.push_back(key_accessor(key));
  return accessors;
}

// torch/export's dataclasses: [[all flat fields], [fields that were None and have no child]].
std::vector<std::string> dataclass_accessors(const JsonValue& context) {
  std::vector<std::string> accessors;
  if (context.items.size() != 2 || !context.items[0].is_array() || !context.items[1].is_array())
    return accessors;
  const std::vector<std::string> absent = key_accessors(context.items[1]);
  for (std::string& field : key_accessors(context.items[0])) {
    if (std::find(absent.begin(), absent.end(), field) == absent.end())
      accessors.push_back(std::move(field));
  }
  return accessors;
}

std::vector<std::string> child_accessors(const TreeSpec& spec, const JsonValue& context,
                                         const std::vector<NamedTupleFields>& namedtuples) {
  if (spec.type == "collections.namedtuple") {
    std::vector<std::string> accessors;
    for (const NamedTupleFields& fields : namedtuples) {
      if (fields.type_name != spec.context) continue;
      for (const std::string& field : fields.field_names) accessors.push_back("." + field);
      break;
    }
    return accessors;
  }
  if (const JsonValue* keys = context.find("dict_context")) return key_accessors(*keys);
  const auto parsed = parse_json(spec.context, kTreeJson);
  if (!parsed) return {};
  auto accessors = dataclass_accessors(*parsed);
  return accessors.size() == spec.children.size() ? accessors : key_accessors(*parsed);
}

Error malformed(std::string_view what) {
  return {ErrorCode::malformed, fmt::format("tree spec: {}", what), {}};
}

Result<TreeSpec> read_node(const JsonValue& json, int depth,
                           const std::vector<NamedTupleFields>& namedtuples) {
  if (depth > kMaxDepth) {
    return Error{ErrorCode::limit, fmt::format("tree spec: nested deeper than {}", kMaxDepth), {}};
  }
  const JsonValue* type = json.find("type");
  const JsonValue* context = json.find("context");
  const JsonValue* children = json.find("children_spec");
  if (type == nullptr || context == nullptr || children == nullptr || !children->is_array()) {
    return malformed("a node without type, context and children_spec");
  }
  if (!type->is_null() && (!type->is_string() || type->text.empty()))
    return malformed("the type is not a name");
  TreeSpec spec;
  spec.type = type->text;
  spec.context = context->is_string() ? context->text : print_json(*context);
  for (const JsonValue& child : children->items) {
    PT2_TRY(TreeSpec child_spec, read_node(child, depth + 1, namedtuples));
    spec.children.push_back(std::move(child_spec));
  }
  if (spec.is_leaf()) {
    if (!spec.children.empty()) return malformed("a leaf has children");
    return spec;
  }
  spec.accessors = child_accessors(spec, *context, namedtuples);
  if (spec.accessors.size() != spec.children.size()) {
    spec.accessors.clear();
    for (size_t i = 0; i < spec.children.size(); ++i)
      spec.accessors.push_back(fmt::format("[{}]", i));
  }
  return spec;
}

void collect_leaf_names(const TreeSpec& spec, const std::string& name,
                        std::vector<std::string>& names) {
  if (name.size() > kMaxNameBytes)
    return collect_leaf_names(spec, name.substr(0, 64) + "...", names);
  if (spec.is_leaf()) names.push_back(name);
  for (size_t i = 0; i < spec.children.size(); ++i) {
    collect_leaf_names(spec.children[i], name + spec.accessors[i], names);
  }
}

}  // namespace

Result<TreeSpec> parse_treespec(std::string_view json,
                                const std::vector<NamedTupleFields>& namedtuples) {
  auto root = parse_json(json, kTreeJson);
  if (!root) return malformed(root.error().text());
  if (root->items.size() != 2) return malformed("expected [protocol, tree]");
  const auto protocol = root->items[0].get_int();
  if (!protocol || *protocol != 1) {
    return Error{ErrorCode::unsupported,
                 fmt::format("tree spec: protocol {}, expected 1", print_json(root->items[0])),
                 {}};
  }
  return read_node(root->items[1], 1, namedtuples);
}

size_t leaf_count(const TreeSpec& spec) {
  size_t count = spec.is_leaf() ? 1 : 0;
  for (const TreeSpec& child : spec.children) count += leaf_count(child);
  return count;
}

std::vector<std::string> leaf_names(const TreeSpec& spec, std::string_view root) {
  std::vector<std::string> names;
  collect_leaf_names(spec, std::string(root), names);
  return names;
}

}  // namespace pt2
