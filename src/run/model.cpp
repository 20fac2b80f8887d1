#include "pt2/model.h"

#include <unordered_map>

#include "ir/values/record.h"
#include "ops/checks.h"
#include "pt2/ir/type_text.h"
#include "run/call_budget.h"
#include "run/model_shared.h"
#include "run/named_inputs.h"
#include "run/sparse_constants.h"

namespace pt2 {
namespace {

using run::GraphOutput;

// Returns the object that a graph input stands for; null for other inputs.
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
                     "is of a kind that is not known to this version",
                 ""};
  return payload->object;
}

// Returns the file's tensor that a graph input stands for; null for user inputs, tokens and
// objects.
Result<const PayloadTensor*> find_payload(const Payloads& payloads, const InputSpec& spec) {
  switch (spec.kind) {
    case InputKind::user_input:
    case InputKind::token:
    case InputKind::custom_obj:
      return nullptr;
    case InputKind::parameter:
    case InputKind::buffer:
    case InputKind::constant_tensor:
      break;
  }
  const PayloadTensor* payload = payloads.bound_to(spec);
  if (payload == nullptr)
    return Error{ErrorCode::invalid,
                 "the file has no tensor for '" + spec.target.value_or(spec.arg.name) + "'", ""};
  if (payload->missing.empty() || run::is_sparse_coo(*payload)) return payload;
  if (payload->is_fake)
    return Error{ErrorCode::limit,
                 "the tensor '" + payload->name +
                     "' was saved without elements, and its zeros exceed max_fake_bytes",
                 ""};
  return Error{ErrorCode::unsupported,
               "the tensor '" + payload->name + "' has no elements: " + payload->missing, ""};
}

// Returns the tensor that a graph input stands for, from the file or `source`; undefined for user
// inputs, tokens and objects.
Result<Tensor> load_payload(const Payloads& payloads, const InputSpec& spec, const Graph& graph,
                            const Limits& limits, const std::shared_ptr<MemoryAccount>& account,
                            const run::WeightSource& source) {
  PT2_TRY(const PayloadTensor* payload, find_payload(payloads, spec));
  if (payload == nullptr) return Tensor();
  if (run::is_sparse_coo(*payload)) {
    const MemoryAccount::Scope scope(account);
    return within_memory(
        [&] { return run::dense_constant(graph, spec.arg.name, *payload, limits); });
  }
  if (Tensor other = source ? source(*payload) : Tensor(); other.defined()) return other;
  return payload->tensor;
}

// Returns the inner tensor that an input of an unwrapped program stands for; null for other inputs.
const Tensor* find_inner(const run::UnwrappedProgram* unwrapped, const InputSpec& spec) {
  if (unwrapped == nullptr || !spec.target) return nullptr;
  const auto inner = unwrapped->inner.find(*spec.target);
  return inner == unwrapped->inner.end() ? nullptr : &inner->second;
}

Result<void> check_signature_fits(const Program& program) {
  const GraphSignature& signature = program.signature;
  const Graph& graph = program.graph;
  if (signature.input_specs.size() != graph.inputs().size() ||
      signature.output_specs.size() != graph.outputs().size())
    return Error{ErrorCode::invalid, "the signature does not fit the graph; see 'pt2 verify'", ""};
  // A call's tensors are checked against the values that the signature names, and given to the
  // graph's inputs.
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto* id = graph.inputs()[i].get_if<ValueId>();
    const std::string& name = signature.input_specs[i].arg.name;
    if (id != nullptr && name != graph.value(*id).name)
      return Error{ErrorCode::invalid, "the signature calls it '" + name + "'; see 'pt2 verify'",
                   "input '" + graph.value(*id).name + "'"};
  }
  return {};
}

// Inputs and weights have the recorded ranks, and operators check those of their results.
Result<void> check_ranks(const Program& program) {
  const Graph& graph = program.graph;
  for (const Argument& input : graph.inputs()) {
    const auto* id = input.get_if<ValueId>();
    const TensorMeta* record = id != nullptr ? graph.value(*id).tensor() : nullptr;
    if (record == nullptr) continue;
    if (Result<void> fits = ops::check_real_rank(std::ssize(record->sizes)); !fits)
      return at(std::move(fits).error(), "input '" + graph.value(*id).name + "'");
  }
  return {};
}

// PyTorch also loads a weight that differs from the program's record, and computes whatever the
// operators give for it: another result than the exported one, or an error far from the cause.
// `listed` is true for weights that 'pt2 verify' compares, too.
Result<void> check_is_recorded(const Program& program, size_t input, const Value& weight,
                               bool listed) {
  const Graph& graph = program.graph;
  const auto* found = weight.get_if<Tensor>();
  const auto* id =
      input < graph.inputs().size() ? graph.inputs()[input].get_if<ValueId>() : nullptr;
  const TensorMeta* record = found && id ? graph.value(*id).tensor() : nullptr;
  if (record == nullptr || fits_record(*found, *record)) return {};
  const InputSpec& spec = program.signature.input_specs[input];
  return Error{ErrorCode::invalid,
               "the weight '" + spec.target.value_or(spec.arg.name) + "' is " + found->type_text() +
                   ", the program records " + type_text(program, *record) +
                   (listed ? ": 'pt2 verify' lists all that differ" : ""),
               ""};
}

// Makes the storages of weights read-only: all sessions share them, and callers get them where
// results are weights. Storages in a mapped file are read-only already, copies of it are not.
Result<void> forbid_writing(std::vector<Value>& weights) {
  std::unordered_map<const Storage*, std::shared_ptr<Storage>> read_only;
  for (Value& weight : weights) {
    auto* tensor = weight.get_if<Tensor>();
    if (tensor == nullptr || !tensor->defined() || tensor->storage()->is_read_only()) continue;
    const std::shared_ptr<Storage>& own = tensor->storage();
    std::shared_ptr<Storage>& storage = read_only[own.get()];
    if (storage == nullptr) storage = Storage::borrow_read_only({own->data(), own->size()}, own);
    PT2_TRY(*tensor, Tensor::view_of(storage, tensor->dtype(), tensor->sizes(), tensor->strides(),
                                     tensor->storage_offset()));
  }
  return {};
}

// Finds the values that the graph's inputs stand for, except user inputs.
Result<void> find_weights(Model::Shared& shared, const LoadOptions& options,
                          const run::WeightSource& source) {
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, shared.package->payloads(options.model));
  shared.file_bytes = run::file_bytes(*shared.package, options.model, *payloads);
  const auto account = run::open_account(options.limits, shared.file_bytes);
  const Program& program = *shared.program;
  for (const InputSpec& spec : program.signature.input_specs) {
    const Tensor* inner = find_inner(shared.unwrapped.get(), spec);
    if (inner != nullptr) {
      shared.weights.emplace_back(*inner);
    } else {
      PT2_TRY(Tensor payload,
              load_payload(*payloads, spec, program.graph, options.limits, account, source));
      PT2_TRY(Object object, find_object(*payloads, spec));
      shared.weights.push_back(payload.defined()   ? Value(std::move(payload))
                               : object != nullptr ? Value(std::move(object))
                                                   : Value());
    }
    PT2_TRY_VOID(check_is_recorded(program, shared.weights.size() - 1, shared.weights.back(),
                                   inner == nullptr));
  }
  return forbid_writing(shared.weights);
}

// Checks that a session can copy the written tensors: tensors saved without elements take no memory
// until they are copied.
Result<void> check_state(const Model::Shared& shared) {
  const auto account = run::open_account(shared.limits, shared.file_bytes);
  const MemoryAccount::Scope scope(account);
  uint64_t left = account->limit();
  for (const Storage* storage : shared.written_storages()) {
    if (storage->size() > left)
      return Error{
          ErrorCode::limit,
          "the tensors that the program writes to take more than " + MemoryAccount::limit_text(),
          ""};
    left -= storage->size();
  }
  return {};
}

}  // namespace

std::unordered_set<const Storage*> Model::Shared::written_storages() const {
  std::unordered_set<const Storage*> storages;
  for (size_t i = 0; i < weights.size(); ++i)
    if (const auto* tensor = weights[i].get_if<Tensor>(); tensor != nullptr && written[i])
      storages.insert(tensor->storage().get());
  return storages;
}

Result<void> run::check_can_load(const Program& program, const Payloads& payloads) {
  PT2_TRY_VOID(check_signature_fits(program));
  PT2_TRY(const auto unwrapped, unwrap_subclasses(program, payloads));
  const Program& loaded = unwrapped == nullptr ? program : unwrapped->program;
  for (const InputSpec& spec : loaded.signature.input_specs) {
    if (find_inner(unwrapped.get(), spec) != nullptr) continue;
    PT2_TRY_VOID(find_payload(payloads, spec));
    PT2_TRY_VOID(find_object(payloads, spec));
  }
  return {};
}

Result<Model> run::make_model(std::shared_ptr<const Package> package, const LoadOptions& options,
                              EngineFactory prepare_engine, const WeightSource& source) {
  PT2_TRY(const Program* program, package->program(options.model));
  PT2_TRY_VOID(check_signature_fits(*program));
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, package->payloads(options.model));
  PT2_TRY(const auto unwrapped, unwrap_subclasses(*program, *payloads));
  if (unwrapped != nullptr) program = &unwrapped->program;
  PT2_TRY_VOID(check_ranks(*program));
  auto shared = std::make_shared<Model::Shared>(std::move(package), *program, options);
  shared->unwrapped = unwrapped;
  PT2_TRY_VOID(find_weights(*shared, options, source));
  PT2_TRY(shared->engine, prepare_engine({*program, shared->weights, shared->operators,
                                          shared->limits, shared->convention.graph_outputs}));
  shared->written = shared->engine->written_inputs();
  for (const GraphOutput& output : shared->convention.graph_outputs) {
    if (output.role != GraphOutput::Role::mutation) continue;
    if (!output.target)
      return Error{
          ErrorCode::invalid,
          "'" + output.name + "' has a new value, but no tensor among the inputs is called that",
          ""};
    shared->written[*output.target] = true;
  }
  PT2_TRY_VOID(check_state(*shared));
  return Model(std::move(shared));
}

Result<Model> Model::load(const std::string& path, const LoadOptions& options) {
  PT2_TRY(Package package, Package::open(path, options.limits));
  return from_package(std::make_shared<const Package>(std::move(package)), options);
}

Result<Model> Model::from_package(std::shared_ptr<const Package> package,
                                  const LoadOptions& options) {
  if (package == nullptr)
    return Error{ErrorCode::argument, "found no package, expected one that Package::open gave", ""};
  return run::make_model(std::move(package), options, run::engine_factory(options.engine));
}

const Program& Model::program() const& { return *shared_->program; }
const Package& Model::package() const& { return *shared_->package; }
std::span<const ModelValue> Model::inputs() const& { return shared_->convention.inputs; }
std::span<const ModelValue> Model::outputs() const& { return shared_->convention.outputs; }
std::vector<PlannedStep> Model::plan() const { return shared_->engine->steps(); }
uint64_t Model::trim() const { return shared_->engine->trim(); }

Result<std::vector<Value>> Model::run(std::vector<Value> inputs, const CallOptions& options) const {
  Session session(*this);
  return session.run(inputs, options);
}

Result<std::vector<Value>> Model::run(const NamedValues& inputs, const CallOptions& options) const {
  PT2_TRY(std::vector<Value> ordered, order_inputs(NamedTrees(inputs.begin(), inputs.end())));
  return run(std::move(ordered), options);
}

std::span<const CallArgument> Model::arguments() const& { return shared_->convention.arguments; }

Result<std::vector<Value>> Model::order_inputs(const NamedTrees& inputs) const {
  run::NamedInputs named(shared_->convention);
  for (const auto& [name, tree] : inputs) PT2_TRY_VOID(named.add(name, tree));
  return named.finish();
}

Result<Tree> Model::structure_outputs(std::vector<Value> outputs) const {
  const run::CallingConvention& convention = shared_->convention;
  if (outputs.size() != convention.outputs.size())
    return Error{ErrorCode::argument,
                 "found " + std::to_string(outputs.size()) + " outputs, expected " +
                     std::to_string(convention.outputs.size()),
                 ""};
  std::vector<Value> leaves;
  size_t next = 0;
  for (const GraphOutput& output : convention.graph_outputs) {
    if (!output.is_callers()) continue;
    Value& value = outputs[next++];
    if (output.role == GraphOutput::Role::result) leaves.push_back(std::move(value));
  }
  return unflatten(std::move(leaves), convention.result);
}

Result<Tree> Model::call(const NamedTrees& inputs, const CallOptions& options) const {
  return Session(*this).call(inputs, options);
}

}  // namespace pt2
