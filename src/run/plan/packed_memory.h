// Weights in the order in which a kernel reads them. They are packed when first needed and kept as
// long as the plan.
#ifndef PT2_RUN_PLAN_PACKED_MEMORY_H
#define PT2_RUN_PLAN_PACKED_MEMORY_H

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "pt2/tensor.h"

namespace pt2::run {

// Identifies a packed copy: the weight at `data`, its dtype, its sizes, strides and mode of reading
// in `numbers`, and the step's name for the order of the copy in `order`. A program may view one
// weight as another dtype.
struct PackedContents {
  std::string_view order;  // a string literal
  const void* data = nullptr;
  Dtype dtype{};
  Sizes numbers;
  auto operator<=>(const PackedContents&) const = default;
};

struct PackedFloats {
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* floats) const { ::operator delete(floats, kAlignment); }
  };
  std::once_flag once;
  int64_t count = 0;
  std::unique_ptr<float[], Free> memory;
};

// A budget of bytes that all steps of a plan share.
class Room {
 public:
  explicit Room(int64_t bytes) : left_(bytes) {}
  // False, with nothing taken, if the budget is too small. Negative bytes are given back.
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

// The copies of weights that the steps of a plan hold besides the model's own weights.
class WeightCopies : public Room {
 public:
  using Room::Room;
  // Returns the one copy of these contents, which lives while any step holds it. Only for use while
  // the plan is made.
  std::shared_ptr<PackedFloats> find(PackedContents contents) {
    std::weak_ptr<PackedFloats>& kept = packed_[std::move(contents)];
    std::shared_ptr<PackedFloats> found = kept.lock();
    if (found == nullptr) kept = found = std::make_shared<PackedFloats>();
    return found;
  }

 private:
  std::map<PackedContents, std::weak_ptr<PackedFloats>> packed_;
};

// Releases the pages of a large packed weight if it lies in a mapped file. A later read loads them
// from the file again.
inline void leave_file(const Tensor& weight) {
  constexpr size_t kLarge = size_t{1} << 20;
  const Storage& file = *weight.storage();
  if (file.is_read_only() && file.size() >= kLarge) release_pages({file.data(), file.size()});
}

class PackedMemory {
 public:
  explicit PackedMemory(std::shared_ptr<WeightCopies> copies)
      : copies_(std::move(copies)), floats_(std::make_shared<PackedFloats>()) {}
  // Shares memory among steps that ask for the same contents, such as the cells of an unrolled
  // loop. Each of these steps must keep the weight.
  PackedMemory(std::shared_ptr<WeightCopies> copies, PackedContents contents)
      : copies_(std::move(copies)), floats_(copies_->find(std::move(contents))) {}

  // Returns `count` floats that `pack` fills once for all threads. Null if the budget has no room,
  // or if another step packed fewer.
  template <class Pack>
  const float* get(int64_t count, const Pack& pack) const {
    std::call_once(floats_->once, [&] {
      if (count > INT64_MAX / 64 || !copies_->take(count * static_cast<int64_t>(sizeof(float))))
        return;
      floats_->memory.reset(static_cast<float*>(
          ::operator new(static_cast<size_t>(count) * sizeof(float), PackedFloats::kAlignment)));
      floats_->count = count;
      pack(floats_->memory.get());
    });
    return count <= floats_->count ? floats_->memory.get() : nullptr;
  }
  // If the budget has no room, packs into `once`, whose lifetime the caller controls.
  template <class Pack>
  const float* get(int64_t count, const Pack& pack, std::vector<float>& once) const {
    if (const float* kept = get(count, pack)) return kept;
    once.resize(static_cast<size_t>(count));
    pack(once.data());
    return once.data();
  }

 private:
  std::shared_ptr<WeightCopies> copies_;
  std::shared_ptr<PackedFloats> floats_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_PACKED_MEMORY_H
