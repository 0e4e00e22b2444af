// Strips in place: strips of a rectangle are transposed, each over strips that earlier blocks have read. See
// strips_args.
//   1. a block reads its tile as tile/kernel.cuh and unaligned_tile/kernel.cuh do, and adds 1 to the flag of its band
//   2. it waits until all blocks have read whose tiles it overwrites
//   3. after a barrier it writes its tile
// Blocks start in the order of their numbers, and no block waits before it has read. So every block that another one
// waits for reads its tile, and progress is guaranteed. Blocks walk down the columns of a band. With two bands, a block
// waits for reads that are half a strip older. A launch for each strip would cost 2 us each (H200, 2026-11-22), and
// would start no block of a strip before the last block of the strip before it ends.
#pragma once

#include "kernels/gpu/strips/args.hpp"
#include "kernels/gpu/tile/kernel.cuh"
#include "kernels/gpu/unaligned_tile/kernel.cuh"

namespace cornerturn::gpu {

GPU_INLINE uint32_t strip_block(const strips_args& args) {
  return args.backwards != 0 ? args.last - block_index() : block_index();
}

// 1, 2.
struct wait_for_readers {
  const strips_args& args;
  const tile_origin& here;
  GPU_INLINE void operator()() const {
    const uint32_t band = args.band_blocks.quotient(strip_block(args));
    if (thread_index() == 0) raise_flag(args.flags + band);
    if (thread_index() < warp_lanes && here.left[1] > 0) {
      const int64_t begin = args.blocks.extent[0] - here.left[0];
      const int64_t width = here.left[0] < args.blocks.tile[0] ? here.left[0] : args.blocks.tile[0];
      const flag_range before = flags_before(args, args.bands.quotient(band), begin, begin + width);
      for (int64_t flag = before.first + thread_index(); flag <= before.last; flag += warp_lanes) {
        wait_for_flag(args.flags + flag, args.band_blocks.divisor);
      }
    }
    block_barrier();  // orders the other blocks' reads, for which these threads have waited, before the writes of 3
  }
};

GPU_INLINE tile_origin find_strip_origin(const strips_args& args) {
  return find_origin(args.blocks, args.src, args.dst, strip_block(args));
}

template <int WordBytes, int Side, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
strips_kernel(GPU_PARAMETER strips_args args) {
  static_assert(threads_of(Limits) == map::tile_map<WordBytes, Side>::threads);
  constexpr int extent = map::tile_map<WordBytes, Side>::extent;
  const tile_origin here = find_strip_origin(args);
  wait_for_earlier_launches();
  if (here.left[1] <= 0) return wait_for_readers{args, here}();  // past the end of a partial band: it counts, too
  if (here.left[0] >= extent && here.left[1] >= extent) {
    transpose_tile<WordBytes, Side, true, true>(args, here, wait_for_readers{args, here});
  } else {
    transpose_tile<WordBytes, Side, true, false>(args, here, wait_for_readers{args, here});
  }
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_strips_kernel(GPU_PARAMETER strips_args args) {
  static_assert(threads_of(Limits) == unaligned_tile<WordBytes>::threads);
  const tile_origin here = find_strip_origin(args);
  wait_for_earlier_launches();
  if (here.left[1] <= 0) return wait_for_readers{args, here}();
  const unaligned_source src = source_of(args, here);
  if (is_whole<WordBytes, true>(args, here, src)) {
    transpose_unaligned<WordBytes, true, true>(args, here, src, wait_for_readers{args, here});
  } else {
    transpose_unaligned<WordBytes, true, false>(args, here, src, wait_for_readers{args, here});
  }
}

}  // namespace cornerturn::gpu
