#include "c/values.h"

namespace pt2::c {
namespace {

// Returns DLPack's code of the dtype; its bits are the size of an element.
uint8_t dlpack_code(Dtype dtype) {
  switch (dtype) {
    case Dtype::uint8:
    case Dtype::uint16:
    case Dtype::uint32:
    case Dtype::uint64:
      return 1;
    case Dtype::int8:
    case Dtype::int16:
    case Dtype::int32:
    case Dtype::int64:
      return 0;
    case Dtype::float16:
    case Dtype::float32:
    case Dtype::float64:
      return 2;
    case Dtype::bfloat16:
      return 4;
    case Dtype::complex32:
    case Dtype::complex64:
    case Dtype::complex128:
      return 5;
    case Dtype::bool_:
      return 6;
    case Dtype::float8_e4m3fn:
      return 10;
    case Dtype::float8_e4m3fnuz:
      return 11;
    case Dtype::float8_e5m2:
      return 12;
    case Dtype::float8_e5m2fnuz:
      return 13;
    case Dtype::float8_e8m0fnu:
      return 14;
  }
  return 0;
}

// Returns the number of elements from the first to the last; nothing if sizes or strides do not
// make a tensor.
std::optional<uint64_t> reach(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  if (!checked_numel(sizes)) return std::nullopt;
  int64_t last = 0;
  bool is_empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t step = 0;
    if (strides[i] < 0) return std::nullopt;
    if (sizes[i] == 0) is_empty = true;
    if (sizes[i] > 0 && (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
                         __builtin_add_overflow(last, step, &last)))
      return std::nullopt;
  }
  if (last > INT64_MAX / 32) return std::nullopt;
  return is_empty ? 0 : static_cast<uint64_t>(last) + 1;
}

constexpr int32_t kMaxDims = 64;
// Limits of lists, which are copied with all that they contain.
constexpr uint32_t kMaxListDepth = 100;
constexpr uint64_t kMaxListItems = 1'000'000;

Result<Tensor> tensor_over(void* data, std::span<const int64_t> sizes, const int64_t* strides,
                           Dtype dtype, bool read_only, std::shared_ptr<const void> owner) {
  if (!checked_numel(sizes)) return argument_error("found sizes that no tensor can have");
  Sizes steps =
      strides == nullptr ? contiguous_strides(sizes) : Sizes(strides, strides + sizes.size());
  const std::optional<uint64_t> elements = reach(sizes, steps);
  if (!elements) return argument_error("found strides that are negative or overflow");
  const auto element_bytes = static_cast<uint64_t>(dtype_size(dtype));
  const uint64_t unit = static_cast<uint64_t>(dtype_size(real_dtype(dtype)));
  if (*elements > 0 && data == nullptr) return argument_error("found no memory for the elements");
  if (reinterpret_cast<uintptr_t>(data) % unit != 0)
    return argument_error("found an address that is not a multiple of the size of an element");
  const std::span<std::byte> bytes(static_cast<std::byte*>(data), *elements * element_bytes);
  std::shared_ptr<Storage> storage = read_only ? Storage::borrow_read_only(bytes, std::move(owner))
                                               : Storage::borrow(bytes, std::move(owner));
  return Tensor::view_of(std::move(storage), dtype, Sizes(sizes.begin(), sizes.end()),
                         std::move(steps), 0);
}

Result<Tensor> over_dlpack(const DLTensor& tensor, bool read_only,
                           std::shared_ptr<const void> owner) {
  if (tensor.device.device_type != kDlpackCpu)
    return argument_error("found a tensor on another device, expected the CPU");
  const std::optional<Dtype> dtype = from_c({tensor.dtype.code, tensor.dtype.bits});
  if (!dtype || tensor.dtype.lanes != 1)
    return argument_error("found a dtype that is not known here");
  if (tensor.ndim < 0 || tensor.ndim > kMaxDims)
    return argument_error("found a tensor of " + std::to_string(tensor.ndim) + " dims");
  if (tensor.ndim > 0) PT2_TRY_VOID(expect(tensor.shape, "shape"));
  std::byte* data = static_cast<std::byte*>(tensor.data);
  if (data != nullptr) data += tensor.byte_offset;
  return tensor_over(data, {tensor.shape, static_cast<size_t>(tensor.ndim)}, tensor.strides, *dtype,
                     read_only, std::move(owner));
}

// Shares ownership of a DLPack tensor. On failure the deleter is not called.
template <class Managed>
Result<Tensor> share_dlpack(Managed* managed, bool read_only) {
  struct Owner {
    Managed* managed = nullptr;
    ~Owner() {
      if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
    }
  };
  auto owner = std::make_shared<Owner>();
  PT2_TRY(Tensor tensor, over_dlpack(managed->dl_tensor, read_only, owner));
  owner->managed = managed;
  return tensor;
}

template <class Managed>
struct Export {
  Managed managed{};
  Tensor tensor;
};

}  // namespace

pt2_dtype to_c(Dtype dtype) {
  return {dlpack_code(dtype), static_cast<uint8_t>(8 * dtype_size(dtype))};
}

std::optional<Dtype> from_c(pt2_dtype dtype) {
  if (dtype.code == 2 && dtype.bits == 32) return Dtype::float32;
  for (const DtypeInfo& info : dtypes()) {
    const pt2_dtype each = to_c(info.dtype);
    if (each.code == dtype.code && each.bits == dtype.bits) return info.dtype;
  }
  return std::nullopt;
}

Result<Tensor> read_view(const pt2_tensor_view* view, std::shared_ptr<const void> owner) {
  PT2_TRY_VOID(expect(view, "view"));
  const std::optional<Dtype> dtype = from_c(view->dtype);
  if (!dtype)
    return argument_error("there is no dtype {" + std::to_string(view->dtype.code) + ", " +
                          std::to_string(view->dtype.bits) + "}");
  if (view->dims < 0 || view->dims > kMaxDims)
    return argument_error("found a tensor of " + std::to_string(view->dims) + " dims");
  if (view->dims > 0) PT2_TRY_VOID(expect(view->sizes, "sizes"));
  return tensor_over(view->data, {view->sizes, static_cast<size_t>(view->dims)}, view->strides,
                     *dtype, view->read_only != 0, std::move(owner));
}

pt2_tensor_view view_of(const Tensor& tensor) {
  const bool read_only = tensor.storage() == nullptr || tensor.storage()->is_read_only();
  return {.data = const_cast<std::byte*>(tensor.raw_data()),
          .sizes = tensor.sizes().data(),
          .strides = tensor.strides().data(),
          .dims = static_cast<int32_t>(tensor.dim()),
          .dtype = to_c(tensor.dtype()),
          .read_only = read_only};
}

Result<Tensor> from_dlpack(DLManagedTensorVersioned* managed) {
  PT2_TRY_VOID(expect(managed, "tensor"));
  if (managed->version.major != 1)
    return argument_error("found version " + std::to_string(managed->version.major) +
                          " of DLPack, expected 1");
  return share_dlpack(managed, (managed->flags & kDlpackReadOnly) != 0);
}

Result<Tensor> from_dlpack(DLManagedTensor* managed) {
  PT2_TRY_VOID(expect(managed, "tensor"));
  return share_dlpack(managed, false);
}

template <class Managed>
Managed* to_dlpack(Tensor tensor) {
  auto out = std::make_unique<Export<Managed>>();
  out->tensor = std::move(tensor);
  const pt2_tensor_view view = view_of(out->tensor);
  Managed& managed = out->managed;
  // Consumers may neither write to sizes and strides nor keep them longer than the tensor.
  managed.dl_tensor = {.data = view.data,
                       .device = {kDlpackCpu, 0},
                       .ndim = view.dims,
                       .dtype = {view.dtype.code, view.dtype.bits, 1},
                       .shape = const_cast<int64_t*>(view.sizes),
                       .strides = const_cast<int64_t*>(view.strides),
                       .byte_offset = 0};
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    managed.version = {1, 0};
    managed.flags = view.read_only != 0 ? kDlpackReadOnly : 0;
  }
  managed.manager_ctx = out.get();
  managed.deleter = [](Managed* self) { delete static_cast<Export<Managed>*>(self->manager_ctx); };
  return &out.release()->managed;
}
template DLManagedTensorVersioned* to_dlpack(Tensor tensor);
template DLManagedTensor* to_dlpack(Tensor tensor);

namespace {

void measure(const Value& value, pt2_value& out, uint32_t depth) {
  out.depth = std::max(out.depth, depth);
  const auto* list = value.get_if<Value::List>();
  if (list == nullptr) return;
  out.items += list->size();
  for (const Value& item : *list) measure(item, out, depth + 1);
}

pt2_error* give_value(Value value, pt2_value** out) noexcept {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    *out = make_value(std::move(value));
    return {};
  });
}

template <class T>
Result<const T*> get(const pt2_value* value, const char* wanted, const void* out) {
  PT2_TRY_VOID(expect(value, "value"));
  PT2_TRY_VOID(expect(out, "out"));
  const T* found = value->value.get_if<T>();
  if (found == nullptr)
    return argument_error("found " + value->value.type_text() + ", expected " + wanted);
  return found;
}

// Copies a plain value to `out`.
template <class T, class Out>
pt2_error* get_plain(const pt2_value* value, const char* wanted, Out* out) noexcept {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const T* found, get<T>(value, wanted, out));
    *out = *found;
    return {};
  });
}

}  // namespace

pt2_value* make_value(Value value) {
  auto out = std::make_unique<pt2_value>();
  if (value.is<Value::List>()) measure(value, *out, 0);
  out->value = std::move(value);
  return out.release();
}

}  // namespace pt2::c

using namespace pt2::c;
using pt2::Result;
using pt2::Tensor;
using pt2::Value;

pt2_error* pt2_value_borrow(const pt2_tensor_view* view, pt2_release release, void* user,
                            pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    auto value = std::make_unique<pt2_value>();
    auto owner = std::make_shared<Releaser>();
    PT2_TRY(value->value, read_view(view, owner));
    owner->set(release, user);
    *out = value.release();
    return {};
  });
}

pt2_error* pt2_value_copy(const pt2_tensor_view* view, pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const Tensor borrowed, read_view(view, nullptr));
    Tensor copy = Tensor::zeros(borrowed.dtype(), borrowed.sizes());
    if (copy.numel() > 0) copy_to_contiguous(borrowed, copy.raw_data());
    *out = make_value(std::move(copy));
    return {};
  });
}

pt2_error* pt2_value_from_dlpack(DLManagedTensorVersioned* tensor, pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    auto value = std::make_unique<pt2_value>();
    PT2_TRY(value->value, from_dlpack(tensor));
    *out = value.release();
    return {};
  });
}

pt2_error* pt2_value_to_dlpack(const pt2_value* value, DLManagedTensorVersioned** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Tensor* tensor, get<Tensor>(value, "a tensor", out));
    *out = to_dlpack<DLManagedTensorVersioned>(*tensor);
    return {};
  });
}

pt2_error* pt2_value_none(pt2_value** out) { return give_value({}, out); }
pt2_error* pt2_value_int(int64_t number, pt2_value** out) { return give_value(number, out); }
pt2_error* pt2_value_float(double number, pt2_value** out) { return give_value(number, out); }
pt2_error* pt2_value_bool(int32_t truth, pt2_value** out) { return give_value(truth != 0, out); }
pt2_error* pt2_value_complex(double real, double imaginary, pt2_value** out) {
  return give_value(std::complex<double>(real, imaginary), out);
}

pt2_error* pt2_value_text(const char* text, size_t length, pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const std::string_view given, read_text(text, length, "text"));
    *out = make_value(std::string(given));
    return {};
  });
}

pt2_error* pt2_value_list(const pt2_value* const* items, size_t count, pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    if (count > 0) PT2_TRY_VOID(expect(items, "items"));
    auto value = std::make_unique<pt2_value>();
    Value::List list;
    for (size_t i = 0; i < count; ++i) {
      PT2_TRY_VOID(expect(items[i], "item"));
      value->depth = std::max(value->depth, items[i]->depth + 1);
      value->items += items[i]->items;
      if (value->depth > kMaxListDepth || value->items > kMaxListItems)
        return pt2::Error{pt2::ErrorCode::limit, "found a list of too many lists", ""};
      list.push_back(items[i]->value);
    }
    value->value = std::move(list);
    *out = value.release();
    return {};
  });
}

pt2_error* pt2_value_share(const pt2_value* value, pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(value, "value"));
    PT2_TRY_VOID(expect(out, "out"));
    *out = make_value(value->value);
    return {};
  });
}

void pt2_value_free(pt2_value* value) { delete value; }

int32_t pt2_value_kind(const pt2_value* value) {
  if (value == nullptr || value->value.is_none()) return PT2_VALUE_NONE;
  if (value->value.is<Tensor>()) return PT2_VALUE_TENSOR;
  if (value->value.is<int64_t>()) return PT2_VALUE_INT;
  if (value->value.is<double>()) return PT2_VALUE_FLOAT;
  if (value->value.is<bool>()) return PT2_VALUE_BOOL;
  if (value->value.is<std::complex<double>>()) return PT2_VALUE_COMPLEX;
  if (value->value.is<std::string>()) return PT2_VALUE_TEXT;
  return value->value.is<Value::List>() ? PT2_VALUE_LIST : PT2_VALUE_OTHER;
}

pt2_error* pt2_value_type(const pt2_value* value, pt2_text** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(value, "value"));
    PT2_TRY_VOID(expect(out, "out"));
    *out = new pt2_text{value->value.type_text()};
    return {};
  });
}

pt2_error* pt2_value_get_tensor(const pt2_value* value, pt2_tensor_view* out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Tensor* tensor, get<Tensor>(value, "a tensor", out));
    *out = view_of(*tensor);
    return {};
  });
}

pt2_error* pt2_value_get_int(const pt2_value* value, int64_t* out) {
  return get_plain<int64_t>(value, "an int", out);
}
pt2_error* pt2_value_get_float(const pt2_value* value, double* out) {
  return get_plain<double>(value, "a float", out);
}
pt2_error* pt2_value_get_bool(const pt2_value* value, int32_t* out) {
  return get_plain<bool>(value, "a bool", out);
}

pt2_error* pt2_value_get_complex(const pt2_value* value, double* real, double* imaginary) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(imaginary, "imaginary"));
    PT2_TRY(const auto* found, get<std::complex<double>>(value, "a complex number", real));
    *real = found->real();
    *imaginary = found->imag();
    return {};
  });
}

pt2_error* pt2_value_get_text(const pt2_value* value, const char** out, size_t* length) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const std::string* found, get<std::string>(value, "a text", out));
    *out = give(*found, length);
    return {};
  });
}

size_t pt2_value_count(const pt2_value* value) {
  const auto* list = value == nullptr ? nullptr : value->value.get_if<Value::List>();
  return list == nullptr ? 0 : list->size();
}

pt2_error* pt2_value_get_item(const pt2_value* value, size_t index, pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Value::List* list, get<Value::List>(value, "a list", out));
    if (index >= list->size()) return argument_error("there is no item " + std::to_string(index));
    *out = make_value((*list)[index]);
    return {};
  });
}
