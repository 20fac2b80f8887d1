// Finds functions that decompositions took apart: attention, and activations that use their
// argument twice.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "run/plan/attention.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::Activation;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_number(const Planner& planner, const BoundNode& node, std::string_view name,
               double wanted) {
  return planner.number(node, name) == wanted;
}

// Matches a clamp to 0 … 6 in one or two nodes after `node` and adds them to `nodes`. Returns the
// last of them; null if there is none.
const BoundNode* match_clamp_to_6(const Planner& planner, const BoundNode& node,
                                  Step::Nodes& nodes) {
  const BoundNode* first = planner.only_user(node);
  if (first == nullptr) return nullptr;
  nodes.push_back(first);
  if (activation_of(planner, *first) == Activation::relu6) return first;
  const bool from_0 =
      is_operator(*first, "aten::relu") ||
      (is_operator(*first, "aten::clamp_min") && is_number(planner, *first, "min", 0)) ||
      (is_operator(*first, "aten::clamp") && is_number(planner, *first, "min", 0) &&
       planner.is_none(*first, "max"));
  const BoundNode* second = from_0 ? planner.only_user(*first) : nullptr;
  if (second == nullptr) return nullptr;
  nodes.push_back(second);
  const bool to_6 =
      (is_operator(*second, "aten::clamp_max") && is_number(planner, *second, "max", 6)) ||
      (is_operator(*second, "aten::clamp") && planner.is_none(*second, "min") &&
       is_number(planner, *second, "max", 6));
  return to_6 ? second : nullptr;
}

bool is_plus_3(const Planner& planner, const BoundNode& node) {
  return is_operator(node, "aten::add", "Tensor") && is_number(planner, node, "other", 3) &&
         is_number(planner, node, "alpha", 1);
}

bool is_sixth(const Planner& planner, const BoundNode& node) {
  return is_operator(node, "aten::div", "Tensor") && is_number(planner, node, "other", 6);
}

// True if `node` multiplies the results of `a` and `b`.
bool multiplies(const BoundNode& node, const BoundNode& a, const BoundNode& b) {
  return is_operator(node, "aten::mul", "Tensor") &&
         ((Planner::takes(node.arguments[0], a) && Planner::takes(node.arguments[1], b)) ||
          (Planner::takes(node.arguments[0], b) && Planner::takes(node.arguments[1], a)));
}

}  // namespace

std::optional<ActivationNodes> match_activation(const Planner& planner, const BoundNode& node) {
  if (const BoundNode* next = planner.only_user(node)) {
    if (const auto activation = activation_of(planner, *next))
      return ActivationNodes{*activation, {next}};
    // hardsigmoid: clamp(x + 3, 0, 6) / 6
    if (!is_plus_3(planner, *next)) return std::nullopt;
    Step::Nodes nodes{next};
    const BoundNode* clamp = match_clamp_to_6(planner, *next, nodes);
    const BoundNode* last = clamp == nullptr ? nullptr : planner.only_user(*clamp);
    if (last == nullptr || !is_sixth(planner, *last)) return std::nullopt;
    nodes.push_back(last);
    return ActivationNodes{Activation::hardsigmoid, std::move(nodes)};
  }
  const auto users = planner.users(node);
  if (users.size() != 2) return std::nullopt;
  const auto& [first, product] = std::pair(users[0], users[1]);
  // silu: x sigmoid(x)
  if (is_operator(*first, "aten::sigmoid") && planner.only_user(*first) == product &&
      multiplies(*product, node, *first))
    return ActivationNodes{Activation::silu, {first, product}};
  // hardswish: x clamp(x + 3, 0, 6) / 6
  if (!is_plus_3(planner, *first)) return std::nullopt;
  Step::Nodes nodes{first};
  const BoundNode* clamp = match_clamp_to_6(planner, *first, nodes);
  if (clamp == nullptr || planner.only_user(*clamp) != product ||
      !multiplies(*product, node, *clamp))
    return std::nullopt;
  const BoundNode* last = planner.only_user(*product);
  if (last == nullptr || !is_sixth(planner, *last)) return std::nullopt;
  nodes.push_back(product);
  nodes.push_back(last);
  return ActivationNodes{Activation::hardswish, std::move(nodes)};
}

Activation take_activation(const Planner& planner, Step::Nodes& nodes) {
  const auto found = match_activation(planner, *nodes.back());
  if (!found) return Activation::none;
  nodes.insert(nodes.end(), found->nodes.begin(), found->nodes.end());
  return found->activation;
}

namespace {

// Matches attention: from a softmax back to query and key, and forward to the result.
class AttentionMatch {
 public:
  AttentionMatch(const Planner& planner, const BoundNode& softmax) : planner_(planner) {
    nodes_.push_back(&softmax);
    found_ = is_last(softmax, "dim") && match_result(softmax) && match_scores(softmax) &&
             is_closed() && are_outside() && are_alike() && can_take_mask();
    if (found_) take_repeated_heads(planner, arguments, nodes_);
  }

  bool found() const { return found_; }
  AttentionArguments arguments{};
  Step::Nodes nodes() const {
    Step::Nodes out = nodes_;
    std::ranges::sort(out);  // bound nodes lie in program order
    return out;
  }

 private:
  // True if no node outside uses a result of the matched nodes, except that of the last one.
  bool is_closed() const {
    const BoundNode* last = *std::ranges::max_element(nodes_);
    return std::ranges::all_of(nodes_, [&](const BoundNode* node) {
      const std::vector<const BoundNode*> users = planner_.users(*node);
      return node == last ||
             (!users.empty() && std::ranges::all_of(users, [&](const BoundNode* user) {
               return std::ranges::find(nodes_, user) != nodes_.end();
             }));
    });
  }

  // True if none of the operands is made by the matched nodes: the step does not compute it.
  bool are_outside() const {
    return std::ranges::none_of(
        std::array{arguments.query, arguments.key, arguments.value, arguments.mask},
        [&](const BoundArgument* operand) {
          return operand != nullptr &&
                 std::ranges::find(nodes_, planner_.maker(*operand)) != nodes_.end();
        });
  }

  // Returns the dimension `name` of the node's result, counted from the end; 0 if it is unknown.
  int64_t dim_from_end(const BoundNode& node, std::string_view name) const {
    const auto dim = planner_.integer(node, name);
    const TensorMeta* record = planner_.record(node);
    if (!dim || record == nullptr) return 0;
    return *dim < 0 ? *dim : *dim - static_cast<int64_t>(record->sizes.size());
  }
  bool is_last(const BoundNode& node, std::string_view name) const {
    return dim_from_end(node, name) == -1;
  }

  // True if query, key, value and result have the same batch and head sizes, and hold floats: the
  // parts of an attention of halves round their results.
  bool are_alike() const {
    const TensorMeta *query = planner_.record(*arguments.query),
                     *key = planner_.record(*arguments.key),
                     *value = planner_.record(*arguments.value);
    if (query == nullptr || key == nullptr || value == nullptr || query->sizes.size() < 3 ||
        query->dtype.dtype() != Dtype::float32)
      return false;
    const TensorMeta* result = planner_.record(**std::ranges::max_element(nodes_));
    if (result == nullptr || result->sizes.size() != query->sizes.size() ||
        !std::equal(result->sizes.begin(), result->sizes.end() - 1, query->sizes.begin()))
      return false;
    for (const TensorMeta* other : {key, value})
      if (other->sizes.size() != query->sizes.size() ||
          !std::equal(query->sizes.begin(), query->sizes.end() - 2, other->sizes.begin()))
        return false;
    return true;
  }

  // False if the step would refuse the mask in every call: it needs one element for each key.
  bool can_take_mask() const {
    if (arguments.mask == nullptr) return true;
    const TensorMeta *mask = planner_.record(*arguments.mask),
                     *key = planner_.record(*arguments.key);
    if (mask == nullptr || mask->sizes.size() < 2 || key->sizes.size() > 4 ||
        mask->sizes.size() > key->sizes.size())
      return false;
    const SymInt &last = mask->sizes.back(), &keys = key->sizes.end()[-2];
    return last.is_symbolic() || last == keys;
  }

  // True if the program records the same matrix sizes before and after a view.
  bool keeps_matrices(const BoundNode& view) const {
    const TensorMeta* from = planner_.record(view.arguments[0]);
    const TensorMeta* to = planner_.record(view);
    const auto has_matrices = [](const TensorMeta* record) {
      return record != nullptr && (record->sizes.size() == 3 || record->sizes.size() == 4);
    };
    return has_matrices(from) && has_matrices(to) &&
           std::equal(from->sizes.end() - 2, from->sizes.end(), to->sizes.end() - 2);
  }
  bool is_view(const BoundNode& node) const {
    // A copy counts as a view of its operand.
    if (is_operator(node, "aten::expand") || is_operator(node, "aten::clone"))
      return planner_.has_sizes_of(node, node.arguments[0]);
    return (is_operator(node, "aten::view") || is_operator(node, "aten::reshape")) &&
           keeps_matrices(node);
  }

  size_t rank_of(const BoundArgument& argument) const {
    const TensorMeta* record = planner_.record(argument);
    return record == nullptr ? 0 : record->sizes.size();
  }

  // Returns the value behind views that only join and repeat leading dimensions. Takes no view that
  // leads away from the rank `wanted`.
  const BoundArgument& behind_views(const BoundArgument& argument, size_t wanted = 0) {
    const BoundArgument* at = &argument;
    while (const BoundNode* made = planner_.only_maker(*at)) {
      const BoundArgument& before = made->arguments[0];
      if (!is_view(*made) || (rank_of(*at) == wanted && rank_of(before) != wanted)) break;
      nodes_.push_back(made);
      at = &before;
    }
    return *at;
  }

  // Returns the query, key or value behind views and a scale.
  const BoundArgument& operand_behind(const BoundArgument& argument) {
    return behind_views(behind_scale(behind_views(argument, rank_)), rank_);
  }

  // Returns the value behind a multiplication by a number, which becomes part of the scale.
  const BoundArgument& behind_scale(const BoundArgument& argument) {
    const BoundNode* made = planner_.only_maker(argument);
    if (made == nullptr) return argument;
    const bool multiplies =
        is_operator(*made, "aten::mul", "Scalar") || is_operator(*made, "aten::mul", "Tensor");
    const bool divides = is_operator(*made, "aten::div", "Tensor");
    const auto number =
        multiplies || divides ? planner_.number(*made, "other") : std::optional<double>();
    if (!number) return argument;
    nodes_.push_back(made);
    scale_ *= divides ? 1 / *number : *number;
    return made->arguments[0];
  }

  static bool is_product(const BoundNode& node) {
    return is_operator(node, "aten::bmm") || is_operator(node, "aten::matmul");
  }

  // Returns a number, or the only element of a constant.
  std::optional<double> single(const BoundNode& node, std::string_view name) const {
    if (const auto number = planner_.number(node, name)) return number;
    const Tensor* tensor = planner_.floats(node, name);
    if (tensor == nullptr || tensor->dim() != 0) return std::nullopt;
    return tensor->data<float>()[0];
  }

  // Matches scores in which a mask of booleans hides some: masked_fill, or where. Returns the
  // scores before that; null if the node does something else.
  const BoundArgument* match_hidden(const BoundNode& node) {
    const bool fills = is_operator(node, "aten::masked_fill", "Scalar");
    if (!fills && !is_operator(node, "aten::where", "self")) return nullptr;
    auto hidden = single(node, fills ? "value" : "self");
    arguments.mask_holds = hidden ? AttentionMask::hidden : AttentionMask::kept;
    if (!hidden) hidden = single(node, "other");
    arguments.hidden_score = static_cast<float>(hidden.value_or(0));
    // The step's mask has zeros where scores are shown.
    if (arguments.hidden_score == 0 || std::isnan(arguments.hidden_score)) return nullptr;
    arguments.mask = Planner::argument(node, fills ? "mask" : "condition");
    const TensorMeta* record = planner_.record(*arguments.mask);
    if (record == nullptr || record->dtype.dtype() != Dtype::bool_) return nullptr;
    return Planner::argument(
        node, fills || arguments.mask_holds == AttentionMask::kept ? "self" : "other");
  }

  bool match_scores(const BoundNode& softmax) {
    const BoundArgument* scores = &softmax.arguments[0];
    // The scores have a second user if the program keeps rows that are all -inf from being NaN.
    const BoundNode* added = planner_.only_maker(*scores);
    if (added == nullptr) added = planner_.only_maker(*scores, 2);
    if (added == nullptr) return false;
    if (is_operator(*added, "aten::add", "Tensor") && planner_.number(*added, "alpha") == 1.0 &&
        !planner_.number(*added, "other") && planner_.record(added->arguments[1]) != nullptr) {
      nodes_.push_back(added);
      arguments.mask = &added->arguments[1];
      scores = &added->arguments[0];
    } else if (const BoundArgument* shown = match_hidden(*added)) {
      nodes_.push_back(added);
      scores = shown;
    } else if (is_view(*added)) {
      nodes_.push_back(added);
      scores = &added->arguments[0];
    }
    const BoundNode* product =
        planner_.only_maker(behind_scale(behind_views(behind_scale(*scores))));
    if (product == nullptr && added != nullptr && is_product(*added)) product = added;
    if (product == nullptr || !is_product(*product)) return false;
    nodes_.push_back(product);
    arguments.query = &operand_behind(product->arguments[0]);
    const BoundArgument& turned = behind_scale(behind_views(product->arguments[1]));
    const BoundNode* turning = planner_.only_maker(turned);
    if (turning == nullptr || !turns(*turning)) return false;
    nodes_.push_back(turning);
    arguments.key = &operand_behind(turning->arguments[0]);
    arguments.scale = scale_;
    return true;
  }

  // True if the node is a view that swaps rows and columns.
  bool turns(const BoundNode& node) const {
    if (is_operator(node, "aten::transpose", "int")) {
      const int64_t a = dim_from_end(node, "dim0"), b = dim_from_end(node, "dim1");
      return std::min(a, b) == -2 && std::max(a, b) == -1;
    }
    const auto dims = is_operator(node, "aten::permute") ? planner_.integers(node, "dims")
                                                         : std::optional<Sizes>();
    return dims == Sizes{0, 1, 3, 2} || dims == Sizes{0, 2, 1};
  }

  bool match_result(const BoundNode& softmax) {
    const BoundNode* last = &softmax;
    if (const BoundNode* kept = match_kept_rows(softmax)) last = kept;
    arguments.empty_rows_are_nan = last == &softmax;
    const BoundNode* before = nullptr;
    while (true) {
      before = std::exchange(last, planner_.only_user(*last));
      if (last == nullptr) return false;
      nodes_.push_back(last);
      if (is_product(*last)) break;
      const bool drops_nothing =
          is_operator(*last, "aten::dropout") && planner_.flag(*last, "train") == false;
      if (!is_view(*last) && !drops_nothing) return false;
    }
    if (!Planner::takes(last->arguments[0], *before)) return false;
    const BoundNode* result = last;
    if (is_operator(*last, "aten::bmm")) {
      result = planner_.only_user(*last);
      if (result == nullptr || !is_view(*result)) return false;
      nodes_.push_back(result);
    }
    const TensorMeta* record = planner_.record(*result);
    rank_ = record == nullptr ? 0 : record->sizes.size();
    arguments.value = &behind_views(last->arguments[1], rank_);
    return true;
  }

  // Matches where(rows that are all -inf, 0, weights). Attention gives zeros there anyway.
  const BoundNode* match_kept_rows(const BoundNode& softmax) {
    const auto users = planner_.users(softmax);
    if (users.size() != 2) return nullptr;
    const BoundNode *zeros = users[0], *where = users[1];
    if (!is_operator(*zeros, "aten::full_like") || !is_operator(*where, "aten::where", "self") ||
        !is_number(planner_, *zeros, "fill_value", 0) ||
        !Planner::takes(where->arguments[1], *zeros) ||
        !Planner::takes(where->arguments[2], softmax))
      return nullptr;
    const BoundNode* none = planner_.only_maker(where->arguments[0]);
    if (none == nullptr || !is_operator(*none, "aten::logical_not")) return nullptr;
    const BoundNode* any = planner_.only_maker(none->arguments[0]);
    if (any == nullptr || !is_operator(*any, "aten::any", "dim") ||
        planner_.integer(*any, "dim") != planner_.integer(softmax, "dim") ||
        planner_.flag(*any, "keepdim") != true)
      return nullptr;
    const BoundNode* finite = planner_.only_maker(any->arguments[0]);
    if (finite == nullptr || !is_operator(*finite, "aten::logical_not")) return nullptr;
    const BoundNode* infinite = planner_.only_maker(finite->arguments[0]);
    if (infinite == nullptr || !is_operator(*infinite, "aten::eq", "Scalar") ||
        !is_number(planner_, *infinite, "other", -kInfinity) ||
        Frame::value_id(infinite->arguments[0]) != Frame::value_id(softmax.arguments[0]))
      return nullptr;
    for (const BoundNode* node : {zeros, where, none, any, finite, infinite})
      nodes_.push_back(node);
    return where;
  }

  const Planner& planner_;
  Step::Nodes nodes_;
  size_t rank_ = 0;  // of the result, and of query, key and value
  double scale_ = 1;
  bool found_ = false;
};

}  // namespace

StepPointer recompose_attention(const Planner& planner, const BoundNode& node) {
  const bool is_softmax =
      (is_operator(node, "aten::_softmax") && planner.flag(node, "half_to_float") == false) ||
      (is_operator(node, "aten::softmax", "int") && planner.is_none(node, "dtype"));
  if (!is_softmax) return nullptr;
  const AttentionMatch match(planner, node);
  return match.found() ? make_attention_step(match.nodes(), match.arguments) : nullptr;
}

}  // namespace pt2::run
