// Weights in the order in which a kernel reads them, made when they are first needed and kept as
// long as the plan.
#ifndef PT2_RUN_PLAN_PACKED_MEMORY_H
#define PT2_RUN_PLAN_PACKED_MEMORY_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

namespace pt2::run {

class PackedMemory {
 public:
  // `pack` fills that many floats, once for all threads.
  template <class Pack>
  const float* get(int64_t count, const Pack& pack) const {
    std::call_once(once_, [&] {
      memory_.reset(static_cast<float*>(
          ::operator new(static_cast<size_t>(count) * sizeof(float), kAlignment)));
      pack(memory_.get());
    });
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
  };
  mutable std::once_flag once_;
  mutable std::unique_ptr<float[], Free> memory_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_PACKED_MEMORY_H
