// 75 in place: transposes a square matrix in place; each block swaps a tile with its mirror tile.
//
// Against 35: move(), which stages two tiles, and tile_of(), which enumerates each pair once.
// The model predicts: the counts of 35, since every tile is read once and written once. Twice the shared memory.
// In the profiler: half as many blocks, with twice the work per block.
// Seed: the A100 staircase. It starts one block per tile, half of them exit early, and tiles on the diagonal are copied
// twice. This rung folds the triangle to a rectangle and has no idle block.
#pragma once

#include "35_swizzled.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct in_place : swizzled<WordBytes> {
  static constexpr bool is_in_place = true;
  static constexpr int one_tile_bytes = swizzled<WordBytes>::shared_bytes;
  static constexpr int shared_bytes = 2 * one_tile_bytes;

  // Folds the pairs down <= across of n x n tiles: n / 2 rows of n + 1 for even n, (n + 1) / 2 rows of n for odd n.
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    const std::uint32_t n = a.tiles_down;
    const std::uint32_t even = 1 - n % 2;
    const std::uint32_t y = block / (n + even);
    const std::uint32_t x = block % (n + even);
    if (x >= y + even) return {0, y, x - even};
    return {0, n - y - even, n - 1 - x};
  }
  RUNG_MAP std::int64_t blocks(const arguments& a) { return std::int64_t{a.tiles_down} * (a.tiles_down + 1) / 2; }
#ifdef GPU_KERNEL
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    const tile here = Rung::tile_of(gpu::block_index(), a);
    const auto upper = part_of<Rung>(a, here);
    auto lower = part_of<Rung>(a, {0, here.across, here.down});
    lower.shared += one_tile_bytes;
    const bool pair = here.down != here.across;
    rows_in(upper);
    if (pair) rows_in(lower);
    // Orders the stores into both staged tiles before the loads from them, and the global loads of both tiles before
    // the global stores.
    gpu::block_barrier();
    columns_out(upper);
    if (pair) columns_out(lower);
  }
#endif
};

}  // namespace cornerturn::ladder
