// A tensor as row-major pieces, one after another. A row-major copy of a large view would take as
// much memory as the view's elements again.
#ifndef PT2_TENSOR_FILES_TENSOR_PIECES_H
#define PT2_TENSOR_FILES_TENSOR_PIECES_H

#include <algorithm>
#include <cstdint>
#include <utility>

#include "pt2/dtype.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2 {

inline Result<void> check_memory(const Tensor& tensor) {
  if (tensor.has_memory()) return {};
  return Error{ErrorCode::argument, "found no memory for the elements of " + tensor.type_text(),
               ""};
}

// Calls `visit(piece)` for row-major tensors that together have the elements of `tensor` in order.
// Row-major tensors are one piece, and so are views of fewer elements than they show, which take no
// memory themselves; others are copied in pieces of some megabytes. Error `limit` if a piece needs
// more memory than there is, `argument` if the tensor has none; other errors are those of `visit`,
// which returns Result<void>.
template <class Visit>
Result<void> for_each_piece(const Tensor& tensor, const Visit& visit) {
  PT2_TRY_VOID(check_memory(tensor));
  constexpr int64_t kPieceBytes = int64_t{16} << 20;
  const auto numel = static_cast<uint64_t>(tensor.numel());
  const auto size = static_cast<uint64_t>(dtype_size(tensor.dtype()));
  if (numel <= kPieceBytes / size || tensor.is_contiguous() ||
      numel > tensor.storage()->size() / size) {
    PT2_TRY(const Tensor piece, tensor.try_contiguous());
    return visit(piece);
  }
  const int64_t rows = tensor.size(0);
  const int64_t at_once = std::max<int64_t>(kPieceBytes / (tensor.nbytes() / rows), 1);
  for (int64_t row = 0; row < rows; row += at_once) {
    Sizes sizes = tensor.sizes(), strides = tensor.strides();
    const int64_t offset = tensor.storage_offset() + row * tensor.stride(0);
    sizes[0] = std::min(at_once, rows - row);
    if (at_once == 1) {
      sizes.erase(sizes.begin());
      strides.erase(strides.begin());
    }
    PT2_TRY_VOID(
        for_each_piece(tensor.with_view(std::move(sizes), std::move(strides), offset), visit));
  }
  return {};
}

}  // namespace pt2

#endif  // PT2_TENSOR_FILES_TENSOR_PIECES_H
