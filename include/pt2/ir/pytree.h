// The structure of inputs and outputs: what torch.utils._pytree calls a TreeSpec, read from and
// written to its JSON (protocol 1). Also structured values, which are flattened to the leaves that
// a graph takes and rebuilt from the leaves that it gives. Every container is a list of children
// here, some with keys; classes are never looked up.
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
  registered,  // a dataclass or any other class that somebody registered
};
// Are children of this kind found by the keys of a dict? Fields of named tuples and dataclasses are
// keys too, but have a position as well.
bool is_dict_kind(TreeKind kind);

// A key of a dict, or the name of a field.
struct TreeKey {
  std::string text;     // of what is no string, its JSON: "7", "true"
  bool is_text = true;  // a string

  TreeKey() = default;
  TreeKey(std::string key) : text(std::move(key)) {}
  TreeKey(const char* key) : text(key) {}
  TreeKey(int64_t key) : text(std::to_string(key)), is_text(false) {}
  bool operator==(const TreeKey&) const = default;
};

// Field names of a namedtuple class. The JSON of a spec names only the class; the file has this
// table beside it.
struct NamedTupleFields {
  std::string type_name{};
  std::vector<std::string> field_names{};
};

// Default: a leaf. A value; copies are deep.
struct TreeSpec {
  TreeKind kind = TreeKind::leaf;
  std::string type{};     // "builtins.tuple"; empty for a leaf
  std::string context{};  // JSON, opaque but for what `keys` says; empty for a leaf
  std::vector<TreeSpec> children{};
  // One for each child of dicts, named tuples and dataclasses; empty where children have positions
  // only.
  std::vector<TreeKey> keys{};
  // Fields of a dataclass that were None while exporting: they have no child.
  std::vector<TreeKey> none_fields{};

  bool is_leaf() const { return kind == TreeKind::leaf; }
  // By kind, type, context and children.
  bool operator==(const TreeSpec& other) const;
};

TreeSpec make_tuple_spec(std::vector<TreeSpec> children);
TreeSpec make_list_spec(std::vector<TreeSpec> children);
// As many keys as children.
TreeSpec make_dict_spec(std::vector<TreeKey> keys, std::vector<TreeSpec> children);

// Imitates torch.utils._pytree.treespec_loads. Types that are not known here become `registered`.
// Errors: malformed (not JSON, not a tree, keys that do not fit the children), unsupported (another
// protocol), limit (deeper than 200, more than 100,000 nodes). Linear in the text.
Result<TreeSpec> parse_tree_spec(std::string_view json,
                                 std::span<const NamedTupleFields> namedtuples = {});
// As torch.utils._pytree.treespec_dumps spells it: parsing what torch wrote and printing it gives
// the same bytes.
std::string print_tree_spec(const TreeSpec& spec);

size_t leaf_count(const TreeSpec& spec);
// How Python reaches a child: "[0]", ".field"; keys that are names are ".key", others "[\"a b\"]".
std::string child_path(const TreeSpec& spec, size_t child);
// `root` and the way down to each leaf, in flat order. Overlong names are cut.
std::vector<std::string> leaf_paths(const TreeSpec& spec, std::string_view root);

class TreeView;

// A structured value: a leaf (a tensor, a number, None), or a container of others.
//
//   Tree inputs = Tree::dict({{"image", tensor}, {"sizes", Tree::list({2, 3})}});
class Tree {
 public:
  // None.
  Tree() = default;
  template <class T>
  requires(!std::same_as<T, Tree> && std::constructible_from<Value, T>) Tree(T leaf)
      : leaf_(std::move(leaf)) {}
  static Tree list(std::vector<Tree> items);
  static Tree tuple(std::vector<Tree> items);
  static Tree dict(std::vector<std::pair<TreeKey, Tree>> items);

  TreeKind kind() const { return kind_; }
  bool is_leaf() const { return kind_ == TreeKind::leaf; }
  // Of a leaf; None for containers.
  const Value& value() const { return leaf_; }
  std::span<const Tree> items() const { return items_; }
  // As TreeSpec::keys.
  std::span<const TreeKey> keys() const { return keys_; }
  // The child with that key or field name; null when there is none. Linear in the keys.
  const Tree* find(const TreeKey& key) const;
  // tree["hidden"][0]: see TreeView, which must not outlive the tree.
  TreeView operator[](std::string_view key) const;
  TreeView operator[](size_t index) const;

 private:
  friend class TreeBuilder;
  TreeKind kind_ = TreeKind::leaf;
  Value leaf_;
  std::vector<Tree> items_;
  std::vector<TreeKey> keys_;
};

// A place in a tree, or the reason why it has no such place: every step can be taken, the end says
// what went wrong where. Errors: argument, naming the place and what there is instead.
//
//   float first = outputs["logits"].tensor().value().as<float>()[0];
class TreeView {
 public:
  explicit TreeView(const Tree& tree) : tree_(&tree) {}
  TreeView operator[](std::string_view key) const;
  // A position, or an integer key of a dict.
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

// The leaves of `tree` in the order of `spec`. Lists and tuples stand for each other and for every
// other sequence, as C++ has no reason to tell them apart; dicts need the same keys in any order,
// as torch.utils._pytree.TreeSpec.flatten_up_to takes them; named tuples and dataclasses are given
// by field or by position. Error `argument` naming the first leaf that is missing or superfluous,
// with `root` as the name of the whole.
Result<std::vector<Value>> flatten(const Tree& tree, const TreeSpec& spec,
                                   std::string_view root = "");
// The structure of `spec` with these leaves. Error `argument` when they are not as many.
Result<Tree> unflatten(std::vector<Value> leaves, const TreeSpec& spec);

}  // namespace pt2

#endif  // PT2_IR_PYTREE_H
