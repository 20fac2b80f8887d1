// Discrete Fourier transforms of many lines of one length.
#ifndef PT2_OPS_SIGNAL_DFT_H
#define PT2_OPS_SIGNAL_DFT_H

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/memory_account.h"
#include "kernels/dtypes/fourier.h"

namespace pt2::ops {

// Lines of complex numbers. Consecutive numbers of a line are `stride` apart; the first numbers of
// consecutive lines are `distance` apart.
template <class T>
struct Lines {
  std::complex<T>* data;
  int64_t stride;
  int64_t distance;
};

// Computes the sums of x[j] * exp(-2 pi i j k / n), or of x[j] * exp(2 pi i j k / n) if not
// `forward`, times `scale`. T is float or double. Lengths with small prime factors use the kernel's
// passes over several lines at once. Long lines use a matrix of short ones. Other lengths use a
// convolution of such a length in double (Bluestein). O(n log n).
template <class T>
class DiscreteFourier {
 public:
  DiscreteFourier(int64_t n, bool forward);
  ~DiscreteFourier();
  // Transforms in place.
  void transform(Lines<T> lines, int64_t count, double scale) const;

  // True if `count` lines are transformed by one kernel call for each group of `lanes` lines. Then
  // kernel_lines() prepares such a call.
  bool is_whole(int64_t count) const;
  kernels::FourierLines<T> kernel_lines(double scale, Scratch<T>& work) const;

 private:
  struct Convolution;
  struct Split;

  void transform_whole(Lines<T> lines, int64_t count, double scale) const;
  void transform_split(Lines<T> line, double scale) const;
  void convolve(Lines<T> line, double scale) const;

  int64_t n_;
  bool forward_;
  int64_t lanes_;
  std::vector<int64_t> factors_;
  Scratch<std::complex<T>> roots_;  // exp(-2 pi i k / n)
  std::unique_ptr<Split> split_;
  std::unique_ptr<Convolution> convolution_;
};

// Transforms lines of n real numbers to and from their spectra. One half of such a spectrum mirrors
// the other; for even n, this halves the cost of a complex transform.
template <class T>
class RealFourier {
 public:
  RealFourier(int64_t n, bool forward);
  // Writes the first `length` numbers of each spectrum: n, or n / 2 + 1.
  void to_spectra(const T* lines, int64_t count, std::complex<T>* spectra, int64_t length,
                  double scale) const;
  // Reads the first n / 2 + 1 numbers of each spectrum. Ignores imaginary parts of elements that
  // are real in the spectrum of a real signal.
  void from_spectra(const std::complex<T>* spectra, int64_t count, T* lines, double scale) const;

 private:
  void run_whole(kernels::RealLines real, const T* from, int64_t from_distance, int64_t count,
                 T* to, int64_t to_distance, int64_t length, double scale) const;

  int64_t n_;
  DiscreteFourier<T> inner_;
  Scratch<std::complex<T>> roots_;  // exp(-2 pi i k / n), up to a quarter of a turn
};

}  // namespace pt2::ops

#endif  // PT2_OPS_SIGNAL_DFT_H
