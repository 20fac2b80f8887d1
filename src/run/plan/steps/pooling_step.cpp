// Pooling of images and signals, and means over trailing dimensions.
#include <algorithm>

#include "kernels/images/pooling.h"
#include "kernels/rows.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::Pooling;

// Both lie channels last.
void launch_pooling(Frame& frame, const Pooling& shape, const Tensor& images, Tensor& out) {
  frame.launch(
      [shape, from = images.data<float>(), to = out.data<float>(), threads = frame.threads()] {
        kernels::pool_images(shape,
                             {.data = from,
                              .image_stride = shape.in_height * shape.in_width * shape.channels,
                              .row_stride = shape.in_width * shape.channels,
                              .pixel_stride = shape.channels},
                             to, shape.channels, threads);
      });
}

class PoolingStep final : public Step {
 public:
  PoolingStep(const BoundNode& node, size_t spatial, const Pooling& pooling, bool rounds_up)
      : Step({&node}), spatial_(spatial), pooling_(pooling), rounds_up_(rounds_up) {}

  std::string_view name() const override { return "pooling"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& argument = first().arguments[0];
    const Tensor* input = frame.tensor(argument);
    if (!is_float(input) || input->sizes().size() != spatial_ + 2) return false;
    Pooling shape = pooling_;
    shape.batch = input->size(0);
    shape.channels = input->size(1);
    shape.in_height = spatial_ == 2 ? input->size(2) : 1;
    shape.in_width = input->sizes().back();
    if (!shape.adaptive) {
      shape.out_height = window_count(shape.in_height, shape.kernel_height, shape.stride_y,
                                      shape.dilation_y, shape.pad_y, rounds_up_);
      shape.out_width = window_count(shape.in_width, shape.kernel_width, shape.stride_x,
                                     shape.dilation_x, shape.pad_x, rounds_up_);
      if (shape.out_height < 1 || shape.out_width < 1) return false;
    }
    const Tensor images = channels_last_value(frame, argument);
    Sizes sizes{shape.batch, shape.channels, shape.out_height, shape.out_width};
    if (spatial_ == 1) sizes.erase(sizes.begin() + 2);
    Tensor out = make_images(frame, sizes);
    launch_pooling(frame, shape, images, out);
    frame.set(result(), std::move(out), true);
    return true;
  }

 private:
  size_t spatial_;  // a signal is an image of one row
  Pooling pooling_;
  bool rounds_up_;
};

class MeanStep final : public Step {
 public:
  MeanStep(const BoundNode& node, Sizes dims, bool keeps_dims)
      : Step({&node}), dims_(std::move(dims)), keeps_dims_(keeps_dims) {}

  std::string_view name() const override { return "mean"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(first().arguments[0]);
    if (!is_float(input)) return false;
    const auto kept = trailing(input->dim());
    if (!kept) return false;
    Sizes sizes(input->sizes().begin(), input->sizes().begin() + *kept);
    int64_t rows = 1;
    for (const int64_t size : sizes) rows *= size;
    if (keeps_dims_) sizes.resize(input->sizes().size(), 1);
    Tensor out = frame.make(std::move(sizes));
    if (input->is_contiguous()) {
      const int64_t columns = input->numel() / rows;
      frame.launch(
          [=, from = input->data<float>(), to = out.data<float>(), threads = frame.threads()] {
            kernels::reduce_rows(kernels::Reduction::mean, {rows, columns, columns, 1}, from, to,
                                 threads);
          });
    } else if (*kept == 2 && input->dim() == 4 && is_channels_last(*input)) {
      launch_pooling(frame,
                     {.kind = Pooling::Kind::average,
                      .batch = input->size(0),
                      .channels = input->size(1),
                      .in_height = input->size(2),
                      .in_width = input->size(3),
                      .adaptive = true},
                     *input, out);
    } else {
      return false;
    }
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  // How many dimensions are left if these are the last ones; nothing if others are among them.
  std::optional<int64_t> trailing(int64_t rank) const {
    Sizes dims = dims_;
    for (int64_t& dim : dims) dim += dim < 0 ? rank : 0;
    std::ranges::sort(dims);
    const int64_t kept = rank - static_cast<int64_t>(dims.size());
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] != kept + static_cast<int64_t>(i)) return std::nullopt;
    return kept < 0 ? std::nullopt : std::optional(kept);
  }

  Sizes dims_;
  bool keeps_dims_;
};

StepPointer make_mean(const Planner& planner, const BoundNode& node) {
  const Value* given = planner.constant(node, "dim");
  const auto* list = given == nullptr ? nullptr : given->get_if<Value::List>();
  const auto keeps = planner.flag(node, "keepdim");
  if (list == nullptr || list->empty() || !keeps || !planner.is_none(node, "dtype")) return nullptr;
  const auto dims = planner.integers(node, "dim", list->size());
  return dims ? std::make_unique<MeanStep>(node, *dims, *keeps) : nullptr;
}

}  // namespace

StepPointer make_pooling(const Planner& planner, const BoundNode& node) {
  const std::string_view name = node.op.def->signature->name;
  if (name == "aten::mean") return make_mean(planner, node);
  if (!planner.only_first_result_used(node)) return nullptr;
  Pooling pooling{.kind = Pooling::Kind::average};
  const size_t spatial = name.find("1d") == std::string_view::npos ? 2 : 1;
  if (name.find("adaptive") != std::string_view::npos) {
    const auto out = planner.integers(node, "output_size", spatial);
    if (!out || std::ranges::min(*out) < 1) return nullptr;
    pooling.adaptive = true;
    pooling.out_height = spatial == 2 ? (*out)[0] : 1;
    pooling.out_width = out->back();
    return std::make_unique<PoolingStep>(node, spatial, pooling, false);
  }
  const auto kernel = planner.integers(node, "kernel_size", spatial);
  const auto padding = planner.integers(node, "padding", spatial);
  const auto rounds_up = planner.flag(node, "ceil_mode");
  const Value* given = planner.constant(node, "stride");
  const auto* list = given == nullptr ? nullptr : given->get_if<Value::List>();
  const auto stride =
      list != nullptr && list->empty() ? kernel : planner.integers(node, "stride", spatial);
  if (!kernel || !padding || !stride || !rounds_up) return nullptr;
  Sizes dilation(spatial, 1);
  if (name.starts_with("aten::avg_pool")) {
    const auto counts = planner.flag(node, "count_include_pad");
    if (!counts || (spatial == 2 && !planner.is_none(node, "divisor_override"))) return nullptr;
    pooling.count_padding = *counts;
  } else {
    const auto found = planner.integers(node, "dilation", spatial);
    if (!found) return nullptr;
    dilation = *found;
    // A window with gaps may lie beside a small image.
    for (size_t i = 0; i < spatial; ++i)
      if (dilation[i] > 1 && (*padding)[i] > 0) return nullptr;
    pooling.kind = Pooling::Kind::maximum;
  }
  constexpr int64_t kMost = 1 << 20;
  for (size_t i = 0; i < spatial; ++i)
    if ((*kernel)[i] < 1 || (*kernel)[i] > kMost || (*stride)[i] < 1 || (*stride)[i] > kMost ||
        dilation[i] < 1 || dilation[i] > kMost || (*padding)[i] < 0 ||
        (*padding)[i] > (*kernel)[i] / 2)
      return nullptr;
  pooling.kernel_width = kernel->back();
  pooling.stride_x = stride->back();
  pooling.dilation_x = dilation.back();
  pooling.pad_x = padding->back();
  if (spatial == 2) {
    pooling.kernel_height = (*kernel)[0];
    pooling.stride_y = (*stride)[0];
    pooling.dilation_y = dilation[0];
    pooling.pad_y = (*padding)[0];
  }
  return std::make_unique<PoolingStep>(node, spatial, pooling, *rounds_up);
}

}  // namespace pt2::run
