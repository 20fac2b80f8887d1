// Tensors: strided views of shared storages. Payloads of files and operands of operators are
// tensors. Copying a Tensor copies the view, not the elements: views of one storage alias, as in
// PyTorch.
#ifndef PT2_TENSOR_H
#define PT2_TENSOR_H

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "pt2/dtype.h"
#include "pt2/result.h"

namespace pt2 {

using Sizes = std::vector<int64_t>;

// The dtype whose elements are the C++ type T: float -> float32, bool -> bool_.
template <class T>
constexpr Dtype dtype_of();
template <class T>
class Elements;

// The memory of one or more tensors: on the heap, in a mapped file, or in a caller's buffer.
class Storage {
 public:
  // Allocates zero-filled heap memory, 64-byte aligned.
  static std::shared_ptr<Storage> allocate(size_t bytes);
  // Makes a storage over borrowed `bytes`. The storage keeps `owner` alive. Code that writes to a
  // tensor must copy a read-only storage first.
  static std::shared_ptr<Storage> borrow(std::span<std::byte> bytes,
                                         std::shared_ptr<const void> owner);
  static std::shared_ptr<Storage> borrow_read_only(std::span<const std::byte> bytes,
                                                   std::shared_ptr<const void> owner);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool is_read_only() const { return read_only_; }

  // Makes the constructor usable only by the functions above.
  struct Private {};
  Storage(Private, std::byte* data, size_t size, bool read_only, std::shared_ptr<const void> owner)
      : data_(data), size_(size), read_only_(read_only), owner_(std::move(owner)) {}

 private:
  std::byte* data_;
  size_t size_;
  bool read_only_;
  std::shared_ptr<const void> owner_;
};

class Tensor {
 public:
  // Makes an undefined tensor: no storage, dtype float32, sizes {0}. `defined()` is false.
  Tensor();
  // These are defined in tensor.cpp to keep the code of every operator small. Copies share sizes
  // and strides and allocate nothing. Assigning to a tensor ends references to its sizes.
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();
  // Returns a contiguous (row-major), zero-filled tensor. The process stops if a size is negative.
  // Throws std::bad_alloc if memory is short or the number of elements exceeds 64 bits.
  static Tensor zeros(Dtype dtype, Sizes sizes);
  // As zeros, with the given strides. The storage is as large as the strides require.
  static Tensor zeros_strided(Dtype dtype, Sizes sizes, Sizes strides);
  // Returns a tensor with dtype, sizes and row-major strides only, for code that reads nothing
  // else. It is not `defined()`. The process stops if a size is negative or the number of elements
  // exceeds 64 bits.
  static Tensor without_elements(Dtype dtype, Sizes sizes);
  // Returns a view of an existing storage. Strides and offset count elements; strides may be 0 but
  // not negative. Error `invalid` if the storage is null, a size is negative, the element count
  // overflows, or the elements reach outside the storage.
  static Result<Tensor> view_of(std::shared_ptr<Storage> storage, Dtype dtype, Sizes sizes,
                                Sizes strides, int64_t storage_offset);
  // Copies `values` into a new contiguous tensor. The process stops if the number of values is not
  // that of the sizes, or T is not the element type of the dtype (see as()).
  template <class T>
  static Tensor from(Dtype dtype, Sizes sizes, std::span<const T> values);
  // Returns a tensor of literal values: Tensor::of({1.f, 2.f}), Tensor::of<int64_t>({2, 2}, {1, 2,
  // 3, 4}). The process stops if the number of values is not that of the sizes.
  template <class T>
  static Tensor of(std::initializer_list<T> values);
  template <class T>
  static Tensor of(Sizes sizes, std::initializer_list<T> values);
  // Returns a tensor over the caller's row-major elements, without a copy: Tensor::view(image, {1,
  // 3, 32, 32}). The elements must outlive the tensor and its views, or `owner` must keep them
  // alive. A run copies const elements before it writes to them. Sizes as for without_elements. A
  // null pointer gives a tensor without memory (has_memory): a run takes it only if it has no
  // elements.
  template <class T>
  static Tensor view(T* elements, Sizes sizes, std::shared_ptr<const void> owner = nullptr);

  bool defined() const { return storage_ != nullptr; }
  // True if the tensor has no elements, or has memory for them. False for results of
  // without_elements() and for views of a null pointer.
  bool has_memory() const {
    return numel_ == 0 || (storage_ != nullptr && storage_->data() != nullptr);
  }
  Dtype dtype() const { return dtype_; }
  const Sizes& sizes() const { return layout().sizes; }
  const Sizes& strides() const { return layout().strides; }
  int64_t storage_offset() const { return offset_; }
  int64_t dim() const { return static_cast<int64_t>(sizes().size()); }
  // Return the size or stride of a dimension from 0 to dim() - 1, unchecked. Negative dimensions do
  // not count from the end as in Python.
  int64_t size(int64_t dim) const { return sizes()[static_cast<size_t>(dim)]; }
  int64_t stride(int64_t dim) const { return strides()[static_cast<size_t>(dim)]; }
  int64_t numel() const { return numel_; }
  // Returns the bytes of the elements, not of the storage.
  int64_t nbytes() const { return numel_ * dtype_size(dtype_); }
  bool is_contiguous() const;
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  // Returns a pointer to the first element. T is not checked. Elements lie as strides() says; only
  // a contiguous tensor is one block. Writing through the pointer may crash if the storage is
  // read-only (weights mapped from a file, views of const elements): write to a clone() instead.
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(raw_data());
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(raw_data());
  }
  std::byte* raw_data() {
    return storage_ ? storage_->data() + offset_ * dtype_size(dtype_) : nullptr;
  }
  const std::byte* raw_data() const {
    return storage_ ? storage_->data() + offset_ * dtype_size(dtype_) : nullptr;
  }
  // Returns the elements of a contiguous tensor: `logits.as<float>()`. T must be the element type
  // of the dtype: float for float32 (dtype_of). For a dtype without a C++ type, T is the unsigned
  // integer of the same size and holds the bits: uint16_t for float16. The process stops if T is
  // another type, or the tensor has no memory or is not contiguous. Use try_as if this may happen,
  // and data() to read the bytes as another type.
  template <class T>
  std::span<const T> as() const {
    check_as(dtype_of<std::remove_const_t<T>>());
    return {data<T>(), static_cast<size_t>(numel_)};
  }
  // As as(), but returns error `argument` if T does not fit the dtype, the tensor has no memory, or
  // the elements are not one row-major block (use contiguous() or elements() then).
  template <class T>
  Result<std::span<const T>> try_as() const {
    PT2_TRY_VOID(check_block(dtype_of<T>()));
    return std::span<const T>(data<T>(), static_cast<size_t>(numel_));
  }
  // Returns a range over the elements in row-major order, for any strides: `for (float x :
  // y.elements<float>())`. T must fit the dtype as for as(). The process stops if T does not fit,
  // or the tensor has no memory.
  template <class T>
  Elements<T> elements() const;

  // Returns another view of the same storage. Unchecked: the caller guarantees that the elements
  // lie inside the storage.
  Tensor with_view(Sizes sizes, Sizes strides, int64_t storage_offset) const;
  // Returns a view of the same bytes with another dtype. The process stops if the element sizes of
  // the dtypes differ.
  Tensor with_dtype(Dtype dtype) const;
  // Returns this tensor if it is contiguous, else a row-major copy in a new storage. Throws
  // std::bad_alloc if memory is short, as zeros() and clone() do. With a stride of 0 a small
  // storage can stand for more elements than fit in memory.
  Tensor contiguous() const;
  // As contiguous(), but returns error `limit` instead of throwing. For tensors from untrusted
  // sources.
  Result<Tensor> try_contiguous() const;
  // Returns a copy in a new writable storage. Keeps dense strides (memory format), as torch's clone
  // does. The process stops if the elements have no memory.
  Tensor clone() const;
  // Returns dtype and sizes as text, "f32[2, 3]".
  std::string type_text() const;

  // True for a 0-dim tensor that stands for a Python number passed in place of a tensor. Type
  // promotion treats it as the number (c10::TensorImpl::is_wrapped_number). Views of it are plain
  // tensors.
  bool is_wrapped_number() const { return wrapped_number_; }
  Tensor as_wrapped_number() const;

 private:
  struct Layout {
    Sizes sizes;
    Sizes strides;
  };
  static const Layout& undefined_layout();
  const Layout& layout() const { return layout_ != nullptr ? *layout_ : undefined_layout(); }
  void set_layout(Sizes sizes, Sizes strides);

  bool has_type(Dtype wanted) const;
  void check_as(Dtype wanted) const;
  void check_given(const char* function, Dtype type, size_t values) const;
  void check_elements(Dtype wanted) const;
  Result<void> check_block(Dtype wanted) const;

  std::shared_ptr<Storage> storage_;
  std::shared_ptr<const Layout> layout_;  // null: sizes {0}, strides {1}
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  Dtype dtype_ = Dtype::float32;
  bool wrapped_number_ = false;
};

// Returns row-major strides. A size of 0 counts as 1, as in PyTorch.
Sizes contiguous_strides(std::span<const int64_t> sizes);
// Returns the number of elements; nothing if a size is negative or the product exceeds int64.
std::optional<int64_t> checked_numel(std::span<const int64_t> sizes);
// Copies the elements of `source` in row-major order to `out`, which has numel * element size
// bytes.
void copy_to_contiguous(const Tensor& source, std::byte* out);

template <class T>
Tensor Tensor::from(Dtype dtype, Sizes sizes, std::span<const T> values) {
  Tensor tensor = zeros(dtype, std::move(sizes));
  tensor.check_given("from", dtype_of<T>(), values.size());
  for (size_t i = 0; i < values.size(); ++i) tensor.data<T>()[i] = values[i];
  return tensor;
}

template <class T>
constexpr Dtype dtype_of() {
  constexpr size_t kBytes = sizeof(T);
  if constexpr (std::is_same_v<T, bool>) {
    return Dtype::bool_;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr Dtype kSigned[] = {Dtype::int8, Dtype::int16, Dtype::int32, Dtype::int64};
    constexpr Dtype kUnsigned[] = {Dtype::uint8, Dtype::uint16, Dtype::uint32, Dtype::uint64};
    constexpr size_t kPlace = kBytes == 1 ? 0 : kBytes == 2 ? 1 : kBytes == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[kPlace] : kUnsigned[kPlace];
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(kBytes == 4 || kBytes == 8, "no dtype has elements of this type");
    return kBytes == 4 ? Dtype::float32 : Dtype::float64;
  } else {
    static_assert(std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>,
                  "no dtype has elements of this type");
    return kBytes == 8 ? Dtype::complex64 : Dtype::complex128;
  }
}

template <class T>
Tensor Tensor::of(std::initializer_list<T> values) {
  return of(Sizes{static_cast<int64_t>(values.size())}, values);
}

template <class T>
Tensor Tensor::of(Sizes sizes, std::initializer_list<T> values) {
  Tensor tensor = zeros(dtype_of<T>(), std::move(sizes));
  tensor.check_given("of", dtype_of<T>(), values.size());
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

template <class T>
Tensor Tensor::view(T* elements, Sizes sizes, std::shared_ptr<const void> owner) {
  Tensor tensor = without_elements(dtype_of<std::remove_const_t<T>>(), std::move(sizes));
  const std::span<T> all(elements, static_cast<size_t>(tensor.numel()));
  if constexpr (std::is_const_v<T>)
    tensor.storage_ = Storage::borrow_read_only(std::as_bytes(all), std::move(owner));
  else
    tensor.storage_ = Storage::borrow(std::as_writable_bytes(all), std::move(owner));
  return tensor;
}

// A range over the elements of a tensor, which it keeps alive. Iterators are valid as long as the
// range, so a temporary range has no begin() and end().
template <class T>
class Elements {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    Iterator(const Tensor* tensor, int64_t index) : tensor_(tensor), index_(index) {}
    reference operator*() const {
      int64_t rest = index_;
      int64_t place = 0;
      for (size_t dim = tensor_->sizes().size(); dim-- > 0;) {
        place += rest % tensor_->sizes()[dim] * tensor_->strides()[dim];
        rest /= tensor_->sizes()[dim];
      }
      return tensor_->data<T>()[place];
    }
    Iterator& operator++() { return ++index_, *this; }
    Iterator operator++(int) { return {tensor_, index_++}; }
    bool operator==(const Iterator&) const = default;

   private:
    const Tensor* tensor_ = nullptr;
    int64_t index_ = 0;
  };

  explicit Elements(Tensor tensor) : tensor_(std::move(tensor)) {}
  Iterator begin() const& { return {&tensor_, 0}; }
  Iterator end() const& { return {&tensor_, tensor_.numel()}; }
  Iterator begin() && = delete;
  Iterator end() && = delete;
  size_t size() const { return static_cast<size_t>(tensor_.numel()); }

 private:
  Tensor tensor_;
};

template <class T>
Elements<T> Tensor::elements() const {
  check_elements(dtype_of<T>());
  return Elements<T>(*this);
}

}  // namespace pt2

#endif  // PT2_TENSOR_H
