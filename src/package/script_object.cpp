#include "package/script_object.h"

#include <fmt/format.h>

#include "base/random_state.h"

namespace pt2 {
namespace {

// Bounds the work and the memory: a pickle may nest values in themselves and share them often.
class Budget {
 public:
  explicit Budget(uint64_t& bytes) : left_(bytes) {}

  // Takes a value at this depth of the state, of `bytes` beside its own.
  Result<void> spend(int depth, uint64_t bytes = 0) {
    constexpr int kMaxDepth = 32;
    constexpr uint64_t kValueBytes = 128;
    if (depth <= kMaxDepth && left_ >= kValueBytes && bytes <= left_ - kValueBytes) {
      left_ -= kValueBytes + bytes;
      return {};
    }
    return Error{ErrorCode::limit,
                 fmt::format("the state of a script object nests deeper than {}, or the states "
                             "take far more bytes than the file",
                             kMaxDepth),
                 ""};
  }

 private:
  uint64_t& left_;
};

class ScriptObjectReader {
 public:
  explicit ScriptObjectReader(uint64_t& bytes_left) : budget_(bytes_left) {}

  Result<Value> read(const PickleValue& value, int depth) {
    const bool is_text = value.is(PickleKind::string) || value.is(PickleKind::bytes);
    PT2_TRY_VOID(budget_.spend(depth, is_text ? value.text().size()
                                      : value.is(PickleKind::tensor)
                                          ? 2 * value.tensor().sizes.size() * sizeof(int64_t)
                                          : 0));
    switch (value.kind()) {
      case PickleKind::none:
        return Value();
      case PickleKind::boolean:
        return Value(value.as_bool());
      case PickleKind::integer:
        return Value(value.as_int());
      case PickleKind::floating:
        return Value(value.as_float());
      case PickleKind::complex:
        return Value(std::complex<double>(value.as_float(), value.imaginary()));
      case PickleKind::string:
      case PickleKind::bytes:
        return Value(std::string(value.text()));
      case PickleKind::tuple:
      case PickleKind::list:
      case PickleKind::size:
        return read_items(value, 0, depth);
      case PickleKind::dict:
      case PickleKind::ordered_dict:
        return read_pairs(value, depth);
      case PickleKind::tensor:
        return read_tensor(value, depth);
      default:
        return Error{
            ErrorCode::unsupported,
            fmt::format("found {} in the state of a script object", pickle_kind_name(value.kind())),
            ""};
    }
  }

 private:
  Result<Value> read_items(const PickleValue& value, size_t first, int depth) {
    Value::List items;
    for (size_t i = first; i < value.size(); ++i) {
      PT2_TRY(Value item, read(value[i], depth + 1));
      items.push_back(std::move(item));
    }
    return Value(std::move(items));
  }

  Result<Value> read_pairs(const PickleValue& value, int depth) {
    Value::List pairs;
    for (size_t i = 0; i < value.dict_size(); ++i) {
      PT2_TRY(Value key, read(value.key(i), depth + 1));
      PT2_TRY(Value item, read(value.value(i), depth + 1));
      pairs.push_back(Value(Value::List{std::move(key), std::move(item)}));
    }
    return Value(std::move(pairs));
  }

  // A quantized tensor has two parts: its integers, and a tuple (scheme, parameters of the
  // scheme...).
  Result<Value> read_tensor(const PickleValue& value, int depth) {
    if (value.tensor().tensor.defined()) return Value(value.tensor().tensor);
    const bool is_quantized = value.size() == 2 && value[0].is(PickleKind::tensor) &&
                              value[1].is(PickleKind::tuple) && value[1].size() > 1 &&
                              value[1][0].is(PickleKind::constant);
    if (!is_quantized)
      return Error{ErrorCode::unsupported,
                   "a tensor of a script object has no elements: " + value.tensor().missing, ""};
    PT2_TRY(Value integers, read(value[0], depth + 1));
    PT2_TRY(Value quantizer, read_items(value[1], 1, depth + 1));
    Value::List parts = std::move(*quantizer.get_if<Value::List>());
    parts.insert(parts.begin(), std::move(integers));
    return Value(std::move(parts));
  }

  Budget budget_;
};

// A value for a TorchScript pickle, and its TorchScript type; "" if the type is unknown.
struct Typed {
  PickleValue value;
  std::string type;
};

class Typer {
 public:
  Typer(PickleBuilder& builder, uint64_t& bytes_left) : builder_(builder), budget_(bytes_left) {}

  Result<Typed> type(const PickleValue& value, int depth) {
    PT2_TRY_VOID(budget_.spend(depth));
    switch (value.kind()) {
      case PickleKind::tuple:
        return type_tuple(value, depth);
      case PickleKind::list:
        return type_list(value, depth);
      case PickleKind::dict:
        return type_dict(value, depth);
      default: {
        const uint64_t before = builder_.copied_bytes();
        const PickleValue copied = builder_.copy(value);
        PT2_TRY_VOID(budget_.spend(depth, builder_.copied_bytes() - before));
        return Typed{copied, name_of(value.kind())};
      }
    }
  }

 private:
  // Finds the common type of elements that may be None; "" if the types differ.
  class ElementType {
   public:
    void add(const std::string& type) {
      if (type == "NoneType") {
        is_optional_ = true;
      } else if (type_.empty() && !type.empty()) {
        type_ = type;
      } else if (type_ != type || type.empty()) {
        is_mixed_ = true;
      }
    }
    std::string text() const {
      if (is_mixed_ || type_.empty()) return "";
      return is_optional_ ? fmt::format("Optional[{}]", type_) : type_;
    }

   private:
    std::string type_;
    bool is_optional_ = false, is_mixed_ = false;
  };

  static std::string name_of(PickleKind kind) {
    switch (kind) {
      case PickleKind::none:
        return "NoneType";
      case PickleKind::boolean:
        return "bool";
      case PickleKind::integer:
        return "int";
      case PickleKind::floating:
        return "float";
      case PickleKind::complex:
        return "complex";
      case PickleKind::string:
        return "str";
      case PickleKind::tensor:
        return "Tensor";
      case PickleKind::device:
        return "Device";
      default:
        return "";
    }
  }

  // Returns the function that builds a list of `element` without stating the element type.
  static std::string_view builder_of(std::string_view element) {
    if (element == "bool") return "torch.jit._pickle.build_boollist";
    if (element == "int") return "torch.jit._pickle.build_intlist";
    if (element == "float") return "torch.jit._pickle.build_doublelist";
    if (element == "Tensor") return "torch.jit._pickle.build_tensorlist";
    return "";
  }

  PickleValue tagged(const PickleValue& value, const std::string& type) {
    const PickleValue arguments[] = {value, builder_.string(type)};
    return builder_.call("torch.jit._pickle.restore_type_tag", arguments);
  }

  Result<Typed> type_tuple(const PickleValue& value, int depth) {
    std::vector<PickleValue> items;
    std::string types;
    bool is_known = true;
    for (size_t i = 0; i < value.size(); ++i) {
      PT2_TRY(Typed item, type(value[i], depth + 1));
      items.push_back(item.value);
      types += (i == 0 ? "" : ", ") + item.type;
      is_known = is_known && !item.type.empty();
    }
    return Typed{builder_.sequence(PickleKind::tuple, items),
                 is_known ? fmt::format("Tuple[{}]", types) : ""};
  }

  Result<Typed> type_list(const PickleValue& value, int depth) {
    std::vector<PickleValue> items;
    ElementType types;
    for (size_t i = 0; i < value.size(); ++i) {
      PT2_TRY(Typed item, type(value[i], depth + 1));
      items.push_back(item.value);
      types.add(item.type);
    }
    const PickleValue list = builder_.sequence(PickleKind::list, items);
    const std::string element = types.text();
    if (element.empty()) return Typed{list, ""};
    const std::string type = fmt::format("List[{}]", element);
    const std::string_view function = builder_of(element);
    if (function.empty()) return Typed{tagged(list, type), type};
    return Typed{builder_.call(std::string(function), {&list, 1}), type};
  }

  Result<Typed> type_dict(const PickleValue& value, int depth) {
    std::vector<PickleBuilder::Pair> pairs;
    ElementType keys, values;
    for (size_t i = 0; i < value.dict_size(); ++i) {
      PT2_TRY(Typed key, type(value.key(i), depth + 1));
      PT2_TRY(Typed item, type(value.value(i), depth + 1));
      pairs.emplace_back(key.value, item.value);
      keys.add(key.type);
      values.add(item.type);
    }
    const PickleValue dict = builder_.dict(PickleKind::dict, pairs);
    if (keys.text().empty() || values.text().empty()) return Typed{dict, ""};
    const std::string type = fmt::format("Dict[{}, {}]", keys.text(), values.text());
    return Typed{tagged(dict, type), type};
  }

  PickleBuilder& builder_;
  Budget budget_;
};

// Returns the state of a pickled object. torch.save writes (result of __getstate__, class name).
// torch._C._pickle_save, which writes the records of single objects since 2.8, writes the state
// alone.
PickleValue state_of(const PickleValue& object) {
  const PickleValue state = object[0];
  const bool names_class = state.is(PickleKind::tuple) && state.size() == 2 &&
                           state[1].is(PickleKind::string) && state[1].text() == object.text();
  return names_class ? state[0] : state;
}

}  // namespace

Result<Object> script_object(const PickleValue& value, uint64_t& bytes_left) {
  const bool has_state =
      value.is(PickleKind::object) && value.size() == 1 && value.text().starts_with("__torch__.");
  if (!has_state) return Error{ErrorCode::unsupported, "found an object without a state", ""};
  PT2_TRY(Value state, ScriptObjectReader(bytes_left).read(state_of(value), 0));
  return std::make_shared<const ScriptObject>(
      ScriptObject{std::string(value.text()), std::move(state)});
}

// __reduce__ writes the device, and (seed, offset, state) for __setstate__. Only other devices use
// the offset (torch/csrc/Generator.cpp, THPGenerator_reduce).
Result<Object> generator_object(const PickleValue& value) {
  const auto invalid = [](std::string text) {
    return Error{ErrorCode::invalid, std::move(text), ""};
  };
  constexpr size_t kState = 2;
  if (value.size() != 2 || !value[0].is(PickleKind::device) || !value[1].is(PickleKind::tuple) ||
      value[1].size() != kState + 1)
    return invalid("a generator has arguments or a state that torch does not write");
  if (value[0].text() != "cpu")
    return Error{ErrorCode::unsupported,
                 fmt::format("found a generator of device {}, expected cpu", value[0].text()), ""};
  const PickleValue state = value[1][kState];
  if (!state.is(PickleKind::tensor) || !state.tensor().tensor.defined() ||
      state.tensor().tensor.dtype() != Dtype::uint8 || state.tensor().tensor.dim() != 1 ||
      !state.tensor().tensor.is_contiguous())
    return invalid("the generator's state is not a tensor of bytes");
  const Tensor& bytes = state.tensor().tensor;
  PT2_TRY_VOID(RandomState::read({bytes.raw_data(), static_cast<size_t>(bytes.numel())}));
  return std::make_shared<const ScriptObject>(
      ScriptObject{std::string(kGeneratorClass), Value(bytes)});
}

Result<PickleValue> typed_state(PickleBuilder& builder, const PickleValue& state,
                                uint64_t& bytes_left) {
  PT2_TRY(const Typed typed, Typer(builder, bytes_left).type(state, 0));
  return typed.value;
}

}  // namespace pt2
