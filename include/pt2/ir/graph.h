// The graph of a program, for analysis and editing. Values and nodes are in tables; strong ids name
// them. pt2::schema has the shape of the JSON instead. In a Graph names are resolved, arguments
// have one recursive type, and each nested graph belongs to the graph whose nodes call it. A Graph
// keeps everything that the file says, so that it can be written back.
//
// A Graph is a value: copies are independent. Every edit updates definitions and use lists. Its
// cost is proportional to what it changes, not to the size of the graph.
//
// Edits that must also change the signature are functions of edit.h, which take the program:
//
//   const Graph& graph = program.graph;
//   for (NodeId id : graph.nodes())                       // in order; edits meanwhile are fine
//     if (graph.node(id).target == "torch.ops.aten.dropout.default") {
//       const ValueId out = *graph.node(id).outputs[0].get_if<ValueId>();
//       replace_all_uses(program, out, *graph.node(id).inputs[0].arg.get_if<ValueId>());
//       erase_node(program, id).value();
//     }
#ifndef PT2_IR_GRAPH_H
#define PT2_IR_GRAPH_H

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pt2/ir/argument.h"
#include "pt2/ir/node.h"
#include "pt2/ir/stack_traces.h"
#include "pt2/result.h"

namespace pt2 {

// The order of the enumerators is that of the alternatives of GraphValue::meta.
enum class ValueKind : uint8_t { tensor, sym_int, sym_float, sym_bool, custom_obj };
std::string_view value_kind_name(ValueKind kind);

// The graph input or node that defines a value. `nothing` if the file's value tables have the value
// but no graph input or node defines it.
struct Definition {
  enum class By : uint8_t { nothing, graph_input, node };
  By by = By::nothing;
  NodeId node{};  // if by == node
  // The index of the graph input, or of the value among the outputs of the node. Each element of a
  // list output counts as one.
  uint32_t index = 0;
  bool operator==(const Definition&) const = default;
};

struct GraphValue {
  std::string name{};
  std::variant<TensorMeta, SymInt, SymFloat, SymBool, CustomObjectType> meta{};
  Definition definition{};

  ValueKind kind() const { return static_cast<ValueKind>(meta.index()); }
  // Returns the tensor metadata; null for other kinds.
  const TensorMeta* tensor() const { return std::get_if<TensorMeta>(&meta); }
};

// One read of a value, by a node or by an output of the graph.
struct Use {
  std::optional<NodeId> node;  // nothing: an output of the graph
  uint32_t index = 0;          // which input of the node, or which output of the graph
  bool operator==(const Use&) const = default;
};

class Graph {
  static constexpr uint32_t kNone = UINT32_MAX;
  struct NodeLinks {
    uint32_t previous = kNone, next = kNone;
    uint32_t first_use = kNone;  // first slot of the list of uses that the node's inputs make
    bool erased = false;
  };
  // Each use is in two linked lists: the uses of its value, and the uses made by its user.
  struct UseSlot {
    ValueId value{};
    uint32_t user = kNone;  // a node; kNone: the graph's outputs
    uint32_t index = 0;
    uint32_t previous = kNone, next = kNone;  // in the list of the value
    uint32_t next_of_user = kNone;            // in the list of the user
  };
  struct ValueUses {
    uint32_t first = kNone, last = kNone, count = 0;
    bool erased = false;
  };

 public:
  // Node ids in execution order. Iterators stay valid while the graph is edited. An iterator at an
  // erased node advances to the successor of that node. It visits nodes inserted ahead of it.
  class NodeRange {
   public:
    class Iterator {
     public:
      using value_type = NodeId;
      using reference = NodeId;
      using pointer = void;
      using difference_type = std::ptrdiff_t;
      using iterator_category = std::forward_iterator_tag;
      Iterator() = default;
      Iterator(const Graph* graph, uint32_t at) : graph_(graph), at_(at) {}
      NodeId operator*() const { return NodeId{at_}; }
      Iterator& operator++() {
        do at_ = graph_->links_[at_].next;
        while (at_ != kNone && graph_->links_[at_].erased);
        return *this;
      }
      Iterator operator++(int) {
        Iterator before = *this;
        ++*this;
        return before;
      }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }

     private:
      const Graph* graph_ = nullptr;
      uint32_t at_ = kNone;
    };
    explicit NodeRange(const Graph* graph) : graph_(graph) {}
    Iterator begin() const { return {graph_, graph_->first_node_}; }
    Iterator end() const { return {graph_, kNone}; }
    size_t size() const { return graph_->live_nodes_; }
    bool empty() const { return size() == 0; }
    NodeId front() const { return NodeId{graph_->first_node_}; }
    NodeId back() const { return NodeId{graph_->last_node_}; }

   private:
    const Graph* graph_;
  };

  // Value ids in ascending order: values of the file's tables first, then values in the order in
  // which they were added.
  class ValueRange {
   public:
    class Iterator {
     public:
      using value_type = ValueId;
      using reference = ValueId;
      using pointer = void;
      using difference_type = std::ptrdiff_t;
      using iterator_category = std::forward_iterator_tag;
      Iterator() = default;
      Iterator(const Graph* graph, uint32_t at) : graph_(graph), at_(at) { skip(); }
      ValueId operator*() const { return ValueId{at_}; }
      Iterator& operator++() {
        ++at_;
        skip();
        return *this;
      }
      Iterator operator++(int) {
        Iterator before = *this;
        ++*this;
        return before;
      }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }

     private:
      void skip() {
        while (at_ < graph_->value_uses_.size() && graph_->value_uses_[at_].erased) ++at_;
      }
      const Graph* graph_ = nullptr;
      uint32_t at_ = 0;
    };
    explicit ValueRange(const Graph* graph) : graph_(graph) {}
    Iterator begin() const { return {graph_, 0}; }
    Iterator end() const { return {graph_, static_cast<uint32_t>(graph_->values_.size())}; }

   private:
    const Graph* graph_;
  };

  // The uses of one value, in the order in which they were added.
  class UseRange {
   public:
    class Iterator {
     public:
      using value_type = Use;
      using reference = Use;
      using pointer = void;
      using difference_type = std::ptrdiff_t;
      using iterator_category = std::input_iterator_tag;
      Iterator() = default;
      Iterator(const Graph* graph, uint32_t at) : graph_(graph), at_(at) {}
      Use operator*() const {
        const UseSlot& slot = graph_->use_slots_[at_];
        return {slot.user == kNone ? std::nullopt : std::optional(NodeId{slot.user}), slot.index};
      }
      Iterator& operator++() {
        at_ = graph_->use_slots_[at_].next;
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }

     private:
      const Graph* graph_ = nullptr;
      uint32_t at_ = kNone;
    };
    UseRange(const Graph* graph, ValueUses uses) : graph_(graph), uses_(uses) {}
    Iterator begin() const { return {graph_, uses_.first}; }
    Iterator end() const { return {graph_, kNone}; }
    size_t size() const { return uses_.count; }
    bool empty() const { return uses_.count == 0; }

   private:
    const Graph* graph_;
    ValueUses uses_;
  };

  Graph();
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  // Reading.

  NodeRange nodes() const { return NodeRange(this); }
  ValueRange values() const { return ValueRange(this); }
  std::span<const Graph> subgraphs() const { return subgraphs_; }
  // The inputs and outputs of the graph, in the order of the signature. An argument that is a
  // constant holds the constant itself.
  std::span<const Argument> inputs() const { return inputs_; }
  std::span<const Argument> outputs() const { return outputs_; }
  const GraphValue& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const Graph& subgraph(SubgraphId id) const { return subgraphs_[static_cast<size_t>(id)]; }
  Graph& subgraph(SubgraphId id) { return subgraphs_[static_cast<size_t>(id)]; }
  // Every id is below these counts, erased ids included, and no id is reused. A table indexed by
  // value or by node needs this size.
  size_t value_count() const { return values_.size(); }
  size_t node_count() const { return nodes_.size(); }
  // False if the value or node was erased, or the id was never given out.
  bool contains(ValueId id) const;
  bool contains(NodeId id) const;
  // Returns the value with this name; nothing if there is none. O(1).
  std::optional<ValueId> find_value(std::string_view value_name) const;
  UseRange uses(ValueId id) const { return {this, value_uses_[static_cast<size_t>(id)]}; }

  // Editing. The graph must contain the ids that these functions take; otherwise the process stops.
  // They do not check operators, dtypes or the order of definition and use. Verification checks
  // these when the edit is complete.

  // Adds a value without definition or uses. Error `invalid` if the name is taken.
  Result<ValueId> add_value(GraphValue value);
  // Returns `value_name`, or a free name of value_name_1, value_name_2, … A number is given out
  // once, so many calls with one name cost constant time each (torch/fx/graph.py, _Namespace).
  std::string unused_name(std::string_view value_name);
  // Renames a value, and the node that defines it if both have the same name, as in FX. Error
  // `invalid` if another value has the name. The functions of edit.h rename in the signature too.
  Result<void> rename_value(ValueId id, std::string name);
  void set_value_meta(ValueId id, decltype(GraphValue::meta) meta);
  // Erases a value. Error `invalid` if it has a definition or uses.
  Result<void> erase_value(ValueId id);

  // Adds a node at the end, or before another node. The node becomes the definition of the values
  // in its outputs.
  NodeId add_node(Node node);
  NodeId insert_node(Node node, NodeId before);
  // Moves a node before another node, or to the end if `before` is nothing.
  void move_node(NodeId id, std::optional<NodeId> before);
  // Erases a node and the values that it defines. Error `invalid` if another node or an output of
  // the graph uses one of these values.
  Result<void> erase_node(NodeId id);
  void set_node_inputs(NodeId id, std::vector<NamedArgument> inputs);
  void set_node_input(NodeId id, size_t index, Argument argument);
  void set_node_outputs(NodeId id, std::vector<Argument> outputs);
  void set_node_target(NodeId id, std::string target);
  void set_node_name(NodeId id, std::optional<std::string> name);
  void set_node_metadata(NodeId id, Metadata metadata);
  // Sets Node::is_hop_single_tensor_return.
  void set_node_single_return(NodeId id, std::optional<bool> is_single);
  // Replaces every use of `value` in nodes and graph outputs by `replacement`, inside lists too.
  // The signature of a program names its outputs too: use replace_all_uses of edit.h for a program.
  void replace_all_uses(ValueId value, ValueId replacement);

  // Appends an input and makes it the definition of its value.
  void add_input(Argument argument);
  void set_inputs(std::vector<Argument> inputs);
  void add_output(Argument argument);
  // Replaces all outputs. Clears is_single_tensor_return unless there is exactly one output.
  void set_outputs(std::vector<Argument> outputs);
  SubgraphId add_subgraph(Graph graph);

  bool is_single_tensor_return = false;
  // The attribute name of a nested graph; empty at the top.
  std::string name;
  // Schema 5.3 only: the file's table of stack traces, kept to write the graph back.
  std::optional<StackTraceTable> stack_traces;
  schema::TraceHolder spelling;

 private:
  void link(uint32_t node, uint32_t before);
  void unlink(uint32_t node);
  void define_outputs(NodeId id);
  void undefine(const Argument& argument, Definition::By by, NodeId node);
  void add_uses(const Argument& argument, uint32_t user, uint32_t index, uint32_t& first_of_user);
  void drop_uses(uint32_t& first_of_user);
  void add_node_uses(NodeId id);
  void unlink_use(uint32_t slot);
  void append_use(uint32_t slot, ValueId value);
  void forget_value(ValueId id);
  size_t find_slot(std::string_view value_name) const;
  bool index_value(std::string_view value_name, ValueId id);
  void unindex_value(std::string_view value_name);

  std::vector<GraphValue> values_;
  std::vector<ValueUses> value_uses_;
  std::vector<Node> nodes_;
  std::vector<NodeLinks> links_;
  uint32_t first_node_ = kNone, last_node_ = kNone;
  size_t live_nodes_ = 0;
  std::vector<UseSlot> use_slots_;
  uint32_t free_use_ = kNone;
  uint32_t first_output_use_ = kNone;
  std::vector<Argument> inputs_;
  std::vector<Argument> outputs_;
  std::vector<Graph> subgraphs_;
  // Hash table from name to value: open addressing with linear probing. A slot holds only the id;
  // the name is in values_. The hashes have a key, because files choose names.
  std::vector<uint32_t> slots_;  // the size is a power of two, or 0
  size_t indexed_ = 0;
  uint64_t name_key_;
  std::map<std::string, size_t> last_number_;  // by name without its number
};

// Calls `visit(Graph&)` for the graph and for all graphs nested in it, each graph before those
// nested in it.
template <class Visit>
void for_each_graph(Graph& graph, Visit&& visit) {
  visit(graph);
  for (size_t i = 0; i < graph.subgraphs().size(); ++i)
    for_each_graph(graph.subgraph(SubgraphId{static_cast<uint32_t>(i)}), visit);
}

}  // namespace pt2

#endif  // PT2_IR_GRAPH_H
