#include "lower/functional/views.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ir/symbols/expr_kind.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/written_memory.h"
#include "ops/shape/view.h"
#include "pt2/ir/builder.h"

namespace pt2 {
namespace {

std::optional<Sizes> literals(const std::vector<SymInt>& numbers) {
  Sizes out;
  for (const SymInt& number : numbers) {
    if (number.is_symbolic()) return std::nullopt;
    out.push_back(number.literal());
  }
  return out;
}

const TensorMeta* result_of(const Graph& graph, const Node& node) {
  return node.outputs.size() == 1 ? tensor_meta(graph, node.outputs[0]) : nullptr;
}

// Products of two such numbers do not overflow.
bool are_moderate(const Sizes& numbers) {
  constexpr int64_t kMost = int64_t{1} << 31;
  return std::ranges::all_of(numbers, [](int64_t each) { return each >= 0 && each < kMost; });
}

// The maximum number of results of a split. Finding the start of one piece sums all sizes before
// it, so the total is quadratic.
constexpr size_t kMostPieces = 1024;

// Longer expressions, whose trees share branches, are skipped.
constexpr size_t kMostTerms = 1024;

constexpr size_t kRounds = 2;
constexpr auto kPrimes = [] {
  std::array<int64_t, 64 * kRounds> out{};
  size_t count = 0;
  for (int64_t number = 101; count < out.size(); number += 2) {
    int64_t divisor = 3;
    while (number % divisor != 0) divisor += 2;
    if (divisor == number) out[count++] = number;
  }
  return out;
}();

// Evaluates the numbers with a distinct prime for each symbol, and other primes in each round. Two
// polynomials that are equal there are equal everywhere, except for ones crafted to differ
// elsewhere. Nothing for other expressions, and nothing if the primes run out: two symbols with the
// same prime would look equal.
std::optional<Sizes> numbers_at(size_t round, const std::vector<SymInt>& numbers) {
  Sizes out;
  for (const SymInt& number : numbers) {
    SymbolBindings bindings;
    if (number.is_symbolic()) {
      if (number.expr()->size > kMostTerms || !is_polynomial(number.expr())) return std::nullopt;
      for (const SymbolId symbol : free_symbols(number.expr())) {
        const size_t at = static_cast<size_t>(symbol) * kRounds + round;
        if (at >= kPrimes.size()) return std::nullopt;
        bindings.bind(symbol, kPrimes[at]);
      }
    }
    const Result<int64_t> value = evaluate(number, bindings);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

// Returns a tensor with the recorded sizes and strides, without elements.
std::optional<Tensor> example(const TensorMeta& meta, size_t round) {
  const auto sizes = numbers_at(round, meta.sizes), strides = numbers_at(round, meta.strides);
  if (!sizes || !strides || sizes->size() != strides->size() || !are_moderate(*sizes) ||
      !are_moderate(*strides) || !checked_numel(*sizes) || !meta.dtype.dtype())
    return std::nullopt;
  return Tensor::without_elements(*meta.dtype.dtype(), *sizes).with_view(*sizes, *strides, 0);
}

Aliasing unclear() { return {.is_unclear = true}; }
Aliasing its_own() { return {}; }
Aliasing view_of(size_t input, Inverse inverse) {
  return {.view = View{.input = input, .inverse = inverse}};
}

bool is_literal(const TensorMeta& meta) {
  return literals(meta.sizes).has_value() && literals(meta.strides).has_value();
}

// Applies `is_view` to tensors with the sizes and strides of `from`. If symbolic sizes give a view
// at the samples, they give a view for all sizes: sizes of 1 only turn more tensors into views. If
// they give a copy, other sizes may still give a view, so the answer is unclear.
Aliasing view_if(const TensorMeta& from, View view, auto&& is_view) {
  for (size_t round = 0; round < kRounds; ++round) {
    const std::optional<Tensor> tensor = example(from, round);
    const std::optional<bool> shows = tensor ? is_view(*tensor, round) : std::nullopt;
    if (!shows) return unclear();
    if (!*shows) return is_literal(from) ? its_own() : unclear();
  }
  return {.view = view};
}

Aliasing reshaped(const Graph& graph, const Node& node, size_t input) {
  const TensorMeta* from = tensor_meta(graph, node.inputs[input].arg);
  const TensorMeta* to = result_of(graph, node);
  if (from == nullptr || to == nullptr) return unclear();
  const auto is_view = [&](const Tensor& tensor, size_t round) -> std::optional<bool> {
    const auto sizes = numbers_at(round, to->sizes);
    if (!sizes || checked_numel(*sizes) != tensor.numel()) return std::nullopt;
    return ops::view_strides(tensor, *sizes).has_value();
  };
  return view_if(*from, {.input = input, .inverse = Inverse::reshape}, is_view);
}

// True if the argument is omitted, is None, or equals `value`.
template <class T>
bool is_absent_or(const Node& node, std::string_view name, T value) {
  const Argument* argument = node.find_input(name);
  if (argument == nullptr || argument->is<None>()) return true;
  const T* given = argument->get_if<T>();
  return given != nullptr && *given == value;
}

// True if the conversion's arguments show that it converts to `dtype`, the recorded dtype of its
// result. False if the record contradicts the node: then the record of the operand cannot be
// trusted either.
bool gives_dtype(const Graph& graph, const Node& node, const ops::Operator& op, ScalarType dtype) {
  if (op.signature().find("dtype") != nullptr) {
    const Argument* wanted = node.find_input("dtype");
    if (wanted == nullptr || wanted->is<None>()) return true;
    const auto* given = wanted->get_if<ScalarType>();
    return given != nullptr && *given == dtype;
  }
  const TensorMeta* model = tensor_meta(graph, node.find_input("other"));
  return model != nullptr && model->dtype == dtype;
}

Aliasing cast(const Graph& graph, const Node& node, const ops::Operator& op, size_t input) {
  const TensorMeta* from = tensor_meta(graph, node.inputs[input].arg);
  const TensorMeta* to = result_of(graph, node);
  if (from == nullptr || to == nullptr) return unclear();
  if (from->dtype != to->dtype || from->device != to->device || from->layout != to->layout)
    return its_own();
  if (!gives_dtype(graph, node, op, to->dtype)) return unclear();
  if (!is_absent_or(node, "copy", false)) {
    const auto* copy = node.find_input("copy")->get_if<bool>();
    return copy != nullptr ? its_own() : unclear();
  }
  if (is_absent_or(node, "memory_format", MemoryFormat::preserve))
    return view_of(input, Inverse::same);
  // Different strides prove that the result is a copy.
  const auto before = literals(from->strides), after = literals(to->strides);
  return before && after && *before != *after ? its_own() : unclear();
}

Aliasing made_contiguous(const Graph& graph, const Node& node, size_t input) {
  const TensorMeta* from = tensor_meta(graph, node.inputs[input].arg);
  if (from == nullptr || !is_absent_or(node, "memory_format", MemoryFormat::contiguous))
    return unclear();
  return view_if(
      *from, {.input = input, .inverse = Inverse::same},
      [](const Tensor& tensor, size_t) -> std::optional<bool> { return tensor.is_contiguous(); });
}

Aliasing of_complex(const Graph& graph, const Node& node, size_t input, Inverse inverse) {
  const TensorMeta* from = tensor_meta(graph, node.inputs[input].arg);
  const auto dtype = from != nullptr ? from->dtype.dtype() : std::nullopt;
  if (!dtype) return unclear();
  return dtype_category(*dtype) < DtypeCategory::complex ? view_of(input, inverse) : unclear();
}

Aliasing dropped(const Node& node, size_t input) {
  const auto* is_training = find_argument<bool>(node, "train");
  const auto* probability = find_argument<double>(node, "p");
  const auto* whole = find_argument<int64_t>(node, "p");
  if (is_training == nullptr || (probability == nullptr && whole == nullptr)) return unclear();
  const bool drops = probability != nullptr ? *probability != 0 : *whole != 0;
  return *is_training && drops ? its_own() : view_of(input, Inverse::same);
}

// Returns the argument that a result may view: the first one that is marked as aliased, else the
// first tensor.
std::optional<size_t> shown_input(const Graph& graph, const Node& node, const ops::Operator& op) {
  for (const ops::Parameter& parameter : op.signature()) {
    if (!parameter.aliased) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].name == parameter.name) return i;
  }
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (tensor_meta(graph, node.inputs[i].arg) != nullptr) return i;
  return std::nullopt;
}

std::vector<NamedArgument> other_inputs(const Node& node, size_t input) {
  std::vector<NamedArgument> out = node.inputs;
  out.erase(out.begin() + static_cast<ptrdiff_t>(input));
  return out;
}

Node aten(std::string_view name, std::vector<NamedArgument> inputs) {
  return {.target = std::string(kAten) + std::string(name), .inputs = std::move(inputs)};
}

NamedArgument named(std::string name, Argument argument) {
  return {.name = std::move(name), .arg = std::move(argument)};
}

// Returns a call of the operator for `self` and what follows it.
Node call_on(std::string_view name, ValueId self, std::vector<NamedArgument> rest) {
  rest.insert(rest.begin(), named("self", self));
  return aten(name, std::move(rest));
}

Node scatter(std::string_view name, ValueId whole, ValueId part, std::vector<NamedArgument> rest) {
  rest.insert(rest.begin(), named("src", part));
  return call_on(std::string(name) + ".default", whole, std::move(rest));
}

std::optional<Node> scatter_slice(ValueId whole, ValueId part, int64_t dim, int64_t start,
                                  int64_t length) {
  if (start < 0 || length < 0 || start > std::numeric_limits<int64_t>::max() - length)
    return std::nullopt;
  return scatter("slice_scatter", whole, part,
                 {named("dim", dim), named("start", start), named("end", start + length)});
}

// Returns the view of another tensor.
Node with_base(const Node& node, const View& view, ValueId base) {
  Node out{.target = node.target, .inputs = node.inputs};
  out.inputs[view.input].arg = Argument(base);
  return out;
}

Node reshape_to(const Graph& graph, ValueId whole, ValueId part) {
  const auto sizes = literals(graph.value(whole).tensor()->sizes);
  if (!sizes) return call_on("reshape_as.default", part, {named("other", whole)});
  return call_on("reshape.default", part, {named("shape", ints(*sizes))});
}

std::optional<Argument> inverse_permutation(const Argument& dims) {
  const auto* list = dims.get_if<ArgumentList>();
  if (list == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(list->items.size());
  std::vector<int64_t> inverse(list->items.size(), -1);
  for (int64_t i = 0; i < rank; ++i) {
    const auto* dim = list->items[static_cast<size_t>(i)].get_if<int64_t>();
    if (dim == nullptr || *dim < -rank || *dim >= rank) return std::nullopt;
    inverse[static_cast<size_t>(*dim < 0 ? *dim + rank : *dim)] = i;
  }
  if (std::ranges::any_of(inverse, [](int64_t dim) { return dim < 0; })) return std::nullopt;
  return ints(inverse);
}

std::optional<Node> permute_back(const Node& node, const View& view, ValueId part) {
  Node out = with_base(node, view, part);
  for (NamedArgument& input : out.inputs) {
    if (input.name != "dims") continue;
    auto inverse = inverse_permutation(input.arg);
    if (!inverse) return std::nullopt;
    input.arg = *std::move(inverse);
  }
  return out;
}

Node move_back(const Node& node, const View& view, ValueId part) {
  Node out = with_base(node, view, part);
  for (NamedArgument& input : out.inputs) {
    const bool is_source = input.name == "source";
    if (!is_source && input.name != "destination") continue;
    if (const Argument* other = node.find_input(is_source ? "destination" : "source"))
      input.arg = *other;
  }
  return out;
}

struct Piece {
  int64_t dim, start, length;
};
// Returns the range that result number `item` covers. Each result begins where the previous one
// ends.
std::optional<Piece> piece_of(const Graph& graph, const Node& node, size_t item) {
  std::vector<const TensorMeta*> results;
  for_each_result(node, [&](ValueId id) { results.push_back(graph.value(id).tensor()); });
  const auto given = literal(node, "dim", 0);
  if (!given || item >= results.size() || results[item] == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(results[item]->sizes.size());
  if (*given < -rank || *given >= rank) return std::nullopt;
  Piece piece{.dim = *given < 0 ? *given + rank : *given, .start = 0, .length = 0};
  for (size_t i = 0; i <= item; ++i) {
    piece.start += piece.length;
    if (results[i] == nullptr || static_cast<int64_t>(results[i]->sizes.size()) != rank)
      return std::nullopt;
    const SymInt& length = results[i]->sizes[static_cast<size_t>(piece.dim)];
    if (length.is_symbolic()) return std::nullopt;
    piece.length = length.literal();
    if (!are_moderate({piece.start, piece.length})) return std::nullopt;
  }
  return piece;
}

}  // namespace

Aliasing aliasing_of(const Graph& graph, const Node& node, const ops::Operator& op) {
  if (!op) return unclear();
  if (op.form != ops::Operator::Form::as_written) return its_own();
  const bool may_show = !op.mutates() && may_share_memory(node);
  if (!node.target.starts_with(kAten)) return may_show ? unclear() : its_own();
  // The rules below find arguments by name.
  const bool is_named = std::ranges::none_of(
      node.inputs, [](const NamedArgument& input) { return input.name.empty(); });
  const auto input = is_named ? shown_input(graph, node, op) : std::nullopt;
  if (!input) return may_show ? unclear() : its_own();
  const ops::Facts& facts = op.def->facts;
  switch (facts.sharing) {
    case ops::Sharing::possibly:
      return may_show ? unclear() : its_own();
    case ops::Sharing::where_strides_allow:
      return reshaped(graph, node, *input);
    case ops::Sharing::unless_cast:
      return cast(graph, node, op, *input);
    case ops::Sharing::unless_complex:
      return of_complex(graph, node, *input, facts.inverse);
    case ops::Sharing::unless_contiguous:
      return made_contiguous(graph, node, *input);
    case ops::Sharing::unless_dropping:
      return dropped(node, *input);
    case ops::Sharing::as_signed:
    case ops::Sharing::always:
      break;
  }
  if (!op.def->is_view()) return its_own();
  if (result_count(node) > kMostPieces) return unclear();
  return {.view = View{.input = *input, .inverse = facts.inverse, .scatter = facts.scatter}};
}

std::optional<View> copied_view(const Graph& graph, const Node& node, const ops::Operator& op) {
  const auto input = shown_input(graph, node, op);
  if (!input) return std::nullopt;
  if (node.target == "torch.ops.aten._to_copy.default") return cast(graph, node, op, *input).view;
  if (node.target != "torch.ops.aten.clone.default" ||
      !is_absent_or(node, "memory_format", MemoryFormat::preserve))
    return std::nullopt;
  return View{.input = *input, .inverse = Inverse::same};
}

std::optional<Node> write_back(const Graph& graph, const Node& node, const View& view, size_t item,
                               ValueId whole, ValueId part) {
  switch (view.inverse) {
    case Inverse::same:
    case Inverse::none:
    case Inverse::expand:
      return std::nullopt;
    case Inverse::reshape:
      return reshape_to(graph, whole, part);
    case Inverse::repeat:
      return with_base(node, view, part);
    case Inverse::permute:
      return permute_back(node, view, part);
    case Inverse::move:
      return move_back(node, view, part);
    case Inverse::scatter:
      return scatter(view.scatter, whole, part, other_inputs(node, view.input));
    case Inverse::narrow: {
      const auto dim = literal(node, "dim", std::nullopt),
                 start = literal(node, "start", std::nullopt),
                 length = literal(node, "length", std::nullopt);
      if (!dim || !start || !length) return std::nullopt;
      return scatter_slice(whole, part, *dim, *start, *length);
    }
    case Inverse::pieces: {
      const auto piece = piece_of(graph, node, item);
      if (!piece) return std::nullopt;
      return scatter_slice(whole, part, piece->dim, piece->start, piece->length);
    }
    case Inverse::unbind: {
      const auto dim = literal(node, "dim", 0);
      if (!dim) return std::nullopt;
      return scatter("select_scatter", whole, part,
                     {named("dim", *dim), named("index", static_cast<int64_t>(item))});
    }
  }
  return std::nullopt;
}

std::optional<Node> view_again(const Graph& graph, const Node& node, const View& view, size_t item,
                               ValueId whole) {
  if (view.inverse == Inverse::pieces) {
    const auto piece = piece_of(graph, node, item);
    if (!piece) return std::nullopt;
    return call_on("slice.Tensor", whole,
                   {named("dim", piece->dim), named("start", piece->start),
                    named("end", piece->start + piece->length)});
  }
  if (view.inverse == Inverse::unbind) {
    const auto dim = literal(node, "dim", 0);
    if (!dim) return std::nullopt;
    return call_on("select.int", whole,
                   {named("dim", *dim), named("index", static_cast<int64_t>(item))});
  }
  if (result_count(node) != 1) return std::nullopt;
  Node out = with_base(node, view, whole);
  if (auto target = copying_form(out.target, out.inputs)) out.target = *std::move(target);
  return out;
}

std::optional<std::string> copying_form(std::string_view target,
                                        std::vector<NamedArgument>& inputs) {
  if (target != "torch.ops.aten.view.default") return std::nullopt;
  for (NamedArgument& input : inputs)
    if (input.name == "size") input.name = "shape";
  return std::string(kAten) + "reshape.default";
}

}  // namespace pt2
