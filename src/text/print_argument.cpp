#include "base/printable.h"
#include "base/text.h"
#include "schema/trace_text.h"
#include "text/printer.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

using Values = Printer::Values;
using Wrapper = Argument::Wrapper;

// One overload for each alternative of Argument::Variant.
class ArgumentPrinter {
 public:
  ArgumentPrinter(Printer& printer, const Graph* graph, Values values, Wrapper wrapper)
      : printer_(printer), graph_(graph), values_(values), wrapper_(wrapper) {}

  void operator()(None) const {
    printer_.out += "none";
    mark_optional();
  }
  void operator()(ValueId id) const {
    const GraphValue& value = graph_->value(id);
    printer_.value_name(value.name);
    if (values_ == Values::defined) printer_.value_type(value);
    mark_optional();
  }
  void operator()(bool value) const { number(value); }
  void operator()(int64_t value) const { number(value); }
  void operator()(double value) const { number(value); }
  void operator()(std::complex<double> value) const {
    printer_.out += "complex(";
    append_float(printer_.out, value.real());
    printer_.out += ", ";
    append_float(printer_.out, value.imag());
    printer_.out += ')';
  }
  void operator()(const std::string& value) const { printer_.string(value); }
  void operator()(ScalarType value) const { printer_.dtype(value); }
  void operator()(MemoryFormat value) const {
    word_or_number(memory_format_word(value), "memory_format", static_cast<int64_t>(value));
  }
  void operator()(Layout value) const {
    word_or_number(layout_word(value), "layout", static_cast<int64_t>(value));
  }
  void operator()(const Device& value) const {
    printer_.out += "device ";
    printer_.device(value);
  }
  void operator()(const OperatorName& value) const {
    printer_.out += "op ";
    printer_.target(value.target);
  }
  void operator()(SubgraphId id) const { print_graph(printer_, graph_->subgraph(id), false); }
  void operator()(const CustomObject& value) const {
    strings("custom_obj(", value.name, value.class_fqn);
  }
  void operator()(const ArgumentList& list) const {
    if (inferred_list_kind(list.items, graph_) != list.kind)
      printer_.out += list_kind_word(list.kind);
    items(list);
  }
  void operator()(const ArgumentMap& map) const {
    printer_.out += '{';
    for (size_t i = 0; i < map.items.size(); ++i) {
      if (i != 0) printer_.out += ", ";
      printer_.string(map.items[i].first);
      printer_.out += ": ";
      printer_.argument(map.items[i].second, graph_, values_);
    }
    printer_.out += '}';
  }
  void operator()(const UnknownArgument& value) const {
    strings("unknown(", value.tag, value.json);
  }

 private:
  void mark_optional() const {
    if (wrapper_ == Wrapper::optional) printer_.out += '?';
  }
  template <class T>
  void number(T value) const {
    if (wrapper_ == Wrapper::symbolic) printer_.out += "sym ";
    append_literal(printer_.out, value);
  }
  void word_or_number(std::string_view word, std::string_view function, int64_t number) const {
    if (!word.empty()) {
      printer_.out += word;
      return;
    }
    printer_.out += function;
    printer_.out += '(';
    append_int(printer_.out, number);
    printer_.out += ')';
  }
  void strings(std::string_view function, std::string_view first, std::string_view second) const {
    printer_.out += function;
    printer_.string(first);
    printer_.out += ", ";
    printer_.string(second);
    printer_.out += ')';
  }
  // Prints the items. The outermost list has already printed the kind and the wrapper.
  void items(const ArgumentList& list) const {
    printer_.out += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i != 0) printer_.out += ", ";
      const ArgumentPrinter item(printer_, graph_, values_, Wrapper::plain);
      if (const auto* inner = list.items[i].get_if<ArgumentList>()) {
        item.items(*inner);
      } else {
        std::visit(item, list.items[i].variant);
      }
    }
    printer_.out += ']';
  }

  Printer& printer_;
  const Graph* graph_;
  Values values_;
  Wrapper wrapper_;
};

}  // namespace

void Printer::string(std::string_view text) {
  if (reads_better_raw(text)) {
    out += '\'';
    out += text;
    out += '\'';
    return;
  }
  json_string(text);
}

void Printer::json_string(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text, false);
  // JSON does not require escapes for all characters that hide or move text on a terminal.
  const bool hides = printable_line(quoted) != quoted;
  if (hides)
    append_json_string(out, text, true);
  else
    out += quoted;
}

void Printer::word_or_string(std::string_view text) {
  if (is_dotted_word(text)) {
    out += text;
  } else {
    string(text);
  }
}

void Printer::strings(const std::vector<std::string>& texts) {
  out += '[';
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i != 0) out += ", ";
    string(texts[i]);
  }
  out += ']';
}

void Printer::value_name(std::string_view name) {
  out += '%';
  if (is_bare_value_name(name)) {
    out += name;
  } else {
    json_string(name);  // names of values have no quotes without escapes
  }
}

void Printer::target(std::string_view target) {
  if (const auto word = shortened_target(target)) {
    out += *word;
  } else {
    string(target);
  }
}

void Printer::device(const Device& device) {
  word_or_string(device.type);
  if (!device.index) return;
  out += ':';
  append_int(out, *device.index);
}

void Printer::dtype(ScalarType dtype) {
  if (const auto known = dtype.dtype()) {
    out += dtype_info(*known).short_name;
    return;
  }
  out += "dtype(";
  append_int(out, dtype.number);
  out += ')';
}

void Printer::argument(const Argument& argument, const Graph* graph, Values values) {
  std::visit(ArgumentPrinter(*this, graph, values, argument.wrapper), argument.variant);
}

void Printer::argument_spec(const ArgumentSpec& spec) {
  using Kind = ArgumentSpec::Kind;
  if (spec.kind == Kind::constant) {
    argument(spec.value, nullptr, Values::used);
    if (spec.name.empty()) return;
    out += " as ";
    string(spec.name);
    return;
  }
  if (spec.kind != Kind::tensor) {
    out += spec_kind_word(spec.kind);
    out += ' ';
  }
  value_name(spec.name);
  if (spec.kind != Kind::custom_obj) return;
  out += ' ';
  string(spec.class_fqn);
}

template <class Record>
void Printer::spelling(const schema::TraceHolder& holder) {
  const std::string text = schema::print_trace(holder, schema::type_of<Record>());
  if (text.empty()) return;
  out += " spelling=";
  string(text);
}

template void Printer::spelling<schema::CoFileInfo>(const schema::TraceHolder&);
template void Printer::spelling<schema::CoLineInfo>(const schema::TraceHolder&);
template void Printer::spelling<schema::TensorMeta>(const schema::TraceHolder&);
template void Printer::spelling<schema::NamedArgument>(const schema::TraceHolder&);
template void Printer::spelling<schema::Node>(const schema::TraceHolder&);
template void Printer::spelling<schema::Graph>(const schema::TraceHolder&);
template void Printer::spelling<schema::RangeConstraint>(const schema::TraceHolder&);
template void Printer::spelling<schema::ModuleCallSignature>(const schema::TraceHolder&);
template void Printer::spelling<schema::ModuleCallEntry>(const schema::TraceHolder&);
template void Printer::spelling<schema::GraphModule>(const schema::TraceHolder&);
template void Printer::spelling<schema::ExportedProgram>(const schema::TraceHolder&);

}  // namespace pt2
