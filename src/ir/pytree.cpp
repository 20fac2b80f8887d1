#include "pt2/ir/pytree.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"

namespace pt2 {
namespace {

// Maximum depth of nested containers; PyTorch's own recursion fails near 1000 levels of Python.
constexpr int kMaxTreeDepth = 200;
// Real specs have a few hundred values; each node costs a few hundred bytes.
constexpr size_t kMaxNodes = 100'000;
// Each node of a named tuple is looked up among the classes. Real programs have a few.
constexpr size_t kMaxNamedTuples = 1000;
// The name of every leaf repeats the keys above it, so long keys would multiply memory.
constexpr size_t kMaxPathBytes = 512;
// Each level of the tree takes two levels of JSON.
constexpr JsonOptions kTreeJson{.max_depth = 2 * kMaxTreeDepth + 4, .allow_non_finite = true};

// The place of the child keys in a node's JSON.
enum class KeySource : uint8_t { none, context, dict_context, fields };

struct KindRow {
  TreeKind kind;
  std::string_view type;
  KeySource keys;
};
constexpr KindRow kKinds[] = {
    {TreeKind::tuple, "builtins.tuple", KeySource::none},
    {TreeKind::list, "builtins.list", KeySource::none},
    {TreeKind::dict, "builtins.dict", KeySource::context},
    {TreeKind::ordered_dict, "collections.OrderedDict", KeySource::context},
    {TreeKind::default_dict, "collections.defaultdict", KeySource::dict_context},
    {TreeKind::deque, "collections.deque", KeySource::none},
    {TreeKind::named_tuple, "collections.namedtuple", KeySource::fields},
    {TreeKind::immutable_list, "torch.fx.immutable_collections.immutable_list", KeySource::none},
    {TreeKind::immutable_dict, "torch.fx.immutable_collections.immutable_dict", KeySource::context},
};

const KindRow* find_kind(std::string_view type) {
  const auto row = std::ranges::find(kKinds, type, &KindRow::type);
  return row == std::end(kKinds) ? nullptr : row;
}

std::string_view type_of(TreeKind kind) {
  const auto row = std::ranges::find(kKinds, kind, &KindRow::kind);
  return row == std::end(kKinds) ? std::string_view() : row->type;
}

Error malformed(std::string_view what) {
  return {ErrorCode::malformed, fmt::format("tree spec: {}", what), {}};
}
Error too_large(std::string_view what) {
  return {ErrorCode::limit, fmt::format("tree spec: {}", what), {}};
}

// Returns the keys in a JSON list; nullopt if `json` is not a list.
std::optional<std::vector<TreeKey>> keys_of(const JsonValue* json) {
  if (json == nullptr || !json->is_array()) return std::nullopt;
  std::vector<TreeKey> keys;
  for (const JsonValue& item : json->items) {
    TreeKey key(item.is_string() ? item.text : print_json(item));
    key.is_text = item.is_string();
    keys.push_back(std::move(key));
  }
  return keys;
}

// Reads the keys of a registered class. The context of a user's class is trusted if it is a list of
// distinct names, one for each child. The context of a dataclass (torch.export.register_dataclass)
// is [[all fields], [fields that were None and have no child]]; 2.2 writes the class before them.
void read_registered_keys(const JsonValue& context, TreeSpec& spec) {
  const auto is_class_name = [](const JsonValue& item) { return item.is_string(); };
  const bool has_class = context.items.size() == 3 && is_class_name(context.items[0]);
  const size_t first = has_class ? 1 : 0;
  if (context.items.size() == first + 2) {
    auto fields = keys_of(&context.items[first]);
    auto none_fields = keys_of(&context.items[first + 1]);
    if (fields && none_fields) {
      std::set<std::pair<std::string_view, bool>> absent;
      for (const TreeKey& field : *none_fields) absent.emplace(field.text, field.is_text);
      std::erase_if(*fields, [&](const TreeKey& field) {
        return absent.contains({field.text, field.is_text});
      });
      spec.keys = *std::move(fields);
      spec.none_fields = *std::move(none_fields);
      return;
    }
  }
  auto keys = keys_of(&context);
  const bool all_text = keys && std::ranges::all_of(*keys, &TreeKey::is_text);
  if (all_text) spec.keys = *std::move(keys);
}

// A Python dict cannot hold a key twice, so a spec with a repeated key is forged.
bool are_distinct(const std::vector<TreeKey>& keys) {
  std::vector<std::pair<std::string_view, bool>> sorted;
  for (const TreeKey& key : keys) sorted.emplace_back(key.text, key.is_text);
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

class TreeSpecReader {
 public:
  explicit TreeSpecReader(std::span<const NamedTupleFields> namedtuples)
      : namedtuples_(namedtuples) {}

  Result<TreeSpec> read(const JsonValue& json, int depth) {
    if (depth > kMaxTreeDepth)
      return too_large(fmt::format("nested deeper than {}", kMaxTreeDepth));
    if (++nodes_ > kMaxNodes) return too_large(fmt::format("more than {} nodes", kMaxNodes));
    const JsonValue* type = json.find("type");
    const JsonValue* context = json.find("context");
    const JsonValue* children = json.find("children_spec");
    if (type == nullptr || context == nullptr || children == nullptr || !children->is_array())
      return malformed("a node without type, context and children_spec");
    TreeSpec spec;
    if (type->is_null()) {
      if (!children->items.empty()) return malformed("a leaf has children");
      if (!context->is_null()) return malformed("a leaf has a context");
      return spec;
    }
    if (!type->is_string() || type->text.empty()) return malformed("the type is not a name");
    spec.type = type->text;
    spec.context = print_json(*context);
    for (const JsonValue& child : children->items) {
      PT2_TRY(TreeSpec child_spec, read(child, depth + 1));
      spec.children.push_back(std::move(child_spec));
    }
    PT2_TRY_VOID(read_keys(*context, spec));
    return spec;
  }

 private:
  Result<void> read_keys(const JsonValue& context, TreeSpec& spec) const {
    const KindRow* row = find_kind(spec.type);
    spec.kind = row ? row->kind : TreeKind::registered;
    // The context is usually JSON inside a string, from json.dumps within json.dumps.
    JsonValue inner;
    const JsonValue* decoded = &context;
    if (context.is_string()) {
      if (auto parsed = parse_json(context.text, kTreeJson)) inner = *std::move(parsed);
      decoded = &inner;
    }
    switch (row ? row->keys : KeySource::none) {
      case KeySource::context:
        return read_dict_keys(decoded, spec);
      case KeySource::dict_context:
        return read_dict_keys(decoded->find("dict_context"), spec);
      case KeySource::fields:
        read_fields(context, *decoded, spec);
        break;
      case KeySource::none:
        if (row == nullptr) read_registered_keys(*decoded, spec);
        break;
    }
    if (spec.keys.size() != spec.children.size() || !are_distinct(spec.keys)) {
      spec.keys.clear();
      spec.none_fields.clear();
    }
    return {};
  }

  static Result<void> read_dict_keys(const JsonValue* json, TreeSpec& spec) {
    auto keys = keys_of(json);
    if (!keys) return malformed(fmt::format("the context of {} is not a list of keys", spec.type));
    if (keys->size() != spec.children.size())
      return malformed(fmt::format("{}: {} keys for {} children", spec.type, keys->size(),
                                   spec.children.size()));
    if (!are_distinct(*keys)) return malformed(fmt::format("{}: a key is there twice", spec.type));
    spec.keys = *std::move(keys);
    return {};
  }

  // The context is the class name; up to 2.2 it is {"class_name", "fields"}.
  void read_fields(const JsonValue& context, const JsonValue& decoded, TreeSpec& spec) const {
    if (auto fields = keys_of(decoded.find("fields"))) spec.keys = *std::move(fields);
    if (!context.is_string()) return;
    const auto row = std::ranges::find(namedtuples_, context.text, &NamedTupleFields::type_name);
    if (row != namedtuples_.end())
      spec.keys = std::vector<TreeKey>(row->field_names.begin(), row->field_names.end());
  }

  std::span<const NamedTupleFields> namedtuples_;
  size_t nodes_ = 0;
};

void write_node(JsonWriter& json, const TreeSpec& spec) {
  json.begin_object();
  json.key("type");
  if (spec.is_leaf())
    json.null();
  else
    json.string(spec.type);
  json.key("context");
  json.raw(spec.is_leaf() ? "null" : spec.context);
  json.key("children_spec");
  json.begin_array();
  for (const TreeSpec& child : spec.children) write_node(json, child);
  json.end_array();
  json.end_object();
}

void collect_leaf_paths(const TreeSpec& spec, const std::string& path,
                        std::vector<std::string>& paths) {
  if (path.size() > kMaxPathBytes)
    return collect_leaf_paths(spec, path.substr(0, valid_utf8_prefix(path.substr(0, 64))) + "...",
                              paths);
  if (spec.is_leaf()) paths.push_back(path);
  for (size_t i = 0; i < spec.children.size(); ++i)
    collect_leaf_paths(spec.children[i], path + child_path(spec, i), paths);
}

TreeSpec make_sequence(TreeKind kind, std::vector<TreeSpec> children) {
  return {.kind = kind,
          .type = std::string(type_of(kind)),
          .context = print_json_string("null"),
          .children = std::move(children)};
}

}  // namespace

bool is_dict_kind(TreeKind kind) {
  const auto row = std::ranges::find(kKinds, kind, &KindRow::kind);
  return row != std::end(kKinds) &&
         (row->keys == KeySource::context || row->keys == KeySource::dict_context);
}

bool TreeSpec::operator==(const TreeSpec& other) const {
  return kind == other.kind && type == other.type && context == other.context &&
         children == other.children;
}

TreeSpec make_tuple_spec(std::vector<TreeSpec> children) {
  return make_sequence(TreeKind::tuple, std::move(children));
}

TreeSpec make_list_spec(std::vector<TreeSpec> children) {
  return make_sequence(TreeKind::list, std::move(children));
}

TreeSpec make_dict_spec(std::vector<TreeKey> keys, std::vector<TreeSpec> children) {
  JsonWriter context;
  context.begin_array();
  for (const TreeKey& key : keys) {
    if (key.is_text)
      context.string(key.text);
    else
      context.raw(key.text);
  }
  context.end_array();
  return {.kind = TreeKind::dict,
          .type = std::string(type_of(TreeKind::dict)),
          .context = print_json_string(context.text()),
          .children = std::move(children),
          .keys = std::move(keys)};
}

Result<TreeSpec> parse_tree_spec(std::string_view json,
                                 std::span<const NamedTupleFields> namedtuples) {
  auto root = parse_json(json, kTreeJson);
  if (!root) {
    if (root.error().code == ErrorCode::limit)
      return too_large(fmt::format("nested deeper than {}", kMaxTreeDepth));
    return malformed(root.error().text());
  }
  if (root->items.size() != 2) return malformed("expected [protocol, tree]");
  const auto protocol = root->items[0].get_int();
  if (!protocol || *protocol != 1) {
    return Error{
        ErrorCode::unsupported,
        fmt::format("tree spec: protocol {}, expected 1", printable(print_json(root->items[0]))),
        {}};
  }
  if (namedtuples.size() > kMaxNamedTuples)
    return too_large(fmt::format("more than {} classes of named tuples", kMaxNamedTuples));
  return TreeSpecReader(namedtuples).read(root->items[1], 1);
}

std::string print_tree_spec(const TreeSpec& spec) {
  JsonWriter json;
  json.begin_array();
  json.integer(1);
  write_node(json, spec);
  json.end_array();
  return json.take();
}

size_t leaf_count(const TreeSpec& spec) {
  size_t count = spec.is_leaf() ? 1 : 0;
  for (const TreeSpec& child : spec.children) count += leaf_count(child);
  return count;
}

std::string child_path(const TreeSpec& spec, size_t child) {
  if (spec.keys.empty()) return fmt::format("[{}]", child);
  const TreeKey& key = spec.keys[child];
  if (!key.is_text) return fmt::format("[{}]", key.text);
  if (is_word(key.text)) return "." + key.text;
  // Letters beyond ASCII stay as they are: callers type these names, and a .npz takes no backslash.
  std::string path = "[";
  append_json_string(path, key.text, false);
  return path + "]";
}

std::vector<std::string> leaf_paths(const TreeSpec& spec, std::string_view root) {
  std::vector<std::string> paths;
  collect_leaf_paths(spec, std::string(root), paths);
  return paths;
}

}  // namespace pt2
