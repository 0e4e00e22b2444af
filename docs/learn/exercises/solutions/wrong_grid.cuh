// Solution 3: blocks are numbered along a row of tiles, so a row of tiles has tiles_across blocks.
#pragma once

#include "30_padded.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct wrong_grid : padded<WordBytes> {
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    return {0, block / a.tiles_across, block % a.tiles_across};
  }
};

}  // namespace cornerturn::ladder
