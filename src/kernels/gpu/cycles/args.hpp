#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

inline constexpr int cycles_threads = 64;
// Of an item that travel together: 64 bytes a thread, twice in registers. Of 20 random rectangles in place the median
// has 0.34 of the copy, 0.32 with 32 bytes and four more walkers on a multiprocessor (H200, 2026-11-22).
inline constexpr int cycles_part_bytes = 4096;
inline constexpr std::int64_t realigned_part_bytes = cycles_part_bytes - 64;  // a word of it is cut at either end
inline constexpr int cycles_shared_bytes = 16 + cycles_threads;

// 16 parts of places share a word.
CORNERTURN_HOST_DEVICE constexpr std::int64_t flags_of_cycles(std::int64_t parts) { return (parts + 15) / 16; }

// Places are numbered in the order of addresses, so many in a row. The item at place x * inner + y, y <
// inner and x < outer, goes to place Y * outer + X, where X = x + turned_outer modulo outer and Y = y + turned_inner
// modulo inner. Some places in a row are away: their items are read, or written, at src, end to end.
struct cycles_args : array_args {
  std::int64_t row_bytes = 0;  // from one row of places to the next; items of a row lie end to end
  std::int64_t item_bytes = 0;
  std::int32_t part_bytes = 0;   // of an item that travel together, at most cycles_part_bytes
  std::uint32_t count = 0;       // of parts of places, below 2^31
  std::uint32_t walkers = 1;     // blocks
  map::fast_divisor parts;       // of an item
  map::fast_divisor row_places;  // places in a row
  map::fast_divisor inner;
  std::uint32_t outer = 1;
  std::uint32_t turned_inner = 0;
  std::uint32_t turned_outer = 0;
  std::uint32_t first_away = 0;
  std::uint32_t count_away = 0;
  std::int32_t writes_away = 0;  // else it reads
};

// What a rectangle says of its items.
struct cycles_steps {
  cycles_args items;  // part_bytes, parts, count and walkers are the offer's
  std::int64_t places = 0;
  int alignment = 16;  // of the array and of its row_bytes
};

}  // namespace cornerturn::gpu
