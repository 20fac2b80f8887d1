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
template <class Number>
struct NumberLines {
  Number* data;
  int64_t stride;
  int64_t distance;
  NumberLines line(int64_t index) const { return {data + index * distance, stride, distance}; }
};
template <class T>
using Lines = NumberLines<std::complex<T>>;
template <class T>
using ConstLines = NumberLines<const std::complex<T>>;

// Computes the sums of x[j] * exp(-2 pi i j k / n), or of x[j] * exp(2 pi i j k / n) if not
// `forward`, times `scale`. T is float or double. Lengths with small prime factors use the kernel's
// passes over several lines at once. Long lines use a matrix of short ones. Other lengths use a
// convolution of such a length in double (Bluestein). O(n log n).
template <class T>
class DiscreteFourier {
 public:
  // Is prepared best for `count` or more lines at a time.
  DiscreteFourier(int64_t n, bool forward, int64_t count = 1);
  ~DiscreteFourier();
  // The results may replace the operands: `to` is `from`, or shares no memory with it.
  void transform(ConstLines<T> from, Lines<T> to, int64_t count, double scale) const;
  void transform(Lines<T> lines, int64_t count, double scale) const {
    transform({lines.data, lines.stride, lines.distance}, lines, count, scale);
  }

  // True if `count` lines are transformed by one kernel call for each group of `lanes` lines. Then
  // kernel_lines() prepares such a call.
  bool is_whole(int64_t count) const;
  kernels::FourierLines<T> kernel_lines(double scale, Scratch<T>& work) const;

 private:
  struct Convolution;
  struct Split;

  // For lines that are transformed whole, however long.
  static constexpr int64_t kNeverSplit = INT64_MAX;

  void transform_whole(ConstLines<T> from, Lines<T> to, int64_t count, double scale) const;
  void transform_split(ConstLines<T> from, Lines<T> to, double scale) const;
  void convolve(ConstLines<T> from, Lines<T> to, double scale) const;

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
  RealFourier(int64_t n, bool forward, int64_t count = 1);
  // Writes the first `length` numbers of each spectrum: n, or n / 2 + 1.
  void to_spectra(const T* lines, int64_t count, std::complex<T>* spectra, int64_t length,
                  double scale) const;
  // Reads the first n / 2 + 1 numbers of each spectrum; the spectra begin `length` apart. Ignores
  // imaginary parts of elements that are real in the spectrum of a real signal.
  void from_spectra(const std::complex<T>* spectra, int64_t count, int64_t length, T* lines,
                    double scale) const;

 private:
  void run_whole(kernels::RealLines real, const T* from, int64_t from_distance, int64_t count,
                 T* to, int64_t to_distance, int64_t length, double scale) const;

  int64_t n_;
  DiscreteFourier<T> inner_;
  Scratch<std::complex<T>> roots_;  // exp(-2 pi i k / n), up to a quarter of a turn
};

}  // namespace pt2::ops

#endif  // PT2_OPS_SIGNAL_DFT_H
