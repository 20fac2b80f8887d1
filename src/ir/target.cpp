#include "ir/target.h"

#include <algorithm>
#include <iterator>

namespace pt2 {
namespace {

constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
constexpr std::string_view kOldHigherOrder = "torch._higher_order_ops.";

constexpr std::string_view kHigherOrderNames[] = {
#define PT2_HIGHER_ORDER(name, first_graph, graph_count, first_operand, callee, traits, function) \
  name,
#include "ir/higher_order.def"
};

// clang-format off
// The allowed functions that higher_order.def does not list.
constexpr std::string_view kPythonFunctions[] = {
    "_operator.abs", "_operator.add", "_operator.and_", "_operator.eq", "_operator.floordiv", "_operator.ge",
    "_operator.getitem", "_operator.gt", "_operator.le", "_operator.lshift", "_operator.lt", "_operator.mod",
    "_operator.mul", "_operator.ne", "_operator.neg", "_operator.not_", "_operator.or_", "_operator.pos",
    "_operator.pow", "_operator.rshift", "_operator.sub", "_operator.truediv", "builtins.round", "math.ceil",
    "math.floor", "math.trunc", "torch._sym_sqrt", "torch.autograd.grad_mode.set_grad_enabled",
    "torch.export.custom_ops._call_custom_autograd_function_in_pre_dispatch",
    "torch.fx.experimental.symbolic_shapes.cast_symbool_to_symint_guardless", "torch.sym_float", "torch.sym_int",
    "torch.sym_ite", "torch.sym_max", "torch.sym_min", "torch.sym_not", "torch.sym_sqrt", "torch.sym_sum"};
constexpr std::string_view kSwitches[] = {
#define PT2_PYTHON_FUNCTION(target, function) target,
#include "ir/higher_order.def"
};
// clang-format on
static_assert(std::is_sorted(std::begin(kHigherOrderNames), std::end(kHigherOrderNames)));
static_assert(std::is_sorted(std::begin(kPythonFunctions), std::end(kPythonFunctions)));
static_assert(std::is_sorted(std::begin(kSwitches), std::end(kSwitches)));

bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// True for a dotted path of at least two names, "a.b.c". Names like "<locals>" occur in the paths
// of nested functions.
bool is_python_path(std::string_view target) {
  bool dotted = false;
  char previous = '.';
  for (char c : target) {
    if (c == '.' && previous == '.') return false;
    if (c != '.' && c != '<' && c != '>' && !is_word(c)) return false;
    dotted = dotted || c == '.';
    previous = c;
  }
  return dotted && previous != '.';
}

}  // namespace

TargetForm target_form(std::string_view target) {
  if (target.starts_with('#'))
    return target.find(':') == std::string_view::npos ? TargetForm::other : TargetForm::extension;
  if (!is_python_path(target)) return TargetForm::other;
  if (target.starts_with(kHigherOrder)) return TargetForm::higher_order;
  if (target.starts_with(kOldHigherOrder))
    return is_higher_order_name(last_part(target)) ? TargetForm::higher_order
                                                   : TargetForm::function;
  if (!target.starts_with(kOps)) return TargetForm::function;
  switch (std::ranges::count(target.substr(kOps.size()), '.')) {
    case 0:
      return is_higher_order_name(last_part(target)) ? TargetForm::higher_order
                                                     : TargetForm::function;
    case 2:
      return TargetForm::overload;
    default:
      return TargetForm::function;
  }
}

std::string_view target_namespace(std::string_view target) {
  if (target_form(target) != TargetForm::overload) return {};
  target.remove_prefix(kOps.size());
  return target.substr(0, target.find('.'));
}

std::string_view short_target(std::string_view target) {
  return target.starts_with(kOps) ? target.substr(kOps.size()) : target;
}

std::string_view operator_name(std::string_view target) {
  const std::string_view space = target_namespace(target);
  if (space.empty()) return {};
  const std::string_view name = target.substr(kOps.size() + space.size() + 1);
  return name.substr(0, name.find('.'));
}

std::string_view last_part(std::string_view target) {
  const size_t dot = target.rfind('.');
  return dot == std::string_view::npos ? target : target.substr(dot + 1);
}

bool is_higher_order_name(std::string_view name) {
  return std::ranges::binary_search(kHigherOrderNames, name);
}

bool is_allowed_function(std::string_view target) {
  return std::ranges::binary_search(kPythonFunctions, target) ||
         std::ranges::binary_search(kSwitches, target);
}

bool name_says_mutable(std::string_view target) {
  if (!target.starts_with("torch.ops.aten.") || target_form(target) != TargetForm::overload)
    return false;
  const std::string_view overload = last_part(target);
  if (overload == "out" || overload.ends_with("_out")) return true;
  const std::string_view name = last_part(target.substr(0, target.rfind('.')));
  if (name.ends_with("__")) return name.starts_with("__i");  // aten.__ior__, but not aten.__or__
  return name.ends_with('_');
}

}  // namespace pt2
