#include "run/plan/recording.h"

#include <algorithm>
#include <cstring>

#include "base/memory_account.h"
#include "kernels/targets.h"
#include "run/plan/planner.h"
#include "run/plan/repeated_node.h"

namespace pt2::run {
namespace {

// What the recordings of a workspace may hold before older ones are dropped.
constexpr uint64_t kMostRecordedBytes = uint64_t{64} << 20;
// What launches may hold besides the memory of values, such as results of repeated nodes. Launches
// share none of it.
constexpr uint64_t kMostKept = uint64_t{64} << 20;
// Steps whose results are the same in each call keep them until these take so much memory.
constexpr uint64_t kMostFixed = uint64_t{16} << 20;

// True if the node looks at sizes alone, not at elements, and returns no tensor.
bool looks_at_sizes(const BoundNode& node) {
  const ops::OpDef* row = own_row(node);
  if (row == nullptr || !row->facts.looks_at_sizes_alone) return false;
  const std::span results(row->signature->return_array, row->signature->return_count);
  return std::ranges::none_of(
      results, [](const ops::ArgumentType& type) { return type.base == ops::BaseType::tensor; });
}

// True if the node returns the same elements in the same order.
bool copies_elements(const BoundNode& node) {
  const ops::OpDef* row = own_row(node);
  return is_reshape(node) || is_operator(node, "aten::clone") ||
         is_operator(node, "aten::contiguous") ||
         (row != nullptr && row->facts.sharing == ops::Sharing::where_strides_allow);
}

// True if the node may return a view, and elements do not decide which part of an argument it shows
// (narrow.Tensor).
bool may_view(const BoundNode& node) {
  return node.higher_order == nullptr && !node.node->outputs.empty() &&
         node.op.def->facts.undecomposed != ops::Undecomposed::reads_elements;
}

// True for row-major tensors with elements. Empty tensors may have sizes that no row-major copy
// has.
bool is_recordable(const Value& value) {
  const auto* tensor = value.get_if<Tensor>();
  return tensor != nullptr && tensor->defined() && tensor->numel() > 0 && tensor->is_contiguous() &&
         !tensor->is_wrapped_number();
}

bool is_like(const Value& value, const Tensor& recorded) {
  const auto* tensor = value.get_if<Tensor>();
  return is_recordable(value) && tensor->dtype() == recorded.dtype() &&
         tensor->sizes() == recorded.sizes();
}

// `to` is row-major.
void put(const std::byte* from, Tensor to) {
  const auto bytes = static_cast<size_t>(to.nbytes());
  if (bytes > 0) std::memcpy(to.raw_data(), from, bytes);
}

}  // namespace

void Recording::note_node(const BoundNode& node, const std::vector<Value>& values,
                          const Executor& executor, uint64_t work) {
  const auto value_of = [&](ValueId id) -> const Value& { return values[static_cast<size_t>(id)]; };
  const auto for_each_output = [&](const auto& function) {
    for (const Argument& output : node.node->outputs) for_each_value(output, function);
  };
  if (note_write(node, values, executor, work)) return;
  if (!may_repeat(node)) return give_up();
  std::vector<const Storage*> storages;
  bool fixed = true;
  for (const NamedArgument& input : node.node->inputs)
    for_each_value(input.arg, [&](ValueId id) {
      fixed = fixed && is_fixed(id);
      if (const auto* tensor = value_of(id).get_if<Tensor>())
        storages.push_back(tensor->storage().get());
    });
  std::ranges::sort(storages);
  const auto shows_argument = [&](const Tensor& tensor) {
    return std::ranges::binary_search(storages, tensor.storage().get());
  };
  if (fixed || looks_at_sizes(node)) {
    for_each_output([&](ValueId id) {
      fix(id);
      const auto* tensor = value_of(id).get_if<Tensor>();
      // A view holds no memory of its own.
      if (tensor != nullptr && tensor->defined() && !shows_argument(*tensor))
        note_kept(tensor->storage()->size());
      if (usable_) kept_.push_back(value_of(id));
    });
    return;
  }
  bool views = may_view(node);
  for_each_output([&](ValueId id) {
    const auto* tensor = value_of(id).get_if<Tensor>();
    views = views && tensor != nullptr && tensor->defined() && shows_argument(*tensor);
  });
  if (!views && !note_copy(node, values)) repeat(node, values, executor, work);
}

void Recording::begin_step(const std::vector<const BoundNode*>& nodes) {
  first_of_step_ = launches_.size();
  step_is_fixed_ = usable_ && fixed_memory_.bytes() < kMostFixed;
  std::vector<ValueId> made;
  for (const BoundNode* node : nodes) {
    for (const NamedArgument& input : node->node->inputs)
      for_each_value(input.arg, [&](ValueId id) {
        const bool is_inside = std::ranges::find(made, id) != made.end();
        step_is_fixed_ = step_is_fixed_ && (is_inside || is_fixed(id));
      });
    for (const Argument& output : node->node->outputs)
      for_each_value(output, [&](ValueId id) { made.push_back(id); });
  }
}

void Recording::end_step(const std::vector<const BoundNode*>& nodes,
                         const std::vector<Value>& values) {
  if (!std::exchange(step_is_fixed_, false) || !usable_) return;
  dropped_ += launches_.size() - first_of_step_;
  launches_.resize(first_of_step_);
  const auto keep = [&](ValueId id) { kept_.push_back(values[static_cast<size_t>(id)]); };
  for (const BoundNode* node : nodes) {
    // A step may also have given an operand another layout, in which later steps read it.
    for (const NamedArgument& input : node->node->inputs) for_each_value(input.arg, keep);
    for (const Argument& output : node->node->outputs)
      for_each_value(output, [&](ValueId id) {
        fix(id);
        keep(id);
      });
  }
}

bool Recording::note_write(const BoundNode& node, const std::vector<Value>& values,
                           const Executor& executor, uint64_t work) {
  if (!may_write_again(node)) return false;
  const auto id = Frame::value_id(node.arguments[0]);
  const auto* written = id ? values[static_cast<size_t>(*id)].get_if<Tensor>() : nullptr;
  if (written == nullptr) return false;
  // When the call is repeated, other memory may already hold what it wrote.
  if (!is_state(*written)) return false;
  const auto from_id =
      node.arguments.size() < 2 ? std::nullopt : Frame::value_id(node.arguments[1]);
  const auto* from = from_id ? values[static_cast<size_t>(*from_id)].get_if<Tensor>() : nullptr;
  // Views of one storage may overlap, which only the operator's own kernel handles.
  if (node.op.signature().name == "aten::copy" && from != nullptr && written->is_contiguous() &&
      from->dtype() == written->dtype() && from->sizes() == written->sizes() &&
      from->storage() != written->storage()) {
    add([source = *from, place = *written]() mutable {
      copy_to_contiguous(source, place.raw_data());
      return true;
    });
  } else {
    repeat(node, values, executor, work);
  }
  return true;
}

bool Recording::note_copy(const BoundNode& node, const std::vector<Value>& values) {
  if (!copies_elements(node)) return false;
  const auto from_id = Frame::value_id(node.arguments[0]);
  const auto* to_id =
      node.node->outputs.empty() ? nullptr : node.node->outputs[0].get_if<ValueId>();
  if (!from_id || to_id == nullptr) return false;
  const auto* from = values[static_cast<size_t>(*from_id)].get_if<Tensor>();
  const auto* to = values[static_cast<size_t>(*to_id)].get_if<Tensor>();
  if (from == nullptr || to == nullptr || !to->is_contiguous() || from->numel() != to->numel() ||
      from->dtype() != to->dtype())
    return false;
  add([source = *from, copy = *to]() mutable {
    copy_to_contiguous(source, copy.raw_data());
    return true;
  });
  return true;
}

void Recording::note_kept(uint64_t bytes) {
  kept_bytes_ += bytes;
  if (kept_bytes_ > kMostKept) give_up();
}

void Recording::repeat(const BoundNode& node, const std::vector<Value>& values,
                       const Executor& executor, uint64_t work) {
  std::optional<RepeatedNode> repeated = RepeatedNode::of(node, values, executor);
  if (!repeated) return give_up();
  note_kept(repeated->bytes());
  if (!usable_) return;
  repeats_nodes_ = true;
  repeated_work_ += work;
  limits_ = executor.limits();
  account_limit_ =
      MemoryAccount::current() == nullptr ? account_limit_ : MemoryAccount::current()->limit();
  add([node = *std::move(repeated), counting = counting_] { return node.run(**counting); });
}

Tensor Recording::add_input(const Tensor& tensor, bool is_state) {
  Tensor copy = memory_.tensor(tensor.dtype(), tensor.sizes());
  copy_to_contiguous(tensor, copy.raw_data());
  places_.push_back(copy.raw_data());
  input_bytes_ += copy.nbytes();
  if (is_state) state_.push_back(inputs_.size());
  return inputs_.emplace_back(std::move(copy));
}

bool Recording::is_state(const Tensor& tensor) const {
  return std::ranges::any_of(state_,
                             [&](size_t i) { return inputs_[i].storage() == tensor.storage(); });
}

void Recording::write_back(std::span<const Tensor> state) const {
  for (size_t i = 0; i < state.size(); ++i) put(places_[state_[i]], state[i]);
}

Tensor Recording::of_state(const Tensor& tensor, std::span<const Tensor> state) const {
  for (size_t i = 0; i < state.size(); ++i) {
    const Tensor& copy = inputs_[state_[i]];
    if (tensor.defined() && copy.storage() == tensor.storage() &&
        dtype_size(tensor.dtype()) == dtype_size(copy.dtype()))
      return state[i]
          .with_dtype(tensor.dtype())
          .with_view(tensor.sizes(), tensor.strides(),
                     state[i].storage_offset() + tensor.storage_offset() - copy.storage_offset());
  }
  return tensor;
}

void Recording::add_output(const Value& value) {
  const auto* tensor = value.get_if<Tensor>();
  if (tensor == nullptr || !is_recordable(value)) return give_up();
  if (is_state(*tensor)) {
    outputs_.push_back(*tensor);
    return;
  }
  // The full call would return the caller's own tensor.
  for (const Tensor& input : copies_inputs_ ? std::span<const Tensor>() : std::span(inputs_))
    if (input.storage() == tensor->storage()) return give_up();
  outputs_.push_back(*tensor);
  output_bytes_ += tensor->nbytes();
  if (output_bytes_ > Recordings::kMostCopied) give_up();
}

Result<bool> Recording::run(std::span<const Value* const> inputs, const Cancellation& cancellation,
                            Executor* counting) const {
  PT2_TRY_VOID(cancellation.check());
  std::optional<MemoryAccount::Scope> account;
  ops::Context context;
  std::optional<Executor> own;
  if (repeats_nodes_) {
    *counting_ = counting != nullptr ? counting : &own.emplace(context, limits_, cancellation);
    if (MemoryAccount::current() == nullptr)
      account.emplace(std::make_shared<MemoryAccount>(account_limit_));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto bytes = static_cast<size_t>(inputs_[i].nbytes());
    if (bytes > 0) std::memcpy(places_[i], inputs[i]->get_if<Tensor>()->raw_data(), bytes);
  }
  for (const std::function<bool()>& launch : launches_) {
    PT2_TRY_VOID(cancellation.check());
    if (!launch()) return false;
  }
  kernels::zero_upper_halves();
  for (const size_t i : state_) put(places_[i], *inputs[i]->get_if<Tensor>());
  return true;
}

void RecordedCalls::note_refusal() {
  constexpr uint64_t kAlways = 4, kOneOf = 8;
  refused = ++refusals > kAlways + calls / kOneOf;
  if (refused) recording.reset();
}

std::vector<Value> Recording::results(MemoryPool& memory, std::span<const Tensor> state) const {
  std::vector<Value> out;
  out.reserve(outputs_.size());
  for (const Tensor& output : outputs_) {
    if (is_state(output)) {
      out.emplace_back(of_state(output, state));
      continue;
    }
    Tensor copy = memory.tensor(output.dtype(), output.sizes());
    copy_to_contiguous(output, copy.raw_data());
    out.emplace_back(std::move(copy));
  }
  return out;
}

RecordedCalls* Recordings::known(std::span<const Value* const> inputs) {
  const auto matches = [&](const RecordedCalls& calls) {
    return std::ranges::equal(inputs, calls.inputs, [](const Value* input, const Value& like) {
      return is_like(*input, *like.get_if<Tensor>());
    });
  };
  const auto found = std::ranges::find_if(calls_, matches);
  if (found == calls_.end()) return nullptr;
  found->last_call = ++count_;
  return &*found;
}

const Recording* Recordings::recording_for(std::span<const Value* const> inputs) {
  RecordedCalls* calls = known(inputs);
  if (calls == nullptr || calls->recording == nullptr) return nullptr;
  ++calls->calls;
  return calls->recording.get();
}

RecordedCalls* Recordings::find(std::span<const Value* const> inputs, int64_t most_bytes) {
  RecordedCalls* found = known(inputs);
  if (found == nullptr) {
    if (!std::ranges::all_of(inputs, [](const Value* input) { return is_recordable(*input); }))
      return nullptr;
    RecordedCalls calls;
    int64_t bytes = 0;
    for (const Value* input : inputs) {
      const auto* tensor = input->get_if<Tensor>();
      bytes += tensor->nbytes();
      calls.inputs.emplace_back(Tensor::without_elements(tensor->dtype(), tensor->sizes()));
    }
    if (bytes > most_bytes) return nullptr;
    if (calls_.size() == kMost)
      calls_.erase(std::ranges::min_element(calls_, {}, &RecordedCalls::last_call));
    calls.last_call = ++count_;
    found = &calls_.emplace_back(std::move(calls));
  }
  ++found->calls;
  return found;
}

uint64_t Recordings::bytes() const {
  uint64_t sum = 0;
  for (const RecordedCalls& calls : calls_)
    if (calls.recording != nullptr) sum += calls.recording->bytes();
  return sum;
}

void Recordings::limit_memory() {
  while (calls_.size() > 1 && bytes() > kMostRecordedBytes)
    calls_.erase(std::ranges::min_element(calls_, {}, &RecordedCalls::last_call));
}

}  // namespace pt2::run
