// Flattens Python's containers to a program's inputs, and builds them from its outputs.
#ifndef PT2_PYTHON_TREES_H
#define PT2_PYTHON_TREES_H

#include <string>
#include <vector>

#include "leaves.h"
#include "pt2/ir/pytree.h"

namespace pt2::python {

// A TreeSpec with keys as Python objects and, for containers that are not plain, their constructor.
class PyTree {
 public:
  // `place` names the whole tree in messages.
  PyTree(const TreeSpec& spec, std::string place);

  // Appends the leaves of `object`. They belong to the elements of `inputs` after the first
  // leaves.size() ones. Raises ArgumentError, naming the place, if the structure differs.
  void flatten(nb::handle object, std::span<const ModelValue> inputs, std::vector<Value>& leaves,
               Flavour& flavour) const;
  // Builds the object from the leaves at `next` and moves `next` past them.
  nb::object unflatten(std::vector<Value>& leaves, size_t& next, Flavour flavour) const;
  size_t leaf_count() const { return leaf_count_; }

 private:
  nb::object child_of(nb::handle object, size_t index) const;
  [[noreturn]] void refuse(nb::handle object) const;
  // Returns " without 'a' and with 'b'": the missing and unexpected keys of a dict.
  std::string wrong_keys(nb::handle dict) const;

  TreeKind kind_;
  std::string place_;
  std::vector<nb::object> keys_;
  std::vector<PyTree> children_;
  nb::object make_;
  size_t leaf_count_ = 0;
};

}  // namespace pt2::python

#endif  // PT2_PYTHON_TREES_H
