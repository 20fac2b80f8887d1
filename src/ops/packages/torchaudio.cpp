// Operators of torchaudio (src/libtorchaudio/iir.cpp).
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

// An IIR filter on one row: each result is the sample minus the weighted earlier results. Rounds at
// each step, as torchaudio does.
template <class T>
void filter_row(const T* samples, int64_t count, const T* coefficients, int64_t order, T* results) {
  for (int64_t i = 0; i < count; ++i) {
    T value = samples[i];
    for (int64_t k = 0; k < order; ++k) value -= results[i + k] * coefficients[k];
    results[i + order - 1] = value;
  }
}

template <class T>
void filter(const Tensor& windows, const Tensor& coefficients, Tensor& waveform) {
  const int64_t rows = windows.size(0) * windows.size(1);
  const int64_t order = coefficients.size(1);
  for (int64_t row = 0; row < rows; ++row)
    filter_row(windows.data<T>() + row * windows.size(2), windows.size(2),
               coefficients.data<T>() + row % windows.size(1) * order, order,
               waveform.data<T>() + row * waveform.size(2));
}

// [batch, channels, samples], [channels, order], and the results after order - 1 zeros.
Result<Tensor> lfilter_core_loop(const Tensor& input_signal_windows, const Tensor& a_coeff_flipped,
                                 Tensor padded_output_waveform) {
  const Tensor& windows = input_signal_windows;
  PT2_TRY_VOID(check_rank(windows, 3, "input_signal_windows"));
  PT2_TRY_VOID(check_rank(a_coeff_flipped, 2, "a_coeff_flipped"));
  if (a_coeff_flipped.size(1) < 1)
    return operator_error("a_coeff_flipped: found no coefficients, expected one or more");
  const int64_t padding = a_coeff_flipped.size(1) - 1;
  PT2_TRY_VOID(check_sizes(a_coeff_flipped, {windows.size(1), padding + 1}, "a_coeff_flipped"));
  PT2_TRY_VOID(check_sizes(padded_output_waveform,
                           {windows.size(0), windows.size(1), windows.size(2) + padding},
                           "padded_output_waveform"));
  PT2_TRY_VOID(check_same_dtype(a_coeff_flipped, windows, "a_coeff_flipped"));
  PT2_TRY_VOID(check_same_dtype(padded_output_waveform, windows, "padded_output_waveform"));
  if (padded_output_waveform.storage()->is_read_only())
    return operator_error("padded_output_waveform is read-only");
  for (const Tensor* tensor : {&windows, &a_coeff_flipped})
    if (!tensor->is_contiguous()) return operator_error("found strides, expected one block");
  if (!padded_output_waveform.is_contiguous())
    return operator_error("found strides, expected one block");
  if (windows.dtype() == Dtype::float32)
    filter<float>(windows, a_coeff_flipped, padded_output_waveform);
  else if (windows.dtype() == Dtype::float64)
    filter<double>(windows, a_coeff_flipped, padded_output_waveform);
  else
    return operator_error("found dtype " + std::string(dtype_name(windows.dtype())) +
                          ", expected float32 or float64");
  return padded_output_waveform;
}

Meta like_output(const Tensor&, const Tensor&, const Tensor& padded_output_waveform) {
  return {padded_output_waveform.dtype(), padded_output_waveform.sizes()};
}

// clang-format off
constexpr OpDef kTorchaudioOps[] = {
    // Up to torchaudio 2.10 it gives nothing.
    composed<"torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)",
       like_output, lfilter_core_loop>,
};
// clang-format on

}  // namespace

std::span<const OpDef> torchaudio_ops() { return kTorchaudioOps; }

}  // namespace pt2::ops
