#include "ops/meta.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/memory_account.h"
#include "ops/result_memory.h"
#include "pt2/limits.h"

namespace pt2::ops {
namespace {

Dtype promote_integers(Dtype a, Dtype b) {
  if (is_unsigned(a) == is_unsigned(b)) return dtype_size(a) >= dtype_size(b) ? a : b;
  const Dtype signed_type = is_unsigned(a) ? b : a;
  const Dtype unsigned_type = is_unsigned(a) ? a : b;
  if (dtype_size(signed_type) > dtype_size(unsigned_type)) return signed_type;
  if (unsigned_type == Dtype::uint8) return Dtype::int16;
  return unsigned_type == Dtype::uint16 ? Dtype::int32 : Dtype::int64;
}

Dtype promote_floats(Dtype a, Dtype b) {
  if (dtype_size(a) != dtype_size(b)) return dtype_size(a) > dtype_size(b) ? a : b;
  // float16 with bfloat16, or two different float8 kinds.
  return Dtype::float32;
}

Dtype complex_of(Dtype real) {
  switch (real) {
    case Dtype::float64:
      return Dtype::complex128;
    case Dtype::float16:
      return Dtype::complex32;
    default:
      return Dtype::complex64;
  }
}

constinit thread_local uint64_t allocation_limit = Limits{}.max_tensor_bytes;

void merge(std::optional<Dtype>& slot, Dtype dtype) {
  slot = slot ? promote_types(*slot, dtype) : dtype;
}

}  // namespace

bool is_unsigned(Dtype dtype) {
  return dtype == Dtype::uint8 || dtype == Dtype::uint16 || dtype == Dtype::uint32 ||
         dtype == Dtype::uint64;
}

Error operator_error(std::string message) { return {ErrorCode::invalid, std::move(message), ""}; }

AllocationLimit::AllocationLimit(uint64_t bytes) : outer_(allocation_limit) {
  allocation_limit = std::min(outer_, bytes);
}
AllocationLimit::~AllocationLimit() { allocation_limit = outer_; }
uint64_t AllocationLimit::current() {
  const std::shared_ptr<MemoryAccount> account = MemoryAccount::current();
  return account == nullptr ? allocation_limit : std::min(allocation_limit, account->left());
}

namespace {
thread_local ResultMemory* result_memory = nullptr;
}

ResultMemory::ResultMemory(Tensor memory) : memory_(std::move(memory)), outer_(result_memory) {
  result_memory = this;
}
ResultMemory::~ResultMemory() { result_memory = outer_; }

std::optional<Tensor> ResultMemory::take(const Meta& meta) {
  if (result_memory == nullptr || !result_memory->memory_.defined()) return std::nullopt;
  Tensor& memory = result_memory->memory_;
  if (memory.dtype() != meta.dtype || memory.sizes() != meta.sizes ||
      (!meta.strides.empty() && meta.strides != memory.strides()))
    return std::nullopt;
  return std::exchange(memory, Tensor());
}

Result<Tensor> allocate(const Meta& meta) {
  if (std::optional<Tensor> memory = ResultMemory::take(meta)) {
    if (!meta.is_overwritten)
      std::memset(memory->raw_data(), 0, static_cast<size_t>(memory->nbytes()));
    return *std::move(memory);
  }
  const auto numel = checked_numel(meta.sizes);
  const auto limit =
      static_cast<int64_t>(std::min<uint64_t>(AllocationLimit::current(), INT64_MAX));
  if (!numel || *numel > limit / dtype_size(meta.dtype))
    return Error{ErrorCode::limit,
                 "a tensor of sizes " + sizes_text(meta.sizes) + " is larger than " +
                     (MemoryAccount::current() ? MemoryAccount::limit_text() : "max_tensor_bytes"),
                 ""};
  if (meta.strides.empty()) return Tensor::zeros(meta.dtype, meta.sizes);
  return Tensor::zeros_strided(meta.dtype, meta.sizes, meta.strides);
}

std::string sizes_text(std::span<const int64_t> sizes) {
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); ++i) out += (i ? ", " : "") + std::to_string(sizes[i]);
  return out + "]";
}

Result<int64_t> wrap_dim(int64_t dim, int64_t rank) {
  const int64_t range = std::max<int64_t>(rank, 1);
  if (dim < -range || dim >= range)
    return operator_error("dim " + std::to_string(dim) + " is out of range for rank " +
                          std::to_string(rank));
  return dim < 0 ? dim + range : dim;
}

Result<Sizes> broadcast_sizes(std::span<const Sizes> operands) {
  size_t rank = 0;
  for (const Sizes& sizes : operands) rank = std::max(rank, sizes.size());
  Sizes out(rank, 1);
  for (const Sizes& sizes : operands) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t& target = out[rank - sizes.size() + i];
      if (sizes[i] == target || sizes[i] == 1) continue;
      if (target != 1)
        return operator_error("sizes " + sizes_text(operands[0]) + " and " + sizes_text(sizes) +
                              " do not broadcast: found " + std::to_string(sizes[i]) +
                              ", expected " + std::to_string(target) + " or 1");
      target = sizes[i];
    }
  }
  return out;
}

Tensor broadcast_to(const Tensor& tensor, const Sizes& sizes) {
  PT2_CHECK(tensor.sizes().size() <= sizes.size());
  Sizes strides(sizes.size(), 0);
  const size_t lead = sizes.size() - tensor.sizes().size();
  for (size_t i = 0; i < tensor.sizes().size(); ++i)
    strides[lead + i] = tensor.sizes()[i] == sizes[lead + i] ? tensor.strides()[i] : 0;
  return tensor.with_view(sizes, std::move(strides), tensor.storage_offset());
}

Dtype default_dtype(DtypeCategory category) {
  constexpr Dtype kDefaults[] = {Dtype::bool_, Dtype::int64, Dtype::float32, Dtype::complex64};
  return kDefaults[static_cast<size_t>(category)];
}

Dtype promote_types(Dtype a, Dtype b) {
  if (a == b) return a;
  if (dtype_category(a) > dtype_category(b)) std::swap(a, b);
  const DtypeCategory low = dtype_category(a);
  const DtypeCategory high = dtype_category(b);
  if (high == DtypeCategory::integer)
    return low == DtypeCategory::boolean ? b : promote_integers(a, b);
  if (high == DtypeCategory::floating)
    return low < DtypeCategory::floating ? b : promote_floats(a, b);
  if (low < DtypeCategory::floating) return b;
  const Dtype other = low == DtypeCategory::floating ? complex_of(a) : a;
  return dtype_size(other) >= dtype_size(b) ? other : b;
}

Promotion& Promotion::add(const Tensor& tensor) {
  if (tensor.is_wrapped_number())
    merge(number_result_, default_dtype(dtype_category(tensor.dtype())));
  else
    merge(tensor.dim() > 0 ? dimension_result_ : zero_dim_result_, tensor.dtype());
  return *this;
}

Promotion& Promotion::add(const Scalar& scalar) {
  merge(number_result_, default_dtype(scalar.category()));
  return *this;
}

Dtype Promotion::result() const {
  // The result of a lower bucket counts only if its category is higher than that of the buckets
  // above.
  auto combine = [](std::optional<Dtype> higher,
                    std::optional<Dtype> lower) -> std::optional<Dtype> {
    if (!higher) return lower;
    if (!lower || dtype_category(*higher) >= dtype_category(*lower)) return higher;
    if (dtype_category(*higher) == DtypeCategory::floating) return complex_of(*higher);
    return promote_types(*higher, *lower);
  };
  const auto out = combine(dimension_result_, combine(zero_dim_result_, number_result_));
  return out.value_or(Dtype::float32);
}

namespace {

// -1 if dimension a belongs inside dimension b, 1 if outside, 0 if the operands do not decide.
int compare_dimensions(size_t a, size_t b, const Sizes& sizes, std::span<const Sizes> strides) {
  for (const Sizes& operand : strides) {
    const int64_t stride_a = operand[a];
    const int64_t stride_b = operand[b];
    if (stride_a == 0 || stride_b == 0) continue;
    if (stride_a < stride_b) return -1;
    if (stride_a > stride_b) return 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

}  // namespace

Sizes elementwise_strides(const Sizes& sizes, std::span<const Tensor* const> operands) {
  const size_t rank = sizes.size();
  bool all_contiguous = true;
  std::vector<Sizes> strides;
  for (const Tensor* tensor : operands) {
    const Tensor view = broadcast_to(*tensor, sizes);
    all_contiguous = all_contiguous && tensor->is_contiguous() && tensor->sizes() == sizes;
    strides.push_back(view.strides());
  }
  if (all_contiguous || rank < 2) return {};
  // Insertion sort from the innermost dimension outwards that leaves ambiguous pairs in place. It
  // repeats TensorIterator's reorder_dimensions exactly, because the result depends on the order of
  // comparisons.
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  for (size_t i = 1; i < rank; ++i) {
    size_t dim1 = i;
    for (size_t dim0 = i; dim0-- > 0;) {
      const int comparison = compare_dimensions(order[dim0], order[dim1], sizes, strides);
      if (comparison > 0) {
        std::swap(order[dim0], order[dim1]);
        dim1 = dim0;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  Sizes out(rank);
  int64_t next = 1;
  for (size_t dim : order) {
    out[dim] = next;
    // The other sizes of an empty result may exceed any memory: they wrap around.
    next = static_cast<int64_t>(static_cast<uint64_t>(next) *
                                static_cast<uint64_t>(std::max<int64_t>(sizes[dim], 1)));
  }
  return out == contiguous_strides(sizes) ? Sizes{} : out;
}

}  // namespace pt2::ops
