// Rewrites guards to a form that the release that loads the program can check.
#include <algorithm>

#include "base/hash/text_hash.h"
#include "convert/converter.h"
#include "convert/guard_assertions.h"
#include "ir/guard_names.h"
#include "ir/node_origins.h"
#include "ir/symbols/sym_int.h"
#include "pt2/ir/expr_bounds.h"
#include "pt2/ir/expr_rewrite.h"
#include "pt2/ir/guards.h"

namespace pt2 {
namespace {

// Returns the part of the guard's text that names the input: "L['flat_args'][2]" of
// "L['flat_args'][2].size()[0]".
std::string_view input_text(const GuardSource& source) {
  using Property = GuardSource::Property;
  const std::string_view text = source.symbol->name;
  if (source.property == Property::value) return text;
  return text.substr(0, text.rfind(source.property == Property::size     ? ".size()"
                                   : source.property == Property::stride ? ".stride()"
                                                                         : ".storage_offset()"));
}

// Returns where the name of an input ends that begins at `at`: L['x'][0].bias of
// L['x'][0].bias.size()[1].
size_t end_of_input(std::string_view text, size_t at) {
  constexpr std::string_view kWord =
      "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  size_t end = at + 1;  // behind the L
  while (end < text.size()) {
    if (text[end] == '[') {
      size_t key = end + 1;
      if (key < text.size() && (text[key] == '\'' || text[key] == '"'))
        key = text.find(text[key], key + 1);
      const size_t close = text.find(']', key);
      if (close == text.npos) return text.size();
      end = close + 1;
    } else if (text[end] == '.') {
      const size_t word = std::min(text.find_first_not_of(kWord, end + 1), text.size());
      if (word < text.size() && text[word] == '(') return end;
      end = word;
    } else {
      return end;
    }
  }
  return end;
}

// Replaces names of inputs. Linear: a guard may name all inputs of a program.
std::string with_inputs(std::string_view text,
                        const TextMap<std::string_view, std::string_view>& new_names) {
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find("L["); at != text.npos;) {
    const size_t end = end_of_input(text, at);
    if (const auto found = new_names.find(text.substr(at, end - at)); found != new_names.end()) {
      out += text.substr(copied, at - copied);
      out += found->second;
      copied = end;
    }
    at = text.find("L[", end);
  }
  out += text.substr(copied);
  return out;
}

class GuardReader {
 public:
  explicit GuardReader(Program& program)
      : program_(program),
        pool_(*program.expressions),
        input_names_(user_input_names(program)),
        names_(input_names_),
        paths_(guard_paths(program)),
        specs_(program.signature.user_inputs()),
        ranges_(program.range_constraints) {}

  // False if the guards examined so far, with the recorded sizes in place of their sources, may
  // have been too large together: many guards may read one long expression, each many times.
  bool may_examine(const Guard& guard) {
    constexpr size_t kMostExamined = 2'000'000;
    size_t largest = 1;
    for (const GuardSource& source : guard.sources)
      if (const Expr known = value_of(source)) largest = std::max(largest, known->size);
    examined_ += std::min(guard.expr->size, kMostExamined) * std::min(largest, kMostExamined);
    examined_ = std::min(examined_, kMostExamined + 1);
    return examined_ <= kMostExamined;
  }

  // True if the recorded sizes and the ranges of their symbols already imply the guard.
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

  // Nothing if the program's tables record no number that a call must agree with.
  std::optional<GuardOperand> operand(const GuardSource& source) const {
    const ArgumentSpec* spec = input(source);
    if (spec == nullptr || spec->is_constant()) return std::nullopt;
    const auto id = program_.graph.find_value(spec->name);
    const auto number = id ? property(program_.graph.value(*id), source) : std::nullopt;
    return number ? std::optional(GuardOperand{*id, *number}) : std::nullopt;
  }

  // Returns the guard's text with its inputs named by paths. Only the newest readers understand
  // flat positions and elements of *args, and none understands elements of **kwargs. Nothing if an
  // input has no path that every reader is sure to understand.
  std::optional<std::string> with_paths(const Guard& guard) const {
    TextMap<std::string_view, std::string_view> paths;
    for (const GuardSource& source : guard.sources) {
      const auto found = names_.find(source);
      if (!found || found->input >= paths_.size()) continue;
      const std::string& path = paths_[found->input];
      if (path.empty()) return std::nullopt;
      paths.emplace(input_text(source), path);
    }
    return with_inputs(guard.text, paths);
  }

 private:
  const ArgumentSpec* input(const GuardSource& source) const {
    const auto found = names_.find(source);
    return found && found->input < specs_.size() ? &specs_[found->input] : nullptr;
  }

  Expr value_of(const GuardSource& source) const {
    if (const ArgumentSpec* spec = input(source); spec != nullptr && spec->is_constant()) {
      const auto* number = spec->value.get_if<int64_t>();
      return number ? pool_.integer(*number) : Expr();
    }
    const auto found = operand(source);
    return found ? expression_of(found->number, pool_) : Expr();
  }

  // Readers do not check the strides and offsets of inputs, so the recorded ones prove nothing
  // about a call.
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
  std::vector<std::string> paths_;
  std::vector<ArgumentSpec> specs_;
  SymbolRanges ranges_;
  size_t examined_ = 0;
};

}  // namespace

Result<void> rewrite_guards(Converter& converter) {
  Program& program = converter.program;
  if (program.guards_code.empty()) return {};
  const bool has_field = converter.to >= kFirstWithGuards;
  GuardReader reader(program);
  // New nodes go after the nodes of earlier guards and before all other nodes.
  const auto nodes = program.graph.nodes();
  const AssertionPlace front{.before = nodes.empty() ? std::nullopt : std::optional(nodes.front()),
                             .metadata = root_metadata(program.graph)};
  const auto find = [&](const GuardSource& source) { return reader.operand(source); };
  std::vector<std::string> kept;
  for (size_t i = 0; i < program.guards_code.size(); ++i) {
    std::string& text = program.guards_code[i];
    const std::string where = ".guards_code[" + std::to_string(i) + "]";
    const auto guard = parse_guard(*program.expressions, text);
    const Release* first = first_release_with(kFirstWithGuards);
    if (guard && has_field) {
      if (auto named = reader.with_paths(*guard)) {
        converter.changed |= *named != text;
        kept.push_back(*std::move(named));
        continue;
      }
    }
    if (guard && reader.may_examine(*guard)) {
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
    if (has_field)
      kept.push_back(std::move(text));
    else
      converter.block({.kind = BlockerKind::guard, .text = text, .where = where, .first = first});
  }
  program.guards_code = std::move(kept);
  return {};
}

}  // namespace pt2
