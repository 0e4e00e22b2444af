#pragma once

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

// rows.rank is 0 if rows are one axis, of stride src_row_bytes. cols.rank is 0 if columns are one axis, of
// dst_col_bytes.
struct short_wide_args : fused_tile_args {
  fused_axes cols_src;  // src strides of columns that are not contiguous in src; rank 0: they are contiguous
};

struct unaligned_short_wide_args : tile_args {
  std::int32_t narrow_log2 = 0;  // a column of dst has 2^narrow_log2 chunks of 16 bytes
  map::fast_divisor run_chunks;  // chunks of a row in a tile
  fused_axes cols;               // dst strides; rank 0: one axis
};

}  // namespace cornerturn::gpu
