// The Schur form of a real matrix by double-shift QR steps in real arithmetic (LAPACK's lahqr and
// lanv2). This file makes LAPACK's steps in LAPACK's order, so that eigenvalues have its order,
// too.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/linear/dense/dense.h"
#include "ops/linear/dense/rotation.h"

namespace pt2::ops {
namespace {

// matrix (1 - tau v v^T), for the columns from `first` on.
void reflect_columns(MatrixView<double> matrix, int64_t first, const std::vector<double>& v,
                     double tau, std::vector<double>& work) {
  std::ranges::fill(work, 0);
  for (int64_t j = first; j < matrix.columns; ++j) {
    const double factor = tau * v[static_cast<size_t>(j)];
    const double* column = &matrix.at(0, j);
    for (int64_t i = 0; i < matrix.rows; ++i) work[static_cast<size_t>(i)] += factor * column[i];
  }
  for (int64_t j = first; j < matrix.columns; ++j) {
    const double factor = v[static_cast<size_t>(j)];
    double* column = &matrix.at(0, j);
    for (int64_t i = 0; i < matrix.rows; ++i) column[i] -= factor * work[static_cast<size_t>(i)];
  }
}

// a = Q H Q^T, H with zeros below the first subdiagonal (gehd2); z, if any, becomes Q.
void make_hessenberg(MatrixView<double> a, MatrixView<double> z) {
  const int64_t n = a.rows;
  std::vector<double> v(static_cast<size_t>(n)), work(static_cast<size_t>(n));
  for (int64_t k = 0; k + 2 < n; ++k) {
    const int64_t first = k + 1;
    double* lower = &a.at(0, k);
    const double tau =
        reflect_to_first(lower[first], lower + first + 1, n - first - 1, lower[first]);
    v[static_cast<size_t>(first)] = 1;
    std::copy(lower + first + 1, lower + n, v.begin() + first + 1);
    std::fill(lower + first + 1, lower + n, 0);
    if (tau == 0) continue;
    for (int64_t j = first; j < n; ++j) {
      double* column = &a.at(0, j);
      double sum = 0;
      for (int64_t i = first; i < n; ++i) sum += v[static_cast<size_t>(i)] * column[i];
      sum *= tau;
      for (int64_t i = first; i < n; ++i) column[i] -= sum * v[static_cast<size_t>(i)];
    }
    reflect_columns(a, first, v, tau, work);
    if (z.data != nullptr) reflect_columns(z, first, v, tau, work);
  }
}

// The rotation after which [[a, b], [c, d]] is triangular, or has equal diagonal elements and bc <
// 0 (lanv2). The elements become those of the rotated block.
Rotation standardize(double& a, double& b, double& c, double& d, double unit) {
  if (c == 0) return {};
  if (b == 0) {
    std::swap(a, d);
    b = -c;
    c = 0;
    return {0, 1, 0};
  }
  if (a == d && std::signbit(b) != std::signbit(c)) return {};
  const double difference = a - d, p = difference / 2;
  const double larger = std::max(std::abs(b), std::abs(c));
  const double smaller =
      std::min(std::abs(b), std::abs(c)) * std::copysign(1.0, b) * std::copysign(1.0, c);
  const double scale = std::max(std::abs(p), larger);
  double z = p / scale * p + larger / scale * smaller;
  if (z >= 4 * unit) {  // two different real eigenvalues
    z = p + std::copysign(std::sqrt(scale) * std::sqrt(z), p);
    a = d + z;
    d -= larger / z * smaller;
    const double length = std::hypot(c, z);
    const Rotation out{z / length, c / length, 0};
    b -= c;
    c = 0;
    return out;
  }
  const double sigma = b + c, length = std::hypot(sigma, difference);
  Rotation out;
  out.c = std::sqrt((1 + std::abs(sigma) / length) / 2);
  out.s = -(p / (length * out.c)) * std::copysign(1.0, sigma);
  const double aa = a * out.c + b * out.s, bb = b * out.c - a * out.s;
  const double cc = c * out.c + d * out.s, dd = d * out.c - c * out.s;
  a = aa * out.c + cc * out.s;
  b = bb * out.c + dd * out.s;
  c = cc * out.c - aa * out.s;
  d = dd * out.c - bb * out.s;
  a = d = (a + d) / 2;
  if (c == 0) return out;
  if (b == 0) {
    b = -c;
    c = 0;
    return {-out.s, out.c, 0};
  }
  if (std::signbit(b) != std::signbit(c)) return out;
  const double root_b = std::sqrt(std::abs(b)), root_c = std::sqrt(std::abs(c));
  const double gap = std::copysign(root_b * root_c, c);
  const double factor = 1 / std::sqrt(std::abs(b + c));
  a += gap;
  d -= gap;
  b -= c;
  c = 0;
  const double c1 = root_b * factor, s1 = root_c * factor;
  return {out.c * c1 - out.s * s1, out.c * s1 + out.s * c1, 0};
}

class SchurIteration {
 public:
  SchurIteration(MatrixView<double> h, MatrixView<double> z, const Precision& precision)
      : h_(h),
        z_(z),
        unit_(2 * precision.epsilon),
        least_(precision.least * (static_cast<double>(h.rows) / unit_)) {}

  // False if the steps do not suffice.
  bool run() {
    const int64_t most_steps = 30 * std::max<int64_t>(10, h_.rows);
    int64_t steps = 0, steps_of_block = 0;
    for (int64_t last = h_.rows - 1; last >= 0;) {
      const int64_t first = block_start(last);
      if (first > 0) h_.at(first, first - 1) = 0;
      if (first + 1 < last) {
        if (++steps > most_steps) return false;
        step(first, last, shifts_of(first, last, ++steps_of_block));
        continue;
      }
      if (first < last) rotate_pair(first);
      last = first - 1;
      steps_of_block = 0;
    }
    return true;
  }

 private:
  struct Shifts {
    double real[2];
    double imaginary[2];
  };

  // The first row of the block that ends at row `last` and that no small element splits.
  int64_t block_start(int64_t last) const {
    for (int64_t k = last; k > 0; --k) {
      const double below = std::abs(h_.at(k, k - 1));
      if (below <= least_) return k;
      double size = std::abs(h_.at(k - 1, k - 1)) + std::abs(h_.at(k, k));
      if (size == 0) {
        if (k > 1) size += std::abs(h_.at(k - 1, k - 2));
        if (k + 1 < h_.rows) size += std::abs(h_.at(k + 1, k));
      }
      if (below > unit_ * size) continue;
      const double above = std::abs(h_.at(k - 1, k)), own = std::abs(h_.at(k, k));
      const double gap = std::abs(h_.at(k - 1, k - 1) - h_.at(k, k));
      const double ab = std::max(below, above), ba = std::min(below, above);
      const double aa = std::max(own, gap), bb = std::min(own, gap);
      if (ba * (ab / (aa + ab)) <= std::max(least_, unit_ * (bb * (aa / (aa + ab))))) return k;
    }
    return 0;
  }

  // The eigenvalues of the last 2 x 2 block; every tenth step has exceptional shifts.
  Shifts shifts_of(int64_t first, int64_t last, int64_t steps) const {
    double a = h_.at(last - 1, last - 1), b = h_.at(last - 1, last);
    double c = h_.at(last, last - 1), d = h_.at(last, last);
    if (steps % 10 == 0) {
      // From the elements below the diagonal at either end of the block, in turn.
      const bool at_end = steps % 20 == 0;
      const int64_t corner = at_end ? last : first, row = at_end ? last - 1 : first + 1;
      c = std::abs(h_.at(row, row - 1)) + std::abs(h_.at(row + 1, row));
      a = d = 0.75 * c + h_.at(corner, corner);
      b = -0.4375 * c;
    }
    const double scale = std::abs(a) + std::abs(b) + std::abs(c) + std::abs(d);
    if (scale == 0) return {};
    a /= scale;
    b /= scale;
    c /= scale;
    d /= scale;
    const double middle = (a + d) / 2;
    const double determinant = (a - middle) * (d - middle) - b * c;
    const double root = std::sqrt(std::abs(determinant));
    if (determinant >= 0) return {{middle * scale, middle * scale}, {root * scale, -root * scale}};
    const double one = middle + root, two = middle - root;
    const double nearer = (std::abs(one - d) <= std::abs(two - d) ? one : two) * scale;
    return {{nearer, nearer}, {0, 0}};
  }

  // Sets v to the first column of (H - shift) (H - other shift), from row m on.
  void start_bulge(int64_t m, const Shifts& shifts, double* v) const {
    const double own = h_.at(m, m), next = h_.at(m + 1, m + 1);
    const auto& [real, imaginary] = shifts;
    double scale = std::abs(own - real[1]) + std::abs(imaginary[1]) + std::abs(h_.at(m + 1, m));
    const double below = h_.at(m + 1, m) / scale;
    v[0] = below * h_.at(m, m + 1) + (own - real[0]) * ((own - real[1]) / scale) -
           imaginary[0] * (imaginary[1] / scale);
    v[1] = below * (own + next - real[0] - real[1]);
    v[2] = below * h_.at(m + 2, m + 1);
    scale = std::abs(v[0]) + std::abs(v[1]) + std::abs(v[2]);
    for (int i = 0; i < 3; ++i) v[i] /= scale;
  }

  // One double-shift step on rows `first` to `last`, at least three.
  void step(int64_t first, int64_t last, const Shifts& shifts) {
    double v[3];
    int64_t m = last - 2;
    for (;; --m) {
      start_bulge(m, shifts, v);
      if (m == first) break;
      const double size =
          std::abs(h_.at(m - 1, m - 1)) + std::abs(h_.at(m, m)) + std::abs(h_.at(m + 1, m + 1));
      if (std::abs(h_.at(m, m - 1)) * (std::abs(v[1]) + std::abs(v[2])) <=
          unit_ * std::abs(v[0]) * size)
        break;
    }
    for (int64_t k = m; k < last; ++k) {
      const int64_t count = std::min<int64_t>(3, last - k + 1);
      if (k > m) std::copy_n(&h_.at(k, k - 1), count, v);
      if (count < 3) v[2] = 0;
      const double tau = reflect_to_first(v[0], v + 1, count - 1, v[0]);
      if (k > m) {
        h_.at(k, k - 1) = v[0];
        std::fill_n(&h_.at(k + 1, k - 1), count - 1, 0);
      } else if (m > first) {
        // Not merely negated: the rounded reflection may be the identity.
        h_.at(k, k - 1) *= 1 - tau;
      }
      if (count == 3)
        reflect<3>(k, std::min(k + 3, last), first, last, tau, v);
      else
        reflect<2>(k, last, first, last, tau, v);
    }
  }

  // Applies a reflection from both sides. Outside the block only if the vectors are computed: for
  // eigenvalues alone, other blocks do not matter.
  template <int kCount>
  void reflect(int64_t k, int64_t lowest, int64_t first, int64_t last, double tau,
               const double* v) {
    const int64_t end = z_.data != nullptr ? h_.columns : last + 1;
    for (int64_t j = k; j < end; ++j) {
      double* line = &h_.at(k, j);
      double sum = line[0] + v[1] * line[1];
      if constexpr (kCount == 3) sum += v[2] * line[2];
      sum *= tau;
      line[0] -= sum;
      line[1] -= sum * v[1];
      if constexpr (kCount == 3) line[2] -= sum * v[2];
    }
    const auto from_right = [&](MatrixView<double> matrix, int64_t begin, int64_t stop) {
      double* columns = &matrix.at(0, k);
      const int64_t n = matrix.rows;
      double* one = columns;
      double* two = columns + n;
      double* three = columns + (kCount == 3 ? 2 * n : n);
      for (int64_t i = begin; i < stop; ++i) {
        double sum = one[i] + v[1] * two[i];
        if constexpr (kCount == 3) sum += v[2] * three[i];
        sum *= tau;
        one[i] -= sum;
        two[i] -= sum * v[1];
        if constexpr (kCount == 3) three[i] -= sum * v[2];
      }
    };
    from_right(h_, z_.data != nullptr ? 0 : first, lowest + 1);
    if (z_.data != nullptr) from_right(z_, 0, z_.rows);
  }

  // Standardizes the block of rows i and i + 1.
  void rotate_pair(int64_t i) {
    const Rotation r =
        standardize(h_.at(i, i), h_.at(i, i + 1), h_.at(i + 1, i), h_.at(i + 1, i + 1), unit_);
    if (z_.data == nullptr) return;
    const auto rotate = [&r](double& x, double& y) {
      const double old = x;
      x = r.c * x + r.s * y;
      y = r.c * y - r.s * old;
    };
    for (int64_t j = i + 2; j < h_.columns; ++j) rotate(h_.at(i, j), h_.at(i + 1, j));
    for (int64_t row = 0; row < i; ++row) rotate(h_.at(row, i), h_.at(row, i + 1));
    for (int64_t row = 0; row < z_.rows; ++row) rotate(z_.at(row, i), z_.at(row, i + 1));
  }

  MatrixView<double> h_;
  MatrixView<double> z_;
  // Relative and absolute size of what counts as zero.
  double unit_;
  double least_;
};

}  // namespace

bool factor_real_schur(MatrixView<double> a, MatrixView<double> z, const Precision& precision) {
  make_hessenberg(a, z);
  return SchurIteration(a, z, precision).run();
}

}  // namespace pt2::ops
