#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/text.h"
#include "change/dim_freer.h"
#include "change/sizes.h"
#include "ir/walk.h"
#include "lower/pass.h"
#include "pt2/ir/edit.h"
#include "pt2/ir/edit_program.h"

namespace pt2 {
namespace {

// True if a size of the graph has the symbol. The pool also keeps symbols of edits that failed.
bool has_symbol(const Graph& graph, SymbolId symbol) {
  bool found = false;
  for (const ValueId id : graph.values())
    for_each_number(graph.value(id).meta, [&](const auto& number) {
      found = found || has_symbol(number.expr(), symbol);
    });
  for (const NodeId id : graph.nodes())
    for_each_callee(graph.node(id), [&](SubgraphId nested) {
      found = found || has_symbol(graph.subgraph(nested), symbol);
    });
  return found;
}

bool is_taken(const Program& program, std::string_view name) {
  const auto symbol = program.expressions->find_symbol(name);
  const auto has_it = [&](const RangeConstraint& range) {
    return range.key != nullptr && has_symbol(range.key->expr, *symbol);
  };
  return symbol && (has_symbol(program.graph, *symbol) ||
                    std::ranges::any_of(program.range_constraints, has_it));
}

// Sizes are not followed into nested graphs. Those of other gradient modes and of switched-off
// autocast can be the nodes that they call. False if there are none.
bool inline_regions_of(Program& program) {
  Pipeline pipeline;
  if (!run_pass(Pass::inline_regions, program, pipeline).changed) return false;
  leave_names_to_constants(program);
  return true;
}

// Says how to free the same dim of other inputs together with `places`, the dims `dims`: where all
// have the batch, none can be freed alone. Empty if no other input has the size there.
std::string advice_of_others(const Program& program, std::span<const InputDim> dims,
                             std::span<const InputPlace> places, int64_t size,
                             std::string_view symbol) {
  constexpr size_t kMostNamed = 16;
  std::vector<std::string> all;
  for (const auto& [input, dim] : dims) all.push_back(fmt::format("{}.{}", input, dim));
  const size_t dim = dims.front().dim;
  const UserInputs inputs(program);
  const std::set<InputPlace> known(places.begin(), places.end());
  for (const std::string& name : user_input_names(program)) {
    const auto id = inputs.find(name);
    const auto other = id ? input_size(program, *id, dim) : Result<SymInt>(id.error());
    if (other && *other == size && !known.contains({*id, dim}))
      all.push_back(fmt::format("{}.{}", name, dim));
  }
  if (all.size() == dims.size() || all.size() > kMostNamed) return "";
  return fmt::format(
      "; other inputs have the size {}, too: {}={}:LOW..HIGH makes one symbol of all", size,
      fmt::join(all, ","), symbol);
}

}  // namespace

Result<void> free_dim(Program& program, std::string_view input, size_t dim, std::string_view symbol,
                      SymRange range) {
  PT2_TRY(const ValueId id, find_input_value(program, input));
  PT2_TRY(const SymInt size, input_size(program, id, dim));
  if (size.is_symbolic()) return set_range(program, input, dim, range);
  const InputDim one{input, dim};
  return free_dims(program, {&one, 1}, symbol, range);
}

Result<void> free_dims(Program& program, std::span<const InputDim> dims, std::string_view symbol,
                       SymRange range) {
  std::vector<InputPlace> places;
  std::optional<int64_t> old_size;
  const UserInputs inputs(program);
  for (const auto& [input, dim] : dims) {
    PT2_TRY(const ValueId id, inputs.find(input));
    PT2_TRY(const SymInt size, input_size(program, id, dim));
    if (size.is_symbolic() || (old_size && size.literal() != *old_size))
      return Error{ErrorCode::argument,
                   fmt::format("size {} of {} is {}, expected {}", dim, input, print(size),
                               old_size ? fmt::format("{}, as the other sizes", *old_size)
                                        : "a fixed size")};
    old_size = size.literal();
    places.emplace_back(id, dim);
  }
  if (!old_size) return {};
  const Error wrong_name(ErrorCode::argument,
                         fmt::format("'{}' cannot be the name of a new symbol: expected an "
                                     "identifier that the program does not use",
                                     symbol));
  if (!is_identifier(symbol) || is_taken(program, symbol)) return wrong_name;
  PT2_TRY_VOID(check_not_empty(range));
  if (!range.contains(*old_size))
    return Error{ErrorCode::argument,
                 fmt::format("found the range {}, expected one with {}: the program was exported "
                             "with this size",
                             print(range), *old_size)};
  // PyTorch creates the symbols of sizes with these assumptions, also if they may be 0.
  const Expr made = program.expressions->symbol(symbol, "positive=True, integer=True");
  PT2_TRY(const SpelledExpr* key, program.expressions->parse(symbol));
  if (free_symbols(key->expr).empty()) return wrong_name;  // E, I, pi and oo are numbers
  const auto follow = [&](Program& followed) {
    return follow_freed_dim(followed, made, *old_size, range, places);
  };
  Program changed = program;
  if (auto done = follow(changed); !done) {
    if (done.error().code != ErrorCode::unsupported) return done;
    changed = program;
    if (!inline_regions_of(changed) || !follow(changed)) {
      Error error = std::move(done).error();
      error.message += advice_of_others(program, dims, places, *old_size, symbol);
      return error;
    }
  }
  changed.range_constraints.push_back({.key = key, .range = range});
  drop_guards_of_one_size(changed, made, *old_size, range);
  program = std::move(changed);
  return {};
}

}  // namespace pt2
