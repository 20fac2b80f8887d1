#include "check/shapes/shape_check.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/memory_account.h"
#include "base/printable.h"
#include "ir/walk.h"
#include "ops/bind.h"
#include "ops/forms/out_forms.h"
#include "ops/meta.h"

namespace pt2::check {
namespace {

bool has_kind(ops::BaseType base, ValueKind kind) {
  switch (base) {
    case ops::BaseType::tensor:
      return kind == ValueKind::tensor;
    case ops::BaseType::integer:
      return kind == ValueKind::sym_int;
    case ops::BaseType::number:
      return kind == ValueKind::sym_float || kind == ValueKind::sym_int;
    case ops::BaseType::boolean:
      return kind == ValueKind::sym_bool;
    case ops::BaseType::scalar:
      return kind == ValueKind::sym_int || kind == ValueKind::sym_float ||
             kind == ValueKind::sym_bool;
    case ops::BaseType::dtype:
    case ops::BaseType::layout:
    case ops::BaseType::device:
    case ops::BaseType::memory_format:
    case ops::BaseType::string:
    case ops::BaseType::generator:
    case ops::BaseType::object:
      return true;
  }
  return true;
}

bool returns_list(const ops::Signature& signature) {
  return signature.return_count == 1 && signature.return_array[0].list;
}

// False if the call returns far more pieces than the `recorded` number. Each piece becomes a
// tensor, and a hostile file may ask for billions.
bool has_few_pieces(const ops::Signature& signature, const std::vector<Value>& arguments,
                    size_t recorded) {
  const auto most = static_cast<int64_t>(4 * recorded + 16);
  const auto* tensor = arguments[0].get_if<Tensor>();
  // The operand is a list of tensors: the call returns one piece for each.
  if (tensor == nullptr) return true;
  const Tensor& self = *tensor;
  const auto integer = [&](size_t i) {
    const auto* value = i < arguments.size() ? arguments[i].get_if<int64_t>() : nullptr;
    return value != nullptr ? *value : 0;
  };
  const bool is_unbind = signature.name == "aten::unbind";
  const auto* sizes = arguments.size() > 1 ? arguments[1].get_if<Value::List>() : nullptr;
  if (sizes != nullptr) return static_cast<int64_t>(sizes->size()) <= most;
  if (signature.name == "aten::tensor_split") return integer(1) <= most;
  const auto dim = ops::wrap_dim(integer(is_unbind ? 1 : 2), self.dim());
  if (!dim || self.dim() == 0) return true;
  // There are no more chunks than elements, but of nothing as many as were asked for.
  if (signature.name == "aten::chunk")
    return integer(1) <= most || (self.size(*dim) > 0 && self.size(*dim) <= most);
  const int64_t step = is_unbind ? 1 : std::max<int64_t>(integer(1), 1);
  return self.size(*dim) / step <= most;
}

bool is_float_kind(Dtype dtype) { return dtype_category(dtype) >= DtypeCategory::floating; }

// If no operand has a float dtype, torch.set_default_dtype decides the dtype of the result; the
// file does not record it.
bool depends_on_default_dtype(const std::vector<Value>& arguments, Dtype computed, Dtype recorded) {
  if (!is_float_kind(recorded) || dtype_category(computed) != dtype_category(recorded))
    return false;
  return std::ranges::none_of(arguments, [](const Value& argument) {
    const auto* tensor = argument.get_if<Tensor>();
    if (tensor != nullptr && !tensor->is_wrapped_number()) return is_float_kind(tensor->dtype());
    return argument.is<Dtype>();
  });
}

// torch.export traces decompositions that cast the statistics of a normalization to the dtype of
// its input or to float32, whatever the weight's dtype is (torch/_refs/__init__.py
// native_layer_norm, torch/_decomp/decompositions.py native_batch_norm_helper). The kernels use the
// weight's dtype.
bool is_traced_statistic(const ops::Signature& signature, size_t result, Dtype recorded,
                         const std::vector<Value>& arguments) {
  constexpr std::string_view kNormalizations[] = {
      "aten::native_layer_norm", "aten::native_group_norm", "aten::native_batch_norm",
      "aten::_native_batch_norm_legit", "aten::_batch_norm_"};
  const bool is_statistic = (result == 1 || result == 2) &&
                            std::ranges::any_of(kNormalizations, [&](std::string_view beginning) {
                              return signature.name.starts_with(beginning);
                            });
  if (!is_statistic) return false;
  const auto* input = arguments[0].get_if<Tensor>();
  return recorded == Dtype::float32 || (input != nullptr && recorded == input->dtype());
}

// torch 2.4 to 2.12 trace an LSTM on the CPU through oneDNN's layer. Its final states keep a dim of
// size 1 for the layer, and stacking all layers adds another dim (torch/_decomp/decompositions.py
// mkldnn_one_layer_lstm, lstm_impl). The operator itself never returns such states.
bool is_traced_state(const ops::Signature& signature, size_t result, Sizes recorded,
                     const Sizes& computed) {
  if (signature.name != "aten::lstm" || result == 0) return false;
  if (recorded.size() != computed.size() + 1 || recorded[1] != 1) return false;
  recorded.erase(recorded.begin() + 1);
  return recorded == computed;
}

// Returns the argument of that name; null if the signature has none or it holds no T.
template <class T>
const T* argument_of(const ops::Signature& signature, const std::vector<Value>& arguments,
                     std::string_view name) {
  const ops::Parameter* parameter = signature.find(name);
  if (parameter == nullptr) return nullptr;
  return arguments[static_cast<size_t>(parameter - signature.begin())].get_if<T>();
}

// With include_last_offset the end of the last bag is the last offset. The largest indices that
// torch.export records never count that offset. Its bag sizes count it, unless the weight requires
// a gradient. The kernels count it in both results or in neither
// (torch/_meta_registrations.py meta_embedding_bag, ATen/native/EmbeddingBag.cpp embedding_bag).
bool is_traced_bag(const ops::Signature& signature, size_t result, const Sizes& recorded,
                   const Sizes& computed, const std::vector<Value>& arguments) {
  const auto* has_last = argument_of<bool>(signature, arguments, "include_last_offset");
  const auto* offsets = argument_of<Tensor>(signature, arguments, "offsets");
  if (has_last == nullptr || !*has_last || offsets == nullptr || result < 2 ||
      recorded.size() != 1 || computed.size() != 1)
    return false;
  return recorded[0] == offsets->numel() - 1 || (result == 2 && recorded[0] == offsets->numel());
}

// Result 1 gives the bag of each index. The kernels leave it empty if they sum whole dense rows.
// Strides decide that, and recorded strides are not trusted, so both sizes are accepted
// (ATen/native/EmbeddingBag.cpp make_offset2bag_out).
bool is_optional_bag(const ops::Signature& signature, size_t result, const Sizes& recorded,
                     const Sizes& computed, const std::vector<Value>& arguments) {
  if (signature.find("include_last_offset") == nullptr || result != 1) return false;
  const auto* indices = argument_of<Tensor>(signature, arguments, "indices");
  return indices != nullptr && computed == Sizes{0} && recorded == Sizes{indices->numel()};
}

// True if no result is a tensor on another device. Kernels of other devices return their own
// workspaces and statistics.
bool is_on_cpu(const Graph& graph, const Node& node) {
  return !any_result(node, [&](ValueId id) {
    const TensorMeta* meta = graph.value(id).tensor();
    return meta != nullptr && meta->device.type != "cpu";
  });
}

bool is_unknown(const SymInt& number) { return number.is_symbolic() && !number.hint(); }

// True if the number is the same in every run: its expression has neither symbols nor functions
// that are unknown here.
bool is_constant_number(Expr expr) {
  if (expr->op == ExprOp::symbol || expr->op == ExprOp::opaque) return false;
  return std::ranges::all_of(expr->args, [](Expr arg) { return is_constant_number(arg); });
}
bool is_constant_number(const SymInt& number) {
  return !number.is_symbolic() || is_constant_number(number.expr());
}

// Returns the recorded sizes as far as they are constants, with those of `computed` for the others;
// -1 for a constant that is no size, such as 2**999. Nothing if the ranks differ and a size is no
// constant.
std::optional<Sizes> constant_sizes(const TensorMeta& meta, const Sizes& computed) {
  Sizes sizes;
  sizes.reserve(meta.sizes.size());
  for (size_t dim = 0; dim < meta.sizes.size(); ++dim) {
    if (is_constant_number(meta.sizes[dim])) {
      const auto size = evaluate(meta.sizes[dim], SymbolBindings());
      sizes.push_back(size ? *size : -1);
    } else if (meta.sizes.size() == computed.size()) {
      sizes.push_back(computed[dim]);
    } else {
      return std::nullopt;
    }
  }
  return sizes;
}

// Returns the sizes as the file has them, each shortened.
std::string recorded_text(const TensorMeta& meta) {
  std::string text;
  for (const SymInt& size : meta.sizes)
    text += (text.empty() ? "" : ", ") + bounded(print(size), 100);
  return "[" + bounded(std::move(text)) + "]";
}

ShapeFault wrong_record(Rule rule, size_t index, const GraphValue& value, const std::string& how,
                        std::string_view computed) {
  return {
      rule, index,
      "'" + value.name + "' is recorded " + how + ", the operator gives " + std::string(computed)};
}

// True if the expression has the symbol, or if `left` more parts do not tell. Many nodes may read
// one long expression.
bool may_contain(Expr expr, SymbolId symbol, size_t& left) {
  if (left == 0) return true;
  --left;
  if (expr.is_symbol()) return expr->symbol == symbol;
  return std::ranges::any_of(expr->args, [&](Expr arg) { return may_contain(arg, symbol, left); });
}

// Compares integers and booleans exactly. Floats may differ by rounding. Nothing if the types
// cannot be compared.
std::optional<bool> same_number(const Value& recorded, const Value& computed) {
  constexpr double kRounding = 1e-12;
  const auto number = [](const Value& value) -> std::optional<double> {
    if (const auto* integer = value.get_if<int64_t>()) return static_cast<double>(*integer);
    if (const auto* real = value.get_if<double>()) return *real;
    return std::nullopt;
  };
  if (const auto* flag = recorded.get_if<bool>(); flag && computed.is<bool>())
    return *flag == *computed.get_if<bool>();
  if (const auto* integer = recorded.get_if<int64_t>(); integer && computed.is<int64_t>())
    return *integer == *computed.get_if<int64_t>();
  const auto a = number(recorded), b = number(computed);
  if (!a || !b) return std::nullopt;
  return *a == *b || std::abs(*a - *b) <= kRounding * std::abs(*a);  // infinities are equal, too
}

// True if the node stands for a float among the results of a program. A release that accepts no
// float there gets a call on constants and reads its result as a symbolic integer (see convert,
// rewrite_constant_results).
bool is_stand_in(const Node& node, const Value& recorded, const Value& computed) {
  if (!recorded.is<int64_t>() || !computed.is<double>()) return false;
  return !any_operand(node, [](ValueId) { return true; });
}

// Returns the result of an in-place operator: self, unchanged. `metas` describe the values that the
// operator writes into self.
Result<std::vector<Value>> in_place_results(const std::vector<ops::Meta>& metas,
                                            const Value& self) {
  const auto* tensor = self.get_if<Tensor>();
  if (metas.size() != 1 || tensor == nullptr || metas[0].sizes != tensor->sizes())
    return ops::operator_error("an in-place result does not fit self");
  return std::vector<Value>{self};
}

}  // namespace

bool fits_result(const Graph& graph, const Argument& output, const ops::ArgumentType& type) {
  // None is a result that is not computed, such as the gradient of an input that needs none.
  if (output.is<None>()) return true;
  if (const auto* list = output.get_if<ArgumentList>(); list != nullptr || type.list)
    return list != nullptr && type.list &&
           std::ranges::all_of(list->items, [&](const Argument& item) {
             const auto* id = item.get_if<ValueId>();
             return id == nullptr || has_kind(type.base, graph.value(*id).kind());
           });
  const auto* id = output.get_if<ValueId>();
  return id != nullptr && has_kind(type.base, graph.value(*id).kind());
}

ShapeVerdict ShapeCheck::judge(const Abstraction& record) {
  ShapeVerdict verdict;
  const auto unknown = [&](std::string_view reason) {
    verdict.unknown = result_count(node_);
    verdict.reason = reason;
    return verdict;
  };
  if (!has_rule()) return unknown("the operator has no shape rule");
  if (!bind(record)) return unknown("an operand is not known");
  auto computed = results();
  if (!computed) {
    if (computed.error().code != ErrorCode::invalid) {
      const bool has_outs = op_.form == ops::Operator::Form::with_outs;
      verdict.depends_on_data = !has_outs;
      return unknown(has_outs ? "results lie where `out` says" : "it depends on data");
    }
    verdict.fault = ShapeFault{Rule::operands, std::nullopt, std::move(computed).error().message};
    return verdict;
  }
  const size_t count = is_on_cpu(graph_, node_) ? node_.outputs.size() : 1;
  for (size_t i = 0; i < std::min(count, computed->size()) && i < node_.outputs.size(); ++i)
    if (!verdict.fault) compare_output(i, (*computed)[i], record, verdict);
  return verdict;
}

Result<std::vector<Value>> ShapeCheck::infer(const Abstraction& abstraction) {
  const auto unknown = [](std::string text) {
    return Error{ErrorCode::unsupported, std::move(text)};
  };
  if (!has_rule()) return unknown("the operator has no shape rule");
  if (bind(abstraction)) return results();
  // A number that item() takes from a tensor is unknown. Any will do where two give the same sizes.
  const auto with = [&](double number) -> Result<std::vector<Value>> {
    const auto known_or_number = [&](const GraphValue& value) {
      auto known = abstraction(value);
      return !known && value.kind() == ValueKind::sym_float ? Value(number) : known;
    };
    if (!bind(known_or_number)) return unknown("");
    return results();
  };
  const auto have_same_sizes = [](const Value& one, const Value& other) {
    const auto *a = one.get_if<Tensor>(), *b = other.get_if<Tensor>();
    return a != nullptr && b != nullptr && a->sizes() == b->sizes();
  };
  auto values = with(0.5);
  const auto others = with(3.0);
  if (values && others && std::ranges::equal(*values, *others, have_same_sizes)) return values;
  std::string name;
  for_each_operand(node_, [&](ValueId id) {
    if (name.empty() && !abstraction(graph_.value(id))) name = graph_.value(id).name;
  });
  return unknown(name.empty() ? "an operand is not known"
                              : "the sizes of %" + name + " depend on elements");
}

bool ShapeCheck::has_rule() const {
  if (op_.def->has_rule()) return true;
  using enum ops::Operator::Form;
  if (op_.form == with_outs) return op_.def->is_predictable();
  return op_.form != in_place && (op_.def->looks_at_sizes_alone() || op_.def->is_predictable());
}

bool ShapeCheck::bind(const Abstraction& abstraction) {
  auto arguments = abstract_arguments(graph_, node_, signature_, abstraction);
  if (arguments) arguments_ = *std::move(arguments);
  return arguments.has_value();
}

Result<std::vector<Value>> ShapeCheck::results() const {
  // Shape rules compute with sizes only. The limit catches a rule that allocates tensors of
  // recorded sizes.
  constexpr uint64_t kEnough = 16 << 20;
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(kEnough));
  return within_memory([&] { return compute(); });
}

Result<std::vector<Value>> ShapeCheck::compute() const {
  if (op_.form == ops::Operator::Form::in_place) {
    PT2_TRY(const std::vector<ops::Meta> metas, op_.def->infer(arguments_));
    return in_place_results(metas, arguments_[0]);
  }
  if (op_.form == ops::Operator::Form::with_outs)
    return ops::infer_with_outs(*op_.def, signature_, arguments_);
  if (op_.def->has_rule()) return ops::infer_values(*op_.def, arguments_);
  if (returns_list(signature_) && !has_few_pieces(signature_, arguments_, result_count(node_)))
    return Error{ErrorCode::limit, "too many pieces"};
  if (!op_.def->looks_at_sizes_alone()) return ops::infer_values(*op_.def, arguments_);
  ops::Context context;
  return op_.def->compute(context, arguments_);
}

void ShapeCheck::compare_output(size_t index, const Value& computed, const Abstraction& record,
                                ShapeVerdict& verdict) const {
  const Argument& output = node_.outputs[index];
  if (const auto* id = output.get_if<ValueId>())
    return compare(index, *id, computed, record, verdict);
  const auto* list = output.get_if<ArgumentList>();
  const auto* items = computed.get_if<Value::List>();
  if (list == nullptr || items == nullptr) return;
  if (list->items.size() != items->size()) {
    verdict.fault = ShapeFault{Rule::result_count, index,
                               "found " + std::to_string(list->items.size()) +
                                   " tensors, the operator gives " + std::to_string(items->size())};
    return;
  }
  for (size_t i = 0; i < items->size() && !verdict.fault; ++i)
    if (const auto* id = list->items[i].get_if<ValueId>())
      compare(index, *id, (*items)[i], record, verdict);
}

void ShapeCheck::compare(size_t index, ValueId id, const Value& computed, const Abstraction& record,
                         ShapeVerdict& verdict) const {
  const GraphValue& value = graph_.value(id);
  const auto recorded = record(value);
  if (!recorded) {
    verdict.fault = wrong_constant(index, id, computed);
    if (verdict.fault) return;
  }
  if (recorded && may_differ(id) && is_stand_in(node_, *recorded, computed)) return;
  const bool numbers = recorded && same_number(*recorded, computed).has_value();
  if (!recorded || (!numbers && !(recorded->is<Tensor>() && computed.is<Tensor>()))) {
    ++verdict.unknown;
    verdict.reason = "the record is not known";
    return;
  }
  ++verdict.compared;
  verdict.fault = difference(index, id, *recorded, computed);
}

// True if the node creates the symbol of the size. torch.export makes a new symbol for a size that
// it cannot decide from numbers without hints (a slice from u0 to u1 has u2 rows). Such a record
// does not tell how the size follows from the numbers.
bool ShapeCheck::is_made_here(const SymInt& size) const {
  if (!is_unknown(size) || !size.expr().is_symbol()) return false;
  size_t left = 8192;  // parts of expressions; those of real operands have far fewer
  bool is_operand = false;
  for_each_operand(node_, [&](ValueId id) {
    for_each_symbolic(graph_.value(id), [&](const auto& number) {
      is_operand = is_operand || may_contain(number.expr(), size.expr()->symbol, left);
    });
  });
  return !is_operand;
}

// True if an operand is a number without a hint.
bool ShapeCheck::takes_unknown() const {
  return any_operand(node_, [&](ValueId id) {
    const auto* number = std::get_if<SymInt>(&graph_.value(id).meta);
    return number != nullptr && is_unknown(*number);
  });
}

bool ShapeCheck::agree(const GraphValue& value, const Sizes& recorded,
                       const Sizes& computed) const {
  if (recorded.size() != computed.size()) return false;
  if (recorded == computed) return true;
  if (!takes_unknown()) return false;
  const TensorMeta* meta = value.tensor();
  for (size_t dim = 0; dim < recorded.size(); ++dim)
    if (recorded[dim] != computed[dim] && !is_made_here(meta->sizes[dim])) return false;
  return true;
}

// True if the record may be one that torch.export writes instead of what the operator gives.
bool ShapeCheck::may_differ(ValueId id) const {
  return agreement_ == Agreement::as_exported || graph_.uses(id).empty();
}

// True if torch.export may record these sizes where the operator gives the computed ones.
bool ShapeCheck::may_record(size_t index, ValueId id, const Sizes& recorded,
                            const Sizes& computed) const {
  return agree(graph_.value(id), recorded, computed) ||
         (may_differ(id) && (is_traced_state(signature_, index, recorded, computed) ||
                             is_traced_bag(signature_, index, recorded, computed, arguments_) ||
                             is_optional_bag(signature_, index, recorded, computed, arguments_)));
}

std::optional<ShapeFault> ShapeCheck::difference(size_t index, ValueId id, const Value& recorded,
                                                 const Value& computed) const {
  const GraphValue& value = graph_.value(id);
  const auto* found = recorded.get_if<Tensor>();
  const auto* expected = computed.get_if<Tensor>();
  if (found == nullptr) {
    if (*same_number(recorded, computed)) return std::nullopt;
    return wrong_record(Rule::result_number, index, value, "as " + recorded.type_text(),
                        computed.type_text());
  }
  if (found->dtype() != expected->dtype() &&
      !(may_differ(id) &&
        (depends_on_default_dtype(arguments_, expected->dtype(), found->dtype()) ||
         is_traced_statistic(signature_, index, found->dtype(), arguments_))))
    return wrong_record(Rule::result_dtype, index, value,
                        "as " + std::string(dtype_name(found->dtype())),
                        dtype_name(expected->dtype()));
  if (may_record(index, id, found->sizes(), expected->sizes())) return std::nullopt;
  return wrong_record(Rule::result_sizes, index, value,
                      "with sizes " + ops::sizes_text(found->sizes()),
                      ops::sizes_text(expected->sizes()));
}

// A record may be unknown although some of its numbers are constants: a size beyond int64 is no
// size of any tensor, and next to an unknown size a constant still has to be right.
std::optional<ShapeFault> ShapeCheck::wrong_constant(size_t index, ValueId id,
                                                     const Value& computed) const {
  const GraphValue& value = graph_.value(id);
  if (const auto* number = std::get_if<SymInt>(&value.meta)) {
    if (!is_constant_number(*number) || !computed.is<int64_t>()) return std::nullopt;
    return wrong_record(Rule::result_number, index, value, "as " + bounded(print(*number), 100),
                        computed.type_text());
  }
  const TensorMeta* meta = value.tensor();
  const auto* expected = computed.get_if<Tensor>();
  if (meta == nullptr || expected == nullptr) return std::nullopt;
  const auto sizes = constant_sizes(*meta, expected->sizes());
  if (!sizes || may_record(index, id, *sizes, expected->sizes())) return std::nullopt;
  return wrong_record(Rule::result_sizes, index, value, "with sizes " + recorded_text(*meta),
                      ops::sizes_text(expected->sizes()));
}

bool ShapeCheck::has_symbols() const {
  const auto has_some = [&](ValueId id) { return is_symbolic(graph_.value(id)); };
  return any_operand(node_, has_some) || any_result(node_, has_some);
}

size_t ShapeCheck::weight() const {
  constexpr size_t kShort = 64;  // characters
  size_t characters = 0;
  const auto look = [&](ValueId id) { characters += expression_length(graph_.value(id)); };
  for_each_operand(node_, look);
  for_each_result(node_, look);
  return 1 + characters / kShort;
}

std::vector<SymbolId> ShapeCheck::symbols() const {
  std::vector<SymbolId> found;
  for_each_operand(node_, [&](ValueId id) {
    for_each_symbolic(graph_.value(id), [&](const auto& number) {
      std::ranges::copy(free_symbols(number.expr()), std::back_inserter(found));
    });
  });
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Expr ShapeCheck::condition() const {
  if (!is_assertion() || node_.inputs.empty()) return {};
  const auto* id = node_.inputs[0].arg.get_if<ValueId>();
  const auto* flag = id == nullptr ? nullptr : std::get_if<SymBool>(&graph_.value(*id).meta);
  return flag == nullptr ? Expr() : flag->expr();
}

}  // namespace pt2::check
