// 55 full tile: a tile that is wholly inside the matrix is moved without a single bounds check.
//
// Against 50: move(), which asks once for the block instead of once for each element.
// The model predicts: the counts of 50. Checks cost instructions, not traffic.
// In the profiler: instructions executed; the predicates before each load are gone.
// Seed: the occupancy article ("dual fast/slow paths"); CuTe calls it copy instead of copy_if, and has no edges then.
#pragma once

#include "50_vector_swizzled.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct full_tile : vector_swizzled<WordBytes> {
#ifdef GPU_KERNEL
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    const tile which = Rung::tile_of(gpu::block_index(), a);
    auto whole = part_of<Rung, false>(a, which);
    if (whole.rows == Rung::tile_rows && whole.cols == Rung::tile_cols && whole.src_in_pieces && whole.dst_in_pieces) {
      whole.src_in_pieces = whole.dst_in_pieces = true;  // now a constant
      Rung::through_tile(whole);
    } else {
      Rung::through_tile(part_of<Rung>(a, which));
    }
  }
#endif
};

}  // namespace cornerturn::ladder
