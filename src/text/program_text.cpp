#include "pt2/ir/program_text.h"

#include "base/base64.h"
#include "base/text.h"
#include "ir/version_facts.h"
#include "pt2/format/schema_json.h"
#include "text/printer.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

int version_of(const Program& program) { return version_number(program.schema_version); }

class ProgramPrinter {
 public:
  ProgramPrinter(const Program& program, const TextOptions& options)
      : program_(program), printer_(program, options), out_(printer_.out) {}

  std::string print() {
    out_ = "program schema ";
    append_int(out_, program_.schema_version.major);
    out_ += '.';
    append_int(out_, program_.schema_version.minor);
    printer_.spelling<schema::ExportedProgram>(program_.spelling);
    out_ += " {\n";
    origin();
    symbols();
    records();
    graph();
    if (!program_.module_call_graph.empty()) out_ += '\n';
    for (const ModuleCallEntry& entry : program_.module_call_graph) call(entry);
    metadata();
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void line(std::string_view word, std::string_view text) {
    begin(word);
    printer_.string(text);
    out_ += '\n';
  }
  void begin(std::string_view word) {
    out_ += "  ";
    out_ += word;
    out_ += ' ';
  }
  void pair_line(std::string_view word, std::string_view key, std::string_view value) {
    begin(word);
    printer_.string(key);
    out_ += ' ';
    printer_.string(value);
    out_ += '\n';
  }

  void origin() {
    line("torch", program_.torch_version);
    for (const std::string& verifier : program_.verifiers) line("dialect", verifier);
    for (const auto& [name_space, number] : program_.opset_version) {
      begin("opset");
      printer_.word_or_string(name_space);
      out_ += ' ';
      append_int(out_, number);
      out_ += '\n';
    }
  }

  void symbols() {
    for (const RangeConstraint& range : program_.range_constraints)
      printer_.expressions.note(range.key);
    note_expressions(printer_.expressions, program_.graph);
    printer_.expressions.append_symbols(out_);
    for (const RangeConstraint& range : program_.range_constraints) {
      begin("range");
      printer_.expressions.append_key(out_, *range.key);
      out_ += ' ';
      out_ += pt2::print(range.range);
      printer_.spelling<schema::RangeConstraint>(range.spelling);
      out_ += '\n';
    }
  }

  void records() {
    for (const std::string& guard : program_.guards_code) line("guard", guard);
    for (const NamedTupleFields& fields : program_.namedtuple_fields) {
      begin("namedtuple");
      printer_.string(fields.type_name);
      out_ += ' ';
      printer_.strings(fields.field_names);
      out_ += '\n';
    }
    for (const auto& [name, path] : program_.tensor_paths) pair_line("tensor_path", name, path);
    for (const auto& [name, path] : program_.constant_paths) pair_line("constant_path", name, path);
    for (const EmbeddedConstant& constant : program_.embedded_constants)
      pair_line("embedded_constant", constant.name, encode_base64(constant.bytes));
    for (const std::string& json : program_.equality_constraints) line("equality_constraint", json);
    if (program_.example_inputs) line("example_inputs", *program_.example_inputs);
    if (program_.graph_module_spelling.get() == nullptr) return;
    out_ += "  graph_module";
    printer_.spelling<schema::GraphModule>(program_.graph_module_spelling);
    out_ += '\n';
  }

  void graph() {
    const bool with_specs = specs_fit(program_);
    out_ += "\n  ";
    print_graph(printer_, program_.graph, with_specs);
    out_ += '\n';
    if (!with_specs) signature();
  }

  void signature() {
    out_ += "\n  signature {\n";
    for (const InputSpec& spec : program_.signature.input_specs) {
      spec_line("input", input_kind_name(spec.kind), spec);
      if (is_not_persistent(spec)) out_ += " not_persistent";
      out_ += '\n';
    }
    for (const OutputSpec& spec : program_.signature.output_specs) {
      spec_line("output", output_kind_name(spec.kind), spec);
      out_ += '\n';
    }
    out_ += "  }\n";
  }

  template <class Spec>
  void spec_line(std::string_view side, std::string_view kind, const Spec& spec) {
    out_ += "    ";
    out_ += side;
    out_ += ' ';
    out_ += kind;
    out_ += ' ';
    printer_.argument_spec(spec.arg);
    if (!spec.target) return;
    out_ += ' ';
    printer_.string(*spec.target);
  }

  void call(const ModuleCallEntry& entry) {
    out_ += "  call ";
    printer_.string(entry.fqn);
    printer_.spelling<schema::ModuleCallEntry>(entry.spelling);
    if (entry.signature) call_signature(*entry.signature);
    out_ += '\n';
  }

  void call_signature(const ModuleCallSignature& call) {
    out_ += " {\n";
    specs("inputs", call.inputs);
    specs("outputs", call.outputs);
    out_ += "  ";
    line("in_spec", call.in_spec);
    out_ += "  ";
    line("out_spec", call.out_spec);
    if (call.forward_arg_names) {
      out_ += "    forward_arg_names ";
      printer_.strings(*call.forward_arg_names);
      out_ += '\n';
    }
    out_ += "  }";
    printer_.spelling<schema::ModuleCallSignature>(call.spelling);
  }

  void specs(std::string_view side, const std::vector<ArgumentSpec>& arguments) {
    if (arguments.empty()) return;
    out_ += "    ";
    out_ += side;
    for (size_t i = 0; i < arguments.size(); ++i) {
      out_ += i == 0 ? " " : ", ";
      printer_.argument_spec(arguments[i]);
    }
    out_ += '\n';
  }

  void metadata() {
    const auto& entries = printer_.metadata.entries();
    if (!printer_.options.metadata || (entries.empty() && program_.metadata.empty())) return;
    out_ += "\n  metadata {\n";
    for (const auto& [key, text] : program_.metadata) metadata_entry("program", key, text);
    for (size_t i = 0; i < entries.size(); ++i)
      metadata_entry("#" + std::to_string(i), entries[i]->first, entries[i]->second);
    out_ += "  }\n";
  }

  void metadata_entry(std::string_view label, std::string_view key, std::string_view text) {
    out_ += "    ";
    out_ += label;
    out_ += ' ';
    printer_.word_or_string(key);
    out_ += ' ';
    printer_.string(text);
    out_ += '\n';
  }

  const Program& program_;
  Printer printer_;
  std::string& out_;
};

}  // namespace

size_t MetadataTable::number_of(const std::pair<std::string, std::string>& entry) {
  const auto [found, is_new] = numbers_.try_emplace({entry.first, entry.second}, entries_.size());
  if (is_new) entries_.push_back(&entry);
  return found->second;
}

Printer::Printer(const Program& source, const TextOptions& text_options)
    : program(source),
      options(text_options),
      version(version_of(source)),
      expressions(*source.expressions, expression_spelling(version)) {}

std::string print_program(const Program& program, const TextOptions& options) {
  return ProgramPrinter(program, options).print();
}

}  // namespace pt2
