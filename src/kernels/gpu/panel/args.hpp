#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

// A panel is all rows of a small matrix and as many of its columns as fit `shared_bytes`. One team of threads
// transposes one panel. A block has several teams if panels are small.
constexpr int panel_chunk(std::int64_t word_bytes) { return word_bytes == 8 ? 2 : 4; }  // elements stored as one word
constexpr int panel_unit(std::int64_t word_bytes) { return word_bytes < 4 ? 4 : static_cast<int>(word_bytes); }
inline constexpr int panel_threads = 256;  // of a block

// How a team walks panels of one size. Columns are stored a chunk at a time, or as one line if they are contiguous in
// dst. A slice has a column for each element of a chunk: chunk k of each slice is equally misaligned, so a thread
// computes the offsets of its elements once for several slices.
struct panel_shape {
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
  map::fast_divisor rows;
  map::fast_divisor row_units;    // that a row has in shared memory
  map::fast_divisor line_chunks;  // of a column
  map::fast_divisor slice_tasks;  // chunks of a slice
  std::int32_t slices = 1;        // of a task
  std::int32_t end_to_end = 0;    // columns are contiguous in dst
  std::int32_t team_log2 = 8;     // threads
  std::int32_t shared_bytes = 0;  // of a team, a multiple of 16
};

struct panel_args : array_args {
  panel_shape shape;
  std::uint32_t count = 0;
  grid panels;  // slot 0: columns
};

struct panel_item {
  panel_shape shape;
  std::uint64_t src = 0;  // addresses of the first element
  std::uint64_t dst = 0;
  std::uint64_t src_begin = 0;
  std::uint64_t src_end = 0;
  std::int64_t cols = 0;
  std::int64_t unused = 0;  // fills the item up to a multiple of 16 bytes
};
struct panel_batch_args {
  const panel_item* items = nullptr;
  std::uint32_t count = 0;
  std::int32_t team_log2 = 8;
  std::int32_t shared_bytes = 0;  // of a team: a panel_item and the largest panel
};

}  // namespace cornerturn::gpu
