// Functions that a product can apply to its results in the same pass.
#ifndef PT2_KERNELS_ACTIVATION_H
#define PT2_KERNELS_ACTIVATION_H

#include <cstdint>

namespace pt2::kernels {

enum class Activation : uint8_t {
  none,
  relu,
  relu6,
  sigmoid,
  tanh,
  silu,
  gelu,       // x/2 (1 + erf(x / sqrt 2))
  gelu_tanh,  // approximate="tanh"
  hardsigmoid,
  hardswish,
};

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_ACTIVATION_H
