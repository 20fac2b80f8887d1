// Products with weights that are the same in every call.
#include <algorithm>
#include <mutex>

#include "base/memory_account.h"
#include "kernels/layouts.h"
#include "kernels/products/level_products.h"
#include "kernels/products/product.h"
#include "kernels/products/quantized_products.h"
#include "kernels/products/row_products.h"
#include "run/plan/halves.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"
#include "run/plan/steps/product_weights.h"
#include "run/plan/steps/quantized/requantization.h"

namespace pt2::run {
namespace {

class ProductStep final : public Step {
 public:
  ProductStep(Nodes nodes, const BoundArgument& input, ProductWeights weights, const Tail& tail,
              LevelTail level_tail, const std::shared_ptr<WeightCopies>& copies)
      : Step(std::move(nodes)),
        input_(input),
        level_tail_(std::move(level_tail)),
        numbers_end_(this->nodes().size() - level_tail_.nodes.size()),
        product_(numbers_end_ - 1 - tail.nodes.size() - weights.bias_nodes.size()),
        rank_(product_ranks(*this->nodes()[product_]).left),
        repeated_(is_operator(*this->nodes()[product_], "aten::bmm")
                      ? Planner::argument(*this->nodes()[product_], "mat2")
                      : nullptr),
        weights_(std::move(weights)),
        has_levels_(weights_.tensor.dtype() == Dtype::int8),
        addend_(tail.addend),
        activation_(tail.activation),
        packed_(copies, weights_.contents(weights_.rows ? "quantized panels"
                                          : has_levels_ ? "level panels"
                                                        : "panels")),
        turned_(copies, weights_.contents("turned")) {}

  std::string_view name() const override { return "product"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = weights_.rows ? weights_.rows->find(frame) : frame.tensor(input_);
    if (!weights_.rows && !is_float(input)) return false;
    if (input == nullptr || !ProductRanks::fits(rank_, *input) ||
        input->sizes().back() != weights_.depth || !is_repeated_for(frame, *input))
      return false;
    auto rows = rows_of(*input);
    Tensor lying = *input;
    if (!rows) {
      lying = to_row_major(frame, *input);
      rows = rows_of(lying);
    }
    const bool lies_well =
        !weights_.rows && (weights_.depth_stride == 1 || weights_.column_stride == 1);
    const float* packed = rows->rows <= kFewRows && lies_well ? nullptr : pack(frame);
    if (packed == nullptr && !lies_well) return false;
    Sizes sizes = input->sizes();
    sizes.back() = weights_.columns;
    Tensor out = frame.make(std::move(sizes), {},
                            level_tail_.has_levels() ? level_tail_.dtype : Dtype::float32);
    Tensor addend;
    PT2_TRY(const std::optional<Tensor> result, reshaped(frame, out, addend));
    if (!result) return false;
    const kernels::Epilogue epilogue{.bias = weights_.bias ? weights_.bias->data<float>() : nullptr,
                                     .addend = addend.defined() ? addend.data<float>() : nullptr,
                                     .addend_stride = weights_.columns,
                                     .activation = activation_};
    if (!weights_.rows)
      multiply(frame, lying, *rows, packed, epilogue, out);
    else if (!multiply_quantized(frame, lying, *rows, packed, epilogue, out))
      return false;
    frame.set(this->result(), *result, false);
    return true;
  }

 private:
  // False for a bmm whose operands have different numbers of matrices.
  bool is_repeated_for(Frame& frame, const Tensor& input) const {
    const Tensor* right = repeated_ == nullptr ? nullptr : frame.tensor(*repeated_);
    return repeated_ == nullptr ||
           (right != nullptr && right->dim() == 3 && right->size(0) == input.size(0));
  }

  // Returns `out` as the nodes after the product see it, through views that keep the order of the
  // elements. Finds the addend on the way; nullopt if its sizes are not those of the sum.
  Result<std::optional<Tensor>> reshaped(Frame& frame, const Tensor& out, Tensor& addend) const {
    Tensor seen = out;
    for (size_t i = product_; i + 1 < numbers_end_; ++i) {
      const ValueId made = *nodes()[i]->node->outputs[0].get_if<ValueId>();
      frame.set(made, seen, false);
      const BoundNode& next = *nodes()[i + 1];
      if (std::ranges::any_of(next.arguments,
                              [&](const BoundArgument& each) { return &each == addend_; })) {
        const Tensor* added = frame.tensor(*addend_);
        if (!is_float(added) || added->sizes() != seen.sizes()) return std::optional<Tensor>();
        addend = to_row_major(frame, *added);
      }
      if (!next.op.def->is_view()) continue;
      PT2_TRY_VOID(frame.executor().run_node(frame.graph(), next, frame.values));
      const ValueId view = *next.node->outputs[0].get_if<ValueId>();
      seen = *frame.values[static_cast<size_t>(view)].get_if<Tensor>();
    }
    return std::optional(std::move(seen));
  }

  const float* pack(Frame& frame) const {
    if (weights_.rows || has_levels_) {
      const auto size_of =
          weights_.rows ? kernels::packed_quantized_size : kernels::packed_level_size;
      const auto pack = weights_.rows ? kernels::pack_quantized : kernels::pack_levels;
      const int64_t bytes = size_of(weights_.depth, weights_.columns);
      return packed_.get(bytes / 4 + 1, [&](float* memory) {
        pack(levels(), reinterpret_cast<int8_t*>(memory), frame.threads());
        leave_file(weights_.tensor);
      });
    }
    return packed_.get(kernels::packed_size(weights_.depth, weights_.columns), [&](float* memory) {
      kernels::pack_right(weights_.tensor.data<float>(),
                          {.depth = weights_.depth,
                           .columns = weights_.columns,
                           .depth_stride = weights_.depth_stride,
                           .column_stride = weights_.column_stride},
                          memory, frame.threads());
      leave_file(weights_.tensor);
    });
  }

  // Returns small weights with contiguous columns, which spares each column a sum across lanes.
  // Null if columns are contiguous already, and for large weights, for which memory is slower than
  // sums.
  const float* turn(Frame& frame) const {
    constexpr int64_t kSmall = 1 << 16;
    if (has_levels_ || weights_.column_stride == 1 || weights_.depth * weights_.columns > kSmall)
      return nullptr;
    return turned_.get(weights_.depth * weights_.columns, [&](float* memory) {
      kernels::turn({.rows = weights_.columns,
                     .columns = weights_.depth,
                     .from_stride = weights_.column_stride,
                     .to_stride = weights_.columns},
                    weights_.tensor.data<float>(), memory, frame.threads());
    });
  }

  // Returns either kind of product with the fields that both have.
  template <class Product>
  Product product_of(const Tensor& input, const RowsOf& rows, const kernels::Epilogue& epilogue,
                     Tensor& out) const {
    Product product;
    product.rows = rows.rows;
    product.columns = weights_.columns;
    product.depth = weights_.depth;
    product.left = input.data<float>();
    product.left_stride = rows.stride;
    product.out = out.data<float>();
    product.out_stride = weights_.columns;
    product.epilogue = epilogue;
    return product;
  }

  // Reads the weights in place if they are not packed.
  void multiply(Frame& frame, const Tensor& input, const RowsOf& rows, const float* packed,
                const kernels::Epilogue& epilogue, Tensor& out) const {
    MemoryAccount::count_products({out.numel(), weights_.depth});
    if (has_levels_)
      return multiply_levels(frame, input, rows, reinterpret_cast<const int8_t*>(packed), epilogue,
                             out);
    if (packed == nullptr) {
      const float* small = turn(frame);
      const bool turned = weights_.depth_stride == 1 && small == nullptr;
      auto product = product_of<kernels::RowProduct>(input, rows, epilogue, out);
      product.right = small != nullptr ? small : weights_.tensor.data<float>();
      product.right_stride = small != nullptr ? weights_.columns
                             : turned         ? weights_.column_stride
                                              : weights_.depth_stride;
      product.turned = turned;
      frame.launch(
          [product, threads = frame.threads()] { kernels::multiply_rows(product, threads); });
      return;
    }
    auto product = product_of<kernels::Product>(input, rows, epilogue, out);
    product.packed = packed;
    frame.launch(
        [product, threads = frame.threads()] { kernels::multiply_packed(product, threads); });
  }

  kernels::LevelWeights levels() const {
    return {.depth = weights_.depth,
            .columns = weights_.columns,
            .right = reinterpret_cast<const int8_t*>(weights_.tensor.raw_data()),
            .depth_stride = weights_.depth_stride,
            .column_stride = weights_.column_stride,
            .factors = weights_.factors ? weights_.factors->data<float>() : nullptr};
  }
  void multiply_levels(Frame& frame, const Tensor& input, const RowsOf& rows, const int8_t* packed,
                       const kernels::Epilogue& epilogue, Tensor& out) const {
    kernels::ThreadPool* const threads = frame.threads();
    if (packed == nullptr)
      frame.launch([product = product_of<kernels::RowProduct>(input, rows, epilogue, out),
                    weights = levels(),
                    threads] { kernels::multiply_level_rows(product, weights, threads); });
    else
      frame.launch([product = product_of<kernels::Product>(input, rows, epilogue, out),
                    weights = levels(), packed, threads] {
        kernels::multiply_packed_levels(product, weights, packed, threads);
      });
  }

  // False for numbers that may_multiply() refuses.
  bool multiply_quantized(Frame& frame, const Tensor& input, const RowsOf& rows,
                          const float* packed, const kernels::Epilogue& epilogue,
                          Tensor& out) const {
    MemoryAccount::count_products({out.numel(), weights_.depth});
    const auto place = weights_.rows->numbers.place(frame);
    if (!place || packed == nullptr) return false;
    const bool gives_levels = level_tail_.has_levels();
    Tensor scratch = frame.make({kernels::quantized_scratch_size(
        rows.rows, weights_.depth, weights_.columns,
        gives_levels ? kernels::thread_count(frame.threads()) : 0)});
    kernels::QuantizedProduct product;
    product.rows = rows.rows;
    product.is_signed = weights_.rows->dtype == Dtype::int8;
    product.out_stride = weights_.columns;
    product.epilogue = epilogue;
    product.scratch = scratch.data<float>();
    if (gives_levels) {
      product.requantization = &level_tail_.requantization;
      product.out_levels = reinterpret_cast<uint8_t*>(out.raw_data());
    } else {
      product.out = out.data<float>();
    }
    return frame.launch(
        [product, place = *place, weights = levels(),
         packed = reinterpret_cast<const int8_t*>(packed),
         matrix =
             kernels::LevelMatrix{reinterpret_cast<const uint8_t*>(input.raw_data()), rows.stride},
         dtype = weights_.rows->dtype, factors = *weights_.factors, threads = frame.threads()] {
          const LevelNumbers::Numbers numbers = place.read();
          if (!may_multiply(numbers, dtype, factors)) return false;
          kernels::QuantizedProduct whole = product;
          whole.left = matrix.rows();
          whole.scale = static_cast<float>(numbers.scale);
          whole.zero = numbers.zero;
          kernels::multiply_quantized(whole, weights, packed, threads);
          return true;
        });
  }

  const BoundArgument& input_;
  LevelTail level_tail_;           // for products of quantized values
  size_t numbers_end_;             // end of the nodes before level_tail_
  size_t product_;                 // index of the node that multiplies
  int64_t rank_;                   // of its left operand
  const BoundArgument* repeated_;  // the right operand of a bmm, which repeats the weights; or null
  ProductWeights weights_;
  bool has_levels_;
  const BoundArgument* addend_;
  kernels::Activation activation_;
  PackedMemory packed_;
  PackedMemory turned_;
};

}  // namespace

StepPointer make_product(const Planner& planner, const BoundNode& node) {
  std::optional<ProductWeights> weights = find_product_weights(planner, node);
  if (!weights) return make_batch_product(planner, node);
  const BoundArgument& input = rows_argument(node);
  if (is_half(weights->tensor.dtype()))
    return make_half_product(planner, node, input, *std::move(weights));
  const BoundNode& sum = weights->bias_nodes.empty() ? node : *weights->bias_nodes.back();
  const Tail tail = match_tail(planner, sum, true);
  Step::Nodes nodes = weights->made_by;
  if (weights->rows) nodes.push_back(weights->rows->node);
  std::ranges::sort(nodes);  // bound nodes lie in program order
  nodes.push_back(&node);
  nodes.insert(nodes.end(), weights->bias_nodes.begin(), weights->bias_nodes.end());
  nodes.insert(nodes.end(), tail.nodes.begin(), tail.nodes.end());
  LevelTail levels;
  if (weights->rows) levels = match_level_tail(planner, *nodes.back());
  nodes.insert(nodes.end(), levels.nodes.begin(), levels.nodes.end());
  return std::make_unique<ProductStep>(std::move(nodes), input, *std::move(weights), tail,
                                       std::move(levels), planner.copies());
}

}  // namespace pt2::run
