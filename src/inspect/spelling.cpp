#include "inspect/spelling.h"

#include <algorithm>
#include <set>

#include "ir/values/constant_value.h"
#include "ops/bind.h"
#include "ops/table.h"

namespace pt2 {
namespace {

bool is_same(const Value& a, const Value& b) {
  return a.data.index() == b.data.index() &&
         std::visit(
             [&]<class T>(const T& value) {
               const T& other = std::get<T>(b.data);
               if constexpr (std::same_as<T, Value::List>)
                 return std::ranges::equal(value, other, is_same);
               else if constexpr (requires { value == other; })
                 return value == other;
               else
                 return false;
             },
             a.data);
}

void add_symbols(const auto& number, std::set<SymbolId>& out) {
  if (!number.is_symbolic()) return;
  for (const SymbolId symbol : free_symbols(number.expr())) out.insert(symbol);
}

void add_symbols(const Graph& graph, std::set<SymbolId>& out) {
  for (const ValueId id : graph.values())
    std::visit(
        [&]<class T>(const T& meta) {
          if constexpr (std::same_as<T, TensorMeta>)
            for (const SymInt& size : meta.sizes) add_symbols(size, out);
          else if constexpr (!std::same_as<T, CustomObjectType>)
            add_symbols(meta, out);
        },
        graph.value(id).meta);
  for (const Graph& nested : graph.subgraphs()) add_symbols(nested, out);
}

}  // namespace

bool says_nothing(const Node& node, const NamedArgument& input) {
  if (input.name.empty() || input.arg.is<ValueId>()) return false;
  // These arguments hold torch.backends.cudnn.enabled of the exporting machine.
  if (input.name == "cudnn_enabled" || input.name == "cudnn_enable") return true;
  const ops::Operator op = ops::find_operator(node.target);
  if (!op) return false;
  const ops::Parameter* parameter = op.signature().find(input.name);
  if (parameter == nullptr || !parameter->has_default) return false;
  bool has_value = false;
  for_each_value(input.arg, [&](ValueId) { has_value = true; });
  if (has_value) return false;
  auto given = constant_value(input.arg);
  if (given) given = ops::coerce(*parameter, *std::move(given));
  const auto left_out = ops::default_value(*parameter);
  return given && left_out && is_same(*given, *left_out);
}

bool says_nothing(const Node& node) {
  return node.target == "torch.ops.aten.sym_constrain_range_for_size.default" &&
         std::ranges::all_of(node.inputs, [](const NamedArgument& input) {
           return input.name == "size" || input.arg.is<None>();
         });
}

bool is_unused_weight(const Program& program, size_t input) {
  const auto& specs = program.signature.input_specs;
  if (input >= std::min(specs.size(), program.graph.inputs().size()) ||
      specs[input].kind == InputKind::user_input)
    return false;
  const auto* id = program.graph.inputs()[input].get_if<ValueId>();
  return id != nullptr && program.graph.uses(*id).empty();
}

std::map<std::string, SymRange> telling_ranges(const Program& program, SymbolNames& symbols) {
  std::set<SymbolId> used;
  if (!program.range_constraints.empty()) add_symbols(program.graph, used);
  std::map<std::string, SymRange> out;
  for (const RangeConstraint& constraint : program.range_constraints) {
    if (constraint.key == nullptr || !constraint.key->expr.is_symbol() ||
        !used.contains(constraint.key->expr->symbol))
      continue;
    SymRange range = constraint.range;
    if (range.min.value_or(0) <= 2) range.min = std::nullopt;
    if (range.max.value_or(INT64_MAX) >= INT64_MAX - 1) range.max = std::nullopt;
    if (range.min || range.max) out.emplace(symbols.name(constraint.key->expr->name), range);
  }
  return out;
}

}  // namespace pt2
