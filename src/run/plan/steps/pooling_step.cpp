// Pooling of signals, images and volumes.
#include <algorithm>

#include "base/memory_account.h"
#include "kernels/images/pooling.h"
#include "ops/reduction/reduce.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::Pooling;

// Images and result are channels last.
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

// A volume is pooled in its planes, and then the results are pooled along the depth. This gives the
// largest of the largest elements, and the mean of means of equally many elements.
class PoolingStep final : public Step {
 public:
  // `depth` has windows along the height alone.
  PoolingStep(const BoundNode& node, size_t spatial, const Pooling& plane, const Pooling& depth,
              bool rounds_up)
      : Step({&node}), spatial_(spatial), plane_(plane), depth_(depth), rounds_up_(rounds_up) {}

  std::string_view name() const override { return "pooling"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& argument = first().arguments[0];
    const Tensor* input = frame.tensor(argument);
    if (!is_float(input) || input->sizes().size() != spatial_ + 2) return false;
    const Sizes in = input->sizes();
    Pooling plane = plane_, depth = depth_;
    plane.batch = in[0];
    plane.channels = depth.channels = in[1];
    if (spatial_ == 3) plane.batch *= depth.in_height = in[2];
    if (spatial_ >= 2) plane.in_height = in[spatial_];
    plane.in_width = in[spatial_ + 1];
    if (!find_windows(plane) || (spatial_ == 3 && !find_windows(depth))) return false;
    depth.batch = in[0];
    depth.in_width = depth.out_width = plane.out_height * plane.out_width;

    const bool is_whole = plane.adaptive && plane.out_height * plane.out_width == 1 &&
                          (spatial_ < 3 || depth.out_height == 1);
    if (is_whole && input->is_contiguous() && !is_channels_last(*input)) {
      set_means(frame, *input);
      return true;
    }
    const Tensor images = channels_last_value(frame, argument);
    Sizes sizes{in[0], in[1]};
    if (spatial_ == 3) sizes.push_back(depth.out_height);
    if (spatial_ >= 2) sizes.push_back(plane.out_height);
    sizes.push_back(plane.out_width);
    Tensor out = make_images(frame, sizes);
    if (spatial_ == 3) {
      const Tensor planes =
          make_images(frame, {plane.batch, in[1], plane.out_height, plane.out_width});
      pool(frame, plane, images, planes);
      pool(frame, depth, planes, out);
    } else {
      pool(frame, plane, images, out);
    }
    frame.set(result(), std::move(out), true);
    return true;
  }

 private:
  // Computes the means of a single window over everything, for row-major input.
  void set_means(Frame& frame, const Tensor& from) const {
    Sizes sizes = from.sizes();
    Sizes dims;
    for (size_t i = 2; i < sizes.size(); ++i) {
      dims.push_back(static_cast<int64_t>(i));
      sizes[i] = 1;
    }
    Tensor out = frame.make(sizes);
    frame.launch(
        [from, dims,
         means = out.with_view({sizes[0], sizes[1]}, {sizes[1], 1}, out.storage_offset())] {
          Tensor to = means;
          return ops::reduce_floats(kernels::Reduction::mean, to, from, dims);
        });
    frame.set(result(), std::move(out), false);
  }

  // Counts the windows; false if there are none.
  bool find_windows(Pooling& shape) const {
    if (shape.adaptive) return true;
    shape.out_height = window_count(shape.in_height, shape.kernel_height, shape.stride_y,
                                    shape.dilation_y, shape.pad_y, rounds_up_);
    shape.out_width = window_count(shape.in_width, shape.kernel_width, shape.stride_x,
                                   shape.dilation_x, shape.pad_x, rounds_up_);
    return shape.out_height >= 1 && shape.out_width >= 1;
  }

  static void pool(Frame& frame, const Pooling& shape, const Tensor& from, const Tensor& to) {
    if (shape.adaptive)
      MemoryAccount::count_loops(
          {to.numel() / std::max<int64_t>(shape.out_height * shape.out_width, 1),
           shape.in_height + shape.out_height, shape.in_width + shape.out_width},
          1);
    else
      MemoryAccount::count_loops({to.numel(), std::min(shape.kernel_height, shape.in_height),
                                  std::min(shape.kernel_width, shape.in_width)},
                                 MemoryAccount::kScalarSteps);
    Tensor out = to;
    launch_pooling(frame, shape, from, out);
  }

  size_t spatial_;  // a signal is an image of one row
  Pooling plane_;
  Pooling depth_;
  bool rounds_up_;
};

// The windows along the width or along the height.
struct WindowsAlong {
  int64_t kernel = 1, stride = 1, dilation = 1, padding = 0;
};
void set_width(Pooling& pooling, const WindowsAlong& windows) {
  pooling.kernel_width = windows.kernel;
  pooling.stride_x = windows.stride;
  pooling.dilation_x = windows.dilation;
  pooling.pad_x = windows.padding;
}
void set_height(Pooling& pooling, const WindowsAlong& windows) {
  pooling.kernel_height = windows.kernel;
  pooling.stride_y = windows.stride;
  pooling.dilation_y = windows.dilation;
  pooling.pad_y = windows.padding;
}

size_t spatial_dims(std::string_view name) {
  if (name.find("1d") != name.npos) return 1;
  return name.find("2d") != name.npos ? 2 : 3;
}

}  // namespace

StepPointer make_pooling(const Planner& planner, const BoundNode& node) {
  const std::string_view name = node.op.def->signature->name;
  if (!planner.only_first_result_used(node)) return nullptr;
  const size_t spatial = spatial_dims(name);
  Pooling plane{.kind = Pooling::Kind::average}, depth = plane;
  if (name.find("adaptive") != std::string_view::npos) {
    const auto out = planner.integers(node, "output_size", spatial);
    if (!out || std::ranges::min(*out) < 1) return nullptr;
    plane.adaptive = true;
    plane.out_width = out->back();
    if (spatial >= 2) plane.out_height = (*out)[spatial - 2];
    depth = plane;
    depth.out_height = (*out)[0];
    return std::make_unique<PoolingStep>(node, spatial, plane, depth, false);
  }
  const auto kernel = planner.integers(node, "kernel_size", spatial);
  const auto padding = planner.integers(node, "padding", spatial);
  const auto rounds_up = planner.flag(node, "ceil_mode");
  const auto given = planner.integers(node, "stride");
  const auto stride = given && given->empty() ? kernel : planner.integers(node, "stride", spatial);
  if (!kernel || !padding || !stride || !rounds_up) return nullptr;
  Sizes dilation(spatial, 1);
  if (name.starts_with("aten::avg_pool")) {
    const auto counts = planner.flag(node, "count_include_pad");
    if (!counts || (spatial >= 2 && !planner.is_none(node, "divisor_override"))) return nullptr;
    plane.count_padding = depth.count_padding = *counts;
  } else {
    const auto found = planner.integers(node, "dilation", spatial);
    if (!found) return nullptr;
    dilation = *found;
    // A dilated window may lie beside a small image, wholly in its padding.
    for (size_t i = 0; i < spatial; ++i)
      if (dilation[i] > 1 && (*padding)[i] > 0) return nullptr;
    plane.kind = depth.kind = Pooling::Kind::maximum;
  }
  if (!are_window_sizes(*kernel, 1) || !are_window_sizes(*stride, 1) ||
      !are_window_sizes(dilation, 1))
    return nullptr;
  for (size_t i = 0; i < spatial; ++i)
    if ((*padding)[i] < 0 || (*padding)[i] > (*kernel)[i] / 2) return nullptr;
  const auto along = [&](size_t i) {
    return WindowsAlong{(*kernel)[i], (*stride)[i], dilation[i], (*padding)[i]};
  };
  set_width(plane, along(spatial - 1));
  if (spatial >= 2) set_height(plane, along(spatial - 2));
  set_height(depth, along(0));
  return std::make_unique<PoolingStep>(node, spatial, plane, depth, *rounds_up);
}

}  // namespace pt2::run
