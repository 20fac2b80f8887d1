// Operators of torchaudio (src/libtorchaudio: lfilter.cpp, overdrive.cpp).
#include <array>
#include <initializer_list>
#include <string_view>
#include <tuple>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<void> check_blocks(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors)
    if (!tensor->is_contiguous()) return operator_error("found strides, expected one block");
  return {};
}

// An IIR filter on one row: each result is the sample minus the weighted earlier results. Rounds
// after each step, as torchaudio does.
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
  MemoryAccount::count_loops({rows, windows.size(2), order}, 1);
  for (int64_t row = 0; row < rows; ++row)
    filter_row(windows.data<T>() + row * windows.size(2), windows.size(2),
               coefficients.data<T>() + row % windows.size(1) * order, order,
               waveform.data<T>() + row * waveform.size(2));
}

// The arguments are [batch, channels, samples], [channels, order], and the results, which begin
// with order - 1 zeros.
Result<Meta> lfilter_meta(const Tensor& input_signal_windows, const Tensor& a_coeff_flipped,
                          const Tensor& padded_output_waveform) {
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
  PT2_TRY_VOID(check_float_or_double(windows, "input_signal_windows"));
  return Meta(padded_output_waveform.dtype(), padded_output_waveform.sizes());
}

Result<Tensor> lfilter_core_loop(const Tensor& input_signal_windows, const Tensor& a_coeff_flipped,
                                 Tensor padded_output_waveform) {
  const Tensor& windows = input_signal_windows;
  PT2_TRY_VOID(lfilter_meta(windows, a_coeff_flipped, padded_output_waveform));
  PT2_TRY_VOID(check_writable(padded_output_waveform, "padded_output_waveform"));
  PT2_TRY_VOID(check_blocks({&windows, &a_coeff_flipped, &padded_output_waveform}));
  with_float_compute_type(windows.dtype(), [&]<class T>() {
    filter<T>(windows, a_coeff_flipped, padded_output_waveform);
  });
  return padded_output_waveform;
}

// For each row: 3/4 of the sum, with a leak, of the differences of `temp`, plus 1/2 of the
// waveform. The factors are doubles for rows of any dtype.
template <class T>
void overdrive(const Tensor& waveform, const Tensor& temp, Tensor& last_in, Tensor& last_out,
               Tensor& output) {
  const int64_t count = waveform.size(1);
  for (int64_t row = 0; row < waveform.size(0); ++row) {
    const T* samples = waveform.data<T>() + row * count;
    const T* distorted = temp.data<T>() + row * count;
    T* results = output.data<T>() + row * count;
    T &in = last_in.data<T>()[row], &out = last_out.data<T>()[row];
    for (int64_t i = 0; i < count; ++i) {
      out =
          static_cast<T>(static_cast<double>(distorted[i] - in) + 0.995 * static_cast<double>(out));
      in = distorted[i];
      results[i] =
          static_cast<T>(static_cast<double>(samples[i]) * 0.5 + static_cast<double>(out) * 0.75);
    }
  }
}

// The arguments are [rows, samples] or [rows].
Result<std::array<Meta, 3>> overdrive_meta(const Tensor& waveform, const Tensor& temp,
                                           const Tensor& last_in, const Tensor& last_out,
                                           const Tensor& output_waveform) {
  PT2_TRY_VOID(check_rank(waveform, 2, "waveform"));
  const auto check = [&](const Tensor& tensor, const Sizes& sizes,
                         std::string_view name) -> Result<void> {
    PT2_TRY_VOID(check_sizes(tensor, sizes, name));
    return check_same_dtype(tensor, waveform, name);
  };
  PT2_TRY_VOID(check(temp, waveform.sizes(), "temp"));
  PT2_TRY_VOID(check(last_in, {waveform.size(0)}, "last_in"));
  PT2_TRY_VOID(check(last_out, {waveform.size(0)}, "last_out"));
  PT2_TRY_VOID(check(output_waveform, waveform.sizes(), "output_waveform"));
  PT2_TRY_VOID(check_float_or_double(waveform, "waveform"));
  const auto like = [](const Tensor& tensor) { return Meta(tensor.dtype(), tensor.sizes()); };
  return std::array{like(last_in), like(last_out), like(output_waveform)};
}

Result<std::tuple<Tensor, Tensor, Tensor>> overdrive_core_loop(const Tensor& waveform,
                                                               const Tensor& temp, Tensor last_in,
                                                               Tensor last_out,
                                                               Tensor output_waveform) {
  PT2_TRY_VOID(overdrive_meta(waveform, temp, last_in, last_out, output_waveform));
  PT2_TRY_VOID(check_writable(last_in, "last_in"));
  PT2_TRY_VOID(check_writable(last_out, "last_out"));
  PT2_TRY_VOID(check_writable(output_waveform, "output_waveform"));
  PT2_TRY_VOID(check_blocks({&waveform, &temp, &last_in, &last_out, &output_waveform}));
  with_float_compute_type(waveform.dtype(), [&]<class T>() {
    overdrive<T>(waveform, temp, last_in, last_out, output_waveform);
  });
  return std::tuple(last_in, last_out, output_waveform);
}

// clang-format off
constexpr OpDef kTorchaudioOps[] = {
    // In torchaudio up to 2.10, this operator returns nothing.
    composed<"torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)",
       lfilter_meta, lfilter_core_loop>,
    composed<"torchaudio::_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
       overdrive_meta, overdrive_core_loop>,
};
// clang-format on

}  // namespace

std::span<const OpDef> torchaudio_ops() { return kTorchaudioOps; }

}  // namespace pt2::ops
