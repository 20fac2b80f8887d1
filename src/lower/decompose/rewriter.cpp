#include "lower/decompose/rewriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "check/shapes/abstract_value.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "ops/bind.h"
#include "ops/compose.h"
#include "ops/forms/autocast.h"
#include "pt2/ir/builder.h"

namespace pt2 {
namespace {

Error unsupported(std::string text) { return {ErrorCode::unsupported, std::move(text)}; }
Error unknown_operand() { return unsupported("an operand is not known"); }
// The error for traces that differ between choices of the symbols.
Error depends_on_sizes() {
  return unsupported("which operators it is made of depends on sizes that change");
}

// "addmm" of "torch.ops.aten.addmm.default".
std::string_view short_name(const ops::Operator& op) {
  const std::string_view name = op.def->signature->name;
  return name.substr(name.rfind(':') + 1);
}

// Returns the node's arguments in the order of the signature; null if the file omits an argument.
std::vector<const Argument*> given_arguments(const Node& node, const ops::Signature& signature) {
  std::vector<const Argument*> out(signature.parameter_count);
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (const auto index = ops::parameter_index(signature, node.inputs[i].name, i))
      out[*index] = &node.inputs[i].arg;
  return out;
}

// Converts a Python number that a formula passes on as a tensor.
Argument number_argument(const Tensor& wrapped) {
  if (wrapped.dtype() == Dtype::complex128) return Argument(*wrapped.data<std::complex<double>>());
  if (wrapped.dtype() == Dtype::bool_) return Argument(*wrapped.data<bool>());
  if (dtype_category(wrapped.dtype()) == DtypeCategory::integer)
    return Argument(*wrapped.data<int64_t>());
  PT2_CHECK(wrapped.dtype() == Dtype::float64);  // ops::number_tensor makes no other
  return Argument(*wrapped.data<double>());
}

// The strides of operands that a formula sees.
enum class Lying : uint8_t {
  as_recorded,
  as_computed,  // the strides that kernels give, where they are known to differ
  apart,        // for these tensors, strides with gaps between all dimensions
};

class NodeRewriter {
 public:
  NodeRewriter(Graph& graph, NodeId id, const ops::Operator& op, NodeBudget& budget,
               const NumberWriter& writer, GraphState& state, std::optional<Dtype> region)
      : graph_(graph),
        id_(id),
        node_(graph.node(id)),
        op_(op),
        budget_(budget),
        writer_(writer),
        state_(state),
        region_(region),
        first_new_value_(graph.value_count()) {}

  Result<void> run(std::span<const SymbolBindings> choices, const Recorder::Expands& expands) {
    PT2_TRY_VOID(choose_lying(choices.front(), expands));
    PT2_TRY_VOID(follow(choices, expands));
    PT2_TRY_VOID(check_results());
    auto written = write_calls();
    if (written) {
      replace_results();
    } else {
      undo();
    }
    return written;
  }

 private:
  struct Trace {
    const SymbolBindings* choice = nullptr;
    std::vector<Value> arguments{};
    std::vector<Value> results{};
    std::vector<FormulaCall> calls{};
    bool depends_on_elements = false;
  };
  // The same value in all traces.
  using Parallel = std::vector<const Value*>;
  struct Source {
    ValueId value;
    std::optional<int64_t> dim;  // set if the number is a size of a tensor: its dimension
  };

  // Sets the strides of an operand, which decide which views are valid.
  void lay(Tensor& tensor, const Argument& argument, const SymbolBindings& choice) const {
    std::optional<Sizes> strides = recorded_strides(*tensor_meta(graph_, argument), choice);
    if (!strides || strides->size() != tensor.sizes().size()) return;
    const auto other = state_.other_strides.find(*argument.get_if<ValueId>());
    if (other != state_.other_strides.end()) {
      if (lying_ == Lying::as_computed) strides = other->second;
      if (lying_ == Lying::apart) strides = strides_apart(tensor.sizes(), *strides);
    }
    tensor = tensor.with_view(tensor.sizes(), *std::move(strides), 0);
  }

  // If the strides of operands differ from the record, and the formula makes other calls for them,
  // the formula gets strides whose calls are correct for both.
  Result<void> choose_lying(const SymbolBindings& hints, const Recorder::Expands& expands) {
    if (!any_operand(node_, [&](ValueId id) { return state_.other_strides.contains(id); }))
      return {};
    const auto called = [](const Trace& trace) {
      std::vector<std::string> out;
      for (const FormulaCall& call : trace.calls) out.push_back(written_target(*call.op));
      return out;
    };
    const std::optional<std::vector<Value>> operands = operands_of(hints);
    if (!operands) return unknown_operand();
    PT2_TRY(const Trace recorded, follow(hints, *operands, expands));
    lying_ = Lying::as_computed;
    const auto computed = follow(hints, *operands, expands);
    const bool are_alike = computed && called(*computed) == called(recorded);
    lying_ = are_alike ? Lying::as_recorded : Lying::apart;
    return {};
  }

  std::optional<std::vector<Value>> operands_of(const SymbolBindings& choice) const {
    return check::abstract_arguments(graph_, node_, op_.signature(), check::by_record(choice));
  }

  Result<Trace> follow(const SymbolBindings& choice, const std::vector<Value>& operands,
                       const Recorder::Expands& expands) const {
    const std::vector<int64_t> sizes = data_sizes(choice);
    if (sizes.empty()) return follow(choice, operands, expands, std::nullopt);
    auto first = follow(choice, operands, expands, sizes[0]);
    if (!first || !first->depends_on_elements || gives_recorded_sizes(*first)) return first;
    for (size_t i = 1; i < sizes.size(); ++i)
      if (auto other = follow(choice, operands, expands, sizes[i]);
          other && gives_recorded_sizes(*other))
        return other;
    return first;
  }

  Result<Trace> follow(const SymbolBindings& choice, const std::vector<Value>& operands,
                       const Recorder::Expands& expands, std::optional<int64_t> data_size) const {
    const ops::Signature& signature = op_.signature();
    Trace trace{.choice = &choice, .arguments = operands};
    const auto given = given_arguments(node_, signature);
    Recorder recorder(expands, data_size, strides_vary_);
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i] != nullptr)
        for_each_pair(*given[i], trace.arguments[i], [&](const Argument& argument, Value& value) {
          auto* tensor = value.get_if<Tensor>();
          const TensorMeta* meta = tensor_meta(graph_, argument);
          if (tensor != nullptr && meta != nullptr) lay(*tensor, argument, choice);
          recorder.number(value, meta != nullptr && meta->requires_grad);
        });
    if (region_) {
      ops::CastingEmitter emitter(*region_, recorder);
      PT2_TRY(trace.results, op_.def->write_boxed(*op_.def, emitter, trace.arguments));
    } else {
      PT2_TRY(trace.results, recorder.expand(op_, trace.arguments));
    }
    if (op_.form == ops::Operator::Form::in_place) {
      PT2_TRY(Tensor written,
              recorder(ops::aten<"copy_.default">, {trace.arguments[0], trace.results[0]}));
      trace.results = {Value(std::move(written))};
    }
    trace.calls = recorder.calls();
    trace.depends_on_elements = recorder.depends_on_elements();
    return trace;
  }

  // Returns the candidates for the size that depends on elements: the first recorded size of a
  // result that is such a symbol, else all recorded sizes of the results.
  std::vector<int64_t> data_sizes(const SymbolBindings& choice) const {
    constexpr size_t kMostSizes = 64;  // more dimensions than index operators accept
    std::vector<int64_t> sizes;
    bool is_known = false;
    for_each_result(node_, [&](ValueId id) {
      const TensorMeta* meta = graph_.value(id).tensor();
      if (meta == nullptr) return;
      for (const SymInt& each : meta->sizes) {
        if (is_known) return;
        is_known = writer_.depends_on_elements(each);
        if (is_known) sizes.clear();
        const auto number = evaluate(each, choice);
        if (number && sizes.size() < kMostSizes && std::ranges::count(sizes, *number) == 0)
          sizes.push_back(*number);
      }
    });
    return sizes;
  }

  // True if the trace has a result for each output of the node, and `fits(output, result)` holds
  // for all corresponding parts of both.
  template <class Fits>
  bool results_fit(const Trace& trace, const Fits& fits) const {
    bool fit = trace.results.size() >= node_.outputs.size();
    for (size_t i = 0; fit && i < node_.outputs.size(); ++i)
      for_each_pair(
          node_.outputs[i], trace.results[i],
          [&](const Argument& output, const Value& value) { fit = fit && fits(output, value); });
    return fit;
  }

  bool gives_recorded_sizes(const Trace& trace) const {
    return results_fit(trace, [&](const Argument& output, const Value& value) {
      const TensorMeta* meta = tensor_meta(graph_, output);
      const auto* tensor = value.get_if<Tensor>();
      const auto is_recorded = [&](const SymInt& size, int64_t found) {
        const auto number = evaluate(size, *trace.choice);
        return !number || *number == found;
      };
      return meta == nullptr || tensor == nullptr ||
             std::ranges::equal(meta->sizes, tensor->sizes(), is_recorded);
    });
  }

  // Traces the formula under each choice.
  Result<void> trace(std::span<const SymbolBindings> choices, const Recorder::Expands& expands) {
    traces_.clear();
    std::optional<Error> first;
    for (const SymbolBindings& choice : choices) {
      const std::optional<std::vector<Value>> operands = operands_of(choice);
      if (!operands) continue;
      auto trace = follow(choice, *operands, expands);
      if (trace)
        traces_.push_back(*std::move(trace));
      else if (!first)
        first = std::move(trace).error();
    }
    if (traces_.empty() && first) return *std::move(first);
    if (traces_.empty())
      return choices.empty() ? unsupported("its sizes are not known") : unknown_operand();
    return {};
  }

  bool makes_equal_calls() const {
    return std::ranges::all_of(traces_, [&](const Trace& trace) {
      return std::ranges::equal(trace.calls, traces_[0].calls, {}, &FormulaCall::op,
                                &FormulaCall::op);
    });
  }

  // True if a node may write to the memory of an operand or result.
  bool touches_written_memory() const {
    if (!state_.written) state_.written.emplace(graph_, state_.is_nested);
    const auto is_written = [&](ValueId id) { return state_.written->may_hold(id); };
    return any_operand(node_, is_written) || any_result(node_, is_written);
  }

  Result<void> follow(std::span<const SymbolBindings> choices, const Recorder::Expands& expands) {
    PT2_TRY_VOID(trace(choices, expands));
    // Whether a tensor can be viewed depends on its strides, but a copy can be viewed always. A
    // copy is correct where nobody writes to the memory that a view would share.
    if (!makes_equal_calls() && !touches_written_memory()) {
      strides_vary_ = true;
      PT2_TRY_VOID(trace(choices, expands));
    }
    if (!makes_equal_calls()) return depends_on_sizes();
    const auto given = given_arguments(node_, op_.signature());
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i] != nullptr)
        for_each_pair(
            *given[i], traces_[0].arguments[i],
            [&](const Argument& argument, const Value& value) { learn(argument, value); });
    for_each_result(node_, [&](ValueId id) { learn_sizes(id, false); });
    // Strides are learned last: a number that is also a size can be computed.
    for (const auto& [term, id] : values_) learn_strides(id);
    for_each_result(node_, [&](ValueId id) { learn_strides(id); });
    return {};
  }

  void learn(const Argument& argument, const Value& value) {
    const auto* id = argument.get_if<ValueId>();
    if (id == nullptr) return;
    if (const auto* tensor = value.get_if<Tensor>(); tensor != nullptr && term_of(*tensor) != 0) {
      values_.emplace(term_of(*tensor), *id);
      learn_sizes(*id, true);
    } else if (const auto* number = std::get_if<SymInt>(&graph_.value(*id).meta)) {
      learn_number(*number, Source{*id, std::nullopt});
    }
  }

  void learn_sizes(ValueId id, bool is_argument) {
    const TensorMeta* meta = graph_.value(id).tensor();
    if (meta == nullptr) return;
    for (size_t dim = 0; dim < meta->sizes.size(); ++dim)
      learn_number(meta->sizes[dim], is_argument
                                         ? std::optional(Source{id, static_cast<int64_t>(dim)})
                                         : std::nullopt);
  }

  // Strides are products of more sizes than a NumberForm has factors.
  void learn_strides(ValueId id) {
    if (const TensorMeta* meta = graph_.value(id).tensor())
      for (const SymInt& stride : meta->strides) learn_number(stride, std::nullopt);
  }

  void learn_number(const SymInt& number, std::optional<Source> source) {
    if (!number.is_symbolic()) return;
    Samples samples;
    for (const Trace& trace : traces_) {
      const auto value = evaluate(number, *trace.choice);
      if (!value) return;
      samples.push_back(*value);
    }
    const bool is_computable = source || state_.numbers.contains(number.expr().operator->());
    if (known_.add(number, std::move(samples), is_computable)) sources_.push_back(source);
  }

  // Marks the calls that some result depends on, and calls that write or have no result. The others
  // are not emitted.
  std::vector<bool> needed_calls() const {
    const Trace& trace = traces_[0];
    std::vector<bool> needed(trace.calls.size(), false);
    std::map<TermNumber, bool> terms;
    const auto want = [&](const Tensor& tensor) { terms[term_of(tensor)] = true; };
    for (const Value& result : trace.results) for_each_tensor(result, want);
    for (size_t i = needed.size(); i-- > 0;) {
      needed[i] = trace.calls[i].op->mutates() || trace.calls[i].results.empty();
      for (const Value& result : trace.calls[i].results)
        for_each_tensor(result, [&](const Tensor& tensor) {
          needed[i] = needed[i] || terms.contains(term_of(tensor));
        });
      if (!needed[i]) continue;
      for (const Value& argument : trace.calls[i].arguments) for_each_tensor(argument, want);
    }
    return needed;
  }

  Result<void> write_calls() {
    const std::vector<bool> needed = needed_calls();
    for (size_t i = 0; i < needed.size(); ++i)
      if (needed[i]) PT2_TRY_VOID(write_call(i));
    return {};
  }

  Result<void> write_call(size_t index) {
    const FormulaCall& first = traces_[0].calls[index];
    const ops::Signature& signature = first.op->signature();
    const auto parallel = [&](auto member, size_t at) -> Result<Parallel> {
      Parallel out;
      for (const Trace& trace : traces_) {
        const std::vector<Value>& values = trace.calls[index].*member;
        if (at >= values.size()) return depends_on_sizes();
        out.push_back(&values[at]);
      }
      return out;
    };
    std::vector<NamedArgument> inputs;
    for (size_t i = 0; i < first.arguments.size(); ++i) {
      const ops::Parameter& parameter = signature.parameter_array[i];
      PT2_TRY(const Parallel values, parallel(&FormulaCall::arguments, i));
      PT2_TRY(Argument argument, argument_of(parameter.type, values));
      std::string parameter_name(parameter.name);
      inputs.push_back(parameter.keyword_only
                           ? kwarg(std::move(parameter_name), std::move(argument))
                           : arg(std::move(parameter_name), std::move(argument)));
    }
    // torch.fx names multiple results after the getitem nodes that select them.
    const bool is_one = first.results.size() == 1 && first.results[0].is<Tensor>();
    const std::string_view name = is_one ? short_name(*first.op) : "getitem";
    std::vector<Argument> outputs;
    for (size_t i = 0; i < first.results.size(); ++i) {
      PT2_TRY(const Parallel values, parallel(&FormulaCall::results, i));
      PT2_TRY(Argument output, new_value(name, values));
      outputs.push_back(std::move(output));
    }
    PT2_TRY_VOID(insert_node({.target = written_target(*first.op),
                              .inputs = std::move(inputs),
                              .outputs = std::move(outputs)}));
    for (const Value& result : first.results)
      for_each_tensor(result, [&](const Tensor& tensor) {
        makers_.emplace(term_of(tensor), inserted_.back());
      });
    return {};
  }

  // Returns new graph values for a result of a call, with the metadata that the formula computed.
  Result<Argument> new_value(std::string_view name, const Parallel& values) {
    if (const auto* items = values[0]->get_if<Value::List>()) {
      ArgumentList list{.kind = ListKind::tensors};
      for (size_t i = 0; i < items->size(); ++i) {
        Parallel parts;
        for (const Value* each : values) {
          const auto* others = each->get_if<Value::List>();
          if (others == nullptr || others->size() != items->size()) return depends_on_sizes();
          parts.push_back(&(*others)[i]);
        }
        PT2_TRY(Argument item, new_value(name, parts));
        list.items.push_back(std::move(item));
      }
      return Argument(std::move(list));
    }
    PT2_TRY(TensorMeta meta, meta_of(values));
    PT2_TRY(const ValueId id,
            graph_.add_value({.name = graph_.unused_name(name), .meta = std::move(meta)}));
    values_[term_of(*values[0]->get_if<Tensor>())] = id;
    return Argument(id);
  }

  Result<TensorMeta> meta_of(const Parallel& values) const {
    std::vector<const Tensor*> tensors;
    for (const Value* value : values) {
      const auto* tensor = value->get_if<Tensor>();
      if (tensor == nullptr)
        return unsupported("an operator of its formula gives a result that is not a tensor");
      if (!tensors.empty() &&
          (tensor->dim() != tensors[0]->dim() || tensor->dtype() != tensors[0]->dtype()))
        return depends_on_sizes();
      tensors.push_back(tensor);
    }
    TensorMeta meta{.dtype = {dtype_info(tensors[0]->dtype()).schema_number}};
    for_each_result(node_, [&](ValueId id) {
      const TensorMeta* like = graph_.value(id).tensor();
      if (like == nullptr) return;
      meta.device = like->device;
      meta.requires_grad = meta.requires_grad || like->requires_grad;
    });
    const auto samples = [&](auto number) {
      Samples out;
      for (const Tensor* tensor : tensors) out.push_back(number(*tensor));
      return out;
    };
    // The strides of results are unknown if operands have strides `apart`.
    const auto stride_of = [&](const Tensor& tensor, int64_t dim) {
      return lying_ == Lying::apart ? contiguous_strides(tensor.sizes())[static_cast<size_t>(dim)]
                                    : tensor.stride(dim);
    };
    for (int64_t dim = 0; dim < tensors[0]->dim(); ++dim) {
      PT2_TRY(SymInt size, size_of(samples([&](const Tensor& t) { return t.size(dim); })));
      meta.sizes.push_back(std::move(size));
    }
    meta.strides.resize(meta.sizes.size());
    for (int64_t dim = tensors[0]->dim(); dim-- > 0;) {
      const auto at = static_cast<size_t>(dim);
      auto stride = size_of(samples([&](const Tensor& t) { return stride_of(t, dim); }));
      // Strides are products of more sizes than a NumberForm has factors.
      const auto is_product = [&](const Tensor* tensor) {
        int64_t whole = 0;
        return !__builtin_mul_overflow(stride_of(*tensor, dim + 1), tensor->size(dim + 1),
                                       &whole) &&
               whole == stride_of(*tensor, dim);
      };
      if (!stride && at + 1 < meta.sizes.size() && std::ranges::all_of(tensors, is_product))
        stride = writer_.binary(ExprOp::multiply, meta.strides[at + 1], meta.sizes[at + 1]);
      PT2_TRY(meta.strides[at], std::move(stride));
    }
    return meta;
  }

  Result<SymInt> size_of(const Samples& samples) const {
    const auto form = known_.find(samples, KnownNumbers::Among::all);
    if (!form)
      return unsupported(
          "an operator of its formula has sizes that are not a simple expression of its inputs' "
          "sizes");
    return writer_.write(known_, *form);
  }

  Result<Argument> argument_of(const ops::ArgumentType& type, const Parallel& values) {
    const Value& first = *values[0];
    for (const Value* value : values)
      if (value->data.index() != first.data.index()) return depends_on_sizes();
    if (first.is<Value::List>()) return list_of(type, values);
    if (const auto* tensor = first.get_if<Tensor>()) {
      if (tensor->is_wrapped_number() && tensor->defined()) return number_argument(*tensor);
      const auto found = values_.find(term_of(*tensor));
      if (found == values_.end())
        return unsupported(
            "an operator of its formula takes a tensor that is neither an input nor a result");
      return Argument(found->second);
    }
    if (first.is<int64_t>()) {
      Samples samples;
      for (const Value* value : values) samples.push_back(*value->get_if<int64_t>());
      const bool is_constant = std::ranges::count(samples, samples[0]) == std::ssize(samples);
      if (type.base == ops::BaseType::number && is_constant)
        return Argument(static_cast<double>(samples[0]));
      return number_of(samples);
    }
    const auto differ = [&](auto constant_of) {
      return std::ranges::any_of(
          values, [&](const Value* value) { return constant_of(*value) != constant_of(first); });
    };
    if (const auto* number = first.get_if<double>()) {
      // Compares bits, so that NaN equals itself.
      if (differ(
              [](const Value& value) { return std::bit_cast<uint64_t>(*value.get_if<double>()); }))
        return unsupported("an operator of its formula takes a float that changes with the sizes");
      return Argument(*number);
    }
    if (const auto* flag = first.get_if<bool>()) {
      if (differ([](const Value& value) { return *value.get_if<bool>(); }))
        return depends_on_sizes();
      return Argument(*flag);
    }
    if (const auto* text = first.get_if<std::string>()) return Argument(*text);
    if (const auto* dtype = first.get_if<Dtype>())
      return Argument(ScalarType{dtype_info(*dtype).schema_number});
    if (const auto* format = first.get_if<MemoryFormat>()) return Argument(*format);
    if (const auto* layout = first.get_if<Layout>()) return Argument(*layout);
    if (const auto* device = first.get_if<Device>()) return Argument(*device);
    if (const auto* complex = first.get_if<std::complex<double>>()) return Argument(*complex);
    if (first.is_none()) return Argument(None{});
    return unsupported("an operator of its formula takes an argument that a .pt2 cannot hold");
  }

  Result<Argument> list_of(const ops::ArgumentType& type, const Parallel& values) {
    const auto& items = *values[0]->get_if<Value::List>();
    ops::ArgumentType element = type;
    element.list = false;
    ArgumentList list;
    bool is_symbolic = false;
    for (size_t i = 0; i < items.size(); ++i) {
      Parallel parts;
      for (const Value* value : values) {
        const auto& others = *value->get_if<Value::List>();
        if (others.size() != items.size()) return depends_on_sizes();
        parts.push_back(&others[i]);
      }
      PT2_TRY(Argument item, argument_of(element, parts));
      is_symbolic = is_symbolic || item.wrapper == Argument::Wrapper::symbolic;
      list.items.push_back(std::move(item));
    }
    using ops::BaseType;
    if (type.base == BaseType::tensor)
      list.kind = type.optional_element ? ListKind::optional_tensors : ListKind::tensors;
    else if (type.base == BaseType::boolean)
      list.kind = ListKind::bools;
    else if (type.base == BaseType::number)
      list.kind = ListKind::floats;
    else if (type.base == BaseType::integer)
      list.kind = is_symbolic ? ListKind::sym_ints : ListKind::ints;
    else
      return unsupported("an operator of its formula takes a list that a .pt2 cannot hold");
    return Argument(std::move(list));
  }

  // Returns a literal or a graph value. Inserts nodes if the value must be computed.
  Result<Argument> number_of(const Samples& samples) {
    const auto form = known_.find(samples, KnownNumbers::Among::computable);
    if (!form)
      return unsupported(
          "an operator of its formula takes a number that is not a simple expression of its "
          "inputs' sizes");
    if (form->is_literal()) return Argument(form->plus);
    PT2_TRY(ValueId value, known_value(form->factors[0]));
    for (const NumberForm::Step& step : form->steps()) {
      Argument other(step.literal);
      if (step.known) {
        PT2_TRY(const ValueId known, known_value(*step.known));
        other = Argument(known, Argument::Wrapper::symbolic);
      }
      PT2_TRY(value, arithmetic(step.op, value, other));
    }
    return Argument(value, Argument::Wrapper::symbolic);
  }

  Result<ValueId> known_value(size_t index) {
    const SymInt& number = known_.number(index);
    const ExprNode* key = number.expr().operator->();
    if (const auto found = state_.numbers.find(key); found != state_.numbers.end())
      return found->second;
    const auto& source = sources_[index];
    PT2_CHECK(source);
    if (!source->dim) return source->value;
    return insert_number("sym_size_int", number, std::string(kSymSize),
                         {arg("self", source->value), arg("dim", *source->dim)});
  }

  Result<ValueId> arithmetic(ExprOp op, ValueId left, const Argument& right) {
    const SymInt a = std::get<SymInt>(graph_.value(left).meta);
    const auto* other = right.get_if<ValueId>();
    const SymInt b = other != nullptr ? std::get<SymInt>(graph_.value(*other).meta)
                                      : SymInt(*right.get_if<int64_t>());
    PT2_TRY(const SymInt number, writer_.binary(op, a, b));
    if (!number.is_symbolic())
      return unsupported("its formula computes a constant where a size was expected");
    const ExprNode* key = number.expr().operator->();
    if (const auto found = state_.numbers.find(key); found != state_.numbers.end())
      return found->second;
    const std::string_view name = op == ExprOp::multiply ? "mul"
                                  : op == ExprOp::add    ? "add"
                                                         : "floordiv";
    return insert_number(name, number, fmt::format("_operator.{}", name),
                         {arg("a", Argument(left, Argument::Wrapper::symbolic)), arg("b", right)});
  }

  // Inserts a node that computes a number which no value is yet.
  Result<ValueId> insert_number(std::string_view name, const SymInt& number, std::string target,
                                std::vector<NamedArgument> inputs) {
    PT2_TRY(const ValueId id, graph_.add_value({.name = graph_.unused_name(name), .meta = number}));
    PT2_TRY_VOID(insert_node({.target = std::move(target),
                              .inputs = std::move(inputs),
                              .outputs = {Argument(id, Argument::Wrapper::symbolic)}}));
    const ExprNode* key = number.expr().operator->();
    state_.numbers.emplace(key, id);
    new_numbers_.push_back(key);
    return id;
  }

  Result<void> insert_node(Node node) {
    node.metadata = node_.metadata;
    // A node with one result is named after it; other nodes get names of their own.
    if (node_.name) {
      const ValueId* id = find_only_output(node);
      const ops::Operator op = ops::find_operator(node.target);
      if (!state_.node_names) state_.node_names.emplace(graph_);
      node.name =
          id != nullptr ? graph_.value(*id).name : state_.node_names->unused(short_name(op));
    }
    if (!budget_.take(weight_of(graph_, node))) return budget_.exceeded_by("decomposition adds");
    inserted_.push_back(graph_.insert_node(std::move(node), id_));
    return {};
  }

  // Checks, before the graph changes, that the formula gives the dtypes and ranks that the file
  // records.
  Result<void> check_results() const {
    // torch 2.4 to 2.12 traced LSTMs through oneDNN's layer and recorded their final states with
    // one dimension too many. The operator itself never returns that dimension.
    const bool may_differ = op_.def->signature->name == "aten::lstm";
    const auto is_recorded = [&](const Argument& output, const Value& value) {
      const TensorMeta* meta = tensor_meta(graph_, output);
      const auto* tensor = value.get_if<Tensor>();
      if (meta == nullptr) return output.is<None>();
      return tensor != nullptr && term_of(*tensor) != 0 &&
             (region_ || meta->dtype.dtype() == tensor->dtype()) &&
             (may_differ || meta->sizes.size() == tensor->sizes().size());
    };
    const auto fits = [&](const Trace& trace) { return results_fit(trace, is_recorded); };
    if (std::ranges::all_of(traces_, fits)) return {};
    return unsupported("its formula gives results other than those that the file records");
  }

  void replace_results() {
    graph_.set_node_outputs(id_, {});
    for (size_t i = 0; i < node_.outputs.size(); ++i)
      for_each_pair(node_.outputs[i], traces_[0].results[i],
                    [&](const Argument& output, const Value& value) {
                      if (const auto* id = output.get_if<ValueId>())
                        replace_result(*id, term_of(*value.get_if<Tensor>()));
                    });
    graph_.erase_node(id_).value();
  }

  // Makes the term's node produce the result directly. If the term is an operand or already another
  // result, the result becomes a view of it (aten.alias).
  void replace_result(ValueId result, TermNumber term) {
    const ValueId value = values_.at(term);
    const auto maker = makers_.find(term);
    if (maker == makers_.end()) {
      Node node{.target = std::string(kAten) + "alias.default",
                .inputs = {arg("self", value)},
                .outputs = {Argument(result)},
                .metadata = node_.metadata,
                .name = node_.name};
      graph_.insert_node(std::move(node), id_);
      return;
    }
    const NodeId made_by = maker->second;
    makers_.erase(maker);
    std::vector<Argument> outputs = graph_.node(made_by).outputs;
    const bool names_it = graph_.node(made_by).name == graph_.value(value).name;
    for (Argument& output : outputs)
      for_each_leaf(output, [&](Argument& leaf) {
        if (leaf.get_if<ValueId>() != nullptr && *leaf.get_if<ValueId>() == value) leaf = result;
      });
    graph_.set_node_outputs(made_by, std::move(outputs));
    if (names_it) graph_.set_node_name(made_by, graph_.value(result).name);
    const TensorMeta& computed = *graph_.value(value).tensor();
    const TensorMeta& recorded = *graph_.value(result).tensor();
    if (recorded.sizes.size() != computed.sizes.size() || !(recorded.dtype == computed.dtype))
      graph_.set_value_meta(result, computed);
    graph_.replace_all_uses(value, result);
    graph_.erase_value(value).value();
    values_[term] = result;
  }

  void undo() {
    for (const ExprNode* key : new_numbers_) state_.numbers.erase(key);
    for (size_t i = inserted_.size(); i-- > 0;) graph_.erase_node(inserted_[i]).value();
    // The results of a node are added before it, and it may be what failed.
    for (size_t i = first_new_value_; i < graph_.value_count(); ++i)
      if (const ValueId id{static_cast<uint32_t>(i)}; graph_.contains(id))
        graph_.erase_value(id).value();
  }

  Graph& graph_;
  const NodeId id_;
  const Node node_;
  const ops::Operator& op_;
  NodeBudget& budget_;
  const NumberWriter& writer_;
  GraphState& state_;
  const std::optional<Dtype> region_;
  const size_t first_new_value_;

  Lying lying_ = Lying::as_recorded;
  bool strides_vary_ = false;  // see Emitter::strides_vary
  std::vector<Trace> traces_;
  KnownNumbers known_;
  std::vector<std::optional<Source>> sources_;  // the source of each known number, if any
  std::map<TermNumber, ValueId> values_;
  std::map<TermNumber, NodeId> makers_;  // the new node that computes each term
  std::vector<NodeId> inserted_;
  std::vector<const ExprNode*> new_numbers_;
};

}  // namespace

Result<void> rewrite_node(const NodeToRewrite& node, NodeBudget& budget, const NumberWriter& writer,
                          std::span<const SymbolBindings> choices,
                          const Recorder::Expands& expands) {
  return NodeRewriter(node.graph, node.id, node.op, budget, writer, node.state, node.region)
      .run(choices, expands);
}

}  // namespace pt2
