#include "ops/checks.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace pt2::ops {
namespace {

Error found_expected(std::string_view what, const std::string& found, const std::string& expected) {
  return operator_error(std::string(what) + ": found " + found + ", expected " + expected);
}

Result<void> expect_dtype(bool is_one, const Tensor& tensor, std::string_view what,
                          std::string_view expected) {
  if (is_one) return {};
  return found_expected(what, std::string(dtype_name(tensor.dtype())), std::string(expected));
}

}  // namespace

Result<void> check_rank(const Tensor& tensor, int64_t rank, std::string_view what) {
  if (tensor.dim() != rank)
    return found_expected(what, tensor.type_text(), std::to_string(rank) + " dims");
  return {};
}

Result<void> check_rank_at_least(const Tensor& tensor, int64_t rank, std::string_view what) {
  if (tensor.dim() < rank)
    return found_expected(what, tensor.type_text(), "at least " + std::to_string(rank) + " dims");
  return {};
}

Result<void> check_dtype(const Tensor& tensor, Dtype expected, std::string_view what) {
  return expect_dtype(tensor.dtype() == expected, tensor, what, dtype_name(expected));
}

Result<void> check_same_dtype(const Tensor& tensor, const Tensor& other, std::string_view what) {
  return check_dtype(tensor, other.dtype(), what);
}

Result<void> check_sizes(const Tensor& tensor, const Sizes& expected, std::string_view what) {
  if (tensor.sizes() != expected)
    return found_expected(what, "sizes " + sizes_text(tensor.sizes()), sizes_text(expected));
  return {};
}

Result<void> check_broadcasts(const Sizes& sizes, const Sizes& whole, std::string_view what) {
  PT2_TRY(const Sizes common, broadcast_sizes(std::array{whole, sizes}));
  if (common != whole)
    return found_expected(what, "sizes " + sizes_text(sizes),
                          "what broadcasts to " + sizes_text(whole));
  return {};
}

Result<void> check_floating(const Tensor& tensor, std::string_view what) {
  return expect_dtype(dtype_category(tensor.dtype()) == DtypeCategory::floating, tensor, what,
                      "a floating dtype");
}

Result<void> check_float_or_double(const Tensor& tensor, std::string_view what) {
  return expect_dtype(tensor.dtype() == Dtype::float32 || tensor.dtype() == Dtype::float64, tensor,
                      what, "float32 or float64");
}

Result<void> check_floating_or_complex(const Tensor& tensor, std::string_view what) {
  return expect_dtype(dtype_category(tensor.dtype()) >= DtypeCategory::floating, tensor, what,
                      "a floating or complex dtype");
}

Result<void> check_not_complex(const Tensor& tensor, std::string_view what) {
  return expect_dtype(dtype_category(tensor.dtype()) != DtypeCategory::complex, tensor, what,
                      "a real dtype");
}

Result<void> check_not_bool(const Tensor& tensor, std::string_view what) {
  return expect_dtype(tensor.dtype() != Dtype::bool_, tensor, what, "numbers");
}

Result<void> check_index_dtype(const Tensor& tensor, std::string_view what) {
  return expect_dtype(tensor.dtype() == Dtype::int64 || tensor.dtype() == Dtype::int32, tensor,
                      what, "int64 or int32");
}

Result<void> check_writable(const Tensor& tensor, std::string_view what) {
  if (tensor.storage()->is_read_only()) return operator_error(std::string(what) + " is read-only");
  return {};
}

Result<void> check_dense_gradient(bool sparse) {
  if (sparse) return Error{ErrorCode::unsupported, "sparse gradients are not supported", ""};
  return {};
}

Result<void> check_real_rank(int64_t rank) {
  constexpr int64_t kMost = 128;
  if (rank <= kMost) return {};
  return Error{ErrorCode::limit,
               "found a tensor of " + std::to_string(rank) + " dims, expected at most " +
                   std::to_string(kMost),
               ""};
}

Result<void> check_max_rank(const Tensor& tensor) {
  if (tensor.dim() > 64) return found_expected("self", tensor.type_text(), "at most 64 dims");
  return {};
}

Result<Sizes> wrap_dims(std::span<const int64_t> dims, int64_t rank) {
  Sizes out;
  if (dims.empty()) {
    out.resize(static_cast<size_t>(rank));
    std::iota(out.begin(), out.end(), int64_t{0});
    return out;
  }
  for (int64_t dim : dims) {
    PT2_TRY(const int64_t wrapped, wrap_dim(dim, rank));
    if (std::ranges::find(out, wrapped) != out.end())
      return operator_error("dim " + std::to_string(wrapped) + " appears more than once");
    out.push_back(wrapped);
  }
  if (rank == 0) out.clear();
  return out;
}

Result<Sizes> wrap_optional_dims(const std::optional<Sizes>& dims, int64_t rank) {
  return wrap_dims(dims ? *dims : Sizes{}, rank);
}

Result<int64_t> multiply_add(int64_t a, int64_t b, int64_t c) {
  int64_t product = 0;
  int64_t sum = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum))
    return Error{ErrorCode::limit, "a size exceeds 64 bits", ""};
  return sum;
}

}  // namespace pt2::ops
