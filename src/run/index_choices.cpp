#include "run/index_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash/text_hash.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "ops/bind.h"
#include "ops/meta.h"
#include "ops/table.h"

namespace pt2 {
namespace {

IndexChoice choice_of(const Graph& graph, const Node& node, const ops::Signature& signature) {
  IndexChoice out{.chooser = fmt::format("aten.{}", operator_name(node.target)),
                  .indices = {},
                  .values = {},
                  .dim = {}};
  std::optional<int64_t> usual;
  if (const ops::Parameter* parameter = signature.find("dim"))
    if (const auto value = ops::default_value(*parameter); value && value->is<int64_t>())
      usual = *value->get_if<int64_t>();
  out.dim = literal(node, "dim", usual);
  if (const Argument* self = node.find_input("self"))
    if (const auto* value = self->get_if<ValueId>()) out.values = graph.value(*value).name;
  return out;
}

// Values and indices seen as [outer, count, inner]: element [i, j, k] is element j of its row.
struct ChoiceRows {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t chosen = 0;  // number of indices per row

  int64_t numel() const { return outer * chosen * inner; }
  // Returns the index, among all values, of choice `choice` from the row of the index at `index`.
  int64_t place(int64_t index, int64_t choice) const {
    return (index / (chosen * inner) * length + choice) * inner + index % inner;
  }
};

std::optional<ChoiceRows> rows_to_choose(const IndexChoice& choice, const Tensor& values,
                                         const Tensor& indices) {
  if (values.numel() == 0) return std::nullopt;
  ChoiceRows out;
  if (!choice.dim || values.dim() == 0) {
    out.length = values.numel();
  } else {
    const Result<int64_t> dim = ops::wrap_dim(*choice.dim, values.dim());
    if (!dim) return std::nullopt;
    for (int64_t i = 0; i < values.dim(); ++i)
      (i < *dim ? out.outer : i == *dim ? out.length : out.inner) *= values.size(i);
  }
  out.chosen = indices.numel() / (out.outer * out.inner);
  if (out.numel() != indices.numel()) return std::nullopt;
  return out;
}

// Describes indices that no choice can give, or returns an empty text.
std::string impossible_choice(const Tensor& indices, const ChoiceRows& rows) {
  std::vector<int64_t> row_that_chose(static_cast<size_t>(rows.length), -1);
  // Goes row by row, so that one list serves all rows.
  for (int64_t row = 0; row < rows.outer * rows.inner; ++row)
    for (int64_t j = 0; j < rows.chosen; ++j) {
      const int64_t at = (row / rows.inner * rows.chosen + j) * rows.inner + row % rows.inner;
      const int64_t choice = indices.data<int64_t>()[at];
      if (choice < 0 || choice >= rows.length)
        return fmt::format("there is no index {} of {} values", choice, rows.length);
      if (std::exchange(row_that_chose[static_cast<size_t>(choice)], row) == row)
        return fmt::format("index {} is chosen twice", choice);
    }
  return "";
}

Tensor values_at(const Tensor& values, const Tensor& indices, const ChoiceRows& rows) {
  Tensor out = Tensor::zeros(values.dtype(), indices.sizes());
  const auto width = static_cast<size_t>(dtype_size(values.dtype()));
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const auto place = static_cast<size_t>(rows.place(i, indices.data<int64_t>()[i]));
    std::memcpy(out.raw_data() + static_cast<size_t>(i) * width, values.raw_data() + place * width,
                width);
  }
  return out;
}

int64_t count_differing(const Tensor& a, const Tensor& b) {
  int64_t out = 0;
  for (int64_t i = 0; i < a.numel(); ++i) out += a.data<int64_t>()[i] != b.data<int64_t>()[i];
  return out;
}

}  // namespace

std::vector<IndexChoice> index_choices(const Program& program) {
  TextMap<std::string, IndexChoice> chosen;  // by the value's name
  const Graph& graph = program.graph;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const ops::Operator op = ops::find_operator(node.target);
    if (!op || op.form != ops::Operator::Form::as_written) continue;
    const int result = op.def->facts.chosen_indices;
    if (result < 0 || result >= std::ssize(node.outputs)) continue;
    if (const auto* value = node.outputs[static_cast<size_t>(result)].get_if<ValueId>())
      chosen.emplace(graph.value(*value).name, choice_of(graph, node, op.signature()));
  }
  std::vector<IndexChoice> out;
  for (const ArgumentSpec& spec : program.signature.user_outputs()) {
    const auto found = chosen.find(spec.name);
    IndexChoice& choice = out.emplace_back();
    if (found == chosen.end() || spec.is_constant()) continue;
    choice = found->second;
    choice.indices = spec.name;
  }
  return out;
}

std::vector<Tensor> values_to_choose(Session& session, std::vector<Value> inputs,
                                     const std::vector<IndexChoice>& choices) {
  // A run may tell as many values as there are choices, so both are looked up by name.
  TextMap<std::string, std::optional<Tensor>> known;
  TextMap<std::string, std::vector<size_t>> chosen;  // places in `choices`, by the indices' name
  for (size_t i = 0; i < choices.size(); ++i) {
    known.try_emplace(choices[i].values);
    chosen[choices[i].indices].push_back(i);
  }
  const auto learn = [&](const std::string& name, const Value& value) {
    const auto* tensor = value.get_if<Tensor>();
    const auto found = known.find(name);
    if (tensor != nullptr && found != known.end()) found->second = *tensor;
  };
  const std::vector<ArgumentSpec> specs = session.program().signature.user_inputs();
  for (size_t i = 0; i < std::min(specs.size(), inputs.size()); ++i)
    learn(specs[i].name, inputs[i]);
  for (const IndexChoice& choice : choices)
    if (const Tensor* state = session.state(choice.values)) learn(choice.values, Value(*state));
  std::vector<Tensor> out(choices.size());
  session.observe([&](const ObservedValue& observed) -> Result<void> {
    learn(observed.name, observed.value);
    const auto found = chosen.find(observed.name);
    if (found == chosen.end()) return {};
    // Copies now, because a later node may write to the values.
    for (const size_t i : found->second)
      if (const auto& values = known.find(choices[i].values)->second) out[i] = values->clone();
    return {};
  });
  // If the run fails, the values of later nodes stay unknown.
  static_cast<void>(session.run(inputs));
  session.observe({});
  return out;
}

ChoiceVerdict judge_choice(const IndexChoice& choice, const Value& found, const Value& expected,
                           const Tensor& values, const CompareOptions& options) {
  const auto *ours = found.get_if<Tensor>(), *theirs = expected.get_if<Tensor>();
  if (ours == nullptr || theirs == nullptr || ours->dtype() != Dtype::int64 ||
      theirs->dtype() != Dtype::int64 || ours->sizes() != theirs->sizes())
    return {};
  const Tensor a = ours->contiguous(), b = theirs->contiguous();
  const std::string text = fmt::format("indices chosen by {}: {} of {} differ", choice.chooser,
                                       count_differing(a, b), a.numel());
  const auto rows = values.defined() ? rows_to_choose(choice, values, a) : std::nullopt;
  if (!rows) return {.text = text + "; near ties may choose otherwise"};
  for (const auto& [indices, whose] : {std::pair(&a, "found"), std::pair(&b, "expected")})
    if (const std::string fault = impossible_choice(*indices, *rows); !fault.empty())
      return {.text = fmt::format("{}; {}: {}", text, whose, fault)};
  const Tensor chosen_from = values.contiguous();
  const Comparison result =
      compare(values_at(chosen_from, a, *rows), values_at(chosen_from, b, *rows), options);
  if (!result.equal())
    return {.text = fmt::format("{}, and of the values there {}", text, result.difference)};
  return {.is_tie = true, .text = text + ", where values are nearly equal"};
}

}  // namespace pt2
