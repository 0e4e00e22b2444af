// 00 copy: dst = src, no transpose. The roof: the upper bound for every kernel that reads and writes each byte once.
//
// The model predicts: 16 sectors per request on both sides (32 lanes x 16 bytes), every byte useful, no shared memory.
// In the profiler: memory throughput. Its value for this rung is 100 % for all rungs above.
// Seed: the copy kernels of the A100 staircase and of the coalescing article, which copy 4 bytes per thread. One piece
// of 16 bytes per thread was the fastest of several copies (H200, 2026-11-21).
#pragma once

#include "rung.hpp"
#ifdef GPU_KERNEL
#include "move.cuh"
#endif

namespace cornerturn::ladder {

template <int WordBytes>
struct copy : rung<WordBytes> {
  static constexpr bool is_copy = true;
  static constexpr int width = 16 / WordBytes;
  static constexpr int threads = 256;
  static constexpr int tile_rows = 1;  // the array as one long row
  static constexpr int tile_cols = threads * width;

  RUNG_MAP at element(int thread) { return {0, thread * width}; }

#ifdef GPU_KERNEL
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    using piece = word_t<16>;
    const at e = Rung::element(static_cast<int>(gpu::thread_index()));
    const int64_t first = int64_t{gpu::block_index()} * tile_cols + e.col;
    if (first + width <= a.cols) {
      gpu::store_global(a.dst + first * WordBytes, gpu::load_global<piece>(a.src + first * WordBytes));
    } else {
      move_rest(a, first);
    }
  }
  // The elements after the last whole piece.
  GPU_INLINE static void move_rest(const arguments& a, int64_t first) {
    using word = word_t<WordBytes>;
    for (; first < a.cols; ++first) reinterpret_cast<word*>(a.dst)[first] = reinterpret_cast<const word*>(a.src)[first];
  }
#endif
};

}  // namespace cornerturn::ladder
