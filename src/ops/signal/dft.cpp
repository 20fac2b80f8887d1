#include "ops/signal/dft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "ops/convert.h"

namespace pt2::ops {
namespace {

// From this length on, a single line is transformed as a matrix, whose columns fill the vector
// lanes.
constexpr int64_t kShortestSplit = 64;
// Lines up to this length stay in the second-level cache during all passes.
constexpr int64_t kLongestWhole = 4096;

template <class T>
std::complex<T> product(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// exp(-2 pi i k / n) for 0 <= k < n. sin and cos get angles of at most an eighth of a turn, where
// rounding errors are smallest.
Complex root_of_unity(int64_t k, int64_t n) {
  const int64_t eighth = 8 * k / n;
  const int64_t turn = (eighth + 1) / 2;  // the nearest quarter turn
  const double angle =
      2 * std::numbers::pi * static_cast<double>(4 * k - turn * n) / (4 * static_cast<double>(n));
  const double c = std::cos(angle);
  const double s = -std::sin(angle);
  switch (turn % 4) {
    case 0:
      return {c, s};
    case 1:
      return {s, -c};
    case 2:
      return {-c, -s};
    default:
      return {-s, c};
  }
}
template <class T>
Scratch<std::complex<T>> roots_of_unity(int64_t count, int64_t n) {
  Scratch<std::complex<T>> out(static_cast<size_t>(count));
  const auto at = [&out](int64_t k) { return out[static_cast<size_t>(k)]; };
  // The roots of an eighth of a turn give the others, with the same bits.
  for (int64_t k = 0; k < count; ++k) {
    std::complex<T>& root = out[static_cast<size_t>(k)];
    if (2 * k > n) {
      root = std::conj(at(n - k));
    } else if (n % 2 == 0 && 4 * k > n) {
      root = -std::conj(at(n / 2 - k));
    } else if (n % 4 == 0 && 8 * k > n) {
      const std::complex<T> mirrored = at(n / 4 - k);
      root = {-mirrored.imag(), -mirrored.real()};
    } else {
      root = std::complex<T>(root_of_unity(k, n));
    }
  }
  return out;
}

// The radices of the passes; empty if a prime factor of n is too large.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> out;
  // 16 is 4 * 4 rather than 8 * 2.
  for (; n % 8 == 0 && n % 32 != 16; n /= 8) out.push_back(8);
  for (; n % 4 == 0; n /= 4) out.push_back(4);
  for (int64_t factor = 2; factor <= kernels::kLargestFactor; ++factor)
    for (; n % factor == 0; n /= factor) out.push_back(factor);
  return n == 1 ? out : std::vector<int64_t>();
}

// Counts two transforms of a padded line, with the passes between them.
void count_convolution(int64_t padded) {
  const auto levels = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(padded)));
  MemoryAccount::count_loops({padded, levels, 2}, 1);
}

// Returns the shortest fast length from `least` on: a power of two, or 3, 5, 9 or 15 times one. A
// power of two alone may be almost twice as long.
int64_t padded_length(int64_t least) {
  const auto shortest = [least](int64_t factor) {
    const auto rest = static_cast<uint64_t>((least + factor - 1) / factor);
    return factor * static_cast<int64_t>(std::bit_ceil(rest));
  };
  return std::min({shortest(1), shortest(3), shortest(5), shortest(9), shortest(15)});
}

// Complex numbers as pairs of numbers, the layout that kernels take.
template <class T>
const T* pairs(const std::complex<T>* numbers) {
  return reinterpret_cast<const T*>(numbers);
}
template <class T>
T* pairs(std::complex<T>* numbers) {
  return reinterpret_cast<T*>(numbers);
}

}  // namespace

// Transforms a line as a matrix with rows of `columns` numbers.
template <class T>
struct DiscreteFourier<T>::Split {
  Split(int64_t row_count, int64_t column_count, bool forward, int64_t lanes)
      : rows(row_count),
        columns(column_count),
        by_column(row_count, forward, kNeverSplit),
        by_row(column_count, forward, kNeverSplit),
        coarse(roots_of_unity<double>(row_count, row_count)),
        turns(static_cast<size_t>(row_count * lanes)) {
    const int64_t n = rows * columns;
    for (int64_t k = 0; k < columns; ++k) fine.push_back(root_of_unity(k, n));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t lane = 0; lane < lanes; ++lane)
        turns[static_cast<size_t>(row * lanes + lane)] =
            std::complex<T>(root(row * std::min(lane, columns - 1)));
  }
  // exp(-2 pi i m / n) for m < n.
  Complex root(int64_t m) const {
    return product(coarse[static_cast<size_t>(m / columns)],
                   fine[static_cast<size_t>(m % columns)]);
  }

  int64_t rows;
  int64_t columns;
  DiscreteFourier by_column;
  DiscreteFourier by_row;
  Scratch<Complex> coarse;         // exp(-2 pi i k / rows)
  Scratch<Complex> fine;           // exp(-2 pi i k / n)
  Scratch<std::complex<T>> turns;  // exp(-2 pi i row lane / n)
};

template <class T>
struct DiscreteFourier<T>::Convolution {
  int64_t padded;
  DiscreteFourier<double> there;
  DiscreteFourier<double> back;
  Scratch<Complex> chirp;   // exp(-+ pi i j^2 / n)
  Scratch<Complex> kernel;  // the transform of the conjugate chirp
};

template <class T>
DiscreteFourier<T>::DiscreteFourier(int64_t n, bool forward, int64_t count)
    : n_(n), forward_(forward), lanes_(kernels::fourier_lanes<T>()), factors_(factors_of(n)) {
  if (n > 1 && factors_.empty()) {
    const auto size = static_cast<uint64_t>(n);
    const auto padded = padded_length(2 * n - 1);
    count_convolution(padded);
    convolution_.reset(new Convolution{padded,
                                       DiscreteFourier<double>(padded, true),
                                       DiscreteFourier<double>(padded, false),
                                       {},
                                       {}});
    auto& [length, there, back, chirp, kernel] = *convolution_;
    kernel.resize(static_cast<size_t>(padded));
    for (int64_t j = 0; j < n; ++j) {
      // Reducing j^2 modulo 2n keeps the angle exact for long signals.
      const auto square =
          static_cast<int64_t>(static_cast<uint64_t>(j) * static_cast<uint64_t>(j) % (2 * size));
      const Complex factor = root_of_unity(square, 2 * n);
      chirp.push_back(forward ? factor : std::conj(factor));
      const Complex inverse = std::conj(chirp.back());
      kernel[static_cast<size_t>(j)] = inverse;
      if (j > 0) kernel[static_cast<size_t>(padded - j)] = inverse;
    }
    there.transform({kernel.data(), 1, padded}, 1, 1);
    return;
  }
  const bool is_short = n <= kLongestWhole && count >= (lanes_ + 1) / 2;
  if (n >= kShortestSplit && !is_short && count != kNeverSplit) {
    // Makes the matrix as square as the factors of n allow.
    int64_t rows = 1;
    for (int64_t divisor = 1; divisor * divisor <= n; ++divisor)
      if (n % divisor == 0) rows = divisor;
    if (rows >= std::min<int64_t>(lanes_, 8)) {
      split_ = std::make_unique<Split>(rows, n / rows, forward, lanes_);
      if (n > kLongestWhole) return;
    }
  }
  roots_ = roots_of_unity<T>(n, n);
}
template <class T>
DiscreteFourier<T>::~DiscreteFourier() = default;

template <class T>
bool DiscreteFourier<T>::is_whole(int64_t count) const {
  if (convolution_) return false;
  return !split_ || (n_ <= kLongestWhole && 2 * count >= lanes_);
}

template <class T>
kernels::FourierLines<T> DiscreteFourier<T>::kernel_lines(double scale, Scratch<T>& work) const {
  work.resize(static_cast<size_t>(kernels::fourier_work<T>(n_)));
  kernels::FourierLines<T> lines;
  lines.n = n_;
  lines.factors = factors_;
  lines.roots = pairs(roots_.data());
  lines.forward = forward_;
  lines.scale = static_cast<T>(scale);
  lines.work = work.data();
  return lines;
}

template <class T>
void DiscreteFourier<T>::transform(ConstLines<T> from, Lines<T> to, int64_t count,
                                   double scale) const {
  if (is_whole(count)) return transform_whole(from, to, count, scale);
  for (int64_t i = 0; i < count; ++i)
    convolution_ ? convolve(from.line(i), to.line(i), scale)
                 : transform_split(from.line(i), to.line(i), scale);
}

template <class T>
void DiscreteFourier<T>::transform_whole(ConstLines<T> from, Lines<T> to, int64_t count,
                                         double scale) const {
  Scratch<T> work;
  kernels::FourierLines<T> block = kernel_lines(scale, work);
  block.from_stride = from.stride;
  block.from_distance = from.distance;
  block.to_stride = to.stride;
  block.to_distance = to.distance;
  for (int64_t i = 0; i < count; i += lanes_) {
    block.lines = std::min(lanes_, count - i);
    block.from = pairs(from.line(i).data);
    block.to = pairs(to.line(i).data);
    kernels::transform_lines(block);
  }
}

// With j = row * columns + column and k = row' + rows * column', the sum over j splits into
// transforms of the columns, multiplications by twiddle factors, and transforms of the rows.
template <class T>
void DiscreteFourier<T>::transform_split(ConstLines<T> from, Lines<T> to, double scale) const {
  const Split& split = *split_;
  const int64_t rows = split.rows, columns = split.columns;
  Scratch<std::complex<T>> between(static_cast<size_t>(n_));
  Scratch<std::complex<T>> shifts(static_cast<size_t>(rows));
  Scratch<T> work;
  kernels::FourierLines<T> block = split.by_column.kernel_lines(1, work);
  block.from_stride = columns * from.stride;
  block.from_distance = from.stride;
  block.to_stride = columns;
  block.to_distance = 1;
  block.shifts = pairs(shifts.data());
  block.turns = pairs(split.turns.data());
  for (int64_t column = 0; column < columns; column += lanes_) {
    for (int64_t row = 0; row < rows; ++row)
      shifts[static_cast<size_t>(row)] = std::complex<T>(split.root(row * column));
    block.lines = std::min(lanes_, columns - column);
    block.from = pairs(from.data + column * from.stride);
    block.to = pairs(between.data() + column);
    kernels::transform_lines(block);
  }
  block = split.by_row.kernel_lines(scale, work);
  block.from_stride = 1;
  block.from_distance = columns;
  block.to_stride = rows * to.stride;
  block.to_distance = to.stride;
  for (int64_t row = 0; row < rows; row += lanes_) {
    block.lines = std::min(lanes_, rows - row);
    block.from = pairs(between.data() + row * columns);
    block.to = pairs(to.data + row * to.stride);
    kernels::transform_lines(block);
  }
}

template <class T>
void DiscreteFourier<T>::convolve(ConstLines<T> from, Lines<T> to, double scale) const {
  const auto& [padded, there, back, chirp, kernel] = *convolution_;
  count_convolution(padded);
  Scratch<Complex> work(static_cast<size_t>(padded));
  for (size_t j = 0; j < chirp.size(); ++j)
    work[j] = product(Complex(from.data[static_cast<int64_t>(j) * from.stride]), chirp[j]);
  there.transform({work.data(), 1, padded}, 1, 1);
  for (size_t j = 0; j < work.size(); ++j) work[j] = product(work[j], kernel[j]);
  back.transform({work.data(), 1, padded}, 1, scale / static_cast<double>(padded));
  for (size_t j = 0; j < chirp.size(); ++j)
    to.data[static_cast<int64_t>(j) * to.stride] = std::complex<T>(product(work[j], chirp[j]));
}

template <class T>
RealFourier<T>::RealFourier(int64_t n, bool forward, int64_t count)
    : n_(n), inner_(n % 2 == 0 ? n / 2 : n, forward, count) {
  if (n % 2 == 0) roots_ = roots_of_unity<T>(n / 4 + 1, n);
}

// Requires an even n, and lines short enough for one kernel call to do the whole transform.
template <class T>
void RealFourier<T>::run_whole(kernels::RealLines real, const T* from, int64_t from_distance,
                               int64_t count, T* to, int64_t to_distance, int64_t length,
                               double scale) const {
  Scratch<T> work;
  kernels::FourierLines<T> block = inner_.kernel_lines(scale, work);
  block.real = real;
  block.real_roots = pairs(roots_.data());
  block.length = length;
  block.from_stride = block.to_stride = 1;
  block.from_distance = from_distance;
  block.to_distance = to_distance;
  const int64_t lanes = kernels::fourier_lanes<T>();
  for (int64_t i = 0; i < count; i += lanes) {
    block.lines = std::min(lanes, count - i);
    block.from = from + 2 * i * from_distance;
    block.to = to + 2 * i * to_distance;
    kernels::transform_lines(block);
  }
}

// For even n, numbers 2j and 2j + 1 form one complex number; Z is the transform of these. The sum
// and the difference of Z[k] and the conjugate of Z[n / 2 - k] give the transforms of the even and
// of the odd numbers.
template <class T>
void RealFourier<T>::to_spectra(const T* lines, int64_t count, std::complex<T>* spectra,
                                int64_t length, double scale) const {
  using Number = std::complex<T>;
  const int64_t half = n_ / 2;
  if (n_ % 2 != 0) {
    Scratch<Number> work(static_cast<size_t>(count * n_));
    std::copy_n(lines, count * n_, work.data());
    inner_.transform({work.data(), 1, n_}, count, scale);
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(work.data() + i * n_, length, spectra + i * length);
    return;
  }
  if (inner_.is_whole(count))
    return run_whole(kernels::RealLines::to_spectra, lines, half, count, pairs(spectra), length,
                     length, scale / 2);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < half; ++j)
      spectra[i * length + j] = {lines[i * n_ + 2 * j], lines[i * n_ + 2 * j + 1]};
  inner_.transform({spectra, 1, length}, count, scale / 2);
  for (Number* z = spectra; z < spectra + count * length; z += length) {
    const Number first = z[0];
    z[0] = 2 * (first.real() + first.imag());
    z[half] = 2 * (first.real() - first.imag());
    for (int64_t k = 1; 2 * k <= half; ++k) {
      const Number a = z[k];
      const Number b = std::conj(z[half - k]);
      const Number odd = product(a - b, roots_[static_cast<size_t>(k)]);
      const Number turned(odd.imag(), -odd.real());
      z[half - k] = std::conj(a + b - turned);
      z[k] = a + b + turned;
    }
    for (int64_t k = half + 1; k < length; ++k) z[k] = std::conj(z[n_ - k]);
  }
}

template <class T>
void RealFourier<T>::from_spectra(const std::complex<T>* spectra, int64_t count, int64_t length,
                                  T* lines, double scale) const {
  using Number = std::complex<T>;
  const int64_t half = n_ / 2;
  if (n_ % 2 == 0 && inner_.is_whole(count))
    return run_whole(kernels::RealLines::from_spectra, pairs(spectra), length, count, lines, half,
                     half, scale);
  const int64_t points = n_ % 2 == 0 ? half : n_;
  Scratch<Number> work(static_cast<size_t>(count * points));
  for (int64_t i = 0; i < count; ++i) {
    const Number* from = spectra + i * length;
    Number* z = work.data() + i * points;
    if (n_ % 2 != 0) {
      z[0] = from[0].real();
      for (int64_t k = 1; k <= half; ++k) {
        z[k] = from[k];
        z[n_ - k] = std::conj(from[k]);
      }
      continue;
    }
    z[0] = {from[0].real() + from[half].real(), from[0].real() - from[half].real()};
    for (int64_t k = 1; 2 * k <= half; ++k) {
      const Number a = from[k];
      const Number b = std::conj(from[half - k]);
      const Number odd = product(a - b, std::conj(roots_[static_cast<size_t>(k)]));
      const Number turned(-odd.imag(), odd.real());
      z[half - k] = std::conj(a + b - turned);
      z[k] = a + b + turned;
    }
  }
  inner_.transform({work.data(), 1, points}, count, scale);
  if (n_ % 2 == 0) {
    for (int64_t j = 0; j < count * half; ++j) {
      lines[2 * j] = work[static_cast<size_t>(j)].real();
      lines[2 * j + 1] = work[static_cast<size_t>(j)].imag();
    }
  } else {
    for (int64_t j = 0; j < count * n_; ++j) lines[j] = work[static_cast<size_t>(j)].real();
  }
}

template class DiscreteFourier<double>;
template class DiscreteFourier<float>;
template class RealFourier<double>;
template class RealFourier<float>;

}  // namespace pt2::ops
