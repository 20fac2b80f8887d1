// What the makers of steps ask of a graph: constant arguments, and which node alone takes a result.
#ifndef PT2_RUN_PLAN_PLANNER_H
#define PT2_RUN_PLAN_PLANNER_H

#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/activation.h"
#include "run/plan/packed_memory.h"
#include "run/plan/plan.h"

namespace pt2::run {

// Weights of halves as floats, for as long as a plan is made; steps keep what they take.
class WidenedWeights {
 public:
  explicit WidenedWeights(std::shared_ptr<WeightCopies> budget) : budget_(std::move(budget)) {}
  // Null for other dtypes, and where there is no memory left. Stays valid.
  const Tensor* find(const Tensor& weight);

 private:
  std::shared_ptr<WeightCopies> budget_;
  std::list<std::pair<Tensor, Tensor>> weights_;
};

// The nodes that may write to a value's storage first and last; null where none does. Bound nodes
// lie in the order of the program.
struct StorageWrites {
  const BoundNode* first = nullptr;
  const BoundNode* last = nullptr;
};

using NodeSet = std::unordered_set<const BoundNode*>;

class Planner {
 public:
  // By value: `constants`, none where calls decide, and `writes`.
  Planner(const BoundGraph& graph, const std::vector<Value>& constants,
          const std::vector<StorageWrites>& writes, std::shared_ptr<WeightCopies> copies);

  // A step for the node and perhaps others, which no other step is made for then; null where there
  // is none. To be asked in this order, for all nodes each: for what is found from its middle; for
  // the node and some that follow it; for functions element by element that end at the node; for
  // one of these alone; for copies that are part of nothing.
  StepPointer recompose(const BoundNode& node);
  StepPointer make_step(const BoundNode& node);
  StepPointer make_chain(const BoundNode& node);
  StepPointer make_single(const BoundNode& node);
  StepPointer make_last(const BoundNode& node);
  bool is_taken(const BoundNode& node) const { return taken_.contains(&node); }
  // Nodes for which nothing here makes a step.
  void leave_out(const NodeSet& nodes) { taken_.insert(nodes.begin(), nodes.end()); }
  // Whether a step is being made for a node alone whose halves are widened before it: it finds
  // weights widened, and nobody to join.
  bool widens() const { return widens_; }

  // The argument of that name; null if the operator has none.
  static const BoundArgument* argument(const BoundNode& node, std::string_view name);
  // What it is in every call; null where that is not known.
  const Value* constant(const BoundArgument* argument) const;
  const Value* constant(const BoundNode& node, std::string_view name) const {
    return constant(argument(node, name));
  }
  // The same for arguments of one type. Numbers of either kind, and tensors that stand for one, are
  // numbers; an absent argument is none; tensors have each element for itself.
  bool is_none(const BoundNode& node, std::string_view name) const;
  const Tensor* floats(const BoundNode& node, std::string_view name) const;
  const Tensor* floats(ValueId value) const;
  // A weight of any dtype whose elements are no more than the file's.
  const Tensor* elements(const BoundNode& node, std::string_view name) const;
  const Tensor* elements(ValueId value) const;
  // A weight of halves as floats, kept for others; null where there is no memory for a copy.
  const Tensor* widened(const Tensor& weight) const { return widened_.find(weight); }
  // A constant tensor of int64, likewise.
  const Tensor* whole_numbers(ValueId value) const;
  // The weight with its elements in order; nothing where there is no memory for a copy.
  std::optional<Tensor> row_major(const Tensor& weight) const;
  const std::shared_ptr<WeightCopies>& copies() const { return copies_; }
  // For halves as floats, which take twice the memory of a model that may be large.
  const std::shared_ptr<WeightCopies>& half_copies() const { return half_copies_; }
  // For what steps keep of the last call.
  const std::shared_ptr<Room>& room() const { return room_; }
  std::optional<double> number(const BoundNode& node, std::string_view name) const;
  std::optional<int64_t> integer(const BoundNode& node, std::string_view name) const;
  std::optional<bool> flag(const BoundNode& node, std::string_view name) const;
  std::optional<Dtype> dtype(const BoundNode& node, std::string_view name) const;
  // One number stands for `count` equal ones.
  std::optional<Sizes> integers(const BoundNode& node, std::string_view name, size_t count) const;

  // The node that alone takes the first result, and nothing else of the node; null when the result
  // is a result of the program, may be written to, or has other users.
  const BoundNode* only_user(const BoundNode& node) const;
  // The node that alone takes the first result, where whoever takes another one stands behind it;
  // null otherwise.
  const BoundNode* only_user_of_first(const BoundNode& node) const;
  // Those that take the first result, each once, in the order of the program; empty where
  // only_user() would not look at them.
  std::vector<const BoundNode*> users(const BoundNode& node) const;
  // The node whose first result the argument is; null if there is none.
  const BoundNode* maker(const BoundArgument& argument) const;
  // The same, where it may become part of a step with its `uses` users: no other step has it.
  const BoundNode* only_maker(const BoundArgument& argument, size_t uses = 1) const;
  // The node that makes the argument for `user` alone, of what nobody writes to; null if there is
  // none, or another step has it. Also while halves are widened.
  const BoundNode* maker_for(const BoundArgument& argument, const BoundNode& user) const;
  // The nodes that make floats of quantized weights for products that take these as they are.
  NodeSet level_nodes();
  // What the program records of a tensor; null for others.
  const TensorMeta* record(const BoundArgument& argument) const;
  const TensorMeta* record(const BoundNode& node) const;
  // Whether the program records the same sizes of the first result and of an argument.
  bool has_sizes_of(const BoundNode& node, const BoundArgument& argument) const;
  // Whether the program records that the argument has fewer dimensions than the first result, or
  // one element along a dimension where that has more.
  bool is_broadcast(const BoundNode& node, const BoundArgument& argument) const;
  // Whether the concatenation alone adds to the value, an input of the graph, and nothing writes to
  // it or to the result.
  bool may_grow(ValueId value, const BoundNode& concatenation) const;
  // Whether nobody takes results behind the first one.
  bool only_first_result_used(const BoundNode& node) const;
  // Whether a node may be computed later than it stands, with others: nothing that it takes may be
  // written to in between, and no other step has it.
  bool joins(const BoundNode& node) const;
  // Whether the node's argument is the first result of another.
  static bool takes(const BoundArgument& argument, const BoundNode& producer);

 private:
  StepPointer taken(StepPointer step);
  const Tensor* floats_in(const Value* value) const;
  bool has_lasting_operands(const BoundNode& node) const;
  // Whether nobody writes to the value's storage once it is made.
  bool may_join(ValueId value) const;

  const BoundGraph& graph_;
  const std::vector<Value>& constants_;
  const std::vector<StorageWrites>& writes_;
  std::shared_ptr<WeightCopies> copies_;
  std::shared_ptr<WeightCopies> half_copies_ = std::make_shared<WeightCopies>(int64_t{1} << 30);
  mutable WidenedWeights widened_{half_copies_};
  std::shared_ptr<Room> room_ = std::make_shared<Room>(int64_t{16} << 20);
  bool widens_ = false;
  std::unordered_map<uint32_t, const BoundNode*> nodes_;  // by id
  NodeSet taken_;
};

// The row of the operators' table that a node calls as it stands there; null for in-place and other
// forms, custom operators, higher-order ones.
const ops::OpDef* own_row(const BoundNode& node);
bool is_operator(const BoundNode& node, std::string_view name, std::string_view overload = {});

// Whether it is a view into which elements go in their order.
bool is_reshape(const BoundNode& node);
// The number that a value is, or that it stands for as a tensor; nothing for others.
std::optional<double> number_of(const Value& value);

// Whether the node computes its results of its arguments and of nothing else, and changes nothing.
bool computes_alone(const BoundNode& node);

// Whether the node changes what others compute that stand behind it: regions of autocast, of vmap.
bool opens_region(const BoundNode& node);

// What may follow sums of products before they are stored.
struct Tail {
  Step::Nodes nodes;                      // behind the one that multiplies
  const BoundArgument* addend = nullptr;  // added to the sums
  kernels::Activation activation = kernels::Activation::none;
};
// Of what follows `node`: an addition, then an activation. With `reshapes`, views that keep the
// order of elements may lie between them.
Tail match_tail(const Planner& planner, const BoundNode& node, bool reshapes);
// An activation of the first result of `node`, and the nodes that compute it in the order of the
// program. They may take the result more than once, and nobody else does.
struct ActivationNodes {
  kernels::Activation activation;
  Step::Nodes nodes;
};
std::optional<ActivationNodes> match_activation(const Planner& planner, const BoundNode& node);
// The activation that a node computes; nothing for others.
std::optional<kernels::Activation> activation_of(const Planner& planner, const BoundNode& node);

// Attention around a softmax; null where there is none.
StepPointer recompose_attention(const Planner& planner, const BoundNode& node);

// What the storages of weights take, each counted once.
struct WeightBytes {
  int64_t all = 0;
  int64_t levels = 0;  // of dtypes of one byte that are numbers
};
WeightBytes count_bytes(std::span<const Value> weights);

// Nodes whose operators refuse what the program records of their arguments. Linear.
NodeSet refused_nodes(const BoundGraph& bound);

// Computes what depends on constants alone: adds to `constants`, by value, and to the plan's.
// Leaves out nodes that `keeps` is true of. Adds the others to `folded`, which need not run any
// more; it may have some from an earlier call.
using KeepsNode = std::function<bool(const BoundNode&)>;
void fold_constants(Plan& plan, std::vector<Value>& constants, const KeepsNode& keeps,
                    const WeightBytes& weights, NodeSet& folded);
// Forgets what folded nodes alone take.
void finish_constants(Plan& plan, const NodeSet& folded);

// make_plan, into a plan that is empty.
void fill_plan(Plan& plan, const BoundGraph& graph, std::span<const Value> weights,
               const std::vector<bool>& known);

// The makers, by what their steps compute. Null where the node is not for them.
StepPointer make_product(const Planner& planner, const BoundNode& node);
using StepMaker = std::function<StepPointer()>;
// What `make` gives for a node alone, around float16 or bfloat16.
StepPointer make_half(const Planner& planner, const BoundNode& node, const StepMaker& make);
StepPointer make_batch_product(const Planner& planner, const BoundNode& node);
inline constexpr std::string_view kBatchProduct = "batch_product";
StepPointer make_convolution(const Planner& planner, const BoundNode& node);
// Of levels, with levels or with floats where sums are short; null for others.
StepPointer make_quantized_convolution(const Planner& planner, const BoundNode& node);
// The nodes that make its kernels of levels, in the order of the program.
Step::Nodes nodes_of_kernel_levels(const Planner& planner, const BoundNode& node);
StepPointer make_volume_convolution(const Planner& planner, const BoundNode& node);
StepPointer make_transposed_convolution(const Planner& planner, const BoundNode& node);
StepPointer make_batch_norm(const Planner& planner, const BoundNode& node);
StepPointer make_group_norm(const Planner& planner, const BoundNode& node);
StepPointer make_pointwise(const Planner& planner, const BoundNode& node);
StepPointer make_typed(const Planner& planner, const BoundNode& node);
StepPointer make_integer_product(const Planner& planner, const BoundNode& node);
StepPointer make_quantization(const Planner& planner, const BoundNode& node);
StepPointer make_mapped(const Planner& planner, const BoundNode& node);
StepPointer make_tiles(const Planner& planner, const BoundNode& node);
StepPointer make_softmax(const Planner& planner, const BoundNode& node);
StepPointer make_norm(const Planner& planner, const BoundNode& node);
StepPointer make_attention(const Planner& planner, const BoundNode& node);
StepPointer make_pooling(const Planner& planner, const BoundNode& node);
StepPointer make_reduction(const Planner& planner, const BoundNode& node);
StepPointer make_concatenation(const Planner& planner, const BoundNode& node);
StepPointer make_gather(const Planner& planner, const BoundNode& node);
StepPointer make_copy(const Planner& planner, const BoundNode& node);
StepPointer make_recurrent(const Planner& planner, const BoundNode& node);
StepPointer make_cell(const Planner& planner, const BoundNode& node);
StepPointer make_batch_statistics(const Planner& planner, const BoundNode& node);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_PLANNER_H
