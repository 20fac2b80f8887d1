// Eigenvalues and eigenvectors of a Hermitian matrix. Reflections make it tridiagonal; rotations of
// neighbouring columns then make it diagonal, by QL or QR steps with implicit shifts (steqr). This
// file makes LAPACK's reflections (sytd2, hetd2) for small matrices, so that their eigenvectors
// have LAPACK's signs.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/dtypes/rotations.h"
#include "ops/linear/dense/dense.h"
#include "ops/linear/dense/rotation.h"

namespace pt2::ops {
namespace {

double conj_of(double x) { return x; }
Complex conj_of(const Complex& x) { return std::conj(x); }

// The reflection 1 - tau v v^H, applied to the rows from `first` on.
template <class T>
struct Reflection {
  int64_t first = 0;
  std::vector<T> v;
  T tau{};
};

// a = H a H^H, on the rows and columns of the reflection H.
template <class T>
void apply_on_both_sides(MatrixView<T> a, const Reflection<T>& h) {
  const auto count = static_cast<int64_t>(h.v.size());
  const T* v = h.v.data();
  std::vector<T> w(h.v.size());
  T product = 0;
  for (int64_t i = 0; i < count; ++i) {
    T sum = 0;
    for (int64_t j = 0; j < count; ++j) sum += a.at(h.first + i, h.first + j) * v[j];
    w[static_cast<size_t>(i)] = h.tau * sum;
    product += conj_of(h.tau * sum) * v[i];
  }
  for (int64_t i = 0; i < count; ++i) w[static_cast<size_t>(i)] -= h.tau * product / 2.0 * v[i];
  for (int64_t j = 0; j < count; ++j)
    for (int64_t i = 0; i < count; ++i)
      a.at(h.first + i, h.first + j) -=
          v[i] * conj_of(w[static_cast<size_t>(j)]) + w[static_cast<size_t>(i)] * conj_of(v[j]);
}

// Starts from the last column for the upper triangle, from the first column for the lower.
template <class T>
std::vector<Reflection<T>> make_tridiagonal(MatrixView<T> a, bool upper, TwoDiagonals& out) {
  const int64_t n = a.rows;
  std::vector<Reflection<T>> reflections;
  for (int64_t step = 0; step + 1 < n; ++step) {
    const int64_t column = upper ? n - 1 - step : step;
    const int64_t first = upper ? 0 : step + 1;
    const T* begin = &a.at(first, column);
    Reflection<T> h{first, std::vector<T>(begin, begin + n - 1 - step), T(0)};
    T& leading = upper ? h.v.back() : h.v.front();
    h.tau = reflect_to_first(leading, h.v.data() + (upper ? 0 : 1), std::ssize(h.v) - 1,
                             out.beside_of(column, upper ? column - 1 : column + 1));
    leading = 1;
    apply_on_both_sides(a, h);
    reflections.push_back(std::move(h));
  }
  for (int64_t i = 0; i < n; ++i) out.at(i) = std::real(a.at(i, i));
  return reflections;
}

// Diagonalizes [[a, b], [b, c]] (laev2): the eigenvalue of larger modulus, the other eigenvalue,
// and the eigenvector (c, s) of the former.
struct Pair {
  double first = 0;
  double second = 0;
  double c = 1;
  double s = 0;
};
Pair diagonalize_pair(double a, double b, double c) {
  const double sum = a + c, difference = a - c;
  const double root = std::hypot(difference, 2 * b);
  const double larger = std::abs(a) > std::abs(c) ? a : c;
  const double smaller = std::abs(a) > std::abs(c) ? c : a;
  Pair out;
  out.first = sum < 0 ? (sum - root) / 2 : sum > 0 ? (sum + root) / 2 : root / 2;
  out.second = sum == 0 ? -root / 2 : larger / out.first * smaller - b / out.first * b;
  const double along = difference >= 0 ? difference + root : difference - root;
  if (std::abs(along) > std::abs(2 * b)) {
    const double ratio = -2 * b / along;
    out.s = 1 / std::hypot(1.0, ratio);
    out.c = ratio * out.s;
  } else if (b != 0) {
    const double ratio = -along / (2 * b);
    out.c = 1 / std::hypot(1.0, ratio);
    out.s = ratio * out.c;
  }
  if ((sum < 0) == (difference < 0)) out = {out.first, out.second, -out.s, out.c};
  return out;
}

template <class T>
class Diagonalisation {
 public:
  Diagonalisation(TwoDiagonals& t, MatrixView<T> vectors, const Precision& precision)
      : t_(t), z_(vectors), precision_(precision), steps_left_(30 * z_.columns) {}

  // False if steps_left_ steps do not suffice.
  bool run() {
    const int64_t n = z_.columns;
    for (int64_t begin = 0; begin < n;) {
      int64_t end = begin;
      while (end + 1 < n && !separates(end)) ++end;
      if (end + 1 < n) t_.beside_of(end, end + 1) = 0;
      // Starts from the smaller end, so that small values are found before larger ones disturb
      // them.
      const bool backwards = std::abs(t_.at(end)) < std::abs(t_.at(begin));
      if (!diagonalize_block(backwards ? end : begin, backwards ? begin : end)) return false;
      begin = end + 1;
    }
    rotate();
    sort();
    return true;
  }

 private:
  // The number of rotations that are collected before vectors are rotated: rows then stay in the
  // first-level cache.
  static constexpr size_t kMostRotations = 8192;

  bool separates(int64_t i) {
    return std::abs(t_.beside_of(i, i + 1)) <=
           std::sqrt(std::abs(t_.at(i))) * std::sqrt(std::abs(t_.at(i + 1))) * precision_.epsilon;
  }

  // QL steps from the block's first row down if that row is `from`, else QR steps from its last row
  // up.
  bool diagonalize_block(int64_t from, int64_t last) {
    const int64_t way = last > from ? 1 : -1;
    for (int64_t left = std::abs(last - from) + 1; left > 0;) {
      int64_t m = from;
      while (m != last && !is_negligible(m, m + way)) m += way;
      if (m != last) t_.beside_of(m, m + way) = 0;
      const int64_t size = std::abs(m - from) + 1;
      if (size > 2) {
        if (steps_left_-- == 0) return false;
        step(from, m, way);
        continue;
      }
      if (size == 2) solve_pair(std::min(from, m));
      from += way * size;
      left -= size;
    }
    return true;
  }
  bool is_negligible(int64_t i, int64_t j) {
    const double square = t_.beside_of(i, j) * t_.beside_of(i, j);
    return square <=
           precision_.epsilon * precision_.epsilon * std::abs(t_.at(i)) * std::abs(t_.at(j)) +
               precision_.least;
  }

  void solve_pair(int64_t i) {
    const Pair pair = diagonalize_pair(t_.at(i), t_.beside_of(i, i + 1), t_.at(i + 1));
    sequences_.push_back({.column = i, .count = 1});
    rotations_.push_back({pair.c, pair.s});
    t_.at(i) = pair.first;
    t_.at(i + 1) = pair.second;
    t_.beside_of(i, i + 1) = 0;
  }

  // One step with the shift from the 2 x 2 block at `from`. Its rotations run from m to `from`.
  void step(int64_t from, int64_t m, int64_t way) {
    const double beside = t_.beside_of(from, from + way);
    const double half = (t_.at(from + way) - t_.at(from)) / (2 * beside);
    const double shift = beside / (half + std::copysign(std::hypot(half, 1.0), half));
    double g = t_.at(m) - t_.at(from) + shift;
    double p = 0;
    Rotation last{1, 1, 0};
    sequences_.push_back(
        {.column = std::min(m, m - way), .count = std::abs(m - from), .ascending = way < 0});
    for (int64_t i = m; i != from; i -= way) {
      const int64_t next = i - way;
      const double f = last.s * t_.beside_of(i, next), b = last.c * t_.beside_of(i, next);
      last = rotation_of(g, f);
      if (i != m) t_.beside_of(i + way, i) = last.length;
      g = t_.at(i) - p;
      const double r = (t_.at(next) - g) * last.s + 2 * last.c * b;
      p = last.s * r;
      t_.at(i) = g + p;
      g = last.c * r - b;
      rotations_.push_back({last.c, way > 0 ? -last.s : last.s});
    }
    t_.at(from) -= p;
    t_.beside_of(from, from + way) = g;
    if (rotations_.size() > kMostRotations) rotate();
  }

  // Rotates the vectors. A complex number counts as two real numbers, one below the other.
  void rotate() {
    constexpr int64_t kParts = sizeof(T) / sizeof(double);
    kernels::rotate_columns(reinterpret_cast<double*>(z_.data), kParts * z_.rows, sequences_,
                            rotations_);
    sequences_.clear();
    rotations_.clear();
  }

  // Sorts in ascending order by exchanges, so that eigenvectors of equal values keep LAPACK's
  // order.
  void sort() {
    for (int64_t i = 0; i + 1 < z_.columns; ++i) {
      int64_t least = i;
      for (int64_t j = i + 1; j < z_.columns; ++j)
        if (t_.at(j) < t_.at(least)) least = j;
      if (least == i) continue;
      std::swap(t_.at(i), t_.at(least));
      std::swap_ranges(&z_.at(0, i), &z_.at(0, i) + z_.rows, &z_.at(0, least));
    }
  }

  TwoDiagonals& t_;
  MatrixView<T> z_;
  Precision precision_;
  int64_t steps_left_;
  // Rotations of the vectors that are not applied yet.
  std::vector<kernels::RotationSequence> sequences_;
  std::vector<kernels::PlaneRotation> rotations_;
};

}  // namespace

template <class T>
bool diagonalize_tridiagonal(TwoDiagonals& t, MatrixView<T> vectors, const Precision& precision) {
  return Diagonalisation<T>(t, vectors, precision).run();
}

template bool diagonalize_tridiagonal(TwoDiagonals&, MatrixView<double>, const Precision&);
template bool diagonalize_tridiagonal(TwoDiagonals&, MatrixView<Complex>, const Precision&);

template <class T>
bool factor_small_hermitian(MatrixView<T> a, double* values, bool upper,
                            const Precision& precision) {
  const int64_t n = a.rows;
  for (int64_t j = 0; j < n; ++j) {
    a.at(j, j) = std::real(a.at(j, j));
    for (int64_t i = j + 1; i < n; ++i) {
      T& below = a.at(i, j);
      T& above = a.at(j, i);
      (upper ? below : above) = conj_of(upper ? above : below);
    }
  }
  TwoDiagonals t{std::vector<double>(static_cast<size_t>(n)),
                 std::vector<double>(static_cast<size_t>(n))};
  const auto reflections = make_tridiagonal(a, upper, t);
  std::fill(a.data, a.data + n * n, T(0));
  for (int64_t i = 0; i < n; ++i) a.at(i, i) = 1;
  const bool solved = diagonalize_tridiagonal(t, a, precision);
  for (size_t k = reflections.size(); k-- > 0;) {
    const Reflection<T>& h = reflections[k];
    const auto count = static_cast<int64_t>(h.v.size());
    for (int64_t j = 0; j < n; ++j) {
      T* column = &a.at(h.first, j);
      T sum = 0;
      for (int64_t i = 0; i < count; ++i) sum += conj_of(h.v[static_cast<size_t>(i)]) * column[i];
      for (int64_t i = 0; i < count; ++i) column[i] -= h.tau * sum * h.v[static_cast<size_t>(i)];
    }
  }
  std::ranges::copy(t.diagonal, values);
  return solved;
}

template bool factor_small_hermitian(MatrixView<double>, double*, bool, const Precision&);
template bool factor_small_hermitian(MatrixView<Complex>, double*, bool, const Precision&);

}  // namespace pt2::ops
