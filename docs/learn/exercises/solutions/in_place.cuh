// Solution 8: one block swaps a tile with its mirror tile, so it loads both before it stores one. Blocks below the diagonal
// end at once. Rung 75 does not start them.
#pragma once

#include "35_swizzled.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct in_place : swizzled<WordBytes> {
  static constexpr bool is_in_place = true;
  static constexpr int shared_bytes = 2 * swizzled<WordBytes>::shared_bytes;

  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    const tile here = Rung::tile_of(gpu::block_index(), a);
    if (here.down > here.across) return;
    const auto upper = part_of<Rung>(a, here);
    auto lower = part_of<Rung>(a, {0, here.across, here.down});
    lower.shared += swizzled<WordBytes>::shared_bytes;
    const bool pair = here.down != here.across;
    rows_in(upper);
    if (pair) rows_in(lower);
    gpu::block_barrier();  // orders all loads of both tiles before the stores, in shared and in global memory
    columns_out(upper);
    if (pair) columns_out(lower);
  }
};

}  // namespace cornerturn::ladder
