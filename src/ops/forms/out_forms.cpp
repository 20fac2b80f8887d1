#include "ops/forms/out_forms.h"

#include <algorithm>

#include "ops/emitter.h"
#include "ops/loops.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {

struct NamedForm {
  std::string_view form;
  std::string_view functional;
  std::string_view outs;
};
constexpr NamedForm kNamedForms[] = {
#define PT2_OUT_FORM(form, functional, outs) {form, functional, outs},
#include "ops/forms/out_forms.def"
};

const NamedForm* find_named_form(std::string_view target) {
  if (!target.starts_with(kAtenTargets)) return nullptr;
  const std::string_view name = target.substr(kAtenTargets.size());
  const auto* found = std::ranges::find(kNamedForms, name, &NamedForm::form);
  return found == std::end(kNamedForms) ? nullptr : found;
}

std::string_view overload_of(std::string_view target) {
  return target.substr(target.rfind('.') + 1);
}

// Splits "a, int[2] b=[1, 2], c" at the commas outside of brackets.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
    if (text[i] != ',' || depth > 0) continue;
    out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  for (std::string_view& part : out)
    while (part.starts_with(' ')) part.remove_prefix(1);
  return out;
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> out;
  for (std::string_view name : split_list(list)) out.emplace_back(name);
  return out;
}

std::string_view parameters_text(const Signature& signature) {
  const size_t begin = signature.text.find('(') + 1;
  return signature.text.substr(begin, signature.text.rfind(") -> ") - begin);
}

// "values" and "indices" for "(Tensor values, Tensor indices)". Skips results without a name.
std::vector<std::string> result_names(const Signature& signature) {
  std::string_view text = signature.text.substr(signature.text.rfind(" -> ") + 4);
  if (text.starts_with('(')) text = text.substr(1, text.size() - 2);
  std::vector<std::string> out;
  for (std::string_view part : split_list(text)) {
    const size_t space = part.rfind(' ');
    if (space != part.npos) out.emplace_back(part.substr(space + 1));
  }
  return out;
}

// The names of the out arguments. For a single result: `out`, or the overload's name. For several
// results: the results' names, or out0, out1 and so on if they have none.
std::vector<std::string> out_names(std::string_view target, const Signature& signature) {
  const NamedForm* named = find_named_form(target);
  if (named != nullptr && !named->outs.empty()) return names_in(named->outs);
  const std::string_view overload = overload_of(target);
  if (signature.return_count == 1)
    return {overload == "grad_input" || overload == "output" ? std::string(overload) : "out"};
  std::vector<std::string> names = result_names(signature);
  if (names.size() == signature.return_count) return names;
  names.clear();
  for (size_t i = 0; i < signature.return_count; ++i) names.push_back("out" + std::to_string(i));
  return names;
}

// True for options of a created tensor. An out form has no such parameters: the out argument
// determines these options.
bool is_tensor_option(const Parameter& parameter) {
  switch (parameter.type.base) {
    case BaseType::dtype:
    case BaseType::layout:
    case BaseType::device:
      return true;
    default:
      return parameter.name == "pin_memory";
  }
}
bool creates(const Signature& signature) { return signature.find("pin_memory") != nullptr; }

// "Tensor self" for "Tensor(a) self".
std::string without_alias(std::string_view parameter) {
  constexpr std::string_view kAliased = "Tensor(";
  if (!parameter.starts_with(kAliased)) return std::string(parameter);
  return "Tensor" + std::string(parameter.substr(parameter.find(')') + 1));
}

// "aten::add.out" for "torch.ops.aten.add.out".
std::string schema_name(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  std::string name(target.starts_with(kOps) ? target.substr(kOps.size()) : target);
  if (const size_t dot = name.find('.'); dot != name.npos) name.replace(dot, 1, "::");
  return name;
}

std::string functional_parameters(const Signature& signature) {
  std::string out;
  bool keyword_only = false;
  size_t index = 0;
  for (std::string_view part : split_list(parameters_text(signature))) {
    if (part == "*")
      keyword_only = true;
    else if (creates(signature) && is_tensor_option(signature.parameter_array[index++]))
      continue;
    out += without_alias(part) + ", ";
  }
  return keyword_only ? out : out + "*, ";
}

// Reorders the arguments of the out form into the order of the functional row.
std::vector<Value> functional_arguments(const OpDef& def, const Signature& form,
                                        std::span<const Value> arguments) {
  const auto* out = arguments.back().get_if<Tensor>();
  std::vector<Value> bound;
  size_t next = 0;
  for (const Parameter& parameter : *def.signature) {
    const bool given = form.parameter_array[next].name == parameter.name;
    bound.push_back(given ? arguments[next++] : Value());
    const bool wants_dtype = !given || def.facts.takes_dtype_of_out;
    if (parameter.name == "dtype" && bound.back().is_none() && wants_dtype && out != nullptr)
      bound.back() = Value(out->dtype());
  }
  return bound;
}

// Resizes `out` like at::native::resize_output: keeps its memory if that is large enough. The
// result's kernel chooses the strides, except for views and created tensors, whose out forms copy
// (resize_out_helper).
Result<Tensor> resized(const Tensor& out, const Tensor& result, const Signature& functional) {
  const Tensor* like = &result;
  Meta meta(out.dtype(), result.sizes());
  if (!functional.may_alias() && !creates(functional))
    meta.strides = elementwise_strides(result.sizes(), {&like, 1});
  if (meta.strides.empty()) meta.strides = contiguous_strides(meta.sizes);
  auto view =
      Tensor::view_of(out.storage(), meta.dtype, meta.sizes, meta.strides, out.storage_offset());
  return view ? std::move(view) : allocate(meta);
}

Result<Tensor> store(const Signature& functional, const Value& value, const Value& out_value) {
  const auto* result = value.get_if<Tensor>();
  const auto* given = out_value.get_if<Tensor>();
  if (result == nullptr || given == nullptr || !given->defined())
    return operator_error("found " + out_value.type_text() + " as out, expected a tensor");
  if (dtype_category(result->dtype()) > dtype_category(given->dtype()))
    return operator_error("a result of dtype " + std::string(dtype_name(result->dtype())) +
                          " cannot be stored in an out of dtype " +
                          std::string(dtype_name(given->dtype())));
  Tensor out = *given;
  if (out.sizes() != result->sizes()) {
    PT2_TRY(out, resized(out, *result, functional));
  }
  if (has_internal_overlap(out))
    return operator_error("several elements of an out lie at one place in memory: strides " +
                          sizes_text(out.strides()));
  // The result of a composed operator may be a view of `out` itself, with another order of
  // elements.
  const bool shared = result->storage() == out.storage();
  copy_elements(out, shared ? result->clone() : *result);
  return out;
}

Result<Value> store_list(const Signature& functional, const Value& value, const Value& out_value) {
  const auto* results = value.get_if<Value::List>();
  const auto* outs = out_value.get_if<Value::List>();
  if (results == nullptr || outs == nullptr || results->size() != outs->size())
    return operator_error("found " + out_value.type_text() + " as out, expected as many tensors " +
                          "as there are results");
  Value::List stored;
  for (size_t i = 0; i < results->size(); ++i) {
    PT2_TRY(Tensor out, store(functional, (*results)[i], (*outs)[i]));
    stored.emplace_back(std::move(out));
  }
  return Value(std::move(stored));
}

}  // namespace

std::vector<std::string> functional_targets(std::string_view target) {
  if (const NamedForm* named = find_named_form(target))
    return {std::string(kAtenTargets) + std::string(named->functional)};
  const std::string_view overload = overload_of(target);
  const std::string prefix(target.substr(0, target.size() - overload.size()));
  constexpr std::string_view kSuffix = "_out";
  if (overload == "out") return {prefix + "default", prefix + "Tensor"};
  if (overload.ends_with(kSuffix))
    return {prefix + std::string(overload.substr(0, overload.size() - kSuffix.size()))};
  return {prefix + "default"};
}

std::shared_ptr<const OwnedSignature> make_out_form(std::string_view target, const OpDef& def) {
  const Signature& functional = *def.signature;
  if (functional.is_mutable() || functional.return_count == 0) return nullptr;
  const std::span results(functional.return_array, functional.return_count);
  const bool tensors = std::ranges::all_of(results, [](const ArgumentType& type) {
    return type.base == BaseType::tensor && !type.optional;
  });
  if (!tensors || (results[0].list && results.size() > 1)) return nullptr;

  const std::vector<std::string> names = out_names(target, functional);
  const std::string_view overload = overload_of(target);
  const bool named_alike = overload == "out" || overload.ends_with("_out") ||
                           find_named_form(target) != nullptr || names[0] == overload;
  if (!named_alike || names.size() != results.size()) return nullptr;
  std::string outs;
  std::string returns;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string type = "Tensor(" + std::string(1, static_cast<char>('a' + i)) + "!)" +
                             (results[i].list ? "[]" : "");
    outs += (i == 0 ? "" : ", ") + type + " " + names[i];
    returns += (i == 0 ? "" : ", ") + type;
  }
  if (results[0].list) returns.clear();
  auto form = std::make_shared<OwnedSignature>(schema_name(target) + "(" +
                                               functional_parameters(functional) + outs + ") -> (" +
                                               returns + ")");
  return form->fault == nullptr ? form : nullptr;
}

Result<std::vector<Value>> call_with_outs(const OpDef& def, const Signature& signature,
                                          Context& context, std::span<const Value> arguments) {
  const size_t first = arguments.size() - def.signature->return_count;
  PT2_TRY(const std::vector<Value> results,
          def.compute(context, functional_arguments(def, signature, arguments)));
  std::vector<Value> outs;
  for (size_t i = 0; i < results.size(); ++i) {
    if (def.signature->return_array[i].list) {
      PT2_TRY(Value stored, store_list(*def.signature, results[i], arguments[first + i]));
      continue;
    }
    PT2_TRY(Tensor out, store(*def.signature, results[i], arguments[first + i]));
    outs.emplace_back(std::move(out));
  }
  return outs;
}

Result<std::vector<Value>> infer_with_outs(const OpDef& def, const Signature& signature,
                                           std::span<const Value> arguments) {
  const size_t first = arguments.size() - def.signature->return_count;
  PT2_TRY(const std::vector<Value> results,
          infer_values(def, functional_arguments(def, signature, arguments)));
  const auto has_sizes_of = [](const Value& out, const Value& result) {
    const auto* given = out.get_if<Tensor>();
    const auto* made = result.get_if<Tensor>();
    return given != nullptr && made != nullptr && given->sizes() == made->sizes();
  };
  std::vector<Value> outs(arguments.begin() + static_cast<std::ptrdiff_t>(first), arguments.end());
  if (!std::ranges::equal(outs, results, has_sizes_of))
    return Error{ErrorCode::unsupported, "an `out` has other sizes than its result", ""};
  return outs;
}

}  // namespace pt2::ops
