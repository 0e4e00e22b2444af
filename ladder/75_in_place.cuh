// 75 in place: a square matrix turns where it lies; each block exchanges a tile with its mirror image.
//
// Against 35: move(), which has two tiles in hand, and tile_of(), which names each pair once.
// The model predicts: the counts of 35: every tile is still read once and written once. Twice the shared memory.
// In the profiler: half of the blocks, twice the work in each.
// Seed: the A100 staircase. It starts a block for each tile and sends half of them home, and moves the tiles on the
// diagonal twice; a triangle folded to a rectangle has no idle block.
#pragma once

#include "35_swizzled.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct in_place : swizzled<WordBytes> {
  static constexpr bool is_in_place = true;
  static constexpr int one_tile_bytes = swizzled<WordBytes>::shared_bytes;
  static constexpr int shared_bytes = 2 * one_tile_bytes;

  // The pairs down <= across of n x n tiles, folded: for even n, n / 2 rows of n + 1; for odd n, (n + 1) / 2 rows of n.
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
    gpu::block_barrier();  // both tiles are read, from global memory too, before either is written
    columns_out(upper);
    if (pair) columns_out(lower);
  }
#endif
};

}  // namespace cornerturn::ladder
