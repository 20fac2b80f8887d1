// Discrete Fourier transforms of many lines of one length.
#ifndef PT2_OPS_SIGNAL_DFT_H
#define PT2_OPS_SIGNAL_DFT_H

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/convert.h"

namespace pt2::ops {

// Lines of complex numbers: consecutive numbers are `stride` apart, the first numbers of
// consecutive lines `distance` apart.
struct Lines {
  Complex* data;
  int64_t stride;
  int64_t distance;
};

// The sums of x[j] * exp(-2 pi i j k / n), or with + when not forward, times `scale`. Lengths with
// small prime factors use Stockham's passes over several lines at once, long lines a matrix of
// short ones, and other lengths a convolution with such a length (Bluestein). O(n log n).
class DiscreteFourier {
 public:
  DiscreteFourier(int64_t n, bool forward);
  ~DiscreteFourier();
  // In place.
  void transform(Lines lines, int64_t count, double scale) const;

 private:
  struct Convolution;
  struct Split;

  void transform_block(Lines from, Lines to, int64_t lanes, double scale) const;
  void transform_split(Lines line, double scale) const;
  void convolve(Lines line, double scale) const;

  int64_t n_;
  bool forward_;
  std::vector<int64_t> factors_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / n)
  std::unique_ptr<Split> split_;
  std::unique_ptr<Convolution> convolution_;
};

// Transforms lines of n real numbers to and from their spectra. Half of such a spectrum mirrors the
// other half; for even n this halves the cost of a complex transform.
class RealFourier {
 public:
  RealFourier(int64_t n, bool forward);
  // Writes the first `length` numbers of each spectrum: n, or n / 2 + 1.
  void to_spectra(const double* lines, int64_t count, Complex* spectra, int64_t length,
                  double scale) const;
  // Reads the first n / 2 + 1 numbers. Where the spectrum of a real signal is real, imaginary parts
  // are ignored.
  void from_spectra(const Complex* spectra, int64_t count, double* lines, double scale) const;

 private:
  int64_t n_;
  DiscreteFourier inner_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / n), up to a quarter of a turn
};

}  // namespace pt2::ops

#endif  // PT2_OPS_SIGNAL_DFT_H
