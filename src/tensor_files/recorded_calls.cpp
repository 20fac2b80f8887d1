#include "pt2/tools/recorded_calls.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/hash/text_hash.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/printable.h"
#include "base/text.h"
#include "tensor_files/bytes.h"

namespace pt2 {
namespace {

// Calls may name one tensor often, each with strides or a dtype of its own, which take a copy, and
// strides may leave gaps. A small file must not request gigabytes, neither for one tensor nor for
// all of its calls.
constexpr int64_t kMaxGapFactor = 256;
constexpr int64_t kAlwaysAllowedBytes = 1 << 20;
constexpr int64_t kAlwaysAllowedInAll = 256 << 20;

Error invalid(std::string message) { return {ErrorCode::invalid, std::move(message), ""}; }

std::string index_step(size_t index) { return "[" + std::to_string(index) + "]"; }

Result<Sizes> read_sizes(const JsonValue& json) {
  if (!json.is_array())
    return malformed("found " + std::string(json_kind_name(json.kind)) + ", expected a list");
  Sizes sizes;
  for (const JsonValue& item : json.items) {
    PT2_TRY(const int64_t size, item.get_int());
    sizes.push_back(size);
  }
  return sizes;
}

// Takes the bytes of a copy.
Result<void> take(int64_t bytes, int64_t& bytes_left) {
  if (bytes > bytes_left)
    return Error{ErrorCode::limit,
                 "the tensors of all calls take more than " + std::to_string(kMaxGapFactor) +
                     " times the file's bytes",
                 ""};
  bytes_left -= bytes;
  return {};
}

// Returns the elements of a contiguous tensor as another dtype. If an element is twice as large,
// pairs along a last dimension of 2 become complex numbers.
Result<Tensor> view_as(const Tensor& tensor, std::string_view name, int64_t& bytes_left) {
  const auto dtype = find_dtype(name);
  if (!dtype) return malformed("found dtype '" + printable(name) + "' in view_as");
  Sizes sizes = tensor.sizes();
  const bool is_pair =
      dtype_size(*dtype) == 2 * dtype_size(tensor.dtype()) && !sizes.empty() && sizes.back() == 2;
  if (!is_pair && dtype_size(*dtype) != dtype_size(tensor.dtype()))
    return invalid("cannot view " + tensor.type_text() + " as " + std::string(name));
  if (is_pair) sizes.pop_back();
  std::shared_ptr<Storage> storage = tensor.storage();
  if (reinterpret_cast<uintptr_t>(storage->data()) % tensor_files::element_alignment(*dtype) != 0) {
    PT2_TRY_VOID(take(static_cast<int64_t>(storage->size()), bytes_left));
    storage = tensor_files::copy_storage({storage->data(), storage->size()});
  }
  Sizes strides = contiguous_strides(sizes);
  return Tensor::view_of(std::move(storage), *dtype, std::move(sizes), std::move(strides), 0);
}

void scatter(const std::byte*& source, Tensor& target, size_t dim, std::byte* place) {
  const auto element = static_cast<size_t>(dtype_size(target.dtype()));
  if (dim == target.sizes().size()) {
    std::memcpy(place, source, element);
    source += element;
    return;
  }
  const int64_t step = target.strides()[dim] * static_cast<int64_t>(element);
  for (int64_t i = 0; i < target.sizes()[dim]; ++i)
    scatter(source, target, dim + 1, place + i * step);
}

// Returns the bytes that a storage with these strides needs; nullopt beyond 64 bits.
std::optional<int64_t> storage_bytes(const Tensor& tensor, const Sizes& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(tensor.sizes()[i] - 1, 0), strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, dtype_size(tensor.dtype()), &bytes))
    return std::nullopt;
  return bytes;
}

Result<Tensor> with_strides(const Tensor& contiguous, Sizes strides, int64_t& bytes_left) {
  if (strides.size() != contiguous.sizes().size() ||
      std::ranges::any_of(strides, [](int64_t stride) { return stride < 0; }))
    return invalid("these strides do not fit " + contiguous.type_text());
  const auto bytes = storage_bytes(contiguous, strides);
  if (!bytes || *bytes > std::max(kAlwaysAllowedBytes, contiguous.nbytes() * kMaxGapFactor))
    return Error{ErrorCode::limit,
                 "the strides spread " + contiguous.type_text() + " over more than " +
                     std::to_string(kMaxGapFactor) + " times its bytes",
                 ""};
  // Copying takes the time of all elements, even if they overlap.
  PT2_TRY_VOID(take(std::max(*bytes, contiguous.nbytes()), bytes_left));
  Tensor tensor = Tensor::zeros_strided(contiguous.dtype(), contiguous.sizes(), std::move(strides));
  const std::byte* source = contiguous.raw_data();
  if (tensor.numel() > 0) scatter(source, tensor, 0, tensor.raw_data());
  return tensor;
}

class CallsReader {
 public:
  explicit CallsReader(const Safetensors& file) {
    int64_t bytes = 0;
    for (const auto& [name, tensor] : file.tensors) {
      tensors_.emplace(name, &tensor);
      bytes += tensor.nbytes();
    }
    bytes_left_ = std::max(kAlwaysAllowedInAll, bytes * kMaxGapFactor);
  }

  Result<RecordedCall> read_call(const JsonValue& json, bool random) const {
    if (!json.is_object()) return malformed("expected an object");
    RecordedCall call;
    call.random = random;
    for (const auto& [key, member] : json.members)
      if (Result<void> read = read_member(key, member, call); !read)
        return at(std::move(read).error(), "." + printable(key));
    return call;
  }

 private:
  Result<void> read_member(const std::string& key, const JsonValue& json,
                           RecordedCall& call) const {
    if (key == "in") return read_inputs(json, call.inputs);
    if (key == "out") return read_outputs(json, call.outputs);
    if (key == "mut") return read_buffers(json, call.buffers);
    if (key == "mutin") return read_mutated_inputs(json, call);
    if (key == "kwargs") return read_keywords(json, call.keyword_names);
    if (key == "error") return read_error(json, call.error.emplace());
    if (key == "note") return read_text(json, call.note);
    if (key == "random") {
      PT2_TRY(call.random, json.get_bool());
      return {};
    }
    return malformed("unknown member");
  }

  Result<void> read_inputs(const JsonValue& json, std::vector<Value>& inputs) const {
    std::vector<RecordedValue> values;
    PT2_TRY_VOID(read_outputs(json, values));
    for (RecordedValue& value : values) inputs.push_back(std::move(value.value));
    return {};
  }

  Result<void> read_outputs(const JsonValue& json, std::vector<RecordedValue>& values) const {
    if (!json.is_array()) return malformed("expected a list");
    for (size_t i = 0; i < json.items.size(); ++i) {
      Result<RecordedValue> value = read_value(json.items[i]);
      if (!value) return at(std::move(value).error(), index_step(i));
      values.push_back(*std::move(value));
    }
    return {};
  }

  Result<void> read_buffers(const JsonValue& json,
                            std::vector<std::pair<std::string, RecordedValue>>& buffers) const {
    if (!json.is_object()) return malformed("expected an object");
    for (const auto& [name, item] : json.members) {
      Result<RecordedValue> value = read_value(item);
      if (!value) return at(std::move(value).error(), "[" + printable(name) + "]");
      buffers.emplace_back(name, *std::move(value));
    }
    return {};
  }

  Result<void> read_mutated_inputs(const JsonValue& json, RecordedCall& call) const {
    std::vector<std::pair<std::string, RecordedValue>> values;
    PT2_TRY_VOID(read_buffers(json, values));
    for (auto& [name, value] : values) {
      size_t index = 0;
      const char* end = name.data() + name.size();
      const auto parsed = std::from_chars(name.data(), end, index);
      if (parsed.ec != std::errc() || parsed.ptr != end)
        return malformed("found '" + printable(name) + "', expected the number of an input");
      call.mutated_inputs.emplace_back(index, std::move(value));
    }
    return {};
  }

  Result<void> read_keywords(const JsonValue& json, std::vector<std::string>& names) const {
    if (!json.is_array()) return malformed("expected a list");
    for (const JsonValue& item : json.items) PT2_TRY_VOID(read_text(item, names.emplace_back()));
    return {};
  }

  Result<void> read_error(const JsonValue& json, RecordedError& error) const {
    const JsonValue* type = json.find("type");
    const JsonValue* text = json.find("text");
    if (type != nullptr) PT2_TRY_VOID(read_text(*type, error.type));
    if (text != nullptr) PT2_TRY_VOID(read_text(*text, error.text));
    return {};
  }

  static Result<void> read_text(const JsonValue& json, std::string& text) {
    PT2_TRY(text, json.get_string());
    return {};
  }

  Result<RecordedValue> read_value(const JsonValue& json) const {
    if (!json.is_object() || json.members.empty())
      return malformed("expected an object such as {\"int\": 3}");
    if (json.find("tensor") != nullptr) return read_tensor_value(json);
    const auto& [kind, member] = json.members.front();
    if (json.members.size() > 1)
      return malformed("unknown member '" + printable(json.members[1].key) + "'");
    PT2_TRY(Value value, read_scalar(kind, member));
    return RecordedValue{std::move(value), std::nullopt};
  }

  static Result<Value> read_scalar(std::string_view kind, const JsonValue& json) {
    if (kind == "int") {
      PT2_TRY(const int64_t value, json.get_int());
      return Value(value);
    }
    if (kind == "float") {
      PT2_TRY(const double value, read_float(json));
      return Value(value);
    }
    if (kind == "bool") {
      PT2_TRY(const bool value, json.get_bool());
      return Value(value);
    }
    if (kind == "str") {
      PT2_TRY(const std::string_view value, json.get_string());
      return Value(std::string(value));
    }
    if (kind == "complex") {
      if (!json.is_array() || json.items.size() != 2)
        return malformed("expected [real, imaginary]");
      PT2_TRY(const double real, read_float(json.items[0]));
      PT2_TRY(const double imaginary, read_float(json.items[1]));
      return Value(std::complex<double>(real, imaginary));
    }
    if (kind == "none") return Value();
    return malformed("unknown kind of value '" + printable(kind) + "'");
  }

  static Result<double> read_float(const JsonValue& json) {
    if (!json.is_string()) return json.get_float();
    const auto value = parse_non_finite(json.text);
    if (!value) return malformed("found '" + printable(json.text) + "', expected a number");
    return *value;
  }

  Result<RecordedValue> read_tensor_value(const JsonValue& json) const {
    RecordedValue out;
    Tensor tensor;
    const JsonValue* strides = nullptr;
    const JsonValue* view = nullptr;
    for (const auto& [key, member] : json.members) {
      if (key == "tensor") {
        PT2_TRY(tensor, find_tensor(member));
      } else if (key == "ref") {
        PT2_TRY(out.reference, find_tensor(member));
      } else if (key == "strides") {
        strides = &member;
      } else if (key == "view_as") {
        view = &member;
      } else {
        return malformed("unknown member '" + printable(key) + "'");
      }
    }
    if (view != nullptr) {
      PT2_TRY(const std::string_view dtype, view->get_string());
      PT2_TRY(tensor, view_as(tensor, dtype, bytes_left_));
    }
    if (strides != nullptr) {
      PT2_TRY(Sizes numbers, read_sizes(*strides));
      PT2_TRY(tensor, with_strides(tensor, std::move(numbers), bytes_left_));
    }
    out.value = Value(std::move(tensor));
    return out;
  }

  Result<Tensor> find_tensor(const JsonValue& json) const {
    PT2_TRY(const std::string_view name, json.get_string());
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return invalid("the file has no tensor '" + printable(name) + "'");
    return *found->second;
  }

  TextMap<std::string_view, const Tensor*> tensors_;
  mutable int64_t bytes_left_ = 0;  // for copies
};

Result<JsonValue> parse_metadata(std::string_view key, const std::string& text) {
  Result<JsonValue> json = parse_json(text, {.max_depth = 16, .allow_non_finite = true});
  if (!json) return at(std::move(json).error(), key);
  return json;
}

// Reads the properties that all calls of the file share. Returns `random`.
Result<bool> read_case(const std::string& text, RecordedCalls& out) {
  PT2_TRY(const JsonValue json, parse_metadata("case", text));
  bool random = false;
  if (const JsonValue* member = json.find("random")) {
    PT2_TRY(random, member->get_bool());
  }
  if (const JsonValue* member = json.find("source"); member != nullptr && member->is_string())
    out.source = member->text;
  return random;
}

}  // namespace

Result<RecordedCalls> read_recorded_calls(const Safetensors& file) {
  const std::string* calls = file.find_metadata("calls");
  if (calls == nullptr) return malformed("the file records no calls: its metadata has no 'calls'");
  RecordedCalls out;
  bool random = false;
  if (const std::string* text = file.find_metadata("case")) {
    PT2_TRY(random, read_case(*text, out));
  }
  PT2_TRY(const JsonValue json, parse_metadata("calls", *calls));
  if (!json.is_array()) return at(malformed("expected a list"), "calls");
  const CallsReader reader(file);
  for (size_t i = 0; i < json.items.size(); ++i) {
    Result<RecordedCall> call = reader.read_call(json.items[i], random);
    if (!call) return at(std::move(call).error(), "calls" + index_step(i));
    out.calls.push_back(*std::move(call));
  }
  return out;
}

}  // namespace pt2
