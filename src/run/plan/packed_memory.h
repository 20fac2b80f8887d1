// Weights in the order in which a kernel reads them, made when they are first needed and kept as
// long as the plan.
#ifndef PT2_RUN_PLAN_PACKED_MEMORY_H
#define PT2_RUN_PLAN_PACKED_MEMORY_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "base/mapped_file.h"
#include "pt2/tensor.h"

namespace pt2::run {

// How many bytes of weights the steps of a plan may hold besides those of the model, together.
class CopyBudget {
 public:
  explicit CopyBudget(int64_t bytes) : left_(bytes) {}
  // False, and nothing is taken, where there is not enough.
  bool take(int64_t bytes) {
    int64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (bytes > left) return false;
    } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
    return true;
  }

 private:
  std::atomic<int64_t> left_;
};

// A large weight that was packed leaves memory if it lies in a mapped file: whoever reads it again
// gets it from there.
inline void leave_file(const Tensor& weight) {
  constexpr size_t kLarge = size_t{1} << 20;
  const Storage& file = *weight.storage();
  if (file.is_read_only() && file.size() >= kLarge) release_pages({file.data(), file.size()});
}

class PackedMemory {
 public:
  explicit PackedMemory(std::shared_ptr<CopyBudget> budget) : budget_(std::move(budget)) {}

  // `pack` fills that many floats, once for all threads. Null where the budget has no room.
  template <class Pack>
  const float* get(int64_t count, const Pack& pack) const {
    std::call_once(once_, [&] {
      if (count > INT64_MAX / 64 || !budget_->take(count * static_cast<int64_t>(sizeof(float))))
        return;
      memory_.reset(static_cast<float*>(
          ::operator new(static_cast<size_t>(count) * sizeof(float), kAlignment)));
      pack(memory_.get());
    });
    return memory_.get();
  }
  // Where the budget has no room, in `once`, which lasts as long as the caller likes.
  template <class Pack>
  const float* get(int64_t count, const Pack& pack, std::vector<float>& once) const {
    if (const float* kept = get(count, pack)) return kept;
    once.resize(static_cast<size_t>(count));
    pack(once.data());
    return once.data();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::shared_ptr<CopyBudget> budget_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<float[], Free> memory_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_PACKED_MEMORY_H
