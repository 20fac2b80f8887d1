// The calls that a pickle may make, as functions over values.
#include <fmt/format.h>

#include <algorithm>

#include "archive/pickle/unpickler.h"
#include "base/json.h"
#include "base/printable.h"

namespace pt2 {
namespace {

// Returns the integer dtype of a quantized storage; nothing if several integers share a byte.
std::optional<Dtype> integers_of(std::string_view quantized) {
  if (quantized == "qint8") return Dtype::int8;
  if (quantized == "quint8") return Dtype::uint8;
  if (quantized == "qint32") return Dtype::int32;
  return std::nullopt;
}

// Converts UTF-8 text to bytes, one for each character; nothing if a character is 256 or above.
std::optional<std::string> to_latin1(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out += text[i];
    } else if ((byte == 0xC2 || byte == 0xC3) && i + 1 < text.size()) {
      out += static_cast<char>(byte << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// The fields of torchao's tensor subclasses are objects: how to quantize, which kernel to use.
constexpr std::string_view kTorchao = "torchao.";
constexpr std::string_view kPlainTypes[] = {"torch.Tensor", "torch.nn.parameter.Parameter",
                                            "torch.nn.parameter.Buffer"};
constexpr std::string_view kParameterType = kPlainTypes[1];

// True for a class of results of a transformers model. Such dataclasses are pickled as calls of
// their class (transformers/utils/generic.py, ModelOutput.__reduce__). Layers with names of this
// form are modules. Both only store their arguments.
bool is_model_output(std::string_view name) {
  constexpr std::string_view kModules[] = {"transformers.modeling_outputs.",
                                           "transformers.models."};
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::ranges::any_of(kModules, [&](auto module) { return name.starts_with(module); }) &&
         !last.empty() && last[0] >= 'A' && last[0] <= 'Z' && last.ends_with("Output");
}

// True for a class of an enumeration: calling it with the value of a member returns that member
// (Lib/enum.py, Enum.__reduce_ex__). Releases of these packages move the classes between modules,
// so the module is not compared.
bool is_enumeration(std::string_view name) {
  constexpr std::string_view kPackages[] = {"torchao.", "torch.ao.quantization."};
  constexpr std::string_view kClasses[] = {"CompareOp",
                                           "Float8LinearRecipeName",
                                           "Float8PackingFormat",
                                           "GemmInputRole",
                                           "Int4ChooseQParamsAlgorithm",
                                           "Int4PackingFormat",
                                           "IntxPackingFormat",
                                           "IntxChooseQParamsAlgorithm",
                                           "IntxUnpackedToInt8TensorActivationQuantization",
                                           "KernelPreference",
                                           "MappingType",
                                           "ObservationType",
                                           "PackingFormat",
                                           "QATStep",
                                           "QuantType",
                                           "QuantizationStep",
                                           "ScalingGranularity",
                                           "ScalingType",
                                           "TorchAODType",
                                           "UIntxChooseQParamsAlgorithm",
                                           "ZeroPointDomain"};
  return std::ranges::any_of(kPackages, [&](auto package) { return name.starts_with(package); }) &&
         std::ranges::find(kClasses, name.substr(name.rfind('.') + 1)) != std::end(kClasses);
}

// Returns advice for the exporter of a file with a refused class; empty if there is none.
std::string_view remedy(std::string_view name) {
  return name.starts_with(kTorchao)
             ? "; export after torchao.utils.unwrap_tensor_subclass(model), which leaves plain "
               "tensors"
             : "";
}

// The approximate memory of one map entry.
constexpr uint64_t kExtraBytes = 64;

}  // namespace

Error Unpickler::wrong_arguments(std::string_view function) const {
  return error(ErrorCode::invalid,
               fmt::format("{} is called with other arguments than torch.save writes", function));
}

const PickleItems* Unpickler::find_items(PickleId id) const {
  return std::get_if<PickleItems>(&node(id).payload);
}

const PickleObject* Unpickler::find_object(PickleId id) const {
  const auto* object = std::get_if<std::unique_ptr<PickleObject>>(&node(id).payload);
  return object == nullptr ? nullptr : object->get();
}

const std::string* Unpickler::find_text(PickleId id) const {
  return node(id).kind == PickleKind::string ? std::get_if<std::string>(&node(id).payload)
                                             : nullptr;
}

const int64_t* Unpickler::find_int(PickleId id) const {
  return std::get_if<int64_t>(&node(id).payload);
}

bool Unpickler::is_opaque(PickleId id) const {
  return node(id).kind == PickleKind::global || node(id).kind == PickleKind::object;
}

std::string_view Unpickler::name_of(PickleId global) const {
  const PickleNode& value = node(global);
  if (const auto* known = std::get_if<const KnownGlobal*>(&value.payload)) return (*known)->name;
  if (const auto* refused = std::get_if<uint32_t>(&value.payload))
    return graph_->refused[*refused].name;
  return "";
}

std::string Unpickler::dtype_text(PickleId id) const {
  const auto* text = std::get_if<std::string>(&node(id).payload);
  return node(id).kind == PickleKind::dtype && text != nullptr ? *text : "";
}

Result<PickleId> Unpickler::add_global(std::string name) {
  if (const KnownGlobal* known = find_known_global(name)) return add(PickleKind::constant, known);
  if (const std::string_view dtype = torch_dtype(name); !dtype.empty())
    return add(PickleKind::dtype, std::string(dtype));
  // Any name may occur in a pickle. Only its use can be refused, and the use is known later.
  const auto [place, is_new] =
      refused_.try_emplace(name, static_cast<uint32_t>(graph_->refused.size()));
  if (is_new) {
    PT2_TRY_VOID(charge(2 * name.size() + sizeof(RefusedGlobal)));
    graph_->refused.push_back({.name = std::move(name), .offset = opcode_offset_});
  }
  return add(PickleKind::global, place->second);
}

Error Unpickler::refusal(const RefusedGlobal& global) const {
  return {
      ErrorCode::unsupported,
      fmt::format("refused the global {}: only tensors, numbers and plain containers are read{}",
                  printable(global.name), remedy(global.name)),
      fmt::format("byte {}", global.offset)};
}

// In the strict modes a pickle may name the class of a tensor subclass and the classes of its
// fields; both are kept as data. Every other use of a refused name is an error.
Result<void> Unpickler::check_refused() const {
  if (mode_ == PickleMode::listing) return {};
  for (uint32_t i = 0; i < graph_->refused.size(); ++i)
    if (!data_classes_.contains(i)) return refusal(graph_->refused[i]);
  const auto check = [&](PickleId id) -> Result<void> {
    if (node(id).kind != PickleKind::object) return {};
    const auto found = refused_.find(find_object(id)->text);
    return found == refused_.end() ? Result<void>() : refusal(graph_->refused[found->second]);
  };
  if (!stopped_) return {};
  PT2_TRY_VOID(check(graph_->root));
  if (const PickleItems* items = find_items(graph_->root))
    for (const PickleId item : *items) PT2_TRY_VOID(check(item));
  return {};
}

Result<PickleId> Unpickler::add_object(std::string_view class_name, Args items, bool called) {
  PT2_TRY_VOID(charge(sizeof(PickleObject) + class_name.size() + items.size() * sizeof(PickleId)));
  auto object = std::make_unique<PickleObject>();
  object->text = class_name;
  object->items.assign(items.begin(), items.end());
  object->arguments = items.size();
  object->called = called;
  return add(PickleKind::object, std::move(object));
}

Result<PickleId> Unpickler::forget_making(Result<PickleId> object) {
  if (object)
    std::get<std::unique_ptr<PickleObject>>(graph_->nodes[*object].payload)->arguments.reset();
  return object;
}

Result<PickleId> Unpickler::add_tensor(PickleTensor tensor, PickleItems parts) {
  // The texts count for each tensor: thousands of tensors may copy one long device name.
  PT2_TRY_VOID(charge(sizeof(PickleObject) + 3 * tensor.sizes.size() * sizeof(int64_t) +
                      tensor.device.size() + tensor.class_name.size() + tensor.missing.size() +
                      parts.size() * sizeof(PickleId)));
  auto object = std::make_unique<PickleObject>();
  object->tensor = std::move(tensor);
  object->items = std::move(parts);
  return add(PickleKind::tensor, std::move(object));
}

// `creates`: the opcode makes an object of a class (NEWOBJ); otherwise it calls any callable
// (REDUCE).
Result<PickleId> Unpickler::call(PickleId function, PickleId arguments, bool creates) {
  const PickleItems* args = find_items(arguments);
  if (args == nullptr || node(arguments).kind != PickleKind::tuple)
    return malformed("the arguments are not a tuple");
  if (const auto* refused = std::get_if<uint32_t>(&node(function).payload)) {
    creates = creates || is_model_output(name_of(function)) || is_member(function, *args);
    if (mode_ != PickleMode::listing) {
      if (!creates || !name_of(function).starts_with(kTorchao))
        return refusal(graph_->refused[*refused]);
      data_classes_.insert(*refused);
    }
    if (!creates) {
      graph_->refused[*refused].called = true;
      note_call(printable(name_of(function)), *args);
    }
    return add_object(name_of(function), *args, !creates);
  }
  // Python may call any object here: the result of getattr, a functools.partial.
  if (const PickleObject* object = find_object(function);
      object != nullptr && is_opaque(function)) {
    note_call(fmt::format("what {} makes", printable(object->text)), *args);
    // Such an object cannot be written again.
    return forget_making(add_object("object", *args, true));
  }
  const auto* known = std::get_if<const KnownGlobal*>(&node(function).payload);
  if (known == nullptr)
    return malformed(
        fmt::format("found {}, expected a global to call", pickle_kind_name(node(function).kind)));
  const KnownGlobal& made_by = **known;  // the node itself moves when others are added
  PT2_TRY(const PickleId made, call_known(made_by, *args));
  PT2_TRY_VOID(keep_making(made, made_by, arguments));
  return made;
}

bool Unpickler::is_member(PickleId function, Args args) const {
  return args.size() == 1 && (find_int(args[0]) != nullptr || find_text(args[0]) != nullptr) &&
         is_enumeration(name_of(function));
}

std::string Unpickler::describe(PickleId id) const {
  constexpr size_t kMaxBytes = 100;
  if (const std::string* text = find_text(id))
    return fmt::format("'{}'", printable(*text, kMaxBytes));
  if (const int64_t* number = find_int(id)) return std::to_string(*number);
  if (!name_of(id).empty()) return printable(name_of(id), kMaxBytes);
  return fmt::format("<{}>", pickle_kind_name(node(id).kind));
}

void Unpickler::note_call(std::string_view printed_function, Args args) {
  constexpr size_t kMaxArguments = 4;
  if (graph_->calls.size() >= kMaxNoted) return;
  std::string text = fmt::format("{}(", printed_function);
  for (size_t i = 0; i < args.size() && i < kMaxArguments; ++i)
    text += (i > 0 ? ", " : "") + describe(args[i]);
  text += args.size() > kMaxArguments ? ", ...)" : ")";
  graph_->calls.push_back({std::move(text), opcode_offset_});
}

// Records the expressions in the metadata of a fake tensor. The metadata is JSON in the form of the
// program's JSON, and PyTorch evaluates its expressions (torch/_export/serde/serialize.py,
// _reconstruct_fake_tensor).
Result<void> Unpickler::note_expressions(PickleId metadata) {
  // A parsed text takes up to 96 bytes for each of its own. Four bytes stay charged: thousands of
  // calls may parse the same text again.
  constexpr uint64_t kParsedBytes = 96, kChargedBytes = 4;
  const auto* bytes = std::get_if<std::string>(&node(metadata).payload);
  if (bytes == nullptr || graph_->expressions.size() >= kMaxNoted) return {};
  PT2_TRY_VOID(charge(kParsedBytes * bytes->size()));
  memory_ -= (kParsedBytes - kChargedBytes) * bytes->size();
  const auto json = parse_json(*bytes);
  if (!json) return {};
  std::vector<const JsonValue*> left{&*json};
  while (!left.empty() && graph_->expressions.size() < kMaxNoted) {
    const JsonValue& value = *left.back();
    left.pop_back();
    for (const JsonValue& item : value.items) left.push_back(&item);
    for (const auto& [key, member] : value.members) {
      left.push_back(&member);
      if (key == "expr_str" && member.is_string())
        graph_->expressions.push_back({member.text, opcode_offset_});
    }
  }
  return {};
}

// Records how a value was made if the value itself does not tell how to write it again.
Result<void> Unpickler::keep_making(PickleId made, const KnownGlobal& function,
                                    PickleId arguments) {
  const bool is_tensor = node(made).kind == PickleKind::tensor;
  if (!is_tensor || find_object(made)->tensor.tensor.defined()) return {};
  PT2_TRY_VOID(charge(kExtraBytes));
  graph_->extras.makings.insert_or_assign(made, PickleMaking{&function, arguments});
  return {};
}

Result<PickleId> Unpickler::call_known(const KnownGlobal& known, Args args) {
  switch (known.call) {
    case PickleCall::not_callable:
    case PickleCall::storage:
      return malformed(fmt::format("{} is not made this way", known.name));
    case PickleCall::container:
      return make_container(known, args);
    case PickleCall::complex:
      return make_complex(args);
    case PickleCall::encode:
      return encode(known, args);
    case PickleCall::device:
      return make_device(args);
    case PickleCall::layout:
      if (args.size() != 1 || find_text(args[0]) == nullptr) return wrong_arguments(known.name);
      PT2_TRY_VOID(charge(find_text(args[0])->size()));
      return add(PickleKind::constant, std::string(*find_text(args[0])));
    case PickleCall::reconstruct:
      return reconstruct(args);
    case PickleCall::rebuild_tensor:
      return rebuild_tensor(known, args);
    case PickleCall::rebuild_parameter:
      return rebuild_parameter(args);
    case PickleCall::rebuild_from_type:
      return rebuild_from_type(args);
    case PickleCall::rebuild_sparse:
      return rebuild_sparse(args);
    case PickleCall::rebuild_quantized:
      return rebuild_quantized(known, args);
    case PickleCall::tensor_without_data:
      return tensor_without_data(known, args);
    case PickleCall::script_object:
      return make_script_object(known, args);
    case PickleCall::restore_type_tag:
      if (args.size() != 2) return wrong_arguments(known.name);
      return args[0];
    case PickleCall::generator:
      // Protocol 2 cannot hold the bytes of the generator's storage as PyTorch writes them.
      if (args.size() != 1 || node(args[0]).kind != PickleKind::device)
        return wrong_arguments(known.name);
      return forget_making(add_object(known.name, args, false));
    case PickleCall::load_from_bytes:
      return load_from_bytes(known, args);
  }
  return wrong_arguments(known.name);
}

Result<PickleId> Unpickler::make_script_object(const KnownGlobal& known, Args args) {
  PT2_TRY(const PickleId made, add_object(known.name, args, false));
  std::get<std::unique_ptr<PickleObject>>(graph_->nodes[made].payload)->python_class = &known;
  return made;
}

// The argument of a defaultdict is its factory, and the second argument of a deque its maximum
// length; neither is an item.
Result<PickleId> Unpickler::make_container(const KnownGlobal& known, Args args) {
  PickleItems items;
  if (!args.empty() && known.kind != PickleKind::default_dict) {
    const PickleItems* source = find_items(args[0]);
    if (source == nullptr || !is_sequence_kind(node(args[0]).kind))
      return wrong_arguments(known.name);
    PT2_TRY_VOID(charge(2 * source->size() * sizeof(PickleId)));
    items = *source;
  }
  if (!is_dict_kind(known.kind)) {
    PT2_TRY(const PickleId made, add(known.kind, std::move(items)));
    if (known.kind == PickleKind::deque && !args.empty()) PT2_TRY_VOID(keep_arguments(made, args));
    if (known.name == "builtins.frozenset") PT2_TRY_VOID(keep_frozen(made));
    return made;
  }
  PickleItems pairs;
  for (PickleId item : items) {
    const PickleItems* pair = find_items(item);
    if (pair == nullptr || pair->size() != 2) return wrong_arguments(known.name);
    pairs.insert(pairs.end(), pair->begin(), pair->end());
  }
  PT2_TRY(const PickleId made, add(known.kind, std::move(pairs)));
  if (known.kind != PickleKind::default_dict) return made;
  // Python calls the factory for each missing key that is looked up.
  if (!args.empty() && is_opaque(args[0])) note_call(describe(args[0]), {});
  PT2_TRY_VOID(keep_arguments(made, args));
  return made;
}

Result<void> Unpickler::keep_arguments(PickleId made, Args args) {
  PT2_TRY_VOID(charge(kExtraBytes + args.size() * sizeof(PickleId)));
  graph_->extras.arguments.emplace(made, PickleItems(args.begin(), args.end()));
  return {};
}

Result<void> Unpickler::keep_frozen(PickleId made) {
  PT2_TRY_VOID(charge(kExtraBytes));
  graph_->extras.frozen.insert(made);
  return {};
}

Result<void> Unpickler::keep_state(PickleId target, PickleId state) {
  PT2_TRY_VOID(charge(kExtraBytes));
  graph_->extras.states.insert_or_assign(target, state);
  return {};
}

Result<PickleId> Unpickler::make_complex(Args args) {
  const auto part = [&](size_t i) {
    return i < args.size() ? std::get_if<double>(&node(args[i]).payload) : nullptr;
  };
  if (args.size() != 2 || part(0) == nullptr || part(1) == nullptr)
    return wrong_arguments("complex");
  return add(PickleKind::complex, std::complex<double>(*part(0), *part(1)));
}

// Protocols below 3 write bytes as text whose characters are the bytes, and empty bytes as a call
// of `bytes` without arguments.
Result<PickleId> Unpickler::encode(const KnownGlobal& known, Args args) {
  if (known.name == kBytes && args.empty()) return add(PickleKind::bytes, std::string());
  const std::string* text = args.size() == 2 ? find_text(args[0]) : nullptr;
  const std::string* encoding = args.size() == 2 ? find_text(args[1]) : nullptr;
  if (text == nullptr || encoding == nullptr || *encoding != "latin1")
    return wrong_arguments(known.name);
  PT2_TRY_VOID(charge(text->size()));
  std::optional<std::string> bytes = to_latin1(*text);
  if (!bytes) return wrong_arguments(known.name);
  return add(PickleKind::bytes, *std::move(bytes));
}

Result<PickleId> Unpickler::make_device(Args args) {
  const std::string* type = args.empty() ? nullptr : find_text(args[0]);
  const int64_t* index = args.size() == 2 ? find_int(args[1]) : nullptr;
  if (type == nullptr || args.size() > 2 || (args.size() == 2 && index == nullptr))
    return wrong_arguments("torch.device");
  PT2_TRY_VOID(charge(type->size()));
  return add(PickleKind::device, index == nullptr ? *type : fmt::format("{}:{}", *type, *index));
}

// An object of protocol 1 and below: (class, base class, state of the base).
Result<PickleId> Unpickler::reconstruct(Args args) {
  if (args.size() != 3 || name_of(args[0]).empty())
    return wrong_arguments("copyreg._reconstructor");
  // Python calls the base's constructor; the base `object` has none.
  if (node(args[1]).kind == PickleKind::global)
    note_call(printable(name_of(args[1])), args.subspan(2));
  return forget_making(add_object(name_of(args[0]), args.subspan(2), false));
}

Result<Sizes> Unpickler::read_sizes(PickleId id) {
  const PickleItems* items = find_items(id);
  if (items == nullptr || !is_sequence_kind(node(id).kind))
    return error(ErrorCode::invalid, "the tensor's sizes are not a tuple");
  PT2_TRY_VOID(charge(items->size() * sizeof(int64_t)));
  Sizes sizes;
  sizes.reserve(items->size());
  for (PickleId item : *items) {
    const int64_t* value = find_int(item);
    if (value == nullptr) return error(ErrorCode::invalid, "the tensor's sizes are not integers");
    sizes.push_back(*value);
  }
  return sizes;
}

// Loads a storage by its id, ('storage', class, key, location, elements), and checks its size.
// Before 1.6 the class of a module had an id, too: ('module', class, its file, its source).
Result<PickleId> Unpickler::load_storage(Args args) {
  constexpr size_t kParts = 5;
  if (args.size() == 4 && find_text(args[0]) != nullptr && *find_text(args[0]) == "module")
    return args[1];
  const auto* known =
      args.size() >= kParts ? std::get_if<const KnownGlobal*>(&node(args[1]).payload) : nullptr;
  const std::string* tag = known != nullptr ? find_text(args[0]) : nullptr;
  if (tag == nullptr || *tag != "storage" || (*known)->call != PickleCall::storage)
    return malformed("the persistent id names no storage");
  const std::string* key = find_text(args[2]);
  const std::string* location = find_text(args[3]);
  const int64_t* elements = find_int(args[4]);
  if (key == nullptr || location == nullptr || elements == nullptr)
    return malformed("the persistent id names no storage");
  // Files from before 1.6 have a sixth part: the storage may be a part of another (before 0.4).
  if (args.size() > kParts && node(args[kParts]).kind != PickleKind::none)
    return error(ErrorCode::unsupported, "the storage is a part of another");
  const StorageClass& storage_class = (*known)->storage;
  int64_t bytes = 0;
  if (*elements < 0 ||
      __builtin_mul_overflow(*elements, int64_t{storage_class.element_size}, &bytes))
    return error(ErrorCode::invalid, fmt::format("found a storage of {} elements", *elements));
  PT2_TRY_VOID(charge(sizeof(PickleObject) + location->size()));
  if (follows_) return add(PickleKind::storage, std::make_unique<PickleObject>());
  PT2_TRY(std::shared_ptr<Storage> storage,
          find_storage(*key, storage_class.alignment, static_cast<uint64_t>(bytes)));
  if (static_cast<uint64_t>(bytes) > storage->size())
    return error(ErrorCode::invalid, fmt::format("storage {} has {} bytes, the pickle expects {}",
                                                 printable(*key), storage->size(), bytes));
  auto object = std::make_unique<PickleObject>();
  object->storage = std::move(storage);
  object->storage_class = *known;
  object->device = *location;
  return add(PickleKind::storage, std::move(object));
}

Result<std::shared_ptr<Storage>> Unpickler::find_storage(const std::string& key, size_t alignment,
                                                         uint64_t bytes) {
  if (const auto found = loaded_.find(key); found != loaded_.end()) {
    // torch.save refuses to write a storage of two dtypes, so only a forged file needs another
    // alignment.
    if (mode_ != PickleMode::in_place &&
        reinterpret_cast<uintptr_t>(found->second->data()) % alignment != 0)
      return error(ErrorCode::invalid,
                   fmt::format("storage {} is used with two dtypes", printable(key)));
    return found->second;
  }
  PT2_TRY_VOID(charge(key.size() + sizeof(Storage)));
  Result<std::shared_ptr<Storage>> storage = storages_(key, alignment, bytes);
  if (!storage)
    return error(storage.error().code,
                 fmt::format("storage {}: {}", printable(key), storage.error().message));
  loaded_.emplace(key, *storage);
  return storage;
}

// True if the metadata marks a conjugated or negated view. PyTorch saves such a view with the mark,
// not with its computed values (torch/csrc/jit/serialization/pickler.h, getTensorMetadata).
bool Unpickler::has_lazy_bits(Args metadata) {
  for (PickleId id : metadata) {
    const PickleItems* pairs = node(id).kind == PickleKind::dict ? find_items(id) : nullptr;
    if (pairs == nullptr) continue;
    opcodes_ += pairs->size();
    for (size_t i = 1; i < pairs->size(); i += 2)
      if (const bool* bit = std::get_if<bool>(&node((*pairs)[i]).payload); bit != nullptr && *bit)
        return true;
  }
  return false;
}

// (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, metadata]); the oldest form
// stops after strides.
Result<PickleId> Unpickler::rebuild_tensor(const KnownGlobal& known, Args args) {
  constexpr size_t kFewest = 4;
  if (args.size() < kFewest ||
      (known.dtype >= 0 && args.size() <= static_cast<size_t>(known.dtype)))
    return wrong_arguments(known.name);
  if (follows_ && node(args[0]).kind == PickleKind::storage) return add_tensor({});
  const PickleObject* storage = find_object(args[0]);
  const int64_t* offset = find_int(args[1]);
  if (storage == nullptr || storage->storage == nullptr || offset == nullptr)
    return wrong_arguments(known.name);
  PickleTensor made;
  PT2_TRY(made.sizes, read_sizes(args[2]));
  PT2_TRY(Sizes strides, read_sizes(args[3]));
  made.dtype = known.dtype < 0 ? std::string(storage->storage_class->storage.dtype)
                               : dtype_text(args[static_cast<size_t>(known.dtype)]);
  made.device = storage->device;
  if (args.size() > kFewest)
    if (const bool* requires_grad = std::get_if<bool>(&node(args[kFewest]).payload))
      made.requires_grad = *requires_grad;
  const std::optional<Dtype> dtype = find_dtype(made.dtype);
  constexpr size_t kMetadata = 6;
  if (args.size() > kMetadata && has_lazy_bits(args.subspan(kMetadata)))
    made.missing = "conjugated or negated view";
  if (!dtype) made.missing = fmt::format("dtype {}", made.dtype);
  if (!made.missing.empty()) return add_tensor(std::move(made), {});
  Result<Tensor> tensor =
      Tensor::view_of(storage->storage, *dtype, made.sizes, std::move(strides), *offset);
  if (!tensor) return error(tensor.error().code, tensor.error().message);
  made.tensor = *std::move(tensor);
  return add_tensor(std::move(made));
}

// (data, requires_grad, hooks[, state])
Result<PickleId> Unpickler::rebuild_parameter(Args args) {
  const bool* requires_grad =
      args.size() >= 2 ? std::get_if<bool>(&node(args[1]).payload) : nullptr;
  if (requires_grad == nullptr) return wrong_arguments("torch._utils._rebuild_parameter");
  if (is_opaque(args[0])) return args[0];
  if (node(args[0]).kind != PickleKind::tensor)
    return wrong_arguments("torch._utils._rebuild_parameter");
  const PickleObject& data = *find_object(args[0]);
  PickleTensor made = data.tensor;
  made.is_parameter = true;
  made.requires_grad = *requires_grad;
  PT2_TRY(const PickleId id, add_tensor(std::move(made), data.items));
  constexpr size_t kState = 3;
  if (args.size() > kState) PT2_TRY_VOID(keep_state(id, args[kState]));
  return id;
}

// (function, type, arguments, state): returns the result of `function` as a `type`. PyTorch never
// nests these calls.
Result<PickleId> Unpickler::rebuild_from_type(Args args) {
  constexpr std::string_view kName = "torch._tensor._rebuild_from_type_v2";
  if (args.size() < 3 || name_of(args[1]).empty()) return wrong_arguments(kName);
  const auto* known = std::get_if<const KnownGlobal*>(&node(args[0]).payload);
  if (known != nullptr && (*known)->call == PickleCall::rebuild_from_type)
    return wrong_arguments(kName);
  const std::string_view function = known == nullptr ? "" : (*known)->name;
  PT2_TRY(const PickleId made, call(args[0], args[2], false));
  const std::string type(name_of(args[1]));
  if (node(made).kind != PickleKind::tensor) return made;
  PT2_TRY_VOID(charge(type.size()));
  PickleTensor& tensor =
      std::get<std::unique_ptr<PickleObject>>(graph_->nodes[made].payload)->tensor;
  if (std::ranges::find(kPlainTypes, type) == std::end(kPlainTypes)) tensor.class_name = type;
  if (type == kParameterType) tensor.is_parameter = true;
  constexpr size_t kState = 3;
  if (function == kWrapperSubclass && args.size() > kState) {
    if (const auto* refused = std::get_if<uint32_t>(&node(args[1]).payload))
      data_classes_.insert(*refused);
    PT2_TRY_VOID(keep_inner_tensors(made, args[kState]));
  }
  if (args.size() > kState) PT2_TRY_VOID(keep_state(made, args[kState]));
  return made;
}

// Keeps the parts of a tensor subclass: alternating names and tensors of the attributes in its
// state. The state is its __dict__, or a pair of __dict__ and slots (torch/_utils.py,
// _get_obj_state). The state of a Parameter marks it as one.
Result<void> Unpickler::keep_inner_tensors(PickleId subclass, PickleId state) {
  const PickleItems* items = find_items(state);
  if (items != nullptr && node(state).kind == PickleKind::tuple && items->size() == 2) {
    state = items->front();
    items = find_items(state);
  }
  if (items == nullptr || !is_dict_kind(node(state).kind)) return {};
  opcodes_ += items->size();
  PickleItems parts;
  bool is_parameter = false;
  for (size_t i = 0; i + 1 < items->size(); i += 2) {
    const PickleId key = (*items)[i], value = (*items)[i + 1];
    const std::string* name = find_text(key);
    if (name == nullptr) continue;
    if (node(value).kind == PickleKind::tensor) parts.insert(parts.end(), {key, value});
    if (*name == "_is_param") {
      const bool* given = std::get_if<bool>(&node(value).payload);
      is_parameter = given != nullptr && *given;
    }
  }
  PT2_TRY_VOID(charge(parts.size() * sizeof(PickleId)));
  PickleObject& object = *std::get<std::unique_ptr<PickleObject>>(graph_->nodes[subclass].payload);
  object.items = std::move(parts);
  object.tensor.is_parameter |= is_parameter;
  return {};
}

// (layout, parts): the parts of any sparse layout are indices and values, then sizes.
Result<PickleId> Unpickler::rebuild_sparse(Args args) {
  const PickleItems* parts = args.size() == 2 ? find_items(args[1]) : nullptr;
  const auto* layout = args.empty() ? nullptr : std::get_if<std::string>(&node(args[0]).payload);
  if (parts == nullptr || layout == nullptr)
    return wrong_arguments("torch._utils._rebuild_sparse_tensor");
  PickleTensor made;
  made.missing = "layout " + *layout;
  PT2_TRY_VOID(charge(made.missing.size()));
  for (PickleId part : *parts) {
    if (node(part).kind == PickleKind::size) {
      PT2_TRY(made.sizes, read_sizes(part));
    }
    if (node(part).kind == PickleKind::tensor) made.dtype = find_object(part)->tensor.dtype;
  }
  return add_tensor(std::move(made), *parts);
}

// (storage, offset, sizes, strides, quantizer, requires_grad, hooks). The parts of the result are
// the integers, as a tensor, and the quantizer. Integers of fewer than 8 bits share bytes and are
// not unpacked.
Result<PickleId> Unpickler::rebuild_quantized(const KnownGlobal& known, Args args) {
  constexpr size_t kQuantizer = 4;
  if (follows_ && !args.empty() && node(args[0]).kind == PickleKind::storage) return add_tensor({});
  const PickleObject* storage = args.size() > kQuantizer ? find_object(args[0]) : nullptr;
  const int64_t* offset = storage == nullptr ? nullptr : find_int(args[1]);
  if (offset == nullptr || storage->storage == nullptr) return wrong_arguments(known.name);
  const auto dtype = integers_of(storage->storage_class->storage.dtype);
  if (!dtype) return tensor_without_data(known, args);
  PickleTensor integers;
  PT2_TRY(integers.sizes, read_sizes(args[2]));
  PT2_TRY(Sizes strides, read_sizes(args[3]));
  Result<Tensor> elements =
      Tensor::view_of(storage->storage, *dtype, integers.sizes, std::move(strides), *offset);
  if (!elements) return error(elements.error().code, elements.error().message);
  integers.dtype = dtype_name(*dtype);
  integers.device = storage->device;
  integers.tensor = *std::move(elements);
  PickleTensor made;
  made.missing = known.missing;
  made.dtype = storage->storage_class->storage.dtype;
  made.sizes = integers.sizes;
  PT2_TRY(const PickleId elements_id, add_tensor(std::move(integers), {}));
  return add_tensor(std::move(made), {elements_id, args[kQuantizer]});
}

Result<PickleId> Unpickler::tensor_without_data(const KnownGlobal& known, Args args) {
  if (known.name == kFakeTensor && !args.empty()) PT2_TRY_VOID(note_expressions(args[0]));
  PickleTensor made;
  made.missing = known.missing;
  const auto arg = [&](int8_t column) {
    return column >= 0 && static_cast<size_t>(column) < args.size()
               ? &args[static_cast<size_t>(column)]
               : nullptr;
  };
  if (const PickleId* dtype = arg(known.dtype)) made.dtype = dtype_text(*dtype);
  if (const PickleId* sizes = arg(known.sizes)) {
    PT2_TRY(made.sizes, read_sizes(*sizes));
  }
  if (!follows_ && !args.empty() && node(args[0]).kind == PickleKind::storage)
    made.dtype = find_object(args[0])->storage_class->storage.dtype;
  return add_tensor(std::move(made), PickleItems(args.begin(), args.end()));
}

}  // namespace pt2
