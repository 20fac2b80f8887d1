// The plane rotations that LAPACK's QR iterations choose. Their signs decide the signs of vectors.
#ifndef PT2_OPS_LINEAR_DENSE_ROTATION_H
#define PT2_OPS_LINEAR_DENSE_ROTATION_H

#include <cmath>

namespace pt2::ops {

// std::hypot, but without its range checks for squares far from overflow and underflow.
inline double hypotenuse(double x, double y) {
  const double square = x * x + y * y;
  return square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::hypot(x, y);
}

struct Rotation {
  double c = 1;
  double s = 0;
  double length = 0;
};
// The rotation that maps (f, g) to (length, 0) (lartg, in the form that LAPACK has before 3.10, and
// MKL in its eigenvalue iteration).
inline Rotation rotation_of(double f, double g) {
  if (g == 0) return {1, 0, f};
  if (f == 0) return {0, 1, g};
  const double length = hypotenuse(f, g);
  const double sign = std::abs(f) > std::abs(g) && f < 0 ? -1 : 1;
  return {sign * f / length, sign * g / length, sign * length};
}
// The same with c >= 0 (LAPACK from 3.10 on, and MKL in its iteration for singular values).
inline Rotation rotation_with_positive_cosine(double f, double g) {
  if (g == 0) return {1, 0, f};
  if (f == 0) return {0, std::copysign(1.0, g), std::abs(g)};
  const double length = std::copysign(hypotenuse(f, g), f);
  return {f / length, g / length, length};
}

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_DENSE_ROTATION_H
