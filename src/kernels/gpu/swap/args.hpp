#pragma once

#include <cmath>

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

inline constexpr int swap_threads = 256;         // of all rows but the aligned ones
inline constexpr int any_swap_bytes = 20 << 10;  // of a tile of the _any rows, at most: two of them fit 48 KiB
// Of both tiles of the _unaligned rows: four blocks fit 164 KiB, and leave 92 KiB of L1 on sm_90. Words of 2 bytes: 0.81 of
// a copy instead of 0.79.
inline constexpr int unaligned_swap_bytes = 39 << 10;
inline constexpr int unaligned_swap_bytes_b2 = 24 << 10;
inline constexpr std::uint32_t swap_band = 4;      // rows of tiles, see swap_args
inline constexpr int swap_items_bytes = 48 << 10;  // of one item, at most

// An axis with equal strides on both sides.
struct swap_outer_axis {
  map::fast_divisor count;
  std::int64_t stride_bytes = 0;
};

// src is dst. The problem swaps axes in pairs. Each pair is a digit of two numbers X and Y, and the kernel swaps the
// elements (X, Y) and (Y, X). The first digit is cut into tiles. Blocks are the pairs I <= J of n tile numbers, a
// triangle. Blocks are numbered in bands of swap_band rows, column by column. So blocks whose tiles share lines and sectors
// run at nearly the same time: (I, J) and (I, J + 1), and the mirror images (J, I) and (J, I + 1).
struct swap_args : array_args {
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
  swap_outer_axis outer[map::max_axes];

  // The _unaligned rows. Row k of a tile begins at k / group * group_bytes + k % group * pitch in shared memory.
  map::fast_divisor granules;  // of a row, at most
  map::fast_divisor element;   // words
  std::int32_t pitch = 0;
  std::int32_t group_bytes = 0;
  std::int32_t tile_bytes = 0;
};

// The numbers I = down and J = across of a pair.
struct pair_numbers {
  std::uint32_t down, across;
};

// The pair at `place` of the triangle of n numbers.
CORNERTURN_HOST_DEVICE inline pair_numbers find_numbers(std::uint32_t n, std::uint32_t place) noexcept {
  // Row i has n - i pairs. The root may be off by one row, because its operands are rounded.
  const auto pairs_above = [&](std::uint32_t row) { return row * n - row * (row - 1) / 2; };
  const std::int64_t side = 2 * std::int64_t{n} + 1;
  const float root = std::sqrt(static_cast<float>(side * side - 8 * std::int64_t{place}));
  auto row = static_cast<std::uint32_t>((static_cast<float>(side) - root) / 2);
  row -= pairs_above(row) > place ? 1 : 0;
  row += pairs_above(row + 1) <= place ? 1 : 0;
  const std::uint32_t band = row / swap_band * swap_band;
  place -= pairs_above(band);
  std::uint32_t rows = n - band < swap_band ? n - band : swap_band;
  if (const std::uint32_t corner = rows * (rows + 1) / 2; place >= corner) {  // behind the triangle on the diagonal
    place -= corner;
    return {band + place % swap_band, band + swap_band + place / swap_band};
  }
  std::uint32_t down = band;
  for (; place >= rows; --rows, ++down) place -= rows;
  return {down, down + place};
}

// Square matrices that are packed one after another. A block swaps the elements of a few of them.
struct swap_items_args : array_args {
  map::fast_divisor groups;      // blocks of one run of items
  std::int64_t items = 1;        // of one run
  std::int32_t group_items = 1;  // of one block
  map::fast_divisor item;        // words
  map::fast_divisor element;     // words
  map::fast_divisor side;        // elements
  std::int32_t item_bytes = 0;
  std::int32_t element_bytes = 0;
  std::int32_t outer_rank = 0;
  swap_outer_axis outer[map::max_axes];
};

}  // namespace cornerturn::gpu
