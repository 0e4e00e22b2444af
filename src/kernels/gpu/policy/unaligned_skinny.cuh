// The tile that unaligned tall-skinny and short-wide kernels share.
#pragma once

#include "kernels/gpu/policy/tile_args.hpp"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

template <int WordBytes>
struct unaligned_skinny_tile {
  static constexpr int v = 16 / WordBytes;
  static constexpr int threads = WordBytes == 1 ? 128 : 256;  // blocks of bytes fill registers and shared memory
  static constexpr int blocks = v < 4 ? 4 / v : 1;            // of a thread
  static constexpr int steps = v * blocks;                    // chunks of a thread
  static constexpr int units_log2 = WordBytes == 1 ? 7 : WordBytes == 8 ? 9 : 8;
  static constexpr int columns_bytes = threads * steps * 16;
  static constexpr int rows_bytes = columns_bytes + (WordBytes < 4 ? 8 : 16) * v * 16;  // one more chunk in each line
  static constexpr int threads_log2 = WordBytes == 1 ? 7 : 8;
  static_assert(1 << units_log2 == units_of_tile(WordBytes) && 1 << units_log2 == threads * blocks &&
                1 << threads_log2 == threads);

  // The offset of chunk g of the short lines, as in map/skinny.hpp: eight neighbouring blocks use eight bank groups.
  GPU_INLINE static int smem_offset(int chunk, int narrow_log2) {
    return (chunk ^ (chunk / v >> narrow_log2 & 7)) * 16;
  }
};

}  // namespace cornerturn::gpu
