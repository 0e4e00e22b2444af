// Converts a block number to the origin of its tile: the pointers of its first element, and the rest of each cut axis.
#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

struct tile_origin {
  const unsigned char* src;
  unsigned char* dst;
  int64_t left[2];  // columns and rows from here to the edges of the matrix; <= 0: past the end of a partial band
};

// Few grids have more axes. These are loaded from fixed addresses of constant memory, without a loop.
inline constexpr int32_t usual_grid_axes = 3;

// Rolled: the loop over the other axes is not unrolled. If `blocks` is no kernel parameter, the unrolled loop would
// take registers from the whole kernel.
template <bool Rolled = false>
GPU_INLINE tile_origin find_origin(const grid& blocks, const void* src, void* dst, uint32_t block = block_index()) {
  int64_t src_offset = 0, dst_offset = 0;
  uint32_t rest = block, tile0 = 0, tile1 = 0;
  const auto take = [&](const grid_axis& axis) {
    const uint32_t above = axis.count.quotient(rest);
    const uint32_t index = rest - above * axis.count.divisor;
    rest = above;
    src_offset += index * axis.src_step_bytes;
    dst_offset += index * axis.dst_step_bytes;
    tile0 += index * axis.tiles[0];
    tile1 += index * axis.tiles[1];
  };
  GPU_UNROLL for (int32_t k = 0; k < usual_grid_axes; ++k) {
    if (k < blocks.rank) take(blocks.axes[k]);
  }
  if constexpr (Rolled) {
    GPU_UNROLL_BY(1) for (int32_t k = usual_grid_axes; k < blocks.rank; ++k) take(blocks.axes[k]);
  } else {
    for (int32_t k = usual_grid_axes; k < blocks.rank; ++k) take(blocks.axes[k]);
  }
  return {static_cast<const unsigned char*>(src) + src_offset,
          static_cast<unsigned char*>(dst) + dst_offset,
          {blocks.extent[0] - int64_t{tile0} * blocks.tile[0], blocks.extent[1] - int64_t{tile1} * blocks.tile[1]}};
}

// The callback between reads and writes of a tile, for families whose blocks do not wait for each other.
struct nothing_between {
  GPU_INLINE void operator()() const {}
};

}  // namespace cornerturn::gpu
