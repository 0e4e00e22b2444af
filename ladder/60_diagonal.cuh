// 60 diagonal: consecutive blocks walk down a diagonal of tiles, so that reads and writes meet other DRAM channels.
//
// Against 55: tile_of(), the block order.
// The model predicts: the counts of 55. It knows nothing about channels.
// In the profiler: the same counters; only the clock differs. On Fermi this was worth a factor of two when the pitch
// was a power of two; today's address hashes do the same in hardware, and the order costs locality: -2 to -6 points
// of the roof (H200, 2026-11-21).
// Seed: the A100 staircase, for square matrices only. Shifting each row of tiles by its number is a bijection for any
// shape, so ours has no such case.
#pragma once

#include "55_full_tile.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct diagonal : full_tile<WordBytes> {
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    const std::uint32_t down = block % a.tiles_down;
    const std::uint64_t shifted = std::uint64_t{block / a.tiles_down} + down;  // may pass 32 bits
    return {0, down, static_cast<std::uint32_t>(shifted % a.tiles_across)};
  }
};

}  // namespace cornerturn::ladder
