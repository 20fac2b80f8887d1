#include "package/script_object.h"

#include <fmt/format.h>

namespace pt2 {
namespace {

// A pickle may nest values in themselves and share them often.
constexpr int kMaxDepth = 32;
constexpr size_t kMaxValues = 100'000;

class Reader {
 public:
  Result<Value> read(const PickleValue& value, int depth) {
    if (depth > kMaxDepth || ++count_ > kMaxValues)
      return Error{ErrorCode::limit,
                   fmt::format("the state of a script object nests deeper than {} or has more than "
                               "{} values",
                               kMaxDepth, kMaxValues),
                   ""};
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

  // The parts of a quantized tensor are its integers and (scheme, what the scheme needs...).
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

  size_t count_ = 0;
};

// torch.save writes (what __getstate__ gave, the name of the class), torch._C._pickle_save, for the
// records of single objects since 2.8, the state alone.
PickleValue state_of(const PickleValue& object) {
  const PickleValue state = object[0];
  const bool names_class = state.is(PickleKind::tuple) && state.size() == 2 &&
                           state[1].is(PickleKind::string) && state[1].text() == object.text();
  return names_class ? state[0] : state;
}

}  // namespace

Result<Object> script_object(const PickleValue& value) {
  const bool has_state =
      value.is(PickleKind::object) && value.size() == 1 && value.text().starts_with("__torch__.");
  if (!has_state) return Error{ErrorCode::unsupported, "found an object without a state", ""};
  PT2_TRY(Value state, Reader().read(state_of(value), 0));
  return std::make_shared<const ScriptObject>(
      ScriptObject{std::string(value.text()), std::move(state)});
}

}  // namespace pt2
