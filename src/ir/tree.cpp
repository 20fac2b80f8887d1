#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "pt2/ir/pytree.h"

namespace pt2 {

class TreeBuilder {
 public:
  static Tree make(TreeKind kind, std::vector<Tree> items, std::vector<TreeKey> keys) {
    Tree tree;
    tree.kind_ = kind;
    tree.items_ = std::move(items);
    tree.keys_ = std::move(keys);
    return tree;
  }

  // `leaves` has at least as many values as `spec` has leaves.
  static Tree build(const TreeSpec& spec, std::span<Value>& leaves) {
    Tree tree;
    tree.kind_ = spec.kind;
    tree.keys_ = spec.keys;
    if (spec.is_leaf()) {
      tree.leaf_ = std::move(leaves.front());
      leaves = leaves.subspan(1);
    }
    for (const TreeSpec& child : spec.children) tree.items_.push_back(build(child, leaves));
    return tree;
  }
};

namespace {

Error mistake(std::string text) { return {ErrorCode::argument, std::move(text), {}}; }

std::string quoted(std::string_view path) { return fmt::format("'{}'", printable(path)); }

// Returns the quoted path; for the whole tree (an empty path), "the value".
std::string shown(std::string_view path) {
  return path.empty() ? std::string("the value") : quoted(path);
}

std::string describe(const Tree& tree) {
  if (tree.is_leaf()) return tree.value().is_none() ? "none" : tree.value().type_text();
  const size_t count = tree.items().size();
  const std::string_view noun = is_dict_kind(tree.kind()) ? "dict" : "list";
  return fmt::format("a {} of {}", noun, count);
}

std::string describe(const TreeSpec& spec) {
  if (spec.is_leaf()) return "a single value";
  return fmt::format("{} of {}", printable(spec.type), spec.children.size());
}

TreeKey integer_key(size_t index) { return TreeKey(static_cast<int64_t>(index)); }

class Flattener {
 public:
  Result<void> flatten(const Tree& tree, const TreeSpec& spec, const std::string& path) {
    const bool has_names = !spec.keys.empty() || !spec.none_fields.empty();
    const bool is_dict = is_dict_kind(tree.kind());
    const bool fits = spec.is_leaf() == tree.is_leaf() &&
                      (is_dict_kind(spec.kind) ? is_dict : !is_dict || has_names);
    if (!fits)
      return mistake(
          fmt::format("{}: found {}, expected {}", shown(path), describe(tree), describe(spec)));
    if (spec.is_leaf()) {
      leaves_.push_back(tree.value());
      return {};
    }
    const bool by_name = is_dict || (has_names && !tree.keys().empty());
    return by_name ? by_key(tree, spec, path) : by_position(tree, spec, path);
  }

  std::vector<Value> take() { return std::move(leaves_); }

 private:
  Result<void> by_position(const Tree& tree, const TreeSpec& spec, const std::string& path) {
    const size_t found = tree.items().size(), expected = spec.children.size();
    if (found < expected) return missing(path + child_path(spec, found));
    if (found > expected) return superfluous(fmt::format("{}[{}]", path, expected));
    for (size_t i = 0; i < expected; ++i)
      PT2_TRY_VOID(flatten(tree.items()[i], spec.children[i], path + child_path(spec, i)));
    return {};
  }

  Result<void> by_key(const Tree& tree, const TreeSpec& spec, const std::string& path) {
    size_t used = 0;
    for (size_t i = 0; i < spec.keys.size(); ++i) {
      const Tree* child = tree.find(spec.keys[i]);
      if (child == nullptr) return missing(path + child_path(spec, i));
      PT2_TRY_VOID(flatten(*child, spec.children[i], path + child_path(spec, i)));
      ++used;
    }
    for (const TreeKey& key : spec.none_fields) {
      const Tree* child = tree.find(key);
      if (child == nullptr) continue;
      if (!child->is_leaf() || !child->value().is_none())
        return mistake(fmt::format("{}.{} is {}, and was None when the program was exported",
                                   printable(path), printable(key.text), describe(*child)));
      ++used;
    }
    return used == tree.items().size() ? Result<void>() : superfluous_key(tree, spec, path);
  }

  static Error missing(const std::string& path) {
    return mistake(fmt::format("{} is missing", quoted(path)));
  }
  static Error superfluous(const std::string& path) {
    return mistake(fmt::format("{} is not expected", quoted(path)));
  }

  static Error superfluous_key(const Tree& tree, const TreeSpec& spec, const std::string& path) {
    const auto is_known = [&](const TreeKey& key) {
      return std::ranges::find(spec.keys, key) != spec.keys.end() ||
             std::ranges::find(spec.none_fields, key) != spec.none_fields.end();
    };
    for (size_t i = 0; i < tree.keys().size(); ++i) {
      const TreeSpec given{.keys = {tree.keys()[i]}};
      if (!is_known(tree.keys()[i])) return superfluous(path + child_path(given, 0));
    }
    return mistake(fmt::format("{}: a key is given twice", shown(path)));
  }

  std::vector<Value> leaves_;
};

}  // namespace

Tree Tree::list(std::vector<Tree> items) {
  return TreeBuilder::make(TreeKind::list, std::move(items), {});
}

Tree Tree::tuple(std::vector<Tree> items) {
  return TreeBuilder::make(TreeKind::tuple, std::move(items), {});
}

Tree Tree::dict(std::vector<std::pair<TreeKey, Tree>> items) {
  std::vector<Tree> children;
  std::vector<TreeKey> keys;
  for (auto& [key, child] : items) {
    keys.push_back(std::move(key));
    children.push_back(std::move(child));
  }
  return TreeBuilder::make(TreeKind::dict, std::move(children), std::move(keys));
}

const Tree* Tree::find(const TreeKey& key) const {
  const auto found = std::ranges::find(keys_, key);
  return found == keys_.end() ? nullptr : &items_[static_cast<size_t>(found - keys_.begin())];
}

TreeView Tree::operator[](std::string_view key) const { return TreeView(*this)[key]; }
TreeView Tree::operator[](size_t index) const { return TreeView(*this)[index]; }

TreeView TreeView::step(const Tree* child, std::string path) const {
  TreeView view = *this;
  view.tree_ = child;
  view.path_ = std::move(path);
  if (child != nullptr) return view;
  std::string keys;
  for (const TreeKey& key : tree_->keys()) {
    const TreeSpec holder{.keys = {key}};
    keys += (keys.empty() ? ", which has " : ", ") + child_path(holder, 0);
  }
  view.problem_ = fmt::format("there is no {} in {}, {}{}", quoted(view.path_), shown(path_),
                              describe(*tree_), printable(keys));
  return view;
}

TreeView TreeView::operator[](std::string_view key) const {
  if (tree_ == nullptr) return *this;
  const TreeKey text{std::string(key)};
  const TreeSpec holder{.keys = {text}};
  return step(tree_->find(text), path_ + child_path(holder, 0));
}

TreeView TreeView::operator[](size_t index) const {
  if (tree_ == nullptr) return *this;
  std::string path = fmt::format("{}[{}]", path_, index);
  if (is_dict_kind(tree_->kind())) return step(tree_->find(integer_key(index)), std::move(path));
  return step(index < tree_->items().size() ? &tree_->items()[index] : nullptr, std::move(path));
}

Result<const Tree*> TreeView::tree() const {
  if (tree_ == nullptr) return mistake(problem_);
  return tree_;
}

Result<Value> TreeView::leaf() const {
  PT2_TRY(const Tree* tree, this->tree());
  if (!tree->is_leaf())
    return mistake(
        fmt::format("{}: found {}, expected a single value", shown(path_), describe(*tree)));
  return tree->value();
}

Result<Tensor> TreeView::tensor() const {
  PT2_TRY(const Value value, leaf());
  if (const auto* tensor = value.get_if<Tensor>()) return *tensor;
  return mistake(fmt::format("{}: found {}, expected a tensor", shown(path_), describe(*tree_)));
}

Result<std::vector<Value>> flatten(const Tree& tree, const TreeSpec& spec, std::string_view root) {
  Flattener flattener;
  PT2_TRY_VOID(flattener.flatten(tree, spec, std::string(root)));
  return flattener.take();
}

Result<Tree> unflatten(std::vector<Value> leaves, const TreeSpec& spec) {
  const size_t expected = leaf_count(spec);
  if (leaves.size() != expected)
    return mistake(fmt::format("found {} leaves, expected {}", leaves.size(), expected));
  std::span<Value> rest(leaves);
  return TreeBuilder::build(spec, rest);
}

}  // namespace pt2
