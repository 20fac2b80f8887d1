// Several elementwise functions in one pass over memory.
#include <algorithm>
#include <array>

#include "kernels/tiles.h"
#include "ops/convert.h"
#include "run/plan/halves.h"
#include "run/plan/planner.h"
#include "run/plan/pointwise.h"
#include "run/plan/steps/tile_builder.h"

namespace pt2::run {
namespace {

using kernels::TileInstruction;

constexpr size_t kMostNodes = 24;

class TileStep final : public Step {
 public:
  TileStep(Nodes nodes, std::vector<TileInstruction> instructions,
           std::vector<TileArgument> operands, Dtype dtype)
      : Step(std::move(nodes)),
        instructions_(std::move(instructions)),
        operands_(std::move(operands)),
        dtype_(dtype) {
    const auto is_of_doubles = [](Dtype each) { return real_dtype(each) == Dtype::float64; };
    if (is_of_doubles(dtype) || std::ranges::any_of(operands_, is_of_doubles, &TileArgument::dtype))
      computes_in_ = Dtype::float64;
    has_complex_ =
        is_complex(dtype) || std::ranges::any_of(operands_, is_complex, &TileArgument::dtype);
  }

  std::string_view name() const override { return "pointwise_chain"; }

  Result<bool> run(Frame& frame) const override {
    std::vector<Tensor> tensors;
    Sizes sizes;
    const auto is_tensor = [&](const TileArgument& operand) {
      const Tensor* tensor = frame.tensor(*operand.value);
      return tensor != nullptr && !tensor->is_wrapped_number();
    };
    if (std::ranges::none_of(operands_, is_tensor)) return false;
    for (const TileArgument& operand : operands_) {
      auto tensor = tensor_or_number(frame, operand);
      if (!tensor) return false;
      tensors.push_back(*std::move(tensor));
      if (operand.is_channels) continue;
      const auto all = ops::broadcast_sizes(std::array{sizes, tensors.back().sizes()});
      if (!all) return false;
      sizes = *all;
    }
    for (size_t i = 0; i < tensors.size(); ++i)
      if (operands_[i].is_channels && !lay_along_channels(tensors[i], sizes)) return false;
    // The result has the layout of the first operand that has its sizes.
    bool rearranged = false;
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].sizes() == sizes) {
        const auto id = Frame::value_id(*operands_[i].value);
        rearranged = !has_complex_ && is_channels_last(tensors[i]) &&
                     ((id && frame.is_rearranged(*id)) ||
                      (!tensors[i].is_contiguous() && may_lie_channels_last(tensors, sizes)));
        break;
      }
    const Sizes strides = rearranged ? channels_last_strides(sizes) : contiguous_strides(sizes);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (lies_across(tensors[i], sizes, strides)) {
        if (rearranged && tensors[i].sizes() != sizes) return false;
        tensors[i] = rearranged ? channels_last_value(frame, *operands_[i].value)
                                : to_row_major(frame, tensors[i]);
      }
    for (size_t i = 0; i < tensors.size(); ++i)
      if (operands_[i].part != TilePart::whole)
        tensors[i] = part_of(tensors[i], operands_[i].part == TilePart::imaginary);
    Tensor out = frame.make(sizes, strides, dtype_);
    const auto loops = tile_loops(sizes, strides, tensors);
    if (!loops) return false;
    launch_tiles(frame, *loops, instructions_, out);
    frame.set(result(), std::move(out), rearranged);
    return true;
  }

 private:
  // Views one number for each channel so that it broadcasts to `sizes`; false for other tensors.
  static bool lay_along_channels(Tensor& numbers, const Sizes& sizes) {
    if (numbers.dim() > 1) return false;
    if (numbers.numel() == 1) {
      numbers = numbers.with_view({}, {}, numbers.storage_offset());
      return true;
    }
    if (sizes.size() < 2 || numbers.numel() != sizes[1]) return false;
    Sizes own(sizes.size() - 1, 1), strides(sizes.size() - 1, 1);
    own[0] = sizes[1];
    strides[0] = numbers.stride(0);
    numbers = numbers.with_view(std::move(own), std::move(strides), numbers.storage_offset());
    return true;
  }

  // Returns a tensor operand, or a number of this call as a tensor; nullopt for others and for
  // other dtypes.
  static std::optional<Tensor> tensor_or_number(Frame& frame, const TileArgument& argument) {
    const Tensor* tensor = frame.tensor(*argument.value);
    if (tensor != nullptr && !tensor->is_wrapped_number())
      return tensor->defined() && tensor->dtype() == argument.dtype && tensor->numel() > 0 &&
                     is_aligned(*tensor)
                 ? std::optional(*tensor)
                 : std::nullopt;
    const auto found = number_in(frame, *argument.value, argument.dtype);
    if (!found || !argument.is_number) return std::nullopt;
    Tensor number = frame.make({}, {}, argument.dtype);
    frame.launch([to = number.raw_data(), dtype = argument.dtype, value = *found] {
      ops::store_elements(&value, 1, dtype, 1, to);
    });
    return number;
  }

  // Returns the dimension along which the result is contiguous; the rank if there is none.
  static size_t innermost(const Sizes& sizes, const Sizes& strides) {
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      if (sizes[dim] != 1 && strides[dim] == 1) return dim;
    return sizes.size();
  }

  // True if a float32 result may be channels last because its operands are, such as the bytes of a
  // photograph that the program stores channels last.
  bool may_lie_channels_last(std::span<const Tensor> tensors, const Sizes& sizes) const {
    if (dtype_ != Dtype::float32) return false;
    const Sizes strides = channels_last_strides(sizes);
    return std::ranges::none_of(tensors, [&](const Tensor& tensor) {
      return tensor.sizes() == sizes ? !is_channels_last(tensor)
                                     : lies_across(tensor, sizes, strides);
    });
  }

  // True if neighbours in the result are not adjacent in the operand, and it is no part of a
  // complex tensor.
  bool lies_across(const Tensor& tensor, const Sizes& sizes, const Sizes& strides) const {
    const size_t inner = innermost(sizes, strides);
    const int64_t farthest = tensor.dtype() == computes_in_ ? 2 : 1;
    return inner < sizes.size() && stride_along(tensor, inner, sizes.size()) > farthest;
  }

  std::vector<TileInstruction> instructions_;
  std::vector<TileArgument> operands_;
  Dtype dtype_;
  Dtype computes_in_ = Dtype::float32;
  bool has_complex_ = false;
};

// True if the program records the same sizes for both.
bool are_alike(const TensorMeta* a, const TensorMeta* b) {
  return a != nullptr && b != nullptr && a->sizes == b->sizes;
}

}  // namespace

StepPointer make_tiles(const Planner& planner, const BoundNode& node) {
  if (TileBuilder builder(planner); !builder.add(node) || !builder.instructions()) return nullptr;
  // Goes backwards and adds nodes whose results only nodes of the step use.
  Step::Nodes nodes{&node};
  for (size_t i = 0; i < nodes.size() && nodes.size() < kMostNodes; ++i)
    for (const BoundArgument& argument : nodes[i]->arguments) {
      const BoundNode* maker =
          planner.constant(&argument) != nullptr ? nullptr : planner.maker(argument);
      if (maker == nullptr || !planner.joins(*maker) ||
          std::ranges::find(nodes, maker) != nodes.end() ||
          !are_alike(planner.record(*maker), planner.record(node)))
        continue;
      const std::vector<const BoundNode*> users = planner.users(*maker);
      const auto is_inside = [&](const BoundNode* user) {
        return std::ranges::find(nodes, user) != nodes.end();
      };
      if (users.empty() || !std::ranges::all_of(users, is_inside)) continue;
      Step::Nodes more = nodes;
      more.push_back(maker);
      std::ranges::sort(more);  // bound nodes lie in program order
      TileBuilder builder(planner);
      if (std::ranges::all_of(more, [&](const BoundNode* each) { return builder.add(*each); }) &&
          builder.instructions())
        nodes.push_back(maker);
    }
  std::ranges::sort(nodes);
  TileBuilder builder(planner);
  for (const BoundNode* each : nodes) builder.add(*each);
  // A single node usually has another step that costs less to run.
  if (nodes.size() < 2 && (make_typed(planner, node) != nullptr ||
                           (builder.is_all_float32() && make_pointwise(planner, node) != nullptr)))
    return nullptr;
  return std::make_unique<TileStep>(std::move(nodes), *builder.instructions(), builder.operands(),
                                    builder.dtype());
}

}  // namespace pt2::run
