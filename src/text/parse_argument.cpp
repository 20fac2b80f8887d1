#include <fmt/format.h>

#include "base/hash/text_hash.h"
#include "base/json.h"
#include "base/text.h"
#include "ir/values/record.h"
#include "ir/version_facts.h"
#include "pt2/ir/program_text.h"
#include "text/parser.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

constexpr std::string_view kArgument = "an argument, such as %x, none, true, 2, \"text\" or [1, 2]";

using Wrapper = Argument::Wrapper;

class ArgumentParser {
 public:
  ArgumentParser(Parsing& parsing, ValueScope* scope, Access access)
      : parsing_(parsing), reader_(parsing.reader), scope_(scope), access_(access) {}

  Result<Argument> parse() {
    const size_t offset = reader_.current().offset;
    PT2_TRY(Argument argument, any());
    const Graph* graph = scope_ == nullptr ? nullptr : &scope_->graph;
    PT2_TRY_VOID(check_argument_version(parsing_, argument, graph, offset));
    return argument;
  }

 private:
  Result<Argument> any() {
    switch (reader_.current().kind) {
      case TokenKind::value:
        return value();
      case TokenKind::number:
        return number();
      case TokenKind::string: {
        PT2_TRY(std::string text, reader_.string());
        return Argument(std::move(text));
      }
      case TokenKind::word:
        return word();
      case TokenKind::punctuation:
        if (reader_.at("[")) return list(std::nullopt);
        if (reader_.at("{")) return map();
        break;
      case TokenKind::end:
      case TokenKind::reference:
      case TokenKind::wrong:
        break;
    }
    return reader_.unexpected(kArgument);
  }

  Argument with_optional_mark(Argument argument) {
    if (reader_.accept("?")) argument.wrapper = Wrapper::optional;
    return argument;
  }

  Result<Argument> value() {
    const size_t offset = reader_.current().offset;
    if (scope_ == nullptr) return reader_.unexpected("a constant");
    PT2_TRY(const std::string name, reader_.value_name());
    if (access_ == Access::use) {
      Argument argument = scope_->use(name, offset);
      if (const auto* id = argument.get_if<ValueId>();
          id != nullptr && is_number(scope_->graph.value(*id)))
        argument.wrapper = Wrapper::symbolic;
      return with_optional_mark(std::move(argument));
    }
    auto type = typed(name);
    // Defines the value even if its type is wrong, so that one wrong type is reported as one error.
    Argument argument = scope_->define(name, type ? *std::move(type) : TensorMeta{}, offset);
    if (!type) return std::move(type).error();
    return with_optional_mark(std::move(argument));
  }

  Result<ValueScope::Meta> typed(const std::string& name) {
    PT2_TRY_VOID(reader_.expect(":"));
    return parse_value_type(parsing_, name);
  }

  static bool is_number_word(std::string_view text) {
    return text == "true" || text == "false" || text == "inf" || text == "nan";
  }

  Result<Argument> number() {
    const Token& token = reader_.current();
    const std::string_view text = token.text;
    std::optional<Argument> argument;
    if (token.kind == TokenKind::number || is_number_word(text)) {
      if (const auto flag = parse_literal<bool>(text)) {
        argument = Argument(*flag);
      } else if (const auto integer = parse_int(text)) {
        argument = Argument(*integer);
        // An integer beyond 64 bits, "12345678901234567890", is not accepted as a float.
      } else if (text.find_first_of(".eEn") != std::string_view::npos) {
        if (const auto real = parse_literal<double>(text)) argument = Argument(*real);
      }
    }
    if (!argument) return reader_.unexpected("a float, or an integer of 64 bits");
    reader_.advance();
    return *std::move(argument);
  }

  Result<Argument> word() {
    const std::string_view text = reader_.current().text;
    if (text == "none") return reader_.advance(), with_optional_mark(Argument(None{}));
    if (is_number_word(text)) return number();
    if (text == "sym") return symbolic();
    if (text == "device") {
      reader_.advance();
      PT2_TRY(Device device, parse_device(parsing_));
      return Argument(std::move(device));
    }
    if (text == "op") {
      reader_.advance();
      PT2_TRY(std::string target, parse_target(parsing_));
      return Argument(OperatorName{std::move(target)});
    }
    if (text == "graph") return graph();
    if (const auto kind = find_list_kind(text)) return reader_.advance(), list(kind);
    return reader_.next_is("(") ? function(text) : enumerator(text);
  }

  Result<Argument> symbolic() {
    reader_.advance();
    PT2_TRY(Argument argument, number());
    argument.wrapper = Wrapper::symbolic;
    return argument;
  }

  Result<Argument> enumerator(std::string_view text) {
    if (const auto layout = find_layout(text)) return reader_.advance(), Argument(*layout);
    if (const auto format = find_memory_format(text)) return reader_.advance(), Argument(*format);
    if (find_dtype(text)) {
      PT2_TRY(const ScalarType dtype, parse_dtype(parsing_));
      return Argument(dtype);
    }
    return reader_.unexpected(kArgument);
  }

  // Parses a word that is followed by '('.
  Result<Argument> function(std::string_view text) {
    if (text == "dtype") {
      PT2_TRY(const ScalarType dtype, parse_dtype(parsing_));
      return Argument(dtype);
    }
    if (text == "layout") {
      PT2_TRY(const Layout layout, parse_layout(parsing_));
      return Argument(layout);
    }
    if (text == "memory_format") return memory_format();
    if (text == "complex") return complex();
    if (text == "custom_obj") {
      PT2_TRY(auto strings, two_strings(false));
      return Argument(CustomObject{std::move(strings.first), std::move(strings.second)});
    }
    if (text == "unknown") {
      PT2_TRY(auto strings, two_strings(true));
      return Argument(UnknownArgument{std::move(strings.first), std::move(strings.second)});
    }
    return reader_.unexpected(kArgument);
  }

  Result<Argument> memory_format() {
    reader_.advance();
    PT2_TRY_VOID(reader_.expect("("));
    const size_t offset = reader_.current().offset;
    PT2_TRY(const int64_t number, reader_.integer());
    if (number < 0 || number > UINT8_MAX)
      return reader_.error_at(offset, ErrorCode::invalid, "expected a number from 0 to 255");
    PT2_TRY_VOID(reader_.expect(")"));
    return Argument(static_cast<MemoryFormat>(number));
  }

  Result<double> real() {
    const size_t offset = reader_.current().offset;
    PT2_TRY(const Argument argument, number());
    if (const auto* value = argument.get_if<double>()) return *value;
    return reader_.error_at(offset, ErrorCode::malformed, "found no float, expected one");
  }

  Result<Argument> complex() {
    reader_.advance();
    PT2_TRY_VOID(reader_.expect("("));
    PT2_TRY(const double real_part, real());
    PT2_TRY_VOID(reader_.expect(","));
    PT2_TRY(const double imaginary_part, real());
    PT2_TRY_VOID(reader_.expect(")"));
    return Argument(std::complex<double>(real_part, imaginary_part));
  }

  Result<std::pair<std::string, std::string>> two_strings(bool second_is_json) {
    reader_.advance();
    PT2_TRY_VOID(reader_.expect("("));
    PT2_TRY(std::string first, reader_.string());
    PT2_TRY_VOID(reader_.expect(","));
    PT2_TRY(std::string second, second_is_json ? parsing_.json() : reader_.string());
    PT2_TRY_VOID(reader_.expect(")"));
    return std::pair(std::move(first), std::move(second));
  }

  Result<Argument> graph() {
    if (scope_ == nullptr || access_ == Access::define) return reader_.unexpected("no graph here");
    reader_.advance();
    PT2_TRY(Graph nested, parse_graph(parsing_, nullptr));
    return Argument(scope_->graph.add_subgraph(std::move(nested)));
  }

  Result<Argument> list(std::optional<ListKind> kind) {
    const Parsing::Level level(parsing_);
    PT2_TRY_VOID(level.check());
    const size_t offset = reader_.current().offset, errors = reader_.error_count();
    PT2_TRY_VOID(reader_.expect("["));
    ArgumentList list;
    while (!reader_.at("]")) {
      PT2_TRY(Argument item, any());
      list.items.push_back(std::move(item));
      if (!reader_.accept(",")) break;
    }
    PT2_TRY_VOID(reader_.expect("]"));
    const Graph* graph = scope_ == nullptr ? nullptr : &scope_->graph;
    const bool fits = kind ? fits_list(*kind, list.items, graph)
                           : (kind = inferred_list_kind(list.items, graph)).has_value();
    if (!fits && reader_.error_count() == errors) {
      reader_.report(reader_.error_at(
          offset, ErrorCode::invalid,
          kind ? fmt::format("found an item that a list of '{}' cannot hold", list_kind_word(*kind))
               : "found items of kinds that no list of the format holds together"));
    }
    give_kind(list, kind.value_or(ListKind::tensors));
    return Argument(std::move(list));
  }

  static void give_kind(ArgumentList& list, ListKind kind) {
    list.kind = kind;
    for (Argument& item : list.items) {
      item.wrapper = item_wrapper(kind);
      if (auto* inner = item.get_if<ArgumentList>())
        give_kind(*inner, inner_list_kind(kind).value_or(ListKind::tensors));
    }
  }

  Result<Argument> map() {
    const Parsing::Level level(parsing_);
    PT2_TRY_VOID(level.check());
    PT2_TRY_VOID(reader_.expect("{"));
    ArgumentMap map;
    TextSet<std::string> keys;
    while (!reader_.at("}")) {
      const size_t offset = reader_.current().offset;
      PT2_TRY(std::string key, reader_.string());
      if (!keys.insert(key).second)
        return reader_.error_at(offset, ErrorCode::invalid, "found a key twice");
      PT2_TRY_VOID(reader_.expect(":"));
      PT2_TRY(Argument item, parse());
      map.items.emplace_back(std::move(key), std::move(item));
      if (!reader_.accept(",")) break;
    }
    PT2_TRY_VOID(reader_.expect("}"));
    return Argument(std::move(map));
  }

  Parsing& parsing_;
  TextReader& reader_;
  ValueScope* scope_;
  Access access_;
};

}  // namespace

Result<Argument> parse_argument(Parsing& parsing, ValueScope* scope, Access access) {
  return ArgumentParser(parsing, scope, access).parse();
}

Result<Argument> parse_constant(std::string_view text, SchemaVersion version) {
  std::vector<Error> errors;
  Parsing parsing(text, "", errors);
  parsing.version = version_number(version);
  PT2_TRY(Argument argument, parse_argument(parsing, nullptr, Access::use));
  if (!parsing.reader.at_end()) return parsing.reader.unexpected("the end");
  if (!errors.empty()) return std::move(errors.front());
  return argument;
}

Result<void> parse_constant_name(Parsing& parsing, ArgumentSpec& spec) {
  if (!spec.is_constant() || !parsing.reader.accept_word("as")) return {};
  PT2_TRY(spec.name, parsing.reader.string());
  return {};
}

Result<ArgumentSpec> parse_argument_spec(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  ArgumentSpec spec;
  const Token& token = reader.current();
  const auto kind = token.kind == TokenKind::word ? find_spec_kind(token.text)
                                                  : std::optional<ArgumentSpec::Kind>();
  const bool has_kind = kind && reader.peek().kind == TokenKind::value;
  if (!has_kind && token.kind != TokenKind::value) {
    spec.kind = ArgumentSpec::Kind::constant;
    PT2_TRY(spec.value, parse_argument(parsing, nullptr, Access::use));
    PT2_TRY_VOID(parse_constant_name(parsing, spec));
    return spec;
  }
  if (has_kind) {
    if (*kind == ArgumentSpec::Kind::constant) return reader.unexpected("the kind of a value");
    spec.kind = *kind;
    reader.advance();
  }
  PT2_TRY(spec.name, reader.value_name());
  if (spec.kind == ArgumentSpec::Kind::custom_obj) {
    PT2_TRY(spec.class_fqn, reader.string());
  }
  return spec;
}

bool at_target(const Parsing& parsing) {
  const Token& token = parsing.reader.current();
  const bool may_be =
      token.kind == TokenKind::string || (token.kind == TokenKind::word && full_target(token.text));
  return may_be && parsing.reader.next_is("(");
}

Result<std::string> parse_target(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  if (reader.current().kind == TokenKind::string) return reader.string();
  const auto target = reader.current().kind == TokenKind::word ? full_target(reader.current().text)
                                                               : std::optional<std::string>();
  if (!target) return reader.unexpected("a target such as aten.add.Tensor");
  reader.advance();
  return *target;
}

}  // namespace pt2
