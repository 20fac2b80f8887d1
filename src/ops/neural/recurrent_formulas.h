// Recurrent networks unrolled over time steps.
#ifndef PT2_OPS_NEURAL_RECURRENT_FORMULAS_H
#define PT2_OPS_NEURAL_RECURRENT_FORMULAS_H

#include <tuple>

#include "ops/op_def.h"

namespace pt2::ops {

Result<std::tuple<Tensor, Tensor, Tensor>> lstm_formula(Emitter& e, const Tensor& input,
                                                        const Tensors& hx, const Tensors& params,
                                                        bool has_biases, int64_t num_layers,
                                                        double dropout, bool train,
                                                        bool bidirectional, bool batch_first);

using RnnPair = Result<std::tuple<Tensor, Tensor>>;
RnnPair gru_formula(Emitter& e, const Tensor& input, const Tensor& hx, const Tensors& params,
                    bool has_biases, int64_t num_layers, double dropout, bool train,
                    bool bidirectional, bool batch_first);
RnnPair rnn_tanh_formula(Emitter& e, const Tensor& input, const Tensor& hx, const Tensors& params,
                         bool has_biases, int64_t num_layers, double dropout, bool train,
                         bool bidirectional, bool batch_first);
RnnPair rnn_relu_formula(Emitter& e, const Tensor& input, const Tensor& hx, const Tensors& params,
                         bool has_biases, int64_t num_layers, double dropout, bool train,
                         bool bidirectional, bool batch_first);

// One time step of one layer.
RnnPair lstm_cell_formula(Emitter& e, const Tensor& input, const Tensors& hx, const Tensor& w_ih,
                          const Tensor& w_hh, const OptionalTensor& b_ih,
                          const OptionalTensor& b_hh);
Result<Tensor> gru_cell_formula(Emitter& e, const Tensor& input, const Tensor& hx,
                                const Tensor& w_ih, const Tensor& w_hh, const OptionalTensor& b_ih,
                                const OptionalTensor& b_hh);
Result<Tensor> rnn_tanh_cell_formula(Emitter& e, const Tensor& input, const Tensor& hx,
                                     const Tensor& w_ih, const Tensor& w_hh,
                                     const OptionalTensor& b_ih, const OptionalTensor& b_hh);
Result<Tensor> rnn_relu_cell_formula(Emitter& e, const Tensor& input, const Tensor& hx,
                                     const Tensor& w_ih, const Tensor& w_hh,
                                     const OptionalTensor& b_ih, const OptionalTensor& b_hh);

}  // namespace pt2::ops

#endif  // PT2_OPS_NEURAL_RECURRENT_FORMULAS_H
