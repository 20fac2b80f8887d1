// Padding: constant, reflected, replicated and circular.
#include <algorithm>
#include <array>
#include <span>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/borders.h"
#include "ops/shape/positions.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

// The padding before and after one dimension; negative numbers crop.
struct Margin {
  int64_t before = 0;
  int64_t after = 0;
};

// Negative margins crop before the border wraps around.
Margin cut_of(const Margin& margin) {
  return {std::min<int64_t>(margin.before, 0), std::min<int64_t>(margin.after, 0)};
}

// `pad` lists pairs, starting with the last dimension.
Result<std::vector<Margin>> margins_of(const Tensor& self, const Sizes& pad) {
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.sizes().size())
    return operator_error("found " + std::to_string(pad.size()) +
                          " padding numbers, expected pairs for at most " +
                          std::to_string(self.dim()) + " dims");
  for (int64_t width : pad)
    if (width < -INT64_MAX / 4 || width > INT64_MAX / 4)
      return operator_error("found padding " + std::to_string(width) + ", beyond any tensor");
  std::vector<Margin> margins(self.sizes().size());
  for (size_t i = 0; i < pad.size() / 2; ++i)
    margins[margins.size() - 1 - i] = {pad[2 * i], pad[2 * i + 1]};
  return margins;
}

Result<Meta> padded_meta(const Tensor& self, const std::vector<Margin>& margins) {
  Sizes sizes = self.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto [before, after] = margins[i];
    if (__builtin_add_overflow(sizes[i], before, &sizes[i]) ||
        __builtin_add_overflow(sizes[i], after, &sizes[i]) || sizes[i] < 0)
      return operator_error("padding " + std::to_string(before) + " and " + std::to_string(after) +
                            " leaves no size of dim " + std::to_string(i) + " of " +
                            std::to_string(self.sizes()[i]));
  }
  Sizes strides = format_strides(sizes, suggest_memory_format(self));
  return Meta(self.dtype(), std::move(sizes), std::move(strides));
}

// Returns, for each dimension of the padded tensor, the source positions of its elements.
std::vector<Positions> sources_of(const Sizes& padded, const Sizes& sizes,
                                  const std::vector<Margin>& margins, Border border) {
  std::vector<Positions> out;
  for (size_t i = 0; i < margins.size(); ++i) {
    Positions& line = out.emplace_back(static_cast<size_t>(padded[i]));
    for (size_t k = 0; k < line.size(); ++k)
      line[k] = border(static_cast<int64_t>(k) - margins[i].before, sizes[i]);
  }
  return out;
}

void fill_padded(Tensor& out, const Tensor& self, const std::vector<Margin>& margins,
                 Border border) {
  if (out.numel() == 0) return;  // its other dims may have any size
  take_positions(out, self, sources_of(out.sizes(), self.sizes(), margins, border));
}

Result<Meta> constant_meta(const Tensor& self, const Sizes& pad, const Scalar& value) {
  PT2_TRY(const auto margins, margins_of(self, pad));
  PT2_TRY(Meta meta, padded_meta(self, margins));
  // PyTorch crops before it pads (ATen/native/PadNd.cpp).
  for (size_t dim = 0; dim < margins.size(); ++dim)
    if (const Margin cut = cut_of(margins[dim]); self.sizes()[dim] + cut.before + cut.after < 0)
      return operator_error("padding crops more than the " + std::to_string(self.sizes()[dim]) +
                            " places of dim " + std::to_string(dim));
  // If padding only crops, the result is a copy of a view.
  if (std::ranges::all_of(pad, [](int64_t width) { return width <= 0; }))
    return meta_like(self.with_view(std::move(meta.sizes), self.strides(), 0), self.dtype(),
                     std::nullopt);
  PT2_TRY_VOID(expect_representable(value, self.dtype()));
  return meta;
}
Result<void> constant(Tensor& out, const Tensor& self, const Sizes& pad, const Scalar& value) {
  PT2_TRY(const auto margins, margins_of(self, pad));
  fill_elements(out, value);
  fill_padded(out, self, margins, constant_border);
  return {};
}

// The last `Dims` dims are padded; a channel dim and possibly a batch dim precede them.
template <size_t Dims>
Result<void> check_spatial(const Tensor& self, const Sizes& padding) {
  constexpr int64_t kRank = static_cast<int64_t>(Dims) + 1;
  if (self.dim() != kRank && self.dim() != kRank + 1)
    return operator_error("found rank " + std::to_string(self.dim()) + ", expected " +
                          std::to_string(kRank) + " or " + std::to_string(kRank + 1));
  if (padding.size() != 2 * Dims)
    return operator_error("found " + std::to_string(padding.size()) +
                          " padding numbers, expected " + std::to_string(2 * Dims));
  for (int64_t i = self.dim() - kRank; i < self.dim(); ++i)
    if (self.size(i) == 0)
      return operator_error("found sizes " + sizes_text(self.sizes()) +
                            ", expected no 0 but that of the batch");
  return {};
}
// A dimension can supply at most `size` elements to a border, one less for reflection.
Result<void> check_margins(const Tensor& self, const std::vector<Margin>& margins, bool reflects) {
  for (size_t i = 0; i < margins.size(); ++i) {
    const int64_t most = self.sizes()[i] - (reflects ? 1 : 0);
    const bool padded = margins[i].before != 0 || margins[i].after != 0;
    if (padded && (margins[i].before > most || margins[i].after > most))
      return operator_error(
          "found padding " + std::to_string(std::max(margins[i].before, margins[i].after)) +
          " of dim " + std::to_string(i) + ", expected at most " + std::to_string(most));
  }
  return {};
}
Result<Meta> not_empty(Result<Meta> meta, size_t dims) {
  if (!meta) return meta;
  for (size_t i = meta->sizes.size() - dims; i < meta->sizes.size(); ++i)
    if (meta->sizes[i] == 0)
      return operator_error("the padding leaves sizes " + sizes_text(meta->sizes));
  return meta;
}

template <size_t Dims, Border border>
Result<Meta> border_meta(const Tensor& self, const Sizes& padding) {
  PT2_TRY_VOID(check_spatial<Dims>(self, padding));
  PT2_TRY(const auto margins, margins_of(self, padding));
  if (border == reflected_border) PT2_TRY_VOID(check_margins(self, margins, true));
  return not_empty(padded_meta(self, margins), Dims);
}
template <Border border>
Result<void> pad_with(Tensor& out, const Tensor& self, const Sizes& padding) {
  PT2_TRY(const auto margins, margins_of(self, padding));
  fill_padded(out, self, margins, border);
  return {};
}
Result<Meta> circular_meta(const Tensor& self, const Sizes& pad) {
  PT2_TRY(const auto margins, margins_of(self, pad));
  PT2_TRY_VOID(check_margins(self, margins, false));
  PT2_TRY(Meta meta, padded_meta(self, margins));
  meta.strides.clear();
  for (size_t i = 0; i < margins.size(); ++i) {
    const Margin cut = cut_of(margins[i]);
    const int64_t left = self.sizes()[i] + cut.before + cut.after;
    if (std::max(margins[i].before, margins[i].after) > std::max<int64_t>(left, 0))
      return operator_error("found padding of dim " + std::to_string(i) +
                            ", expected at most its size " + std::to_string(left));
  }
  return not_empty(meta, pad.size() / 2);
}

// Adds gradients, starting at `from`, to the elements that were copied; advances `from`.
template <class C>
void add_to_sources(std::span<const Positions> sources, std::span<const int64_t> strides,
                    const C*& from, C* to) {
  if (sources.size() == 1) {
    for (const int64_t source : sources[0]) to[source] += *from++;
    return;
  }
  for (const int64_t source : sources[0])
    add_to_sources(sources.subspan(1), strides.subspan(1), from, to + source * strides[0]);
}

template <size_t Dims, Border border>
Result<Meta> padding_backward_meta(const Tensor& grad, const Tensor& self, const Sizes& padding) {
  PT2_TRY(const Meta meta, (border_meta<Dims, border>(self, padding)));
  PT2_TRY_VOID(check_sizes(grad, meta.sizes, "grad_output"));
  PT2_TRY_VOID(check_floating_or_complex(grad, "grad_output"));
  Meta out = like_in_format(self);
  out.dtype = grad.dtype();
  return out;
}
// An element that was copied several times accumulates all its gradients.
template <Border border>
Result<void> padding_backward(Tensor& out, const Tensor& grad, const Tensor& self,
                              const Sizes& padding) {
  PT2_TRY(const auto margins, margins_of(self, padding));
  const auto sources = sources_of(grad.sizes(), self.sizes(), margins, border);
  with_fraction_compute_type(grad.dtype(), [&]<class C>() {
    Output<C> sums(out);
    const Input<C> grads(grad);
    const C* from = grads.data();
    if (grad.numel() > 0)
      add_to_sources<C>(sources, contiguous_strides(self.sizes()), from, sums.data());
  });
  return {};
}

Result<Tensor> pad_by_mode(Emitter& e, const Tensor& self, const Sizes& pad,
                           const std::string& mode, std::optional<double> value) {
  if (mode == "constant") return e(aten<"constant_pad_nd.default">, {self, pad, value.value_or(0)});
  if (value && *value != 0)
    return operator_error("value: found a number, expected none for mode '" + mode + "'");
  if (mode == "circular") return e(aten<"_pad_circular.default">, {self, pad});
  constexpr Handle kReflection[] = {aten<"reflection_pad1d.default">,
                                    aten<"reflection_pad2d.default">,
                                    aten<"reflection_pad3d.default">};
  constexpr Handle kReplication[] = {aten<"replication_pad1d.default">,
                                     aten<"replication_pad2d.default">,
                                     aten<"replication_pad3d.default">};
  const size_t dims = pad.size() / 2;
  if ((mode != "reflect" && mode != "replicate") || dims < 1 || dims > 3 || pad.size() % 2 != 0)
    return operator_error("found mode '" + mode + "' and " + std::to_string(pad.size()) +
                          " padding numbers, expected 'constant', 'reflect', 'replicate' or "
                          "'circular' and 2, 4 or 6");
  return e((mode == "reflect" ? kReflection : kReplication)[dims - 1], {self, pad});
}

// Negative margins crop first. The margin before is then copied from the end of the remaining
// elements, the margin after from their start.
Result<Tensor> pad_circular(Emitter& e, const Tensor& self, const Sizes& pad) {
  PT2_TRY_VOID(circular_meta(self, pad));
  Tensor out = self;
  bool is_copy = false;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i);
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t start = std::max<int64_t>(-before, 0);
    const int64_t size = self.size(dim) - start - std::max<int64_t>(-after, 0);
    if (before < 0 || after < 0) {
      PT2_TRY(out, e(aten<"slice.Tensor">, {out, dim, start, start + size}));
    }
    const Tensor whole = out;
    std::vector<Tensor> parts{whole};
    if (before > 0) {
      PT2_TRY(Tensor end, e(aten<"slice.Tensor">, {whole, dim, size - before, size}));
      parts.insert(parts.begin(), std::move(end));
    }
    if (after > 0) {
      PT2_TRY(Tensor begin, e(aten<"slice.Tensor">, {whole, dim, 0, after}));
      parts.push_back(std::move(begin));
    }
    if (parts.size() > 1) {
      PT2_TRY(out, e(aten<"cat.default">, {parts, dim}));
      is_copy = true;
    }
  }
  if (is_copy && out.is_contiguous()) return out;
  return e(aten<"clone.default">, {out, MemoryFormat::contiguous});
}

Result<Tensor> pad_by_number(Emitter& e, const Tensor& self, const Sizes& pad, int64_t mode,
                             std::optional<double> value) {
  // The order of the enum at::native::padding_mode.
  constexpr std::array kModes{"reflect", "replicate", "circular", "constant"};
  if (mode < 0 || mode >= static_cast<int64_t>(kModes.size()))
    return operator_error("mode: found " + std::to_string(mode) + ", expected 0 to 3");
  return pad_by_mode(e, self, pad, kModes[static_cast<size_t>(mode)], value);
}

// clang-format off
constexpr OpDef kPaddingOps[] = {
    op<"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", constant_meta, constant>.with({.slope = Slope::linear, .linear_in = "self value"}),
    op<"aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", pad_by_mode>.with({.slope = Slope::linear, .linear_in = "self value"}),
    op<"aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor", pad_by_number>.with({.slope = Slope::linear, .linear_in = "self value"}),
    op<"aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor", pad_circular>.with({.slope = Slope::linear}),
    op<"aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", border_meta<1, reflected_border>, pad_with<reflected_border>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", border_meta<2, reflected_border>, pad_with<reflected_border>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", border_meta<3, reflected_border>, pad_with<reflected_border>>.with({.slope = Slope::linear}),
    op<"aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor", padding_backward_meta<1, reflected_border>, padding_backward<reflected_border>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor", padding_backward_meta<2, reflected_border>, padding_backward<reflected_border>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor", padding_backward_meta<3, reflected_border>, padding_backward<reflected_border>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor", padding_backward_meta<1, repeated_border>, padding_backward<repeated_border>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor", padding_backward_meta<2, repeated_border>, padding_backward<repeated_border>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor", padding_backward_meta<3, repeated_border>, padding_backward<repeated_border>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", border_meta<1, repeated_border>, pad_with<repeated_border>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", border_meta<2, repeated_border>, pad_with<repeated_border>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", border_meta<3, repeated_border>, pad_with<repeated_border>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> padding_ops() { return kPaddingOps; }

}  // namespace pt2::ops
