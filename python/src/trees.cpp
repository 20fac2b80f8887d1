#include "trees.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "base/printable.h"

namespace pt2::python {
namespace {

nb::object python_key(const TreeKey& key) {
  const nb::object text = nb::str(key.text.c_str(), key.text.size());
  return key.is_text ? text : nb::module_::import_("json").attr("loads")(text);
}

// Returns "'a', 'b'"; only the first keys if there are many.
std::string texts_of(std::span<const nb::object> keys) {
  constexpr size_t kMost = 16;
  std::string text;
  for (const nb::object& key : keys.first(std::min(keys.size(), kMost)))
    text += (text.empty() ? "" : ", ") + printable(to_text(nb::repr(key), "a key"));
  return keys.size() > kMost ? text + ", ..." : text;
}

// Returns pt2._trees.<function>, which makes a container from its children, or from (keys,
// children). Returns a null object for plain containers.
nb::object maker(const TreeSpec& spec) {
  const char* name = nullptr;
  switch (spec.kind) {
    case TreeKind::ordered_dict:
      name = "ordered_dict";
      break;
    case TreeKind::default_dict:
      name = "default_dict";
      break;
    case TreeKind::deque:
      name = "deque";
      break;
    case TreeKind::named_tuple:
    case TreeKind::registered:
      name = "record";
      break;
    case TreeKind::leaf:
    case TreeKind::tuple:
    case TreeKind::list:
    case TreeKind::dict:
    case TreeKind::immutable_list:
    case TreeKind::immutable_dict:
      return nb::object();
  }
  const nb::object function = nb::module_::import_("pt2._trees").attr(name);
  if (spec.kind != TreeKind::named_tuple && spec.kind != TreeKind::registered) return function;
  nb::list fields, none_fields;
  for (const TreeKey& key : spec.keys) fields.append(python_key(key));
  for (const TreeKey& key : spec.none_fields) none_fields.append(python_key(key));
  return function(spec.type, fields, none_fields);
}

}  // namespace

PyTree::PyTree(const TreeSpec& spec, std::string place)
    : kind_(spec.kind), place_(std::move(place)), make_(maker(spec)) {
  for (const TreeKey& key : spec.keys) keys_.push_back(python_key(key));
  for (size_t i = 0; i < spec.children.size(); ++i) {
    children_.emplace_back(spec.children[i], place_ + child_path(spec, i));
    leaf_count_ += children_.back().leaf_count_;
  }
  if (spec.is_leaf()) leaf_count_ = 1;
}

std::string PyTree::wrong_keys(nb::handle dict) const {
  std::vector<nb::object> missing, surplus;
  const auto has = [&](const nb::object& key) { return PyMapping_HasKey(dict.ptr(), key.ptr()); };
  for (const nb::object& key : keys_)
    if (!has(key)) missing.push_back(key);
  for (nb::handle key : dict)
    if (std::ranges::none_of(keys_, [&](const nb::object& each) { return each.equal(key); }))
      surplus.push_back(nb::borrow(key));
  std::string text = missing.empty() ? "" : " without " + texts_of(missing);
  if (!surplus.empty()) text += (text.empty() ? " with " : " and with ") + texts_of(surplus);
  return text;
}

void PyTree::refuse(nb::handle object) const {
  std::string found = "a " + nb::cast<std::string>(nb::str(object.type().attr("__name__")));
  std::string expected = "a container of " + std::to_string(children_.size());
  if (is_dict_kind(kind_)) {
    expected = keys_.empty() ? "an empty dict" : "a dict of " + texts_of(keys_);
    if (PyObject_HasAttrString(object.ptr(), "keys")) found += wrong_keys(object);
  }
  raise(
      {ErrorCode::argument, "found " + found + ", expected " + expected, "input '" + place_ + "'"});
}

nb::object PyTree::child_of(nb::handle object, size_t index) const {
  PyObject* child = nullptr;
  if (is_dict_kind(kind_)) {
    child = PyObject_GetItem(object.ptr(), keys_[index].ptr());
  } else if (index < keys_.size() && !PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr())) {
    child = PyObject_GetAttr(object.ptr(), keys_[index].ptr());
  } else {
    child = PySequence_GetItem(object.ptr(), static_cast<Py_ssize_t>(index));
  }
  if (child == nullptr) {
    PyErr_Clear();
    refuse(object);
  }
  return nb::steal(child);
}

void PyTree::flatten(nb::handle object, std::span<const ModelValue> inputs,
                     std::vector<Value>& leaves, Flavour& flavour) const {
  if (kind_ == TreeKind::leaf)
    return leaves.push_back(to_value(object, flavour, &inputs[leaves.size()]));
  if (kind_ != TreeKind::registered) {
    const Py_ssize_t size = PyObject_Length(object.ptr());
    if (size < 0) PyErr_Clear();
    if (size != static_cast<Py_ssize_t>(children_.size())) refuse(object);
  }
  for (size_t i = 0; i < children_.size(); ++i)
    children_[i].flatten(child_of(object, i), inputs, leaves, flavour);
}

nb::object PyTree::unflatten(std::vector<Value>& leaves, size_t& next, Flavour flavour) const {
  if (kind_ == TreeKind::leaf) return to_python(std::move(leaves[next++]), flavour);
  if (kind_ == TreeKind::dict || kind_ == TreeKind::immutable_dict) {
    nb::dict out;
    for (size_t i = 0; i < children_.size(); ++i)
      out[keys_[i]] = children_[i].unflatten(leaves, next, flavour);
    return out;
  }
  nb::list items;
  for (const PyTree& child : children_) items.append(child.unflatten(leaves, next, flavour));
  if (kind_ == TreeKind::list || kind_ == TreeKind::immutable_list) return items;
  if (kind_ == TreeKind::tuple) return nb::tuple(items);
  if (!is_dict_kind(kind_)) return make_(items);
  nb::list keys;
  for (const nb::object& key : keys_) keys.append(key);
  return make_(keys, items);
}

}  // namespace pt2::python
