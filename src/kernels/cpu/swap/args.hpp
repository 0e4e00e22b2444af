// The arguments of the family swap, and its walk over pairs of mirrored blocks: see swap.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/checked.hpp"
#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/odometer.hpp"

namespace cornerturn::kernels::cpu {

namespace swap {

// A place of the array has two numbers, X and Y, and the swap exchanges the elements at (X, Y) and (Y, X). Each pair of axes
// of the problem is one digit of X and one digit of Y: its src stride belongs to the digit of X, its dst stride to the digit
// of Y.
struct args {
  std::int64_t word_bytes = 1;
  std::int64_t element_bytes = 1;
  fused_axes pairs;
  fused_axes outer;
  std::int64_t panel = 1;  // indices of the fastest digit in a tile
  // How swap.cpp swaps two tiles. Else: elements one by one.
  bool by_blocks = false;
  bool through_buffers = false;
};

}  // namespace swap

// Side of a block of elements that are swapped one by one: 256 bytes of each row, but at most 128 elements.
[[nodiscard]] constexpr std::int64_t swap_block(std::int64_t element_bytes) noexcept {
  return element_bytes == 1 ? 128 : std::max<std::int64_t>(256 / element_bytes, 1);
}

// Elements of a row of a block in registers of 64 bytes: 48 or 64 bytes.
[[nodiscard]] constexpr std::int64_t swap_line_side(std::size_t element_bytes) noexcept {
  return static_cast<std::int64_t>(element_bytes <= 2 ? 64 / element_bytes : element_block_side(element_bytes));
}

// Bytes of a row of a tile of words that goes through buffers.
inline constexpr std::int64_t swap_buffered_bytes = 256;

// A tile of rows x cols elements (upper) and its mirror image of cols x rows elements (lower). rows == 0: no tile.
struct mirrored {
  std::byte* upper = nullptr;
  std::byte* lower = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

// A unit in the upper triangle of n x n blocks: the row and the column of its block.
struct block_pair {
  std::int64_t down = 0;
  std::int64_t across = 0;
};
[[nodiscard]] constexpr block_pair block_pair_of(std::int64_t unit, std::int64_t n) noexcept {
  std::int64_t low = 0;  // the last row that begins at or before the unit
  for (std::int64_t high = n - 1; low < high;) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    // Row i begins at unit i * n - i * (i - 1) / 2; n * n fits 63 bits, as that many elements do.
    if (middle * n - middle * (middle - 1) / 2 <= unit) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return {low, low + unit - (low * n - low * (low - 1) / 2)};
}

// Effect  for each unit calls turn.diagonal(tile, next tile) if the tile is its own mirror image, else turn.pair(tile, next
//         tile)
template <class Turn>
void each_block_pair(const swap::args& work, std::byte* data, std::int64_t begin, std::int64_t end, Turn& turn) {
  if (begin >= end) return;
  const std::int64_t word = work.word_bytes;
  const std::int64_t side = work.panel;
  const axis& first = work.pairs.axes[0];
  const std::int64_t in_first = base::ceil_div(first.extent, side);
  const std::int64_t n = work.pairs.total / first.extent * in_first;
  const std::int64_t triangle = n * (n + 1) / 2;
  const auto length = [&](std::int64_t number) { return std::min(side, first.extent - number % in_first * side); };

  odometer outer(work.outer, word, begin / triangle, false);
  if (n == 1) {  // a tile is a whole square
    const auto square = [&]() -> mirrored {
      std::byte* const corner = data + outer.src();
      return {corner, corner, first.extent, first.extent};
    };
    mirrored here = square();
    for (std::int64_t unit = begin; unit < end; ++unit) {
      outer.next();
      const mirrored next = unit + 1 < end ? square() : mirrored{};
      turn.diagonal(here, next);
      here = next;
    }
    return;
  }
  fused_axes numbers = work.pairs;
  numbers.axes[0] = {in_first, side * first.src_stride, side * first.dst_stride};
  block_pair at = block_pair_of(begin % triangle, n);
  odometer down(numbers, word, at.down, true);
  odometer across(numbers, word, at.across, true);
  const auto tiles = [&]() -> mirrored {
    std::byte* const base = data + outer.src();
    return {base + down.src() + across.dst(), base + across.src() + down.dst(), length(at.down), length(at.across)};
  };
  mirrored here = tiles();
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const bool diagonal = at.down == at.across;
    across.next();
    if (++at.across == n) {
      down.next();
      across = down;
      at.across = ++at.down;
      if (at.down == n) {
        at = {};
        down = across = odometer(numbers, word, 0, true);
        outer.next();
      }
    }
    const mirrored next = unit + 1 < end ? tiles() : mirrored{};
    if (diagonal) {
      turn.diagonal(here, next);
    } else {
      turn.pair(here, next);
    }
    here = next;
  }
}

}  // namespace cornerturn::kernels::cpu
