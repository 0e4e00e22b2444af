// 70 batched: many contiguous matrices of one shape in one launch.
//
// Against 55: tile_of(), which first computes the matrix.
// The model predicts: the counts of 55 for one matrix, times the batch, if a matrix is a multiple of 32 bytes.
// Otherwise matrices start at different offsets within a sector, and rows touch one more sector.
// In the profiler: one launch instead of `batch` launches; small matrices fill the GPU.
// Seed: the A100 staircase. Its batch is blockIdx.z, at most 65535, and its offset overflows an int at 2^31 elements.
#pragma once

#include "55_full_tile.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct batched : full_tile<WordBytes> {
  static constexpr bool is_batched = true;

  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    const std::uint32_t tiles = a.tiles_down * a.tiles_across;  // below 2^31, the limit of a grid
    const std::uint32_t in_matrix = block % tiles;
    return {block / tiles, in_matrix / a.tiles_across, in_matrix % a.tiles_across};
  }
};

}  // namespace cornerturn::ladder
