// Gathers rows of a table by index.
#ifndef PT2_KERNELS_GATHER_H
#define PT2_KERNELS_GATHER_H

#include <cstddef>
#include <cstdint>

#include "kernels/threads.h"

namespace pt2::kernels {

// Row i of the result is row indices[i] of the table, as raw bytes; rows of the result are
// contiguous. Index is int32_t or int64_t.
struct Gathering {
  int64_t rows = 0;  // of the result
  int64_t row_bytes = 0;
  const std::byte* table = nullptr;
  int64_t table_rows = 0;
  int64_t table_stride = 0;  // bytes from row to row
  std::byte* out = nullptr;
};
// False, with nothing written, if an index is not a row of the table.
template <class Index>
bool gather_rows(const Gathering& gathering, const Index* indices, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_GATHER_H
