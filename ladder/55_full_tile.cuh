// 55 full tile: a tile that is completely inside the matrix is transposed without bounds checks.
//
// Against 50: move(), which checks once per block instead of once per element.
// The model predicts: the counts of 50. Checks cost instructions, not traffic.
// In the profiler: fewer executed instructions; loads have no predicates.
// Seed: the occupancy article ("dual fast/slow paths"). CuTe uses copy instead of copy_if, but then supports no edges.
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
      whole.src_in_pieces = whole.dst_in_pieces = true;  // a constant for the compiler
      Rung::through_tile(whole);
    } else {
      Rung::through_tile(part_of<Rung>(a, which));
    }
  }
#endif
};

}  // namespace cornerturn::ladder
