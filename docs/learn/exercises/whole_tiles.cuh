// Challenge 7: a matrix of 1000 x 50. This kernel starts one block for each whole tile, and checks no bounds.
#pragma once

#include "30_padded.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct whole_tiles : padded<WordBytes> {
  RUNG_MAP std::int64_t blocks(const arguments& a) { return a.rows / 32 * (a.cols / 32); }
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    const auto across = static_cast<std::uint32_t>(a.cols / 32);
    return {0, block / across, block % across};
  }
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    Rung::through_tile(part_of<Rung, false>(a, Rung::tile_of(gpu::block_index(), a)));
  }
};

}  // namespace cornerturn::ladder
