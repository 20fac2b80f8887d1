#include "lower/time_steps.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lower/arguments.h"
#include "lower/new_nodes.h"
#include "ops/table.h"

namespace pt2 {
namespace {

// One of the equal parts of a value along a dimension.
struct Part {
  ValueId whole{};
  int64_t index = 0;
};

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  // Returns the time step whose state is the first result of the node.
  std::optional<TimeStep> step(NodeId id) {
    const Node& node = graph_.node(id);
    if (find_only_output(node) == nullptr) return std::nullopt;
    const ValueId state = only_output(node);
    const std::vector<SymInt>* sizes = sizes_of(state);
    if (sizes == nullptr || sizes->size() < 2 || sizes->size() > 3 ||
        (sizes->size() == 3 && !((*sizes)[0] == SymInt(1))))
      return std::nullopt;
    for (const auto match : {&Matcher::match_lstm, &Matcher::match_gru, &Matcher::match_rnn}) {
      step_ = {.state = state};
      if ((this->*match)()) return std::exchange(step_, {});
    }
    return std::nullopt;
  }

  // Returns the product behind a value that may show its rows in other dimensions. Adds the nodes
  // up to the product to `nodes`.
  std::optional<Linear> linear(ValueId rows, std::vector<NodeId>* nodes = nullptr) const {
    ValueId made = behind_reshapes(rows, nodes);
    const Node* node = maker(made);
    if (node == nullptr || !have_equal_rows(rows, made)) return std::nullopt;
    std::optional<ValueId> bias;
    const bool adds = node->target == "torch.ops.aten.addmm.default" &&
                      literal(*node, "beta", 1) == 1 && literal(*node, "alpha", 1) == 1;
    if (adds) {
      bias = bias_of(*node, "self", rows);
    } else if (node->target == kAdd && literal(*node, "alpha", 1) == 1) {
      bias = bias_of(*node, "other", rows);
      if (nodes != nullptr) nodes->push_back(definition(made).node);
      const auto product = operand(*node, "self");
      made = product ? behind_reshapes(*product, nodes) : made;
      node = maker(made);
    }
    // PyTorch multiplies batches that do not lie row after row by a repeated weight.
    const bool multiplies = node != nullptr && (node->target == "torch.ops.aten.mm.default" ||
                                                node->target == "torch.ops.aten.bmm.default");
    if ((!adds && !multiplies) || (!multiplies && !bias) || !have_equal_rows(rows, made))
      return std::nullopt;
    const auto input = operand(*node, multiplies ? "self" : "mat1"),
               weight = weight_of(*node, "mat2");
    if (!input || !weight) return std::nullopt;
    if (nodes != nullptr) nodes->push_back(definition(made).node);
    return Linear{*input, *weight, bias};
  }

  // Returns the value of the wanted sizes of which `value` is a reshape, or `value` itself.
  std::optional<ValueId> reshaped_from(ValueId value, const std::vector<SymInt>& wanted) const {
    for (int i = 0; i < kMostViews; ++i) {
      if (const auto* sizes = sizes_of(value); sizes != nullptr && *sizes == wanted) return value;
      const auto before = reshaped(value);
      if (!before) break;
      value = *before;
    }
    return std::nullopt;
  }

  // Returns the operand of the node that makes the value by reversing the first dimension.
  std::optional<ValueId> flipped(ValueId value) const {
    const Node* node = maker(value);
    const auto* list = node != nullptr ? find_argument<ArgumentList>(*node, "dims") : nullptr;
    if (list == nullptr || list->items.size() != 1 || node->target != "torch.ops.aten.flip.default")
      return std::nullopt;
    const auto* dim = list->items[0].get_if<int64_t>();
    return dim != nullptr && *dim == 0 ? operand(*node, "self") : std::nullopt;
  }

  // Null for values that are no float32 tensors.
  const std::vector<SymInt>* sizes_of(ValueId value) const {
    const TensorMeta* meta = graph_.value(value).tensor();
    return meta != nullptr && meta->dtype.dtype() == Dtype::float32 ? &meta->sizes : nullptr;
  }
  const Definition& definition(ValueId value) const { return graph_.value(value).definition; }
  const Node* maker(ValueId value) const { return find_maker(graph_, value); }
  // Adds the views that it passes to `nodes`.
  ValueId behind_reshapes(ValueId value, std::vector<NodeId>* nodes = nullptr) const {
    for (int i = 0; i < kMostViews; ++i) {
      const auto before = reshaped(value);
      if (!before) break;
      if (nodes != nullptr) nodes->push_back(definition(value).node);
      value = *before;
    }
    return value;
  }

 private:
  // Limits the views of views that are followed.
  static constexpr int kMostViews = 8;

  // True if both have the same last dimension.
  bool have_equal_rows(ValueId one, ValueId other) const {
    const std::vector<SymInt>*a = sizes_of(one), *b = sizes_of(other);
    return a != nullptr && b != nullptr && !a->empty() && !b->empty() && a->back() == b->back();
  }

  // Returns the operand if it has one number for each column of the rows.
  std::optional<ValueId> bias_of(const Node& node, std::string_view name, ValueId rows) const {
    const auto bias = operand(node, name);
    const std::vector<SymInt>* sizes = bias ? sizes_of(*bias) : nullptr;
    return sizes != nullptr && sizes->size() == 1 && have_equal_rows(*bias, rows) ? bias
                                                                                  : std::nullopt;
  }
  // Returns the matrix of which the operand is the transpose, which may be repeated.
  std::optional<ValueId> weight_of(const Node& node, std::string_view name) const {
    std::optional<ValueId> value = operand(node, name);
    for (int i = 0; value && i < kMostViews; ++i) {
      const Node* view = maker(*value);
      if (view == nullptr) break;
      const auto from = operand(*view, "self");
      if (from && turns(*view)) return from;
      const bool repeats = reshaped(*value) || view->target == "torch.ops.aten.expand.default";
      if (!from || !repeats || !have_equal_matrices(*value, *from)) break;
      value = from;
    }
    return std::nullopt;
  }
  // True if both have the same last two dimensions.
  bool have_equal_matrices(ValueId one, ValueId other) const {
    const std::vector<SymInt>*a = sizes_of(one), *b = sizes_of(other);
    return a != nullptr && b != nullptr && a->size() >= 2 && b->size() >= 2 &&
           std::equal(a->end() - 2, a->end(), b->end() - 2);
  }

  static std::optional<ValueId> operand(const Node& node, std::string_view name) {
    const auto* id = find_argument<ValueId>(node, name);
    return id != nullptr ? std::optional(*id) : std::nullopt;
  }
  // Returns the value of which this is a view that keeps the order of the elements.
  std::optional<ValueId> reshaped(ValueId value) const {
    const Node* node = maker(value);
    if (node == nullptr) return std::nullopt;
    const ops::Operator op = ops::find_operator(node->target);
    const bool is_reshape = op && op.custom == nullptr &&
                            op.form == ops::Operator::Form::as_written &&
                            op.def->facts.inverse == ops::Inverse::reshape;
    return is_reshape ? operand(*node, "self") : std::nullopt;
  }
  // True for a view that swaps the dimensions of a matrix.
  static bool turns(const Node& node) {
    if (node.target == "torch.ops.aten.t.default") return true;
    const auto* list = find_argument<ArgumentList>(node, "dims");
    if (node.target != "torch.ops.aten.permute.default" || list == nullptr ||
        list->items.size() != 2)
      return false;
    const auto* first = list->items[0].get_if<int64_t>();
    return first != nullptr && (*first == 1 || *first == -1);
  }

  // Returns the operand of the unary operator that makes the value.
  std::optional<ValueId> unary(ValueId value, std::string_view target) {
    const Node* node = maker(value);
    if (node == nullptr || node->target != target) return std::nullopt;
    note(value);
    return operand(*node, "self");
  }
  // Returns the tensors that the node adds, subtracts or multiplies.
  std::optional<std::pair<ValueId, ValueId>> binary(ValueId value, std::string_view target) {
    const Node* node = maker(value);
    if (node == nullptr || node->target != target || literal(*node, "alpha", 1) != 1)
      return std::nullopt;
    const auto self = operand(*node, "self"), other = operand(*node, "other");
    if (!self || !other) return std::nullopt;
    note(value);
    return std::pair(*self, *other);
  }
  // Calls match(a, b) for the operands of a commutative operator in both orders.
  template <class Match>
  bool either(ValueId value, std::string_view target, const Match& match) {
    const auto operands = binary(value, target);
    if (!operands) return false;
    const size_t noted = step_.nodes.size();
    if (match(operands->first, operands->second)) return true;
    step_.nodes.resize(noted);
    return match(operands->second, operands->first);
  }
  void note(ValueId value) { step_.nodes.push_back(definition(value).node); }

  // Returns the whole of which the value is one of equal parts along `dim`. Parts of one element
  // may lack the dimension.
  std::optional<Part> part(ValueId value, size_t dim) const {
    const Node* node = maker(value);
    if (node == nullptr) return std::nullopt;
    const std::optional<ValueId> whole = operand(*node, "self");
    if (!whole) return std::nullopt;
    const std::vector<SymInt>*from = sizes_of(*whole), *to = sizes_of(value);
    if (from == nullptr || to == nullptr || dim >= from->size()) return std::nullopt;
    const auto rank = static_cast<int64_t>(from->size());
    const std::optional<int64_t> along = literal(*node, "dim", 0);
    if (!along || static_cast<size_t>(*along < 0 ? *along + rank : *along) != dim)
      return std::nullopt;
    if (node->target == "torch.ops.aten.select.int" || node->target == "torch.ops.aten.unbind.int")
      return dropped(*node, value, *whole, (*from)[dim]);
    if (to->size() != from->size() || (*to)[dim].is_symbolic() || (*to)[dim].literal() < 1)
      return std::nullopt;
    const int64_t size = (*to)[dim].literal();
    if (node->target == "torch.ops.aten.slice.Tensor") {
      const auto start = literal(*node, "start", 0);
      if (!start || *start < 0 || *start % size != 0 || literal(*node, "step", 1) != 1)
        return std::nullopt;
      return Part{*whole, *start / size};
    }
    for (const std::string_view target :
         {"torch.ops.aten.split_with_sizes.default", "torch.ops.aten.split.Tensor",
          "torch.ops.aten.unsafe_split.Tensor", "torch.ops.aten.chunk.default"})
      if (node->target == target && has_equal_parts(*node, dim))
        return Part{*whole, definition(value).index};
    return std::nullopt;
  }
  std::optional<Part> dropped(const Node& node, ValueId value, ValueId whole,
                              const SymInt& size) const {
    if (node.target == "torch.ops.aten.unbind.int") return Part{whole, definition(value).index};
    const auto index = literal(node, "index", std::nullopt);
    if (!index || (*index < 0 && size.is_symbolic())) return std::nullopt;
    return Part{whole, *index < 0 ? *index + size.literal() : *index};
  }
  bool has_equal_parts(const Node& node, size_t dim) const {
    const auto* parts = node.outputs.size() == 1 ? node.outputs[0].get_if<ArgumentList>() : nullptr;
    if (parts == nullptr) return false;
    const std::vector<SymInt>* first = nullptr;
    return std::ranges::all_of(parts->items, [&](const Argument& each) {
      const auto* id = each.get_if<ValueId>();
      const std::vector<SymInt>* sizes = id != nullptr ? sizes_of(*id) : nullptr;
      if (first == nullptr) first = sizes;
      return sizes != nullptr && dim < sizes->size() && dim < first->size() &&
             (*sizes)[dim] == (*first)[dim];
    });
  }

  // True if the value is this gate of `count` that lie side by side in `gates`.
  bool is_gate(ValueId value, int64_t index, int64_t count, std::optional<ValueId>& gates) {
    const std::vector<SymInt>* sizes = sizes_of(value);
    if (sizes == nullptr || sizes->empty()) return false;
    const std::optional<Part> found = part(value, sizes->size() - 1);
    if (!found || found->index != index || (gates && *gates != found->whole) ||
        sizes_of(found->whole)->size() != sizes->size())
      return false;
    const SymInt &all = sizes_of(found->whole)->back(), &one = sizes->back();
    if (all.is_symbolic() || one.is_symbolic() || all.literal() != count * one.literal() ||
        !(one == sizes_of(step_.state)->back()))
      return false;
    gates = found->whole;
    note(value);
    return true;
  }
  // True if the value shows the sums of the input at one time.
  bool match_input(ValueId value) {
    for (int i = 0; i < kMostViews; ++i) {
      const std::vector<SymInt>* sizes = sizes_of(value);
      const auto found = part(value, 0);
      if (found && sizes_of(found->whole)->size() == 3 &&
          (sizes->size() == 2 || (*sizes)[0] == SymInt(1))) {
        step_.sums = found->whole;
        step_.time = found->index;
        return (*sizes_of(step_.sums))[1] == sizes_of(step_.state)->end()[-2];
      }
      const auto before = reshaped(value);
      if (!before) break;
      value = *before;
    }
    return false;
  }
  bool match_product(ValueId value) {
    const auto product = linear(value, &step_.nodes);
    if (!product) return false;
    step_.product = *product;
    step_.views.clear();
    step_.last_state = behind_reshapes(product->input, &step_.views);
    return true;
  }
  bool match_sum(ValueId value) {
    return either(value, kAdd, [&](ValueId product, ValueId input) {
      return match_product(product) && match_input(input);
    });
  }
  bool is_function_of_gate(ValueId value, std::string_view function, int64_t index,
                           std::optional<ValueId>& gates) {
    const auto gate = unary(value, function);
    return gate && is_gate(*gate, index, 4, gates);
  }

  // h = sigmoid(o) tanh(c), c = sigmoid(f) c' + sigmoid(i) tanh(g)
  bool match_lstm() {
    step_.cell = Cell::lstm;
    std::optional<ValueId> gates;
    return either(step_.state, kMul,
                  [&](ValueId output, ValueId shown) {
                    gates.reset();
                    const auto cell = unary(shown, kTanh);
                    if (!cell || !is_function_of_gate(output, kSigmoid, 3, gates)) return false;
                    step_.cell_state = *cell;
                    return either(*cell, kAdd, [&](ValueId kept, ValueId added) {
                      const bool keeps = either(kept, kMul, [&](ValueId gate, ValueId last) {
                        step_.last_cell_state = last;
                        return is_function_of_gate(gate, kSigmoid, 1, gates);
                      });
                      return keeps && either(added, kMul, [&](ValueId gate, ValueId candidate) {
                               return is_function_of_gate(gate, kSigmoid, 0, gates) &&
                                      is_function_of_gate(candidate, kTanh, 2, gates);
                             });
                    });
                  }) &&
           match_sum(*gates);
  }

  // h = (h' - n) z + n, n = tanh(x_n + r h_n), z = sigmoid(h_z + x_z), r = sigmoid(h_r + x_r)
  bool match_gru() {
    step_.cell = Cell::gru;
    std::optional<ValueId> of_state, of_input, last;
    const auto sum_of_gates = [&](ValueId value, int64_t index) {
      const auto sum = unary(value, kSigmoid);
      return sum && either(*sum, kAdd, [&](ValueId one, ValueId other) {
               return is_gate(one, index, 3, of_state) && is_gate(other, index, 3, of_input);
             });
    };
    const auto candidate = [&](ValueId value) {
      const auto sum = unary(value, kTanh);
      return sum && either(*sum, kAdd, [&](ValueId input, ValueId product) {
               return either(product, kMul, [&](ValueId state, ValueId reset) {
                 of_state.reset();
                 of_input.reset();
                 return is_gate(state, 2, 3, of_state) && is_gate(input, 2, 3, of_input) &&
                        sum_of_gates(reset, 0);
               });
             });
    };
    const bool found = either(step_.state, kAdd, [&](ValueId product, ValueId added) {
      return candidate(added) && either(product, kMul, [&](ValueId difference, ValueId update) {
               const auto operands = binary(difference, kSub);
               if (!operands || operands->second != added) return false;
               last = operands->first;
               return sum_of_gates(update, 1);
             });
    });
    return found && match_product(*of_state) && behind_reshapes(*last) == step_.last_state &&
           match_input(*of_input);
  }

  bool match_rnn() {
    for (const auto& [cell, function] :
         {std::pair(Cell::rnn_tanh, kTanh), std::pair(Cell::rnn_relu, kRelu)}) {
      step_.cell = cell;
      if (const auto sum = unary(step_.state, function)) return match_sum(*sum);
    }
    return false;
  }

  static constexpr std::string_view kAdd = "torch.ops.aten.add.Tensor";
  static constexpr std::string_view kSub = "torch.ops.aten.sub.Tensor";
  static constexpr std::string_view kMul = "torch.ops.aten.mul.Tensor";
  static constexpr std::string_view kTanh = "torch.ops.aten.tanh.default";
  static constexpr std::string_view kRelu = "torch.ops.aten.relu.default";
  static constexpr std::string_view kSigmoid = "torch.ops.aten.sigmoid.default";

  const Graph& graph_;
  TimeStep step_;
};

bool follows(const TimeStep& step, const TimeStep& last) {
  const Linear &one = step.product, &other = last.product;
  return step.cell == last.cell && step.sums == last.sums && one.weight == other.weight &&
         one.bias == other.bias &&
         (step.cell != Cell::lstm || step.last_cell_state == last.cell_state);
}

// True if values of the steps, except for states and the last cell state, are used inside alone.
bool is_closed(const Graph& graph, const Network& network) {
  const NodeSet nodes = inside(network);
  std::unordered_set<ValueId> shown;
  for (const TimeStep& step : network.steps) shown.insert(step.state);
  if (network.steps[0].cell == Cell::lstm) shown.insert(network.steps.back().cell_state);
  return std::ranges::all_of(nodes, [&](NodeId id) {
    bool closed = true;
    for_each_result(graph.node(id), [&](ValueId value) {
      closed = closed && (shown.contains(value) || !is_used_outside(graph, value, nodes));
    });
    return closed;
  });
}

}  // namespace

NodeSet inside(const Network& network) {
  NodeSet out;
  for (const TimeStep& step : network.steps) {
    out.insert(step.nodes.begin(), step.nodes.end());
    if (&step != &network.steps.front()) out.insert(step.views.begin(), step.views.end());
  }
  return out;
}

bool is_used_outside(const Graph& graph, ValueId value, const NodeSet& inside) {
  return std::ranges::any_of(
      graph.uses(value), [&](const Use& use) { return !use.node || !inside.contains(*use.node); });
}

std::vector<std::vector<TimeStep>> chains_of_steps(const Graph& graph) {
  Matcher matcher(graph);
  std::unordered_map<ValueId, size_t> ends;  // by state, the chain that ends there
  std::vector<std::vector<TimeStep>> out;
  for (const NodeId id : graph.nodes()) {
    std::optional<TimeStep> step = matcher.step(id);
    if (!step) continue;
    const auto found = ends.find(step->last_state);
    size_t chain = out.size();
    if (found != ends.end() && follows(*step, out[found->second].back())) {
      chain = found->second;
      ends.erase(found);
    } else {
      out.emplace_back();
    }
    ends[step->state] = chain;
    out[chain].push_back(*std::move(step));
  }
  return out;
}

std::optional<Network> network_of(const Graph& graph, std::vector<TimeStep> steps) {
  const Matcher matcher(graph);
  const auto count = static_cast<int64_t>(steps.size());
  const bool falls = steps.front().time != 0;
  for (int64_t i = 0; i < count; ++i)
    if (steps[static_cast<size_t>(i)].time != (falls ? count - 1 - i : i)) return std::nullopt;
  const TimeStep& first = steps.front();
  const std::vector<SymInt>& sums = *matcher.sizes_of(first.sums);
  const auto flipped = matcher.flipped(first.sums);
  const auto input = matcher.linear(flipped.value_or(first.sums));
  if (count < 2 || !(sums[0] == SymInt(count)) || !input ||
      input->bias.has_value() != first.product.bias.has_value())
    return std::nullopt;
  Network out{.input = *input, .runs_backward = flipped.has_value() != falls};
  const std::vector<SymInt>* weights = matcher.sizes_of(input->weight);
  const auto sequence =
      weights == nullptr || weights->size() != 2
          ? std::nullopt
          : matcher.reshaped_from(input->input, {sums[0], sums[1], (*weights)[1]});
  const std::vector<SymInt>& state_sizes = *matcher.sizes_of(first.state);
  const auto first_state = matcher.reshaped_from(first.product.input, state_sizes);
  // The operators refuse networks without units or without features.
  const auto is_positive = [](const SymInt& size) {
    return !size.is_symbolic() && size.literal() > 0;
  };
  if (!sequence || !first_state || !is_positive(state_sizes.back()) || !is_positive((*weights)[1]))
    return std::nullopt;
  if (first.cell == Cell::lstm) {
    const auto* cell_sizes = matcher.sizes_of(first.last_cell_state);
    if (cell_sizes == nullptr || *cell_sizes != state_sizes) return std::nullopt;
  }
  out.sequence = *sequence;
  out.first_state = *first_state;
  out.steps = std::move(steps);
  return is_closed(graph, out) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace pt2
