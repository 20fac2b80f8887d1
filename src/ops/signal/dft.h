// Discrete Fourier transforms of one length.
#ifndef PT2_OPS_SIGNAL_DFT_H
#define PT2_OPS_SIGNAL_DFT_H

#include <cstdint>
#include <vector>

#include "ops/convert.h"

namespace pt2::ops {

// The sums of x[j] * exp(-2 pi i j k / n), or with + when not forward; nothing is scaled. Powers of
// two by halving, other lengths as a convolution of such a length (Bluestein). O(n log n).
class DiscreteFourier {
 public:
  DiscreteFourier(int64_t n, bool forward);
  void transform(Complex* values) const;

 private:
  void transform_halves(Complex* values, int64_t n, bool forward) const;

  int64_t n_;
  bool forward_;
  int64_t padded_;               // the power of two computed with; n itself when it is one
  std::vector<Complex> roots_;   // of unity, of order padded_, forward
  std::vector<Complex> chirp_;   // exp(-+ pi i j^2 / n)
  std::vector<Complex> kernel_;  // the transform of the conjugate chirp
};

}  // namespace pt2::ops

#endif  // PT2_OPS_SIGNAL_DFT_H
