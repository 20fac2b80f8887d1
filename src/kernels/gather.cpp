#include "kernels/gather.h"

#include <algorithm>
#include <cstring>

namespace pt2::kernels {

template <class Index>
bool gather_rows(const Gathering& gathering, const Index* indices, ThreadPool* pool) {
  for (int64_t i = 0; i < gathering.rows; ++i)
    if (indices[i] < 0 || indices[i] >= gathering.table_rows) return false;
  constexpr int64_t kTaskBytes = int64_t{1} << 16;
  const int64_t bytes = gathering.rows * gathering.row_bytes;
  const int64_t tasks = std::clamp<int64_t>(bytes / kTaskBytes, 1, gathering.rows);
  run_tasks(pool, tasks, [&](int64_t task, int) {
    const int64_t end = part_begin(gathering.rows, tasks, task + 1);
    // Single numbers: a copy of constant size is one move.
    if (gathering.row_bytes == 4) {
      for (int64_t i = part_begin(gathering.rows, tasks, task); i < end; ++i)
        std::memcpy(gathering.out + i * 4, gathering.table + indices[i] * gathering.table_stride,
                    4);
      return;
    }
    for (int64_t i = part_begin(gathering.rows, tasks, task); i < end; ++i) {
      std::memcpy(gathering.out + i * gathering.row_bytes,
                  gathering.table + indices[i] * gathering.table_stride,
                  static_cast<size_t>(gathering.row_bytes));
    }
  });
  return true;
}

template bool gather_rows(const Gathering&, const int32_t*, ThreadPool*);
template bool gather_rows(const Gathering&, const int64_t*, ThreadPool*);

}  // namespace pt2::kernels
