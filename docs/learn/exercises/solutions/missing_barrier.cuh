// Solution 1: a warp loads words that other warps store. The barrier, __syncthreads() in CUDA, is between the two.
#pragma once

#include "30_padded.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct missing_barrier : padded<WordBytes> {
  template <class Rung, bool Checked>
  GPU_INLINE static void through_tile(const part<Rung, Checked>& p) {
    const int thread = static_cast<int>(gpu::thread_index());
    for (int step = 0; step < Rung::steps; ++step) {
      const at e = Rung::read(thread, step);
      if (p.inside(e)) p.shared_word(e) = *p.from(e);
    }
    gpu::block_barrier();  // orders the stores into the tile before the loads from it
    for (int step = 0; step < Rung::steps; ++step) {
      const at e = Rung::write(thread, step);
      if (p.inside(e)) *p.to(e) = p.shared_word(e);
    }
  }
};

}  // namespace cornerturn::ladder
