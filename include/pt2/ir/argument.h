// The arguments and results of nodes, as one recursive type. An argument refers to a value by its
// strong id, or holds a constant.
#ifndef PT2_IR_ARGUMENT_H
#define PT2_IR_ARGUMENT_H

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pt2/dtype.h"
#include "pt2/format/file_spelling.h"
#include "pt2/ir/symbols.h"
#include "pt2/value.h"

namespace pt2 {

enum class ValueId : uint32_t {};
enum class NodeId : uint32_t {};
enum class SubgraphId : uint32_t {};

// A ScalarType number of the schema. Newer writers may use numbers without a Dtype. 0 is unknown
// (constants of version 1 have no recorded dtype and sizes).
struct ScalarType {
  int64_t number = 0;
  std::optional<Dtype> dtype() const { return find_dtype_by_schema_number(number); }
  bool operator==(const ScalarType&) const = default;
};

struct TensorMeta {
  ScalarType dtype{};
  std::vector<SymInt> sizes{};
  std::vector<SymInt> strides{};  // in elements
  SymInt storage_offset{};        // in elements; always 0 in files up to 2.8
  bool requires_grad = false;
  Device device{};
  Layout layout = Layout::strided;
  schema::TraceHolder spelling{};
};

struct CustomObjectType {
  std::string name{};       // its name among the constants of the payload
  std::string class_fqn{};  // "__torch__.torch.classes.ns.Cls"; empty in the oldest files
};

struct None {
  bool operator==(const None&) const = default;
};
// An operator passed as an argument, spelled like a node's target.
struct OperatorName {
  std::string target{};
};
// A custom object that is not a value of the graph but an entry of the payload's constants.
struct CustomObject {
  std::string name{};
  std::string class_fqn{};
};
// An alternative that only a newer schema has: its tag and its JSON text.
struct UnknownArgument {
  std::string tag{};
  std::string json{};
};

class Argument;
// The list type of the schema. It keeps the element type of an empty list.
enum class ListKind : uint8_t {
  tensors,
  ints,
  floats,
  strings,
  bools,
  sym_ints,
  sym_floats,
  sym_bools,
  optional_tensors,
  nested_tensors,
  int_lists,
  float_lists,
};
struct ArgumentList {
  ListKind kind = ListKind::tensors;
  std::vector<Argument> items;
};
struct ArgumentMap {
  std::vector<std::pair<std::string, Argument>> items;  // in the file's order
};

// One argument or result of a node. A ValueId stands for a value of any kind (tensor, effect token,
// symbolic number, custom object); the value itself has the kind.
class Argument {
 public:
  using Variant =
      std::variant<None, ValueId, bool, int64_t, double, std::complex<double>, std::string,
                   ScalarType, MemoryFormat, Layout, Device, OperatorName, SubgraphId, CustomObject,
                   ArgumentList, ArgumentMap, UnknownArgument>;
  // The union of the schema that wraps the argument: `symbolic` for as_sym_int, as_sym_float and
  // as_sym_bool, `optional` for as_optional_tensor.
  enum class Wrapper : uint8_t { plain, symbolic, optional };

  // Defined in argument.cpp to keep callers small, as those of Value are.
  Argument();
  Argument(const Argument&);
  Argument(Argument&&) noexcept;
  Argument& operator=(const Argument&);
  Argument& operator=(Argument&&) noexcept;
  ~Argument();
  template <class T>
  requires AlternativeOf<T, Variant> Argument(T value, Wrapper wrapped = Wrapper::plain);

  template <std::integral T>
  requires(!AlternativeOf<T, Variant>) Argument(T value, Wrapper wrapped = Wrapper::plain)
      : Argument(static_cast<int64_t>(value), wrapped) {}
  Argument(const char* value, Wrapper wrapped = Wrapper::plain);

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(variant);
  }
  // Returns the alternative T; null if the argument holds another one.
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&variant);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&variant);
  }

  Variant variant;
  Wrapper wrapper = Wrapper::plain;
};

enum class ArgumentKind : int64_t { unknown, positional, keyword };

struct NamedArgument {
  std::string name{};  // empty for positional arguments of higher-order operators
  Argument arg{};
  std::optional<ArgumentKind> kind{};  // absent in files before schema 8.4
  schema::TraceHolder spelling{};
};

// Calls `visit(SubgraphId)` for every nested graph in the argument.
template <class Visit>
void for_each_subgraph(const Argument& argument, Visit&& visit) {
  if (const auto* id = argument.get_if<SubgraphId>()) visit(*id);
  if (const auto* list = argument.get_if<ArgumentList>())
    for (const Argument& item : list->items) for_each_subgraph(item, visit);
  if (const auto* map = argument.get_if<ArgumentMap>())
    for (const auto& [key, item] : map->items) for_each_subgraph(item, visit);
}

// Calls `visit(ValueId)` for every value in the argument, lists and maps included, in order.
template <class Visit>
void for_each_value(const Argument& argument, Visit&& visit) {
  if (const auto* id = argument.get_if<ValueId>()) visit(*id);
  if (const auto* list = argument.get_if<ArgumentList>())
    for (const Argument& item : list->items) for_each_value(item, visit);
  if (const auto* map = argument.get_if<ArgumentMap>())
    for (const auto& [key, item] : map->items) for_each_value(item, visit);
}

}  // namespace pt2

#endif  // PT2_IR_ARGUMENT_H
