#include <algorithm>
#include <array>

#include "base/text.h"
#include "ir/version_facts.h"
#include "text/printer.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

using Values = Printer::Values;

template <class T>
std::string_view symbolic_word();
template <>
std::string_view symbolic_word<int64_t>() {
  return "SymInt";
}
template <>
std::string_view symbolic_word<double>() {
  return "SymFloat";
}
template <>
std::string_view symbolic_word<bool>() {
  return "SymBool";
}

bool is_plain(const std::vector<SymInt>& strides, const std::vector<SymInt>& sizes) {
  const auto usual = contiguous_strides(sizes);
  return usual && std::ranges::equal(strides, *usual);
}

class TypePrinter {
 public:
  TypePrinter(Printer& printer, const GraphValue& value) : printer_(printer), value_(value) {}

  void operator()(const TensorMeta& meta) const {
    printer_.dtype(meta.dtype);
    numbers(meta.sizes);
    if (!is_plain(meta.strides, meta.sizes)) {
      printer_.out += " strides=";
      numbers(meta.strides);
    }
    if (meta.storage_offset.is_symbolic() || meta.storage_offset.literal() != 0) {
      printer_.out += " storage_offset=[";
      printer_.expressions.append(printer_.out, meta.storage_offset);
      printer_.out += ']';
    }
    if (meta.requires_grad) printer_.out += " requires_grad";
    if (meta.device != Device{}) {
      printer_.out += " device=";
      printer_.device(meta.device);
    }
    if (meta.layout != Layout::strided) {
      printer_.out += " layout=";
      printer_.argument(Argument(meta.layout), nullptr, Values::used);
    }
    printer_.spelling<schema::TensorMeta>(meta.spelling);
  }
  template <class T>
  void operator()(const Symbolic<T>& number) const {
    printer_.out += symbolic_word<T>();
    printer_.out += '[';
    printer_.expressions.append(printer_.out, number);
    printer_.out += ']';
  }
  void operator()(const CustomObjectType& type) const {
    printer_.out += "object ";
    printer_.string(type.class_fqn);
    if (type.name == value_.name) return;
    printer_.out += ' ';
    printer_.string(type.name);
  }

 private:
  void numbers(const std::vector<SymInt>& values) const {
    printer_.out += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i != 0) printer_.out += ", ";
      printer_.expressions.append(printer_.out, values[i]);
    }
    printer_.out += ']';
  }

  Printer& printer_;
  const GraphValue& value_;
};

// Returns the values in the order in which a reader of the text meets them.
std::vector<ValueId> order_of_definition(const Graph& graph) {
  std::vector<ValueId> order;
  const auto add = [&](ValueId id) { order.push_back(id); };
  for (const Argument& input : graph.inputs()) for_each_value(input, add);
  for (const ValueId id : graph.values())
    if (graph.value(id).definition.by == Definition::By::nothing) add(id);
  for (const NodeId id : graph.nodes())
    for (const Argument& output : graph.node(id).outputs) for_each_value(output, add);
  return order;
}

// True if the file's tables, one for each kind of value, are in the order of `order`.
bool is_table_order(const Graph& graph, const std::vector<ValueId>& order) {
  std::array<int64_t, std::variant_size_v<decltype(GraphValue::meta)>> last;
  last.fill(-1);
  for (const ValueId id : order) {
    int64_t& before = last[static_cast<size_t>(graph.value(id).kind())];
    if (static_cast<int64_t>(id) <= before) return false;
    before = static_cast<int64_t>(id);
  }
  return true;
}

bool names_value(const ArgumentSpec& spec, const GraphValue& value, ArgumentSpec::Kind kind) {
  const auto* type = std::get_if<CustomObjectType>(&value.meta);
  return spec.kind == kind && spec.name == value.name &&
         (type == nullptr || spec.class_fqn == type->class_fqn);
}

bool is_user(InputKind kind) { return kind == InputKind::user_input; }
bool is_user(OutputKind kind) { return kind == OutputKind::user_output; }

template <class Spec>
bool spec_fits(const Program& program, const Argument& argument, const Spec& spec) {
  if (has_target(spec.kind) != spec.target.has_value()) return false;
  if (const auto* id = argument.get_if<ValueId>()) {
    const GraphValue& value = program.graph.value(*id);
    return names_value(spec.arg, value, expected_spec_kind(spec.kind, value.kind()));
  }
  if (!is_user(spec.kind) || !spec.arg.is_constant() || argument.is<SubgraphId>()) return false;
  const TextOptions options;
  Printer of_graph(program, options), of_spec(program, options);
  of_graph.argument(argument, &program.graph, Values::used);
  of_spec.argument(spec.arg.value, &program.graph, Values::used);
  return of_graph.out == of_spec.out;
}

template <class Specs>
bool all_fit(const Program& program, std::span<const Argument> arguments, const Specs& specs) {
  return std::ranges::equal(arguments, specs, [&](const Argument& argument, const auto& spec) {
    return spec_fits(program, argument, spec);
  });
}

class GraphPrinter {
 public:
  GraphPrinter(Printer& printer, const Graph& graph, bool with_specs)
      : printer_(printer), out_(printer.out), graph_(graph), with_specs_(with_specs) {}

  void print() {
    head();
    printer_.indent += 2;
    if (graph_.stack_traces && printer_.options.metadata) {
      new_line();
      print_stack_traces(printer_, *graph_.stack_traces);
    }
    for (const ValueId id : graph_.values()) {
      if (graph_.value(id).definition.by == Definition::By::nothing) undefined_value(id);
    }
    for (const NodeId id : graph_.nodes()) node(graph_.node(id));
    outputs();
    printer_.indent -= 2;
    new_line();
    out_ += '}';
  }

 private:
  void new_line() { printer_.new_line(); }

  void head() {
    out_ += "graph";
    if (!graph_.name.empty()) {
      out_ += ' ';
      printer_.word_or_string(graph_.name);
    }
    const std::vector<ValueId> order = order_of_definition(graph_);
    if (!is_table_order(graph_, order)) value_order();
    out_ += '(';
    for (size_t i = 0; i < graph_.inputs().size(); ++i) input(i);
    if (with_specs_ && !graph_.inputs().empty()) new_line();
    out_ += ')';
    if (graph_.is_single_tensor_return) out_ += " is_single_tensor_return";
    printer_.spelling<schema::Graph>(graph_.spelling);
    out_ += " {";
  }

  void value_order() {
    out_ += " order=[";
    bool is_first = true;
    for (const ValueId id : graph_.values()) {
      if (!std::exchange(is_first, false)) out_ += ", ";
      printer_.value_name(graph_.value(id).name);
    }
    out_ += ']';
  }

  void input(size_t i) {
    if (i != 0) out_ += with_specs_ ? "," : ", ";
    if (with_specs_) {
      printer_.indent += 4;
      new_line();
      printer_.indent -= 4;
    }
    printer_.argument(graph_.inputs()[i], &graph_, Values::defined);
    if (!with_specs_) return;
    const InputSpec& spec = printer_.program.signature.input_specs[i];
    constant_name(spec.arg);
    if (is_user(spec.kind)) return;
    out_ += " = ";
    out_ += input_kind_name(spec.kind);
    target(spec);
    if (is_not_persistent(spec)) out_ += " not_persistent";
  }

  void constant_name(const ArgumentSpec& spec) {
    if (!spec.is_constant() || spec.name.empty()) return;
    out_ += " as ";
    printer_.string(spec.name);
  }

  template <class Spec>
  void target(const Spec& spec) {
    if (!spec.target) return;
    out_ += ' ';
    printer_.string(*spec.target);
  }

  void undefined_value(ValueId id) {
    new_line();
    out_ += "value ";
    printer_.argument(Argument(id), &graph_, Values::defined);
  }

  void node(const Node& node) {
    new_line();
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (i != 0) out_ += ", ";
      printer_.argument(node.outputs[i], &graph_, Values::defined);
    }
    if (!node.outputs.empty()) out_ += " = ";
    printer_.target(node.target);
    out_ += '(';
    arguments(node);
    out_ += ')';
    attributes(node);
  }

  // Prints the arguments. As in Python, "*" marks that keyword arguments follow.
  void arguments(const Node& node) {
    std::optional<ArgumentKind> kind = usual_argument_kind(printer_.version);
    bool is_first = true;
    for (const NamedArgument& input : node.inputs) {
      if (!std::exchange(is_first, false)) out_ += ", ";
      if (input.kind != kind) {
        kind = input.kind;
        kind_marker(kind);
        out_ += ", ";
      }
      if (!input.name.empty()) {
        printer_.word_or_string(input.name);
        out_ += '=';
      }
      printer_.argument(input.arg, &graph_, Values::used);
      printer_.spelling<schema::NamedArgument>(input.spelling);
    }
  }

  void kind_marker(std::optional<ArgumentKind> kind) {
    if (kind == ArgumentKind::keyword) {
      out_ += '*';
      return;
    }
    out_ += "kind ";
    if (kind) {
      append_int(out_, static_cast<int64_t>(*kind));
    } else {
      out_ += "none";
    }
  }

  void attributes(const Node& node) {
    if (node.name != usual_name(node, graph_, printer_.version)) {
      out_ += " name=";
      if (node.name) {
        printer_.string(*node.name);
      } else {
        out_ += "none";
      }
    }
    if (node.is_hop_single_tensor_return) {
      out_ += " is_hop_single_tensor_return=";
      append_literal(out_, *node.is_hop_single_tensor_return);
    }
    printer_.spelling<schema::Node>(node.spelling);
    if (!printer_.options.metadata) return;
    for (const auto& entry : node.metadata) {
      out_ += " #";
      append_int(out_, static_cast<int64_t>(printer_.metadata.number_of(entry)));
    }
  }

  void outputs() {
    new_line();
    out_ += "return";
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      out_ += i == 0 ? " " : ", ";
      printer_.argument(graph_.outputs()[i], &graph_, Values::used);
      if (!with_specs_) continue;
      const OutputSpec& spec = printer_.program.signature.output_specs[i];
      constant_name(spec.arg);
      if (is_user(spec.kind)) continue;
      out_ += " -> ";
      out_ += output_kind_name(spec.kind);
      target(spec);
    }
  }

  Printer& printer_;
  std::string& out_;
  const Graph& graph_;
  bool with_specs_;
};

}  // namespace

void Printer::value_type(const GraphValue& value) {
  out += ": ";
  std::visit(TypePrinter(*this, value), value.meta);
}

void note_expressions(ExpressionPrinter& expressions, const Graph& graph) {
  // The program read from the text has the same order, which matters if the hints of a symbol
  // disagree: the first hint counts.
  for (const ValueId id : order_of_definition(graph)) {
    std::visit(
        [&]<class T>(const T& meta) {
          if constexpr (std::is_same_v<T, TensorMeta>) {
            for (const SymInt& size : meta.sizes) expressions.note(size);
            for (const SymInt& stride : meta.strides) expressions.note(stride);
            expressions.note(meta.storage_offset);
          } else if constexpr (!std::is_same_v<T, CustomObjectType>) {
            expressions.note(meta);
          }
        },
        graph.value(id).meta);
  }
  for (const Graph& nested : graph.subgraphs()) note_expressions(expressions, nested);
}

void print_graph(Printer& printer, const Graph& graph, bool with_specs) {
  GraphPrinter(printer, graph, with_specs).print();
}

bool specs_fit(const Program& program) {
  return all_fit(program, program.graph.inputs(), program.signature.input_specs) &&
         all_fit(program, program.graph.outputs(), program.signature.output_specs);
}

}  // namespace pt2
