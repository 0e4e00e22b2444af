// Address source of fused axes: an index is split over the axes by multiplications. A tile has two tables in shared
// memory: the src offsets of its rows, and the dst offsets of its columns.
#pragma once

#include "kernels/gpu/policy/grid.cuh"
#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

template <bool Fused>
struct tile_args_of {
  using type = tile_args;
};
template <>
struct tile_args_of<true> {
  using type = fused_tile_args;
};
template <bool Fused>
using tile_args_t = typename tile_args_of<Fused>::type;

GPU_INLINE int64_t fused_offset(const fused_axes& axes, uint32_t index) {
  int64_t offset = 0;
  for (int32_t k = 0; k < axes.rank; ++k) {
    const uint32_t above = axes.axes[k].count.quotient(index);
    offset += (index - above * axes.axes[k].count.divisor) * axes.axes[k].stride_bytes;
    index = above;
  }
  return offset;
}

GPU_INLINE int64_t offset_of(const fused_axes& axes, int64_t stride_bytes, uint32_t index) {
  return axes.rank == 0 ? index * stride_bytes : fused_offset(axes, index);
}

// Fills the tables with `rows` and `cols` entries; entries past the end are never used. `threads` threads fill them.
GPU_INLINE void fill_tables(const fused_tile_args& args, const tile_origin& here, int64_t* tables, int rows, int cols,
                            int threads) {
  const auto first_col = static_cast<uint32_t>(args.blocks.extent[0] - here.left[0]);
  const auto first_row = static_cast<uint32_t>(args.blocks.extent[1] - here.left[1]);
  for (int i = static_cast<int>(thread_index()); i < rows + cols; i += threads) {
    tables[i] = i < rows ? fused_offset(args.rows, first_row + i) : fused_offset(args.cols, first_col + (i - rows));
  }
}

}  // namespace cornerturn::gpu
