#include "kernels/tiles.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/tiles.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/tile_instructions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// How an operand is read.
enum class Access : uint8_t {
  flat,    // laid out as the result, `step` numbers apart
  number,  // one element for all
  rows,    // any other strides
};

// The distance of neighbours along the innermost dimension; 0 if the operand is broadcast there.
int64_t step_of(const TileProgram& program, const TileOperand& operand) {
  return program.sizes.back() > 1 ? operand.strides.back() : 0;
}

Access access_of(const TileProgram& program, const TileOperand& operand) {
  bool is_flat = true, is_number = true;
  int64_t stride = std::max<int64_t>(step_of(program, operand), 1);
  for (int dim = kTileDims; dim-- > 0;) {
    const auto d = static_cast<size_t>(dim);
    if (program.sizes[d] == 1) continue;
    is_flat = is_flat && operand.strides[d] == stride;
    is_number = is_number && operand.strides[d] == 0;
    stride *= program.sizes[d];
  }
  return is_number ? Access::number : is_flat ? Access::flat : Access::rows;
}

// The position of a row in an operand; all dimensions but the last are merged into one index.
class RowPlace {
 public:
  RowPlace(const TileProgram& program, const TileOperand& operand, int64_t row)
      : sizes_(program.sizes), strides_(operand.strides) {
    for (size_t dim = kTileDims - 1; dim-- > 0;) {
      index_[dim] = row % sizes_[dim];
      offset_ += index_[dim] * strides_[dim];
      row /= sizes_[dim];
    }
  }
  // The offset of the row in elements.
  int64_t offset() const { return offset_; }
  // Number of evenly spaced rows from this row on, including it.
  int64_t even_rows() const { return sizes_[kInner] - index_[kInner]; }
  int64_t distance() const { return strides_[kInner]; }
  // Advances by `rows`, at most even_rows().
  void skip(int64_t rows) {
    index_[kInner] += rows;
    offset_ += rows * strides_[kInner];
    for (size_t dim = kInner; dim > 0 && index_[dim] == sizes_[dim]; --dim) {
      offset_ += strides_[dim - 1] - sizes_[dim] * strides_[dim];
      index_[dim] = 0;
      ++index_[dim - 1];
    }
  }

 private:
  static constexpr size_t kInner = kTileDims - 2;
  const TileSizes& sizes_;
  const TileSizes& strides_;
  int64_t offset_ = 0;
  TileSizes index_{};
};

// Copies `rows` rows of kCount numbers, `distance` apart, to contiguous rows. For short rows
// (points, boxes, heads), a call per row would cost more than the row itself.
template <int64_t kCount, class T>
void gather_short_rows(const T* from, int64_t distance, int64_t rows, int64_t step, T* to) {
  for (int64_t r = 0; r < rows; ++r, from += distance, to += kCount)
    for (int64_t i = 0; i < kCount; ++i) to[i] = from[i * step];
}

// Copies every other number.
template <class T>
void gather_parts(const T* HWY_RESTRICT from, int64_t count, T* HWY_RESTRICT to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
}

template <class T>
void gather_even_rows(const T* from, int64_t distance, int64_t rows, int64_t count, int64_t step,
                      T* to) {
  switch (count) {
    case 2:
      return gather_short_rows<2>(from, distance, rows, step, to);
    case 3:
      return gather_short_rows<3>(from, distance, rows, step, to);
    case 4:
      return gather_short_rows<4>(from, distance, rows, step, to);
    case 8:
      return gather_short_rows<8>(from, distance, rows, step, to);
    default:
      for (int64_t r = 0; r < rows; ++r, from += distance, to += count)
        if (step == 2)
          gather_parts(from, count, to);
        else if (step == 1)
          std::copy(from, from + count, to);
        else
          std::fill(to, to + count, *from);
  }
}

// Stores numbers alternately.
template <class T>
void store_pairs(const T* HWY_RESTRICT real, const T* HWY_RESTRICT imaginary, int64_t count,
                 T* HWY_RESTRICT to) {
  for (int64_t i = 0; i < count; ++i) {
    to[2 * i] = real[i];
    to[2 * i + 1] = imaginary[i];
  }
}

// The element type that is stored as T.
template <class T>
constexpr TileElement kElementOf = sizeof(T) == 8 ? TileElement::twice : TileElement::real;

template <class T>
class TilePass {
 public:
  explicit TilePass(const TileProgram& program) : program_(program) {
    for (size_t i = 0; i < program.operands.size(); ++i) {
      access_[i] = access_of(program, program.operands[i]);
      if (access_[i] == Access::number) see_number(i, 0);
    }
  }

  // Computes columns begin .. end - 1 of some rows; all columns if there is more than one row.
  void run(int64_t first_row, int64_t rows, int64_t begin, int64_t end) {
    Seen<T> seen[kMostTileOperands];
    for (size_t i = 0; i < program_.operands.size(); ++i)
      seen[i] = see(i, first_row, rows, begin, end - begin);
    const int64_t place = first_row * program_.sizes.back() + begin, count = rows * (end - begin);
    if (program_.makes_pairs) {
      const std::span instructions = program_.instructions;
      run_tile(instructions, seen, tiles_, result_, count);
      store_pairs(tiles_[instructions[instructions.size() - 2].to], result_, count,
                  static_cast<T*>(program_.out) + 2 * place);
    } else if (program_.out_element == kElementOf<T>) {
      run_tile(program_.instructions, seen, tiles_, static_cast<T*>(program_.out) + place, count);
    } else {
      run_tile(program_.instructions, seen, tiles_, result_, count);
      store_numbers(program_.out_element, result_, count, program_.out, place);
    }
  }

 private:
  Seen<T> see_number(size_t index, int64_t offset) {
    const TileOperand& operand = program_.operands[index];
    load_numbers(operand.element, operand.data, offset, 1, &numbers_[index]);
    return {&numbers_[index], true};
  }

  // Reads numbers that lie side by side, or every other one.
  Seen<T> see_in_line(size_t index, int64_t offset, int64_t count) {
    const TileOperand& operand = program_.operands[index];
    if (operand.element == kElementOf<T>) {
      const T* from = static_cast<const T*>(operand.data) + offset;
      if (step_of(program_, operand) < 2) return {from, false};
      gather_parts(from, count, gathered_[index]);
      return {gathered_[index], false};
    }
    load_numbers(operand.element, operand.data, offset, count, gathered_[index]);
    return {gathered_[index], false};
  }

  Seen<T> see(size_t index, int64_t first_row, int64_t rows, int64_t begin, int64_t count) {
    const TileOperand& operand = program_.operands[index];
    if (access_[index] == Access::number) return {&numbers_[index], true};
    const int64_t step = step_of(program_, operand);
    if (access_[index] == Access::flat)
      return see_in_line(index,
                         (first_row * program_.sizes.back() + begin) * std::max<int64_t>(step, 1),
                         rows * count);
    RowPlace place(program_, operand, first_row);
    if (rows == 1)
      return step > 0 ? see_in_line(index, place.offset() + begin * step, count)
                      : see_number(index, place.offset());
    for (int64_t row = 0; row < rows;) {
      const int64_t even = std::min(place.even_rows(), rows - row);
      T* to = gathered_[index] + row * count;
      if (operand.element == kElementOf<T>)
        gather_even_rows(static_cast<const T*>(operand.data) + place.offset(), place.distance(),
                         even, count, step, to);
      else
        load_even_rows(operand, place, even, count, step > 0, to);
      place.skip(even);
      row += even;
    }
    return {gathered_[index], false};
  }

  static void load_even_rows(const TileOperand& operand, const RowPlace& place, int64_t rows,
                             int64_t count, bool is_wide, T* to) {
    for (int64_t r = 0; r < rows; ++r, to += count) {
      load_numbers(operand.element, operand.data, place.offset() + r * place.distance(),
                   is_wide ? count : 1, to);
      if (!is_wide) std::fill(to + 1, to + count, *to);
    }
  }

  const TileProgram& program_;
  Access access_[kMostTileOperands] = {};
  T numbers_[kMostTileOperands] = {};
  HWY_ALIGN T tiles_[kMostTiles][kTileNumbers];
  HWY_ALIGN T gathered_[kMostTileOperands][kTileNumbers];
  HWY_ALIGN T result_[kTileNumbers];
};

template <class T>
void run_tiles_of(const TileProgram& program, ThreadPool* pool) {
  const int64_t columns = program.sizes.back();
  int64_t rows = 1;
  for (size_t dim = 0; dim + 1 < kTileDims; ++dim) rows *= program.sizes[dim];
  if (rows <= 0 || columns <= 0) return;
  // A task is several tiles; a tile is several rows or part of one row.
  constexpr int64_t kTaskFloats = int64_t{1} << 13;
  constexpr int64_t kParallelFloats = int64_t{1} << 15;
  const int64_t rows_at_once = std::max<int64_t>(1, kTileNumbers / columns);
  const int64_t parts = (columns + kTileNumbers - 1) / kTileNumbers;
  const int64_t tiles = (rows + rows_at_once - 1) / rows_at_once * parts;
  const int64_t tasks = std::clamp<int64_t>(rows * columns / kTaskFloats, 1, tiles);
  run_tasks(rows * columns >= kParallelFloats ? pool : nullptr, tasks, [&](int64_t task, int) {
    TilePass<T> pass(program);
    const int64_t last = part_begin(tiles, tasks, task + 1);
    for (int64_t tile = part_begin(tiles, tasks, task); tile < last; ++tile) {
      const int64_t row = tile / parts * rows_at_once, begin = tile % parts * kTileNumbers;
      pass.run(row, std::min(rows_at_once, rows - row), begin,
               std::min(columns, begin + kTileNumbers));
    }
  });
}

void run_all_tiles(const TileProgram& program, ThreadPool* pool) {
  const bool is_of_doubles = program.out_element == TileElement::twice ||
                             std::ranges::any_of(program.operands, [](const TileOperand& operand) {
                               return operand.element == TileElement::twice;
                             });
  is_of_doubles ? run_tiles_of<double>(program, pool) : run_tiles_of<float>(program, pool);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(run_all_tiles);

void run_tiles(const TileProgram& program, ThreadPool* pool) {
  PT2_DISPATCH(run_all_tiles)(program, pool);
}

}  // namespace pt2::kernels
#endif
