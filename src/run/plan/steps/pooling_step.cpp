// Pooling of images and signals.
#include <algorithm>

#include "base/memory_account.h"
#include "kernels/images/pooling.h"
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
    // Adaptive windows hardly overlap.
    if (!shape.adaptive)
      MemoryAccount::count_loops({out.numel(), std::min(shape.kernel_height, shape.in_height),
                                  std::min(shape.kernel_width, shape.in_width)},
                                 MemoryAccount::kScalarSteps);
    launch_pooling(frame, shape, images, out);
    frame.set(result(), std::move(out), true);
    return true;
  }

 private:
  size_t spatial_;  // a signal is an image of one row
  Pooling pooling_;
  bool rounds_up_;
};

}  // namespace

StepPointer make_pooling(const Planner& planner, const BoundNode& node) {
  const std::string_view name = node.op.def->signature->name;
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
