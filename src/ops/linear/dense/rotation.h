// The rotations and reflections that LAPACK chooses. Their signs decide the signs of vectors.
#ifndef PT2_OPS_LINEAR_DENSE_ROTATION_H
#define PT2_OPS_LINEAR_DENSE_ROTATION_H

#include <cmath>
#include <complex>
#include <cstdint>

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

// The reflection 1 - tau (1, v) (1, v)^H that maps (first, rest) to a multiple of the first unit
// vector (larfg). `factor` becomes that multiple, which is real; `rest` becomes v. Returns tau.
template <class T>
T reflect_to_first(T first, T* rest, int64_t count, double& factor) {
  double square = 0;
  for (int64_t i = 0; i < count; ++i) square += std::norm(rest[i]);
  factor = std::real(first);
  if (square == 0 && std::imag(first) == 0) return T(0);
  factor = -std::copysign(std::sqrt(std::norm(first) + square), factor);
  for (int64_t i = 0; i < count; ++i) rest[i] /= first - factor;
  return (factor - first) / factor;
}

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_DENSE_ROTATION_H
