#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

inline constexpr int unaligned_swap_threads = 256;
inline constexpr int unaligned_swap_bytes = 20 << 10;  // of a tile, at most: two of them fit 48 KiB

// src is dst. The problem swaps axes in pairs. Each pair is a digit of two numbers X and Y, and the kernel swaps the
// elements (X, Y) and (Y, X). The first digit is cut into tiles. Blocks are the pairs I <= J of n tile numbers, a
// triangle. It is folded to a rectangle: n / 2 rows of n + 1 blocks for even n, (n + 1) / 2 rows of n blocks for odd n.
struct swap_args : array_args {
  map::fast_divisor fold;      // blocks in a row of the folded triangle
  map::fast_divisor triangle;  // blocks of the whole triangle
  std::uint32_t numbers = 1;   // n
  std::int64_t extent = 1;     // of the first digit, in elements
  std::int64_t row_bytes = 0;  // from one index of the first digit to the next, in X
  std::int64_t col_bytes = 0;  // in Y
  std::int32_t tile = 1;       // elements of either side of a tile
  std::int32_t words = 1;      // of an element, contiguous
  std::int32_t digit_count = 0;
  std::int32_t outer_rank = 0;
  struct digit {
    map::fast_divisor count;
    std::int64_t row_bytes = 0;
    std::int64_t col_bytes = 0;
  } digits[map::max_axes];  // fastest first: tiles of the first digit, then the others
  struct outer_axis {
    map::fast_divisor count;
    std::int64_t stride_bytes = 0;
  } outer[map::max_axes];
};

}  // namespace cornerturn::gpu
