// The numbers that levels of one byte stand for, where one scale and one zero stand for a tensor.
#ifndef PT2_RUN_PLAN_STEPS_DEQUANTIZATION_H
#define PT2_RUN_PLAN_STEPS_DEQUANTIZATION_H

#include <optional>

#include "run/plan/planner.h"

namespace pt2::run {

// Scale and zero of quantize_per_tensor and dequantize_per_tensor, numbers or tensors of one
// element.
class LevelNumbers {
 public:
  struct Numbers {
    double scale = 1;
    int64_t zero = 0;
  };
  // Nothing where the node has other arguments than numbers and tensors.
  static std::optional<LevelNumbers> find(const Planner& planner, const BoundNode& node);

  // Whether they are the same in every call.
  const std::optional<Numbers>& fixed() const { return fixed_; }
  // Where to read a call's numbers, when they are needed: a call that is done again has others in
  // the same place. Nothing where they are no tensors of one element.
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

// Of int8 or uint8, whose levels those of a quantized type are.
inline bool has_levels(Dtype dtype) { return dtype == Dtype::int8 || dtype == Dtype::uint8; }
inline int64_t least_level(Dtype dtype) { return dtype == Dtype::int8 ? -128 : 0; }
inline bool is_level(int64_t number, Dtype dtype) {
  return number >= least_level(dtype) && number <= least_level(dtype) + 255;
}

// Whether products of whole numbers give what those of floats do, with weights of these scales: the
// zero is a level, which the kernels put around images, and every product of numbers is finite,
// so that 0 times it is 0.
bool may_multiply(const LevelNumbers::Numbers& numbers, Dtype dtype, const Tensor& scales);

// A node that makes floats of levels.
struct Dequantization {
  const BoundNode* node = nullptr;
  const BoundArgument* levels = nullptr;
  Dtype dtype = Dtype::uint8;  // of the levels
  LevelNumbers numbers;

  // The levels of a call; null where they are none.
  const Tensor* find(const Frame& frame) const;
};
std::optional<Dequantization> find_dequantization(const Planner& planner, const BoundNode& node);
// The one that makes an argument for `user` alone.
std::optional<Dequantization> dequantization_for(const Planner& planner,
                                                 const BoundArgument& argument,
                                                 const BoundNode& user);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_DEQUANTIZATION_H
