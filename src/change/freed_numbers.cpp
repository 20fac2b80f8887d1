#include "change/freed_numbers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lower/arguments.h"
#include "ops/table.h"

namespace pt2 {
namespace {

// The most nodes before an operator that are searched for those that make operands of a fixed size.
constexpr size_t kMostMakers = 32;

// The most numbers of one node, and the most candidates for one refusal, that are tried.
constexpr size_t kMostNumbers = 64;

// True if torch.export can write a symbolic size for this parameter: SymInt, or Scalar. The parsed
// type does not tell SymInt from int, which counts dims and the like; the text before the name
// does.
bool takes_size(const ops::Signature& signature, std::string_view name) {
  const ops::Parameter* parameter = signature.find(name);
  if (parameter == nullptr) return false;
  if (parameter->type.base == ops::BaseType::scalar)
    return !parameter->type.list && !parameter->type.optional;
  if (parameter->type.base != ops::BaseType::integer) return false;
  // The name is a view of the text.
  const auto before =
      signature.text.substr(0, static_cast<size_t>(parameter->name.data() - signature.text.data()));
  return before.substr(before.find_last_of(",(")).find("SymInt") != std::string_view::npos;
}

bool is_list(const FreedNumber& number) { return number.item.has_value(); }

}  // namespace

// Returns the nodes that make the operands that do not depend on the size, nearest first.
std::vector<NodeId> NumberFinder::fixed_makers(NodeId id) const {
  std::vector<NodeId> out{id};
  for (size_t at = 0; at < out.size() && out.size() <= kMostMakers; ++at)
    for_each_operand(graph_.node(out[at]), [&](ValueId value) {
      const auto maker = maker_of(graph_, value);
      if (maker && !depends_(value) && std::ranges::find(out, *maker) == out.end())
        out.push_back(*maker);
    });
  out.erase(out.begin());
  return out;
}

// Returns the numbers of a node that are multiples of the old size.
FreedNumbers NumberFinder::numbers_of(NodeId id) const {
  FreedNumbers out;
  const Node& node = graph_.node(id);
  const ops::Operator op = ops::find_operator(node.target);
  // x[:224] of 224 rows takes as many of more rows; the sizes of a reshape follow from its
  // elements.
  const auto is_view = [&](const ops::Facts& facts) {
    return facts.inverse == ops::Inverse::scatter || facts.inverse == ops::Inverse::reshape ||
           facts.sharing == ops::Sharing::where_strides_allow;
  };
  if (!op || old_size_ == 0 || is_view(op.def->facts)) return out;
  for (size_t i = 0; i < node.inputs.size() && out.size() < kMostNumbers; ++i) {
    const auto add = [&](const Argument& argument, std::optional<size_t> item) {
      const auto* number = argument.get_if<int64_t>();
      if (number != nullptr && *number > 0 && *number % old_size_ == 0 && out.size() < kMostNumbers)
        out.push_back({id, i, item, *number / old_size_});
    };
    const NamedArgument& input = node.inputs[i];
    const auto* list = input.arg.get_if<ArgumentList>();
    if (!input.arg.is<int64_t>() && list == nullptr) continue;
    if (!takes_size(op.signature(), input.name)) continue;
    if (list == nullptr) {
      add(input.arg, std::nullopt);
    } else if (list->kind == ListKind::ints || list->kind == ListKind::sym_ints) {
      for (size_t k = 0; k < list->items.size(); ++k) add(list->items[k], k);
    }
  }
  return out;
}

// Returns, for each operand that does not depend on the size, the number at `place` among those
// that fit of the nearest node that has one.
FreedNumbers NumberFinder::nearest(NodeId id, size_t place,
                                   const std::function<bool(const FreedNumber&)>& fits) const {
  FreedNumbers out;
  for_each_operand(graph_.node(id), [&](ValueId value) {
    const auto made_by = maker_of(graph_, value);
    if (!made_by || depends_(value) || out.size() >= kMostNumbers) return;
    std::vector<NodeId> makers = fixed_makers(*made_by);
    makers.insert(makers.begin(), *made_by);
    for (const NodeId maker : makers) {
      size_t at = 0;
      for (const FreedNumber& number : numbers_of(maker)) {
        if (!fits(number) || at++ != place) continue;
        if (std::ranges::find(out, number) == out.end()) out.push_back(number);
        return;
      }
    }
  });
  return out;
}

std::vector<FreedNumbers> NumberFinder::of_refusal(NodeId id, Multiples multiples) const {
  std::vector<FreedNumbers> out;
  const auto add = [&](FreedNumbers numbers) {
    if (!numbers.empty() && out.size() < kMostNumbers &&
        std::ranges::find(out, numbers) == out.end())
      out.push_back(std::move(numbers));
  };
  const FreedNumbers own = numbers_of(id);
  const std::vector<NodeId> makers = fixed_makers(id);
  std::vector<FreedNumbers> made;
  for (const NodeId maker : makers) made.push_back(numbers_of(maker));
  // A number that equals the old size is more likely to stand for it than a multiple is.
  for (const bool is_equal : {true, false}) {
    if (!is_equal && multiples == Multiples::none) break;
    const auto fits = [&](const FreedNumber& number) {
      return (number.factor == 1) == is_equal &&
             (is_equal || multiples == Multiples::all || is_list(number));
    };
    for (const FreedNumber& number : own)
      if (fits(number)) add({number});
    // The items of one list together, as in split(x, [2, 2]).
    for (const FreedNumber& first : own) {
      FreedNumbers items;
      for (const FreedNumber& number : own)
        if (is_list(first) && is_list(number) && number.position == first.position &&
            (!is_equal || fits(number)))
          items.push_back(number);
      add(std::move(items));
    }
    for (const FreedNumbers& numbers : made)
      for (const FreedNumber& number : numbers)
        if (fits(number)) add({number});
    for (size_t place = 0; place < 3; ++place) {
      FreedNumbers all;
      for (const FreedNumbers& numbers : made) {
        size_t at = 0;
        for (const FreedNumber& number : numbers)
          if (fits(number) && at++ == place) all.push_back(number);
      }
      add(all);
      // With one of the node's own, as in a convolution of so many groups.
      for (const FreedNumber& number : own)
        if (fits(number) && !is_list(number) && !all.empty()) {
          FreedNumbers both = all;
          both.push_back(number);
          add(std::move(both));
        }
      add(nearest(id, place, fits));
    }
  }
  return out;
}

std::vector<FreedNumbers> NumberFinder::of_counts(NodeId id) const {
  std::vector<FreedNumbers> out;
  for (const NodeId maker : fixed_makers(id))
    for (const FreedNumber& number : numbers_of(maker))
      if (!is_list(number) && number.factor == 1) out.push_back({number});
  return out;
}

std::vector<FreedNumbers> NumberFinder::of_lost_size(NodeId id) const {
  std::vector<FreedNumbers> out;
  for (const FreedNumber& number : numbers_of(id))
    if (is_list(number) && number.factor == 1) out.push_back({number});
  for (const NodeId maker : fixed_makers(id))
    for (const FreedNumber& number : numbers_of(maker))
      if (out.size() < kMostNumbers) out.push_back({number});
  return out;
}

std::vector<FreedNumbers> NumberFinder::of_hidden_size(NodeId id) const {
  const Node& node = graph_.node(id);
  const ops::Operator op = ops::find_operator(node.target);
  if (!op || old_size_ == 2) return {};
  if (op.def->signature->name == "aten::div")
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (const auto* number = node.inputs[i].arg.get_if<int64_t>();
          number != nullptr && *number != 2 && node.inputs[i].name == "other")
        for (const int64_t offset : {0, -1})
          if (*number == old_size_ + offset)
            return {{{.node = id, .position = i, .offset = offset}}};
  const TensorMeta* self = node.inputs.empty() ? nullptr : tensor_meta(graph_, node.inputs[0].arg);
  if (op.def->change == nullptr || self == nullptr || old_size_ < 2 ||
      std::ranges::count(self->sizes, SymInt(old_size_)) == 0)
    return {};
  std::vector<FreedNumbers> out = of_lost_size(id);
  std::erase_if(out, [](const FreedNumbers& numbers) {
    return numbers.size() != 1 || numbers[0].factor != 1 || !is_list(numbers[0]);
  });
  return out;
}

}  // namespace pt2
