// Challenge 8: transpose a square matrix in place. Rung 35 is started with dst = src: one block for each tile.
#pragma once

#include "35_swizzled.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct in_place : swizzled<WordBytes> {
  static constexpr bool is_in_place = true;
};

}  // namespace cornerturn::ladder
