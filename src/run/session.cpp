#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/platform.h"
#include "base/random_state.h"
#include "ops/loops.h"
#include "pt2/model.h"
#include "run/call_budget.h"
#include "run/model_shared.h"

namespace pt2 {
namespace {

using run::GraphOutput;

std::shared_ptr<Storage> copy_storage(const Storage& storage) {
  std::shared_ptr<Storage> copy = Storage::allocate(storage.size());
  if (storage.size() > 0) std::memcpy(copy->data(), storage.data(), storage.size());
  return copy;
}

// Returns the same view over another storage of the same size.
Tensor view_over(const std::shared_ptr<Storage>& storage, const Tensor& tensor) {
  return *Tensor::view_of(storage, tensor.dtype(), tensor.sizes(), tensor.strides(),
                          tensor.storage_offset());
}

// Returns a copy of the generator with its own state.
Object copy_generator(const Object& generator) {
  const Tensor& state = *generator->state.get_if<Tensor>();
  return std::make_shared<const ScriptObject>(
      ScriptObject{generator->class_name, Value(state.clone())});
}

// Returns the values with copies of all generators and of the storages in `copied`. Tensors that
// share a storage still share its copy.
std::vector<Value> with_own_storages(const std::vector<Value>& values,
                                     const std::unordered_set<const Storage*>& copied) {
  std::unordered_map<const Storage*, std::shared_ptr<Storage>> copies;
  std::vector<Value> out(values);
  for (Value& value : out) {
    if (auto* object = value.get_if<Object>();
        object != nullptr && (*object)->class_name == kGeneratorClass)
      *object = copy_generator(*object);
    auto* tensor = value.get_if<Tensor>();
    if (tensor == nullptr || !copied.contains(tensor->storage().get())) continue;
    std::shared_ptr<Storage>& copy = copies[tensor->storage().get()];
    if (copy == nullptr) copy = copy_storage(*tensor->storage());
    *tensor = view_over(copy, *tensor);
  }
  return out;
}

// Returns the weights; generators and storages that a call may write to are copied.
std::vector<Value> fresh_state(const Model::Shared& shared) {
  return with_own_storages(shared.weights, shared.written_storages());
}

// Checks the inputs of a call. Returns the layouts that inputs must be copied into.
Result<std::vector<InputLayout>> check_call(const Model::Shared& shared,
                                            std::span<const Value> inputs) {
  const run::CallingConvention& convention = shared.convention;
  if (inputs.size() != convention.inputs.size())
    return run::wrong_input_count(convention, inputs.size());
  std::vector<InputShape> shapes;
  for (const Value& input : inputs) shapes.push_back(input_shape(input));
  std::vector<InputLayout> layouts;
  PT2_TRY([[maybe_unused]] const SymbolValues symbols,
          convention.conditions.check(shapes, &layouts));
  return layouts;
}

void lay_out(const Model::Shared& shared, std::span<const InputLayout> layouts,
             std::vector<Value>& sources) {
  for (const InputLayout& layout : layouts) {
    auto& tensor = *sources[shared.convention.input_positions[layout.input]].get_if<Tensor>();
    Tensor copy = Tensor::zeros_strided(tensor.dtype(), tensor.sizes(), layout.strides);
    ops::copy_elements(copy, tensor);
    tensor = std::move(copy);
  }
}

// Copies what the program wrote to the copies made by lay_out back to the inputs.
void copy_written(const Model::Shared& shared, std::span<const InputLayout> layouts,
                  const std::vector<Value>& sources, std::span<Value> inputs) {
  for (const InputLayout& layout : layouts) {
    const size_t position = shared.convention.input_positions[layout.input];
    if (shared.written[position])
      ops::copy_elements(*inputs[layout.input].get_if<Tensor>(),
                         *sources[position].get_if<Tensor>());
  }
}

bool has_memory(const Value& value) {
  const auto* tensor = value.get_if<Tensor>();
  return tensor == nullptr || tensor->has_memory();
}

// Returns state and inputs in the order of the graph's inputs. Refuses a caller's tensor that has
// elements but no memory.
Result<std::vector<Value>> graph_inputs(const Model::Shared& shared,
                                        const std::vector<Value>& state, std::span<Value> inputs) {
  std::vector<Value> out(state);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t position = shared.convention.input_positions[i];
    auto* tensor = inputs[i].get_if<Tensor>();
    if (tensor != nullptr && !tensor->has_memory())
      return Error{ErrorCode::argument,
                   "found no memory for the elements of " + tensor->type_text(),
                   "input '" + shared.convention.inputs[i].name + "'"};
    if (tensor != nullptr && !tensor->defined())
      *tensor = Tensor::zeros(tensor->dtype(), tensor->sizes());
    if (tensor != nullptr && shared.written[position] && tensor->storage()->is_read_only())
      *tensor = tensor->clone();
    out[position] = inputs[i];
  }
  return out;
}

// Returns the growing inputs with their positions in the graph.
Result<std::vector<GrowingInput>> growing_inputs(const Model::Shared& shared,
                                                 std::span<const GrowingInput> growing,
                                                 std::span<const Value> inputs) {
  std::vector<GrowingInput> out;
  for (const GrowingInput& each : growing) {
    const auto* tensor = each.input < inputs.size() ? inputs[each.input].get_if<Tensor>() : nullptr;
    const Tensor& room = each.room;
    if (tensor == nullptr || !tensor->defined() || room.storage() != tensor->storage() ||
        room.dtype() != tensor->dtype() || room.strides() != tensor->strides() ||
        room.storage_offset() != tensor->storage_offset() || room.storage()->is_read_only() ||
        each.dim >= room.sizes().size())
      return Error{ErrorCode::argument, "the room to grow in is not that of the input",
                   "input " + std::to_string(each.input)};
    Sizes sizes = room.sizes();
    sizes[each.dim] = tensor->sizes()[each.dim];
    if (sizes != tensor->sizes() || sizes[each.dim] > room.sizes()[each.dim])
      return Error{
          ErrorCode::argument,
          "the room to grow in is " + room.type_text() + ", the input " + tensor->type_text(),
          "input " + std::to_string(each.input)};
    out.push_back(each);
    out.back().input = shared.convention.input_positions[each.input];
  }
  return out;
}

// Refuses results larger than the memory limit: an expanded view of few stored elements may have
// any number of elements, which no reader of results could hold.
Result<void> check_outputs(std::span<const Value> outputs) {
  const std::shared_ptr<MemoryAccount> account = MemoryAccount::current();
  uint64_t bytes = 0;
  for (const Value& output : outputs)
    if (const auto* tensor = output.get_if<Tensor>(); tensor != nullptr && tensor->defined()) {
      const uint64_t own = saturating_product(static_cast<uint64_t>(tensor->numel()),
                                              static_cast<uint64_t>(dtype_size(tensor->dtype())));
      if (own > account->limit())
        return Error{
            ErrorCode::limit,
            "a result of " + tensor->type_text() + " is larger than " + MemoryAccount::limit_text(),
            ""};
      bytes = saturating_sum(bytes, own);
    }
  // Results may be many views of the same few elements, and whoever reads them reads each in full.
  if (bytes <= account->limit()) return {};
  return Error{ErrorCode::limit,
               "the results together are larger than " + MemoryAccount::limit_text(), ""};
}

// True if the result is the state itself: the program wrote to its memory.
bool is_state(const Tensor& result, const Tensor& state) {
  return result.raw_data() == state.raw_data() && result.dtype() == state.dtype() &&
         result.sizes() == state.sizes() && result.strides() == state.strides();
}

Result<void> write_back(const GraphOutput& output, const Value& target, const Value& result) {
  const auto* state = target.get_if<Tensor>();
  const auto* value = result.get_if<Tensor>();
  if (state == nullptr || !state->defined())
    return ops::operator_error("'" + output.name + "' has a new value, but is not a tensor");
  if (value == nullptr || value->sizes() != state->sizes())
    return ops::operator_error("the new value of '" + output.name + "' does not have its sizes");
  if (is_state(*value, *state)) return {};
  Tensor memory = *state;
  ops::copy_elements(memory, *value);
  return {};
}

// Gives every result memory of its own that shares the storage of a value which write_back
// replaces. All results are values from before the first write: a decomposed program that swaps two
// buffers returns the one as the new value of the other.
void keep_from_writes(const std::vector<GraphOutput>& outputs, const std::vector<Value>& sources,
                      std::vector<Value>& results) {
  std::unordered_set<const Storage*> replaced;
  for (size_t i = 0; i < results.size(); ++i) {
    if (outputs[i].is_callers() || !outputs[i].target) continue;
    const auto* target = sources[*outputs[i].target].get_if<Tensor>();
    const auto* value = results[i].get_if<Tensor>();
    if (target == nullptr || !target->defined()) continue;
    if (value == nullptr || !is_state(*value, *target)) replaced.insert(target->storage().get());
  }
  if (replaced.empty()) return;
  for (Value& result : results)
    if (auto* tensor = result.get_if<Tensor>();
        tensor != nullptr && tensor->defined() && replaced.contains(tensor->storage().get()))
      *tensor = tensor->clone();
}

}  // namespace

Session::Session(const Model& model, const SessionOptions& options)
    : Session(model.shared(), options, fresh_state(*model.shared())) {}

Session::Session(std::shared_ptr<const Model::Shared> shared, const SessionOptions& options,
                 std::vector<Value> state)
    : shared_(std::move(shared)),
      options_(options),
      state_(std::move(state)),
      engine_(shared_->engine->start_session(options)) {}

Session::Session(Session&&) noexcept = default;
Session::~Session() = default;

Session& Session::operator=(Session&& other) noexcept {
  // The engine session goes first, before the model that it belongs to.
  engine_ = std::move(other.engine_);
  shared_ = std::move(other.shared_);
  options_ = other.options_;
  state_ = std::move(other.state_);
  has_other_weights_ = other.has_other_weights_;
  seed_ = other.seed_;
  observer_ = std::move(other.observer_);
  return *this;
}

Session Session::fork() const {
  std::unordered_set<const Storage*> own;
  for (size_t i = 0; i < state_.size(); ++i)
    if (const auto* tensor = state_[i].get_if<Tensor>();
        tensor && tensor->storage() != shared_->weights[i].get_if<Tensor>()->storage())
      own.insert(tensor->storage().get());
  Session out(shared_, options_, with_own_storages(state_, own));
  out.has_other_weights_ = has_other_weights_;
  out.seed_ = seed_;
  return out;
}

bool Session::may_repeat(std::span<const Value> inputs, const CallOptions& options) const {
  const run::CallingConvention& convention = shared_->convention;
  // Calls that share a limit must count what they compute.
  if (run::account_of_calls() != nullptr) return false;
  return !has_other_weights_ && !observer_ && !options.on_step && options.growing.empty() &&
         inputs.size() == convention.inputs.size() && std::ranges::all_of(inputs, has_memory) &&
         std::ranges::all_of(convention.graph_outputs, &GraphOutput::is_callers);
}

Result<std::vector<Value>> Session::run(std::span<Value> inputs, const CallOptions& options) {
  if (may_repeat(inputs, options)) {
    PT2_TRY(std::optional<std::vector<Value>> results,
            within_memory([&] { return engine_->run_again(inputs, run::Cancellation(options)); }));
    if (results) return *std::move(results);
  }
  return run_with(inputs, options, nullptr);
}

Result<void> Session::run_into(std::span<Value> inputs, std::span<Value> outputs,
                               const CallOptions& options) {
  const std::vector<ModelValue>& expected = shared_->convention.outputs;
  if (may_repeat(inputs, options)) {
    PT2_TRY(const bool done, within_memory([&] {
              return engine_->run_again_into(inputs, outputs, run::Cancellation(options));
            }));
    if (done) return {};
  }
  if (outputs.size() != expected.size())
    return Error{ErrorCode::argument,
                 "found memory for " + std::to_string(outputs.size()) + " outputs, expected " +
                     std::to_string(expected.size()),
                 ""};
  const auto memory = [&](size_t i) {
    const auto* tensor = outputs[i].get_if<Tensor>();
    return tensor == nullptr ? Tensor() : *tensor;
  };
  // Reports what is known to be wrong before anything is computed or any state changes.
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!memory(i).defined()) continue;
    Result<void> checked = run::check_writable(memory(i));
    if (expected[i].tensor == nullptr)
      checked = Error{ErrorCode::argument, "found a tensor, the result is " + expected[i].type, ""};
    if (!checked) return at(std::move(checked).error(), "output '" + expected[i].name + "'");
  }
  const OutputAllocator allocate = [&](size_t i, Dtype, const Sizes&) { return memory(i); };
  PT2_TRY(std::vector<Value> results, run_with(inputs, options, &allocate));
  std::ranges::move(results, outputs.begin());
  return {};
}

Result<std::vector<Value>> Session::run_into(std::span<Value> inputs,
                                             const OutputAllocator& allocate,
                                             const CallOptions& options) {
  if (allocate == nullptr)
    return Error{ErrorCode::argument, "found an empty function that gives memory for outputs", ""};
  return run_with(inputs, options, &allocate);
}

Result<std::vector<Value>> Session::run_with(std::span<Value> inputs, const CallOptions& options,
                                             const OutputAllocator* allocate) {
  PT2_TRY(const std::vector<InputLayout> layouts, check_call(*shared_, inputs));
  const uint64_t bytes = run::budget_bytes(*this, inputs);
  const std::shared_ptr<MemoryAccount> account = run::open_account(shared_->limits, bytes);
  const MemoryAccount::Scope scope(account);
  Limits limits = run::scaled_limits(shared_->limits, bytes);
  if (account->spans_calls()) limits.max_work = std::min(limits.max_work, account->work_left());
  return within_memory([&]() -> Result<std::vector<Value>> {
    const run::CallingConvention& convention = shared_->convention;
    PT2_TRY(std::vector<Value> sources, graph_inputs(*shared_, state_, inputs));
    PT2_TRY(const std::vector<GrowingInput> growing,
            growing_inputs(*shared_, options.growing, inputs));
    lay_out(*shared_, layouts, sources);
    std::optional<run::OutputMemory> memory;
    if (allocate != nullptr)
      memory.emplace(*allocate, convention.outputs, convention.graph_outputs);
    // An observer's error is not an error of the node that it observed. The observer may set
    // another one, or none, for later runs.
    const Observer observer = observer_;
    std::optional<Error> refused;
    const Observer told = [&](const ObservedValue& observed) {
      Result<void> taken = observer(observed);
      if (!taken) refused = taken.error();
      return taken;
    };
    Result<std::vector<Value>> computed =
        engine_->run(sources, {.seed = seed_,
                               .observer = observer ? &told : nullptr,
                               .limits = limits,
                               .cancellation = run::Cancellation(options),
                               .on_step = options.on_step ? &options.on_step : nullptr,
                               .on_print = options.on_print ? &options.on_print : nullptr,
                               .outputs = memory ? &*memory : nullptr,
                               .growing = growing});
    if (refused) return *std::move(refused);
    PT2_TRY(std::vector<Value> results, std::move(computed));
    keep_from_writes(convention.graph_outputs, sources, results);
    std::vector<Value> outputs;
    for (size_t i = 0; i < results.size(); ++i)
      if (convention.graph_outputs[i].is_callers()) outputs.push_back(std::move(results[i]));
    // Before state gets its new values: a call that is refused here can be repeated.
    PT2_TRY_VOID(check_outputs(outputs));
    if (memory) PT2_TRY_VOID(memory->get_for(outputs));
    for (size_t i = 0; i < results.size(); ++i) {
      const GraphOutput& output = convention.graph_outputs[i];
      if (!output.is_callers() && output.target)
        PT2_TRY_VOID(write_back(output, sources[*output.target], results[i]));
    }
    copy_written(*shared_, layouts, sources, inputs);
    if (memory) PT2_TRY_VOID(memory->fill(outputs));
    return outputs;
  });
}

Result<Tree> Session::call(const NamedTrees& inputs, const CallOptions& options) {
  const Model model(shared_);
  PT2_TRY(std::vector<Value> ordered, model.order_inputs(inputs));
  PT2_TRY(std::vector<Value> outputs, run(ordered, options));
  return model.structure_outputs(std::move(outputs));
}

const Program& Session::program() const { return *shared_->program; }

const Tensor* Session::state(std::string_view name) const {
  const std::optional<size_t> index = shared_->convention.find_state(name);
  return index ? state_[*index].get_if<Tensor>() : nullptr;
}

Result<Tensor> Session::mutable_state(std::string_view name) {
  const std::optional<size_t> index = shared_->convention.find_state(name);
  const auto* found = index ? state_[*index].get_if<Tensor>() : nullptr;
  if (found == nullptr)
    return Error{ErrorCode::argument, "there is no state '" + std::string(name) + "'", ""};
  // State that the program does not write to is still the model's own, so it is copied.
  if (const auto* weight = shared_->weights[*index].get_if<Tensor>();
      weight->storage() == found->storage()) {
    state_ = with_own_storages(state_, {found->storage().get()});
    has_other_weights_ = true;
  }
  return *state_[*index].get_if<Tensor>();
}

}  // namespace pt2
