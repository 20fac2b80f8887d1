// Reductions over segments of a dimension: torch.segment_reduce.
#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

enum class Reduction { sum, mean, max, min, prod };

Result<Reduction> reduction_of(const std::string& name) {
  constexpr std::string_view kNames[] = {"sum", "mean", "max", "min", "prod"};
  // "amax" and "amin" are aliases.
  const bool is_extreme = name == "amax" || name == "amin";
  const auto* found = std::ranges::find(kNames, std::string_view(name).substr(is_extreme ? 1 : 0));
  if (found == std::end(kNames))
    return operator_error("reduce: found '" + name + "', expected sum, mean, max, min or prod");
  return static_cast<Reduction>(found - kNames);
}

// The start value of each reduction, which is also the result of an empty segment.
double start_of(Reduction reduction, const std::optional<Scalar>& initial) {
  if (initial) return initial->to_double();
  switch (reduction) {
    case Reduction::max:
      return -HUGE_VAL;
    case Reduction::min:
      return HUGE_VAL;
    case Reduction::prod:
      return 1;
    default:
      return 0;
  }
}

// The product of the dims before the reduced one, its length, and the product of the dims after it.
struct Segments {
  int64_t outer = 1;
  int64_t length = 0;
  int64_t inner = 1;
  int64_t count = 0;
  // Segment s of outer index o begins at begin[o * count + s] and ends at the same index of `end`.
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
};

// With `whole`, the lengths must cover the dimension; otherwise they may leave a rest.
Result<void> add_runs(Segments& segments, const int64_t* numbers, bool are_lengths, bool whole) {
  int64_t position = 0;
  for (int64_t i = 0; i < segments.count; ++i) {
    const int64_t begin = are_lengths ? position : numbers[i];
    const int64_t end = are_lengths ? 0 : numbers[i + 1];
    if (are_lengths && (numbers[i] < 0 || numbers[i] > segments.length - position))
      return operator_error("lengths: found " + std::to_string(numbers[i]) +
                            ", expected at most the " + std::to_string(segments.length - position) +
                            " that are left");
    segments.begin.push_back(begin);
    segments.end.push_back(are_lengths ? begin + numbers[i] : end);
    position = segments.end.back();
    if (begin < 0 || begin > position || position > segments.length)
      return operator_error("offsets: found " + std::to_string(begin) + " to " +
                            std::to_string(position) + ", expected an ascending part of 0 to " +
                            std::to_string(segments.length));
  }
  if (are_lengths && whole && position != segments.length)
    return operator_error("lengths: found " + std::to_string(position) + " in all, expected " +
                          std::to_string(segments.length));
  return {};
}

Result<Meta> reduced_meta(const Tensor& data, const OptionalTensor& lengths,
                          const OptionalTensor& offsets, int64_t axis) {
  PT2_TRY_VOID(check_floating(data, "data"));
  PT2_TRY_VOID(check_rank_at_least(data, 1, "data"));
  if (!lengths && !offsets)
    return operator_error("lengths and offsets: found neither, expected one of them");
  const Tensor& given = lengths ? *lengths : *offsets;
  PT2_TRY_VOID(check_index_dtype(given, "lengths or offsets"));
  PT2_TRY(axis, wrap_dim(axis, data.dim()));
  if (given.dim() != axis + 1)
    return operator_error("axis: found " + std::to_string(axis) + ", expected the last of " +
                          given.type_text());
  for (int64_t dim = 0; dim < axis; ++dim)
    if (given.size(dim) != data.size(dim))
      return operator_error("lengths or offsets: found " + given.type_text() + " for data " +
                            data.type_text() + ", expected its first sizes");
  const int64_t count = given.size(axis) - (lengths ? 0 : 1);
  if (count < 0) return operator_error("offsets: found none, expected one or more");
  Sizes sizes = data.sizes();
  sizes[static_cast<size_t>(axis)] = count;
  return Meta(data.dtype(), std::move(sizes));
}
// `reduced` has the sizes of reduced_meta().
Result<Segments> segments_of(const Tensor& data, const OptionalTensor& lengths,
                             const OptionalTensor& offsets, int64_t axis, bool whole,
                             const Sizes& reduced) {
  const Tensor& given = lengths ? *lengths : *offsets;
  PT2_TRY(axis, wrap_dim(axis, data.dim()));
  Segments out;
  for (int64_t dim = 0; dim < axis; ++dim) out.outer *= data.size(dim);
  out.length = data.size(axis);
  for (int64_t dim = axis + 1; dim < data.dim(); ++dim) out.inner *= data.size(dim);
  out.count = reduced[static_cast<size_t>(axis)];
  const Input<int64_t> numbers(given);
  for (int64_t i = 0; i < out.outer; ++i)
    PT2_TRY_VOID(add_runs(out, numbers.data() + i * given.size(axis), lengths.has_value(), whole));
  return out;
}

double combine(Reduction reduction, double sum, double next) {
  switch (reduction) {
    case Reduction::max:
      return std::isnan(next) ? next : std::max(sum, next);
    case Reduction::min:
      return std::isnan(next) ? next : std::min(sum, next);
    case Reduction::prod:
      return sum * next;
    default:
      return sum + next;
  }
}

Result<Meta> segment_reduce_meta(const Tensor& data, const std::string& reduce,
                                 const OptionalTensor& lengths, const OptionalTensor& indices,
                                 const OptionalTensor& offsets, int64_t axis, bool,
                                 const std::optional<Scalar>&) {
  if (indices)
    return Error{ErrorCode::unsupported, "indices of segment_reduce are not supported", ""};
  PT2_TRY_VOID(reduction_of(reduce));
  return reduced_meta(data, lengths, offsets, axis);
}
Result<Tensor> segment_reduce(const Tensor& data, const std::string& reduce,
                              const OptionalTensor& lengths, const OptionalTensor& indices,
                              const OptionalTensor& offsets, int64_t axis, bool unsafe,
                              const std::optional<Scalar>& initial) {
  PT2_TRY(const Meta meta,
          segment_reduce_meta(data, reduce, lengths, indices, offsets, axis, unsafe, initial));
  PT2_TRY(const Reduction reduction, reduction_of(reduce));
  PT2_TRY(const Segments segments, segments_of(data, lengths, offsets, axis, !unsafe, meta.sizes));
  PT2_TRY(Tensor out, allocate(meta));
  const Input<double> x(data);
  Output<double> result(out);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t run = i / segments.inner;
    const auto at = static_cast<size_t>(run);
    const int64_t base =
        run / segments.count * segments.length * segments.inner + i % segments.inner;
    double value = start_of(reduction, initial);
    for (int64_t k = segments.begin[at]; k < segments.end[at]; ++k)
      value = combine(reduction, value, x[base + k * segments.inner]);
    const int64_t length = segments.end[at] - segments.begin[at];
    if (reduction == Reduction::mean && length == 0 && !initial)
      value = std::nan("");
    else if (reduction == Reduction::mean && length > 0 && !std::isnan(value))
      value /= static_cast<double>(length);
    result[i] = value;
  }
  return out;
}

// Extremes split their gradient equally among all elements that equal them.
void share_gradient(double grad, double extreme, const Input<double>& x, int64_t base,
                    int64_t stride, int64_t length, Output<double>& result) {
  int64_t equal = 0;
  for (int64_t k = 0; k < length; ++k) {
    const double value = x[base + k * stride];
    if (std::isnan(value) || value == extreme) {
      ++equal;
      result[base + k * stride] = grad;
    }
  }
  if (equal < 2) return;
  for (int64_t k = 0; k < length; ++k) result[base + k * stride] /= static_cast<double>(equal);
}

Result<Meta> segment_reduce_backward_meta(const Tensor& grad, const Tensor& output,
                                          const Tensor& data, const std::string& reduce,
                                          const OptionalTensor& lengths,
                                          const OptionalTensor& offsets, int64_t axis,
                                          const std::optional<Scalar>&) {
  PT2_TRY_VOID(reduction_of(reduce));
  PT2_TRY(const Meta reduced, reduced_meta(data, lengths, offsets, axis));
  PT2_TRY_VOID(check_sizes(grad, reduced.sizes, "grad"));
  PT2_TRY_VOID(check_sizes(output, reduced.sizes, "output"));
  return Meta::like(data);
}
Result<Tensor> segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data,
                                       const std::string& reduce, const OptionalTensor& lengths,
                                       const OptionalTensor& offsets, int64_t axis,
                                       const std::optional<Scalar>& initial) {
  PT2_TRY(const Meta meta, segment_reduce_backward_meta(grad, output, data, reduce, lengths,
                                                        offsets, axis, initial));
  PT2_TRY(const Reduction reduction, reduction_of(reduce));
  PT2_TRY(const Segments segments, segments_of(data, lengths, offsets, axis, false, grad.sizes()));
  PT2_TRY(Tensor out, allocate(meta));
  const Input<double> x(data);
  const Input<double> grads(grad);
  const Input<double> reduced(output);
  Output<double> result(out);
  const double start = start_of(Reduction::prod, initial);
  for (int64_t i = 0; i < grad.numel(); ++i) {
    const auto at = static_cast<size_t>(i / segments.inner);
    const int64_t length = segments.end[at] - segments.begin[at];
    const int64_t base = i / segments.inner / segments.count * segments.length * segments.inner +
                         i % segments.inner + segments.begin[at] * segments.inner;
    if (reduction == Reduction::max || reduction == Reduction::min) {
      share_gradient(grads[i], reduced[i], x, base, segments.inner, length, result);
      continue;
    }
    for (int64_t k = 0; k < length; ++k) {
      const int64_t place = base + k * segments.inner;
      double slope = reduction == Reduction::mean ? 1 / static_cast<double>(length) : 1;
      if (reduction == Reduction::prod) {
        slope = reduced[i] / x[place];
        if (x[place] == 0 || std::isnan(x[place])) {
          slope = start;
          for (int64_t other = 0; other < length; ++other)
            if (other != k) slope *= x[base + other * segments.inner];
        }
      }
      result[place] = grads[i] * slope;
    }
  }
  return out;
}

// clang-format off
constexpr OpDef kSegmentsOps[] = {
    composed<"aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor", segment_reduce_meta, segment_reduce>,
    composed<"aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor", segment_reduce_backward_meta, segment_reduce_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> segments_ops() { return kSegmentsOps; }

}  // namespace pt2::ops
