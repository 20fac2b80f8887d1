#include <fmt/format.h>

#include "ir/version_facts.h"
#include "text/parser.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

// Allows 75 nested graphs, or 300 nested lists and maps, which is more than a program's JSON may
// have. A graph counts more because it uses more stack.
constexpr int kMaxDepth = 300;
constexpr int kGraphWeight = 4;

bool has_values(const Argument& argument) {
  bool found = argument.is<SubgraphId>();
  for_each_value(argument, [&](ValueId) { found = true; });
  for_each_subgraph(argument, [&](SubgraphId) { found = true; });
  return found;
}

class GraphParser {
 public:
  GraphParser(Parsing& parsing, GraphSignature* signature)
      : parsing_(parsing), reader_(parsing.reader), scope_(parsing), signature_(signature) {}

  Result<Graph> parse() {
    const Parsing::Level level(parsing_, kGraphWeight);
    PT2_TRY_VOID(level.check());
    const size_t offset = reader_.current().offset;
    PT2_TRY_VOID(head());
    PT2_TRY_VOID(reader_.expect("{"));
    PT2_TRY_VOID(body());
    PT2_TRY_VOID(reader_.expect("}"));
    scope_.check_all_defined(offset);
    return std::move(scope_.graph);
  }

 private:
  Result<void> head() {
    Graph& graph = scope_.graph;
    const bool has_name = reader_.current().kind == TokenKind::string ||
                          (reader_.current().kind == TokenKind::word && !reader_.next_is("="));
    if (has_name) {
      PT2_TRY(graph.name, reader_.word_or_string("a name"));
    }
    if (reader_.accept_word("order")) PT2_TRY_VOID(value_order());
    PT2_TRY_VOID(reader_.expect("("));
    while (!reader_.at(")")) {
      PT2_TRY_VOID(input());
      if (!reader_.accept(",")) break;
    }
    scope_.finish();
    PT2_TRY_VOID(reader_.expect(")"));
    graph.is_single_tensor_return = reader_.accept_word("is_single_tensor_return");
    return parsing_.spelling<schema::Graph>(graph.spelling);
  }

  Result<void> value_order() {
    PT2_TRY_VOID(reader_.expect("="));
    PT2_TRY_VOID(reader_.expect("["));
    while (!reader_.at("]")) {
      const size_t offset = reader_.current().offset;
      PT2_TRY(const std::string name, reader_.value_name());
      scope_.expect(name, offset);
      if (!reader_.accept(",")) break;
    }
    return reader_.expect("]");
  }

  Result<void> input() {
    PT2_TRY(Argument argument, parse_argument(parsing_, &scope_, Access::define));
    if (signature_ != nullptr) PT2_TRY_VOID(input_spec(argument));
    scope_.graph.add_input(std::move(argument));
    return {};
  }

  // Fills the spec of an input or output from the text that follows it.
  template <class Spec>
  Result<void> fill_spec(const Argument& argument, std::string_view sign,
                         Result<decltype(Spec::kind)> (*parse_kind)(Parsing&), Spec& spec) {
    const size_t offset = reader_.current().offset;
    const auto* id = argument.get_if<ValueId>();
    if (id == nullptr) {
      spec.arg.kind = ArgumentSpec::Kind::constant;
      PT2_TRY_VOID(parse_constant_name(parsing_, spec.arg));
      if (has_values(argument)) {
        parsing_.missing_spec.emplace(reader_.error_at(
            offset, ErrorCode::invalid,
            "nothing says what this argument is for, expected a signature {...} that does"));
      } else {
        spec.arg.value = argument;
      }
      return {};
    }
    if (reader_.accept(sign)) {
      PT2_TRY(spec.kind, parse_kind(parsing_));
      PT2_TRY_VOID(parse_spec_target(parsing_, spec));
    }
    const GraphValue& value = scope_.graph.value(*id);
    spec.arg.kind = expected_spec_kind(spec.kind, value.kind());
    spec.arg.name = value.name;
    if (const auto* type = std::get_if<CustomObjectType>(&value.meta))
      spec.arg.class_fqn = type->class_fqn;
    return {};
  }

  Result<void> input_spec(const Argument& argument) {
    InputSpec spec;
    PT2_TRY_VOID(fill_spec(argument, "=", parse_input_kind, spec));
    PT2_TRY_VOID(parse_persistent(parsing_, spec));
    signature_->input_specs.push_back(std::move(spec));
    return {};
  }

  // Parses statements up to the '}', and continues after wrong ones.
  Result<void> body() {
    while (!reader_.at("}") && !reader_.at_end() && !reader_.is_hopeless()) {
      const size_t start = reader_.current().offset, depth = reader_.depth();
      const bool is_last = reader_.at_word("return");
      Result<void> parsed = statement();
      scope_.finish();
      if (parsed && is_last) return {};
      if (parsed) continue;
      reader_.report(std::move(parsed).error());
      reader_.recover(start, depth);
      if (is_last) return {};
    }
    return reader_.unexpected("'return'");
  }

  Result<void> statement() {
    if (reader_.accept_word("return")) return outputs();
    if (reader_.accept_word("value")) return value_by_nothing();
    if (reader_.accept_word("stack_traces")) {
      PT2_TRY(scope_.graph.stack_traces, parse_stack_traces(parsing_));
      return {};
    }
    return node();
  }

  Result<void> value_by_nothing() {
    const size_t offset = reader_.current().offset;
    PT2_TRY(const std::string name, reader_.value_name());
    PT2_TRY_VOID(reader_.expect(":"));
    PT2_TRY(ValueScope::Meta meta, parse_value_type(parsing_, name));
    scope_.define_by_nothing(name, std::move(meta), offset);
    return {};
  }

  Result<void> node() {
    Node node;
    if (!at_target(parsing_)) {
      do {
        PT2_TRY(Argument output, parse_argument(parsing_, &scope_, Access::define));
        node.outputs.push_back(std::move(output));
      } while (reader_.accept(","));
      PT2_TRY_VOID(reader_.expect("="));
    }
    PT2_TRY(node.target, parse_target(parsing_));
    PT2_TRY_VOID(reader_.expect("("));
    PT2_TRY_VOID(arguments(node));
    PT2_TRY_VOID(reader_.expect(")"));
    const size_t references = parsing_.references.size();
    PT2_TRY_VOID(attributes(node));
    parsing_.reference_counts.push_back(parsing_.references.size() - references);
    scope_.graph.add_node(std::move(node));
    return {};
  }

  Result<void> arguments(Node& node) {
    std::optional<ArgumentKind> kind = usual_argument_kind(parsing_.version);
    while (!reader_.at(")")) {
      const size_t offset = reader_.current().offset;
      if (reader_.accept("*")) {
        kind = ArgumentKind::keyword;
        PT2_TRY_VOID(check_argument_kind(parsing_, kind, offset));
      } else if (reader_.at_word("kind") && !reader_.next_is("=")) {
        PT2_TRY(kind, kind_marker());
        PT2_TRY_VOID(check_argument_kind(parsing_, kind, offset));
      } else {
        PT2_TRY(NamedArgument input, named_argument());
        input.kind = kind;
        node.inputs.push_back(std::move(input));
      }
      if (!reader_.accept(",")) break;
    }
    return {};
  }

  Result<std::optional<ArgumentKind>> kind_marker() {
    reader_.advance();
    if (reader_.accept_word("none")) return std::optional<ArgumentKind>();
    PT2_TRY(const int64_t number, reader_.integer());
    return std::optional(static_cast<ArgumentKind>(number));
  }

  Result<NamedArgument> named_argument() {
    NamedArgument input;
    if (reader_.next_is("=")) {
      PT2_TRY(input.name, reader_.word_or_string("the name of an argument"));
      PT2_TRY_VOID(reader_.expect("="));
    }
    PT2_TRY(input.arg, parse_argument(parsing_, &scope_, Access::use));
    PT2_TRY_VOID(parsing_.spelling<schema::NamedArgument>(input.spelling));
    return input;
  }

  Result<void> attributes(Node& node) {
    node.name = usual_name(node, scope_.graph, parsing_.version);
    if (reader_.at_word("name") && reader_.next_is("=")) {
      reader_.advance(), reader_.advance();
      if (reader_.accept_word("none")) {
        node.name.reset();
      } else {
        PT2_TRY(node.name, reader_.string());
      }
    }
    if (reader_.at_word("is_hop_single_tensor_return") && reader_.next_is("=")) {
      reader_.advance(), reader_.advance();
      PT2_TRY(node.is_hop_single_tensor_return, reader_.boolean());
    }
    PT2_TRY_VOID(parsing_.spelling<schema::Node>(node.spelling));
    while (reader_.current().kind == TokenKind::reference) {
      PT2_TRY(const Parsing::Reference reference, parse_reference(reader_));
      parsing_.references.push_back(reference);
    }
    return {};
  }

  Result<void> outputs() {
    if (reader_.at("}")) return {};
    do {
      PT2_TRY(Argument output, parse_argument(parsing_, &scope_, Access::use));
      if (signature_ != nullptr) PT2_TRY_VOID(output_spec(output));
      scope_.graph.add_output(std::move(output));
    } while (reader_.accept(","));
    return {};
  }

  Result<void> output_spec(const Argument& argument) {
    OutputSpec spec;
    PT2_TRY_VOID(fill_spec(argument, "->", parse_output_kind, spec));
    signature_->output_specs.push_back(std::move(spec));
    return {};
  }

  Parsing& parsing_;
  TextReader& reader_;
  ValueScope scope_;
  GraphSignature* signature_;
};

}  // namespace

Result<void> Parsing::Level::check() const {
  if (parsing_.depth <= kMaxDepth) return {};
  return parsing_.reader.error_at(
      parsing_.reader.current().offset, ErrorCode::limit,
      fmt::format("lists and maps are nested deeper than {}, or graphs deeper than {}", kMaxDepth,
                  kMaxDepth / kGraphWeight));
}

Result<Graph> parse_graph(Parsing& parsing, GraphSignature* signature) {
  return GraphParser(parsing, signature).parse();
}

}  // namespace pt2
