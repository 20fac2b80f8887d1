// Python's containers, flattened to what a program takes and built from what it gives.
#ifndef PT2_PYTHON_TREES_H
#define PT2_PYTHON_TREES_H

#include <string>
#include <vector>

#include "leaves.h"
#include "pt2/ir/pytree.h"

namespace pt2::python {

// A TreeSpec with Python's own keys and, for what is no plain container, with what makes one.
class PyTree {
 public:
  // `place` names the whole in messages.
  PyTree(const TreeSpec& spec, std::string place);

  // Appends the leaves of `object`, which are of `inputs` those behind the leaves so far. Raises
  // ArgumentError, naming the place, where its structure is another one.
  void flatten(nb::handle object, std::span<const ModelValue> inputs, std::vector<Value>& leaves,
               Flavour& flavour) const;
  // Uses up leaves from `next` on.
  nb::object unflatten(std::vector<Value>& leaves, size_t& next, Flavour flavour) const;
  size_t leaf_count() const { return leaf_count_; }

 private:
  nb::object child_of(nb::handle object, size_t index) const;
  [[noreturn]] void refuse(nb::handle object) const;
  // " without 'a' and with 'b'": which keys of a dict are not those that were expected.
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
