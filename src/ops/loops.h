// Elementwise loops over strided, broadcast operands. Elements are loaded into short buffers of one
// of four compute types, the scalar function runs over the buffers, and the results are stored. A
// function is thus compiled at most four times, not once per dtype.
#ifndef PT2_OPS_LOOPS_H
#define PT2_OPS_LOOPS_H

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <utility>

#include "ops/convert.h"
#include "ops/meta.h"

namespace pt2::ops {

constexpr int64_t kChunk = 512;

// The C++ type in which a dtype is computed. All integers and bool share int64_t; all floats except
// float64 share float.
enum class ComputeType : uint8_t { integer, single, twice, complex };
ComputeType compute_type(Dtype dtype);

// Calls function.template operator()<C>() with the compute type of `dtype`, but with Integer in
// place of int64_t and with ComplexNumber in place of Complex.
template <class Integer, class ComplexNumber, class F>
auto with_types(Dtype dtype, F&& function) {
  const ComputeType type = compute_type(dtype);
  if constexpr (!std::is_same_v<Integer, double>)
    if (type == ComputeType::integer) return function.template operator()<Integer>();
  if constexpr (!std::is_same_v<ComplexNumber, double>)
    if (type == ComputeType::complex) return function.template operator()<ComplexNumber>();
  if (type == ComputeType::single) return function.template operator()<float>();
  return function.template operator()<double>();
}
template <class F>
auto with_compute_type(Dtype dtype, F&& function) {
  return with_types<int64_t, Complex>(dtype, function);
}
// For functions without a complex definition; their rules refuse complex tensors first.
template <class F>
auto with_real_compute_type(Dtype dtype, F&& function) {
  return with_types<int64_t, double>(dtype, function);
}
// For functions with fractional values: integers are computed as double.
template <class F>
auto with_fraction_compute_type(Dtype dtype, F&& function) {
  return with_types<double, Complex>(dtype, function);
}
template <class F>
auto with_float_compute_type(Dtype dtype, F&& function) {
  return with_types<double, double>(dtype, function);
}

// Walks tensors of equal sizes (see broadcast_to) together, in chunks along the innermost
// dimension. First merges dimensions that all tensors traverse with a uniform stride.
class StridedWalk {
 public:
  static constexpr size_t kMaxOperands = 8;
  // All views must have the same sizes; operand 0 is usually the output.
  explicit StridedWalk(std::span<const Tensor* const> views);
  // Calls visit(pointers, count) for each chunk, count <= chunk. pointers[k] is the first element
  // of operand k's run; the elements of the run are inner_stride(k) apart.
  template <class Visit>
  void run(Visit&& visit, int64_t chunk = kChunk) const {
    if (numel_ == 0) return;
    std::array<const std::byte*, kMaxOperands> row = base_;
    std::vector<int64_t> index(outer_sizes_.size(), 0);
    for (;;) {
      for (int64_t begin = 0; begin < inner_size_; begin += chunk) {
        std::array<const std::byte*, kMaxOperands> pointers = row;
        for (size_t k = 0; k < count_; ++k) pointers[k] += begin * inner_bytes_[k];
        visit(pointers, std::min(chunk, inner_size_ - begin));
      }
      if (!advance(index, row)) return;
    }
  }
  int64_t inner_stride(size_t operand) const { return inner_strides_[operand]; }

 private:
  bool advance(std::vector<int64_t>& index, std::array<const std::byte*, kMaxOperands>& row) const;

  size_t count_;
  int64_t numel_ = 0;
  int64_t inner_size_ = 1;
  std::array<const std::byte*, kMaxOperands> base_{};
  std::array<int64_t, kMaxOperands> inner_strides_{};
  std::array<int64_t, kMaxOperands> inner_bytes_{};
  std::vector<int64_t> outer_sizes_;
  std::vector<std::array<int64_t, kMaxOperands>> outer_bytes_;
};

// out[i] = function(in[i]...) for `count` contiguous elements.
template <class C>
using ChunkLoop = void (*)(void* function, C* out, const C* const* in, int64_t count);
// Calls `loop` chunk by chunk. Contiguous elements of type C are used in place; others pass through
// buffers.
template <class C>
void run_chunks(Tensor& out, Dtype common, std::span<const Tensor> inputs, ChunkLoop<C> loop,
                void* function);

// out[i] = function(in[i]...), computed in C. Operands are first converted to `common`, as in
// TensorIterator; the result is rounded once, to out's dtype. Operands are broadcast to out and
// must not share memory with it.
template <class C, class F, class... In>
void elementwise(Tensor& out, Dtype common, F&& function, const In&... in) {
  const std::array<Tensor, sizeof...(In)> views{broadcast_to(in, out.sizes())...};
  // A function is not an object and has no object address: store a pointer to the function.
  using Plain = std::remove_reference_t<F>;
  using Held = std::conditional_t<std::is_function_v<Plain>, std::decay_t<F>, Plain&>;
  Held held = function;
  auto loop = [](void* erased, C* result, const C* const* operand, int64_t count) {
    auto& call = *static_cast<std::remove_reference_t<Held>*>(erased);
    [&]<size_t... K>(std::index_sequence<K...>) {
      for (int64_t i = 0; i < count; ++i) result[i] = static_cast<C>(call(operand[K][i]...));
    }
    (std::index_sequence_for<In...>{});
  };
  run_chunks<C>(out, common, views, loop, const_cast<void*>(static_cast<const void*>(&held)));
}

// A 0-dim tensor.
Tensor scalar_tensor(const Scalar& scalar, Dtype dtype);
// A Python number passed as a tensor: a wrapped number in the widest dtype of its category.
Tensor number_tensor(const Scalar& number);
// Returns the only element of `number` as a 0-dim tensor of the dtype.
Tensor converted_number(const Tensor& number, Dtype dtype);
// out = source, converted to out's dtype and broadcast to out's sizes.
void copy_elements(Tensor& out, const Tensor& source);
// Sets every element of `out` to `value`, converted to out's dtype.
void fill_elements(Tensor& out, const Scalar& value);

}  // namespace pt2::ops

#endif  // PT2_OPS_LOOPS_H
