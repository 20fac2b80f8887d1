// Fourier transforms of tensors: the primitives of decomposed programs, and torch.fft, stft and
// istft composed of them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/strided_copy.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/shape/view.h"
#include "ops/signal/dft.h"

namespace pt2::ops {
namespace {

using OptionalInt = std::optional<int64_t>;
using OptionalSizes = std::optional<Sizes>;
using OptionalText = std::optional<std::string>;

// ATen/native/SpectralOpsUtils.h fft_norm_mode.
enum Normalization : int64_t { kNone = 0, kByRootN = 1, kByN = 2 };

Result<double> scale_of(int64_t normalization, const Sizes& sizes,
                        const std::vector<int64_t>& dims) {
  if (normalization < kNone || normalization > kByN)
    return operator_error("found normalization " + std::to_string(normalization) +
                          ", expected 0 to 2");
  double count = 1;
  for (int64_t dim : dims) count *= static_cast<double>(sizes[static_cast<size_t>(dim)]);
  if (normalization == kNone) return 1.0;
  return 1 / (normalization == kByN ? count : std::sqrt(count));
}

Result<Dtype> complex_dtype(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case Dtype::float64:
    case Dtype::complex128:
      return Dtype::complex128;
    case Dtype::float32:
    case Dtype::complex64:
      return Dtype::complex64;
    default:
      return operator_error("found dtype " + std::string(dtype_name(tensor.dtype())) +
                            ", expected float or complex of 32 or 64 bits");
  }
}

// Calls function.template operator()<T>() with the type of a complex tensor's parts.
template <class F>
auto with_part_type(Dtype dtype, F&& function) {
  return dtype == Dtype::complex128 || dtype == Dtype::float64
             ? function.template operator()<double>()
             : function.template operator()<float>();
}
Dtype part_dtype(Dtype dtype) {
  return dtype == Dtype::complex128 ? Dtype::float64 : Dtype::float32;
}

// Counts transforms of lines of n numbers; DiscreteFourier counts what a large prime factor adds.
void count_lines(int64_t numbers, int64_t n) {
  const auto levels = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(n)));
  MemoryAccount::count_loops({numbers, levels}, 1);
}

// Transforms the lines that begin at the data of `from`, and at `across` from there.
template <class T>
void transform_across(const DiscreteFourier<T>& fourier, ConstLines<T> from, Lines<T> to,
                      std::vector<LayoutDim> across, double scale) {
  if (across.empty()) return fourier.transform(from, to, 1, scale);
  // Lines along the last dimension are transformed together: enough to fill a vector, and close.
  const int64_t lanes = kernels::fourier_lanes<T>();
  std::ranges::stable_sort(across, [lanes](const LayoutDim& a, const LayoutDim& b) {
    const int64_t filled = std::min(a.size, lanes), more = std::min(b.size, lanes);
    return filled != more ? filled < more : a.from + a.to > b.from + b.to;
  });
  LayoutDim& inner = across.back();
  from.distance = inner.from;
  to.distance = inner.to;
  if (across.size() == 1) return fourier.transform(from, to, inner.size, scale);
  const LayoutDim outer = across.front();
  // The lines that are left over of full vectors may fill vectors along another dimension.
  const int64_t rest = inner.size % lanes;
  if (inner.size > lanes && rest > 0 && across[across.size() - 2].size > rest) {
    inner.size -= rest;
    transform_across(fourier, from, to, across, scale);
    from = from.line(inner.size);
    to = to.line(inner.size);
    inner.size = rest;
    return transform_across(fourier, from, to, across, scale);
  }
  across.erase(across.begin());
  from.distance = outer.from;
  to.distance = outer.to;
  for (int64_t i = 0; i < outer.size; ++i)
    transform_across(fourier, from.line(i), to.line(i), across, scale);
}

// Transforms every line of a complex tensor along `dim`. `to` is `from`, or shares no memory with
// it.
void transform_lines(const Tensor& from, Tensor& to, int64_t dim, bool forward, double scale) {
  const int64_t n = to.size(dim);
  count_lines(to.numel(), n);
  // The lines begin at every place but those along `dim`.
  Sizes places = to.sizes();
  places[static_cast<size_t>(dim)] = 1;
  const std::vector<LayoutDim> across = joined_dims(places, from.strides(), to.strides());
  int64_t count = 1;
  for (const LayoutDim& each : across) count = std::max(count, each.size);
  with_part_type(to.dtype(), [&]<class T>() {
    using Number = std::complex<T>;
    const DiscreteFourier<T> fourier(n, forward, count);
    transform_across<T>(fourier, {from.data<Number>(), from.stride(dim), 0},
                        {to.data<Number>(), to.stride(dim), 0}, across, scale);
  });
}

Result<void> check_points(const Tensor& self, const std::vector<int64_t>& dims) {
  for (int64_t dim : dims)
    if (self.size(dim) == 0)
      return operator_error("found size 0 of dim " + std::to_string(dim) +
                            " to transform, expected 1 or more");
  return {};
}

// Transforms one dim or more; `to` is `from`, or shares no memory with it.
void transform_dims_of(const Tensor& from, Tensor& to, const std::vector<int64_t>& dims,
                       double scale, bool forward) {
  // If there are no lines, their length may be any number.
  for (size_t i = 0; to.numel() > 0 && i < dims.size(); ++i)
    transform_lines(i == 0 ? from : to, to, dims[i], forward, i == 0 ? scale : 1);
}
// The complex numbers as kernels can read them; a file may place a tensor at any address.
Tensor aligned_numbers(const Tensor& self) {
  if (is_place_of<double>(self.raw_data()) || self.numel() == 0) return self;
  Tensor out = Tensor::zeros(self.dtype(), self.sizes());
  copy_elements(out, self);
  return out;
}
// A row-major tensor to compute in: `out` itself if it is row-major.
Tensor row_major_result(const Tensor& out) {
  return out.is_contiguous() ? out : Tensor::zeros(out.dtype(), out.sizes());
}

// The number of lines of real numbers that are transformed together: a few vectors of lines, so
// that the buffers besides operand and result stay small.
constexpr int64_t kRealLines = 64;

// All dims but `last`, numbered after `last` is moved to the end of the tensor.
std::vector<int64_t> dims_before(std::vector<int64_t> dims, int64_t last) {
  dims.pop_back();
  for (int64_t& dim : dims) dim -= dim > last ? 1 : 0;
  return dims;
}

Result<std::vector<int64_t>> transform_dims(const Tensor& self, const std::vector<int64_t>& dim) {
  if (self.dim() == 0 && !dim.empty())
    return operator_error("found a 0-dim tensor, expected dims to transform");
  return wrap_distinct_dims(dim, self.dim());
}

// The strides of MKL's results: the transformed dims are innermost in the given order, the others
// are ordered by their strides (ATen/native/mkl/SpectralOps.cpp _exec_fft).
Sizes spectrum_strides(const Sizes& input, const Sizes& sizes, const std::vector<int64_t>& dims) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < input.size(); ++i)
    if (std::ranges::count(dims, static_cast<int64_t>(i)) == 0)
      order.push_back(static_cast<int64_t>(i));
  auto farther = [&](int64_t a, int64_t b) {
    return input[static_cast<size_t>(a)] > input[static_cast<size_t>(b)];
  };
  std::ranges::stable_sort(order, farther);
  order.insert(order.end(), dims.begin(), dims.end());
  Sizes strides(sizes.size());
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(order[i]);
    strides[dim] = next;
    next *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}
// The first `count` dims in MKL's order of transforms: by strides, outermost first.
std::vector<int64_t> by_strides(const Tensor& tensor, std::vector<int64_t> dims, size_t count) {
  auto farther = [&](int64_t a, int64_t b) { return tensor.stride(a) > tensor.stride(b); };
  std::stable_sort(dims.begin(), dims.begin() + static_cast<int64_t>(count), farther);
  return dims;
}
Meta overwritten(Dtype dtype, Sizes sizes, Sizes strides) {
  Meta meta(dtype, std::move(sizes), std::move(strides));
  meta.is_overwritten = true;
  return meta;
}
Result<Meta> c2c_meta(const Tensor& self, const std::vector<int64_t>& dim, int64_t normalization,
                      bool) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex)
    return operator_error("found a real tensor, expected a complex one");
  PT2_TRY(const Dtype dtype, complex_dtype(self));
  PT2_TRY(const auto dims, transform_dims(self, dim));
  PT2_TRY_VOID(scale_of(normalization, self.sizes(), dims));
  PT2_TRY_VOID(check_points(self, dims));
  if (dims.empty()) return Meta::like(self);
  const auto order = by_strides(self, dims, dims.size());
  return overwritten(dtype, self.sizes(), spectrum_strides(self.strides(), self.sizes(), order));
}
Result<void> c2c(Tensor& out, const Tensor& self, const std::vector<int64_t>& dim,
                 int64_t normalization, bool forward) {
  PT2_TRY(const auto dims, transform_dims(self, dim));
  PT2_TRY(const double scale, scale_of(normalization, self.sizes(), dims));
  PT2_TRY_VOID(check_points(self, dims));
  if (dims.empty()) copy_elements(out, self);
  transform_dims_of(aligned_numbers(self), out, dims, scale, forward);
  return {};
}

Result<Meta> r2c_meta(const Tensor& self, const std::vector<int64_t>& dim, int64_t normalization,
                      bool onesided) {
  if (dtype_category(self.dtype()) != DtypeCategory::floating)
    return operator_error("found dtype " + std::string(dtype_name(self.dtype())) +
                          ", expected a float one");
  PT2_TRY(const Dtype dtype, complex_dtype(self));
  PT2_TRY(const auto dims, transform_dims(self, dim));
  if (dims.empty()) return operator_error("dim: found no dims to transform, expected one or more");
  PT2_TRY_VOID(scale_of(normalization, self.sizes(), dims));
  PT2_TRY_VOID(check_points(self, dims));
  Sizes sizes = self.sizes();
  int64_t& last = sizes[static_cast<size_t>(dims.back())];
  if (onesided) last = last / 2 + 1;
  const auto order = by_strides(self, dims, dims.size() - 1);
  Sizes strides = spectrum_strides(self.strides(), sizes, order);
  return overwritten(dtype, std::move(sizes), std::move(strides));
}
Result<void> r2c(Tensor& out, const Tensor& self, const std::vector<int64_t>& dim,
                 int64_t normalization, bool onesided) {
  PT2_TRY(const auto dims, transform_dims(self, dim));
  PT2_TRY(const double scale, scale_of(normalization, self.sizes(), dims));
  const int64_t last = dims.back();
  const int64_t n = self.size(last);
  const int64_t length = onesided ? n / 2 + 1 : n;
  const Tensor lines = to_dense(dim_last(self, last), self.dtype(), part_dtype(out.dtype()));
  Tensor target = dim_last(out, last);
  Tensor work = row_major_result(target);
  count_lines(lines.numel(), n);
  if (work.numel() > 0)
    with_part_type(out.dtype(), [&]<class T>() {
      const int64_t count = lines.numel() / n;
      const RealFourier<T> fourier(n, true, count);
      for (int64_t i = 0; i < count; i += kRealLines)
        fourier.to_spectra(lines.data<T>() + i * n, std::min(kRealLines, count - i),
                           work.data<std::complex<T>>() + i * length, length, scale);
    });
  transform_dims_of(work, work, dims_before(dims, last), 1, true);
  finish_dense(target, work);
  return {};
}

Result<Meta> c2r_meta(const Tensor& self, const std::vector<int64_t>& dim, int64_t normalization,
                      int64_t last_dim_size) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex)
    return operator_error("found a real tensor, expected a complex one");
  PT2_TRY(const Dtype dtype, complex_dtype(self));
  PT2_TRY(auto dims, transform_dims(self, dim));
  if (dims.empty()) return operator_error("dim: found no dims to transform, expected one or more");
  const int64_t last = dims.back();
  if (last_dim_size < 1 || self.size(last) < last_dim_size / 2 + 1)
    return operator_error("found size " + std::to_string(self.size(last)) +
                          ", expected at least half of " + std::to_string(last_dim_size));
  Sizes sizes = self.sizes();
  sizes[static_cast<size_t>(last)] = last_dim_size;
  PT2_TRY_VOID(scale_of(normalization, sizes, dims));
  dims.pop_back();
  PT2_TRY_VOID(check_points(self, dims));
  // The other dims are transformed separately, before the last dim.
  const Sizes before = dims.empty() ? self.strides()
                                    : spectrum_strides(self.strides(), self.sizes(),
                                                       by_strides(self, dims, dims.size()));
  Sizes strides = spectrum_strides(before, sizes, {last});
  return overwritten(part_dtype(dtype), std::move(sizes), std::move(strides));
}
Result<void> c2r(Tensor& out, const Tensor& self, const std::vector<int64_t>& dim,
                 int64_t normalization, int64_t last_dim_size) {
  PT2_TRY(const auto dims, transform_dims(self, dim));
  const int64_t last = dims.back();
  PT2_TRY(const double scale, scale_of(normalization, out.sizes(), dims));
  const int64_t length = last_dim_size / 2 + 1;
  PT2_TRY(const Tensor read, slice(self, last, 0, length, 1));
  const Tensor spectra = dim_last(read, last);
  const std::vector<int64_t> others = dims_before(dims, last);
  PT2_TRY_VOID(check_points(spectra, others));
  // Spectra that lie as blocks are read in place, whatever else is behind their halves.
  const bool are_blocks = others.empty() && self.is_contiguous() && last == self.dim() - 1;
  Tensor half = aligned_numbers(are_blocks ? self : spectra);
  if (others.empty()) {
    half = half.contiguous();
  } else {
    Tensor transformed = Tensor::zeros(self.dtype(), spectra.sizes());
    transform_dims_of(half, transformed, others, 1, false);
    half = std::move(transformed);
  }
  const int64_t distance = half.sizes().back();
  Tensor target = dim_last(out, last);
  Tensor lines = row_major_result(target);
  count_lines(lines.numel(), last_dim_size);
  if (lines.numel() > 0)
    with_part_type(out.dtype(), [&]<class T>() {
      const int64_t count = lines.numel() / last_dim_size;
      const RealFourier<T> fourier(last_dim_size, false, count);
      for (int64_t i = 0; i < count; i += kRealLines)
        fourier.from_spectra(std::as_const(half).data<std::complex<T>>() + i * distance,
                             std::min(kRealLines, count - i), distance,
                             lines.data<T>() + i * last_dim_size, scale);
    });
  finish_dense(target, lines);
  return {};
}

// --- torch.fft

Result<int64_t> normalization_of(const OptionalText& norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kNone : kByN;
  if (*norm == "forward") return forward ? kByN : kNone;
  if (*norm == "ortho") return kByRootN;
  return operator_error("found norm '" + *norm + "', expected 'forward', 'backward' or 'ortho'");
}
Result<Tensor> promoted_input(Emitter& e, const Tensor& self, bool complex) {
  Dtype dtype = float_or_default(self.dtype());
  if (complex) dtype = promote_types(dtype, Dtype::complex64);
  return e(aten<"to.dtype">, {self, dtype});
}
Result<void> check_real(const Tensor& self) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex) return {};
  return operator_error("found a complex tensor, expected a real one");
}
// Crops the dims to these sizes, or pads them with zeros; -1 keeps a size (resize_fft_input).
Result<Tensor> resized(Emitter& e, const Result<Tensor>& self, const std::vector<int64_t>& dims,
                       const Sizes& sizes) {
  PT2_TRY(Tensor out, self);
  Sizes pad(2 * out.sizes().size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t size = out.size(dims[i]);
    const int64_t wanted = sizes[i] == -1 ? size : sizes[i];
    if (wanted < 1)
      return operator_error("found " + std::to_string(wanted) + " points, expected 1 or more");
    if (wanted > size) pad[pad.size() - 2 * static_cast<size_t>(dims[i]) - 1] = wanted - size;
    if (wanted >= size) continue;
    PT2_TRY(out, e(aten<"slice.Tensor">, {out, dims[i], 0, wanted}));
  }
  const bool pads = std::ranges::any_of(pad, [](int64_t count) { return count > 0; });
  return pads ? e(aten<"constant_pad_nd.default">, {out, pad}) : Result<Tensor>(out);
}

template <bool Forward>
Result<Tensor> c2c_along(Emitter& e, const Tensor& self, const std::vector<int64_t>& dims,
                         const Sizes& sizes, const OptionalText& norm) {
  PT2_TRY(const int64_t normalization, normalization_of(norm, Forward));
  const auto whole = resized(e, promoted_input(e, self, true), dims, sizes);
  return e(aten<"_fft_c2c.default">, {whole, dims, normalization, Forward});
}
Result<Tensor> r2c_along(Emitter& e, const Tensor& self, const std::vector<int64_t>& dims,
                         const Sizes& sizes, const OptionalText& norm, bool forward,
                         bool onesided) {
  PT2_TRY_VOID(check_real(self));
  PT2_TRY(const int64_t normalization, normalization_of(norm, forward));
  const auto whole = resized(e, promoted_input(e, self, false), dims, sizes);
  return e(aten<"_fft_r2c.default">, {whole, dims, normalization, onesided});
}
Result<Tensor> rfft_along(Emitter& e, const Tensor& self, const std::vector<int64_t>& dims,
                          const Sizes& sizes, const OptionalText& norm) {
  return r2c_along(e, self, dims, sizes, norm, true, true);
}
// Along one dim, real input uses a real transform.
template <bool Forward>
Result<Tensor> fft_along(Emitter& e, const Tensor& self, const std::vector<int64_t>& dims,
                         const Sizes& sizes, const OptionalText& norm) {
  if (dtype_category(self.dtype()) == DtypeCategory::complex)
    return c2c_along<Forward>(e, self, dims, sizes, norm);
  const auto out = r2c_along(e, self, dims, sizes, norm, Forward, false);
  return Forward ? out : e(aten<"conj.default">, {out});
}
// The length of the signal for half a spectrum: `points`, or an even number if `points` is -1.
Result<int64_t> hermitian_length(const Tensor& half, int64_t dim, int64_t points) {
  const int64_t length = points == -1 ? 2 * (half.size(dim) - 1) : points;
  if (length < 1)
    return operator_error("found " + std::to_string(length) + " points, expected 1 or more");
  return length;
}
// A forward transform of a Hermitian signal is the inverse real transform of the conjugate. Dims
// except the last are transformed forwards (ATen/native/SpectralOps.cpp fft_hfftn_impl).
template <bool Forward>
Result<Tensor> c2r_along(Emitter& e, const Tensor& self, const std::vector<int64_t>& all_dims,
                         const Sizes& all_sizes, const OptionalText& norm) {
  std::vector<int64_t> dims = all_dims;
  Sizes sizes = all_sizes;
  PT2_TRY(const int64_t normalization, normalization_of(norm, Forward));
  if (dims.empty()) return operator_error("dim: found no dims to transform, expected one or more");
  PT2_TRY(const int64_t length, hermitian_length(self, dims.back(), sizes.back()));
  if (sizes.back() != -1) sizes.back() = length / 2 + 1;
  auto half = resized(e, promoted_input(e, self, true), dims, sizes);
  if (Forward) {
    const int64_t last = dims.back();
    dims.pop_back();
    if (!dims.empty()) half = e(aten<"_fft_c2c.default">, {half, dims, normalization, true});
    half = e(aten<"conj.default">, {half});
    dims = {last};
  }
  return e(aten<"_fft_c2r.default">, {half, dims, normalization, length});
}
Result<Tensor> ihfft_along(Emitter& e, const Tensor& self, const std::vector<int64_t>& dims,
                           const Sizes& sizes, const OptionalText& norm) {
  PT2_TRY_VOID(check_real(self));
  PT2_TRY(const int64_t normalization, normalization_of(norm, false));
  if (dims.empty()) return operator_error("dim: found no dims to transform, expected one or more");
  const auto whole = resized(e, promoted_input(e, self, false), dims, sizes);
  auto half = e(aten<"_fft_r2c.default">, {whole, Sizes{dims.back()}, normalization, true});
  half = e(aten<"conj_physical.default">, {half});
  const Sizes others(dims.begin(), dims.end() - 1);
  return others.empty() ? half : e(aten<"_fft_c2c.default">, {half, others, normalization, false});
}

// A transform along `dims`; `sizes` as for resized().
using Transform = Result<Tensor> (*)(Emitter& e, const Tensor& self,
                                     const std::vector<int64_t>& dims, const Sizes& sizes,
                                     const OptionalText& norm);

template <Transform T>
Result<Tensor> fft_line(Emitter& e, const Tensor& self, OptionalInt n, int64_t dim,
                        const OptionalText& norm) {
  PT2_TRY(const auto dims, transform_dims(self, {dim}));
  return T(e, self, dims, {n.value_or(-1)}, norm);
}

struct Region {
  std::vector<int64_t> dims;
  Sizes sizes;
};
// Without `dim`: as many last dims as `s` has sizes, or all dims.
Result<Region> region_of(const Tensor& self, const OptionalSizes& s, const OptionalSizes& dim) {
  Region region;
  if (dim) {
    PT2_TRY(region.dims, transform_dims(self, *dim));
  } else {
    const int64_t count = s ? static_cast<int64_t>(s->size()) : self.dim();
    if (count > self.dim())
      return operator_error("found " + std::to_string(count) + " sizes for rank " +
                            std::to_string(self.dim()) + ", expected no more");
    for (int64_t i = self.dim() - count; i < self.dim(); ++i) region.dims.push_back(i);
  }
  region.sizes = s.value_or(Sizes(region.dims.size(), -1));
  if (region.sizes.size() != region.dims.size())
    return operator_error("found " + std::to_string(region.sizes.size()) + " sizes for " +
                          std::to_string(region.dims.size()) + " dims, expected as many");
  return region;
}
template <Transform T>
Result<Tensor> fft_region(Emitter& e, const Tensor& self, const OptionalSizes& s,
                          const OptionalSizes& dim, const OptionalText& norm) {
  PT2_TRY(const Region all, region_of(self, s, dim));
  return T(e, self, all.dims, all.sizes, norm);
}
// The same for operators whose `dim` is never absent.
template <Transform T>
Result<Tensor> fft_plane(Emitter& e, const Tensor& self, const OptionalSizes& s, const Sizes& dim,
                         const OptionalText& norm) {
  return fft_region<T>(e, self, s, dim, norm);
}

Result<Sizes> shifted_dims(const Tensor& self, const OptionalSizes& dim) {
  if (!dim) {
    PT2_TRY(const Region region, region_of(self, std::nullopt, dim));
    return region.dims;
  }
  Sizes dims;
  for (const int64_t d : *dim) {
    PT2_TRY(const int64_t wrapped, wrap_existing_dim(d, self));
    dims.push_back(wrapped);
  }
  return dims;
}
template <bool Inverse>
Result<Tensor> shift_halves(Emitter& e, const Tensor& self, const OptionalSizes& dim) {
  // A dim that is named twice is shifted twice.
  PT2_TRY(const Sizes dims, shifted_dims(self, dim));
  Sizes shifts;
  for (const int64_t d : dims)
    shifts.push_back(Inverse ? (self.size(d) + 1) / 2 : self.size(d) / 2);
  return e(aten<"roll.default">, {self, shifts, dims});
}

// --- Short-time transforms

struct Frames {
  int64_t hop = 0;
  int64_t window_length = 0;
};
Result<Frames> frames_of(int64_t n_fft, OptionalInt hop_length, OptionalInt win_length,
                         const OptionalTensor& window) {
  const Frames frames{hop_length.value_or(n_fft / 4), win_length.value_or(n_fft)};
  if (n_fft < 1 || frames.hop < 1 || frames.window_length < 1 || frames.window_length > n_fft)
    return operator_error("found n_fft " + std::to_string(n_fft) + ", hop_length " +
                          std::to_string(frames.hop) + " and win_length " +
                          std::to_string(frames.window_length) +
                          ", expected 1 or more, and win_length at most n_fft");
  if (window && (window->dim() != 1 || window->size(0) != frames.window_length))
    return operator_error("found a window of sizes " + sizes_text(window->sizes()) +
                          ", expected [" + std::to_string(frames.window_length) + "]");
  return frames;
}
// The window centred in n_fft points. Without `window`: ones of the window length, or nothing
// (nullopt) if n_fft points would all be ones.
Result<OptionalTensor> padded_window(Emitter& e, const OptionalTensor& window, const Frames& frames,
                                     int64_t n_fft, Dtype dtype) {
  const int64_t width = frames.window_length;
  if (!window && width == n_fft) return OptionalTensor();
  PT2_TRY(Tensor out,
          window ? Result<Tensor>(*window) : e(aten<"ones.default">, {Sizes{width}, dtype}));
  if (width == n_fft) return OptionalTensor(out);
  const int64_t left = (n_fft - width) / 2;
  PT2_TRY(out, e(aten<"constant_pad_nd.default">, {out, Sizes{left, n_fft - width - left}}));
  return OptionalTensor(out);
}

Result<Tensor> stft(Emitter& e, const Tensor& self, int64_t n_fft, OptionalInt hop_length,
                    OptionalInt win_length, const OptionalTensor& window, bool normalized,
                    std::optional<bool> onesided, std::optional<bool> return_complex,
                    std::optional<bool> align_to_window) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  if (self.dim() != 1 && self.dim() != 2)
    return operator_error("found rank " + std::to_string(self.dim()) + ", expected 1 or 2");
  PT2_TRY(const Frames frames, frames_of(n_fft, hop_length, win_length, window));
  const bool complex_input = dtype_category(self.dtype()) == DtypeCategory::complex ||
                             (window && dtype_category(window->dtype()) == DtypeCategory::complex);
  if (!return_complex && !complex_input)
    return operator_error("found no return_complex, expected it for a real signal");
  const bool half = onesided.value_or(!complex_input);
  if (half && complex_input)
    return operator_error("onesided: found True for a complex signal, expected False");
  if (self.sizes().back() < n_fft)
    return operator_error("found " + std::to_string(self.sizes().back()) +
                          " samples, expected at least n_fft " + std::to_string(n_fft));
  const bool batched = self.dim() == 2;
  const auto batch = batched ? Result<Tensor>(self) : e(aten<"unsqueeze.default">, {self, 0});
  const int64_t padding = align_to_window.value_or(false) ? (n_fft - frames.window_length) / 2 : 0;
  const auto samples =
      padding == 0 ? batch : e(aten<"constant_pad_nd.default">, {batch, Sizes{padding, padding}});
  auto pieces = e(aten<"unfold.default">, {samples, -1, n_fft, frames.hop});
  PT2_TRY(const OptionalTensor shape, padded_window(e, window, frames, n_fft, self.dtype()));
  if (shape) pieces = e(aten<"mul.Tensor">, {pieces, *shape});
  const int64_t normalization = normalized ? kByRootN : kNone;
  const auto spectra = complex_input
                           ? e(aten<"_fft_c2c.default">, {pieces, Sizes{2}, normalization, true})
                           : e(aten<"_fft_r2c.default">, {pieces, Sizes{2}, normalization, half});
  auto out = e(aten<"transpose.int">, {spectra, 1, 2});
  if (!batched) out = e(aten<"squeeze.dim">, {out, 0});
  return return_complex.value_or(true) ? out : e(aten<"view_as_real.default">, {out});
}

Result<Tensor> stft_center(Emitter& e, const Tensor& self, int64_t n_fft, OptionalInt hop_length,
                           OptionalInt win_length, const OptionalTensor& window, bool center,
                           const std::string& pad_mode, bool normalized,
                           std::optional<bool> onesided, std::optional<bool> return_complex,
                           std::optional<bool> align) {
  Tensor input = self;
  if (center && align)
    return operator_error("found align_to_window of a signal that center pads, expected none");
  if (center) {
    if (self.dim() != 1 && self.dim() != 2)
      return operator_error("found rank " + std::to_string(self.dim()) + ", expected 1 or 2");
    // Padding requires a batch and a channel dim.
    Sizes sizes(static_cast<size_t>(3 - self.dim()), 1);
    sizes.insert(sizes.end(), self.sizes().begin(), self.sizes().end());
    const auto line = e(aten<"view.default">, {self, sizes});
    PT2_TRY(const Tensor padded,
            e(aten<"pad.default">, {line, Sizes{n_fft / 2, n_fft / 2}, pad_mode}));
    sizes = self.sizes();
    sizes.back() = padded.sizes().back();
    PT2_TRY(input, e(aten<"view.default">, {padded, sizes}));
  }
  return stft(e, input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex,
              align);
}

// Error if the sum of the squared windows over a sample is zero.
Result<void> check_weights(const Tensor& weights) {
  PT2_TRY(const Tensor wide, copy_as(weights, Dtype::float64, MemoryFormat::contiguous));
  for (const double weight : wide.as<double>())
    if (!(std::fabs(weight) > 1e-11))
      return operator_error("the window leaves samples without weight");
  return {};
}

Result<Tensor> istft(Emitter& e, const Tensor& self, int64_t n_fft, OptionalInt hop_length,
                     OptionalInt win_length, const OptionalTensor& window, bool center,
                     bool normalized, std::optional<bool> onesided, OptionalInt length,
                     bool return_complex) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex)
    return operator_error("found a real tensor, expected a complex one");
  if ((self.dim() != 2 && self.dim() != 3) || self.numel() == 0)
    return operator_error("found sizes " + sizes_text(self.sizes()) + ", expected 2 or 3");
  PT2_TRY(const Frames frames, frames_of(n_fft, hop_length, win_length, window));
  const bool batched = self.dim() == 3;
  PT2_TRY(const Tensor batch,
          batched ? Result<Tensor>(self) : e(aten<"unsqueeze.default">, {self, 0}));
  const int64_t frame_count = batch.size(2);
  const bool half = onesided.value_or(batch.size(1) != n_fft);
  if (batch.size(1) != (half ? n_fft / 2 + 1 : n_fft) || (half && return_complex))
    return operator_error("found " + std::to_string(batch.size(1)) + " frequencies for n_fft " +
                          std::to_string(n_fft));
  auto spectra = e(aten<"transpose.int">, {batch, 1, 2});
  const int64_t normalization = normalized ? kByRootN : kByN;
  if (!return_complex && !half) spectra = e(aten<"slice.Tensor">, {spectra, -1, 0, n_fft / 2 + 1});
  PT2_TRY(const Tensor pieces,
          return_complex ? e(aten<"_fft_c2c.default">, {spectra, Sizes{2}, normalization, false})
                         : e(aten<"_fft_c2r.default">, {spectra, Sizes{2}, normalization, n_fft}));
  const Dtype dtype = return_complex ? Dtype::float32 : pieces.dtype();
  PT2_TRY(OptionalTensor shape, padded_window(e, window, frames, n_fft, dtype));
  if (!shape) {
    PT2_TRY(shape, e(aten<"ones.default">, {Sizes{n_fft}, dtype}));
  }
  PT2_TRY(const int64_t whole, multiply_add(frames.hop, frame_count - 1, n_fft));
  // Adds up overlapping pieces, as the gradient of unfold.
  const auto overlapped = [&](const Result<Tensor>& each, int64_t count) {
    return e(aten<"unfold_backward.default">, {each, Sizes{count, whole}, 1, n_fft, frames.hop});
  };
  const auto windowed =
      e(aten<"mul.Tensor">, {pieces, e(aten<"view.default">, {*shape, Sizes{1, 1, n_fft}})});
  const auto sum = overlapped(windowed, batch.size(0));
  const auto squares = e(aten<"pow.Tensor_Scalar">, {*shape, 2});
  const auto envelope =
      overlapped(e(aten<"expand.default">, {squares, Sizes{1, frame_count, n_fft}}), 1);
  const int64_t start = center ? n_fft / 2 : 0;
  const int64_t end = length ? start + std::clamp<int64_t>(*length, 0, whole) : whole - start;
  const auto signal = e(aten<"slice.Tensor">, {sum, 1, start, end});
  PT2_TRY(const Tensor weights, e(aten<"slice.Tensor">, {envelope, 1, start, end}));
  if (weights.defined()) PT2_TRY_VOID(check_weights(weights));
  PT2_TRY(Tensor out, e(aten<"div.Tensor">, {signal, weights}));
  if (!batched) {
    PT2_TRY(out, e(aten<"squeeze.dim">, {out, 0}));
  }
  if (length && *length > out.sizes().back())
    return e(aten<"constant_pad_nd.default">, {out, Sizes{0, *length - out.sizes().back()}});
  return out;
}

// clang-format off
constexpr OpDef kFourierOps[] = {
    op<"aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", c2c_meta, c2c>.with({.slope = Slope::linear}),
    op<"aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", r2c_meta, r2c>.with({.slope = Slope::linear}),
    op<"aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", c2r_meta, c2r>.with({.slope = Slope::linear}),
    op<"aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", fft_line<fft_along<true>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", fft_line<fft_along<false>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", fft_line<rfft_along>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", fft_line<c2r_along<false>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", fft_plane<c2c_along<true>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", fft_plane<c2c_along<false>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", fft_plane<rfft_along>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", fft_plane<c2r_along<false>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", fft_region<c2c_along<true>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", fft_region<c2c_along<false>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", fft_region<rfft_along>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", fft_region<c2r_along<false>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", fft_line<c2r_along<true>>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", fft_line<ihfft_along>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", fft_plane<c2r_along<true>>>.with({.slope = Slope::linear}),
    op<"aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", fft_plane<ihfft_along>>.with({.slope = Slope::linear}),
    op<"aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", fft_region<c2r_along<true>>>.with({.slope = Slope::linear}),
    op<"aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", fft_region<ihfft_along>>.with({.slope = Slope::linear}),
    op<"aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", shift_halves<false>>.with({.slope = Slope::linear}),
    op<"aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", shift_halves<true>>.with({.slope = Slope::linear}),
    op<"aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor", stft>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor", stft_center>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor", istft>.with({.slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> fourier_ops() { return kFourierOps; }

}  // namespace pt2::ops
