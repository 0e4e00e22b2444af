// 60 diagonal: consecutive blocks process tiles along a diagonal, so that they use different DRAM channels.
//
// Against 55: tile_of(), the block order.
// The model predicts: the counts of 55. It does not model channels.
// In the profiler: the counters of 55; only the time differs. The order is from GPUs on which tiles of one column shared a
// DRAM channel if the pitch was a power of two. Current GPUs hash addresses in hardware, and the order costs locality: 4
// to 5 points of the copy (H200, 2026-11-23).
// Seed: the A100 staircase, for square matrices only. Here each row of tiles is rotated by its number: a bijection for
// any shape.
#pragma once

#include "55_full_tile.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct diagonal : full_tile<WordBytes> {
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    const std::uint32_t down = block % a.tiles_down;
    const std::uint64_t shifted = std::uint64_t{block / a.tiles_down} + down;  // may exceed 32 bits
    return {0, down, static_cast<std::uint32_t>(shifted % a.tiles_across)};
  }
};

}  // namespace cornerturn::ladder
