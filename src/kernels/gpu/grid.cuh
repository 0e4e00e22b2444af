// From a block number to the block's place: the pointers of its first element, and how much of each cut axis is left.
#pragma once

#include "kernels/gpu/job.hpp"

namespace cornerturn::gpu {

struct place {
  const unsigned char* src;
  unsigned char* dst;
  int64_t left[2];  // <= 0: the block lies past the end, in a band that is not full
};

GPU_INLINE place find_place(const grid& blocks, const void* src, void* dst) {
  int64_t src_offset = 0, dst_offset = 0;
  uint32_t rest = block_index(), tile0 = 0, tile1 = 0;
  for (int32_t k = 0; k < blocks.rank; ++k) {
    const grid_axis& axis = blocks.axes[k];
    const uint32_t above = axis.count.quotient(rest);
    const uint32_t index = rest - above * axis.count.divisor;
    rest = above;
    src_offset += index * axis.src_step_bytes;
    dst_offset += index * axis.dst_step_bytes;
    tile0 += index * axis.tiles[0];
    tile1 += index * axis.tiles[1];
  }
  return {static_cast<const unsigned char*>(src) + src_offset,
          static_cast<unsigned char*>(dst) + dst_offset,
          {blocks.extent[0] - int64_t{tile0} * blocks.tile[0], blocks.extent[1] - int64_t{tile1} * blocks.tile[1]}};
}

}  // namespace cornerturn::gpu
