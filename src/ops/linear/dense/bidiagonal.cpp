// Singular values and vectors of a small real bidiagonal matrix by QR steps with implicit shifts
// (bdsqr; Demmel and Kahan, "Accurate Singular Values of Bidiagonal Matrices", 1990). This file
// makes LAPACK's steps in LAPACK's order, so that singular vectors have LAPACK's signs.
#include <algorithm>
#include <cmath>

#include "ops/linear/dense/dense.h"
#include "ops/linear/dense/rotation.h"

namespace pt2::ops {
namespace {

// U^T [[f, g], [0, h]] V = diag(larger, smaller), U and V rotations (lasv2). The values may be
// negative.
struct TriangleSvd {
  double larger = 0;
  double smaller = 0;
  Rotation left;
  Rotation right;
};
TriangleSvd factor_triangle(double f, double g, double h, double epsilon) {
  const bool swapped = std::abs(h) > std::abs(f);
  const double first = swapped ? h : f, second = swapped ? f : h;
  const double fa = std::abs(first), ga = std::abs(g), ha = std::abs(second);
  TriangleSvd out{fa, ha, {}, {}};
  bool g_is_largest = false;
  if (ga != 0 && ga > fa && fa / ga < epsilon) {
    g_is_largest = true;
    out.larger = ga;
    out.smaller = ha > 1 ? fa / (ga / ha) : fa / ga * ha;
    out.left = {1, second / g, 0};
    out.right = {first / g, 1, 0};
  } else if (ga != 0) {
    g_is_largest = ga > fa;
    const double difference = fa - ha;
    const double relative = difference == fa ? 1 : difference / fa;
    const double ratio = g / first, square = ratio * ratio;
    const double sum = 2 - relative;
    const double s = std::sqrt(sum * sum + square);
    const double r = relative == 0 ? std::abs(ratio) : std::sqrt(relative * relative + square);
    const double half = 0.5 * (s + r);
    out.smaller = ha / half;
    out.larger = fa * half;
    double t = (ratio / (s + sum) + ratio / (r + relative)) * (1 + half);
    if (square == 0)
      t = relative == 0 ? std::copysign(2.0, first) * std::copysign(1.0, g)
                        : g / std::copysign(difference, first) + ratio / sum;
    const double length = std::sqrt(t * t + 4);
    out.right = {2 / length, t / length, 0};
    out.left.c = (out.right.c + out.right.s * ratio) / half;
    out.left.s = second / first * out.right.s / half;
  }
  if (swapped) {
    const Rotation left = out.left;
    out.left = {out.right.s, out.right.c, 0};
    out.right = {left.s, left.c, 0};
  }
  const auto sign = [](double x) { return std::copysign(1.0, x); };
  const double larger_sign = g_is_largest ? sign(out.right.s) * sign(out.left.c) * sign(g)
                             : swapped    ? sign(out.right.s) * sign(out.left.s) * sign(h)
                                          : sign(out.right.c) * sign(out.left.c) * sign(f);
  out.larger = std::copysign(out.larger, larger_sign);
  out.smaller = std::copysign(out.smaller, larger_sign * sign(f) * sign(h));
  return out;
}

// The smaller singular value of [[f, g], [0, h]] (las2).
double smaller_value(double f, double g, double h) {
  const double least = std::min(std::abs(f), std::abs(h)),
               most = std::max(std::abs(f), std::abs(h));
  const double beside = std::abs(g);
  if (least == 0) return 0;
  const double sum = 1 + least / most, difference = (most - least) / most;
  if (beside < most) {
    const double square = beside / most * (beside / most);
    return least *
           (2 / (std::sqrt(sum * sum + square) + std::sqrt(difference * difference + square)));
  }
  const double ratio = most / beside;
  if (ratio == 0) return least * most / beside;
  const double c = 1 / (std::sqrt(1 + sum * ratio * (sum * ratio)) +
                        std::sqrt(1 + difference * ratio * (difference * ratio)));
  return 2 * (least * c * ratio);
}

class BidiagonalIteration {
 public:
  BidiagonalIteration(TwoDiagonals& b, MatrixView<double> u, MatrixView<double> v,
                      const Precision& precision)
      : b_(b), u_(u), v_(v), epsilon_(precision.epsilon), size_(u.columns) {
    tolerance_ = std::clamp(std::pow(epsilon_, -0.125), 10.0, 100.0) * epsilon_;
    const double size = static_cast<double>(size_);
    double least = std::abs(b_.at(0)), mu = least;
    for (int64_t i = 1; i < size_ && least != 0; ++i) {
      mu = std::abs(b_.at(i)) * (mu / (mu + std::abs(b_.beside_of(i - 1, i))));
      least = std::min(least, mu);
    }
    threshold_ = std::max(tolerance_ * (least / std::sqrt(size)),
                          kMostSteps * (size * (size * precision.least)));
  }

  // False if kMostSteps steps per element do not suffice.
  bool run() {
    const int64_t most_steps = kMostSteps * size_ * size_;
    for (int64_t steps = 0, end = size_ - 1; end > 0;) {
      if (steps > most_steps) return false;
      // The block [begin, end] at the lower end of the matrix that no zero splits.
      double largest = std::abs(b_.at(end));
      int64_t begin = end;
      while (begin > 0 && std::abs(b_.beside_of(begin - 1, begin)) > threshold_) {
        --begin;
        largest =
            std::max({largest, std::abs(b_.at(begin)), std::abs(b_.beside_of(begin, begin + 1))});
      }
      if (begin > 0) b_.beside_of(begin - 1, begin) = 0;
      if (begin == end) {
        --end;
      } else if (begin + 1 == end) {
        solve_pair(begin);
        end -= 2;
      } else {
        choose_direction(begin, end);
        double least = 0;
        if (splits(begin, end, least)) continue;
        old_begin_ = begin;
        old_end_ = end;
        steps += end - begin;
        step(begin, end, shift_of(begin, end, least / largest));
      }
    }
    make_positive();
    sort();
    return true;
  }

 private:
  static constexpr int64_t kMostSteps = 6;

  // Columns `first` and `second` (x, y) become (c x + s y, c y - s x).
  static void rotate(MatrixView<double> matrix, int64_t first, int64_t second, double c, double s) {
    for (int64_t i = 0; i < matrix.rows; ++i) {
      const double x = matrix.at(i, first), y = matrix.at(i, second);
      matrix.at(i, first) = c * x + s * y;
      matrix.at(i, second) = c * y - s * x;
    }
  }

  void solve_pair(int64_t i) {
    const TriangleSvd pair =
        factor_triangle(b_.at(i), b_.beside_of(i, i + 1), b_.at(i + 1), epsilon_);
    b_.at(i) = pair.larger;
    b_.at(i + 1) = pair.smaller;
    b_.beside_of(i, i + 1) = 0;
    rotate(v_, i, i + 1, pair.right.c, pair.right.s);
    rotate(u_, i, i + 1, pair.left.c, pair.left.s);
  }

  // A new block is chased from its larger end to its smaller one.
  void choose_direction(int64_t begin, int64_t end) {
    if (begin > old_end_ || end < old_begin_)
      down_ = std::abs(b_.at(begin)) >= std::abs(b_.at(end));
  }
  int64_t from(int64_t begin, int64_t end) const { return down_ ? begin : end; }
  int64_t last(int64_t begin, int64_t end) const { return down_ ? end : begin; }

  // Sets an element that is small enough to zero and returns true. Otherwise `least` becomes a
  // lower bound of the block's singular values.
  bool splits(int64_t begin, int64_t end, double& least) {
    const int64_t first = from(begin, end), stop = last(begin, end), way = down_ ? 1 : -1;
    double& final = b_.beside_of(stop - way, stop);
    if (std::abs(final) <= tolerance_ * std::abs(b_.at(stop))) {
      final = 0;
      return true;
    }
    double mu = std::abs(b_.at(first));
    least = mu;
    for (int64_t i = first; i != stop; i += way) {
      double& beside = b_.beside_of(i, i + way);
      if (std::abs(beside) <= tolerance_ * mu) {
        beside = 0;
        return true;
      }
      mu = std::abs(b_.at(i + way)) * (mu / (mu + std::abs(beside)));
      least = std::min(least, mu);
    }
    return false;
  }

  // 0 where a shift would spoil the relative accuracy of small values.
  double shift_of(int64_t begin, int64_t end, double condition) {
    if (static_cast<double>(size_) * tolerance_ * condition <=
        std::max(epsilon_, 0.01 * tolerance_))
      return 0;
    const int64_t stop = last(begin, end), before = down_ ? stop - 1 : stop + 1;
    const double shift = smaller_value(b_.at(before), b_.beside_of(before, stop), b_.at(stop));
    const double start = std::abs(b_.at(from(begin, end)));
    return start > 0 && shift / start * (shift / start) < epsilon_ ? 0 : shift;
  }

  // Chases the bulge from one end of the block to the other. Upwards it is the same as downwards
  // for the transpose with rows and columns in reverse order: U and V change roles.
  void step(int64_t begin, int64_t end, double shift) {
    const int64_t first = from(begin, end), stop = last(begin, end), way = down_ ? 1 : -1;
    const MatrixView<double> inner = down_ ? v_ : u_, outer = down_ ? u_ : v_;
    if (shift == 0) {
      Rotation right{1, 0, 0}, left{1, 0, 0};
      for (int64_t i = first; i != stop; i += way) {
        right = rotation_with_positive_cosine(b_.at(i) * right.c, b_.beside_of(i, i + way));
        if (i != first) b_.beside_of(i - way, i) = left.s * right.length;
        left = rotation_with_positive_cosine(left.c * right.length, b_.at(i + way) * right.s);
        b_.at(i) = left.length;
        rotate(inner, i, i + way, right.c, right.s);
        rotate(outer, i, i + way, left.c, left.s);
      }
      const double rest = b_.at(stop) * right.c;
      b_.at(stop) = rest * left.c;
      b_.beside_of(stop - way, stop) = rest * left.s;
    } else {
      double f = (std::abs(b_.at(first)) - shift) *
                 (std::copysign(1.0, b_.at(first)) + shift / b_.at(first));
      double g = b_.beside_of(first, first + way);
      for (int64_t i = first; i != stop; i += way) {
        double& beside = b_.beside_of(i, i + way);
        const int64_t next = i + way;
        const Rotation right = rotation_with_positive_cosine(f, g);
        if (i != first) b_.beside_of(i - way, i) = right.length;
        f = right.c * b_.at(i) + right.s * beside;
        beside = right.c * beside - right.s * b_.at(i);
        g = right.s * b_.at(next);
        b_.at(next) *= right.c;
        const Rotation left = rotation_with_positive_cosine(f, g);
        b_.at(i) = left.length;
        f = left.c * beside + left.s * b_.at(next);
        b_.at(next) = left.c * b_.at(next) - left.s * beside;
        if (next != stop) {
          g = left.s * b_.beside_of(next, next + way);
          b_.beside_of(next, next + way) *= left.c;
        }
        rotate(inner, i, next, right.c, right.s);
        rotate(outer, i, next, left.c, left.s);
      }
      b_.beside_of(stop - way, stop) = f;
    }
    double& final = b_.beside_of(stop - way, stop);
    if (std::abs(final) <= threshold_) final = 0;
  }

  void make_positive() {
    for (int64_t j = 0; j < size_; ++j) {
      if (b_.at(j) >= 0) continue;
      b_.at(j) = -b_.at(j);
      for (int64_t i = 0; i < v_.rows; ++i) v_.at(i, j) = -v_.at(i, j);
    }
  }
  // Sorts in descending order by exchanges, so that vectors of equal values keep LAPACK's order.
  void sort() {
    for (int64_t end = size_ - 1; end > 0; --end) {
      int64_t least = 0;
      for (int64_t j = 1; j <= end; ++j)
        if (b_.at(j) <= b_.at(least)) least = j;
      if (least == end) continue;
      std::swap(b_.at(least), b_.at(end));
      for (const MatrixView<double> matrix : {u_, v_})
        std::swap_ranges(&matrix.at(0, end), &matrix.at(0, end) + matrix.rows,
                         &matrix.at(0, least));
    }
  }

  TwoDiagonals& b_;
  MatrixView<double> u_;
  MatrixView<double> v_;
  double epsilon_;
  int64_t size_;
  double tolerance_ = 0;
  double threshold_ = 0;
  bool down_ = true;
  int64_t old_begin_ = -1;
  int64_t old_end_ = -1;
};

}  // namespace

bool diagonalize_bidiagonal(TwoDiagonals& b, MatrixView<double> u, MatrixView<double> v,
                            const Precision& precision) {
  if (u.columns > 1) return BidiagonalIteration(b, u, v, precision).run();
  // LAPACK gives the sign of a single element to U.
  for (int64_t i = 0; i < u.rows; ++i) u.at(i, 0) *= std::copysign(1.0, b.at(0));
  b.at(0) = std::abs(b.at(0));
  return true;
}

}  // namespace pt2::ops
