// The kernel of "Tiling and coalescing: matrix transpose": a tile in shared memory (LDS), one thread for each element.
#pragma once

#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct no_checks : load_conflicts<WordBytes> {
  static constexpr int threads = 1024;

  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    const auto p = part_of<Rung, false>(a, Rung::tile_of(gpu::block_index(), a));
    const int x = static_cast<int>(gpu::thread_index()) % 32, y = static_cast<int>(gpu::thread_index()) / 32;
    p.shared_word({y, x}) = *p.from({y, x});
    gpu::block_barrier();  // orders the stores into the tile before the loads from it
    *p.to({x, y}) = p.shared_word({x, y});
  }
};

}  // namespace cornerturn::ladder
