#include "inspect/graph_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/hash/text_hash.h"
#include "base/printable.h"
#include "inspect/align.h"
#include "inspect/spelling.h"
#include "ir/target.h"
#include "transform/node_hash.h"

namespace pt2 {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr size_t kMaxText = 300;

uint64_t hash_text(std::string_view text) { return mix_hash(0, text); }

// Returns the value's name for texts. A few bytes can name a value by a long name of the other
// file, so a long name is cut; the number tells it from others.
std::string value_text(const Graph& graph, ValueId id) {
  const std::string_view name = graph.value(id).name;
  if (name.size() <= kMaxText) return fmt::format("%{}", name);
  return fmt::format("%{}#{}", printable(name), static_cast<size_t>(id));
}

std::string result_name(const Graph& graph, const Node& node) {
  std::string name;
  for (const Argument& output : node.outputs)
    for_each_value(output, [&](ValueId id) {
      if (name.empty()) name = value_text(graph, id);
    });
  return name.empty() ? node.name.value_or(std::string(short_target(node.target))) : name;
}

// One graph, with the hashes of its nodes that matching compares.
class Side {
 public:
  explicit Side(const GraphSide& side) : graph(side.graph), symbols(side.symbols) {
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      for_each_value(graph.inputs()[i], [&](ValueId id) {
        roles[id] = {side.inputs[i], hash_text(side.inputs[i])};
      });
    order.assign(graph.nodes().begin(), graph.nodes().end());
    const OperandHashes names{[&](ValueId id) {
      const auto role = roles.find(id);
      return role == roles.end() ? 0 : role->second.hash;
    }};
    for (const NodeId id : order) {
      const Node& node = graph.node(id);
      modules.push_back(module_hash(node));
      targets.push_back(hash_text(node.target));
      locals.push_back(hash_node(node, names));
      results.push_back(hash_text(result_text(node)));
    }
  }

  // Returns a hash for each place: of the node and of its operands, back to the graph's inputs.
  // Nested graphs are compared separately.
  std::vector<uint64_t> contents() const {
    std::vector<uint64_t> values(graph.value_count()), out(order.size());
    const OperandHashes operands{[&](ValueId id) { return values[static_cast<size_t>(id)]; }};
    for (const auto& [id, role] : roles) values[static_cast<size_t>(id)] = role.hash;
    for (size_t i = 0; i < order.size(); ++i) {
      const Node& node = graph.node(order[i]);
      out[i] = hash_node(node, operands);
      uint64_t index = 0;
      for (const Argument& output : node.outputs)
        for_each_value(output, [&](ValueId id) {
          values[static_cast<size_t>(id)] = mix_hash(out[i], ++index);
        });
    }
    return out;
  }

  std::string result_text(const Node& node) const {
    std::string text;
    for (const Argument& output : node.outputs)
      for_each_value(output,
                     [&](ValueId id) { text += plain_type(graph.value(id), symbols) + ";"; });
    return text;
  }

  const Node& node(size_t place) const { return graph.node(order[place]); }
  bool has_modules() const {
    return std::ranges::any_of(modules, [](uint64_t each) { return each != hash_text(""); });
  }

  // Nodes of one module are usually adjacent, so the last hash is reused.
  uint64_t module_hash(const Node& node) {
    const std::string* stack = find_metadata(node.metadata, "nn_module_stack");
    const bool is_known = stack != nullptr && last_stack_ != nullptr && *stack == *last_stack_;
    if (!is_known) last_module_ = hash_text(module_path(node));
    last_stack_ = stack;
    return last_module_;
  }

  const Graph& graph;
  SymbolNames& symbols;
  struct Role {
    std::string_view text;  // in the GraphSide
    uint64_t hash = 0;
  };
  std::unordered_map<ValueId, Role> roles;  // of the graph's inputs
  std::vector<NodeId> order;
  // Hashes by place in `order`.
  std::vector<uint64_t> modules, targets, locals, results;

 private:
  const std::string* last_stack_ = nullptr;
  uint64_t last_module_ = 0;
};

class GraphDiff {
 public:
  GraphDiff(const GraphSide& before, const GraphSide& after, bool semantic, Difference& out)
      : before_(before),
        after_(after),
        semantic_(semantic),
        out_(out),
        changes_(out.changes),
        with_modules_(before_.has_modules() && after_.has_modules()),
        to_after_(before_.order.size(), kNone),
        to_before_(after_.order.size(), kNone) {}

  void run(std::vector<NodePair>& pairs) {
    // Matches from the most to the least certain: the same call in the same module; the same
    // content elsewhere; other arguments; another operator.
    match_in_order([&](const Side& side, size_t i) { return mixed(side, i, side.locals[i]); });
    match_moved();
    match_in_order([&](const Side& side, size_t i) { return mixed(side, i, side.targets[i]); });
    match_in_order([](const Side& side, size_t i) { return side.targets[i]; });
    match_in_order([&](const Side& side, size_t i) { return mixed(side, i, side.results[i]); });
    map_values();
    report(pairs);
  }

 private:
  uint64_t mixed(const Side& side, size_t i, uint64_t key) const {
    return with_modules_ ? mix_hash(key, side.modules[i]) : key;
  }

  void match(size_t before, size_t after) {
    to_after_[before] = after;
    to_before_[after] = before;
  }

  // Matches the unmatched nodes in each gap between known pairs.
  template <class Key>
  void match_in_order(Key&& key) {
    size_t begin = 0, after_begin = 0;
    std::vector<size_t> left;
    const auto close = [&](size_t after_end) {
      std::vector<size_t> right;
      for (size_t i = after_begin; i < after_end; ++i)
        if (to_before_[i] == kNone) right.push_back(i);
      match_gap(left, right, key);
      left.clear();
    };
    for (; begin < to_after_.size(); ++begin) {
      const size_t partner = to_after_[begin];
      if (partner == kNone) {
        left.push_back(begin);
      } else if (partner >= after_begin) {
        close(partner);
        after_begin = partner + 1;
      }  // a moved node; it does not end a gap
    }
    close(to_before_.size());
  }

  template <class Key>
  void match_gap(const std::vector<size_t>& left, const std::vector<size_t>& right, Key&& key) {
    if (left.empty() || right.empty()) return;
    std::vector<uint64_t> before, after;
    for (const size_t i : left) before.push_back(key(before_, i));
    for (const size_t i : right) after.push_back(key(after_, i));
    for (const auto& [a, b] : align(before, after)) match(left[a], right[b]);
  }

  void match_moved() {
    const auto has_left = [](const std::vector<size_t>& partners) {
      return std::ranges::find(partners, kNone) != partners.end();
    };
    if (!has_left(to_before_) || !has_left(to_after_)) return;
    const std::vector<uint64_t> before = before_.contents(), after = after_.contents();
    std::unordered_map<uint64_t, std::vector<size_t>> places;
    for (size_t i = after_.order.size(); i-- > 0;)
      if (to_before_[i] == kNone) places[after[i]].push_back(i);
    for (size_t i = 0; i < before_.order.size(); ++i) {
      if (to_after_[i] != kNone) continue;
      const auto found = places.find(before[i]);
      if (found == places.end() || found->second.empty()) continue;
      match(i, found->second.back());
      found->second.pop_back();
    }
  }

  void map_values() {
    counterparts_.assign(after_.graph.value_count(), std::nullopt);
    TextMap<std::string_view, std::deque<ValueId>> inputs;
    const auto each_input = [](const Side& side, auto&& visit) {
      for (const Argument& input : side.graph.inputs()) for_each_value(input, visit);
    };
    each_input(before_, [&](ValueId id) { inputs[before_.roles.at(id).text].push_back(id); });
    // Inputs of the same role, such as tied weights, correspond in order.
    each_input(after_, [&](ValueId id) {
      const auto found = inputs.find(after_.roles.at(id).text);
      if (found == inputs.end()) return;
      name_as(id, found->second.front());
      if (found->second.size() > 1) found->second.pop_front();
    });
    for (size_t i = 0; i < to_after_.size(); ++i) {
      if (to_after_[i] == kNone) continue;
      const auto before = results_of(before_, i), after = results_of(after_, to_after_[i]);
      for (size_t k = 0; k < std::min(before.size(), after.size()); ++k)
        name_as(after[k], before[k]);
    }
  }

  void name_as(ValueId after, ValueId before) {
    counterparts_[static_cast<size_t>(after)] = before;
  }

  // Returns the counterpart's name for a value of after_. A value without counterpart must not get
  // the name of another value of before_.
  std::string name_after(ValueId id) const {
    if (const auto counterpart = counterparts_[static_cast<size_t>(id)])
      return value_text(before_.graph, *counterpart);
    const std::string& name = after_.graph.value(id).name;
    const bool is_other = name.size() > kMaxText || before_.graph.find_value(name);
    return value_text(after_.graph, id) + (is_other ? " (new)" : "");
  }

  static std::vector<ValueId> results_of(const Side& side, size_t place) {
    std::vector<ValueId> out;
    for (const Argument& output : side.node(place).outputs)
      for_each_value(output, [&](ValueId id) { out.push_back(id); });
    return out;
  }

  void report(std::vector<NodePair>& pairs) {
    size_t next = 0;
    const auto add_until = [&](size_t end) {
      for (; next < end; ++next)
        if (to_before_[next] == kNone) {
          const size_t known = changes_.size();
          report_one(after_, next, ChangeKind::added);
          pairs.push_back({std::nullopt, after_.order[next], changes_.size() != known, known,
                           changes_.size() - known});
        }
    };
    for (size_t i = 0; i < to_after_.size(); ++i) {
      const size_t partner = to_after_[i];
      if (partner != kNone && partner >= next) add_until(partner + 1);
      const size_t known = changes_.size();
      if (partner == kNone) {
        report_one(before_, i, ChangeKind::removed);
        pairs.push_back({before_.order[i], std::nullopt, changes_.size() != known, known,
                         changes_.size() - known});
        continue;
      }
      compare(i, partner);
      pairs.push_back({before_.order[i], after_.order[partner], changes_.size() != known, known,
                       changes_.size() - known});
    }
    add_until(to_before_.size());
  }

  // A node may have many changes, which all repeat its place.
  Change change_at(const Side& side, size_t place, ChangeKind kind) {
    const Node& node = side.node(place);
    if (&node != last_node_) {
      last_node_ = &node;
      last_place_ = {.what = bounded(fmt::format("{} ({})", result_name(side.graph, node),
                                                 short_target(node.target)),
                                     kMaxText),
                     .module_path = bounded(module_path(node), kMaxText),
                     .source_line = bounded(source_line(node), kMaxText)};
    }
    Change change = last_place_;
    change.kind = kind;
    return change;
  }

  ArgumentNames names_of(const Side& side) const {
    const bool is_after = &side == &after_;
    return {[this, &side, is_after](ValueId id) {
              return is_after ? name_after(id) : value_text(side.graph, id);
            },
            // Nested graphs are compared separately.
            [](SubgraphId) { return std::string("graph"); }};
  }

  std::string argument_text(const Side& side, const NamedArgument& input) const {
    std::string out;
    append_argument(out, input.arg, names_of(side));
    return out;
  }

  void report_one(const Side& side, size_t place, ChangeKind kind) {
    if (semantic_ && says_nothing(side.node(place))) return;
    Change change = change_at(side, place, kind);
    std::string& text = kind == ChangeKind::added ? change.after : change.before;
    for (const NamedArgument& input : side.node(place).inputs) {
      if (text.size() > kMaxText) {
        text += ", …";
        break;
      }
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ",
                          input.name.empty() ? "" : input.name + "=", argument_text(side, input));
    }
    changes_.push_back(std::move(change));
  }

  void compare(size_t before, size_t after) {
    const Node& a = before_.node(before);
    const Node& b = after_.node(after);
    const size_t known = changes_.size();
    if (a.target != b.target) {
      Change change = change_at(before_, before, ChangeKind::changed);
      change.what = result_name(before_.graph, a);
      change.before = short_target(a.target);
      change.after = short_target(b.target);
      changes_.push_back(std::move(change));
    }
    compare_arguments(before, after, a.target == b.target);
    compare_subgraphs(a, b);
    if (changes_.size() == known) compare_results(before, after);
  }

  void compare_arguments(size_t before, size_t after, bool same_operator) {
    const Node& a = before_.node(before);
    const Node& b = after_.node(after);
    const Partners of_before(b), of_after(a);
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      const NamedArgument& left = a.inputs[i];
      const NamedArgument* right = of_before.find(left, i);
      const bool both_say_nothing =
          is_left_out(a, left) && (right == nullptr || is_left_out(b, *right));
      if (!both_say_nothing) compare_argument(before, left, right, same_operator);
    }
    if (!same_operator) return;
    for (size_t i = 0; i < b.inputs.size(); ++i)
      if (of_after.find(b.inputs[i], i) == nullptr && !is_left_out(b, b.inputs[i])) {
        Change change = change_at(before_, before, ChangeKind::changed);
        change.after = b.inputs[i].name + "=" + argument_text(after_, b.inputs[i]);
        changes_.push_back(std::move(change));
      }
  }

  bool is_left_out(const Node& node, const NamedArgument& input) const {
    return semantic_ && says_nothing(node, input);
  }

  // Finds the arguments of a node for those of another one: by name; unnamed arguments by position.
  class Partners {
   public:
    explicit Partners(const Node& node) : inputs_(node.inputs) {
      constexpr size_t kFew = 32;  // a search is faster among few
      if (inputs_.size() > kFew)
        for (const NamedArgument& input : inputs_) by_name_.try_emplace(input.name, &input);
    }
    const NamedArgument* find(const NamedArgument& input, size_t place) const {
      if (input.name.empty()) return place < inputs_.size() ? &inputs_[place] : nullptr;
      if (by_name_.empty()) {
        const auto found = std::ranges::find(inputs_, input.name, &NamedArgument::name);
        return found == inputs_.end() ? nullptr : &*found;
      }
      const auto found = by_name_.find(input.name);
      return found == by_name_.end() ? nullptr : found->second;
    }

   private:
    const std::vector<NamedArgument>& inputs_;
    TextMap<std::string_view, const NamedArgument*> by_name_;
  };

  // True if the arguments are equal, as far as this is visible without their texts.
  bool is_same(const Argument& before, const Argument& after) const {
    if (const auto* id = before.get_if<ValueId>()) {
      const auto* other = after.get_if<ValueId>();
      return other != nullptr && counterparts_[static_cast<size_t>(*other)] == *id;
    }
    const auto is_equal = [&]<class T>(const T* value) {
      const T* other = after.get_if<T>();
      return value != nullptr && other != nullptr && *value == *other;
    };
    if (const auto* list = before.get_if<ArgumentList>()) {
      const auto* other = after.get_if<ArgumentList>();
      return other != nullptr && std::ranges::equal(list->items, other->items,
                                                    [&](const Argument& a, const Argument& b) {
                                                      return is_same(a, b);
                                                    });
    }
    return (before.is<None>() && after.is<None>()) || is_equal(before.get_if<bool>()) ||
           is_equal(before.get_if<int64_t>()) || is_equal(before.get_if<double>()) ||
           is_equal(before.get_if<std::string>()) || is_equal(before.get_if<ScalarType>());
  }

  // Two operators name their arguments independently; only arguments with the same name are
  // compared.
  void compare_argument(size_t before, const NamedArgument& left, const NamedArgument* right,
                        bool same_operator) {
    if (right == nullptr && !same_operator) return;
    if (right != nullptr && is_same(left.arg, right->arg)) return;
    const std::string old_text = argument_text(before_, left);
    const std::string new_text = right == nullptr ? "" : argument_text(after_, *right);
    if (old_text == new_text) return;
    const std::string prefix = left.name.empty() ? "" : left.name + "=";
    Change change = change_at(before_, before, ChangeKind::changed);
    change.before = prefix + old_text;
    change.after = right == nullptr ? "" : prefix + new_text;
    changes_.push_back(std::move(change));
  }

  void compare_subgraphs(const Node& a, const Node& b) {
    const auto nested = [](const Graph& graph, const Node& node) {
      std::vector<const Graph*> out;
      for (const NamedArgument& input : node.inputs)
        for_each_subgraph(input.arg, [&](SubgraphId id) { out.push_back(&graph.subgraph(id)); });
      return out;
    };
    const auto left = nested(before_.graph, a), right = nested(after_.graph, b);
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      std::vector<NodePair> pairs;
      diff_graphs({*left[i], places(*left[i]), before_.symbols},
                  {*right[i], places(*right[i]), after_.symbols}, semantic_, out_, pairs);
      out_.nested.push_back({left[i], right[i], std::move(pairs)});
    }
  }

  static std::vector<std::string> places(const Graph& graph) {
    std::vector<std::string> out;
    for (size_t i = 0; i < graph.inputs().size(); ++i) out.push_back(fmt::format("input {}", i));
    return out;
  }

  // Reports a type change that no operand's type explains.
  void compare_results(size_t before, size_t after) {
    if (before_.results[before] == after_.results[after]) return;
    if (has_changed_input(before_.node(before), after_.node(after))) return;
    const auto left = results_of(before_, before), right = results_of(after_, after);
    const auto type = [](const Side& side, ValueId id) {
      return plain_type(side.graph.value(id), side.symbols);
    };
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      const std::string old_type = type(before_, left[i]), new_type = type(after_, right[i]);
      if (old_type == new_type) continue;
      Change change = change_at(before_, before, ChangeKind::changed);
      change.section = ChangeSection::size;
      change.before = old_type;
      change.after = new_type;
      changes_.push_back(std::move(change));
    }
  }

  bool has_changed_input(const Node& a, const Node& b) const {
    std::vector<std::string_view> left, right;
    for (const NamedArgument& input : a.inputs)
      for_each_value(input.arg, [&](ValueId id) {
        left.push_back(plain_type(before_.graph.value(id), before_.symbols));
      });
    for (const NamedArgument& input : b.inputs)
      for_each_value(input.arg, [&](ValueId id) {
        right.push_back(plain_type(after_.graph.value(id), after_.symbols));
      });
    return left != right;
  }

  Side before_, after_;
  const bool semantic_;
  Difference& out_;
  std::vector<Change>& changes_;
  bool with_modules_;
  const Node* last_node_ = nullptr;
  Change last_place_;  // of last_node_
  std::vector<size_t> to_after_, to_before_;
  std::vector<std::optional<ValueId>> counterparts_;  // values of before_, by value id of after_
};

}  // namespace

void diff_graphs(const GraphSide& before, const GraphSide& after, bool semantic, Difference& out,
                 std::vector<NodePair>& pairs) {
  GraphDiff(before, after, semantic, out).run(pairs);
}

}  // namespace pt2
