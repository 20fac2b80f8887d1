// Keys and values that several query heads share. Transformers repeats them before attention
// (repeat_kv): reshape(expand(unsqueeze(x, 2))). The attention step reads each head several times
// instead.
#include "run/plan/attention.h"

namespace pt2::run {
namespace {

// Keys or values in which each head is repeated for several query heads.
struct RepeatedHeads {
  const BoundArgument* heads = nullptr;  // before the repetition
  int64_t repeats = 1;
  Step::Nodes nodes{};  // nodes that repeat the heads, unordered
};

// Matches by the recorded sizes; nullopt if `argument` is not made this way.
std::optional<RepeatedHeads> match_repeated_heads(const Planner& planner,
                                                  const BoundArgument& argument) {
  RepeatedHeads out;
  const BoundArgument* at = &argument;
  // Nodes that leave the tensor unchanged may stand between: slices of all of it, copies.
  const auto step_back = [&](auto&& is_wanted) -> const BoundNode* {
    while (const BoundNode* made = planner.only_maker(*at)) {
      const bool wanted = is_wanted(*made);
      const bool is_idle =
          (is_operator(*made, "aten::slice", "Tensor") || is_operator(*made, "aten::clone")) &&
          planner.has_sizes_of(*made, made->arguments[0]);
      if (!wanted && !is_idle) return nullptr;
      out.nodes.push_back(made);
      at = &made->arguments[0];
      if (wanted) return made;
    }
    return nullptr;
  };
  // A reshape, or an operator that returns a view if strides allow it, as they do if nothing is
  // repeated.
  const BoundNode* joining = step_back([](const BoundNode& node) {
    const ops::OpDef* row = own_row(node);
    return is_reshape(node) ||
           (row != nullptr && row->facts.sharing == ops::Sharing::where_strides_allow);
  });
  if (joining == nullptr) return std::nullopt;
  const BoundNode* repeating =
      step_back([](const BoundNode& node) { return is_operator(node, "aten::expand"); });
  if (repeating == nullptr) return std::nullopt;
  const BoundNode* inserting = step_back([&](const BoundNode& node) {
    return is_operator(node, "aten::unsqueeze") && planner.integer(node, "dim") == 2;
  });
  if (inserting == nullptr) return std::nullopt;
  const TensorMeta *heads = planner.record(*at), *repeated = planner.record(*repeating),
                   *joined = planner.record(*joining);
  if (heads == nullptr || repeated == nullptr || joined == nullptr || heads->sizes.size() != 4 ||
      repeated->sizes.size() != 5 || joined->sizes.size() != 4)
    return std::nullopt;
  // [batch, heads, repeats, rows, elements] from [batch, heads, rows, elements], then joined.
  const SymInt& repeats = repeated->sizes[2];
  if (repeats.is_symbolic() || heads->sizes[1].is_symbolic() || joined->sizes[1].is_symbolic() ||
      heads->sizes[1].literal() * repeats.literal() != joined->sizes[1].literal())
    return std::nullopt;
  for (const size_t dim : {0u, 1u, 2u, 3u}) {
    const SymInt& size = heads->sizes[dim];
    if (size != repeated->sizes[dim < 2 ? dim : dim + 1] ||
        (dim != 1 && size != joined->sizes[dim]))
      return std::nullopt;
  }
  out.heads = at;
  out.repeats = repeats.literal();
  return out;
}

}  // namespace

void take_repeated_heads(const Planner& planner, AttentionArguments& arguments,
                         Step::Nodes& nodes) {
  const auto key = match_repeated_heads(planner, *arguments.key),
             value = match_repeated_heads(planner, *arguments.value);
  if (!key || !value || key->repeats != value->repeats) return;
  arguments.key = key->heads;
  arguments.value = value->heads;
  arguments.grouped = true;
  arguments.repeats = key->repeats;
  nodes.insert(nodes.end(), key->nodes.begin(), key->nodes.end());
  nodes.insert(nodes.end(), value->nodes.begin(), value->nodes.end());
}

}  // namespace pt2::run
