#include "convert/operator_history.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace pt2 {
namespace {

struct OperatorRow {
  std::string_view target;
  Lifetime lifetime;
};
struct ArgumentRow {
  std::string_view target;
  std::string_view argument;
  Lifetime lifetime;
};
struct NameRow {
  int last;
  std::string_view target;
  std::string_view old_name;
  std::string_view new_name;
};

// Sorted by target, then argument: the generating script prints them in this order.
constexpr OperatorRow kOperators[] = {
#define PT2_OPERATOR_SPAN(first, last, target) {target, {first, last}},
#include "convert/operator_history.def"
};
constexpr ArgumentRow kArguments[] = {
#define PT2_ARGUMENT_SPAN(first, last, target, argument) {target, argument, {first, last}},
#include "convert/operator_history.def"
};
constexpr NameRow kNames[] = {
#define PT2_ARGUMENT_NAME(last, target, old, new) {last, target, old, new},
#include "ops/argument_names.def"
};
static_assert(std::ranges::is_sorted(kOperators, {}, &OperatorRow::target));
static_assert(std::ranges::is_sorted(kArguments, {}, &ArgumentRow::target));

}  // namespace

const Lifetime* find_operator_lifetime(std::string_view target) {
  const auto found = std::ranges::lower_bound(kOperators, target, {}, &OperatorRow::target);
  return found != std::end(kOperators) && found->target == target ? &found->lifetime : nullptr;
}

const Lifetime* find_argument_lifetime(std::string_view target, std::string_view argument) {
  auto row = std::ranges::lower_bound(kArguments, target, {}, &ArgumentRow::target);
  for (; row != std::end(kArguments) && row->target == target; ++row)
    if (row->argument == argument) return &row->lifetime;
  return nullptr;
}

std::string_view argument_name_in(int release, std::string_view target, std::string_view argument) {
  for (const NameRow& row : kNames) {
    if (row.target != target || (argument != row.old_name && argument != row.new_name)) continue;
    argument = release <= row.last ? row.old_name : row.new_name;
  }
  return argument;
}

}  // namespace pt2
