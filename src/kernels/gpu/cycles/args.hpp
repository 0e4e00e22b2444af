#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

inline constexpr int cycles_threads = 64;
inline constexpr int cycles_part_bytes = 4096;  // the buffer of a part of an item; a walker has two
// A buffer holds the chunks around a part, and one before and behind.
inline constexpr std::int64_t realigned_bytes = 64;
inline constexpr std::int64_t realigned_part_bytes = cycles_part_bytes - realigned_bytes;
inline constexpr int cycles_shared_bytes = 16 + cycles_threads;  // and the buffers

// kernels::item_cycles, divided into parts. Its workspace is src.
struct cycles_args : array_args {
  std::int64_t row_bytes = 0;  // from one row of slots to the next; the slots of a row are contiguous
  std::int64_t item_bytes = 0;
  std::int64_t span_bytes = 0;  // of dst, from the first slot to the end of the last one
  std::int32_t part_bytes = 0;  // of an item that a walker reads at once, at most cycles_part_bytes
  std::uint32_t count = 0;      // of parts of slots, below 2^31
  std::uint32_t walkers = 1;    // blocks
  map::fast_divisor parts;      // of an item
  map::fast_divisor row_slots;  // slots in a row
  map::fast_divisor inner;
  std::uint32_t outer = 1;
  std::uint32_t rotate_inner = 0;
  std::uint32_t rotate_outer = 0;
  std::uint32_t first_in_workspace = 0;
  std::uint32_t count_in_workspace = 0;
  std::int32_t writes_workspace = 0;  // 1: the slots in the workspace are written; 0: they are read
};

}  // namespace cornerturn::gpu
