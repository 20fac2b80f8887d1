// Dequantization of one-byte integers (levels) with one scale and one zero point for a tensor.
#ifndef PT2_RUN_PLAN_STEPS_DEQUANTIZATION_H
#define PT2_RUN_PLAN_STEPS_DEQUANTIZATION_H

#include <optional>

#include "run/plan/planner.h"

namespace pt2::run {

// Scale and zero point of quantize_per_tensor and dequantize_per_tensor: numbers, or tensors of one
// element.
class LevelNumbers {
 public:
  struct Numbers {
    double scale = 1;
    int64_t zero = 0;
  };
  // Returns nullopt if they are neither numbers nor tensors.
  static std::optional<LevelNumbers> find(const Planner& planner, const BoundNode& node);

  // The numbers if they are the same in every call.
  const std::optional<Numbers>& fixed() const { return fixed_; }
  // The place of a call's numbers. They are read when needed, since a repeated call has other
  // numbers in the same place. place() returns nullopt if they are not tensors of one element.
  class Place {
   public:
    Numbers read() const;

   private:
    friend LevelNumbers;
    Numbers fixed_;
    Tensor scale_, zero_;
  };
  std::optional<Place> place(const Frame& frame) const;

 private:
  std::optional<Numbers> fixed_;
  const BoundArgument* scale_ = nullptr;
  const BoundArgument* zero_ = nullptr;
};

// True for int8 and uint8, the dtypes of quantized values.
inline bool has_levels(Dtype dtype) { return dtype == Dtype::int8 || dtype == Dtype::uint8; }
inline int64_t least_level(Dtype dtype) { return dtype == Dtype::int8 ? -128 : 0; }
inline bool is_level(int64_t number, Dtype dtype) {
  return number >= least_level(dtype) && number <= least_level(dtype) + 255;
}

// True if integer products give the results of float products, with weights of these scales. The
// zero point must be a level, since kernels put it around images. Every product must be finite, so
// that 0 times it is 0.
bool may_multiply(const LevelNumbers::Numbers& numbers, Dtype dtype, const Tensor& scales);

// A node that makes floats of levels.
struct Dequantization {
  const BoundNode* node = nullptr;
  const BoundArgument* levels = nullptr;
  Dtype dtype = Dtype::uint8;  // of the levels
  LevelNumbers numbers;

  // Returns the levels of a call; null if the argument has none.
  const Tensor* find(const Frame& frame) const;
};
std::optional<Dequantization> find_dequantization(const Planner& planner, const BoundNode& node);
// Returns the dequantization that makes an argument for `user` alone.
std::optional<Dequantization> dequantization_for(const Planner& planner,
                                                 const BoundArgument& argument,
                                                 const BoundNode& user);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_DEQUANTIZATION_H
