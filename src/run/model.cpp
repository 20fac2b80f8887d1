#include "pt2/model.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "lower/pass.h"
#include "base/memory_account.h"
#include "ops/loops.h"
#include "pt2/check_inputs.h"
#include "pt2/type_text.h"
#include "run/named_inputs.h"
#include "run/reference/executor.h"
#include "run/sparse_constants.h"

namespace pt2 {

struct Model::Shared {
  std::shared_ptr<const Package> package;
  const Program* program = nullptr;
  Limits limits;
  uint64_t file_bytes = 0;
  CustomOperators operators;
  std::optional<Graph> lowered;  // the program's graph without dual numbers, if it has some
  std::unique_ptr<run::BoundGraph> bound;
  std::vector<ModelValue> inputs;
  std::vector<ModelValue> outputs;
  std::vector<std::string> input_names;
  std::vector<Guard> guards;
  std::vector<CallArgument> arguments;
  TreeSpec result;
  // One per graph input; undefined for user inputs and tokens.
  std::vector<Tensor> payloads;
  // One per graph input; null for all but custom objects.
  std::vector<Object> objects;
  // One per graph input: some operator or some mutation output may write to it.
  std::vector<bool> written;
};

namespace {

bool is_result(OutputKind kind) {
  return kind == OutputKind::user_output || kind == OutputKind::loss_output;
}

bool is_user_output(OutputKind kind) {
  switch (kind) {
    case OutputKind::user_output:
    case OutputKind::loss_output:
    case OutputKind::gradient_to_parameter:
    case OutputKind::gradient_to_user_input:
      return true;
    case OutputKind::buffer_mutation:
    case OutputKind::parameter_mutation:
    case OutputKind::user_input_mutation:
    case OutputKind::token:
      return false;
  }
  return false;
}

bool is_mutation(OutputKind kind) {
  return kind == OutputKind::buffer_mutation || kind == OutputKind::parameter_mutation ||
         kind == OutputKind::user_input_mutation;
}

// The graph input that a mutation output writes to; input_specs.size() when there is none.
size_t mutation_target(const GraphSignature& signature, const OutputSpec& spec) {
  auto matches = [&](const InputSpec& input) {
    switch (spec.kind) {
      case OutputKind::buffer_mutation:
        return input.kind == InputKind::buffer && input.target == spec.target;
      case OutputKind::parameter_mutation:
        return input.kind == InputKind::parameter && input.target == spec.target;
      case OutputKind::user_input_mutation:
        return input.kind == InputKind::user_input && spec.target &&
               input.arg.kind == ArgumentSpec::Kind::tensor && input.arg.name == *spec.target;
      default:
        return false;
    }
  };
  return static_cast<size_t>(std::ranges::find_if(signature.input_specs, matches) -
                             signature.input_specs.begin());
}

std::vector<ModelValue> describe_inputs(const Program& program) {
  const std::vector<std::string> names = user_input_names(program);
  const std::vector<std::string> keywords = keyword_input_names(program);
  std::vector<ModelValue> out;
  for (const InputSpec& spec : program.signature.input_specs) {
    if (spec.kind != InputKind::user_input) continue;
    const std::string& name = names[out.size()];
    const auto id = program.graph.find_value(spec.arg.name);
    const bool keyword = std::ranges::find(keywords, name) != keywords.end();
    out.push_back({name, type_text(program, spec.arg),
                   id ? program.graph.value(*id).tensor() : nullptr, keyword});
  }
  return out;
}

std::vector<ModelValue> describe_outputs(const Program& program) {
  const std::vector<std::string> names = user_output_names(program);
  std::vector<ModelValue> out;
  size_t named = 0;
  for (const OutputSpec& spec : program.signature.output_specs) {
    if (!is_user_output(spec.kind)) continue;
    const bool has_name = is_result(spec.kind) && named < names.size();
    const std::string& name = has_name ? names[named++] : spec.arg.name;
    const auto id = program.graph.find_value(spec.arg.name);
    out.push_back({name, type_text(program, spec.arg),
                   id ? program.graph.value(*id).tensor() : nullptr, false});
  }
  return out;
}

// Of the records as they lie in the file, which an early draft may have beside it.
uint64_t file_bytes(const Package& package, std::string_view model, const Payloads& payloads) {
  uint64_t bytes = 0;
  for (const Entry& entry : package.archive().zip().entries()) bytes += entry.compressed_size;
  if (package.draft(model) == nullptr) return bytes;
  std::unordered_set<const Storage*> seen;
  for (const PayloadTensor& payload : payloads.tensors())
    if (!payload.is_fake && payload.tensor.defined() &&
        seen.insert(payload.tensor.storage().get()).second)
      bytes += payload.tensor.storage()->size();
  return bytes;
}

std::shared_ptr<MemoryAccount> open_account(const Limits& limits, uint64_t bytes) {
  constexpr uint64_t kAlways = 768ull << 20;
  uint64_t most = 0;
  if (__builtin_mul_overflow(bytes, limits.max_tensor_ratio, &most) ||
      __builtin_add_overflow(most, kAlways, &most))
    most = UINT64_MAX;
  return std::make_shared<MemoryAccount>(std::min(most, limits.max_tensor_bytes));
}

// What one run may compute, with so many bytes of file and inputs.
Limits scaled_limits(Limits limits, uint64_t bytes) {
  constexpr uint64_t kUnit = 1 << 20;
  if (__builtin_mul_overflow(limits.max_work, std::max<uint64_t>(bytes / kUnit, 1),
                             &limits.max_work))
    limits.max_work = UINT64_MAX;
  return limits;
}

std::shared_ptr<Storage> copy_storage(const Storage& storage) {
  std::shared_ptr<Storage> copy = Storage::allocate(storage.size());
  if (storage.size() > 0) std::memcpy(copy->data(), storage.data(), storage.size());
  return copy;
}

// The same view of another storage as large as the tensor's own.
Tensor view_over(const std::shared_ptr<Storage>& storage, const Tensor& tensor) {
  return *Tensor::view_of(storage, tensor.dtype(), tensor.sizes(), tensor.strides(),
                          tensor.storage_offset());
}

std::unordered_set<const Storage*> written_storages(const Model::Shared& shared) {
  std::unordered_set<const Storage*> written;
  for (size_t i = 0; i < shared.payloads.size(); ++i)
    if (shared.written[i] && shared.payloads[i].defined())
      written.insert(shared.payloads[i].storage().get());
  return written;
}

// Tensors without elements take no memory until a session copies them.
Result<void> check_state(const Model::Shared& shared) {
  const std::shared_ptr<MemoryAccount> account = open_account(shared.limits, shared.file_bytes);
  const MemoryAccount::Scope scope(account);
  uint64_t left = account->limit();
  for (const Storage* storage : written_storages(shared)) {
    if (storage->size() > left)
      return Error{
          ErrorCode::limit,
          "the tensors that the program writes to take more than " + MemoryAccount::limit_text(),
          ""};
    left -= storage->size();
  }
  return {};
}

// Copies storages once each, so that tensors which share one still do.
class StorageCopies {
 public:
  Tensor copy(const Tensor& tensor) {
    std::shared_ptr<Storage>& copy = copies_[tensor.storage().get()];
    if (copy == nullptr) copy = copy_storage(*tensor.storage());
    return view_over(copy, tensor);
  }

 private:
  std::unordered_map<const Storage*, std::shared_ptr<Storage>> copies_;
};

// The model's own tensors, and fresh copies of those that are written to.
std::vector<Value> fresh_state(const Model::Shared& shared) {
  const std::unordered_set<const Storage*> written = written_storages(shared);
  StorageCopies copies;
  std::vector<Value> state(shared.payloads.size());
  for (size_t i = 0; i < shared.payloads.size(); ++i) {
    const Tensor& payload = shared.payloads[i];
    if (shared.objects[i] != nullptr) state[i] = shared.objects[i];
    if (!payload.defined()) continue;
    state[i] = written.contains(payload.storage().get()) ? copies.copy(payload) : payload;
  }
  return state;
}

// A session's state once more; what is still the model's own stays so.
std::vector<Value> copy_of(const Model::Shared& shared, const std::vector<Value>& state) {
  StorageCopies copies;
  std::vector<Value> out = state;
  for (size_t i = 0; i < out.size(); ++i)
    if (auto* tensor = out[i].get_if<Tensor>();
        tensor != nullptr && tensor->storage() != shared.payloads[i].storage())
      *tensor = copies.copy(*tensor);
  return out;
}

// The object that a graph input stands for; null for other inputs.
Result<Object> find_object(const Payloads& payloads, const InputSpec& spec) {
  if (spec.kind != InputKind::custom_obj) return Object();
  const std::string& name = spec.target ? *spec.target : spec.arg.name;
  const PayloadObject* payload = payloads.find_object(name);
  if (payload == nullptr)
    return Error{ErrorCode::invalid, "the file has no object for '" + name + "'", ""};
  if (payload->object == nullptr)
    return Error{ErrorCode::unsupported,
                 "the state of the object '" + name + "' " +
                     (payload->type.empty() ? "" : "of class " + payload->type + " ") +
                     "is of a kind that is not known here",
                 ""};
  return payload->object;
}

// What a graph input stands for; an undefined tensor for user inputs, tokens and objects.
Result<Tensor> find_payload(const Payloads& payloads, const InputSpec& spec, const Graph& graph,
                            const Limits& limits, const std::shared_ptr<MemoryAccount>& account) {
  switch (spec.kind) {
    case InputKind::user_input:
    case InputKind::token:
    case InputKind::custom_obj:
      return Tensor();
    case InputKind::parameter:
    case InputKind::buffer:
    case InputKind::constant_tensor:
      break;
  }
  const PayloadTensor* payload = payloads.bound_to(spec);
  if (payload == nullptr)
    return Error{ErrorCode::invalid,
                 "the file has no tensor for '" + spec.target.value_or(spec.arg.name) + "'", ""};
  if (run::is_sparse_coo(*payload)) {
    const MemoryAccount::Scope scope(account);
    return within_memory(
        [&] { return run::dense_constant(graph, spec.arg.name, *payload, limits); });
  }
  if (payload->is_fake && !payload->missing.empty())
    return Error{ErrorCode::limit,
                 "the tensor '" + payload->name +
                     "' was saved without elements, and its zeros exceed max_fake_bytes",
                 ""};
  if (!payload->missing.empty())
    return Error{ErrorCode::unsupported,
                 "the tensor '" + payload->name + "' has no elements: " + payload->missing, ""};
  return payload->tensor;
}

Error wrong_count(size_t found, std::span<const ModelValue> inputs) {
  std::string text =
      "found " + std::to_string(found) + " inputs, expected " + std::to_string(inputs.size()) + ":";
  for (const ModelValue& input : inputs) text += "\n  " + input.name + ": " + input.type;
  return {ErrorCode::argument, std::move(text), ""};
}

}  // namespace

Result<Model> Model::load(const std::string& path, const LoadOptions& options) {
  PT2_TRY(Package package, Package::open(path, options.limits));
  return from_package(std::make_shared<const Package>(std::move(package)), options);
}

Result<Model> Model::from_package(std::shared_ptr<const Package> package,
                                  const LoadOptions& options) {
  auto shared = std::make_shared<Shared>();
  shared->package = std::move(package);
  PT2_TRY(shared->program, shared->package->program(options.model));
  const Program& program = *shared->program;
  const GraphSignature& signature = program.signature;
  if (signature.input_specs.size() != program.graph.inputs().size() ||
      signature.output_specs.size() != program.graph.outputs().size())
    return Error{ErrorCode::invalid, "the signature does not fit the graph; see 'pt2 verify'", ""};
  shared->limits = options.limits;
  shared->operators = options.operators;
  PT2_TRY(shared->lowered, lowered_graph(Pass::forward_derivatives, program,
                                         NodeBudget(options.limits.max_new_nodes)));
  PT2_TRY(shared->bound,
          run::bind_graph(shared->lowered ? *shared->lowered : program.graph, shared->operators));
  shared->inputs = describe_inputs(program);
  shared->outputs = describe_outputs(program);
  for (const ModelValue& input : shared->inputs) shared->input_names.push_back(input.name);
  shared->guards = parse_guards(*shared->program);
  shared->arguments = call_arguments(program);
  shared->result = result_spec(program);
  shared->written = run::inputs_possibly_written(*shared->bound);
  for (const OutputSpec& spec : signature.output_specs)
    if (is_mutation(spec.kind)) {
      const size_t target = mutation_target(signature, spec);
      if (target == shared->written.size())
        return Error{ErrorCode::invalid,
                     "'" + spec.target.value_or("") +
                         "' has a new value, but no tensor among the " + "inputs is called that",
                     ""};
      shared->written[target] = true;
    }
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, shared->package->payloads(options.model));
  shared->file_bytes = file_bytes(*shared->package, options.model, *payloads);
  const std::shared_ptr<MemoryAccount> account = open_account(options.limits, shared->file_bytes);
  for (const InputSpec& spec : signature.input_specs) {
    PT2_TRY(Tensor payload, find_payload(*payloads, spec, program.graph, options.limits, account));
    shared->payloads.push_back(std::move(payload));
    PT2_TRY(Object object, find_object(*payloads, spec));
    shared->objects.push_back(std::move(object));
  }
  PT2_TRY_VOID(check_state(*shared));
  return Model(std::move(shared));
}

const Program& Model::program() const { return *shared_->program; }
const Package& Model::package() const { return *shared_->package; }
std::span<const ModelValue> Model::inputs() const { return shared_->inputs; }
std::span<const ModelValue> Model::outputs() const { return shared_->outputs; }

Result<std::vector<Value>> Model::run(std::vector<Value> inputs) const {
  Session session(*this);
  return session.run(inputs);
}

Result<std::vector<Value>> Model::run(const NamedValues& inputs) const {
  PT2_TRY(std::vector<Value> ordered, order_inputs(NamedTrees(inputs.begin(), inputs.end())));
  return run(std::move(ordered));
}

std::span<const CallArgument> Model::arguments() const { return shared_->arguments; }

Result<std::vector<Value>> Model::order_inputs(const NamedTrees& inputs) const {
  run::NamedInputs named(*this);
  for (const auto& [name, tree] : inputs) PT2_TRY_VOID(named.add(name, tree));
  return named.finish();
}

Result<Tree> Model::structure_outputs(std::vector<Value> outputs) const {
  if (outputs.size() != shared_->outputs.size())
    return Error{ErrorCode::argument,
                 "found " + std::to_string(outputs.size()) + " outputs, expected " +
                     std::to_string(shared_->outputs.size()),
                 ""};
  std::vector<Value> leaves;
  size_t next = 0;
  for (const OutputSpec& spec : program().signature.output_specs) {
    if (!is_user_output(spec.kind)) continue;
    Value& output = outputs[next++];
    if (is_result(spec.kind)) leaves.push_back(std::move(output));
  }
  return unflatten(std::move(leaves), shared_->result);
}

Result<Tree> Model::call(const NamedTrees& inputs) const { return Session(*this).call(inputs); }

namespace {

Result<void> check_call(const Model::Shared& shared, std::span<const Value> inputs) {
  std::vector<InputShape> shapes;
  for (const Value& input : inputs) shapes.push_back(input_shape(input));
  PT2_TRY([[maybe_unused]] const SymbolValues symbols,
          check_inputs(*shared.program, shared.guards, shapes, shared.input_names));
  return {};
}

}  // namespace

Session::Session(const Model& model)
    : shared_(model.shared()), state_(fresh_state(*model.shared())) {}

Session::Session(const Session& other)
    : shared_(other.shared_),
      state_(copy_of(*other.shared_, other.state_)),
      seed_(other.seed_),
      observer_(other.observer_) {}

Session& Session::operator=(const Session& other) { return *this = Session(other); }

namespace {

uint64_t bytes_of(std::span<const Value> values) {
  uint64_t bytes = 0;
  for (const Value& value : values)
    if (const auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->defined())
      bytes += tensor->storage()->size();
  return bytes;
}

// A few stored elements can stand for any number of them, which no reader of results could hold.
Result<void> check_outputs(std::span<const Value> outputs) {
  const std::shared_ptr<MemoryAccount> account = MemoryAccount::current();
  for (const Value& output : outputs)
    if (const auto* tensor = output.get_if<Tensor>())
      if (static_cast<uint64_t>(tensor->numel()) >
          account->limit() / static_cast<uint64_t>(dtype_size(tensor->dtype())))
        return Error{
            ErrorCode::limit,
            "a result of " + tensor->type_text() + " is larger than " + MemoryAccount::limit_text(),
            ""};
  return {};
}

struct Call {
  const Model::Shared& shared;
  const std::vector<Value>& state;
  uint64_t seed;
  const Observer& observer;
  uint64_t bytes;  // of file and inputs
};

Result<std::vector<Value>> run_call(const Call& call, std::span<Value> inputs) {
  const GraphSignature& signature = call.shared.program->signature;
  std::vector<Value> graph_inputs(call.state);
  size_t next = 0;
  for (size_t i = 0; i < signature.input_specs.size(); ++i) {
    if (signature.input_specs[i].kind != InputKind::user_input) continue;
    Value& input = inputs[next++];
    auto* tensor = input.get_if<Tensor>();
    if (tensor != nullptr && !tensor->defined()) {
      if (tensor->numel() > 0)
        return Error{ErrorCode::argument, "found a tensor without elements",
                     "input '" + call.shared.input_names[next - 1] + "'"};
      *tensor = Tensor::zeros(tensor->dtype(), tensor->sizes());
    }
    if (tensor != nullptr && call.shared.written[i] && tensor->storage()->is_read_only())
      *tensor = tensor->clone();
    graph_inputs[i] = input;
  }
  const std::vector<Value> sources = graph_inputs;

  ops::Context context;
  context.seed = call.seed;
  context.max_tensor_bytes = call.shared.limits.max_tensor_bytes;
  run::Executor executor(context, scaled_limits(call.shared.limits, call.bytes));
  if (call.observer) executor.observe(&call.observer);
  PT2_TRY(std::vector<Value> results, executor.run(*call.shared.bound, std::move(graph_inputs)));

  std::vector<Value> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    const OutputSpec& spec = signature.output_specs[i];
    if (is_user_output(spec.kind)) {
      outputs.push_back(std::move(results[i]));
      continue;
    }
    const size_t target = mutation_target(signature, spec);
    if (target == sources.size()) continue;
    const auto* state = sources[target].get_if<Tensor>();
    const auto* value = results[i].get_if<Tensor>();
    if (state == nullptr || !state->defined())
      return ops::operator_error("'" + *spec.target + "' has a new value, but is no tensor");
    if (value == nullptr || value->sizes() != state->sizes())
      return ops::operator_error("the new value of '" + *spec.target + "' does not have its sizes");
    Tensor written = *state;
    ops::copy_elements(written, *value);
  }
  PT2_TRY_VOID(check_outputs(outputs));
  return outputs;
}

}  // namespace

Result<std::vector<Value>> Session::run(std::span<Value> inputs) {
  if (inputs.size() != shared_->inputs.size()) return wrong_count(inputs.size(), shared_->inputs);
  PT2_TRY_VOID(check_call(*shared_, inputs));
  const uint64_t bytes = shared_->file_bytes + bytes_of(inputs);
  const MemoryAccount::Scope scope(open_account(shared_->limits, bytes));
  return within_memory([&] {
    return run_call({*shared_, state_, seed_, observer_, bytes}, inputs);
  });
}

Result<Tree> Session::call(const NamedTrees& inputs) {
  const Model model(shared_);
  PT2_TRY(std::vector<Value> ordered, model.order_inputs(inputs));
  PT2_TRY(std::vector<Value> outputs, run(ordered));
  return model.structure_outputs(std::move(outputs));
}

const Program& Session::program() const { return *shared_->program; }

namespace {

size_t state_index(const Program& program, std::string_view name) {
  const std::vector<InputSpec>& specs = program.signature.input_specs;
  const auto found = std::ranges::find_if(specs, [&](const InputSpec& spec) {
    return (spec.target && *spec.target == name) || spec.arg.name == name;
  });
  return static_cast<size_t>(found - specs.begin());
}

}  // namespace

const Tensor* Session::state(std::string_view name) const {
  const size_t index = state_index(*shared_->program, name);
  return index < state_.size() ? state_[index].get_if<Tensor>() : nullptr;
}

Result<Tensor> Session::mutable_state(std::string_view name) {
  const size_t index = state_index(*shared_->program, name);
  const auto* found = index < state_.size() ? state_[index].get_if<Tensor>() : nullptr;
  if (found == nullptr)
    return Error{ErrorCode::argument, "there is no state '" + std::string(name) + "'", ""};
  const std::shared_ptr<Storage> storage = found->storage();
  // What is not written to by the program itself is still the model's own.
  if (shared_->payloads[index].storage() == storage) {
    const std::shared_ptr<Storage> copy = copy_storage(*storage);
    for (Value& value : state_)
      if (auto* tensor = value.get_if<Tensor>(); tensor && tensor->storage() == storage)
        *tensor = view_over(copy, *tensor);
  }
  return *state_[index].get_if<Tensor>();
}

}  // namespace pt2
