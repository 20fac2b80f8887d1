// Weights in the order in which a kernel reads them, made when they are first needed and kept as
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

// What a packed copy holds: the weight at `data`, whose sizes, strides and ways to be read are
// `numbers`, in the order that steps call `order`.
struct PackedContents {
  std::string_view order;  // a literal
  const void* data = nullptr;
  Sizes numbers;
  auto operator<=>(const PackedContents&) const = default;
};

struct PackedFloats {
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* floats) const { ::operator delete(floats, kAlignment); }
  };
  std::once_flag once;
  std::unique_ptr<float[], Free> memory;
};

// Bytes that all steps of a plan may hold together.
class Room {
 public:
  explicit Room(int64_t bytes) : left_(bytes) {}
  // False, and nothing is taken, where there is not enough. Negative bytes are given back.
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

// What the steps of a plan hold of weights besides those of the model.
class WeightCopies : public Room {
 public:
  using Room::Room;
  // The one copy of these contents, while any step holds it. For whoever makes the plan.
  std::shared_ptr<PackedFloats> find(PackedContents contents) {
    std::weak_ptr<PackedFloats>& kept = packed_[std::move(contents)];
    std::shared_ptr<PackedFloats> found = kept.lock();
    if (found == nullptr) kept = found = std::make_shared<PackedFloats>();
    return found;
  }

 private:
  std::map<PackedContents, std::weak_ptr<PackedFloats>> packed_;
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
  explicit PackedMemory(std::shared_ptr<WeightCopies> copies)
      : copies_(std::move(copies)), floats_(std::make_shared<PackedFloats>()) {}
  // Shared by the steps that ask for the same, such as the cells of an unrolled loop. Each of them
  // must keep the weight.
  PackedMemory(std::shared_ptr<WeightCopies> copies, PackedContents contents)
      : copies_(std::move(copies)), floats_(copies_->find(std::move(contents))) {}

  // `pack` fills that many floats, once for all threads. Null where there is no room for a copy.
  template <class Pack>
  const float* get(int64_t count, const Pack& pack) const {
    std::call_once(floats_->once, [&] {
      if (count > INT64_MAX / 64 || !copies_->take(count * static_cast<int64_t>(sizeof(float))))
        return;
      floats_->memory.reset(static_cast<float*>(
          ::operator new(static_cast<size_t>(count) * sizeof(float), PackedFloats::kAlignment)));
      pack(floats_->memory.get());
    });
    return floats_->memory.get();
  }
  // Where there is none, in `once`, which lasts as long as the caller likes.
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
