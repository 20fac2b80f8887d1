#include "ops/signal/dft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace pt2::ops {
namespace {

// Numbers transformed side by side: one per line, so that the loops over them vectorise.
constexpr int64_t kLanes = 8;
// A prime factor above this makes Bluestein's convolution cheaper.
constexpr int64_t kLargestFactor = 31;
// Single lines from this length on are transformed as a matrix, whose columns fill the lanes.
constexpr int64_t kShortestSplit = 64;
// Lines up to this length stay in the cache during all passes.
constexpr int64_t kLongestWhole = 4096;

Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// exp(-2 pi i k / n) for 0 <= k < n. sin and cos get angles of at most an eighth of a turn, where
// rounding matters least.
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
std::vector<Complex> roots_of_unity(int64_t count, int64_t n) {
  std::vector<Complex> out(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; ++k) out[static_cast<size_t>(k)] = root_of_unity(k, n);
  return out;
}

// The radices of the passes; empty when a prime factor is too large.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> out;
  for (; n % 4 == 0; n /= 4) out.push_back(4);
  for (int64_t factor = 2; factor <= kLargestFactor; ++factor)
    for (; n % factor == 0; n /= factor) out.push_back(factor);
  return n == 1 ? out : std::vector<int64_t>();
}

// kLanes complex numbers.
struct Lane {
  double re[kLanes];
  double im[kLanes];
};

// y[k * y_stride] = the sum over j of x[j] w[j] times root j k of order `radix`. Radix 0 stands for
// any odd radix.
template <int64_t Radix>
void butterfly(const Lane* const* x, const Complex* w, const Complex* roots, int64_t radix, Lane* y,
               int64_t y_stride);

template <>
void butterfly<2>(const Lane* const* x, const Complex* w, const Complex*, int64_t, Lane* y,
                  int64_t y_stride) {
  Lane& y0 = y[0];
  Lane& y1 = y[y_stride];
  const double c = w[1].real();
  const double s = w[1].imag();
  for (int64_t l = 0; l < kLanes; ++l) {
    const double re = x[1]->re[l] * c - x[1]->im[l] * s;
    const double im = x[1]->re[l] * s + x[1]->im[l] * c;
    y0.re[l] = x[0]->re[l] + re;
    y0.im[l] = x[0]->im[l] + im;
    y1.re[l] = x[0]->re[l] - re;
    y1.im[l] = x[0]->im[l] - im;
  }
}

template <>
void butterfly<4>(const Lane* const* x, const Complex* w, const Complex*, int64_t, Lane* y,
                  int64_t y_stride) {
  const Lane& x0 = *x[0];
  const Lane& x1 = *x[1];
  const Lane& x2 = *x[2];
  const Lane& x3 = *x[3];
  Lane& y0 = y[0];
  Lane& y1 = y[y_stride];
  Lane& y2 = y[2 * y_stride];
  Lane& y3 = y[3 * y_stride];
  const double c1 = w[1].real(), s1 = w[1].imag();
  const double c2 = w[2].real(), s2 = w[2].imag();
  const double c3 = w[3].real(), s3 = w[3].imag();
#pragma GCC ivdep
  for (int64_t l = 0; l < kLanes; ++l) {
    const double re1 = x1.re[l] * c1 - x1.im[l] * s1, im1 = x1.re[l] * s1 + x1.im[l] * c1;
    const double re2 = x2.re[l] * c2 - x2.im[l] * s2, im2 = x2.re[l] * s2 + x2.im[l] * c2;
    const double re3 = x3.re[l] * c3 - x3.im[l] * s3, im3 = x3.re[l] * s3 + x3.im[l] * c3;
    const double even_re = x0.re[l] + re2, even_im = x0.im[l] + im2;
    const double odd_re = x0.re[l] - re2, odd_im = x0.im[l] - im2;
    const double sum_re = re1 + re3, sum_im = im1 + im3;
    const double gap_re = re1 - re3, gap_im = im1 - im3;
    y0.re[l] = even_re + sum_re;
    y0.im[l] = even_im + sum_im;
    y1.re[l] = odd_re + gap_im;
    y1.im[l] = odd_im - gap_re;
    y2.re[l] = even_re - sum_re;
    y2.im[l] = even_im - sum_im;
    y3.re[l] = odd_re - gap_im;
    y3.im[l] = odd_im + gap_re;
  }
}

// Odd radices: numbers j and radix - j have conjugate roots, so their sum and difference suffice.
template <>
void butterfly<0>(const Lane* const* x, const Complex* w, const Complex* roots, int64_t radix,
                  Lane* y, int64_t y_stride) {
  Lane sums[kLargestFactor / 2 + 1];
  Lane gaps[kLargestFactor / 2 + 1];
  const int64_t half = radix / 2;
  Lane total = *x[0];
  for (int64_t j = 1; j <= half; ++j) {
    const Lane& a = *x[j];
    const Lane& b = *x[radix - j];
    const Complex p = w[j];
    const Complex q = w[radix - j];
    Lane& sum = sums[j];
    Lane& gap = gaps[j];
    for (int64_t l = 0; l < kLanes; ++l) {
      const double a_re = a.re[l] * p.real() - a.im[l] * p.imag();
      const double a_im = a.re[l] * p.imag() + a.im[l] * p.real();
      const double b_re = b.re[l] * q.real() - b.im[l] * q.imag();
      const double b_im = b.re[l] * q.imag() + b.im[l] * q.real();
      sum.re[l] = a_re + b_re;
      sum.im[l] = a_im + b_im;
      gap.re[l] = a_re - b_re;
      gap.im[l] = a_im - b_im;
      total.re[l] += sum.re[l];
      total.im[l] += sum.im[l];
    }
  }
  for (int64_t k = 1; k <= half; ++k) {
    Lane even = *x[0];
    Lane odd{};
    for (int64_t j = 1; j <= half; ++j) {
      const Complex root = roots[j * k % radix];
      for (int64_t l = 0; l < kLanes; ++l) {
        even.re[l] += sums[j].re[l] * root.real();
        even.im[l] += sums[j].im[l] * root.real();
        odd.re[l] -= gaps[j].im[l] * root.imag();
        odd.im[l] += gaps[j].re[l] * root.imag();
      }
    }
    Lane& low = y[k * y_stride];
    Lane& high = y[(radix - k) * y_stride];
    for (int64_t l = 0; l < kLanes; ++l) {
      low.re[l] = even.re[l] + odd.re[l];
      low.im[l] = even.im[l] + odd.im[l];
      high.re[l] = even.re[l] - odd.re[l];
      high.im[l] = even.im[l] - odd.im[l];
    }
  }
  y[0] = total;
}

// One Stockham pass: n / done transforms of length `done` become n / (done * radix) of length done
// * radix. Number k of transform b is at k * (number of transforms) + b, before and after.
template <int64_t Radix>
void run_pass(const Lane* in, Lane* out, int64_t n, int64_t done, int64_t radix,
              const std::vector<Complex>& roots) {
  const int64_t blocks = n / (done * radix);
  Complex powers[kLargestFactor + 1];
  Complex own_roots[kLargestFactor + 1];
  for (int64_t r = 0; r < radix; ++r) own_roots[r] = roots[static_cast<size_t>(r * (n / radix))];
  for (int64_t k = 0; k < done; ++k) {
    // exp(-2 pi i k r / (done * radix)).
    for (int64_t r = 0; r < radix; ++r) powers[r] = roots[static_cast<size_t>(k * r * blocks)];
    for (int64_t b = 0; b < blocks; ++b) {
      const Lane* x[kLargestFactor + 1];
      for (int64_t r = 0; r < radix; ++r) x[r] = in + (k * radix + r) * blocks + b;
      butterfly<Radix>(x, powers, own_roots, radix, out + k * blocks + b, done * blocks);
    }
  }
}

}  // namespace

// A line as rows of `columns` numbers.
struct DiscreteFourier::Split {
  Split(int64_t row_count, int64_t column_count, bool forward)
      : rows(row_count),
        columns(column_count),
        by_column(row_count, forward),
        by_row(column_count, forward),
        coarse(roots_of_unity(row_count, row_count)),
        fine() {
    const int64_t n = rows * columns;
    fine.resize(static_cast<size_t>(columns));
    for (int64_t k = 0; k < columns; ++k) fine[static_cast<size_t>(k)] = root_of_unity(k, n);
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
  std::vector<Complex> coarse;  // exp(-2 pi i k / rows)
  std::vector<Complex> fine;    // exp(-2 pi i k / n)
};

struct DiscreteFourier::Convolution {
  int64_t padded;
  DiscreteFourier there;
  DiscreteFourier back;
  std::vector<Complex> chirp;   // exp(-+ pi i j^2 / n)
  std::vector<Complex> kernel;  // the transform of the conjugate chirp
};

DiscreteFourier::DiscreteFourier(int64_t n, bool forward)
    : n_(n), forward_(forward), factors_(factors_of(n)) {
  if (n > 1 && factors_.empty()) {
    const auto size = static_cast<uint64_t>(n);
    const auto padded = static_cast<int64_t>(std::bit_ceil(2 * size - 1));
    convolution_.reset(new Convolution{
        padded, DiscreteFourier(padded, true), DiscreteFourier(padded, false), {}, {}});
    auto& [length, there, back, chirp, kernel] = *convolution_;
    kernel.resize(static_cast<size_t>(padded));
    for (int64_t j = 0; j < n; ++j) {
      // j^2 modulo 2n keeps the angle exact for long signals.
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
  if (n >= kShortestSplit) {
    // As square as the factors allow.
    int64_t rows = 1;
    for (int64_t divisor = 1; divisor * divisor <= n; ++divisor)
      if (n % divisor == 0) rows = divisor;
    if (rows >= kLanes && n / rows < n) {
      split_ = std::make_unique<Split>(rows, n / rows, forward);
      if (n > kLongestWhole) return;
    }
  }
  roots_ = roots_of_unity(n, n);
}
DiscreteFourier::~DiscreteFourier() = default;

void DiscreteFourier::transform(Lines lines, int64_t count, double scale) const {
  const bool by_line = convolution_ || (split_ && (n_ > kLongestWhole || count < kLanes));
  for (int64_t i = 0; i < count; i += by_line ? 1 : kLanes) {
    const Lines rest{lines.data + i * lines.distance, lines.stride, lines.distance};
    if (convolution_)
      convolve(rest, scale);
    else if (by_line)
      transform_split(rest, scale);
    else
      transform_block(rest, rest, std::min(kLanes, count - i), scale);
  }
}

void DiscreteFourier::transform_block(Lines from, Lines to, int64_t lanes, double scale) const {
  const auto work = std::make_unique_for_overwrite<Lane[]>(static_cast<size_t>(2 * n_));
  Lane* in = work.get();
  Lane* out = in + n_;
  // Swapping real and imaginary parts before and after turns the transform into its inverse.
  for (int64_t j = 0; j < n_; ++j)
    for (int64_t l = 0; l < lanes; ++l) {
      const Complex x = from.data[j * from.stride + l * from.distance];
      in[j].re[l] = forward_ ? x.real() : x.imag();
      in[j].im[l] = forward_ ? x.imag() : x.real();
    }
  int64_t done = 1;
  for (int64_t radix : factors_) {
    if (radix == 4)
      run_pass<4>(in, out, n_, done, radix, roots_);
    else if (radix == 2)
      run_pass<2>(in, out, n_, done, radix, roots_);
    else
      run_pass<0>(in, out, n_, done, radix, roots_);
    std::swap(in, out);
    done *= radix;
  }
  for (int64_t j = 0; j < n_; ++j)
    for (int64_t l = 0; l < lanes; ++l) {
      const double re = in[j].re[l] * scale;
      const double im = in[j].im[l] * scale;
      to.data[j * to.stride + l * to.distance] = forward_ ? Complex(re, im) : Complex(im, re);
    }
}

// With j = row * columns + column and k = row' + rows * column', the sum over j splits: transforms
// of the columns, a twiddle factor, transforms of the rows.
void DiscreteFourier::transform_split(Lines line, double scale) const {
  const auto& [rows, columns, by_column, by_row, coarse, fine] = *split_;
  std::vector<Complex> work(static_cast<size_t>(n_));
  for (int64_t column = 0; column < columns; column += kLanes) {
    const int64_t lanes = std::min(kLanes, columns - column);
    by_column.transform_block(
        {line.data + column * line.stride, columns * line.stride, line.stride},
        {work.data() + column, columns, 1}, lanes, 1);
    for (int64_t row = 1; row < rows; ++row)
      for (int64_t l = 0; l < lanes; ++l) {
        const Complex root = split_->root(row * (column + l));
        Complex& x = work[static_cast<size_t>(row * columns + column + l)];
        x = product(x, forward_ ? root : std::conj(root));
      }
  }
  for (int64_t row = 0; row < rows; row += kLanes)
    by_row.transform_block({work.data() + row * columns, 1, columns},
                           {line.data + row * line.stride, rows * line.stride, line.stride},
                           std::min(kLanes, rows - row), scale);
}

void DiscreteFourier::convolve(Lines line, double scale) const {
  const auto& [padded, there, back, chirp, kernel] = *convolution_;
  std::vector<Complex> work(static_cast<size_t>(padded));
  for (size_t j = 0; j < chirp.size(); ++j)
    work[j] = product(line.data[static_cast<int64_t>(j) * line.stride], chirp[j]);
  there.transform({work.data(), 1, padded}, 1, 1);
  for (size_t j = 0; j < work.size(); ++j) work[j] = product(work[j], kernel[j]);
  back.transform({work.data(), 1, padded}, 1, scale / static_cast<double>(padded));
  for (size_t j = 0; j < chirp.size(); ++j)
    line.data[static_cast<int64_t>(j) * line.stride] = product(work[j], chirp[j]);
}

RealFourier::RealFourier(int64_t n, bool forward) : n_(n), inner_(n % 2 == 0 ? n / 2 : n, forward) {
  if (n % 2 == 0) roots_ = roots_of_unity(n / 4 + 1, n);
}

// Even n: numbers 2j and 2j + 1 form one complex number. From the transform Z of these, the sum and
// the difference of Z[k] and the conjugate of Z[n / 2 - k] give the transforms of the even and of
// the odd numbers.
void RealFourier::to_spectra(const double* lines, int64_t count, Complex* spectra, int64_t length,
                             double scale) const {
  if (n_ % 2 != 0) {
    std::vector<Complex> work(static_cast<size_t>(count * n_));
    std::copy_n(lines, count * n_, work.data());
    inner_.transform({work.data(), 1, n_}, count, scale);
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(work.data() + i * n_, length, spectra + i * length);
    return;
  }
  const int64_t half = n_ / 2;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < half; ++j)
      spectra[i * length + j] = {lines[i * n_ + 2 * j], lines[i * n_ + 2 * j + 1]};
  inner_.transform({spectra, 1, length}, count, scale / 2);
  for (Complex* z = spectra; z < spectra + count * length; z += length) {
    const Complex first = z[0];
    z[0] = 2 * (first.real() + first.imag());
    z[half] = 2 * (first.real() - first.imag());
    for (int64_t k = 1; 2 * k <= half; ++k) {
      const Complex a = z[k];
      const Complex b = std::conj(z[half - k]);
      const Complex odd = product(a - b, roots_[static_cast<size_t>(k)]);
      const Complex turned(odd.imag(), -odd.real());
      z[half - k] = std::conj(a + b - turned);
      z[k] = a + b + turned;
    }
    for (int64_t k = half + 1; k < length; ++k) z[k] = std::conj(z[n_ - k]);
  }
}

void RealFourier::from_spectra(const Complex* spectra, int64_t count, double* lines,
                               double scale) const {
  const int64_t half = n_ / 2;
  const int64_t length = n_ % 2 == 0 ? half : n_;
  std::vector<Complex> work(static_cast<size_t>(count * length));
  for (int64_t i = 0; i < count; ++i) {
    const Complex* from = spectra + i * (half + 1);
    Complex* z = work.data() + i * length;
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
      const Complex a = from[k];
      const Complex b = std::conj(from[half - k]);
      const Complex odd = product(a - b, std::conj(roots_[static_cast<size_t>(k)]));
      const Complex turned(-odd.imag(), odd.real());
      z[half - k] = std::conj(a + b - turned);
      z[k] = a + b + turned;
    }
  }
  inner_.transform({work.data(), 1, length}, count, scale);
  if (n_ % 2 == 0) {
    for (int64_t j = 0; j < count * half; ++j) {
      lines[2 * j] = work[static_cast<size_t>(j)].real();
      lines[2 * j + 1] = work[static_cast<size_t>(j)].imag();
    }
  } else {
    for (int64_t j = 0; j < count * n_; ++j) lines[j] = work[static_cast<size_t>(j)].real();
  }
}

}  // namespace pt2::ops
