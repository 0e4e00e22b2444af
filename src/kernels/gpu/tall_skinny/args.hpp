#pragma once

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

// rows.rank is 0 if rows are one axis, of stride src_row_bytes. cols.rank is 0 if columns are one axis, of
// dst_col_bytes.
struct tall_skinny_args : fused_tile_args {
  fused_axes rows_dst;  // dst strides of rows that are not contiguous in dst; rank 0: they are contiguous
};

struct unaligned_tall_skinny_args : tile_args {
  std::int32_t narrow_log2 = 0;  // a row of src has 2^narrow_log2 chunks of 16 bytes
  fused_axes rows;               // src strides; rank 0: one axis
};

}  // namespace cornerturn::gpu
