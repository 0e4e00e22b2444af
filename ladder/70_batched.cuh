// 70 batched: many matrices of one shape, one behind the other, in one launch.
//
// Against 55: tile_of(), which finds the matrix first.
// The model predicts: the counts of 55 for one matrix, times the batch, when a matrix is a multiple of 32 bytes; else
// the matrices begin at different places within a sector, and rows straddle one more of them.
// In the profiler: one launch where a loop over matrices has `batch`; small matrices fill the GPU.
// Seed: the A100 staircase, whose batch is blockIdx.z, at most 65535, and whose offset overflows an int at 2^31
// elements.
#pragma once

#include "55_full_tile.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct batched : full_tile<WordBytes> {
  static constexpr bool is_batched = true;

  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    const std::uint32_t tiles = a.tiles_down * a.tiles_across;  // below 2^31, as the grid is
    const std::uint32_t in_matrix = block % tiles;
    return {block / tiles, in_matrix / a.tiles_across, in_matrix % a.tiles_across};
  }
};

}  // namespace cornerturn::ladder
