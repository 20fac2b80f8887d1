// Loops of a product with packed panels, for any element type of the panels. Included once for each
// target, as vectors-inl.h is.
//
// Order of loops: a block of columns (its packed rows of one block of depth stay in the L2 cache);
// a block of depth; a few rows (copied to a tile that stays in the L1 cache); a panel, which gives
// one tile of results in registers. The fixed pitch of a tile lets one address register reach all
// of its rows.
#if defined(PT2_KERNELS_PRODUCTS_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_PRODUCTS_PRODUCT_INL_H
#undef PT2_KERNELS_PRODUCTS_PRODUCT_INL_H
#else
#define PT2_KERNELS_PRODUCTS_PRODUCT_INL_H
#endif

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/products/panels-inl.h"
#include "kernels/products/product.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// As many sums as fit in registers beside one row of a panel and a broadcast element.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows = 14;
#elif HWY_ARCH_ARM
constexpr int kTileRows = 12;
#else
constexpr int kTileRows = 6;
#endif
// 256 x 256 floats: half of an L2 cache of 512 KB; the other half is for prefetched data.
constexpr int64_t kColumnBlock = 256;
// Less work than this does not justify waking a thread.
constexpr int64_t kParallelWork = int64_t{1} << 18;

template <class Element>
struct Tile {
  const float* left;     // rows of a tile, kTilePitch apart
  const Element* right;  // a panel
  int64_t depth;
  const int32_t* shifts;  // subtracted from the columns' integer sums; or null
  Results results;
  // Prefetched into the L2 cache while the tile is computed, ahead_step bytes per row of the panel.
  const char* ahead;
  int64_t ahead_step;
};

// Multiplies panels whose elements are converted to floats in registers.
template <class Elements, int kRows, int kVectors>
void multiply_tile(const Tile<typename Elements::Element>& tile) {
  V sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(Floats());
  const float* HWY_RESTRICT left = tile.left;
  const typename Elements::Element* HWY_RESTRICT right = tile.right;
  const char* ahead = tile.ahead;
  for (int64_t k = 0; k < tile.depth; ++k, ++left, right += kVectors * kLanes) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += tile.ahead_step;
    V row[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) row[v] = Elements::load(right + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V element = set(left[r * kTilePitch]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(element, row[v], sums[r][v]);
    }
  }
  if constexpr (std::is_same_v<typename Elements::Element, float>)
    finish_sums<kRows, kVectors>(tile.results, sums);
  else
    finish_sums_apart<kRows, kVectors>(tile.results, sums);
}

template <class Element>
using TileFunction = void (*)(const Tile<Element>&);
// What a product must know of its packed operand. Kind gives the element type, the number of
// consecutive elements along the depth that are packed together, the largest depth summed at once,
// and the function that multiplies a tile. Entry i of the tables is for tiles of i + 1 rows.
template <class Kind, int kVectors, size_t... kIndex>
constexpr std::array<TileFunction<typename Kind::Element>, sizeof...(kIndex)> tile_functions(
    std::index_sequence<kIndex...>) {
  return {&Kind::template multiply<static_cast<int>(kIndex) + 1, kVectors>...};
}
template <class Kind>
struct Panels : Kind {
  static constexpr auto kNarrowTiles =
      tile_functions<Kind, 1>(std::make_index_sequence<kTileRows>());
  static constexpr auto kWideTiles = tile_functions<Kind, 2>(std::make_index_sequence<kTileRows>());
};

template <class Elements>
struct PlainKind {
  using Element = typename Elements::Element;
  static constexpr int64_t kDepthStep = 1;
  static constexpr int64_t kDepthBlock = kTileDepth;
  template <int kRows, int kVectors>
  static void multiply(const Tile<Element>& tile) {
    multiply_tile<Elements, kRows, kVectors>(tile);
  }
};
template <class Elements>
using PlainPanels = Panels<PlainKind<Elements>>;

inline void fill_tile(const Product& product, const LeftPart& part, float* tile) {
  if (part.depth == 0) return;
  if (product.left == nullptr)
    return product.left_rows.fill(product.left_rows.source, part.first_row, part.rows,
                                  part.first_depth, part.depth, tile);
  for (int64_t r = 0; r < part.rows; ++r)
    map_span(product.left + (part.first_row + r) * product.left_stride + part.first_depth,
             tile + r * kTilePitch, part.depth, [](V x) HWY_ATTR { return x; });
}

// The columns of one panel.
struct PanelColumns {
  int64_t first;
  int64_t count;  // columns that exist
  int64_t width;
};
// Calls `pack` for each panel of an operand of `depth` rows.
template <class Pack>
void for_each_panel(int64_t depth, int64_t columns, ThreadPool* pool, const Pack& pack) {
  const int64_t panels = (columns + kPanelWidth - 1) / kPanelWidth;
  run_tasks(depth * columns >= kParallelWork ? pool : nullptr, panels, [&](int64_t panel, int) {
    const int64_t first = panel * kPanelWidth, count = std::min(kPanelWidth, columns - first);
    pack(PanelColumns{first, count, count <= kLanes ? kLanes : kPanelWidth});
  });
}

// Packs weights of any element type. `step` consecutive elements of a column along the depth are
// packed together. Steps and the last panel are padded with 0.
template <class Weights, class Element>
void pack_panels(const Weights& weights, int64_t step, Element* packed, ThreadPool* pool) {
  const int64_t depth = (weights.depth + step - 1) / step * step;
  for_each_panel(weights.depth, weights.columns, pool, [&](const PanelColumns& part) {
    Element* panel = packed + panel_offset(depth, part.first);
    const Element* from = weights.right + part.first * weights.column_stride;
    if (part.count < part.width || weights.depth < depth)
      std::fill_n(panel, depth * part.width, Element{0});
    for (int64_t k = 0; k < weights.depth; ++k) {
      Element* to = panel + k / step * step * part.width + k % step;
      for (int64_t n = 0; n < part.count; ++n)
        to[n * step] = from[k * weights.depth_stride + n * weights.column_stride];
    }
  });
}

struct Block {
  int64_t first_row;
  int64_t rows;
  int64_t first_column;  // a multiple of kPanelWidth
  int64_t columns;
};

// The index of a tile of rows, and the number of tiles multiplied with the same panels.
struct Turn {
  int64_t index;
  int64_t count;
};

// The rows of the right operand that are multiplied at once. A depth of 0 is one empty block, so
// bias and activation still apply.
struct DepthBlock {
  int64_t index;
  int64_t first;
  int64_t count;
};
template <class Packed>
HWY_INLINE int64_t depth_blocks(int64_t depth) {
  return std::max<int64_t>(1, (depth + Packed::kDepthBlock - 1) / Packed::kDepthBlock);
}
template <class Packed>
HWY_INLINE DepthBlock depth_block(int64_t depth, int64_t index) {
  constexpr int64_t kStep = Packed::kDepthStep;
  const int64_t steps = (depth + kStep - 1) / kStep, blocks = depth_blocks<Packed>(depth);
  const int64_t first = part_begin(steps, blocks, index) * kStep;
  return {index, first, std::min(depth, part_begin(steps, blocks, index + 1) * kStep) - first};
}

// Returns this tile's share, one of turn.count, of the packed data that follows the panel of
// `column`: the next block of depth, or a panel of the next block of columns. Prefetching it into
// the L2 cache hides the time of reading large weights from memory.
template <class Packed>
HWY_INLINE std::span<const typename Packed::Element> part_ahead(
    const Product& product, const typename Packed::Element* packed, const Block& block,
    int64_t column, int64_t next_depth, const Turn& turn) {
  const bool is_last = next_depth == product.depth;
  const int64_t next_column = is_last ? column + block.columns : column;
  if (next_column >= product.packed_columns) return {};
  const int64_t width = is_narrow_panel(product.packed_columns, next_column) ? kLanes : kPanelWidth;
  const int64_t first = is_last ? 0 : next_depth;
  const int64_t size = std::min(Packed::kDepthBlock, product.depth - first) * width;
  const typename Packed::Element* panel =
      packed + panel_offset(product.packed_depth, next_column) + first * width;
  return {panel + part_begin(size, turn.count, turn.index),
          panel + part_begin(size, turn.count, turn.index + 1)};
}

// Spreads the prefetches over the rows of the panel, because prefetches issued together wait for
// each other. If there is more than one cache line per row, the product is bound by memory and all
// prefetches are issued at once.
template <class Packed>
HWY_INLINE void read_ahead(std::span<const typename Packed::Element> part,
                           Tile<typename Packed::Element>& tile) {
  constexpr int64_t kLine = 64;
  const int64_t steps = (tile.depth + Packed::kDepthStep - 1) / Packed::kDepthStep;
  const auto bytes = static_cast<int64_t>(part.size_bytes());
  const auto* ahead = reinterpret_cast<const char*>(part.data());
  tile.ahead = reinterpret_cast<const char*>(tile.right);
  tile.ahead_step = 0;
  if (bytes > steps * kLine) {
    for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(ahead + i, 0, 2);
  } else if (bytes > 0) {
    tile.ahead = ahead;
    tile.ahead_step = (bytes + steps - 1) / steps;
  }
}

// Returns the part of a tile that is multiplied. The first block of depth sets every result, and
// the last one applies the activation to it, so they use all rows.
template <class Packed>
HWY_INLINE LeftPart used_part(const Product& product, const LeftPart& part) {
  const bool has_zeros = product.left == nullptr && product.left_rows.nonzero != nullptr;
  if (!has_zeros || part.depth == 0) return part;
  LeftPart used = product.left_rows.nonzero(product.left_rows.source, part);
  if (used.depth == 0) used.first_depth = part.first_depth;
  // Elements of a step are packed together.
  const int64_t skipped = used.first_depth % Packed::kDepthStep;
  used.first_depth -= skipped;
  used.depth += skipped;
  if (part.first_depth > 0 && part.first_depth + part.depth < product.depth) return used;
  return {part.first_row, part.rows, used.first_depth, used.depth};
}

// Multiplies the rows in `left` with the columns of a block, for the part of a block of depth that
// `left` holds.
template <class Packed>
void multiply_rows_of_tile(const Product& product, const typename Packed::Element* packed,
                           const Block& block, const DepthBlock& depth, const LeftPart& part,
                           const float* left, const Turn& turn) {
  const bool first = depth.first == 0;
  const bool last = depth.first + depth.count == product.depth;
  const Epilogue& epilogue = product.epilogue;
  // An addend may be much larger than the sums, as in residual networks. It is added to whole sums,
  // so that it costs one rounding; before the first sums are stored if that overwrites it.
  const bool adds = epilogue.addend != nullptr && (epilogue.addend == product.out ? first : last);
  const int64_t end = block.first_column + block.columns;
  for (int64_t column = block.first_column; column < end; column += kPanelWidth) {
    const bool narrow = is_narrow_panel(product.packed_columns, column);
    float* out = product.out + part.first_row * product.out_stride + column;
    Tile<typename Packed::Element> tile{
        .left = left,
        .right = packed + panel_offset(product.packed_depth, column) +
                 part.first_depth * (narrow ? kLanes : kPanelWidth),
        .depth = part.depth,
        .shifts = product.shifts == nullptr
                      ? nullptr
                      : product.shifts + depth.index * product.columns + column,
        .results = {.columns = std::min(kPanelWidth, product.columns - column),
                    .out = out,
                    .out_stride = product.out_stride,
                    .start = first ? nullptr : out,
                    .start_stride = first ? 0 : product.out_stride,
                    .addend = nullptr,
                    .addend_stride = epilogue.addend_stride,
                    .activation = last ? epilogue.activation : Activation::none,
                    .factors = product.factors},
        .ahead = nullptr,
        .ahead_step = 0};
    if (product.factors != nullptr) tile.results.factors += column;
    if (first && epilogue.bias != nullptr) tile.results.start = epilogue.bias + column;
    if (adds)
      tile.results.addend = epilogue.addend + part.first_row * epilogue.addend_stride + column;
    read_ahead<Packed>(
        part_ahead<Packed>(product, packed, block, column, depth.first + depth.count, turn), tile);
    const auto row_index = static_cast<size_t>(part.rows - 1);
    (narrow ? Packed::kNarrowTiles[row_index] : Packed::kWideTiles[row_index])(tile);
  }
}

template <class Packed>
void multiply_block(const Product& product, const typename Packed::Element* packed,
                    const Block& block) {
  HWY_ALIGN float left[kTileRows * kTilePitch];
  const int64_t tiles = (block.rows + kTileRows - 1) / kTileRows;
  for (int64_t d = 0; d < depth_blocks<Packed>(product.depth); ++d) {
    const DepthBlock depth = depth_block<Packed>(product.depth, d);
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t first_row = part_begin(block.rows, tiles, t);
      const LeftPart part = used_part<Packed>(
          product, {block.first_row + first_row, part_begin(block.rows, tiles, t + 1) - first_row,
                    depth.first, depth.count});
      if (part.rows == 0) continue;
      fill_tile(product, part, left);
      multiply_rows_of_tile<Packed>(product, packed, block, depth, part, left, {t, tiles});
    }
  }
}

template <class Packed>
void multiply_panels(const Product& product, const typename Packed::Element* packed,
                     ThreadPool* pool) {
  if (product.rows <= 0 || product.columns <= 0) return;
  const int64_t panels = (product.columns + kPanelWidth - 1) / kPanelWidth;
  int64_t column_parts = (product.columns + kColumnBlock - 1) / kColumnBlock;
  int64_t row_parts = 1;
  const bool parallel =
      thread_count(pool) > 1 && product.rows * product.columns * product.depth >= kParallelWork;
  if (parallel) {
    // Several tasks per thread, so that one delayed thread delays no others. Columns are split
    // first: each row part reads the right operand again, whereas a column part copies the left
    // operand again, which four panels make up for. A row part has at least four tiles of rows.
    const int64_t threads = thread_count(pool), wanted = 4 * threads;
    const int64_t most_rows = std::max<int64_t>(1, (product.rows + kTileRows - 1) / kTileRows / 4);
    column_parts = std::max(column_parts, std::clamp<int64_t>(panels / 4, 1, wanted));
    row_parts = std::clamp<int64_t>((wanted + column_parts - 1) / column_parts, 1, most_rows);
    // A small number of tasks that is no multiple of the threads leaves threads idle at the end.
    while (row_parts < most_rows && row_parts * column_parts < 4 * wanted &&
           row_parts * column_parts % threads != 0)
      ++row_parts;
    if (row_parts * column_parts < wanted)
      column_parts = std::min(panels, (wanted + row_parts - 1) / row_parts);
  }
  run_tasks(parallel ? pool : nullptr, row_parts * column_parts, [&](int64_t task, int) {
    const int64_t row_part = task % row_parts;
    const int64_t column_part = task / row_parts;
    Block block;
    block.first_row = part_begin(product.rows, row_parts, row_part);
    block.rows = part_begin(product.rows, row_parts, row_part + 1) - block.first_row;
    block.first_column = part_begin(panels, column_parts, column_part) * kPanelWidth;
    block.columns =
        part_begin(panels, column_parts, column_part + 1) * kPanelWidth - block.first_column;
    multiply_block<Packed>(product, packed, block);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
