#include "ops/conformance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include "base/json.h"
#include "base/mapped_file.h"
#include "ops/bind.h"
#include "ops/loops.h"
#include "ops/table.h"
#include "pt2/format/safetensors.h"

namespace pt2::ops {
namespace {

Error bad_sample(const std::string& text) { return {ErrorCode::malformed, text, ""}; }

// Non-finite numbers are spelled as strings.
Result<double> read_number(const JsonValue& json) {
  if (!json.is_string()) return json.get_float();
  if (json.text == "nan") return std::nan("");
  if (json.text == "inf") return HUGE_VAL;
  if (json.text == "-inf") return -HUGE_VAL;
  return bad_sample("unknown number '" + json.text + "'");
}

Result<Sizes> read_ints(const JsonValue& json) {
  Sizes out;
  for (const JsonValue& item : json.items) {
    PT2_TRY(const int64_t number, item.get_int());
    out.push_back(number);
  }
  return out;
}

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

class Samples {
 public:
  explicit Samples(const Safetensors& file) : file_(file) {}

  // Starts a sample. Its arguments that name the same bytes will share a storage.
  void begin_sample() { storages_.clear(); }
  Result<Value> read_value(const JsonValue& json);
  Result<Tensor> read_tensor(const JsonValue& json);
  // Reads a result, which is stored row-major.
  Result<Tensor> read_dense(const JsonValue& json);

 private:
  Result<std::shared_ptr<Storage>> find_bytes(const std::string& key);
  Result<Tensor> make_filled(const JsonValue& fill, Dtype dtype, const Sizes& sizes);
  Result<Value> read_list(const std::string& kind, const JsonValue& json);

  const Safetensors& file_;
  std::map<std::string, std::shared_ptr<Storage>> storages_;
};

Result<Dtype> read_dtype(const JsonValue& json) {
  PT2_TRY(const std::string_view name, json.get_string());
  if (const auto dtype = find_dtype(name)) return *dtype;
  return bad_sample("unknown dtype '" + std::string(name) + "'");
}

const JsonValue& member(const JsonValue& json, std::string_view key) {
  static const JsonValue kNull;
  const JsonValue* found = json.find(key);
  return found != nullptr ? *found : kNull;
}

Result<std::shared_ptr<Storage>> Samples::find_bytes(const std::string& key) {
  auto& storage = storages_[key];
  if (storage) return storage;
  for (const auto& [name, tensor] : file_.tensors) {
    if (name != key) continue;
    storage = Storage::allocate(static_cast<size_t>(tensor.nbytes()));
    copy_to_contiguous(tensor, storage->data());
    return storage;
  }
  return bad_sample("no tensor '" + key + "'");
}

Result<Tensor> Samples::make_filled(const JsonValue& fill, Dtype dtype, const Sizes& sizes) {
  PT2_TRY(const int64_t factor, member(fill, "a").get_int());
  PT2_TRY(const int64_t modulus, member(fill, "m").get_int());
  PT2_TRY(const double scale, member(fill, "scale").get_float());
  PT2_TRY(const double bias, member(fill, "bias").get_float());
  PT2_TRY(Tensor doubles, allocate({Dtype::float64, sizes}));
  for (int64_t i = 0; i < doubles.numel(); ++i)
    doubles.data<double>()[i] = static_cast<double>(i * factor % modulus) * scale + bias;
  PT2_TRY(Tensor out, allocate({dtype, sizes}));
  copy_elements(out, doubles);
  return out;
}

Result<Tensor> call_unary(std::string_view target, const Tensor& self) {
  Context context;
  const Value argument(self);
  PT2_TRY(const auto results, call(find_operator(target), context, std::span(&argument, 1)));
  return *results[0].get_if<Tensor>();
}

Result<Tensor> Samples::read_tensor(const JsonValue& json) {
  PT2_TRY(const Dtype dtype, read_dtype(member(json, "dtype")));
  PT2_TRY(const Sizes sizes, read_ints(member(json, "sizes")));
  if (member(json, "tensor").is_null()) return make_filled(member(json, "fill"), dtype, sizes);
  PT2_TRY(const Sizes strides, read_ints(member(json, "strides")));
  PT2_TRY(const int64_t offset, member(json, "storage_offset").get_int());
  PT2_TRY(const auto storage, find_bytes(member(json, "tensor").text));
  PT2_TRY(Tensor tensor, Tensor::view_of(storage, dtype, sizes, strides, offset));
  if (json.find("conj") != nullptr) {
    PT2_TRY(tensor, call_unary("torch.ops.aten._conj.default", tensor));
  }
  if (json.find("neg") != nullptr) {
    PT2_TRY(tensor, call_unary("torch.ops.aten._neg_view.default", tensor));
  }
  return tensor;
}

Result<Tensor> Samples::read_dense(const JsonValue& json) {
  PT2_TRY(const Dtype dtype, read_dtype(member(json, "dtype")));
  PT2_TRY(const Sizes sizes, read_ints(member(json, "sizes")));
  PT2_TRY(const auto storage, find_bytes(member(json, "tensor").text));
  return Tensor::view_of(storage, dtype, sizes, contiguous_strides(sizes), 0);
}

MemoryFormat read_memory_format(std::string_view name) {
  if (name == "channels_last") return MemoryFormat::channels_last;
  if (name == "channels_last_3d") return MemoryFormat::channels_last_3d;
  return name == "contiguous_format" ? MemoryFormat::contiguous : MemoryFormat::preserve;
}

Result<Value> Samples::read_list(const std::string& kind, const JsonValue& json) {
  Value::List list;
  for (const JsonValue& item : json.items) {
    if (kind == "ints") {
      PT2_TRY(const int64_t number, item.get_int());
      list.emplace_back(number);
    } else if (kind == "floats") {
      PT2_TRY(const double number, read_number(item));
      list.emplace_back(number);
    } else if (kind == "bools") {
      list.emplace_back(item.boolean);
    } else if (item.find("none") != nullptr) {
      list.emplace_back();
    } else if (kind == "scalars") {
      PT2_TRY(Value value, read_value(item));
      list.push_back(std::move(value));
    } else {
      PT2_TRY(Tensor tensor, read_tensor(item));
      list.emplace_back(std::move(tensor));
    }
  }
  return Value(std::move(list));
}

Result<Value> Samples::read_value(const JsonValue& json) {
  if (json.members.empty()) return bad_sample("a value without a kind");
  const std::string& kind = json.members[0].key;
  const JsonValue& content = json.members[0].value;
  if (kind == "none") return Value();
  if (kind == "tensor") {
    PT2_TRY(Tensor tensor, read_tensor(json));
    return Value(std::move(tensor));
  }
  if (kind == "int") {
    PT2_TRY(const int64_t number, content.get_int());
    return Value(number);
  }
  if (kind == "float") {
    PT2_TRY(const double number, read_number(content));
    return Value(number);
  }
  if (kind == "bool") return Value(content.boolean);
  if (kind == "str") return Value(content.text);
  if (kind == "complex") {
    PT2_TRY(const double real, read_number(content.items[0]));
    PT2_TRY(const double imag, read_number(content.items[1]));
    return Value(std::complex<double>(real, imag));
  }
  if (kind == "dtype") {
    PT2_TRY(const Dtype dtype, read_dtype(content));
    return Value(dtype);
  }
  if (kind == "memory_format") return Value(read_memory_format(content.text));
  if (kind == "layout") return Value(content.text == "strided" ? Layout::strided : Layout::unknown);
  if (kind == "device") return Value(Device{});
  return read_list(kind, content);
}

// --- Comparing

std::vector<Complex> complex_elements(const Tensor& tensor) {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.nbytes()));
  copy_to_contiguous(tensor, bytes.data());
  std::vector<Complex> out(static_cast<size_t>(tensor.numel()));
  load_elements<Complex>(bytes.data(), 1, tensor.dtype(), tensor.numel(), out.data());
  return out;
}

std::string number_text(Complex number) {
  return std::to_string(number.real()) +
         (number.imag() != 0 ? " + " + std::to_string(number.imag()) + "i" : "");
}

bool is_close(double found, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) == std::isnan(found);
  if (std::isinf(expected) || std::isinf(found)) return found == expected;
  return std::fabs(found - expected) <=
         tolerance.absolute + tolerance.relative * std::fabs(expected);
}

// Returns the first difference of the values; empty if they agree.
std::string compare_values(const Tensor& found, const Tensor& expected,
                           const Tolerance& tolerance) {
  const auto a = complex_elements(found);
  const auto b = complex_elements(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    if (is_close(a[i].real(), b[i].real(), tolerance) &&
        is_close(a[i].imag(), b[i].imag(), tolerance))
      continue;
    // Finite complex numbers also agree if their distance is within the tolerance.
    const double size = std::abs(b[i]);
    if (std::isfinite(size) &&
        std::abs(a[i] - b[i]) <= tolerance.absolute + tolerance.relative * size)
      continue;
    return "element " + std::to_string(i) + ": found " + number_text(a[i]) + ", expected " +
           number_text(b[i]);
  }
  return {};
}

std::string compare_strides(const Tensor& found, const Sizes& expected) {
  if (found.numel() == 0) return {};
  for (size_t i = 0; i < expected.size(); ++i)
    if (found.sizes()[i] > 1 && found.strides()[i] != expected[i])
      return "strides: found " + sizes_text(found.strides()) + ", expected " + sizes_text(expected);
  return {};
}

// True if the operator returns indices of values and may order equal values in any way. Then
// indices are not compared.
bool has_unstable_positions(std::string_view overload) {
  for (std::string_view name : {"aten.sort.default", "aten.argsort.default", "aten.topk.",
                                "aten.kthvalue.", "aten.median.", "aten.mode."})
    if (overload.starts_with(name)) return true;
  return false;
}

struct Sample {
  const JsonValue& json;
  const JsonValue& file_tolerance;
  std::string overload;

  bool only_shapes() const {
    return json.find("check") != nullptr || json.find("duplicates") != nullptr;
  }
  Result<Tolerance> tolerance_of(Dtype dtype) const {
    const std::string name(dtype_name(dtype));
    for (const JsonValue* source : {json.find("tolerance"), &file_tolerance}) {
      const JsonValue* pair = source == nullptr ? nullptr : source->find(name);
      if (pair == nullptr || pair->items.size() != 2) continue;
      PT2_TRY(const double relative, pair->items[0].get_float());
      PT2_TRY(const double absolute, pair->items[1].get_float());
      return Tolerance{relative, absolute};
    }
    if (dtype == Dtype::complex128) return Tolerance{1e-7, 1e-7};
    return Tolerance{};
  }
};

// Returns the first difference from PyTorch's result tensor; empty if they agree.
Result<std::string> compare_tensor(const Sample& sample, Samples& samples, const Tensor& found,
                                   const JsonValue& expected, bool ordered) {
  PT2_TRY(const Dtype dtype, read_dtype(member(expected, "dtype")));
  PT2_TRY(const Sizes sizes, read_ints(member(expected, "sizes")));
  PT2_TRY(const Sizes strides, read_ints(member(expected, "strides")));
  if (found.dtype() != dtype)
    return "dtype: found " + std::string(dtype_name(found.dtype())) + ", expected " +
           std::string(dtype_name(dtype));
  if (found.sizes() != sizes)
    return "sizes: found " + sizes_text(found.sizes()) + ", expected " + sizes_text(sizes);
  if (std::string text = compare_strides(found, strides); !text.empty()) return text;
  if (sample.only_shapes() || !ordered || expected.find("tensor")->is_null()) return std::string();
  PT2_TRY(const Tensor values, samples.read_dense(expected));
  PT2_TRY(const Tolerance tolerance, sample.tolerance_of(dtype));
  return compare_values(found, values, tolerance);
}

Result<std::string> compare_value(const Sample& sample, Samples& samples, const Value& found,
                                  const JsonValue& expected, bool ordered) {
  if (const JsonValue* list = expected.find("tensors")) {
    const auto* items = found.get_if<Value::List>();
    if (items == nullptr || items->size() != list->items.size())
      return "found " + found.type_text() + ", expected a list of " +
             std::to_string(list->items.size());
    for (size_t i = 0; i < items->size(); ++i) {
      const Tensor* tensor = (*items)[i].get_if<Tensor>();
      if (tensor == nullptr) return "found " + found.type_text() + " in a list of tensors";
      PT2_TRY(std::string text, compare_tensor(sample, samples, *tensor, list->items[i], ordered));
      if (!text.empty()) return "[" + std::to_string(i) + "] " + text;
    }
    return std::string();
  }
  if (expected.find("tensor") != nullptr) {
    const Tensor* tensor = found.get_if<Tensor>();
    if (tensor == nullptr) return "found " + found.type_text() + ", expected a tensor";
    return compare_tensor(sample, samples, *tensor, expected, ordered);
  }
  PT2_TRY(const Value value, samples.read_value(expected));
  if (value.is_none()) return std::string();
  const auto* a = found.get_if<double>();
  const auto* b = value.get_if<double>();
  if (a != nullptr && b != nullptr) {
    PT2_TRY(const Tolerance tolerance, sample.tolerance_of(Dtype::float32));
    return is_close(*a, *b, tolerance)
               ? std::string()
               : "found " + std::to_string(*a) + ", expected " + std::to_string(*b);
  }
  if (found.type_text() != value.type_text())
    return "found " + found.type_text() + ", expected " + value.type_text();
  return std::string();
}

// Checks that a view, or an out that was not resized, shares the memory of the argument.
std::string compare_alias(const Value& found, const JsonValue& expected, const Operator& op,
                          std::span<const Value> arguments) {
  const JsonValue* alias = expected.find("aliases");
  const Tensor* tensor = found.get_if<Tensor>();
  if (alias == nullptr || tensor == nullptr || tensor->numel() == 0) return {};
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (op.signature().parameter_array[i].name != alias->text) continue;
    const Tensor* source = arguments[i].get_if<Tensor>();
    const bool resized = op.form == Operator::Form::with_outs && source != nullptr &&
                         source->sizes() != tensor->sizes();
    if (!resized && source != nullptr && source->storage() != tensor->storage())
      return "expected a view of " + alias->text;
  }
  return {};
}

Result<std::vector<Value>> bind_arguments(const JsonValue& arguments, const Signature& signature,
                                          Samples& samples) {
  std::vector<Value> out(signature.parameter_count);
  std::vector<bool> given(signature.parameter_count);
  for (const JsonMember& argument : arguments.members) {
    PT2_TRY(const size_t index, parameter_index(signature, argument.key, 0));
    PT2_TRY(Value value, samples.read_value(argument.value));
    PT2_TRY(out[index], coerce(signature.parameter_array[index], std::move(value)));
    given[index] = true;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (given[i]) continue;
    PT2_TRY(out[i], default_value(signature.parameter_array[i]));
  }
  return out;
}

// Returns an argument after the call. resize_ and similar operators, and forms with outs, return
// the changed tensor instead of changing the argument's value.
const Value& changed_argument(const Operator& op, size_t index, const std::vector<Value>& arguments,
                              const std::vector<Value>& found) {
  if (op.form == Operator::Form::with_outs && index + found.size() >= arguments.size())
    return found[index + found.size() - arguments.size()];
  const bool given_back = op.form == Operator::Form::as_written && !found.empty() &&
                          found[0].is<Tensor>() && index == 0;
  return given_back ? found[0] : arguments[index];
}

Result<std::string> compare_call(const Sample& sample, Samples& samples, const Operator& op,
                                 const std::vector<Value>& arguments,
                                 const std::vector<Value>& found) {
  const auto& expected = member(sample.json, "results").items;
  if (found.size() < expected.size())
    return "found " + std::to_string(found.size()) + " results, expected " +
           std::to_string(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool ordered = !has_unstable_positions(sample.overload) ||
                         (i == 0 && !sample.overload.starts_with("aten.argsort"));
    PT2_TRY(std::string text, compare_value(sample, samples, found[i], expected[i], ordered));
    if (text.empty()) text = compare_alias(found[i], expected[i], op, arguments);
    if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
  }
  for (const JsonMember& mutated : member(sample.json, "mutated").members) {
    PT2_TRY(const size_t index, parameter_index(op.signature(), mutated.key, 0));
    const Value& changed = changed_argument(op, index, arguments, found);
    PT2_TRY(std::string text, compare_value(sample, samples, changed, mutated.value, true));
    if (!text.empty()) return mutated.key + " afterwards: " + text;
  }
  return std::string();
}

Value without_elements(const Value& value) {
  if (const auto* list = value.get_if<Value::List>()) {
    Value::List items;
    for (const Value& item : *list) items.push_back(without_elements(item));
    return Value(std::move(items));
  }
  const auto* tensor = value.get_if<Tensor>();
  if (tensor == nullptr || tensor->is_wrapped_number()) return value;
  return Value(Tensor::without_elements(tensor->dtype(), tensor->sizes()));
}

std::string compare_inferred(std::span<const Value> inferred, std::span<const Value> found) {
  for (size_t i = 0; i < inferred.size() && i < found.size(); ++i) {
    const auto* items = inferred[i].get_if<Value::List>();
    const auto* found_items = found[i].get_if<Value::List>();
    if (items != nullptr && found_items != nullptr) {
      if (items->size() != found_items->size())
        return "the rule without elements gives " + std::to_string(items->size()) + " of " +
               std::to_string(found_items->size()) + " items";
      if (std::string text = compare_inferred(*items, *found_items); !text.empty()) return text;
    }
    const auto* guess = inferred[i].get_if<Tensor>();
    const auto* tensor = found[i].get_if<Tensor>();
    if (guess != nullptr && tensor != nullptr &&
        (guess->dtype() != tensor->dtype() || guess->sizes() != tensor->sizes()))
      return "the rule without elements gives sizes " + sizes_text(guess->sizes()) + " for " +
             tensor->type_text();
  }
  return {};
}

// Compares the shape rule's prediction with the results. As in verification, the rule gets tensors
// without elements.
std::string compare_rule(const Operator& op, const std::vector<Value>& arguments,
                         const std::vector<Value>& found) {
  if (op.form != Operator::Form::as_written || !op.def->is_predictable()) return {};
  std::vector<Value> bare;
  for (const Value& argument : arguments) bare.push_back(without_elements(argument));
  const auto inferred = infer_values(*op.def, bare);
  // The sizes may depend on elements, such as those of a mask among the indices.
  if (!inferred && inferred.error().code == ErrorCode::unsupported) return {};
  if (!inferred) return "the rule without elements: " + inferred.error().text();
  return compare_inferred(*inferred, found);
}

Result<std::string> run_sample(const Sample& sample, Samples& samples, const Operator& op) {
  samples.begin_sample();
  const bool raises = sample.json.find("raises") != nullptr;
  auto arguments = bind_arguments(member(sample.json, "args"), op.signature(), samples);
  if (!arguments) return raises ? std::string() : "binding: " + arguments.error().text();
  Context context;
  const auto results = call(op, context, *arguments);
  if (raises)
    return results ? "expected an error: " + member(sample.json, "raises").text : std::string();
  if (!results)
    return (results.error().code == ErrorCode::unsupported ? "unsupported: " : "error: ") +
           results.error().text();
  if (std::string text = compare_rule(op, *arguments, *results); !text.empty()) return text;
  return compare_call(sample, samples, op, *arguments, *results);
}

}  // namespace

Result<std::vector<RecordedCall>> read_recorded_calls(const std::string& path) {
  PT2_TRY(const Record record, map_file(path));
  PT2_TRY(const Safetensors file, read_safetensors(record));
  const std::string* overload = file.find_metadata("overload");
  const std::string* samples_text = file.find_metadata("samples");
  if (overload == nullptr || samples_text == nullptr) return bad_sample("a file without samples");
  PT2_TRY(const JsonValue list, parse_json(*samples_text));
  std::vector<RecordedCall> out;
  const std::string target = "torch.ops." + *overload;
  const Operator op = find_operator(target);
  if (!op) return out;
  Samples samples(file);
  for (const JsonValue& sample : list.items) {
    samples.begin_sample();
    auto arguments = bind_arguments(member(sample, "args"), op.signature(), samples);
    const auto is_view = [](const JsonValue& result) { return result.find("aliases") != nullptr; };
    const bool shares = std::ranges::any_of(member(sample, "results").items, is_view);
    if (arguments) out.push_back({target, *std::move(arguments), shares});
  }
  return out;
}

std::vector<RecordedCall> read_recorded_folder(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<RecordedCall> out;
  for (const auto& path : paths) {
    auto calls = read_recorded_calls(path.string());
    if (!calls) continue;
    out.insert(out.end(), std::make_move_iterator(calls->begin()),
               std::make_move_iterator(calls->end()));
  }
  return out;
}

Result<ConformanceReport> check_conformance(const std::string& path, Computed computed) {
  PT2_TRY(const Record record, map_file(path));
  PT2_TRY(const Safetensors file, read_safetensors(record));
  const std::string* overload = file.find_metadata("overload");
  const std::string* samples_text = file.find_metadata("samples");
  const std::string* tolerance_text = file.find_metadata("tolerance");
  if (overload == nullptr || samples_text == nullptr || tolerance_text == nullptr)
    return bad_sample("a file without samples");
  PT2_TRY(const JsonValue list, parse_json(*samples_text));
  PT2_TRY(const JsonValue tolerance, parse_json(*tolerance_text));
  ConformanceReport report;
  report.overload = *overload;
  if (const std::string* tier = file.find_metadata("tier")) report.tier = *tier;
  Operator op = find_operator("torch.ops." + *overload);
  OpDef formula;
  if (op && computed == Computed::by_formula) {
    formula = *op.def;
    formula.compute_boxed = &run_formula;
    formula.infer_boxed = nullptr;
    op.def = formula.formula != nullptr ? &formula : nullptr;
  }
  report.known = static_cast<bool>(op);
  if (!op) {
    report.skipped = static_cast<int>(list.items.size());
    return report;
  }
  Samples samples(file);
  for (size_t i = 0; i < list.items.size(); ++i) {
    const auto text = run_sample({list.items[i], tolerance, *overload}, samples, op);
    if (!text)
      report.failures.push_back({static_cast<int>(i), "reading: " + text.error().text()});
    else if (text->empty())
      ++report.passed;
    else
      report.failures.push_back({static_cast<int>(i), *text});
  }
  return report;
}

}  // namespace pt2::ops
