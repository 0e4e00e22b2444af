// Solution 7: the grid is rounded up, tiles_down x tiles_across. Then some tiles cross an edge, so each element is checked.
#pragma once

#include "30_padded.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct whole_tiles : padded<WordBytes> {
  RUNG_MAP std::int64_t blocks(const arguments& a) { return std::int64_t{a.tiles_down} * a.tiles_across; }
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    return {0, block / a.tiles_across, block % a.tiles_across};
  }
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    Rung::through_tile(part_of<Rung, true>(a, Rung::tile_of(gpu::block_index(), a)));
  }
};

}  // namespace cornerturn::ladder
