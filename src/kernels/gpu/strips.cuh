// In place: strips of a rectangle are turned, each into the room of those that were read before. See strips_job.
//   1. a block reads its tile as gpu/tile.cuh and gpu/shift.cuh do, and says so
//   2. it waits until all blocks have said so whose tiles lay where its own goes
//   3. it writes the tile
// Blocks start in the order of their numbers, and none waits before it has read: so whoever is waited for will have
// read. They go down the columns of a band of rows of tiles: of two bands each waits for what was read half a strip
// before. One launch for each strip costs 2 us each time, and the blocks of one end before those of the next begin.
#pragma once

#include "kernels/gpu/shift.cuh"
#include "kernels/gpu/tile.cuh"

namespace cornerturn::gpu {

GPU_INLINE uint32_t strip_block(const strips_job& job) {
  return job.backwards != 0 ? job.last - block_index() : block_index();
}

// 1, 2.
struct wait_for_room {
  const strips_job& job;
  const place& here;
  GPU_INLINE void operator()() const {
    const uint32_t band = job.band_blocks.quotient(strip_block(job));
    if (thread_index() == 0) raise_flag(job.flags + band);
    if (thread_index() < 32 && here.left[1] > 0) {
      const int64_t begin = job.blocks.extent[0] - here.left[0];
      const int64_t width = here.left[0] < job.blocks.tile[0] ? here.left[0] : job.blocks.tile[0];
      const flag_range before = flags_before(job, job.bands.quotient(band), begin, begin + width);
      for (int64_t flag = before.first + thread_index(); flag <= before.last; flag += 32) {
        wait_for_flag(job.flags + flag, job.band_blocks.divisor);
      }
    }
    block_barrier();  // orders the other blocks' reads, which these threads have waited for, before the writes of 3
  }
};

GPU_INLINE place find_strip_place(const strips_job& job) {
  return find_place(job.blocks, job.src, job.dst, strip_block(job));
}

template <int WordBytes, int Side>
GPU_KERNEL((map::tile_map<WordBytes, Side>::threads), (tile_blocks<WordBytes, Side>))
strips_kernel(GPU_PARAMETER strips_job job) {
  constexpr int extent = map::tile_map<WordBytes, Side>::extent;
  const place here = find_strip_place(job);
  if (here.left[1] <= 0) return wait_for_room{job, here}();  // past the end of a band that is not full
  if (here.left[0] >= extent && here.left[1] >= extent) {
    move_tile<WordBytes, Side, true, true>(job, here, wait_for_room{job, here});
  } else {
    move_tile<WordBytes, Side, true, false>(job, here, wait_for_room{job, here});
  }
}

template <int WordBytes>
GPU_KERNEL(shift_tile<WordBytes>::threads, shift_tile<WordBytes>::blocks)
strips_shift_kernel(GPU_PARAMETER strips_job job) {
  const place here = find_strip_place(job);
  if (here.left[1] <= 0) return wait_for_room{job, here}();
  const shift_source src = source_of(job, here);
  if (is_whole<WordBytes, true>(job, here, src)) {
    move_shifted<WordBytes, true, true>(job, here, src, wait_for_room{job, here});
  } else {
    move_shifted<WordBytes, true, false>(job, here, src, wait_for_room{job, here});
  }
}

}  // namespace cornerturn::gpu
