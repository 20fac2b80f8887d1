// Queries of the step makers about a graph: constant arguments, and the only user of a result.
#ifndef PT2_RUN_PLAN_PLANNER_H
#define PT2_RUN_PLAN_PLANNER_H

#include <functional>
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

// Float32 copies of half-precision weights, held while a plan is made. Steps keep the copies that
// they use.
class WidenedWeights {
 public:
  explicit WidenedWeights(std::shared_ptr<WeightCopies> budget) : budget_(std::move(budget)) {}
  // Returns null for other dtypes and when the budget has no room. The pointer stays valid.
  const Tensor* find(const Tensor& weight);

 private:
  std::shared_ptr<WeightCopies> budget_;
  // Weights and their copies, by the address of the elements.
  std::unordered_multimap<const std::byte*, std::pair<Tensor, Tensor>> weights_;
};

// The first and last node that may write to a value's storage; null if none does. Bound nodes lie
// in program order.
struct StorageWrites {
  const BoundNode* first = nullptr;
  const BoundNode* last = nullptr;
};

using NodeSet = std::unordered_set<const BoundNode*>;

class Planner {
 public:
  // `constants` and `writes` are indexed by value id. A value that calls decide is None in
  // `constants`.
  Planner(const BoundGraph& graph, const std::vector<Value>& constants,
          const std::vector<StorageWrites>& writes, std::shared_ptr<WeightCopies> copies);

  // Each function returns a step for the node and perhaps for others, which get no other step then;
  // null if there is none. They must be called in this order, each one for all nodes. recompose()
  // finds patterns from their middle node. make_step() takes the node and some that follow it.
  // make_chain() takes elementwise functions that end at the node. make_single() takes one
  // elementwise function. make_last() takes copies that belong to no other step.
  StepPointer recompose(const BoundNode& node);
  StepPointer make_step(const BoundNode& node);
  StepPointer make_chain(const BoundNode& node);
  StepPointer make_single(const BoundNode& node);
  StepPointer make_last(const BoundNode& node);
  bool is_taken(const BoundNode& node) const { return taken_.contains(&node); }
  // Excludes nodes: no function here makes a step for them.
  void leave_out(const NodeSet& nodes) { taken_.insert(nodes.begin(), nodes.end()); }
  // True while a step is made for a single node whose halves are widened before it. Weights are
  // then found widened, and no other node can join.
  bool widens() const { return widens_; }

  // Returns the argument called `name`; null if the operator has none.
  static const BoundArgument* argument(const BoundNode& node, std::string_view name);
  // Returns the argument's value if it is the same in every call; null otherwise.
  const Value* constant(const BoundArgument* argument) const;
  const Value* constant(const BoundNode& node, std::string_view name) const {
    return constant(argument(node, name));
  }
  // The same for a value of type T.
  template <class T>
  const T* constant_of(const BoundNode& node, std::string_view name) const {
    const Value* value = constant(node, name);
    return value == nullptr ? nullptr : value->get_if<T>();
  }
  // The same for arguments of one type. Integers, reals and tensors that stand for one number are
  // numbers. An omitted argument is none. Returned tensors are no larger than their storage.
  bool is_none(const BoundNode& node, std::string_view name) const;
  const Tensor* floats(const BoundNode& node, std::string_view name) const;
  const Tensor* floats(ValueId value) const;
  // Returns a constant tensor of any dtype whose elements take no more bytes than its storage.
  const Tensor* elements(const BoundNode& node, std::string_view name) const;
  const Tensor* elements(ValueId value) const;
  // Returns a float32 copy of a half-precision weight, shared by all callers; null if the budget
  // has no room for a copy.
  const Tensor* widened(const Tensor& weight) const { return widened_.find(weight); }
  // Returns a constant int64 tensor under the same conditions.
  const Tensor* whole_numbers(ValueId value) const;
  // Returns the weight in row-major order; nullopt if the budget has no room for a copy.
  std::optional<Tensor> row_major(const Tensor& weight) const;
  const std::shared_ptr<WeightCopies>& copies() const { return copies_; }
  // The budget for float32 copies of halves, which take twice the memory of a possibly large model.
  const std::shared_ptr<WeightCopies>& half_copies() const { return half_copies_; }
  // The budget for data that steps keep from their last call.
  const std::shared_ptr<Room>& room() const { return room_; }
  std::optional<double> number(const BoundNode& node, std::string_view name) const;
  std::optional<int64_t> integer(const BoundNode& node, std::string_view name) const;
  std::optional<bool> flag(const BoundNode& node, std::string_view name) const;
  std::optional<Dtype> dtype(const BoundNode& node, std::string_view name) const;
  std::optional<Sizes> integers(const BoundNode& node, std::string_view name) const;
  // A list of one number stands for `count` equal numbers.
  std::optional<Sizes> integers(const BoundNode& node, std::string_view name, size_t count) const;

  // Returns the only user of the first result. Null if that result is a graph output, may be
  // written to, or has other users, and null if another result of the node is used.
  const BoundNode* only_user(const BoundNode& node) const;
  // Returns the only user of the first result, even if other results have users, as long as these
  // users stand after the returned node; null otherwise.
  const BoundNode* only_user_of_first(const BoundNode& node) const;
  // Returns the users of the first result, each once, in program order. Empty where only_user()
  // would return null for one of them, and if there are more than four.
  std::vector<const BoundNode*> users(const BoundNode& node) const;
  // Returns the node whose first result is the argument; null if there is none.
  const BoundNode* maker(const BoundArgument& argument) const;
  // The same, if the node can join a step with its `uses` users and no other step has it.
  const BoundNode* only_maker(const BoundArgument& argument, size_t uses = 1) const;
  // Returns the node that makes the argument if `user` is its only user, no node writes to its
  // operands or result afterwards, and no other step has it; null otherwise. Also works while
  // halves are widened.
  const BoundNode* maker_for(const BoundArgument& argument, const BoundNode& user) const;
  // Returns the nodes that dequantize weights for products that read the quantized weights
  // directly.
  NodeSet level_nodes();
  // Returns the recorded metadata of a tensor; null for other values.
  const TensorMeta* record(const BoundArgument& argument) const;
  const TensorMeta* record(const BoundNode& node) const;
  // Returns the recorded dtype of the first result, or of the argument; nothing if it is unknown.
  std::optional<Dtype> recorded_dtype(const BoundNode& node) const;
  std::optional<Dtype> recorded_dtype(const BoundArgument& argument) const;
  // True if the program records the same sizes for the first result and for the argument.
  bool has_sizes_of(const BoundNode& node, const BoundArgument& argument) const;
  // True if the program records that the argument has fewer dimensions than the first result, or
  // size 1 in a dimension where the result is larger.
  bool is_broadcast(const BoundNode& node, const BoundArgument& argument) const;
  // True if `value` is a graph input that `concatenation` alone extends, and no node writes to the
  // value or to the result.
  bool may_grow(ValueId value, const BoundNode& concatenation) const;
  // True if no result after the first one is used.
  bool only_first_result_used(const BoundNode& node) const;
  // True if the node may be computed later than it stands, together with others: no node writes to
  // its operands in between, and no other step has it.
  bool joins(const BoundNode& node) const;
  // True if the argument is the first result of `producer`.
  static bool takes(const BoundArgument& argument, const BoundNode& producer);

 private:
  StepPointer taken(StepPointer step);
  const Tensor* floats_in(const Value* value) const;
  bool has_lasting_operands(const BoundNode& node) const;
  // True if no node writes to the value's storage after the value is made.
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
  std::unordered_map<ValueId, size_t> concatenations_;    // how often aten::cat takes a value
  mutable std::unordered_map<const BoundNode*, bool> has_lasting_operands_;
  NodeSet taken_;
};

// Returns the row of the operators' table that a node calls directly; null for in-place and other
// derived forms, custom operators and higher-order operators.
const ops::OpDef* own_row(const BoundNode& node);
bool is_operator(const BoundNode& node, std::string_view name, std::string_view overload = {});

// True if the node is a view that keeps the order of the elements.
bool is_reshape(const BoundNode& node);
// Returns the values that the argument lists, or its single value; empty for others.
std::vector<ValueId> items_of(const BoundArgument& argument);
// Returns the number that the value is, or that it stands for as a tensor; nullopt for others.
std::optional<double> number_of(const Value& value);

// True if the results depend on the arguments alone and the node has no side effects.
bool computes_alone(const BoundNode& node);

// True if the node changes how later nodes compute: regions of autocast and of vmap.
bool opens_region(const BoundNode& node);

// Nodes that follow a product and are applied to its sums before these are stored.
struct Tail {
  Step::Nodes nodes;                      // after the node that multiplies
  const BoundArgument* addend = nullptr;  // added to the sums
  kernels::Activation activation = kernels::Activation::none;
};
// Matches what follows `node`: an addition, then an activation. With `reshapes`, views that keep
// the order of the elements may stand between them.
Tail match_tail(const Planner& planner, const BoundNode& node, bool reshapes);
// An activation of the first result of `node`, and the nodes that compute it, in program order.
// These may use the result more than once; no other node uses it.
struct ActivationNodes {
  kernels::Activation activation;
  Step::Nodes nodes;
};
std::optional<ActivationNodes> match_activation(const Planner& planner, const BoundNode& node);
// Matches an activation of the first result of nodes.back() and appends its nodes.
kernels::Activation take_activation(const Planner& planner, Step::Nodes& nodes);
// Returns the activation that the node computes; nullopt for others.
std::optional<kernels::Activation> activation_of(const Planner& planner, const BoundNode& node);

// Each returns a step for the nodes that a function is decomposed to, found from one of them; null
// if there is none. Attention is found from its softmax, instance_norm from a batch normalization,
// rms_norm from its root.
StepPointer recompose_attention(const Planner& planner, const BoundNode& node);
StepPointer recompose_instance_norm(const Planner& planner, const BoundNode& node);
StepPointer recompose_rms_norm(const Planner& planner, const BoundNode& node);

// Bytes of the weights' storages, each storage counted once.
struct WeightBytes {
  int64_t all = 0;
  int64_t levels = 0;  // dtypes of one byte, except bool
};
WeightBytes count_bytes(std::span<const Value> weights);

// Returns the nodes whose operators refuse the recorded arguments. Linear time.
NodeSet refused_nodes(const BoundGraph& bound);

// Computes nodes that depend on constants alone. Adds the results to `constants`, by value id, and
// to the plan's constants. Skips nodes for which `keeps` is true. Adds the computed nodes, which
// calls need not run, to `folded`; it may hold nodes of an earlier call.
using KeepsNode = std::function<bool(const BoundNode&)>;
void fold_constants(Plan& plan, std::vector<Value>& constants, const KeepsNode& keeps,
                    const WeightBytes& weights, NodeSet& folded);
// Drops the plan's constants that only folded nodes use.
void finish_constants(Plan& plan, const NodeSet& folded);

// make_plan() into an empty plan.
void fill_plan(Plan& plan, const BoundGraph& graph, std::span<const Value> weights,
               const std::vector<bool>& known);

// The makers, named after what their steps compute. Each returns null if the node does not fit.
StepPointer make_product(const Planner& planner, const BoundNode& node);
using StepMaker = std::function<StepPointer()>;
// Returns the step that `make` makes for a single node, wrapped to widen float16 or bfloat16
// operands and to round the result.
StepPointer make_half(const Planner& planner, const BoundNode& node, const StepMaker& make);
StepPointer make_batch_product(const Planner& planner, const BoundNode& node);
inline constexpr std::string_view kBatchProduct = "batch_product";
StepPointer make_convolution(const Planner& planner, const BoundNode& node);
// Takes a convolution of quantized values. Computes with integers, or with floats if sums are
// short; null for others.
StepPointer make_quantized_convolution(const Planner& planner, const BoundNode& node);
// Returns the nodes that dequantize the convolution's kernels, in program order.
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
