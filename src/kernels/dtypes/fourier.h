// Fourier transforms of several lines at once, one in each lane of a vector, by Stockham's passes.
#ifndef PT2_KERNELS_DTYPES_FOURIER_H
#define PT2_KERNELS_DTYPES_FOURIER_H

#include <cstdint>
#include <span>

namespace pt2::kernels {

// The largest prime factor that has a pass.
inline constexpr int64_t kLargestFactor = 31;

// Half of the spectrum of real numbers determines the other half: 2 n real numbers are transformed
// as n complex numbers.
enum class RealLines : uint8_t { none, to_spectra, from_spectra };

// Complex numbers are pairs of T; strides, distances and indices count pairs. T is float or double.
template <class T>
struct FourierLines {
  int64_t n = 0;                       // the product of the factors
  std::span<const int64_t> factors{};  // radices of the passes: 2, 3, 4, 5, 8 or odd
  const T* roots = nullptr;            // exp(-2 pi i k / n) for k < n
  bool forward = true;
  T scale = 1;
  int64_t lines = 0;  // at most fourier_lanes<T>()
  const T* from = nullptr;
  int64_t from_stride = 0;    // from number to number of a line
  int64_t from_distance = 0;  // from line to line
  T* to = nullptr;            // may be `from`
  int64_t to_stride = 0;
  int64_t to_distance = 0;
  // If not null, number k of line l is finally multiplied by shifts[k] * turns[k * lanes + l], or
  // by the conjugate if not forward.
  const T* shifts = nullptr;
  const T* turns = nullptr;
  // Real numbers are read or written as pairs. Spectra have `length` numbers, of which n + 1 are
  // read.
  RealLines real = RealLines::none;
  const T* real_roots = nullptr;  // exp(-2 pi i k / 2n) for k <= n / 2
  int64_t length = 0;
  T* work = nullptr;  // fourier_work<T>(n) numbers
};

template <class T>
int64_t fourier_lanes();
template <class T>
int64_t fourier_work(int64_t n) {
  return 4 * (n + 1) * fourier_lanes<T>();
}
template <class T>
void transform_lines(const FourierLines<T>& lines);

template <>
int64_t fourier_lanes<float>();
template <>
int64_t fourier_lanes<double>();
template <>
void transform_lines<float>(const FourierLines<float>& lines);
template <>
void transform_lines<double>(const FourierLines<double>& lines);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_FOURIER_H
