// In place: strips of a rectangle are turned, each into the room of one that was read before. See strips_job.
//   1. a block reads its tile as gpu/tile.cuh and gpu/shift.cuh do
//   2. it waits until all blocks of the strip before its own have said that they have read, and says the same: so
//      whoever says it speaks for all strips before, into whose room its own may reach as well
//   3. it writes the tile: where that strip lay, and behind it
// Blocks start in the order of their numbers, and none waits before it has read: so whoever is waited for will have
// read. One launch for each strip costs 2 us each time, and the blocks of one end before those of the next begin.
#pragma once

#include "kernels/gpu/shift.cuh"
#include "kernels/gpu/tile.cuh"

namespace cornerturn::gpu {

// 2. The first strip goes where there is room.
struct wait_for_room {
  const strips_job& job;
  GPU_INLINE void operator()() const {
    if (thread_index() == 0) {
      const uint32_t strip = job.strip_blocks.quotient(block_index());
      if (strip > 0) wait_for_flag(job.flags + strip - 1, job.strip_blocks.divisor);
      raise_flag(job.flags + strip);
    }
    block_barrier();  // orders the other blocks' reads, which thread 0 has waited for, before the writes of 3
  }
};

GPU_INLINE place find_strip_place(const strips_job& job) {
  return find_place(job.blocks, job.src, job.dst, job.backwards != 0 ? job.last - block_index() : block_index());
}

template <int WordBytes, int Side>
GPU_KERNEL((map::tile_map<WordBytes, Side>::threads), (tile_blocks<WordBytes, Side>))
strips_kernel(GPU_PARAMETER strips_job job) {
  constexpr int extent = map::tile_map<WordBytes, Side>::extent;
  const place here = find_strip_place(job);
  if (here.left[0] >= extent && here.left[1] >= extent) {
    move_tile<WordBytes, Side, true, true>(job, here, wait_for_room{job});
  } else {
    move_tile<WordBytes, Side, true, false>(job, here, wait_for_room{job});
  }
}

template <int WordBytes>
GPU_KERNEL(shift_tile<WordBytes>::threads, shift_tile<WordBytes>::blocks)
strips_shift_kernel(GPU_PARAMETER strips_job job) {
  const place here = find_strip_place(job);
  const shift_source src = source_of(job, here);
  if (is_whole<WordBytes, true>(job, here, src)) {
    move_shifted<WordBytes, true, true>(job, here, src, wait_for_room{job});
  } else {
    move_shifted<WordBytes, true, false>(job, here, src, wait_for_room{job});
  }
}

}  // namespace cornerturn::gpu
