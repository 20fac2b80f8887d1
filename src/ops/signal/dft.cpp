#include "ops/signal/dft.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace pt2::ops {
namespace {

Complex root_of_unity(int64_t k, int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

DiscreteFourier::DiscreteFourier(int64_t n, bool forward) : n_(n), forward_(forward), padded_(n) {
  const auto size = static_cast<uint64_t>(n);
  if (!std::has_single_bit(size)) padded_ = static_cast<int64_t>(std::bit_ceil(2 * size - 1));
  for (int64_t k = 0; k < padded_ / 2; ++k) roots_.push_back(root_of_unity(k, padded_));
  if (padded_ == n) return;
  kernel_.resize(static_cast<size_t>(padded_));
  for (int64_t j = 0; j < n; ++j) {
    // j^2 modulo 2n keeps the angle exact for long signals.
    const auto square =
        static_cast<int64_t>(static_cast<uint64_t>(j) * static_cast<uint64_t>(j) % (2 * size));
    const Complex factor = root_of_unity(square, 2 * n);
    chirp_.push_back(forward ? factor : std::conj(factor));
    const Complex inverse = std::conj(chirp_.back());
    kernel_[static_cast<size_t>(j)] = inverse;
    if (j > 0) kernel_[static_cast<size_t>(padded_ - j)] = inverse;
  }
  transform_halves(kernel_.data(), padded_, true);
}

void DiscreteFourier::transform(Complex* values) const {
  if (n_ <= 1) return;
  if (padded_ == n_) return transform_halves(values, n_, forward_);
  std::vector<Complex> work(static_cast<size_t>(padded_));
  for (size_t j = 0; j < chirp_.size(); ++j) work[j] = values[j] * chirp_[j];
  transform_halves(work.data(), padded_, true);
  for (size_t j = 0; j < work.size(); ++j) work[j] *= kernel_[j];
  transform_halves(work.data(), padded_, false);
  const double scale = 1 / static_cast<double>(padded_);
  for (size_t j = 0; j < chirp_.size(); ++j) values[j] = work[j] * chirp_[j] * scale;
}

void DiscreteFourier::transform_halves(Complex* values, int64_t n, bool forward) const {
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  for (int64_t length = 2; length <= n; length *= 2) {
    const int64_t step = n / length;
    for (int64_t begin = 0; begin < n; begin += length) {
      for (int64_t k = 0; k < length / 2; ++k) {
        const Complex root = roots_[static_cast<size_t>(k * step)];
        Complex& low = values[begin + k];
        Complex& high = values[begin + k + length / 2];
        const Complex odd = high * (forward ? root : std::conj(root));
        high = low - odd;
        low += odd;
      }
    }
  }
}

}  // namespace pt2::ops
