#include "tools/values/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include "base/mapped_file.h"
#include "base/printable.h"
#include "base/text.h"
#include "ir/values/constant_value.h"
#include "ops/convert.h"
#include "ops/loops.h"
#include "pt2/tools/recorded_calls.h"
#include "tools/source.h"
#include "tools/values/literals.h"
#include "tools/values/random_inputs.h"

namespace pt2::tools {
namespace {

using Kind = ArgumentSpec::Kind;

bool is_tensor_path(const std::string& text) {
  // torch.save's files have either ending.
  return text == "-" || text.ends_with(".pt") || text.ends_with(".pth") ||
         tensor_format_of(text).has_value();
}

std::optional<double> parse_any_float(std::string_view text) {
  if (const auto number = parse_float(text)) return number;
  return parse_non_finite(text);
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "1") return true;
  if (text == "false" || text == "False" || text == "0") return false;
  return std::nullopt;
}

// Parses a number as a 0-dimensional tensor.
std::optional<Tensor> parse_scalar_tensor(Dtype dtype, std::string_view text) {
  Tensor tensor = Tensor::zeros(dtype, {});
  switch (dtype_category(dtype)) {
    case DtypeCategory::boolean: {
      const auto value = parse_bool(text);
      if (!value) return std::nullopt;
      const int64_t number = *value ? 1 : 0;
      ops::store_elements(&number, 1, dtype, 1, tensor.raw_data());
      return tensor;
    }
    case DtypeCategory::integer: {
      const auto number = parse_int(text);
      if (!number || !fits(*number, dtype)) return std::nullopt;
      ops::store_elements(&*number, 1, dtype, 1, tensor.raw_data());
      return tensor;
    }
    case DtypeCategory::floating:
    case DtypeCategory::complex: {
      const auto number = parse_any_float(text);
      if (!number) return std::nullopt;
      ops::store_elements(&*number, 1, dtype, 1, tensor.raw_data());
      return tensor;
    }
  }
  return std::nullopt;
}

// Returns an error without a message: the description of the expected input says enough.
Error no_reason() { return {ErrorCode::argument, "", ""}; }

template <class T>
Result<Value> as_value(const std::optional<T>& parsed) {
  if (!parsed) return no_reason();
  return Value(*parsed);
}

// Parses text as the type of the expected value.
Result<Value> parse_constant(const Argument& expected, const std::string& text) {
  if (expected.is<bool>()) return as_value(parse_bool(text));
  if (expected.is<int64_t>()) return as_value(parse_int(text));
  if (expected.is<double>()) return as_value(parse_any_float(text));
  if (expected.is<std::string>()) return Value(text);
  if (expected.is<None>() && (text == "none" || text == "None")) return Value();
  return no_reason();
}

bool is_json_path(std::string_view text) { return text.ends_with(".json"); }

// Returns the calls that a safetensors file records; null if it records none.
Result<std::optional<RecordedCalls>> find_recorded_calls(const std::string& path) {
  if (!path.ends_with(".safetensors")) return std::optional<RecordedCalls>();
  PT2_TRY(const Record record, map_file(path));
  Result<Safetensors> file = read_safetensors(record);
  if (!file) return in_file(std::move(file).error(), path);
  if (file->find_metadata("calls") == nullptr) return std::optional<RecordedCalls>();
  Result<RecordedCalls> calls = read_recorded_calls(*file);
  if (!calls) return in_file(std::move(calls).error(), path);
  return std::optional(*std::move(calls));
}

// Converts a tensor with one element to a number: NumPy stores numbers as 0-d arrays.
Value unwrapped(Tensor tensor) {
  if (tensor.numel() != 1) return Value(std::move(tensor));
  const auto load = [&]<class T>(T zero) {
    T value = zero;
    ops::load_elements(tensor.raw_data(), 1, tensor.dtype(), 1, &value);
    return value;
  };
  switch (dtype_category(tensor.dtype())) {
    case DtypeCategory::boolean:
      return Value(load(int64_t{0}) != 0);
    case DtypeCategory::integer:
      return Value(load(int64_t{0}));
    case DtypeCategory::floating:
      return Value(load(0.0));
    case DtypeCategory::complex:
      return Value(load(std::complex<double>()));
  }
  return Value(std::move(tensor));
}

class InputReader {
 public:
  InputReader(const Model& model, bool cast, const Limits& limits)
      : inputs_(model.inputs()),
        random_(model),
        specs_(model.program().signature.user_inputs()),
        cast_(cast),
        limits_(limits),
        files_{model.package().archive().name()},
        values_(inputs_.size()) {
    for (size_t i = 0; i < inputs_.size(); ++i) positions_.emplace(inputs_[i].name, i);
  }

  Result<void> add(const std::string& argument) {
    const size_t sign = argument.find('=');
    if (sign != argument.npos) {
      const auto index = find(argument.substr(0, sign));
      if (index) return add_at(*index, argument.substr(sign + 1));
      // Paths may contain '=' too. Without `unknown_path`, a text too long for a name would throw.
      std::error_code unknown_path;
      if (!std::filesystem::exists(argument, unknown_path))
        return unknown(argument.substr(0, sign));
    }
    if (argument == "random") {
      fills_rest_ = true;
      return {};
    }
    if (is_json_path(argument)) return add_json(argument);
    if (is_tensor_path(argument)) return add_file(argument);
    if (argument.starts_with('[')) return add_array(argument);
    return usage_error(
        fmt::format("found '{}', expected NAME=VALUE, [[1, 2], [3, 4]], random or a file that ends "
                    "in .npy, .npz, .safetensors, .pt, .pth or .json{}",
                    printable(argument), all_inputs()));
  }

  Result<CallInputs> finish() {
    CallInputs out;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!values_[i] && specs_[i].is_constant()) {
        PT2_TRY(values_[i], constant_value(specs_[i].value));
      }
      if (!values_[i] && fills_rest_ && specs_[i].kind == Kind::tensor) {
        PT2_TRY(values_[i], random_.make(i));
      }
      if (!values_[i])
        return usage_error(
            fmt::format("input '{}' is missing{}", printable(inputs_[i].name), all_inputs()));
      out.values.push_back(*std::move(values_[i]));
    }
    out.are_made_up = random_.has_made_any();
    return out;
  }

  std::string all_inputs() const {
    std::string out = "; the program takes:";
    for (size_t i = 0; i < inputs_.size(); ++i)
      out +=
          fmt::format("\n  {}  {}: {}", i, printable(inputs_[i].name), printable(inputs_[i].type));
    return inputs_.empty() ? "; the program takes no inputs" : out;
  }

 private:
  // Finds an input by name, by position, or by NumPy's name for a position.
  std::optional<size_t> find(std::string_view name) const {
    if (const auto found = positions_.find(name); found != positions_.end()) return found->second;
    constexpr std::string_view kUnnamed = "arr_";  // numpy.savez
    if (name.starts_with(kUnnamed)) name.remove_prefix(kUnnamed.size());
    size_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) return std::nullopt;
    return index < inputs_.size() ? std::optional<size_t>(index) : std::nullopt;
  }

  Error unknown(std::string_view name) const {
    return usage_error(fmt::format("there is no input '{}'{}", printable(name), all_inputs()));
  }

  Result<void> set(size_t index, Value value) {
    if (values_[index])
      return usage_error(fmt::format("input '{}' is given twice", printable(inputs_[index].name)));
    values_[index] = std::move(value);
    return {};
  }

  Result<void> set_tensor(size_t index, Tensor tensor) {
    if (specs_[index].kind != Kind::tensor) return set(index, unwrapped(std::move(tensor)));
    const TensorMeta* meta = inputs_[index].tensor;
    const std::optional<Dtype> expected =
        meta == nullptr ? std::nullopt : std::optional(meta->dtype.dtype());
    if (expected && *expected != tensor.dtype()) {
      if (!cast_)
        return usage_error(fmt::format("input '{}': found {}, expected {}; --cast converts it",
                                       printable(inputs_[index].name), dtype_name(tensor.dtype()),
                                       dtype_name(*expected)));
      Tensor converted = Tensor::zeros(*expected, tensor.sizes());
      ops::copy_elements(converted, tensor);
      tensor = std::move(converted);
    }
    return set(index, Value(std::move(tensor)));
  }

  Result<void> add_at(size_t index, const std::string& text) {
    const ArgumentSpec& spec = specs_[index];
    const bool takes_text = spec.is_constant() && spec.value.is<std::string>();
    if (is_tensor_path(text) && !takes_text) {
      PT2_TRY(Tensor tensor, read_one(text, inputs_[index].name));
      return set_tensor(index, std::move(tensor));
    }
    if (text == "random" && spec.kind == Kind::tensor) {
      PT2_TRY(Value made, random_.make(index));
      return set(index, std::move(made));
    }
    Result<Value> value = parse(index, text);
    if (!value)
      return usage_error(
          fmt::format("input '{}': found '{}'{}{}, expected {}{}", printable(inputs_[index].name),
                      printable(text), value.error().message.empty() ? "" : ", which ",
                      value.error().message, printable(inputs_[index].type),
                      spec.kind == Kind::tensor
                          ? " in a .npy, .npz, .safetensors, .pt or .pth file, as [[1, 2], [3, "
                            "4]], or "
                            "random"
                          : ""));
    return set(index, *std::move(value));
  }

  Result<Value> parse(size_t index, const std::string& text) const {
    const ArgumentSpec& spec = specs_[index];
    switch (spec.kind) {
      case Kind::tensor: {
        const TensorMeta* meta = inputs_[index].tensor;
        if (meta == nullptr || !meta->dtype.dtype()) return no_reason();
        if (text.starts_with('[')) {
          PT2_TRY(Tensor tensor, parse_tensor(*meta->dtype.dtype(), text));
          return Value(std::move(tensor));
        }
        if (!meta->sizes.empty()) return no_reason();
        return as_value(parse_scalar_tensor(*meta->dtype.dtype(), text));
      }
      case Kind::sym_int:
        return as_value(parse_int(text));
      case Kind::sym_float:
        return as_value(parse_any_float(text));
      case Kind::sym_bool:
        return as_value(parse_bool(text));
      case Kind::constant:
        return parse_constant(spec.value, text);
      case Kind::custom_obj:
      case Kind::token:
        return no_reason();
    }
    return no_reason();
  }

  // Reads a JSON object of inputs by name, or a JSON array of inputs by position. Arrays are
  // tensors; strings are values as in -i.
  Result<void> add_json(const std::string& path) {
    PT2_TRY(const auto file, MappedFile::open(path, limits_.max_stream_bytes));
    const std::span<const std::byte> bytes = file->bytes();
    const auto json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                 {.allow_non_finite = true});
    if (!json) return in_file(json.error(), path);
    if (json->is_array()) {
      for (size_t i = 0; i < json->items.size(); ++i)
        PT2_TRY_VOID(add_json(fmt::format("{}", i), json->items[i]));
      return {};
    }
    if (!json->is_object())
      return usage_error(
          fmt::format("{}: found {}, expected an object of inputs by name or an array "
                      "of inputs by position{}",
                      path, json_kind_name(json->kind), all_inputs()));
    for (const JsonMember& member : json->members) PT2_TRY_VOID(add_json(member.key, member.value));
    return {};
  }

  Result<void> add_json(const std::string& name, const JsonValue& json) {
    const auto index = find(name);
    if (!index) return unknown(name);
    const TensorMeta* meta = inputs_[*index].tensor;
    if (json.is_array() && meta != nullptr && meta->dtype.dtype())
      if (auto tensor = to_tensor(*meta->dtype.dtype(), json))
        return set(*index, Value(*std::move(tensor)));
    return add_at(*index, json.is_null()     ? "none"
                          : json.is_string() ? json.text
                                             : print_json(json));
  }

  Result<NamedTensors> read_tensors(const std::string& path) {
    files_.push_back(path);
    PT2_TRY_VOID(check_one_standard_input(files_));
    return read_tensor_file(input_path(path), limits_);
  }

  Result<Tensor> read_one(const std::string& path, const std::string& name) {
    PT2_TRY(NamedTensors tensors, read_tensors(path));
    return tensor_for(name, path, std::move(tensors));
  }

  Result<void> add_array(const std::string& text) {
    const auto index = first_missing_tensor();
    return index ? add_at(*index, text) : one_too_many(text);
  }

  Result<void> add_file(const std::string& path) {
    PT2_TRY(std::optional<RecordedCalls> recorded, find_recorded_calls(path));
    if (recorded) return add_first_call(std::move(*recorded), path);
    PT2_TRY(NamedTensors tensors, read_tensors(path));
    for (auto& [name, tensor] : tensors) {
      const auto index = name.empty() ? first_missing_tensor() : find(name);
      if (!index && name.empty()) return one_too_many(path);
      if (!index) return unknown(name);
      PT2_TRY_VOID(set_tensor(*index, std::move(tensor)));
    }
    return {};
  }

  Result<void> add_first_call(RecordedCalls recorded, const std::string& path) {
    const size_t found = recorded.calls.empty() ? 0 : recorded.calls.front().inputs.size();
    if (found != inputs_.size())
      return usage_error(fmt::format("{}: found a recorded call with {} inputs, expected {}{}",
                                     printable(path), found, inputs_.size(), all_inputs()));
    for (size_t i = 0; i < found; ++i) {
      Value& value = recorded.calls.front().inputs[i];
      Tensor* tensor = value.get_if<Tensor>();
      PT2_TRY_VOID(tensor ? set_tensor(i, std::move(*tensor)) : set(i, std::move(value)));
    }
    return {};
  }

  Error one_too_many(const std::string& argument) const {
    return usage_error(fmt::format("{}: every tensor input is given already{}", printable(argument),
                                   all_inputs()));
  }

  std::optional<size_t> first_missing_tensor() const {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (!values_[i] && specs_[i].kind == Kind::tensor) return i;
    return std::nullopt;
  }

  std::span<const ModelValue> inputs_;
  std::unordered_map<std::string_view, size_t> positions_;  // by name; a file may hold thousands
  RandomInputs random_;
  std::vector<ArgumentSpec> specs_;
  bool cast_;
  const Limits& limits_;
  std::vector<std::string> files_;  // already read; the program's file is first
  std::vector<std::optional<Value>> values_;
  bool fills_rest_ = false;  // with random numbers
};

Result<Value> sample_value(const SampleInput& leaf) {
  const PickleValue& value = leaf.value;
  const PickleKind kind = value.kind();
  if (kind == PickleKind::none) return Value();
  if (kind == PickleKind::boolean) return Value(value.as_bool());
  if (kind == PickleKind::integer) return Value(value.as_int());
  if (kind == PickleKind::floating) return Value(value.as_float());
  if (kind == PickleKind::complex)
    return Value(std::complex<double>(value.as_float(), value.imaginary()));
  if (kind == PickleKind::string) return Value(std::string(value.text()));
  const std::string reason = kind == PickleKind::tensor
                                 ? value.tensor().missing
                                 : "of type " + std::string(pickle_kind_name(kind));
  if (reason.empty()) return Value(value.tensor().tensor);
  return Error{ErrorCode::unsupported,
               "the file's sample input cannot be used (" + reason + "); give inputs with -i",
               leaf.path};
}

}  // namespace

Option add_input_options(CommandLine& line, GivenInputs& inputs) {
  Option input =
      line.add_option("-i,--input", inputs.arguments,
                      "NAME=FILE, POSITION=FILE, NAME=NUMBER, NAME=[[1,2],[3,4]], NAME=random,\n"
                      "random for all others, or a FILE of inputs by name;\n"
                      "[[1,2],[3,4]] or a FILE of one tensor is the first input that is missing;\n"
                      "a FILE ends in .npy, .npz, .safetensors, .pt or .pth; - is standard input;\n"
                      "one of inputs by name may be .json: {\"ids\": [[1, 2]], \"x\": \"x.npy\"};\n"
                      "of recorded calls (docs/recorded-calls.md) the first one is taken;\n"
                      "without -i, the file's own sample inputs are taken")
          .type_name("INPUT")
          .one_at_a_time();
  line.add_flag("--cast", inputs.cast,
                "convert tensors of files to the dtypes that the program takes (.npy and .npz\n"
                "have no bfloat16)");
  return input;
}

Result<CallInputs> read_inputs(const Model& model, const GivenInputs& given, const Limits& limits) {
  InputReader reader(model, given.cast, limits);
  for (const std::string& argument : given.arguments) PT2_TRY_VOID(reader.add(argument));
  return reader.finish();
}

Result<Tensor> tensor_for(const std::string& input, const std::string& path, NamedTensors tensors) {
  if (tensors.size() == 1) return std::move(tensors[0].second);
  for (auto& [name, tensor] : tensors)
    if (name == input) return std::move(tensor);
  return usage_error(fmt::format("input '{0}': {1} holds {2} tensors, and none is called '{0}'",
                                 printable(input), shown_place(input_path(printable(path))),
                                 tensors.size()));
}

Result<std::vector<Value>> sample_values(const SampleInputs& samples) {
  std::vector<Value> values;
  for (const SampleInput& leaf : samples.leaves) {
    PT2_TRY(Value value, sample_value(leaf));
    values.push_back(std::move(value));
  }
  return values;
}

Result<CallInputs> read_sample_inputs(const Model& model, const std::string& model_name,
                                      Environment& environment) {
  Diagnostics warnings;
  PT2_TRY(const SampleInputs samples, model.package().sample_inputs(warnings, model_name));
  print_warnings(environment, warnings);
  // Old files, and programs with only constant inputs, have no samples.
  if (samples.leaves.size() != model.inputs().size()) return read_inputs(model, {}, Limits{});
  PT2_TRY(std::vector<Value> values, sample_values(samples));
  return CallInputs{std::move(values)};
}

Result<CallInputs> sample_or_random_inputs(const Model& model, const std::string& model_name,
                                           uint64_t seed, Environment& environment) {
  Result<CallInputs> samples = read_sample_inputs(model, model_name, environment);
  if (samples) return samples;
  PT2_TRY(std::vector<Value> values, RandomInputs(model, seed).make_all());
  return CallInputs{std::move(values), true};
}

}  // namespace pt2::tools
