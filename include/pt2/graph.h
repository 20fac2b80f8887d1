// The graph of a program as it is computed with: values and nodes in tables, named by strong ids.
// The JSON's own shape is pt2::schema; this one has names resolved, arguments in one recursive
// type, and nested graphs owned by the graph whose nodes call them. It keeps everything the file
// says, so that it can be written back.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "pt2/dtype.h"
#include "pt2/result.h"
#include "pt2/symbols.h"
#include "pt2/value.h"

namespace pt2 {

enum class ValueId : uint32_t {};
enum class NodeId : uint32_t {};
enum class SubgraphId : uint32_t {};

// A ScalarType number of the schema. Numbers without a Dtype come from newer writers; 0 is unknown
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
  SymInt storage_offset{};        // in elements; 0 in files up to 2.8 whatever the truth
  bool requires_grad = false;
  Device device{};
  Layout layout = Layout::strided;
};

struct CustomObjectType {
  std::string name{};       // as the payload's constants call it
  std::string class_fqn{};  // "__torch__.torch.classes.ns.Cls"; empty in the oldest files
};

// The order is that of GraphValue::meta.
enum class ValueKind : uint8_t { tensor, sym_int, sym_float, sym_bool, custom_obj };

// Where a value comes from. Values of a file's tables that nothing defines have `nothing`.
struct Definition {
  enum class By : uint8_t { nothing, graph_input, node };
  By by = By::nothing;
  NodeId node{};  // by == node
  // Which input of the graph, or which output of the node, where lists are counted through.
  uint32_t index = 0;
};

struct GraphValue {
  std::string name{};
  std::variant<TensorMeta, SymInt, SymFloat, SymBool, CustomObjectType> meta{};
  Definition definition{};

  ValueKind kind() const { return static_cast<ValueKind>(meta.index()); }
  // Null for other kinds.
  const TensorMeta* tensor() const { return std::get_if<TensorMeta>(&meta); }
};

struct None {
  bool operator==(const None&) const = default;
};
// An operator passed as an argument, spelled like a node's target.
struct OperatorName {
  std::string target{};
};
// A custom object that is no value of the graph: an entry of the payload's constants.
struct CustomObject {
  std::string name{};
  std::string class_fqn{};
};
// An alternative of a newer schema: its tag and its JSON text.
struct UnknownArgument {
  std::string tag{};
  std::string json{};
};

class Argument;
// Which list of the schema this is; an empty list keeps its element type by it.
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

// One argument or result of a node. Values of every kind (tensors, effect tokens, symbolic numbers,
// custom objects) are a ValueId; the value says what it is.
class Argument {
 public:
  using Variant =
      std::variant<None, ValueId, bool, int64_t, double, std::complex<double>, std::string,
                   ScalarType, MemoryFormat, Layout, Device, OperatorName, SubgraphId, CustomObject,
                   ArgumentList, ArgumentMap, UnknownArgument>;
  // How the schema wraps it: `symbolic` is as_sym_int and its like, `optional` is
  // as_optional_tensor.
  enum class Wrapper : uint8_t { plain, symbolic, optional };

  Argument() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Argument>)
      Argument(T&& value, Wrapper wrapped = Wrapper::plain)
      : variant(std::forward<T>(value)), wrapper(wrapped) {}

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(variant);
  }
  // Null when the argument is something else.
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
};

using Metadata = std::vector<std::pair<std::string, std::string>>;  // in the file's order
// The value of `key`, null when there is none.
const std::string* find_metadata(const Metadata& metadata, std::string_view key);

struct Node {
  std::string
      target;  // "torch.ops.aten.add.Tensor", "_operator.mul", "torch.ops.higher_order.cond"
  std::vector<NamedArgument> inputs{};
  std::vector<Argument> outputs{};  // the values it defines; None for results that are not there
  Metadata metadata{};
  // Of higher-order operators: one output means a bare value (true) or a tuple of one (false).
  std::optional<bool> is_hop_single_tensor_return{};
  std::optional<std::string> name{};  // the FX node's name, since schema 8.16

  // By argument name; null when absent.
  const Argument* find_input(std::string_view argument_name) const;
};

// One level of the module stack of a node: the call's key, the module's path ("" is the root) and
// its class.
struct ModuleStackEntry {
  std::string key{};
  std::string path{};
  std::string type{};
};
// The text of metadata's stack_trace, empty when there is none.
std::string_view stack_trace(const Node& node);
// The innermost line of the stack trace, "model.py:12"; empty when unknown.
std::string source_line(const Node& node);
// nn_module_stack, outermost first (torch/_export/serde/serialize.py, import_nn_module_stack). The
// format has no escapes; `malformed` when an entry has not three parts. Empty when the node has
// none.
Result<std::vector<ModuleStackEntry>> module_stack(const Node& node);
// The path of the innermost module, "layers.0.attention"; empty for the root or when unknown.
std::string module_path(const Node& node);

class Graph {
 public:
  // Values in the order in which their tables list them, nodes in the order in which they run.
  std::span<const GraphValue> values() const { return values_; }
  std::span<const NodeId> node_order() const { return order_; }
  std::span<const Graph> subgraphs() const { return subgraphs_; }
  const GraphValue& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const Graph& subgraph(SubgraphId id) const { return subgraphs_[static_cast<size_t>(id)]; }
  // Nodes are numbered densely below this; ids of erased nodes are not reused.
  size_t node_count() const { return nodes_.size(); }
  // O(1).
  std::optional<ValueId> find_value(std::string_view value_name) const;

  // What callers pass and get, in the signature's order. Constants stand by value.
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  bool is_single_tensor_return = false;
  // The attribute name of a nested graph; empty at the top.
  std::string name;

  GraphValue& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  // Error `invalid` when the name is taken.
  Result<ValueId> add_value(GraphValue value);
  // Appends the node and records it as the definition of the values among its outputs.
  NodeId add_node(Node node);
  // Appends an input and records it as the definition of its value.
  void add_input(Argument argument);
  SubgraphId add_subgraph(Graph graph);

 private:
  std::vector<GraphValue> values_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<Graph> subgraphs_;
  struct NameHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, ValueId, NameHash, std::equal_to<>> value_index_;
};

// Calls `visit(ValueId)` for every value in the argument, lists and maps included, in order.
template <class Visit>
void for_each_value(const Argument& argument, Visit&& visit) {
  if (const auto* id = argument.get_if<ValueId>()) visit(*id);
  if (const auto* list = argument.get_if<ArgumentList>())
    for (const Argument& item : list->items) for_each_value(item, visit);
  if (const auto* map = argument.get_if<ArgumentMap>())
    for (const auto& [key, item] : map->items) for_each_value(item, visit);
}

// Who uses each value of one graph. A picture of the graph at the time of construction, made in
// linear time.
class UseLists {
 public:
  struct Use {
    std::optional<NodeId> node;  // nothing: an output of the graph
    uint32_t index = 0;          // which input of the node, or which output of the graph
  };
  explicit UseLists(const Graph& graph);
  std::span<const Use> of(ValueId id) const;

 private:
  std::vector<uint32_t> starts_;
  std::vector<Use> uses_;
};

}  // namespace pt2
