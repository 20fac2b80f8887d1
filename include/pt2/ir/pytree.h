// The structure of inputs and outputs. A TreeSpec is that of torch.utils._pytree; this header reads
// and writes its JSON (protocol 1). A Tree is a structured value: flatten() gives the leaves that a
// graph takes, unflatten() rebuilds a Tree from the leaves that a graph returns. Every container is
// a list of children, some with keys. Classes are never looked up.
#ifndef PT2_IR_PYTREE_H
#define PT2_IR_PYTREE_H

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2 {

enum class TreeKind : uint8_t {
  leaf,
  tuple,
  list,
  dict,
  ordered_dict,
  default_dict,
  deque,
  named_tuple,
  immutable_list,
  immutable_dict,
  registered,  // a dataclass or any other class registered with pytree
};
// True if children of this kind have only the keys of a dict. False for named tuples and
// dataclasses: their fields have a position too.
bool is_dict_kind(TreeKind kind);

// A key of a dict, or the name of a field.
struct TreeKey {
  std::string text;     // the string, or the JSON of a key that is no string: "7", "true"
  bool is_text = true;  // true if the key is a string

  TreeKey() = default;
  TreeKey(std::string key) : text(std::move(key)) {}
  TreeKey(const char* key) : text(key) {}
  TreeKey(int64_t key) : text(std::to_string(key)), is_text(false) {}
  bool operator==(const TreeKey&) const = default;
};

// The field names of a namedtuple class. The JSON of a spec has only the name of the class; the
// file has the field names in a separate table.
struct NamedTupleFields {
  std::string type_name{};
  std::vector<std::string> field_names{};
};

// The structure of a value without its leaves. A value type with deep copies. A default TreeSpec is
// a leaf.
struct TreeSpec {
  TreeKind kind = TreeKind::leaf;
  std::string type{};     // "builtins.tuple"; empty for a leaf
  std::string context{};  // opaque JSON; `keys` has its keys and fields; empty for a leaf
  std::vector<TreeSpec> children{};
  // One key for each child of dicts, named tuples and dataclasses. Empty if children have only
  // positions.
  std::vector<TreeKey> keys{};
  // Fields of a dataclass that were None during export. They have no child.
  std::vector<TreeKey> none_fields{};

  bool is_leaf() const { return kind == TreeKind::leaf; }
  // Compares kind, type, context and children.
  bool operator==(const TreeSpec& other) const;
};

TreeSpec make_tuple_spec(std::vector<TreeSpec> children);
TreeSpec make_list_spec(std::vector<TreeSpec> children);
// Needs one key for each child.
TreeSpec make_dict_spec(std::vector<TreeKey> keys, std::vector<TreeSpec> children);

// Parses the JSON of a spec. Imitates torch.utils._pytree.treespec_loads. Unknown types become
// `registered`. Errors: `malformed` (not JSON, not a tree, keys that do not fit the children),
// `unsupported` (another protocol), `limit` (deeper than 200, more than 100,000 nodes). Linear in
// the text.
Result<TreeSpec> parse_tree_spec(std::string_view json,
                                 std::span<const NamedTupleFields> namedtuples = {});
// Returns the JSON of a spec as torch.utils._pytree.treespec_dumps writes it. Parsing and printing
// a text that torch wrote gives the same bytes.
std::string print_tree_spec(const TreeSpec& spec);

size_t leaf_count(const TreeSpec& spec);
// Returns the Python expression that selects a child: "[0]", ".field". A key that is an identifier
// gives ".key", another key "[\"a b\"]".
std::string child_path(const TreeSpec& spec, size_t child);
// Returns the path of each leaf, beginning with `root`, in flat order. Overlong names are cut.
std::vector<std::string> leaf_paths(const TreeSpec& spec, std::string_view root);

class TreeView;

// A structured value: a leaf (a tensor, a number, None), or a container of structured values.
//
//   Tree inputs = Tree::dict({{"image", tensor}, {"sizes", Tree::list({2, 3})}});
class Tree {
 public:
  // Makes a leaf that is None.
  Tree() = default;
  template <class T>
  requires(!std::same_as<T, Tree> && std::constructible_from<Value, T>) Tree(T leaf)
      : leaf_(std::move(leaf)) {}
  static Tree list(std::vector<Tree> items);
  static Tree tuple(std::vector<Tree> items);
  static Tree dict(std::vector<std::pair<TreeKey, Tree>> items);

  TreeKind kind() const { return kind_; }
  bool is_leaf() const { return kind_ == TreeKind::leaf; }
  // Returns the value of a leaf; None for containers.
  const Value& value() const { return leaf_; }
  std::span<const Tree> items() const { return items_; }
  // As TreeSpec::keys.
  std::span<const TreeKey> keys() const { return keys_; }
  // Returns the child with this key or field name; null if there is none. Linear in the keys.
  const Tree* find(const TreeKey& key) const;
  // Return a view of a child, for chains such as tree["hidden"][0]. A view must not outlive the
  // tree.
  TreeView operator[](std::string_view key) const;
  TreeView operator[](size_t index) const;

 private:
  friend class TreeBuilder;
  TreeKind kind_ = TreeKind::leaf;
  Value leaf_;
  std::vector<Tree> items_;
  std::vector<TreeKey> keys_;
};

// A place in a tree, or the reason why the place does not exist. Operators [] never fail; tree(),
// leaf() and tensor() report the first step that failed. Error `argument`, with the place and what
// the tree has there.
//
//   float first = outputs["logits"].tensor().value().as<float>()[0];
class TreeView {
 public:
  explicit TreeView(const Tree& tree) : tree_(&tree) {}
  TreeView operator[](std::string_view key) const;
  // `index` is a position, or an integer key of a dict.
  TreeView operator[](size_t index) const;

  bool exists() const { return tree_ != nullptr; }
  Result<const Tree*> tree() const;
  Result<Value> leaf() const;
  Result<Tensor> tensor() const;

 private:
  TreeView step(const Tree* child, std::string path) const;
  const Tree* tree_ = nullptr;
  std::string path_;
  std::string problem_;
};

// Returns the leaves of `tree` in the order of `spec`. A list or tuple is accepted for any sequence
// type. A dict needs the same keys in any order, as in torch.utils._pytree.TreeSpec.flatten_up_to.
// Named tuples and dataclasses may be given by field or by position. Error `argument` with the
// first missing or superfluous leaf; `root` is the name of the whole tree in it.
Result<std::vector<Value>> flatten(const Tree& tree, const TreeSpec& spec,
                                   std::string_view root = "");
// Returns a tree with the structure of `spec` and these leaves. Error `argument` if the number of
// leaves differs.
Result<Tree> unflatten(std::vector<Value> leaves, const TreeSpec& spec);

}  // namespace pt2

#endif  // PT2_IR_PYTREE_H
