// Scaled dot-product attention that never holds all scores at once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/memory_account.h"
#include "kernels/attention.h"
#include "ops/loops.h"
#include "run/plan/attention.h"
#include "run/plan/halves.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

class AttentionStep final : public Step {
 public:
  AttentionStep(Nodes nodes, const AttentionArguments& arguments)
      : Step(std::move(nodes)), arguments_(arguments) {}

  std::string_view name() const override { return "attention"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor *queries = frame.tensor(*arguments_.query), *keys = frame.tensor(*arguments_.key),
                 *values = frame.tensor(*arguments_.value);
    if (queries == nullptr || !queries->defined()) return false;
    const Dtype dtype = queries->dtype();
    const bool are_halves = arguments_.may_be_halves && is_half(dtype);
    if ((!are_halves && dtype != Dtype::float32) || !has_elements(queries, dtype) ||
        !has_elements(keys, dtype) || !has_elements(values, dtype))
      return false;
    const int64_t groups = groups_of(*queries);
    constexpr int64_t kMostGroups = 4096;  // each group is a launch
    if (groups > kMostGroups || !have_same_groups(*queries, *keys) ||
        !have_same_groups(*queries, *values))
      return false;
    const Tensor first_query = group(*queries, 0), first_key = group(*keys, 0),
                 first_value = group(*values, 0);
    const Tensor *query = &first_query, *key = &first_key, *value = &first_value;
    const int64_t rank = query->dim();
    if (rank < 3) return false;
    const auto heads_of = [&](const Tensor& t) { return rank == 4 ? t.size(1) : 1; };
    kernels::Attention shape{
        .batch = query->size(0),
        .heads = heads_of(*query),
        .key_heads = heads_of(*key),
        .queries = query->size(rank - 2),
        .keys = key->size(rank - 2),
        .depth = query->size(rank - 1),
        .value_depth = value->size(rank - 1),
        .causal = arguments_.causal,
        .empty_rows_are_nan = arguments_.empty_rows_are_nan,
    };
    if (key->size(0) != shape.batch || value->size(0) != shape.batch ||
        heads_of(*value) != shape.key_heads || value->size(rank - 2) != shape.keys ||
        key->size(rank - 1) != shape.depth || shape.depth == 0 ||
        !fits_heads(shape.heads, shape.key_heads))
      return false;
    const Tensor q = with_rows(frame, are_halves ? *widened(frame, *queries) : *queries),
                 k = with_rows(frame, *keys), v = with_rows(frame, *values);
    shape.halves = rounding_of(dtype);
    Tensor mask;
    const Tensor* given = arguments_.mask == nullptr ? nullptr : frame.tensor(*arguments_.mask);
    // A mask that the step's own nodes make is not there yet: they must run one by one.
    if (given == nullptr && arguments_.mask != nullptr && arguments_.mask->dynamic != nullptr)
      return false;
    if (given != nullptr) {
      if (queries->dim() > 4) return false;
      if (!may_hold(given->dtype())) return false;
      const auto wide = given->dtype() == dtype ? widened(frame, *given) : std::nullopt;
      mask = additive(frame, wide ? *wide : *given);
      if (!mask.defined() || !set_mask(mask, rank, shape)) return false;
    }
    shape.mask_replaces = arguments_.mask_holds == AttentionMask::kept ||
                          arguments_.mask_holds == AttentionMask::hidden;
    shape.scale = static_cast<float>(
        arguments_.scale.value_or(1 / std::sqrt(static_cast<double>(shape.depth))));
    // The result has the memory order of PyTorch's own kernel, in which transposing heads and rows
    // back costs nothing.
    Sizes sizes = queries->sizes();
    sizes.back() = shape.value_depth;
    Sizes strides = contiguous_strides(sizes);
    if (queries->dim() == 4) {
      strides[1] = shape.value_depth;
      strides[2] = shape.heads * shape.value_depth;
    }
    Tensor out = frame.make(std::move(sizes), strides);
    shape.out_batch_stride = group(out, 0).stride(0);
    shape.out_head_stride = rank == 4 ? group(out, 0).stride(1) : 0;
    shape.out_row_stride = group(out, 0).stride(rank - 2);
    constexpr int64_t kExponential = 32;  // multiply-adds that take as long as one exponential
    MemoryAccount::count_products({groups, shape.batch, shape.heads, shape.queries, shape.keys,
                                   shape.depth + shape.value_depth + kExponential});
    Tensor scratch = frame.make(
        {kernels::attention_scratch_size(shape, kernels::thread_count(frame.threads()))});
    for (int64_t i = 0; i < groups; ++i) {
      shape.query = heads(group(q, i));
      shape.key = heads(group(k, i));
      shape.value = heads(group(v, i));
      Tensor to = group(out, i);
      shape.out = to.data<float>();
      frame.launch([shape, memory = scratch.data<float>(), threads = frame.threads()] {
        kernels::attend(shape, memory, threads);
      });
    }
    frame.set(result(), are_halves ? narrowed(frame, out, dtype) : std::move(out), true);
    return true;
  }

 private:
  // Returns the number of groups: dimensions before the last four, such as windows of images. Each
  // group has an attention of its own.
  static int64_t groups_of(const Tensor& tensor) {
    int64_t groups = 1;
    for (int64_t dim = 0; dim + 4 < tensor.dim(); ++dim) groups *= tensor.size(dim);
    return groups;
  }
  static bool have_same_groups(const Tensor& a, const Tensor& b) {
    const int64_t before = std::max<int64_t>(a.dim() - 4, 0);
    return a.dim() == b.dim() &&
           std::equal(a.sizes().begin(), a.sizes().begin() + before, b.sizes().begin());
  }
  static Tensor group(const Tensor& tensor, int64_t index) {
    const int64_t before = tensor.dim() - 4;
    if (before <= 0) return tensor;
    int64_t offset = tensor.storage_offset();
    for (int64_t dim = before - 1; dim >= 0; --dim) {
      offset += index % tensor.size(dim) * tensor.stride(dim);
      index /= tensor.size(dim);
    }
    return tensor.with_view(Sizes(tensor.sizes().begin() + before, tensor.sizes().end()),
                            Sizes(tensor.strides().begin() + before, tensor.strides().end()),
                            offset);
  }

  bool fits_heads(int64_t heads, int64_t key_heads) const {
    if (!arguments_.grouped) return heads == key_heads;
    return arguments_.repeats > 0 ? heads == key_heads * arguments_.repeats
                                  : key_heads > 0 && heads % key_heads == 0;
  }

  static Tensor with_rows(Frame& frame, const Tensor& tensor) {
    return tensor.strides().back() == 1 ? tensor : to_row_major(frame, tensor);
  }

  static kernels::Heads heads(const Tensor& tensor) {
    const int64_t rank = tensor.dim();
    kernels::Heads out{.batch_stride = tensor.stride(0),
                       .head_stride = rank == 4 ? tensor.stride(1) : 0,
                       .row_stride = tensor.stride(rank - 2)};
    if (tensor.dtype() == Dtype::float32)
      out.data = tensor.data<float>();
    else
      out.halves = reinterpret_cast<const uint16_t*>(tensor.raw_data());
    return out;
  }

  bool may_hold(Dtype dtype) const {
    const AttentionMask holds = arguments_.mask_holds;
    return holds == AttentionMask::any ||
           (dtype == Dtype::bool_) == (holds != AttentionMask::added);
  }

  // Returns the numbers that a mask adds to the scores; undefined for other kinds of masks.
  Tensor additive(Frame& frame, const Tensor& mask) const {
    if (!mask.defined() || mask.numel() == 0 || mask.dim() < 2 || mask.dim() > 4) return {};
    if (mask.dtype() == Dtype::float32) return with_rows(frame, mask);
    if (mask.dtype() != Dtype::bool_) return {};
    const Tensor rows = to_row_major(frame, mask);
    Tensor out = frame.make(mask.sizes());
    const bool hides = arguments_.mask_holds == AttentionMask::hidden;
    frame.launch([from = rows.data<uint8_t>(), to = out.data<float>(), count = rows.numel(), hides,
                  hidden = arguments_.hidden_score] {
      for (int64_t i = 0; i < count; ++i) to[i] = (from[i] != 0) == hides ? hidden : 0.0f;
    });
    return out;
  }

  // False if the mask does not broadcast to the scores, or its rows do not have one number for each
  // key.
  static bool set_mask(const Tensor& mask, int64_t rank, kernels::Attention& shape) {
    const auto stride = [&](int64_t dim_from_end, int64_t wanted) -> std::optional<int64_t> {
      const int64_t dim = mask.dim() - dim_from_end;
      if (dim < 0 || mask.size(dim) == 1) return 0;
      return mask.size(dim) == wanted ? std::optional(mask.stride(dim)) : std::nullopt;
    };
    if (mask.dim() > rank || mask.sizes().back() != shape.keys) return false;
    const auto rows = stride(2, shape.queries),
               head = stride(3, rank == 4 ? shape.heads : shape.batch),
               batch = stride(4, shape.batch);
    if (!rows || !head || !batch) return false;
    shape.mask = {.data = mask.data<float>(),
                  .batch_stride = rank == 4 ? *batch : *head,
                  .head_stride = rank == 4 ? *head : 0,
                  .row_stride = *rows};
    return true;
  }

  AttentionArguments arguments_;
};

}  // namespace

StepPointer make_attention_step(Step::Nodes nodes, const AttentionArguments& arguments) {
  return std::make_unique<AttentionStep>(std::move(nodes), arguments);
}

StepPointer make_attention(const Planner& planner, const BoundNode& node) {
  const auto causal = planner.flag(node, "is_causal");
  const bool is_public = is_operator(node, "aten::scaled_dot_product_attention");
  // The operator that decomposition makes of the public one takes fewer key heads unasked.
  const auto grouped = is_public ? planner.flag(node, "enable_gqa") : std::optional(true);
  if (!causal || !grouped || planner.number(node, "dropout_p") != 0.0 ||
      !planner.only_first_result_used(node))
    return nullptr;
  AttentionArguments arguments{
      .query = Planner::argument(node, "query"),
      .key = Planner::argument(node, "key"),
      .value = Planner::argument(node, "value"),
      .mask = Planner::argument(node, "attn_mask"),
      .causal = *causal,
      .mask_holds = AttentionMask::any,
      .may_be_halves = true,
      .grouped = *grouped,
      .scale = planner.number(node, "scale"),
  };
  if (!arguments.scale && !planner.is_none(node, "scale")) return nullptr;
  // A mask for causal attention is an error, which the reference kernel reports.
  if (*causal && !planner.is_none(node, "attn_mask")) return nullptr;
  Step::Nodes nodes{&node};
  if (!arguments.grouped && is_public) take_repeated_heads(planner, arguments, nodes);
  std::ranges::sort(nodes);  // bound nodes lie in program order
  return make_attention_step(std::move(nodes), arguments);
}

}  // namespace pt2::run
