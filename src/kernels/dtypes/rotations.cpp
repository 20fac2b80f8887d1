#include "kernels/dtypes/rotations.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dtypes/rotations.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The column shared by two consecutive rotations stays in registers.
template <class D, int kVectors>
void rotate_rows(double* matrix, int64_t pitch, const RotationSequence& sequence,
                 const PlaneRotation* rotation) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t step = sequence.ascending ? pitch : -pitch;
  double* carried = matrix + (sequence.column + (sequence.ascending ? 0 : 1)) * pitch;
  hn::Vec<D> kept[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) kept[v] = hn::LoadU(d, carried + v * lanes);
  for (int64_t i = 0; i < sequence.count; ++i, ++rotation, carried += step) {
    const auto c = hn::Set(d, rotation->c);
    const auto s = hn::Set(d, sequence.ascending ? rotation->s : -rotation->s);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto next = hn::LoadU(d, carried + step + v * lanes);
      hn::StoreU(hn::MulAdd(c, kept[v], hn::Mul(s, next)), d, carried + v * lanes);
      kept[v] = hn::MulSub(c, next, hn::Mul(s, kept[v]));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) hn::StoreU(kept[v], d, carried + v * lanes);
}

template <class D, int kVectors>
void rotate_strip(double* matrix, int64_t pitch, std::span<const RotationSequence> sequences,
                  const PlaneRotation* rotation) {
  for (const RotationSequence& sequence : sequences) {
    rotate_rows<D, kVectors>(matrix, pitch, sequence, rotation);
    rotation += sequence.count;
  }
}

void rotate(double* matrix, int64_t rows, std::span<const RotationSequence> sequences,
            std::span<const PlaneRotation> rotations) {
  using Wide = hn::ScalableTag<double>;
  using One = hn::CappedTag<double, 1>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t row = 0;
  for (; row + 4 * lanes <= rows; row += 4 * lanes)
    rotate_strip<Wide, 4>(matrix + row, rows, sequences, rotations.data());
  for (; row + lanes <= rows; row += lanes)
    rotate_strip<Wide, 1>(matrix + row, rows, sequences, rotations.data());
  for (; row < rows; ++row) rotate_strip<One, 1>(matrix + row, rows, sequences, rotations.data());
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(rotate);

void rotate_columns(double* matrix, int64_t rows, std::span<const RotationSequence> sequences,
                    std::span<const PlaneRotation> rotations) {
  PT2_DISPATCH(rotate)(matrix, rows, sequences, rotations);
}

}  // namespace pt2::kernels
#endif
