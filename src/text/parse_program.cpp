#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/hash/text_hash.h"
#include "base/json.h"
#include "base/platform.h"
#include "base/text.h"
#include "ir/version_facts.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/program_text.h"
#include "schema/trace_text.h"
#include "text/parser.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

std::optional<SchemaVersion> version_of(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = parse_int(text.substr(0, dot)), minor = parse_int(text.substr(dot + 1));
  if (!major || !minor || *major < 1 || *minor < 0) return std::nullopt;
  return SchemaVersion{*major, *minor};
}

class ProgramParser {
 public:
  ProgramParser(Parsing& parsing, const Limits& limits)
      : parsing_(parsing), reader_(parsing.reader), program_(parsing.program), limits_(limits) {}

  void parse() {
    if (Result<void> parsed = head(); !parsed) return reader_.report(std::move(parsed).error());
    while (!reader_.at("}") && !reader_.at_end() && !reader_.is_hopeless()) {
      const size_t start = reader_.current().offset, depth = reader_.depth();
      Result<void> parsed = item();
      if (parsed) continue;
      reader_.report(std::move(parsed).error());
      reader_.recover(start, depth);
    }
    if (Result<void> ended = end(); !ended) reader_.report(std::move(ended).error());
  }

 private:
  struct Item {
    std::string_view word;
    Result<void> (ProgramParser::*parse)();
  };

  Result<void> head() {
    if (!reader_.accept_word("program")) return reader_.unexpected("'program'");
    if (!reader_.accept_word("schema")) return reader_.unexpected("'schema'");
    PT2_TRY_VOID(schema_version());
    PT2_TRY_VOID(parsing_.spelling<schema::ExportedProgram>(program_.spelling));
    return reader_.expect("{");
  }

  Result<void> schema_version() {
    const Token token = reader_.current();
    const auto version = token.kind == TokenKind::number ? version_of(token.text) : std::nullopt;
    if (!version) return reader_.unexpected("a schema version such as 8.20");
    const auto [major, minor] = *version;
    if (major > schema::kNewestVersion / 100) {
      return reader_.error_at(token.offset, ErrorCode::unsupported,
                              fmt::format("schema version {} is not known here", major));
    }
    reader_.advance();
    program_.schema_version = *version;
    parsing_.version = version_number(*version);
    parsing_.expressions.emplace(*program_.expressions, expression_spelling(parsing_.version));
    return {};
  }

  Result<void> item() {
    static constexpr Item kItems[] = {
        {"torch", &ProgramParser::torch},
        {"dialect", &ProgramParser::dialect},
        {"opset", &ProgramParser::opset},
        {"symbol", &ProgramParser::symbol},
        {"range", &ProgramParser::range},
        {"guard", &ProgramParser::guard},
        {"namedtuple", &ProgramParser::namedtuple},
        {"tensor_path", &ProgramParser::tensor_path},
        {"constant_path", &ProgramParser::constant_path},
        {"embedded_constant", &ProgramParser::embedded_constant},
        {"equality_constraint", &ProgramParser::equality_constraint},
        {"example_inputs", &ProgramParser::example_inputs},
        {"graph_module", &ProgramParser::graph_module},
        {"graph", &ProgramParser::graph},
        {"signature", &ProgramParser::signature},
        {"call", &ProgramParser::call},
        {"metadata", &ProgramParser::metadata},
    };
    for (const Item& each : kItems)
      if (reader_.accept_word(each.word)) return (this->*each.parse)();
    return reader_.unexpected("'graph', 'range', 'call' or another part of a program");
  }

  Result<void> torch() {
    PT2_TRY(program_.torch_version, reader_.string());
    return {};
  }
  Result<void> dialect() {
    PT2_TRY(std::string verifier, reader_.string());
    program_.verifiers.push_back(std::move(verifier));
    return {};
  }
  Result<void> opset() {
    const size_t offset = reader_.current().offset;
    PT2_TRY(std::string name, reader_.word_or_string("a namespace of operators"));
    PT2_TRY(const int64_t number, reader_.integer());
    parsing_.check_unique("opset", name, offset);
    program_.opset_version.emplace_back(std::move(name), number);
    return {};
  }

  // Parses "symbol s77 = 4 (positive, integer)".
  Result<void> symbol() {
    const size_t offset = reader_.current().offset;
    PT2_TRY(const std::string name, reader_.word_or_string("a symbol"));
    std::optional<Number> hint;
    if (reader_.accept("=")) {
      PT2_TRY(hint, symbol_hint());
    }
    std::string assumptions;
    if (reader_.accept("(")) {
      PT2_TRY(assumptions, symbol_assumptions());
    }
    auto declared = parsing_.expressions->declare(name, assumptions, hint);
    if (!declared) return reader_.placed(std::move(declared).error(), offset);
    return {};
  }

  Result<Number> symbol_hint() {
    const size_t offset = reader_.current().offset;
    PT2_TRY(const Argument argument, parse_argument(parsing_, nullptr, Access::use));
    if (const auto* value = argument.get_if<int64_t>()) return Number(*value);
    if (const auto* value = argument.get_if<double>()) return Number(*value);
    if (const auto* value = argument.get_if<bool>()) return Number(*value);
    return reader_.error_at(offset, ErrorCode::malformed,
                            "found something other than a number, which a hint must be");
  }

  Result<std::string> symbol_assumptions() {
    std::string text;
    if (reader_.current().kind == TokenKind::string) {
      PT2_TRY(text, reader_.string());
    } else {
      do {
        PT2_TRY(const std::string word, reader_.word_or_string("an assumption"));
        text += fmt::format("{}{}=True", text.empty() ? "" : ", ", word);
      } while (reader_.accept(","));
    }
    PT2_TRY_VOID(reader_.expect(")"));
    return text;
  }

  // Parses "range s77 [0, oo]".
  Result<void> range() {
    const size_t offset = reader_.current().offset;
    RangeConstraint constraint;
    PT2_TRY(constraint.key, range_key());
    PT2_TRY_VOID(reader_.expect("["));
    PT2_TRY(constraint.range.min, bound("-oo"));
    PT2_TRY_VOID(reader_.expect(","));
    PT2_TRY(constraint.range.max, bound("oo"));
    PT2_TRY_VOID(reader_.expect("]"));
    PT2_TRY_VOID(parsing_.spelling<schema::RangeConstraint>(constraint.spelling));
    if (constraint.range.is_empty()) {
      return reader_.error_at(offset, ErrorCode::invalid,
                              fmt::format("the range {} is empty", pt2::print(constraint.range)));
    }
    parsing_.check_unique("range", constraint.key->text, offset);
    program_.range_constraints.push_back(std::move(constraint));
    return {};
  }

  Result<const SpelledExpr*> range_key() {
    const size_t offset = reader_.current().offset;
    Result<const SpelledExpr*> key = nullptr;
    if (reader_.current().kind == TokenKind::string) {
      PT2_TRY(const std::string text, reader_.string());
      key = parsing_.expressions->read_quoted(text);
    } else {
      const std::string_view text = reader_.expression();
      if (text.empty()) return reader_.unexpected("an expression");
      key = parsing_.expressions->read_key(text);
    }
    if (!key) return reader_.placed(std::move(key).error(), offset);
    return key;
  }

  Result<std::optional<int64_t>> bound(std::string_view infinity) {
    if (reader_.current().text == infinity) return reader_.advance(), std::optional<int64_t>();
    PT2_TRY(const int64_t number, reader_.integer());
    return std::optional(number);
  }

  Result<void> guard() {
    PT2_TRY(std::string text, reader_.string());
    program_.guards_code.push_back(std::move(text));
    return {};
  }
  Result<void> namedtuple() {
    const size_t offset = reader_.current().offset;
    NamedTupleFields fields;
    PT2_TRY(fields.type_name, reader_.string());
    PT2_TRY(fields.field_names, parsing_.strings());
    parsing_.check_unique("namedtuple", fields.type_name, offset);
    program_.namedtuple_fields.push_back(std::move(fields));
    return {};
  }

  Result<std::pair<std::string, std::string>> unique_pair(std::string_view word) {
    const size_t offset = reader_.current().offset;
    PT2_TRY(std::string name, reader_.string());
    PT2_TRY(std::string text, reader_.string());
    parsing_.check_unique(word, name, offset);
    return std::pair(std::move(name), std::move(text));
  }
  Result<void> tensor_path() {
    PT2_TRY(auto path, unique_pair("tensor_path"));
    program_.tensor_paths.push_back(std::move(path));
    return {};
  }
  Result<void> constant_path() {
    PT2_TRY(auto path, unique_pair("constant_path"));
    program_.constant_paths.push_back(std::move(path));
    return {};
  }
  Result<void> embedded_constant() {
    const size_t offset = reader_.current().offset;
    PT2_TRY(auto constant, unique_pair("embedded_constant"));
    auto bytes = decode_base64(constant.second);
    if (!bytes)
      return reader_.error_at(offset, ErrorCode::malformed, "found something other than base64");
    program_.embedded_constants.push_back({std::move(constant.first), *std::move(bytes)});
    return {};
  }
  Result<void> equality_constraint() {
    PT2_TRY(std::string json, parsing_.json());
    program_.equality_constraints.push_back(std::move(json));
    return {};
  }
  Result<void> example_inputs() {
    PT2_TRY(program_.example_inputs, parsing_.json());
    return {};
  }
  Result<void> graph_module() {
    return parsing_.spelling<schema::GraphModule>(program_.graph_module_spelling);
  }

  Result<void> graph() {
    if (has_graph_) return reader_.unexpected("one graph");
    has_graph_ = true;
    GraphSignature signature;
    PT2_TRY(program_.graph, parse_graph(parsing_, &signature));
    if (!has_signature_) program_.signature = std::move(signature);
    return {};
  }
  Result<void> signature() {
    if (has_signature_) return reader_.unexpected("one signature");
    has_signature_ = true;
    return parse_signature(parsing_, program_.signature);
  }

  Result<void> call() {
    ModuleCallEntry entry;
    PT2_TRY(entry.fqn, reader_.string());
    PT2_TRY_VOID(parsing_.spelling<schema::ModuleCallEntry>(entry.spelling));
    if (reader_.accept("{")) {
      PT2_TRY(entry.signature, call_signature());
    }
    program_.module_call_graph.push_back(std::move(entry));
    return {};
  }

  Result<ModuleCallSignature> call_signature() {
    ModuleCallSignature call;
    while (!reader_.at("}")) {
      if (reader_.accept_word("inputs")) {
        PT2_TRY(call.inputs, specs());
      } else if (reader_.accept_word("outputs")) {
        PT2_TRY(call.outputs, specs());
      } else if (reader_.accept_word("in_spec")) {
        PT2_TRY(call.in_spec, reader_.string());
      } else if (reader_.accept_word("out_spec")) {
        PT2_TRY(call.out_spec, reader_.string());
      } else if (reader_.accept_word("forward_arg_names")) {
        PT2_TRY(call.forward_arg_names, parsing_.strings());
      } else {
        return reader_.unexpected(
            "'inputs', 'outputs', 'in_spec', 'out_spec', 'forward_arg_names' or '}'");
      }
    }
    PT2_TRY_VOID(reader_.expect("}"));
    PT2_TRY_VOID(parsing_.spelling<schema::ModuleCallSignature>(call.spelling));
    return call;
  }

  Result<std::vector<ArgumentSpec>> specs() {
    std::vector<ArgumentSpec> specs;
    do {
      PT2_TRY(ArgumentSpec spec, parse_argument_spec(parsing_));
      specs.push_back(std::move(spec));
    } while (reader_.accept(","));
    return specs;
  }

  Result<void> metadata() {
    PT2_TRY_VOID(reader_.expect("{"));
    while (!reader_.at("}")) {
      const size_t offset = reader_.current().offset;
      const bool is_program = reader_.accept_word("program");
      Parsing::Reference label;
      if (!is_program) {
        PT2_TRY(label, parse_reference(reader_));
      }
      PT2_TRY(std::string key, reader_.word_or_string("a key"));
      PT2_TRY(std::string text, reader_.string());
      if (is_program) {
        parsing_.check_unique("metadata", key, offset);
        program_.metadata.emplace_back(std::move(key), std::move(text));
      } else if (!entries_.try_emplace(label.number, std::move(key), std::move(text)).second) {
        return reader_.error_at(offset, ErrorCode::invalid,
                                fmt::format("#{} is there twice", label.number));
      }
    }
    return reader_.expect("}");
  }

  Result<void> end() {
    if (reader_.error_count() > 0) return {};
    PT2_TRY_VOID(reader_.expect("}"));
    if (!reader_.at_end()) return reader_.unexpected("the end");
    if (!has_graph_) return reader_.error_at(0, ErrorCode::invalid, "found no graph, expected one");
    if (!has_signature_ && parsing_.missing_spec) return *parsing_.missing_spec;
    resolve_metadata(parsing_, entries_, limits_);
    return {};
  }

  Parsing& parsing_;
  TextReader& reader_;
  Program& program_;
  const Limits& limits_;
  MetadataEntries entries_;
  bool has_graph_ = false;
  bool has_signature_ = false;
};

// Gives nodes their metadata entries, in the order of the references in the text.
class MetadataResolver {
 public:
  MetadataResolver(Parsing& parsing, const MetadataEntries& entries, uint64_t max_bytes)
      : parsing_(parsing), entries_(entries), max_bytes_(max_bytes), bytes_left_(max_bytes) {}

  Result<void> resolve(Graph& graph) {
    for (const NodeId id : graph.nodes()) {
      for (const NamedArgument& input : graph.node(id).inputs) {
        Result<void> resolved;
        for_each_subgraph(input.arg, [&](SubgraphId nested) {
          if (resolved) resolved = resolve(graph.subgraph(nested));
        });
        PT2_TRY_VOID(std::move(resolved));
      }
      const size_t count = parsing_.reference_counts[node_++];
      if (count == 0) continue;
      PT2_TRY(Metadata metadata, metadata_of(count));
      graph.set_node_metadata(id, std::move(metadata));
    }
    return {};
  }

 private:
  // Limits the bytes, because a short text may name a long entry many times.
  Result<Metadata> metadata_of(size_t count) {
    Metadata metadata;
    TextSet<std::string_view> keys;
    for (; count > 0; --count) {
      const auto [number, offset] = parsing_.references[reference_++];
      const auto entry = entries_.find(number);
      if (entry == entries_.end()) {
        return parsing_.reader.error_at(offset, ErrorCode::invalid,
                                        fmt::format("metadata {{...}} has no #{}", number));
      }
      const auto& [key, text] = entry->second;
      if (!keys.insert(key).second) {
        return parsing_.reader.error_at(offset, ErrorCode::invalid,
                                        fmt::format("the node has '{}' twice", key));
      }
      const uint64_t bytes = key.size() + text.size();
      if (bytes > bytes_left_) {
        return parsing_.reader.error_at(
            offset, ErrorCode::limit,
            fmt::format("the metadata of all nodes takes more than {} bytes "
                        "(max_program_ratio, max_json_bytes)",
                        max_bytes_));
      }
      bytes_left_ -= bytes;
      metadata.emplace_back(key, text);
    }
    return metadata;
  }

  Parsing& parsing_;
  const MetadataEntries& entries_;
  const uint64_t max_bytes_;
  uint64_t bytes_left_;
  size_t node_ = 0;
  size_t reference_ = 0;
};

}  // namespace

void resolve_metadata(Parsing& parsing, const MetadataEntries& entries, const Limits& limits) {
  // As much as a file's JSON of this size may take; 16 MB in any case.
  const uint64_t expanded = std::max(
      saturating_product(parsing.reader.size(), limits.max_program_ratio), uint64_t{16} << 20);
  MetadataResolver resolver(parsing, entries, std::min(expanded, limits.max_json_bytes));
  Result<void> resolved = resolver.resolve(parsing.program.graph);
  if (!resolved) parsing.reader.report(std::move(resolved).error());
}

void Parsing::check_unique(std::string_view dictionary, const std::string& key, size_t offset) {
  if (keys.insert(fmt::format("{} {}", dictionary, key)).second) return;
  reader.report(reader.error_at(offset, ErrorCode::invalid,
                                fmt::format("the {} '{}' is there twice", dictionary, key)));
}

template <class Record>
Result<void> Parsing::spelling(schema::TraceHolder& holder) {
  if (!reader.at_word("spelling") || !reader.next_is("=")) return {};
  reader.advance(), reader.advance();
  const size_t offset = reader.current().offset;
  PT2_TRY(const std::string text, reader.string());
  auto trace = schema::parse_trace(text, schema::type_of<Record>());
  if (!trace) return reader.placed(std::move(trace).error(), offset);
  holder = *std::move(trace);
  return {};
}

template Result<void> Parsing::spelling<schema::CoFileInfo>(schema::TraceHolder&);
template Result<void> Parsing::spelling<schema::CoLineInfo>(schema::TraceHolder&);
template Result<void> Parsing::spelling<schema::TensorMeta>(schema::TraceHolder&);
template Result<void> Parsing::spelling<schema::NamedArgument>(schema::TraceHolder&);
template Result<void> Parsing::spelling<schema::Node>(schema::TraceHolder&);
template Result<void> Parsing::spelling<schema::Graph>(schema::TraceHolder&);

Result<std::string> Parsing::json() {
  const size_t offset = reader.current().offset;
  PT2_TRY(std::string text, reader.string());
  if (auto parsed = parse_json(text, {.allow_non_finite = true}); !parsed)
    return reader.placed(std::move(parsed).error(), offset);
  return text;
}

Result<std::vector<std::string>> Parsing::strings() {
  PT2_TRY_VOID(reader.expect("["));
  std::vector<std::string> texts;
  while (!reader.at("]")) {
    PT2_TRY(std::string text, reader.string());
    texts.push_back(std::move(text));
    if (!reader.accept(",")) break;
  }
  PT2_TRY_VOID(reader.expect("]"));
  return texts;
}

Result<Parsing::Reference> parse_reference(TextReader& reader) {
  const Token token = reader.current();
  const auto number = token.kind == TokenKind::reference ? parse_int(token.text) : std::nullopt;
  if (!number) return reader.unexpected("a reference such as #12");
  reader.advance();
  return Parsing::Reference{*number, token.offset};
}

Result<Program> parse_program(std::string_view text, std::string_view name,
                              std::vector<Error>& errors, const Limits& limits) {
  Parsing parsing(text, name, errors);
  TextReader& reader = parsing.reader;
  if (text.size() > limits.max_json_bytes) {
    reader.report({ErrorCode::limit,
                   fmt::format("{} bytes of text, expected at most {} (max_json_bytes)",
                               text.size(), limits.max_json_bytes),
                   std::string(name)});
  } else if (const size_t valid = valid_utf8_prefix(text); valid < text.size()) {
    reader.report(reader.error_at(valid, ErrorCode::malformed, "found a byte that is not UTF-8"));
  } else {
    ProgramParser(parsing, limits).parse();
  }
  if (reader.error_count() > 0) return reader.first_error();
  return std::move(parsing.program);
}

}  // namespace pt2
