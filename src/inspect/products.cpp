#include "inspect/products.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/platform.h"
#include "check/shapes/abstract_value.h"
#include "ir/symbols/sym_int.h"
#include "ir/target.h"
#include "ops/bind.h"
#include "ops/emitter.h"
#include "ops/table.h"

namespace pt2 {
namespace {

// The number of multiply-adds for one element of the first result.
enum class Product : uint8_t {
  matrix,       // the last size of the operand
  convolution,  // the elements of a filter
  attention,    // both products
  recurrent,    // all matrices of the layer, for each row of the input
};
struct ProductRow {
  std::string_view name;  // without overload
  Product product;
  std::string_view operand;  // the argument that determines the number
};
constexpr ProductRow kProducts[] = {
    {"aten.mm", Product::matrix, "self"},
    {"aten.addmm", Product::matrix, "mat1"},
    {"aten.bmm", Product::matrix, "self"},
    {"aten.baddbmm", Product::matrix, "batch1"},
    {"aten.matmul", Product::matrix, "self"},
    {"aten.linear", Product::matrix, "input"},
    {"aten.mv", Product::matrix, "self"},
    {"aten.addmv", Product::matrix, "mat"},
    {"aten.dot", Product::matrix, "self"},
    {"aten._int_mm", Product::matrix, "self"},
    {"aten._scaled_mm", Product::matrix, "self"},
    {"aten._weight_int8pack_mm", Product::matrix, "self"},
    {"aten.convolution", Product::convolution, "weight"},
    {"aten.conv1d", Product::convolution, "weight"},
    {"aten.conv2d", Product::convolution, "weight"},
    {"aten.conv3d", Product::convolution, "weight"},
    {"aten.conv_transpose1d", Product::convolution, "weight"},
    {"aten.conv_transpose2d", Product::convolution, "weight"},
    {"aten.conv_transpose3d", Product::convolution, "weight"},
    {"aten.scaled_dot_product_attention", Product::attention, "key"},
    {"aten._scaled_dot_product_flash_attention_for_cpu", Product::attention, "key"},
    {"aten._scaled_dot_product_flash_attention", Product::attention, "key"},
    {"aten._scaled_dot_product_efficient_attention", Product::attention, "key"},
    {"aten.lstm", Product::recurrent, "params"},
    {"aten.gru", Product::recurrent, "params"},
    {"aten.rnn_tanh", Product::recurrent, "params"},
    {"aten.rnn_relu", Product::recurrent, "params"},
};

const ProductRow* find_product(std::string_view target) {
  const std::string_view name = target.substr(0, target.rfind('.'));
  const auto* row = std::ranges::find(kProducts, name, &ProductRow::name);
  return row == std::end(kProducts) ? nullptr : row;
}

// The sizes of a tensor; nothing if there is no such tensor.
using Lengths = std::optional<std::vector<uint64_t>>;

uint64_t elements(const Lengths& lengths) {
  if (!lengths) return 0;
  uint64_t count = 1;
  for (const uint64_t length : *lengths) count = saturating_product(count, length);
  return count;
}

// The parts of a call that decide about its number of multiply-adds.
struct ProductCall {
  virtual ~ProductCall() = default;
  virtual Lengths sizes_of(std::string_view argument) const = 0;
  virtual bool is_set(std::string_view argument) const = 0;
  virtual Lengths made() const = 0;
};

// A transposed convolution spreads each element of its input over a filter instead.
uint64_t convolution(const ProductCall& call, std::string_view name, const Lengths& weight) {
  const bool transposed = name.find("conv_transpose") != name.npos || call.is_set("transposed");
  const uint64_t filter = elements(weight) / std::max<uint64_t>(weight->front(), 1);
  return saturating_product(filter, elements(transposed ? call.sizes_of("input") : call.made()));
}

uint64_t attention(const ProductCall& call, const Lengths& key) {
  if (key->size() < 2) return 0;
  return saturating_product(
      (*key)[key->size() - 2],
      saturating_sum(elements(call.sizes_of("query")), elements(call.made())));
}

// Counts all products except recurrent layers, whose operand is a list.
uint64_t multiply_adds(const ProductRow& row, const ProductCall& call) {
  const Lengths operand = call.sizes_of(row.operand);
  if (!operand || operand->empty()) return 0;
  switch (row.product) {
    case Product::matrix:
      return saturating_product(elements(call.made()), operand->back());
    case Product::convolution:
      return convolution(call, row.name, operand);
    case Product::attention:
      return attention(call, operand);
    case Product::recurrent:
      break;
  }
  return 0;
}

class NodeCall final : public ProductCall {
 public:
  NodeCall(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  Lengths sizes_of(std::string_view argument) const override {
    return sizes(node_.find_input(argument));
  }
  bool is_set(std::string_view argument) const override {
    const Argument* found = node_.find_input(argument);
    const bool* flag = found == nullptr ? nullptr : found->get_if<bool>();
    return flag != nullptr && *flag;
  }
  Lengths made() const override {
    return sizes(node_.outputs.empty() ? nullptr : &node_.outputs[0]);
  }

 private:
  Lengths sizes(const Argument* argument) const {
    const auto* id = argument == nullptr ? nullptr : argument->get_if<ValueId>();
    const TensorMeta* meta = id == nullptr ? nullptr : graph_.value(*id).tensor();
    if (meta == nullptr) return std::nullopt;
    Lengths out(std::in_place);
    for (const SymInt& size : meta->sizes) out->push_back(estimated_size(size));
    return out;
  }

  const Graph& graph_;
  const Node& node_;
};

// A call inside of a formula.
class InnerCall final : public ProductCall {
 public:
  InnerCall(const ops::Signature& signature, std::span<const Value> bound,
            std::span<const Value> results)
      : signature_(signature), bound_(bound), results_(results) {}

  Lengths sizes_of(std::string_view argument) const override { return sizes(find(argument)); }
  bool is_set(std::string_view argument) const override {
    const Value* value = find(argument);
    const bool* flag = value == nullptr ? nullptr : value->get_if<bool>();
    return flag != nullptr && *flag;
  }
  Lengths made() const override { return sizes(results_.empty() ? nullptr : &results_[0]); }

 private:
  const Value* find(std::string_view argument) const {
    const ops::Parameter* parameter = signature_.find(argument);
    return parameter == nullptr ? nullptr
                                : &bound_[static_cast<size_t>(parameter - signature_.begin())];
  }
  static Lengths sizes(const Value* value) {
    const auto* tensor = value == nullptr ? nullptr : value->get_if<Tensor>();
    if (tensor == nullptr) return std::nullopt;
    return Lengths(std::in_place, tensor->sizes().begin(), tensor->sizes().end());
  }

  const ops::Signature& signature_;
  std::span<const Value> bound_, results_;
};

// Follows a formula down to the products that it consists of.
class FormulaProducts final : public ops::Inferrer {
 public:
  explicit FormulaProducts(uint64_t& calls_left) : calls_left_(calls_left) {}

  Result<std::vector<Value>> call(const ops::Operator& op,
                                  std::span<const Value> arguments) override {
    if (calls_left_ == 0) return Error{ErrorCode::limit, "the formulas make too many calls", ""};
    --calls_left_;
    PT2_TRY(const std::vector<Value> bound, ops::bind_in_order(op.signature(), arguments));
    const std::string target = ops::target_of(op.signature());
    const ProductRow* row = find_product(short_target(target));
    if (row == nullptr && op.form == ops::Operator::Form::as_written && op.def->formula != nullptr)
      return op.def->write_boxed(*op.def, *this, bound);
    PT2_TRY(std::vector<Value> results, ops::Inferrer::call(op, bound));
    if (row != nullptr)
      sum_ = saturating_sum(sum_, multiply_adds(*row, InnerCall(op.signature(), bound, results)));
    return results;
  }

  uint64_t sum() const { return sum_; }

 private:
  uint64_t& calls_left_;
  uint64_t sum_ = 0;
};

// Returns a tensor without elements of the sizes that are counted with, or an integer.
std::optional<Value> counted_value(const GraphValue& value) {
  if (const auto* number = std::get_if<SymInt>(&value.meta))
    return Value(known_number(*number).value_or(1));
  const TensorMeta* meta = value.tensor();
  if (meta == nullptr) return std::nullopt;
  GraphValue known;
  TensorMeta& sizes = known.meta.emplace<TensorMeta>();
  sizes.dtype = meta->dtype;
  sizes.layout = meta->layout;
  for (const SymInt& size : meta->sizes) sizes.sizes.emplace_back(known_number(size).value_or(1));
  return check::abstract_value(known, {});
}

uint64_t recurrent(const Graph& graph, const Node& node, const ProductRow& row) {
  const Lengths input = NodeCall(graph, node).sizes_of("input");
  const Argument* parameters = node.find_input(row.operand);
  if (parameters == nullptr || !input || input->empty()) return 0;
  uint64_t matrices = 0;
  for_each_value(*parameters, [&](ValueId id) {
    const TensorMeta* meta = graph.value(id).tensor();
    if (meta == nullptr || meta->sizes.size() != 2) return;
    matrices = saturating_sum(matrices, saturating_product(estimated_size(meta->sizes[0]),
                                                           estimated_size(meta->sizes[1])));
  });
  return saturating_product(matrices, elements(input) / std::max<uint64_t>(input->back(), 1));
}

// Most formulas make a few calls; those of whole layers make about 50.
constexpr uint64_t kCallsForNode = 64;

}  // namespace

uint64_t ProductCounter::count(const Graph& graph, const Node& node) {
  calls_left_ += kCallsForNode;
  if (const ProductRow* row = find_product(short_target(node.target)))
    return row->product == Product::recurrent ? recurrent(graph, node, *row)
                                              : multiply_adds(*row, NodeCall(graph, node));
  const ops::Operator op = ops::find_operator(node.target);
  if (!op || op.form != ops::Operator::Form::as_written || op.def->formula == nullptr) return 0;
  const auto arguments = check::abstract_arguments(graph, node, op.signature(), counted_value);
  if (!arguments) return 0;
  FormulaProducts products(calls_left_);
  const auto results = op.def->write_boxed(*op.def, products, *arguments);
  return results ? products.sum() : 0;
}

}  // namespace pt2
