#include "pt2/tensor.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include "base/check.h"
#include "base/memory_account.h"
#include "base/strided_copy.h"
#include "base/text.h"

namespace pt2 {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are used as they lie in files, which is little-endian");

constexpr size_t kAlignment = 64;
// The memory of a storage besides its bytes: most of the memory of a small storage.
constexpr size_t kOverhead = 256;

// True if sizes times strides are so far from overflow that views of views need no checks. A size
// of 0 counts as 1: it does not bound the strides of other dims.
bool has_sane_strides(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(sizes[i], 1), strides[i], &reach) ||
        __builtin_add_overflow(sum, reach, &sum))
      return false;
  }
  return sum <= INT64_MAX / 64;
}

void refuse_negative_sizes(const char* function, Dtype dtype, const Sizes& sizes) {
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; }))
    misused(std::string("Tensor::") + function +
            " with a negative size: " + pt2::type_text(dtype, sizes));
}

// True if `wanted` is the integer dtype for the bits of a `dtype` without a C++ type.
bool holds_bits_of(Dtype dtype, Dtype wanted) {
  switch (dtype) {
    case Dtype::float16:
    case Dtype::bfloat16:
      return wanted == Dtype::uint16;
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e5m2:
    case Dtype::float8_e4m3fnuz:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float8_e8m0fnu:
      return wanted == Dtype::uint8;
    case Dtype::complex32:
      return wanted == Dtype::uint32;
    default:
      return false;
  }
}

}  // namespace

bool is_dense(const Sizes& sizes, const Sizes& strides) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (size_t dim : order) {
    if (sizes[dim] == 1) continue;
    if (strides[dim] != expected) return false;
    expected *= sizes[dim];
  }
  return true;
}

namespace {

#if defined(__SANITIZE_ADDRESS__)
#define PT2_EXACT_STORAGES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PT2_EXACT_STORAGES 1
#endif
#endif

struct Block {
  void* memory;  // to be freed
  std::byte* data;
};

// Returns aligned, zeroed memory; null if there is none.
Block zeroed_block(size_t bytes) {
#ifdef PT2_EXACT_STORAGES
  // With padding in the block, a sanitizer would accept accesses outside the bytes.
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes) != 0) return {nullptr, nullptr};
  if (memory != nullptr && bytes > 0) std::memset(memory, 0, bytes);
  return {memory, static_cast<std::byte*>(memory)};
#else
  // calloc gets large blocks from the system, which provides zeroed pages only when they are
  // touched.
  void* memory = std::calloc(bytes + kAlignment, 1);
  if (memory == nullptr) return {nullptr, nullptr};
  const size_t padding = kAlignment - reinterpret_cast<uintptr_t>(memory) % kAlignment;
  return {memory, static_cast<std::byte*>(memory) + padding};
#endif
}

}  // namespace

std::shared_ptr<Storage> Storage::allocate(size_t bytes) {
  if (bytes > SIZE_MAX - kOverhead) throw std::bad_alloc();
  std::shared_ptr<MemoryAccount> account = MemoryAccount::current();
  if (account != nullptr) account->take(bytes + kOverhead);
  const Block block = zeroed_block(bytes);
  if (block.memory == nullptr) {
    if (account != nullptr) account->give_back(bytes + kOverhead);
    throw std::bad_alloc();
  }
  std::shared_ptr<const void> owner(block.memory,
                                    [account = std::move(account), bytes](const void* p) {
                                      std::free(const_cast<void*>(p));
                                      if (account != nullptr) account->give_back(bytes + kOverhead);
                                    });
  return std::make_shared<Storage>(Private{}, block.data, bytes, false, std::move(owner));
}

std::shared_ptr<Storage> Storage::borrow(std::span<std::byte> bytes,
                                         std::shared_ptr<const void> owner) {
  return std::make_shared<Storage>(Private{}, bytes.data(), bytes.size(), false, std::move(owner));
}

std::shared_ptr<Storage> Storage::borrow_read_only(std::span<const std::byte> bytes,
                                                   std::shared_ptr<const void> owner) {
  return std::make_shared<Storage>(Private{}, const_cast<std::byte*>(bytes.data()), bytes.size(),
                                   true, std::move(owner));
}

Sizes contiguous_strides(std::span<const int64_t> sizes) {
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    // A stride too large for 64 bits wraps around here; allocating or viewing such sizes is
    // refused.
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) *
                                  static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1)));
  }
  return strides;
}

std::optional<int64_t> checked_numel(std::span<const int64_t> sizes) {
  int64_t count = 1;
  // Overflow must be found even when another size is 0: strides are products too.
  int64_t bound = 1;
  for (int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(bound, std::max<int64_t>(size, 1), &bound))
      return std::nullopt;
    count *= size;
  }
  return count;
}

Tensor::Tensor() = default;
Tensor::Tensor(const Tensor&) = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::~Tensor() = default;

const Tensor::Layout& Tensor::undefined_layout() {
  static const Layout layout{{0}, {1}};
  return layout;
}

void Tensor::set_layout(Sizes sizes, Sizes strides) {
  layout_ = std::make_shared<const Layout>(Layout{std::move(sizes), std::move(strides)});
}

Tensor Tensor::zeros(Dtype dtype, Sizes sizes) {
  Sizes strides = contiguous_strides(sizes);
  return zeros_strided(dtype, std::move(sizes), std::move(strides));
}

Tensor Tensor::zeros_strided(Dtype dtype, Sizes sizes, Sizes strides) {
  refuse_negative_sizes("zeros", dtype, sizes);
  if (strides.size() != sizes.size())
    misused("Tensor::zeros_strided with " + std::to_string(strides.size()) +
            " strides: " + pt2::type_text(dtype, sizes));
  const auto numel = checked_numel(sizes);
  const auto reach = extent(sizes, strides);
  // A view may stand for more elements than any memory holds; a copy of it may not.
  if (!numel || !reach || *reach > INT64_MAX / 16) throw std::bad_alloc();
  Tensor tensor;
  tensor.storage_ = Storage::allocate(static_cast<size_t>(*reach * dtype_size(dtype)));
  tensor.set_layout(std::move(sizes), std::move(strides));
  tensor.numel_ = *numel;
  tensor.dtype_ = dtype;
  return tensor;
}

Tensor Tensor::without_elements(Dtype dtype, Sizes sizes) {
  refuse_negative_sizes("view", dtype, sizes);
  const auto numel = checked_numel(sizes);
  if (!numel)
    misused("Tensor::view with more elements than 64 bits count: " + pt2::type_text(dtype, sizes));
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.numel_ = *numel;
  Sizes strides = contiguous_strides(sizes);
  tensor.set_layout(std::move(sizes), std::move(strides));
  return tensor;
}

Result<Tensor> Tensor::view_of(std::shared_ptr<Storage> storage, Dtype dtype, Sizes sizes,
                               Sizes strides, int64_t storage_offset) {
  auto invalid = [](std::string text) { return Error{ErrorCode::invalid, std::move(text), ""}; };
  if (storage == nullptr) return invalid("found no storage, expected one that holds the elements");
  if (sizes.size() != strides.size())
    return invalid("found " + std::to_string(sizes.size()) + " sizes but " +
                   std::to_string(strides.size()) + " strides");
  if (storage_offset < 0)
    return invalid("negative storage offset " + std::to_string(storage_offset));
  for (int64_t size : sizes)
    if (size < 0) return invalid("negative size " + std::to_string(size));
  for (int64_t stride : strides)
    if (stride < 0) return invalid("negative stride " + std::to_string(stride));
  const auto numel = checked_numel(sizes);
  const auto reach = extent(sizes, strides);
  if (!numel || !reach || !has_sane_strides(sizes, strides))
    return invalid("the number of elements exceeds 64 bits");
  // An empty tensor touches nothing, so PyTorch lets its offset point anywhere inside the storage.
  const auto available =
      static_cast<int64_t>(storage->size() / static_cast<size_t>(dtype_size(dtype)));
  int64_t end = 0;
  if (__builtin_add_overflow(storage_offset, *reach, &end) || (*numel > 0 && end > available))
    return invalid("the tensor reaches element " + std::to_string(end) + " of a storage of " +
                   std::to_string(available));
  if (*numel > 0 && storage->data() == nullptr)
    return invalid("found a storage without memory, expected one that holds the elements");
  Tensor tensor;
  tensor.storage_ = std::move(storage);
  tensor.set_layout(std::move(sizes), std::move(strides));
  tensor.offset_ = *numel > 0 ? storage_offset : std::min(storage_offset, available);
  tensor.numel_ = *numel;
  tensor.dtype_ = dtype;
  return tensor;
}

bool Tensor::is_contiguous() const {
  if (numel_ == 0) return true;
  const auto& [sizes, strides] = layout();
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

Tensor Tensor::with_view(Sizes sizes, Sizes strides, int64_t storage_offset) const {
  Tensor out = *this;
  out.numel_ = 1;
  for (int64_t size : sizes) out.numel_ *= size;
  out.set_layout(std::move(sizes), std::move(strides));
  out.offset_ = storage_offset;
  out.wrapped_number_ = false;
  return out;
}

Tensor Tensor::as_wrapped_number() const {
  PT2_CHECK(sizes().empty());
  Tensor out = *this;
  out.wrapped_number_ = true;
  return out;
}

Tensor Tensor::with_dtype(Dtype dtype) const {
  if (dtype_size(dtype) != dtype_size(dtype_))
    misused("Tensor::with_dtype with " + std::string(dtype_name(dtype)) +
            ", whose elements are of another size, of a tensor " + type_text());
  Tensor out = *this;
  out.dtype_ = dtype;
  return out;
}

void copy_to_contiguous(const Tensor& source, std::byte* out) {
  if (source.numel() == 0) return;
  if (!source.has_memory())
    misused("a copy of a tensor " + source.type_text() + " that has no memory for its elements");
  if (source.is_contiguous()) {
    std::memcpy(out, source.raw_data(), static_cast<size_t>(source.nbytes()));
    return;
  }
  copy_strided(source.sizes(), static_cast<size_t>(dtype_size(source.dtype())), source.raw_data(),
               source.strides(), out, contiguous_strides(source.sizes()));
}

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  Tensor out = zeros(dtype_, sizes());
  copy_to_contiguous(*this, out.raw_data());
  return out;
}

Result<Tensor> Tensor::try_contiguous() const {
  return within_memory([&]() -> Result<Tensor> { return contiguous(); }, type_text());
}

Tensor Tensor::clone() const {
  if (!has_memory())
    misused("clone() of a tensor " + type_text() + " that has no memory for its elements");
  if (!is_dense(sizes(), strides())) {
    Tensor out = zeros(dtype_, sizes());
    copy_to_contiguous(*this, out.raw_data());
    return out;
  }
  Tensor out = zeros_strided(dtype_, sizes(), strides());
  if (numel_ > 0) std::memcpy(out.raw_data(), raw_data(), static_cast<size_t>(nbytes()));
  return out;
}

std::string Tensor::type_text() const { return pt2::type_text(dtype_, sizes()); }

bool Tensor::has_type(Dtype wanted) const {
  return dtype_ == wanted || holds_bits_of(dtype_, wanted);
}

void Tensor::check_as(Dtype wanted) const {
  if (!has_type(wanted))
    misused("as<T>() with a T of " + std::string(dtype_name(wanted)) + " of a tensor " +
            type_text() + "; try_as<T>() tells, data<T>() gives the bytes as they are");
  if (!has_memory())
    misused("as<T>() of a tensor " + type_text() + " that has no memory for its elements");
  if (!is_contiguous())
    misused("as<T>() of a tensor " + type_text() +
            " whose elements are not in one row-major block; use contiguous() or elements<T>()");
}

void Tensor::check_given(const char* function, Dtype type, size_t values) const {
  if (!has_type(type))
    misused(std::string("Tensor::") + function + " with values of " +
            std::string(dtype_name(type)) + " for a tensor " + type_text());
  if (values != static_cast<size_t>(numel_))
    misused(std::string("Tensor::") + function + " with " + std::to_string(values) +
            " values for a tensor " + type_text());
}

void Tensor::check_elements(Dtype wanted) const {
  if (!has_type(wanted))
    misused("elements<T>() with a T of " + std::string(dtype_name(wanted)) + " of a tensor " +
            type_text());
  if (!has_memory())
    misused("elements<T>() of a tensor " + type_text() + " that has no memory for its elements");
}

Result<void> Tensor::check_block(Dtype wanted) const {
  std::string problem;
  if (!has_type(wanted))
    problem = "elements of " + std::string(dtype_name(dtype_)) + ", asked for " +
              std::string(dtype_name(wanted));
  else if (!has_memory())
    problem = "no memory for its elements";
  else if (!is_contiguous())
    problem = "elements that are not in one row-major block";
  if (problem.empty()) return {};
  return Error{ErrorCode::argument, type_text() + " has " + problem, {}};
}

}  // namespace pt2
