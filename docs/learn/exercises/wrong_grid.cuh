// Exercise 3: right for every square matrix, wrong for most others.
#pragma once

#include "30_padded.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct wrong_grid : padded<WordBytes> {
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    return {0, block / a.tiles_down, block % a.tiles_down};
  }
};

}  // namespace cornerturn::ladder
