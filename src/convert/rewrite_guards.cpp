// Guards for releases without a field for them.
#include "convert/converter.h"
#include "convert/guard_assertions.h"
#include "ir/guard_names.h"
#include "pt2/ir/expr_bounds.h"
#include "pt2/ir/expr_rewrite.h"
#include "pt2/ir/guards.h"

namespace pt2 {
namespace {

class GuardReader {
 public:
  explicit GuardReader(Program& program)
      : program_(program),
        pool_(*program.expressions),
        input_names_(user_input_names(program)),
        names_(input_names_),
        specs_(program.signature.user_inputs()),
        ranges_(program.range_constraints) {}

  // Whether the recorded sizes and the ranges of their symbols already imply the guard.
  bool is_implied(const Guard& guard) const {
    std::vector<std::pair<SymbolId, Expr>> replacements;
    for (const GuardSource& source : guard.sources) {
      const Expr known = value_of(source);
      if (!known) return false;
      replacements.emplace_back(source.symbol->symbol, known);
    }
    const auto condition = substitute(pool_, guard.expr, replacements);
    if (!condition) return false;
    const auto simple = simplify(pool_, *condition);
    return decide(pool_, simple ? *simple : *condition, ranges_) == true;
  }

  // Nothing where the program's tables hold nothing that a call must agree with.
  std::optional<GuardOperand> operand(const GuardSource& source) const {
    const ArgumentSpec* spec = input(source);
    if (spec == nullptr || spec->is_constant()) return std::nullopt;
    const auto id = program_.graph.find_value(spec->name);
    const auto number = id ? property(program_.graph.value(*id), source) : std::nullopt;
    return number ? std::optional(GuardOperand{*id, *number}) : std::nullopt;
  }

 private:
  const ArgumentSpec* input(const GuardSource& source) const {
    const auto found = names_.find(source);
    return found && found->input < specs_.size() ? &specs_[found->input] : nullptr;
  }

  Expr expression(const SymInt& value) const {
    return value.is_symbolic() ? value.expr() : pool_.integer(value.literal());
  }

  Expr value_of(const GuardSource& source) const {
    if (const ArgumentSpec* spec = input(source); spec != nullptr && spec->is_constant()) {
      const auto* number = spec->value.get_if<int64_t>();
      return number ? pool_.integer(*number) : Expr();
    }
    const auto found = operand(source);
    return found ? expression(found->number) : Expr();
  }

  // No reader checks the strides and offsets of inputs, so the recorded ones say nothing of a
  // call's.
  static std::optional<SymInt> property(const GraphValue& value, const GuardSource& source) {
    if (const auto* number = std::get_if<SymInt>(&value.meta))
      return source.property == GuardSource::Property::value ? std::optional(*number)
                                                             : std::nullopt;
    const TensorMeta* meta = value.tensor();
    const auto dim = static_cast<size_t>(source.dim);
    if (meta == nullptr || source.property != GuardSource::Property::size ||
        dim >= meta->sizes.size())
      return std::nullopt;
    return meta->sizes[dim];
  }

  Program& program_;
  ExprPool& pool_;
  std::vector<std::string> input_names_;
  GuardNames names_;
  std::vector<ArgumentSpec> specs_;
  SymbolRanges ranges_;
};

// The guard's text for the input alone: "L['flat_args'][2]" of "L['flat_args'][2].size()[0]".
std::string_view input_text(const GuardSource& source) {
  using Property = GuardSource::Property;
  const std::string_view text = source.symbol->name;
  if (source.property == Property::value) return text;
  return text.substr(0, text.rfind(source.property == Property::size     ? ".size()"
                                   : source.property == Property::stride ? ".stride()"
                                                                         : ".storage_offset()"));
}

bool replace_input(std::string& text, std::string_view from, std::string_view to) {
  const auto continues = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  bool replaced = false;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at)) {
    const size_t end = at + from.size();
    const bool is_whole = end == text.size() || !continues(text[end]);
    if (is_whole) text.replace(at, from.size(), to);
    at += is_whole ? to.size() : from.size();
    replaced |= is_whole;
  }
  return replaced;
}

// Only the newest readers understand flat positions and elements of *args; no reader understands
// elements of **kwargs.
void rename_inputs(Converter& converter) {
  Program& program = converter.program;
  const std::vector<std::string> input_names = user_input_names(program);
  const std::vector<std::string> paths = guard_paths(program);
  const GuardNames names(input_names);
  for (std::string& text : program.guards_code) {
    const auto guard = parse_guard(*program.expressions, text);
    if (!guard) continue;
    for (const GuardSource& source : guard->sources) {
      const auto found = names.find(source);
      if (!found || found->input >= paths.size()) continue;
      const std::string from(input_text(source));
      if (from == paths[found->input]) continue;
      converter.changed |= replace_input(text, from, paths[found->input]);
    }
  }
}

}  // namespace

Result<void> rewrite_guards(Converter& converter) {
  Program& program = converter.program;
  if (program.guards_code.empty()) return {};
  if (converter.to >= kFirstWithGuards) {
    rename_inputs(converter);
    return {};
  }
  const GuardReader reader(program);
  // After the nodes of earlier guards, before all other nodes.
  const auto nodes = program.graph.nodes();
  const auto front = nodes.empty() ? std::nullopt : std::optional(nodes.front());
  for (size_t i = 0; i < program.guards_code.size(); ++i) {
    const std::string& text = program.guards_code[i];
    const std::string where = ".guards_code[" + std::to_string(i) + "]";
    const auto find = [&](const GuardSource& source) { return reader.operand(source); };
    const auto guard = parse_guard(*program.expressions, text);
    const Release* first = first_release_with(kFirstWithGuards);
    if (guard) {
      const bool is_implied = reader.is_implied(*guard);
      if (!is_implied) {
        auto asserted = assert_guard(converter, *guard, find, front);
        if (!asserted) return at(std::move(asserted).error(), where);
        first = *asserted;
      }
      if (is_implied || first == nullptr) {
        converter.changed = true;
        continue;
      }
    }
    converter.block({.kind = BlockerKind::guard, .text = text, .where = where, .first = first});
  }
  program.guards_code.clear();
  return {};
}

}  // namespace pt2
