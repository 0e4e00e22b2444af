// The arguments of every kernel that transposes tiles of rows and columns.
#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

// Register blocks of a tile, for the unaligned tall-skinny and short-wide kernels and for many small matrices: at least
// 64 bytes a thread.
constexpr int units_of_tile(std::int64_t word_bytes) { return word_bytes == 1 ? 128 : word_bytes == 8 ? 512 : 256; }

// Slot 0 of the grid: columns, contiguous in src. Slot 1: rows, contiguous in dst.
struct tile_args : array_args {
  std::int64_t src_row_bytes = 0;  // from one row to the next in src, if rows are one axis
  std::int64_t dst_col_bytes = 0;  // from one column to the next in dst, if columns are one axis
  grid blocks;
};

// A struct of its own, because a launch copies all bytes of its arguments.
struct fused_tile_args : tile_args {
  fused_axes rows;  // src strides
  fused_axes cols;  // dst strides
};

}  // namespace cornerturn::gpu
