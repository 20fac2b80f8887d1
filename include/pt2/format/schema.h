// The export schema as C++ types: one type for each type of PyTorch's
// torch/_export/serde/schema.py, made from schema.def, with the same names in the same order. To
// analyse or run a program use pt2::Program (program.h); to read and write JSON use schema_json.h.
//
//   schema::Node node{.target = "torch.ops.aten.relu.default"};
//   if (argument.which() == schema::ArgumentCase::as_tensor)
//     use(argument.get<schema::ArgumentCase::as_tensor>().name);
#ifndef PT2_FORMAT_SCHEMA_H
#define PT2_FORMAT_SCHEMA_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pt2/format/file_spelling.h"

namespace pt2::schema {

using Bool = bool;
using Int = int64_t;
using Float = double;
using String = std::string;
template <class T>
using Optional = std::optional<T>;

// The empty payload of as_none. Files have [] before 8.2 and true since.
struct None {};

// A bool for lists. Elements of std::vector<Flag> have addresses, unlike those of
// std::vector<bool>.
struct Flag {
  bool value = false;
  Flag() = default;
  Flag(bool v) : value(v) {}
  operator bool() const { return value; }
};
template <class T>
using List = std::vector<std::conditional_t<std::is_same_v<T, bool>, Flag, T>>;

// A dictionary in the order of the file. `find` is a linear search: build an index for many
// look-ups.
template <class T>
struct Dict : std::vector<std::pair<std::string, T>> {
  using Entries = std::vector<std::pair<std::string, T>>;
  using std::vector<std::pair<std::string, T>>::vector;
  Dict(Entries entries) : Entries(std::move(entries)) {}
  const T* find(std::string_view key) const {
    for (const auto& [name, value] : *this) {
      if (name == key) return &value;
    }
    return nullptr;
  }
  T* find(std::string_view key) { return const_cast<T*>(std::as_const(*this).find(key)); }
};

// A value on the heap with deep copies. Breaks the type cycle Argument, Graph, Node, Argument. A
// Box is empty only after it was moved from; then it may only be assigned to or destroyed.
template <class T>
class Box {
 public:
  Box() : value_(std::make_unique<T>()) {}
  Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Box(const Box& other) : value_(other.value_ ? std::make_unique<T>(*other) : nullptr) {}
  // Not defaulted: with C++23 they would be constexpr, and Clang would need a complete T too early.
  Box(Box&& other) noexcept : value_(std::move(other.value_)) {}
  ~Box() {}
  Box& operator=(Box other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

// JSON without a type in the schema, as the text of the file.
struct Json {
  std::string text = "null";
};

// An alternative of a union that this version does not know: its tag and its JSON. It is kept to be
// written back.
struct UnknownAlternative {
  std::string tag;
  Json value;
};
using UnknownCase = Box<UnknownAlternative>;

// A union holds exactly one alternative. The alternative is selected by name, because two may have
// the same type (as_string and as_operator). A default union holds the first alternative. The last
// alternative is always `unknown`.
template <class CaseEnum, class... Ts>
class Union {
 public:
  using Case = CaseEnum;

  Case which() const { return static_cast<Case>(value_.index()); }
  bool is(Case which) const { return this->which() == which; }
  // Returns the value of alternative C. Throws std::bad_variant_access if the union holds another.
  template <Case C>
  auto& get() {
    return std::get<static_cast<size_t>(C)>(value_);
  }
  template <Case C>
  const auto& get() const {
    return std::get<static_cast<size_t>(C)>(value_);
  }
  // Returns the value of alternative C; null if the union holds another.
  template <Case C>
  auto* get_if() {
    return std::get_if<static_cast<size_t>(C)>(&value_);
  }
  template <Case C>
  const auto* get_if() const {
    return std::get_if<static_cast<size_t>(C)>(&value_);
  }
  template <Case C, class... Args>
  auto& set(Args&&... args) {
    return value_.template emplace<static_cast<size_t>(C)>(std::forward<Args>(args)...);
  }
  std::variant<Ts..., UnknownCase>& variant() { return value_; }
  const std::variant<Ts..., UnknownCase>& variant() const { return value_; }

 private:
  std::variant<Ts..., UnknownCase> value_;
};

// Takes the list of alternatives that schema.def generates, in which a comma precedes each one.
template <class... Ts>
struct Alternatives;
template <class CaseEnum, class List>
struct UnionOf;
template <class CaseEnum, class... Ts>
struct UnionOf<CaseEnum, Alternatives<void, Ts...>> {
  using type = Union<CaseEnum, Ts...>;
};

struct Graph;

#define PT2_TABLE "pt2/format/schema.def"
#include "pt2/format/schema_types.def"

}  // namespace pt2::schema

#endif  // PT2_FORMAT_SCHEMA_H
