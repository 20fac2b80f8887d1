// Guards for releases that have none.
#include "convert/converter.h"
#include "convert/guard_assertions.h"
#include "pt2/expr_bounds.h"
#include "pt2/expr_rewrite.h"
#include "pt2/guards.h"

namespace pt2 {
namespace {

class GuardReader {
 public:
  explicit GuardReader(Program& program)
      : program_(program),
        pool_(*program.expressions),
        names_(user_input_names(program)),
        specs_(program.signature.user_inputs()),
        ranges_(program.range_constraints) {}

  // Whether the sizes that the graph records, and the ranges of their symbols, say the same.
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

  // Nothing where the program's tables have nothing that a call must agree with.
  std::optional<GuardOperand> operand(const GuardSource& source) const {
    const ArgumentSpec* spec = input(source);
    if (spec == nullptr || spec->is_constant()) return std::nullopt;
    const auto id = program_.graph.find_value(spec->name);
    const auto number = id ? property(program_.graph.value(*id), source) : std::nullopt;
    return number ? std::optional(GuardOperand{*id, *number}) : std::nullopt;
  }

 private:
  const ArgumentSpec* input(const GuardSource& source) const {
    const auto found = find_input(names_, source);
    return found && *found < specs_.size() ? &specs_[*found] : nullptr;
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

  // Strides and offsets of inputs are checked by nobody, so that the tables say nothing of a
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
  std::vector<std::string> names_;
  std::vector<ArgumentSpec> specs_;
  SymbolRanges ranges_;
};

}  // namespace

Result<void> rewrite_guards(Converter& converter) {
  Program& program = converter.program;
  if (converter.to >= 811 || program.guards_code.empty()) return {};
  const GuardReader reader(program);
  // Behind the nodes of earlier guards, before all others.
  const auto nodes = program.graph.nodes();
  const auto front = nodes.empty() ? std::nullopt : std::optional(nodes.front());
  for (size_t i = 0; i < program.guards_code.size(); ++i) {
    const std::string& text = program.guards_code[i];
    const auto find = [&](const GuardSource& source) { return reader.operand(source); };
    const auto guard = parse_guard(*program.expressions, text);
    if (guard && (reader.is_implied(*guard) || assert_guard(converter, *guard, find, front))) {
      converter.changed = true;
      continue;
    }
    converter.block({.kind = BlockerKind::guard,
                     .text = text,
                     .where = ".guards_code[" + std::to_string(i) + "]",
                     .first = first_release_with(811)});
  }
  program.guards_code.clear();
  return {};
}

}  // namespace pt2
