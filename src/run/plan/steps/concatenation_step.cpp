// Concatenation of images along their channels, and of other tensors along any dimension.
#include <cstring>
#include <utility>

#include "ops/loops.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// Copies adjacent blocks to places `pitch` bytes apart. Small blocks are moved without calls to
// memcpy.
template <size_t N>
void copy_small_blocks(const std::byte* from, std::byte* to, int64_t count, int64_t pitch) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * pitch, from + i * static_cast<int64_t>(N), N);
}
void copy_blocks(const std::byte* from, std::byte* to, int64_t count, int64_t bytes,
                 int64_t pitch) {
  switch (bytes) {
    case 1:
      return copy_small_blocks<1>(from, to, count, pitch);
    case 2:
      return copy_small_blocks<2>(from, to, count, pitch);
    case 4:
      return copy_small_blocks<4>(from, to, count, pitch);
    case 8:
      return copy_small_blocks<8>(from, to, count, pitch);
    default:
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * pitch, from + i * bytes, static_cast<size_t>(bytes));
  }
}

class ConcatenationStep final : public Step {
 public:
  // `stacks`: the parts are joined along a new dimension.
  ConcatenationStep(const BoundNode& node, std::vector<ValueId> parts, int64_t dim, bool stacks,
                    bool may_grow)
      : Step({&node}), parts_(std::move(parts)), dim_(dim), stacks_(stacks), may_grow_(may_grow) {}

  std::string_view name() const override { return "concatenation"; }

  Result<bool> run(Frame& frame) const override {
    if (const GrowingInput* growing = may_grow_ ? frame.growing(parts_[0]) : nullptr)
      if (grow(frame, *growing)) return true;
    std::vector<Tensor> parts;
    bool rearranged = false;
    for (const ValueId id : parts_) {
      const auto* part = frame.values[static_cast<size_t>(id)].get_if<Tensor>();
      if (part == nullptr || !part->defined() || part->numel() == 0 ||
          (!parts.empty() && part->dtype() != parts[0].dtype()))
        return false;
      parts.push_back(*part);
      rearranged = rearranged || (frame.is_rearranged(id) && !stacks_);
    }
    const int64_t rank = parts[0].dim() + (stacks_ ? 1 : 0);
    const auto wrapped = wrapped_dim(dim_, rank);
    if (!wrapped) return false;
    const auto dim = static_cast<int64_t>(*wrapped);
    for (Tensor& part : parts) {
      if (!stacks_) break;
      if (part.dim() != rank - 1) return false;
      Sizes sizes = part.sizes(), strides = part.strides();
      sizes.insert(sizes.begin() + dim, 1);
      strides.insert(strides.begin() + dim, 1);
      part = part.with_view(std::move(sizes), std::move(strides), part.storage_offset());
    }
    Sizes sizes = parts[0].sizes();
    sizes[static_cast<size_t>(dim)] = 0;
    for (const Tensor& part : parts) {
      if (part.dim() != rank) return false;
      for (int64_t i = 0; i < rank; ++i)
        if (i != dim && part.size(i) != parts[0].size(i)) return false;
      sizes[static_cast<size_t>(dim)] += part.size(dim);
    }
    if (rearranged && dim != 1) return false;
    // The blocks of each part are adjacent, one for each index of the dimensions around `dim`.
    int64_t around = 1;
    if (rearranged) {
      for (int64_t i = 0; i < rank; ++i) around *= i == 1 ? 1 : sizes[static_cast<size_t>(i)];
    } else {
      for (int64_t i = 0; i < dim; ++i) around *= sizes[static_cast<size_t>(i)];
    }
    const Dtype dtype = parts[0].dtype();
    const int64_t element = dtype_size(dtype);
    Tensor out = frame.make(sizes, rearranged ? channels_last_strides(sizes) : Sizes(), dtype);
    const int64_t row = out.numel() / around;
    int64_t before = 0;
    for (size_t part = 0; part < parts.size(); ++part) {
      const int64_t block = parts[part].numel() / around;
      const int64_t begin = std::exchange(before, before + block);
      const Tensor lying =
          rearranged ? channels_last_value(frame, parts_[part]) : to_row_major(frame, parts[part]);
      frame.launch([=, from = lying.raw_data(), to = out.raw_data() + begin * element] {
        copy_blocks(from, to, around, block * element, row * element);
      });
    }
    frame.set(result(), std::move(out), rearranged);
    return true;
  }

 private:
  // Writes the parts after the first one into the first one's room.
  bool grow(Frame& frame, const GrowingInput& growing) const {
    const Tensor& room = growing.room;
    const auto tensor_of = [&](ValueId id) {
      return frame.values[static_cast<size_t>(id)].get_if<Tensor>();
    };
    const auto in_room = [&](int64_t begin, int64_t size) {
      Sizes sizes = room.sizes();
      sizes[growing.dim] = size;
      return Tensor::view_of(room.storage(), room.dtype(), std::move(sizes), room.strides(),
                             room.storage_offset() + begin * room.strides()[growing.dim]);
    };
    if (wrapped_dim(dim_, room.dim()) != growing.dim) return false;
    const int64_t before = tensor_of(parts_[0])->sizes()[growing.dim];
    int64_t after = before;
    for (size_t i = 1; i < parts_.size(); ++i) {
      const Tensor* part = tensor_of(parts_[i]);
      if (part == nullptr || part->dtype() != room.dtype() || part->dim() != room.dim())
        return false;
      Sizes sizes = room.sizes();
      sizes[growing.dim] = part->sizes()[growing.dim];
      if (part->sizes() != sizes || sizes[growing.dim] > room.sizes()[growing.dim] - after)
        return false;
      after += sizes[growing.dim];
    }
    int64_t begin = before;
    for (size_t i = 1; i < parts_.size(); ++i) {
      const Tensor* part = tensor_of(parts_[i]);
      const int64_t size = part->sizes()[growing.dim];
      Tensor to = *in_room(begin, size);
      ops::copy_elements(to, *part);
      begin += size;
    }
    frame.set_grown(result(), *in_room(0, after));
    return true;
  }

  std::vector<ValueId> parts_;
  int64_t dim_;
  bool stacks_;
  bool may_grow_;  // the first part may grow if a call lets it
};

}  // namespace

StepPointer make_concatenation(const Planner& planner, const BoundNode& node) {
  const auto dim = planner.integer(node, "dim");
  std::vector<ValueId> parts = items_of(*Planner::argument(node, "tensors"));
  if (!dim || parts.empty()) return nullptr;
  const bool stacks = is_operator(node, "aten::stack");
  const bool may_grow = !stacks && planner.may_grow(parts[0], node);
  return std::make_unique<ConcatenationStep>(node, std::move(parts), *dim, stacks, may_grow);
}

}  // namespace pt2::run
