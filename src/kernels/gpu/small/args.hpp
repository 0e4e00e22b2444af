#pragma once

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

// Many matrices. Slot 1 of the grid counts the matrices.
struct many_small_args : array_args {
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
  std::int64_t src_matrix_bytes = 0;  // from one matrix to the next
  std::int64_t dst_matrix_bytes = 0;
  std::int32_t across_log2 = 0;  // register blocks along a row
  std::int32_t down_log2 = 0;    // register blocks down a column
  grid blocks;
};

// Many matrices of one shape. A table has their addresses.
struct small_batch_args {
  const batch_item* items = nullptr;
  std::uint32_t count = 0;
  std::int32_t across_log2 = 0;
  std::int32_t down_log2 = 0;
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
};

// One matrix. The struct is short, because the kernel reads all of it before its first load from src.
struct small_args : array_args {
  std::int64_t src_row_bytes = 0;
  std::int64_t dst_col_bytes = 0;
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  map::fast_divisor down;  // tiles in a column of tiles
};

}  // namespace cornerturn::gpu
