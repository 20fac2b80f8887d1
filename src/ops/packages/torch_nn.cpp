// A linear layer and its cross entropy, fused and computed in chunks of rows, so that the logits of
// all rows are never in memory at once: torch.nn.functional.linear_cross_entropy with options.
// PyTorch registers these operators when torch/nn/modules/linear_cross_entropy.py is imported,
// which `import torch` does not do. Steps and dtypes follow that file for a CPU, except for signs.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

using LossAndGradients = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// The largest number of chunks. A program may ask for chunks of few rows, but chunks change only
// the rounding: beyond this number of chunks, a chunk holds more rows than requested.
constexpr int64_t kMaxChunks = 1024;

struct ChunkedLoss {
  Tensor input, linear_weight, target;
  OptionalTensor linear_bias, weight;
  std::string reduction;
  int64_t ignore_index = 0;
  int64_t chunk_size = 0;
  std::string policy;
  Dtype acc_dtype = Dtype::float32;
  bool wants_input = false, wants_weight = false, wants_bias = false;

  int64_t rows() const { return input.size(0); }
  Dtype dtype() const { return input.dtype(); }
  bool is_mixed() const { return dtype() != acc_dtype; }
  bool is_float16() const { return dtype() == Dtype::float16; }
  bool has_probabilities() const { return target.dtype() != Dtype::int64; }
  bool is_compact() const { return policy == "compact"; }
  Dtype logits_dtype() const { return is_float16() && is_compact() ? dtype() : acc_dtype; }
  // Sums of many terms of up to 1 exceed the range of float16.
  Dtype sums_dtype() const { return is_float16() ? Dtype::float32 : acc_dtype; }
  Dtype loss_dtype() const { return is_float16() ? acc_dtype : dtype(); }
  // If false, a chunk's gradient of the weight is computed in acc_dtype and rounded once.
  bool adds_in_place() const { return is_compact() && logits_dtype() == dtype(); }
};

Result<void> check_chunked_dtypes(const ChunkedLoss& call) {
  PT2_TRY_VOID(check_floating(call.input, "input"));
  if (call.has_probabilities()) PT2_TRY_VOID(check_same_dtype(call.target, call.input, "target"));
  if (call.is_mixed() && !(is_half(call.dtype()) && call.acc_dtype == Dtype::float32))
    return operator_error("acc_dtype: found " + std::string(dtype_name(call.acc_dtype)) +
                          ", expected " + std::string(dtype_name(call.dtype())) +
                          ", or float32 for float16 and bfloat16");
  if (call.logits_dtype() == call.dtype())
    PT2_TRY_VOID(check_same_dtype(call.linear_weight, call.input, "linear_weight"));
  return check_not_complex(call.linear_weight, "linear_weight");
}

Result<void> check_chunked_sizes(const ChunkedLoss& call) {
  PT2_TRY_VOID(check_rank(call.input, 2, "input"));
  PT2_TRY_VOID(check_rank(call.linear_weight, 2, "linear_weight"));
  const int64_t classes = call.linear_weight.size(0);
  PT2_TRY_VOID(check_sizes(call.linear_weight, {classes, call.input.size(1)}, "linear_weight"));
  if (call.linear_bias) PT2_TRY_VOID(check_sizes(*call.linear_bias, {classes}, "linear_bias"));
  if (call.weight) PT2_TRY_VOID(check_rank(*call.weight, 1, "weight"));
  if (call.has_probabilities()) return check_sizes(call.target, {call.rows(), classes}, "target");
  PT2_TRY_VOID(check_rank(call.target, 1, "target"));
  if (call.target.size(0) < call.rows())
    return operator_error("target: found " + call.target.type_text() + ", expected " +
                          std::to_string(call.rows()) + " classes or more");
  return {};
}

Result<void> check_chunked(const ChunkedLoss& call) {
  PT2_TRY_VOID(check_chunked_sizes(call));
  PT2_TRY_VOID(check_chunked_dtypes(call));
  if (call.policy == "auto")
    return operator_error("acc_policy: found auto, expected accurate or compact");
  if (call.chunk_size < 1)
    return operator_error("batch_chunk_size: found " + std::to_string(call.chunk_size) +
                          ", expected 1 or more");
  return {};
}

// A chunk of rows, with the values that several steps share.
struct RowsOfLoss {
  int64_t first = 0, end = 0;
  Tensor input, target;
  Tensor weights;        // one per row, in acc_dtype
  Tensor probabilities;  // weighted class probabilities, if the target has probabilities
};

class LossByChunks {
 public:
  LossByChunks(Emitter& e, const ChunkedLoss& call) : e_(e), call_(call) {}

  // Computes the loss of each row.
  Result<Tensor> rows() {
    PT2_TRY_VOID(prepare());
    Value::List pieces;
    PT2_TRY_VOID(each_chunk([&](const RowsOfLoss& rows) -> Result<void> {
      PT2_TRY(const Tensor loss, loss_of_rows(rows));
      pieces.emplace_back(loss);
      return {};
    }));
    return all_rows(pieces, {call_.rows()});
  }

  Result<LossAndGradients> reduced() {
    PT2_TRY_VOID(prepare());
    const bool is_mean_of_none = call_.reduction == "mean" && call_.rows() == 0;
    PT2_TRY(loss_, full({}, is_mean_of_none ? NAN : 0.0, call_.loss_dtype()));
    const int64_t classes = call_.linear_weight.size(0);
    PT2_TRY(to_weight_,
            full(call_.wants_weight ? call_.linear_weight.sizes() : Sizes{0, 0}, 0, dtype()));
    PT2_TRY(to_bias_, full({call_.wants_bias ? classes : 0}, 0, dtype()));
    PT2_TRY_VOID(each_chunk([&](const RowsOfLoss& rows) { return add_chunk(rows); }));
    PT2_TRY(const Tensor loss, to(loss_, dtype()));
    PT2_TRY(const Tensor to_input,
            all_rows(to_input_, call_.wants_input ? call_.input.sizes() : Sizes{0, 0}));
    return LossAndGradients{loss, to_input, to_weight_, to_bias_};
  }

 private:
  Dtype dtype() const { return call_.dtype(); }
  Result<Tensor> to(const Result<Tensor>& tensor, Dtype dtype) {
    if (!tensor || tensor->dtype() == dtype) return tensor;
    return e_(aten<"to.dtype">, {tensor, dtype});
  }
  Result<Tensor> full(const Sizes& sizes, double value, Dtype dtype) {
    return e_(aten<"full.default">, {Value::List(sizes.begin(), sizes.end()), value, dtype});
  }
  Result<Tensor> part(const Tensor& whole, const RowsOfLoss& rows) {
    return e_(aten<"slice.Tensor">, {whole, 0, rows.first, rows.end});
  }
  Result<Tensor> as_column(const Result<Tensor>& tensor) {
    return e_(aten<"unsqueeze.default">, {tensor, 1});
  }
  Result<Tensor> sum_of(const Tensor& tensor, int64_t dim, Dtype dtype) {
    return e_(aten<"sum.dim_IntList">, {tensor, Value::List{dim}, false, dtype});
  }
  Result<Tensor> all_rows(const Value::List& pieces, const Sizes& sizes) {
    if (pieces.empty()) return full(sizes, 0, dtype());
    return e_(aten<"cat.default">, {pieces, 0});
  }

  // Prepares the values that do not depend on the chunk.
  Result<void> prepare() {
    PT2_TRY(matrix_, to(call_.linear_weight, call_.logits_dtype()));
    if (call_.linear_bias) {
      PT2_TRY(bias_, to(*call_.linear_bias, call_.logits_dtype()));
    }
    if (call_.has_probabilities()) {
      scale_ = call_.reduction == "mean" ? 1.0 / static_cast<double>(call_.rows()) : 1.0;
      target_ = call_.target;
      if (call_.weight) {
        const auto weight = to(*call_.weight, call_.logits_dtype());
        PT2_TRY(class_weights_, e_(aten<"unsqueeze.default">, {weight, 0}));
      }
      return {};
    }
    return prepare_classes();
  }

  // An ignored class may be out of range: its rows use class 0, with weight 0.
  Result<void> prepare_classes() {
    const Tensor& target = call_.target;
    PT2_TRY(const Tensor ignored, e_(aten<"eq.Scalar">, {target, call_.ignore_index}));
    const bool is_class =
        call_.ignore_index >= 0 && call_.ignore_index < call_.linear_weight.size(0);
    PT2_TRY(target_,
            is_class ? Result<Tensor>(target) : e_(aten<"where.ScalarSelf">, {ignored, 0, target}));
    if (call_.weight) {
      const auto taken = e_(aten<"index_select.default">, {*call_.weight, 0, target_});
      PT2_TRY(weights_, e_(aten<"where.ScalarSelf">, {ignored, 0, to(taken, call_.acc_dtype)}));
    } else {
      PT2_TRY(weights_, to(e_(aten<"logical_not.default">, {ignored}), call_.acc_dtype));
    }
    if (call_.reduction != "mean") return {};
    PT2_TRY(const Tensor sum, e_(aten<"sum.default">, {weights_}));
    const auto none = e_(aten<"eq.Scalar">, {sum, 0});
    PT2_TRY(weights_,
            e_(aten<"div.Tensor">, {weights_, e_(aten<"where.ScalarSelf">, {none, NAN, sum})}));
    return {};
  }

  template <class Step>
  Result<void> each_chunk(Step step) {
    const int64_t rows = call_.rows();
    const int64_t size = std::max(call_.chunk_size, (rows + kMaxChunks - 1) / kMaxChunks);
    for (int64_t first = 0; first < rows; first += std::min(size, rows - first)) {
      RowsOfLoss chunk{.first = first, .end = first + std::min(size, rows - first)};
      PT2_TRY(chunk.input, part(call_.input, chunk));
      PT2_TRY(chunk.target, part(target_, chunk));
      if (call_.has_probabilities()) {
        PT2_TRY_VOID(weigh_probabilities(chunk));
      } else {
        PT2_TRY(chunk.weights, part(weights_, chunk));
      }
      PT2_TRY_VOID(step(chunk));
    }
    return {};
  }

  Result<void> weigh_probabilities(RowsOfLoss& rows) {
    PT2_TRY(rows.probabilities, to(rows.target, call_.logits_dtype()));
    if (call_.weight) {
      PT2_TRY(rows.probabilities, e_(aten<"mul.Tensor">, {rows.probabilities, class_weights_}));
    }
    PT2_TRY(rows.weights, sum_of(rows.probabilities, 1, call_.acc_dtype));
    if (scale_ != 1) {
      PT2_TRY(rows.weights, e_(aten<"mul.Scalar">, {rows.weights, scale_}));
    }
    return {};
  }

  // The logits minus the maximum of each row, so that no exponential is above 1.
  Result<Tensor> shifted_logits(const RowsOfLoss& rows) {
    const auto input = to(rows.input, call_.logits_dtype());
    PT2_TRY(Tensor logits, e_(aten<"mm.default">, {input, e_(aten<"t.default">, {matrix_})}));
    if (call_.linear_bias) {
      PT2_TRY(logits, e_(aten<"add.Tensor">, {logits, bias_}));
    }
    const auto greatest = e_(aten<"amax.default">, {logits, Value::List{int64_t{1}}, true});
    return e_(aten<"sub.Tensor">, {logits, greatest});
  }
  // The logits of the rows' target classes; for probabilities, the weighted sum of the logits.
  Result<Tensor> own_logits(const RowsOfLoss& rows, const Tensor& logits) {
    if (!call_.has_probabilities()) {
      const auto found = e_(aten<"gather.default">, {logits, 1, as_column(rows.target)});
      return e_(aten<"squeeze.dim">, {found, 1});
    }
    const auto lines = e_(aten<"unsqueeze.default">, {rows.probabilities, 1});
    const auto products =
        e_(aten<"bmm.default">, {lines, e_(aten<"unsqueeze.default">, {logits, 2})});
    return e_(aten<"reshape.default">, {products, Value::List{int64_t{-1}}});
  }

  Result<Tensor> loss_of_rows(const RowsOfLoss& rows) {
    PT2_TRY(const Tensor logits, shifted_logits(rows));
    PT2_TRY(const Tensor own, own_logits(rows, logits));
    PT2_TRY(const Tensor powers, e_(aten<"exp.default">, {logits}));
    const auto sums = e_(aten<"log.default">, {sum_of(powers, 1, call_.sums_dtype())});
    // A row without probabilities has weight 0: nothing may be divided by the weight.
    if (call_.has_probabilities())
      return to(e_(aten<"sub.Tensor">, {e_(aten<"mul.Tensor">, {sums, rows.weights}), own}),
                dtype());
    const auto distance = e_(aten<"sub.Tensor">, {sums, own});
    return to(e_(aten<"mul.Tensor">, {distance, rows.weights}), dtype());
  }

  Result<void> add_chunk(const RowsOfLoss& rows) {
    PT2_TRY(const Tensor logits, shifted_logits(rows));
    PT2_TRY_VOID(add_to_loss(e_(aten<"neg.default">, {loss_of_own(rows, logits)})));
    PT2_TRY(const Tensor powers, e_(aten<"exp.default">, {logits}));
    PT2_TRY(const Tensor sums, sum_of(powers, 1, call_.sums_dtype()));
    const auto weights = to(rows.weights, sums.dtype());
    PT2_TRY_VOID(add_to_loss(e_(aten<"dot.default">, {weights, e_(aten<"log.default">, {sums})})));
    if (!call_.wants_input && !call_.wants_weight && !call_.wants_bias) return {};
    const auto factors = to(e_(aten<"div.Tensor">, {rows.weights, sums}), logits.dtype());
    PT2_TRY(Tensor slopes, e_(aten<"mul.Tensor">, {powers, as_column(factors)}));
    if (call_.has_probabilities()) {
      PT2_TRY(slopes, e_(aten<"sub.Tensor">, {slopes, rows.probabilities, scale_}));
    }
    if (call_.wants_bias) PT2_TRY_VOID(add_to_bias(rows, slopes));
    if (call_.wants_input) PT2_TRY_VOID(add_to_input(rows, slopes));
    return call_.wants_weight ? add_to_weight(rows, slopes) : Result<void>();
  }
  Result<void> add_to_loss(const Result<Tensor>& number) {
    PT2_TRY(loss_, to(e_(aten<"add.Tensor">, {loss_, number}), loss_.dtype()));
    return {};
  }
  Result<Tensor> loss_of_own(const RowsOfLoss& rows, const Tensor& logits) {
    const auto own = own_logits(rows, logits);
    if (!call_.has_probabilities())
      return e_(aten<"dot.default">, {rows.weights, to(own, call_.acc_dtype)});
    const auto sum = e_(aten<"sum.default">, {own, call_.sums_dtype()});
    return e_(aten<"mul.Scalar">, {sum, scale_});
  }

  // For class targets, `slopes` lacks the term of each row's target class: minus the row's weight.
  // Adds that term, too.
  Result<void> add_to_bias(const RowsOfLoss& rows, const Tensor& slopes) {
    PT2_TRY(Tensor sum, sum_of(slopes, 0, call_.acc_dtype));
    if (!call_.has_probabilities()) {
      PT2_TRY(sum, e_(aten<"index_add.default">, {sum, 0, rows.target, rows.weights, -1}));
    }
    PT2_TRY(to_bias_, e_(aten<"add.Tensor">, {to_bias_, to(sum, dtype())}));
    return {};
  }
  Result<void> add_to_input(const RowsOfLoss& rows, const Tensor& slopes) {
    PT2_TRY(Tensor sum, e_(aten<"mm.default">, {slopes, matrix_}));
    if (!call_.has_probabilities()) {
      const auto own = e_(aten<"index_select.default">, {matrix_, 0, rows.target});
      const auto weights = as_column(to(rows.weights, sum.dtype()));
      PT2_TRY(sum, e_(aten<"sub.Tensor">, {sum, e_(aten<"mul.Tensor">, {own, weights})}));
    }
    PT2_TRY(const Tensor rounded, to(sum, dtype()));
    to_input_.emplace_back(rounded);
    return {};
  }
  Result<void> add_to_weight(const RowsOfLoss& rows, const Tensor& slopes) {
    const bool in_place = call_.adds_in_place();
    const Dtype sum_dtype = in_place ? dtype() : call_.acc_dtype;
    const auto across = e_(aten<"t.default">, {to(slopes, sum_dtype)});
    const auto input = to(rows.input, sum_dtype);
    PT2_TRY(Tensor sum, in_place ? e_(aten<"addmm.default">, {to_weight_, across, input})
                                 : e_(aten<"mm.default">, {across, input}));
    if (!call_.has_probabilities()) {
      const auto weighted =
          e_(aten<"mul.Tensor">, {to(rows.input, call_.acc_dtype), as_column(rows.weights)});
      PT2_TRY(sum,
              e_(aten<"index_add.default">, {sum, 0, rows.target, to(weighted, sum_dtype), -1}));
    }
    PT2_TRY(to_weight_, in_place ? Result<Tensor>(sum)
                                 : to(e_(aten<"add.Tensor">, {to_weight_, sum}), dtype()));
    return {};
  }

  Emitter& e_;
  const ChunkedLoss& call_;
  Tensor matrix_, bias_;     // in the dtype of the logits
  Tensor target_, weights_;  // of all rows, if the target holds classes
  Tensor class_weights_;     // [1, classes], if the target holds probabilities
  double scale_ = 1;         // factor of the loss, if the target holds probabilities
  Tensor loss_, to_weight_, to_bias_;
  Value::List to_input_;
};

Result<ChunkedLoss> reduced_call(const Tensor& input, const Tensor& linear_weight,
                                 const Tensor& target, const OptionalTensor& linear_bias,
                                 const OptionalTensor& weight, const std::string& reduction,
                                 int64_t ignore_index, double label_smoothing,
                                 int64_t batch_chunk_size, const std::string& acc_policy,
                                 Dtype acc_dtype, bool, bool compute_input_grad,
                                 bool compute_linear_weight_grad, bool compute_linear_bias_grad) {
  if (label_smoothing > 0)
    return operator_error("label_smoothing: found " + std::to_string(label_smoothing) +
                          ", expected 0");
  if (reduction != "mean" && reduction != "sum")
    return operator_error("reduction: found '" + reduction + "', expected mean or sum");
  ChunkedLoss call{input,
                   linear_weight,
                   target,
                   linear_bias,
                   weight,
                   reduction,
                   ignore_index,
                   batch_chunk_size,
                   acc_policy,
                   acc_dtype,
                   compute_input_grad,
                   compute_linear_weight_grad,
                   compute_linear_bias_grad};
  PT2_TRY_VOID(check_chunked(call));
  return call;
}

Result<ChunkedLoss> rows_call(const Tensor& input, const Tensor& linear_weight,
                              const Tensor& target, const OptionalTensor& linear_bias,
                              const OptionalTensor& weight, int64_t ignore_index,
                              int64_t batch_chunk_size, const std::string& acc_policy,
                              Dtype acc_dtype) {
  ChunkedLoss call{input,  linear_weight, target,           linear_bias, weight,
                   "none", ignore_index,  batch_chunk_size, acc_policy,  acc_dtype};
  PT2_TRY_VOID(check_chunked(call));
  return call;
}

Result<std::array<Meta, 4>> reduced_metas(const ChunkedLoss& call) {
  const auto meta = [&](bool is_wanted, const Sizes& sizes) {
    return Meta(call.dtype(), is_wanted ? sizes : Sizes(sizes.size(), 0));
  };
  const Sizes& matrix = call.linear_weight.sizes();
  return std::array{Meta(call.dtype(), {}), meta(call.wants_input, call.input.sizes()),
                    meta(call.wants_weight, matrix), meta(call.wants_bias, {matrix[0]})};
}

Result<Meta> rows_meta(const ChunkedLoss& call) { return Meta(call.dtype(), {call.rows()}); }

Result<LossAndGradients> reduced_loss(Emitter& e, const ChunkedLoss& call) {
  return LossByChunks(e, call).reduced();
}
Result<Tensor> loss_of_rows(Emitter& e, const ChunkedLoss& call) {
  return LossByChunks(e, call).rows();
}

// clang-format off
constexpr OpDef kTorchNnOps[] = {
    composed<"torch_nn::_linear_cross_entropy_batch_chunked(Tensor input, Tensor linear_weight, Tensor target, Tensor? linear_bias, Tensor? weight, str reduction, SymInt ignore_index, float label_smoothing, SymInt batch_chunk_size, str acc_policy, ScalarType acc_dtype, bool allow_retain_graph, bool compute_input_grad, bool compute_linear_weight_grad, bool compute_linear_bias_grad) -> (Tensor, Tensor, Tensor, Tensor)", gathered<reduced_call, reduced_metas>, gathered<reduced_call, reduced_loss>>,
    composed<"torch_nn::_linear_cross_entropy_batch_chunked_no_reduction(Tensor input, Tensor linear_weight, Tensor target, Tensor? linear_bias, Tensor? weight, SymInt ignore_index, SymInt batch_chunk_size, str acc_policy, ScalarType acc_dtype) -> Tensor", gathered<rows_call, rows_meta>, gathered<rows_call, loss_of_rows>>,
};
// clang-format on

}  // namespace

std::span<const OpDef> torch_nn_ops() { return kTorchNnOps; }

}  // namespace pt2::ops
