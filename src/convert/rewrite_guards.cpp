// Guards for releases that have none.
#include "convert/converter.h"
#include "pt2/expr_bounds.h"
#include "pt2/expr_rewrite.h"
#include "pt2/guards.h"

namespace pt2 {
namespace {

class GuardRemover {
 public:
  explicit GuardRemover(Program& program)
      : program_(program),
        pool_(*program.expressions),
        names_(user_input_names(program)),
        specs_(program.signature.user_inputs()),
        ranges_(program.range_constraints) {}

  // Whether the sizes that the graph records, and the ranges of their symbols, say the same.
  bool is_implied(const std::string& text) const {
    const auto guard = parse_guard(pool_, text);
    if (!guard) return false;
    std::vector<std::pair<SymbolId, Expr>> replacements;
    for (const GuardSource& source : guard->sources) {
      const Expr known = value_of(source);
      if (!known) return false;
      replacements.emplace_back(source.symbol->symbol, known);
    }
    const auto condition = substitute(pool_, guard->expr, replacements);
    if (!condition) return false;
    const auto simple = simplify(pool_, *condition);
    return decide(pool_, simple ? *simple : *condition, ranges_) == true;
  }

 private:
  Expr expression(const SymInt& value) const {
    return value.is_symbolic() ? value.expr() : pool_.integer(value.literal());
  }

  // What stands in the program's tables for a property of an input; no expression when nothing
  // does.
  Expr value_of(const GuardSource& source) const {
    for (size_t i = 0; i < names_.size() && i < specs_.size(); ++i) {
      if (names_[i] != source.input) continue;
      if (specs_[i].is_constant()) {
        const auto* number = specs_[i].value.get_if<int64_t>();
        return number ? pool_.integer(*number) : Expr();
      }
      const auto id = program_.graph.find_value(specs_[i].name);
      return id ? property(program_.graph.value(*id), source) : Expr();
    }
    return {};
  }

  Expr property(const GraphValue& value, const GuardSource& source) const {
    if (const auto* number = std::get_if<SymInt>(&value.meta))
      return source.property == GuardSource::Property::value ? expression(*number) : Expr();
    const TensorMeta* meta = value.tensor();
    // Strides and offsets of inputs are checked by nobody, so that nothing implies them.
    if (meta == nullptr || source.property != GuardSource::Property::size) return {};
    const auto dim = static_cast<size_t>(source.dim);
    return dim < meta->sizes.size() ? expression(meta->sizes[dim]) : Expr();
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
  const GuardRemover remover(program);
  for (size_t i = 0; i < program.guards_code.size(); ++i) {
    const std::string& text = program.guards_code[i];
    if (remover.is_implied(text)) {
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
