#include "run/plan/planner.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "ir/values/record.h"
#include "ir/walk.h"
#include "ops/loops.h"
#include "run/plan/halves.h"
#include "run/plan/layout.h"
#include "run/plan/nested_plans.h"
#include "run/plan/steps/product_weights.h"

namespace pt2::run {
namespace {

constexpr struct {
  std::string_view name;
  std::string_view overload;
  StepPointer (*make)(const Planner& planner, const BoundNode& node);
  bool takes_halves = false;  // the maker handles halves itself; the others get widened operands
} kMakers[] = {
    {"aten::linear", "", make_product},
    {"aten::addmm", "", make_product},
    {"aten::mm", "", make_product},
    {"aten::matmul", "", make_product},
    {"aten::bmm", "", make_product},
    {"aten::mv", "", make_batch_product},
    {"aten::_int_mm", "", make_integer_product, true},
    {"aten::conv1d", "", make_convolution},
    {"aten::conv2d", "", make_convolution},
    {"aten::conv3d", "", make_volume_convolution},
    {"aten::conv1d", "padding", make_convolution},
    {"aten::conv2d", "padding", make_convolution},
    {"aten::convolution", "", make_convolution},
    {"aten::conv_transpose1d", "", make_transposed_convolution},
    {"aten::conv_transpose2d", "input", make_transposed_convolution},
    {"aten::conv_transpose3d", "input", make_transposed_convolution},
    {"aten::batch_norm", "", make_batch_norm},
    {"aten::_native_batch_norm_legit_no_training", "", make_batch_norm},
    {"aten::native_batch_norm", "", make_batch_norm},
    {"aten::_native_batch_norm_legit", "", make_batch_norm},
    {"aten::_native_batch_norm_legit", "no_stats", make_batch_norm},
    {"aten::_native_batch_norm_legit_functional", "", make_batch_norm},
    {"aten::group_norm", "", make_group_norm},
    {"aten::native_group_norm", "", make_group_norm},
    {"aten::instance_norm", "", make_group_norm},
    {"aten::softmax", "int", make_softmax},
    {"aten::_softmax", "", make_softmax},
    {"aten::log_softmax", "int", make_softmax},
    {"aten::_log_softmax", "", make_softmax},
    {"aten::layer_norm", "", make_norm},
    {"aten::native_layer_norm", "", make_norm},
    {"aten::rms_norm", "", make_norm},
    {"aten::scaled_dot_product_attention", "", make_attention, true},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", "", make_attention, true},
    {"aten::max_pool1d", "", make_pooling},
    {"aten::max_pool1d_with_indices", "", make_pooling},
    {"aten::avg_pool1d", "", make_pooling},
    {"aten::adaptive_avg_pool1d", "", make_pooling},
    {"aten::max_pool2d", "", make_pooling},
    {"aten::max_pool2d_with_indices", "", make_pooling},
    {"aten::avg_pool2d", "", make_pooling},
    {"aten::adaptive_avg_pool2d", "", make_pooling},
    {"aten::_adaptive_avg_pool2d", "", make_pooling},
    {"aten::max_pool3d", "", make_pooling},
    {"aten::max_pool3d_with_indices", "", make_pooling},
    {"aten::avg_pool3d", "", make_pooling},
    {"aten::adaptive_avg_pool3d", "", make_pooling},
    {"aten::_adaptive_avg_pool3d", "", make_pooling},
    {"aten::sum", "", make_reduction},
    {"aten::sum", "dim_IntList", make_reduction},
    {"aten::mean", "", make_reduction},
    {"aten::mean", "dim", make_reduction},
    {"aten::amax", "", make_reduction},
    {"aten::amin", "", make_reduction},
    {"aten::logsumexp", "", make_reduction},
    {"aten::max", "dim", make_reduction},
    {"aten::min", "dim", make_reduction},
    {"aten::cat", "", make_concatenation, true},
    {"aten::stack", "", make_concatenation, true},
    {"aten::embedding", "", make_gather, true},
    {"aten::index_select", "", make_gather, true},
    {"aten::index", "Tensor", make_gather, true},
    {"aten::lstm", "input", make_recurrent, true},
    {"aten::gru", "input", make_recurrent, true},
    {"aten::rnn_tanh", "input", make_recurrent, true},
    {"aten::rnn_relu", "input", make_recurrent, true},
    {"aten::lstm_cell", "", make_cell, true},
    {"aten::gru_cell", "", make_cell, true},
    {"aten::rnn_tanh_cell", "", make_cell, true},
    {"aten::rnn_relu_cell", "", make_cell, true},
};

// A step without a kernel of its own: the reference kernel computes its single node.
class ReferenceStep final : public Step {
 public:
  using Step::Step;
  Result<bool> run(Frame&) const override { return false; }
  std::string_view name() const override { return kReference; }
};

// Returns for each value the first and last node that may write to its storage. Weights may share
// storages from the beginning.
std::vector<StorageWrites> find_writes(const BoundGraph& bound, std::span<const Value> weights) {
  const Graph& graph = *bound.graph;
  // Disjoint sets of values: values that may share a storage are in the same set.
  std::vector<uint32_t> parent(graph.value_count());
  for (uint32_t i = 0; i < parent.size(); ++i) parent[i] = i;
  const auto root = [&](uint32_t value) {
    while (parent[value] != value) value = parent[value] = parent[parent[value]];
    return value;
  };
  std::unordered_map<const Storage*, uint32_t> owners;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto* id = graph.inputs()[i].get_if<ValueId>();
    const auto* tensor = weights[i].get_if<Tensor>();
    if (id == nullptr || tensor == nullptr || !tensor->defined()) continue;
    const auto value = static_cast<uint32_t>(*id);
    parent[root(value)] = root(owners.emplace(tensor->storage().get(), value).first->second);
  }
  std::vector<std::pair<uint32_t, const BoundNode*>> written;
  for (const BoundNode& node : bound.nodes) {
    const bool writes = may_write_to_arguments(node);
    const bool aliases = may_return_arguments(node);
    if (!writes && !aliases) continue;
    if (node.higher_order == nullptr && node.op.custom == nullptr &&
        (!aliases || node.op.form == ops::Operator::Form::in_place)) {
      // The written arguments are known, and the result aliases at most the first argument.
      for (size_t i = 0; i < node.arguments.size(); ++i)
        if (const auto id = Frame::value_id(node.arguments[i]);
            id && may_write_to_argument(node, i)) {
          written.emplace_back(static_cast<uint32_t>(*id), &node);
          if (!aliases) continue;
          for_each_result(*node.node, [&](ValueId made) {
            parent[root(static_cast<uint32_t>(made))] = root(static_cast<uint32_t>(*id));
          });
        }
      continue;
    }
    std::optional<uint32_t> first;
    const auto join = [&](ValueId id) {
      if (is_number(graph.value(id))) return;
      const auto value = root(static_cast<uint32_t>(id));
      if (first)
        parent[value] = root(*first);
      else
        first = value;
    };
    for_each_operand(*node.node, join);
    for_each_result(*node.node, join);
    if (writes && first) written.emplace_back(*first, &node);
  }
  std::unordered_map<uint32_t, StorageWrites> roots;
  for (const auto& [value, node] : written)
    roots.emplace(root(value), StorageWrites{node, node}).first->second.last = node;
  std::vector<StorageWrites> out(parent.size());
  for (uint32_t i = 0; i < out.size(); ++i)
    if (const auto found = roots.find(root(i)); found != roots.end()) out[i] = found->second;
  return out;
}

// True if the node returns its argument itself, or a view of it, for some strides and a copy for
// others.
bool shares_by_strides(const BoundNode& node) {
  const ops::OpDef* row = own_row(node);
  if (row == nullptr) return false;
  const ops::Sharing sharing = row->facts.sharing;
  if (sharing != ops::Sharing::unless_cast)
    return sharing == ops::Sharing::where_strides_allow ||
           sharing == ops::Sharing::unless_contiguous;
  const BoundArgument* format = Planner::argument(node, "memory_format");
  if (format == nullptr || format->dynamic != nullptr) return format != nullptr;
  const auto* wanted = format->constant.get_if<MemoryFormat>();
  return wanted != nullptr && *wanted != MemoryFormat::preserve;
}

// True if strides decide whether a write changes a value that a node computes: y = exp(x.t());
// z = y.reshape(-1); z.add_(1). Steps give results other strides than the program does.
bool writes_depend_on_strides(const BoundGraph& bound, const std::vector<StorageWrites>& writes) {
  const Graph& graph = *bound.graph;
  // The memory that a value shows. Inputs have the program's strides in a plan, too, but casts of
  // them may be results of steps. A write is not seen where each value leads to a single node.
  enum class Memory : uint8_t { of_input, of_one_user, of_several };
  std::vector<Memory> memory(graph.value_count(), Memory::of_input);
  for (const BoundNode& node : bound.nodes) {
    const auto first = node.arguments.empty() ? std::nullopt : Frame::value_id(node.arguments[0]);
    const Memory from = first ? memory[static_cast<size_t>(*first)] : Memory::of_one_user;
    if (first && from == Memory::of_several && shares_by_strides(node)) {
      const BoundNode* last = writes[static_cast<size_t>(*first)].last;
      if (last != nullptr && last > &node) return true;
    }
    const bool shows = first && node.higher_order == nullptr && node.op.custom == nullptr &&
                       may_return_arguments(node);
    const ops::OpDef* row = own_row(node);
    const bool may_cast = row != nullptr && row->facts.sharing == ops::Sharing::unless_cast;
    for_each_result(*node.node, [&](ValueId id) {
      Memory& own = memory[static_cast<size_t>(id)];
      own = shows ? from : Memory::of_one_user;
      if (may_cast) own = std::max(own, Memory::of_one_user);
      const auto uses = graph.uses(id);
      if (own == Memory::of_one_user && uses.begin() != uses.end() &&
          std::next(uses.begin()) != uses.end())
        own = Memory::of_several;
    });
  }
  return false;
}

std::vector<ValueId> values_of(const Step& step) {
  std::vector<ValueId> out;
  const auto add = [&](ValueId id) { out.push_back(id); };
  for (const BoundNode* node : step.nodes()) {
    for_each_operand(*node->node, add);
    for_each_result(*node->node, add);
  }
  return out;
}

// Returns the budget for reordered copies of weights: twice the bytes of the weights, so that
// padding fits, but copies of one weight by many steps do not. Quantized weights (levels) become
// floats first, so they add to the budget.
std::shared_ptr<WeightCopies> memory_for_copies(const WeightBytes& bytes) {
  constexpr int64_t kAlways = 16 << 20;
  return std::make_shared<WeightCopies>(kAlways + 2 * bytes.all + 6 * bytes.levels);
}

void find_releases(const Graph& graph, std::vector<StepPointer>& steps) {
  std::vector<Step*> last(graph.value_count(), nullptr);
  for (const StepPointer& step : steps)
    for (const ValueId id : values_of(*step)) last[static_cast<size_t>(id)] = step.get();
  for (const Argument& output : graph.outputs())
    for_each_value(output, [&](ValueId id) { last[static_cast<size_t>(id)] = nullptr; });
  for (size_t id = 0; id < last.size(); ++id)
    if (last[id] != nullptr) last[id]->released.push_back(ValueId{static_cast<uint32_t>(id)});
}

// Returns the weight's tensor if kernels can read its elements; null otherwise.
const Tensor* elements_of(const Value* value) {
  const auto* tensor = value == nullptr ? nullptr : value->get_if<Tensor>();
  if (tensor == nullptr || !tensor->defined() || tensor->numel() == 0) return nullptr;
  // With stride 0 a few elements stand for any number of them. A large copy must not be larger than
  // the file.
  constexpr uint64_t kSmall = uint64_t{16} << 10;
  if (static_cast<uint64_t>(tensor->nbytes()) >
      std::max(uint64_t{tensor->storage()->size()}, kSmall))
    return nullptr;
  return is_aligned(*tensor) ? tensor : nullptr;
}

}  // namespace

bool opens_region(const BoundNode& node) {
  const bool is_python_function =
      node.higher_order != nullptr && node.higher_order->name == node.node->target;
  return !node.batched.empty() || (is_python_function && node.higher_order->function != no_effect);
}

const ops::OpDef* own_row(const BoundNode& node) {
  if (node.op.custom != nullptr || node.higher_order != nullptr ||
      node.op.form != ops::Operator::Form::as_written)
    return nullptr;
  return node.op.def;
}

bool is_operator(const BoundNode& node, std::string_view name, std::string_view overload) {
  const ops::OpDef* row = own_row(node);
  return row != nullptr && row->signature->name == name && row->signature->overload == overload;
}

bool is_reshape(const BoundNode& node) {
  const ops::OpDef* row = own_row(node);
  return row != nullptr && row->is_view() && row->facts.inverse == ops::Inverse::reshape;
}

std::vector<ValueId> items_of(const BoundArgument& argument) {
  std::vector<ValueId> out;
  if (const auto id = Frame::value_id(argument)) return {*id};
  const auto* list =
      argument.dynamic == nullptr ? nullptr : argument.dynamic->get_if<ArgumentList>();
  if (list == nullptr) return out;
  for (const Argument& item : list->items) {
    const auto* id = item.get_if<ValueId>();
    if (id == nullptr) return {};
    out.push_back(*id);
  }
  return out;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* real = value.get_if<double>()) return *real;
  if (const auto* integer = value.get_if<int64_t>()) return static_cast<double>(*integer);
  const auto* tensor = value.get_if<Tensor>();
  if (tensor == nullptr || !tensor->is_wrapped_number() ||
      dtype_category(tensor->dtype()) > DtypeCategory::floating)
    return std::nullopt;
  double number = 0;
  ops::load_elements<double>(tensor->raw_data(), 1, tensor->dtype(), 1, &number);
  return number;
}

Planner::Planner(const BoundGraph& graph, const std::vector<Value>& constants,
                 const std::vector<StorageWrites>& writes, std::shared_ptr<WeightCopies> copies)
    : graph_(graph), constants_(constants), writes_(writes), copies_(std::move(copies)) {
  size_t position = 0;
  for (const NodeId id : graph.graph->nodes()) {
    const BoundNode& node = graph.nodes[position++];
    nodes_.emplace(static_cast<uint32_t>(id), &node);
    if (is_operator(node, "aten::cat"))
      for_each_operand(*node.node, [&](ValueId value) { ++concatenations_[value]; });
  }
}

namespace {

// A file may have a node without results, with a list as its first result, with more results than
// its operator returns, or with a tensor where its operator takes a number. The reference executor
// decides what such a node means.
bool is_called_as_signed(const Graph& graph, const BoundNode& node) {
  const std::vector<Argument>& outputs = node.node->outputs;
  if (!node.op || outputs.empty() || !outputs[0].is<ValueId>()) return false;
  const ops::Signature& signature = node.op.signature();
  if (outputs.size() > signature.return_count) return false;
  for (size_t i = 0; i < node.arguments.size() && i < signature.parameter_count; ++i)
    if (const auto id = Frame::value_id(node.arguments[i]);
        id && graph.value(*id).kind() == ValueKind::tensor &&
        signature.parameter_array[i].type.base != ops::BaseType::tensor)
      return false;
  return true;
}

}  // namespace

StepPointer Planner::taken(StepPointer step) {
  if (step != nullptr) taken_.insert(step->nodes().begin(), step->nodes().end());
  return step;
}

StepPointer Planner::recompose(const BoundNode& node) {
  for (auto* find : {recompose_attention, recompose_instance_norm, recompose_rms_norm})
    if (StepPointer step = find(*this, node)) return taken(std::move(step));
  return nullptr;
}

StepPointer Planner::make_step(const BoundNode& node) {
  for (const auto& maker : kMakers) {
    if (!is_operator(node, maker.name, maker.overload)) continue;
    if (maker.make == make_convolution)
      for (auto* make : {make_half_convolution, make_quantized_convolution})
        if (StepPointer step = make(*this, node)) return taken(std::move(step));
    if (!maker.takes_halves && !(maker.make == make_product && has_half_weights(*this, node))) {
      widens_ = true;
      StepPointer step = make_half(*this, node, [&] { return maker.make(*this, node); });
      widens_ = false;
      // The batched product multiplies halves as well, so they are not widened for it.
      if (step != nullptr && step->name() == kBatchProduct) step = make_batch_product(*this, node);
      if (step != nullptr) return taken(std::move(step));
    }
    return taken(maker.make(*this, node));
  }
  return nullptr;
}

StepPointer Planner::make_chain(const BoundNode& node) { return taken(make_tiles(*this, node)); }

StepPointer Planner::make_single(const BoundNode& node) {
  StepPointer step = make_quantization(*this, node);
  if (step == nullptr) step = make_pointwise(*this, node);
  return taken(step != nullptr ? std::move(step) : make_mapped(*this, node));
}

StepPointer Planner::make_last(const BoundNode& node) { return taken(make_copy(*this, node)); }

const BoundArgument* Planner::argument(const BoundNode& node, std::string_view name) {
  const ops::Signature& signature = node.op.signature();
  for (size_t i = 0; i < signature.parameter_count; ++i)
    if (signature.parameter_array[i].name == name) return &node.arguments[i];
  return nullptr;
}

const Value* Planner::constant(const BoundArgument* argument) const {
  if (argument == nullptr) return nullptr;
  if (argument->dynamic == nullptr) return &argument->constant;
  const auto id = Frame::value_id(*argument);
  if (!id || constants_[static_cast<size_t>(*id)].is_none()) return nullptr;
  return &constants_[static_cast<size_t>(*id)];
}

bool Planner::is_none(const BoundNode& node, std::string_view name) const {
  const Value* value = constant(node, name);
  return value != nullptr && value->is_none();
}

const Tensor* Planner::floats_in(const Value* value) const {
  const Tensor* tensor = elements_of(value);
  if (tensor == nullptr || tensor->dtype() == Dtype::float32) return tensor;
  return widens_ ? widened_.find(*tensor) : nullptr;
}

const Tensor* Planner::floats(const BoundNode& node, std::string_view name) const {
  return floats_in(constant(node, name));
}

const Tensor* Planner::floats(ValueId value) const {
  return floats_in(&constants_[static_cast<size_t>(value)]);
}

const Tensor* Planner::whole_numbers(ValueId value) const {
  const Tensor* tensor = elements_of(&constants_[static_cast<size_t>(value)]);
  return tensor == nullptr || tensor->dtype() != Dtype::int64 ? nullptr : tensor;
}

const Tensor* Planner::elements(const BoundNode& node, std::string_view name) const {
  return elements_of(constant(node, name));
}

const Tensor* Planner::elements(ValueId value) const {
  return elements_of(&constants_[static_cast<size_t>(value)]);
}

std::optional<Tensor> Planner::row_major(const Tensor& weight) const {
  if (weight.is_contiguous()) return weight;
  return copies_->take(weight.nbytes()) ? std::optional(weight.contiguous()) : std::nullopt;
}

std::optional<double> Planner::number(const BoundNode& node, std::string_view name) const {
  const Value* value = constant(node, name);
  return value == nullptr ? std::nullopt : number_of(*value);
}

std::optional<int64_t> Planner::integer(const BoundNode& node, std::string_view name) const {
  const auto* integer = constant_of<int64_t>(node, name);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<Dtype> Planner::dtype(const BoundNode& node, std::string_view name) const {
  const auto* dtype = constant_of<Dtype>(node, name);
  return dtype == nullptr ? std::nullopt : std::optional(*dtype);
}

std::optional<bool> Planner::flag(const BoundNode& node, std::string_view name) const {
  const auto* flag = constant_of<bool>(node, name);
  return flag == nullptr ? std::nullopt : std::optional(*flag);
}

std::optional<Sizes> Planner::integers(const BoundNode& node, std::string_view name) const {
  const auto* list = constant_of<Value::List>(node, name);
  if (list == nullptr) return std::nullopt;
  Sizes out;
  for (const Value& item : *list) {
    const auto* integer = item.get_if<int64_t>();
    if (integer == nullptr) return std::nullopt;
    out.push_back(*integer);
  }
  return out;
}

std::optional<Sizes> Planner::integers(const BoundNode& node, std::string_view name,
                                       size_t count) const {
  std::optional<Sizes> out = integers(node, name);
  if (out && out->size() == 1) out->resize(count, out->front());
  return out && out->size() == count ? std::move(out) : std::nullopt;
}

bool Planner::may_join(ValueId value) const {
  const StorageWrites& writes = writes_[static_cast<size_t>(value)];
  if (writes.first == nullptr) return true;
  const auto maker = maker_of(*graph_.graph, value);
  return maker && writes.last <= nodes_.at(static_cast<uint32_t>(*maker));
}

bool Planner::has_lasting_operands(const BoundNode& node) const {
  // A node with many operands is asked about for each of them.
  const auto [found, is_new] = has_lasting_operands_.try_emplace(&node, true);
  if (!is_new) return found->second;
  bool& lasting = found->second;
  for_each_operand(*node.node, [&](ValueId id) { lasting = lasting && may_join(id); });
  return lasting;
}

bool Planner::joins(const BoundNode& node) const {
  return !is_taken(node) && node.batched.empty() && node.higher_order == nullptr &&
         is_called_as_signed(*graph_.graph, node) && only_first_result_used(node) &&
         has_lasting_operands(node);
}

std::vector<const BoundNode*> Planner::users(const BoundNode& node) const {
  if (widens_) return {};
  const std::vector<Argument>& outputs = node.node->outputs;
  const auto* value = outputs.empty() ? nullptr : outputs[0].get_if<ValueId>();
  if (value == nullptr || !may_join(*value) || !only_first_result_used(node)) return {};
  if (!has_lasting_operands(node)) return {};
  std::vector<const BoundNode*> out;
  for (const Use& use : graph_.graph->uses(*value)) {
    if (!use.node) return {};
    const BoundNode* user = nodes_.at(static_cast<uint32_t>(*use.node));
    if (std::ranges::find(out, user) != out.end()) continue;
    if (!joins(*user)) return {};
    out.push_back(user);
    constexpr size_t kMost = 4;
    if (out.size() > kMost) return {};
  }
  std::ranges::sort(out);  // bound nodes lie in program order, so this sorts by position
  return out;
}

const BoundNode* Planner::only_user(const BoundNode& node) const {
  const std::vector<const BoundNode*> all = users(node);
  return all.size() == 1 ? all[0] : nullptr;
}

const BoundNode* Planner::only_user_of_first(const BoundNode& node) const {
  if (widens_) return nullptr;
  const std::vector<Argument>& outputs = node.node->outputs;
  const auto* value = outputs.empty() ? nullptr : outputs[0].get_if<ValueId>();
  if (value == nullptr || !may_join(*value)) return nullptr;
  const BoundNode* only = nullptr;
  for (const Use& use : graph_.graph->uses(*value)) {
    const BoundNode* user = use.node ? nodes_.at(static_cast<uint32_t>(*use.node)) : nullptr;
    if (user == nullptr || (only != nullptr && user != only)) return nullptr;
    only = user;
  }
  if (only == nullptr || !joins(*only)) return nullptr;
  // Bound nodes lie in program order, so pointers compare like positions.
  bool are_behind = true;
  for_each_operand(*node.node, [&](ValueId id) {
    are_behind &= may_join(id) || writes_[static_cast<size_t>(id)].first > only;
  });
  for (size_t i = 1; i < outputs.size(); ++i)
    for_each_value(outputs[i], [&](ValueId id) {
      for (const Use& use : graph_.graph->uses(id))
        if (use.node) are_behind &= nodes_.at(static_cast<uint32_t>(*use.node)) > only;
    });
  return are_behind ? only : nullptr;
}

const BoundNode* Planner::maker(const BoundArgument& argument) const {
  const auto id = Frame::value_id(argument);
  if (!id) return nullptr;
  const Definition& definition = graph_.graph->value(*id).definition;
  if (definition.by != Definition::By::node || definition.index != 0) return nullptr;
  return nodes_.at(static_cast<uint32_t>(definition.node));
}

const BoundNode* Planner::only_maker(const BoundArgument& argument, size_t uses) const {
  const BoundNode* made = maker(argument);
  if (made == nullptr || is_taken(*made) || !is_called_as_signed(*graph_.graph, *made))
    return nullptr;
  return users(*made).size() == uses ? made : nullptr;
}

const BoundNode* Planner::maker_for(const BoundArgument& argument, const BoundNode& user) const {
  const BoundNode* made = maker(argument);
  if (made == nullptr || is_taken(*made) || !computes_alone(*made) ||
      made->node->outputs.size() != 1 || !is_called_as_signed(*graph_.graph, *made) ||
      !has_lasting_operands(*made))
    return nullptr;
  const ValueId value = *made->node->outputs[0].get_if<ValueId>();
  const auto is_by_user = [&](const Use& use) {
    return use.node && nodes_.at(static_cast<uint32_t>(*use.node)) == &user;
  };
  return may_join(value) && std::ranges::all_of(graph_.graph->uses(value), is_by_user) ? made
                                                                                       : nullptr;
}

NodeSet Planner::level_nodes() {
  NodeSet out;
  for (const BoundNode& node : graph_.nodes) {
    const auto is_for_node = [&](const auto& maker) {
      return is_operator(node, maker.name, maker.overload);
    };
    const auto* const maker = std::ranges::find_if(kMakers, is_for_node);
    if (!is_called_as_signed(*graph_.graph, node) || maker == std::end(kMakers)) continue;
    if (maker->make == make_convolution) {
      const Step::Nodes made_by = nodes_of_kernel_levels(*this, node);
      out.insert(made_by.begin(), made_by.end());
    }
    if (maker->make != make_product) continue;
    const auto dtype = recorded_dtype(node);
    widens_ = dtype && is_half(*dtype);
    if (const auto weights = find_product_weights(*this, node))
      out.insert(weights->made_by.begin(), weights->made_by.end());
    widens_ = false;
  }
  return out;
}

const TensorMeta* Planner::record(const BoundArgument& argument) const {
  const auto id = Frame::value_id(argument);
  return id ? graph_.graph->value(*id).tensor() : nullptr;
}

const TensorMeta* Planner::record(const BoundNode& node) const {
  const auto* id = node.node->outputs.empty() ? nullptr : node.node->outputs[0].get_if<ValueId>();
  return id == nullptr ? nullptr : graph_.graph->value(*id).tensor();
}

std::optional<Dtype> Planner::recorded_dtype(const BoundNode& node) const {
  const TensorMeta* made = record(node);
  return made == nullptr ? std::nullopt : made->dtype.dtype();
}

std::optional<Dtype> Planner::recorded_dtype(const BoundArgument& argument) const {
  const TensorMeta* taken = record(argument);
  return taken == nullptr ? std::nullopt : taken->dtype.dtype();
}

bool Planner::has_sizes_of(const BoundNode& node, const BoundArgument& argument) const {
  const TensorMeta *own = record(node), *other = record(argument);
  return own != nullptr && other != nullptr && own->sizes == other->sizes;
}

bool Planner::is_broadcast(const BoundNode& node, const BoundArgument& argument) const {
  const TensorMeta *own = record(node), *other = record(argument);
  if (own == nullptr || other == nullptr) return false;
  if (own->sizes.size() != other->sizes.size()) return own->sizes.size() > other->sizes.size();
  const auto is_one = [](const SymInt& size) { return !size.is_symbolic() && size.literal() == 1; };
  for (size_t dim = 0; dim < own->sizes.size(); ++dim)
    if (is_one(other->sizes[dim]) && !is_one(own->sizes[dim])) return true;
  return false;
}

bool Planner::may_grow(ValueId value, const BoundNode& concatenation) const {
  const ValueId result = *concatenation.node->outputs[0].get_if<ValueId>();
  if (graph_.graph->value(value).definition.by != Definition::By::graph_input || !may_join(value) ||
      !may_join(result))
    return false;
  return concatenations_.at(value) == 1;
}

bool Planner::only_first_result_used(const BoundNode& node) const {
  bool unused = true;
  for (size_t i = 1; i < node.node->outputs.size(); ++i)
    for_each_value(node.node->outputs[i], [&](ValueId id) {
      const auto uses = graph_.graph->uses(id);
      unused = unused && uses.begin() == uses.end();
    });
  return unused;
}

bool Planner::takes(const BoundArgument& argument, const BoundNode& producer) {
  const auto id = Frame::value_id(argument);
  const auto* made = producer.node->outputs[0].get_if<ValueId>();
  return id && made != nullptr && *id == *made;
}

namespace {

// Each step runs where its last node stands. Without `joins`, each node is a step of its own that
// the reference kernels run.
std::vector<StepPointer> make_steps(Planner& planner, const BoundGraph& graph, bool joins,
                                    const NodeSet& refused, const NodeSet& folded) {
  std::unordered_map<const BoundNode*, StepPointer> steps;
  const auto add = [&](StepPointer step) {
    const BoundNode* last = step->nodes().back();
    steps.emplace(last, std::move(step));
  };
  const auto make_all = [&](auto first, auto last, StepPointer (Planner::*make)(const BoundNode&)) {
    std::for_each(first, last, [&](const BoundNode& node) {
      if (!planner.is_taken(node) && is_called_as_signed(*graph.graph, node))
        if (StepPointer step = (planner.*make)(node)) add(std::move(step));
    });
  };
  const auto& nodes = graph.nodes;
  if (joins) {
    make_all(nodes.begin(), nodes.end(), &Planner::recompose);
    make_all(nodes.begin(), nodes.end(), &Planner::make_step);
    // Chains are found from their last nodes.
    make_all(nodes.rbegin(), nodes.rend(), &Planner::make_chain);
    make_all(nodes.begin(), nodes.end(), &Planner::make_single);
    make_all(nodes.begin(), nodes.end(), &Planner::make_last);
  }
  for (const BoundNode& node : nodes)
    if (!planner.is_taken(node) || (refused.contains(&node) && !folded.contains(&node)))
      add(std::make_unique<ReferenceStep>(Step::Nodes{&node}));
  std::vector<StepPointer> out;
  for (const BoundNode& node : nodes)
    if (const auto found = steps.find(&node); found != steps.end())
      out.push_back(std::move(found->second));
  return out;
}

}  // namespace

void fill_plan(Plan& plan, const BoundGraph& graph, std::span<const Value> weights,
               const std::vector<bool>& known) {
  plan.graph = &graph;
  const std::vector<StorageWrites> writes = find_writes(graph, weights);
  for (const StorageWrites& each : writes) plan.written.push_back(each.first != nullptr);
  for (size_t i = 0; i < weights.size(); ++i) {
    const bool is_value = graph.graph->inputs()[i].is<ValueId>();
    plan.given.push_back(is_value && weights[i].is_none());
    plan.changing.push_back(is_value && (weights[i].is_none() || !known[i]));
    plan.known.push_back(known[i] ? weights[i] : Value());
  }
  plan.looks_at_strides = writes_depend_on_strides(graph, writes) ||
                          std::ranges::any_of(graph.nodes, [](const BoundNode& node) {
                            return node.op && node.op.def->facts.looks_at_strides;
                          });
  const bool is_plain = std::ranges::none_of(graph.nodes, opens_region);

  std::vector<Value> constants(graph.graph->value_count());
  for (size_t i = 0; i < weights.size(); ++i)
    if (const auto* id = graph.graph->inputs()[i].get_if<ValueId>();
        id != nullptr && known[i] && !plan.written[static_cast<size_t>(*id)])
      constants[static_cast<size_t>(*id)] = weights[i];
  // The first folding skips nodes that dequantize weights. The second one skips only those whose
  // quantized weights a product reads directly.
  const bool plans = is_plain && !plan.looks_at_strides;
  const WeightBytes bytes = count_bytes(weights);
  NodeSet folded;
  fold_constants(
      plan, constants,
      [&](const BoundNode& node) { return plans && makes_floats_of_levels(node, constants); },
      bytes, folded);
  Planner planner(graph, constants, writes, memory_for_copies(bytes));
  const NodeSet refused = plans ? refused_nodes(graph) : NodeSet();
  planner.leave_out(refused);
  const NodeSet kept = plans ? planner.level_nodes() : NodeSet();
  fold_constants(
      plan, constants, [&](const BoundNode& node) { return kept.contains(&node); }, bytes, folded);
  planner.leave_out(folded);
  plan.steps = make_steps(planner, graph, plans, refused, folded);
  find_releases(*graph.graph, plan.steps);
  for (const BoundNode& node : graph.nodes)
    if (!folded.contains(&node)) plan_nested_graphs(node, constants, plan);
  finish_constants(plan, folded);
}

std::unique_ptr<const Plan> make_plan(const BoundGraph& graph, std::span<const Value> weights,
                                      const std::vector<bool>& known) {
  auto plan = std::make_unique<Plan>();
  fill_plan(*plan, graph, weights, known);
  return plan;
}

}  // namespace pt2::run
