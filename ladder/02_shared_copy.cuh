// 02 shared copy: the copy of 00 through shared memory. The control: what shared memory and a barrier cost by themselves.
//
// Against 00: a piece goes from registers into shared memory; after the barrier another thread stores it to dst.
// The model predicts: the sectors of 00 and no conflicts. 32 lanes with 16 bytes each take four wavefronts of 128 bytes.
// In the profiler: memory throughput, beside 00. One request to shared memory for each request to global memory.
// Seed: copySharedMem of NVIDIA's "An Efficient Matrix Transpose in CUDA C/C++". There each thread loads its own word
// again, so its barrier orders nothing.
#pragma once

#include "00_copy.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct shared_copy : copy<WordBytes> {
  using roof = copy<WordBytes>;
  static constexpr int shared_bytes = roof::threads * 16;

  RUNG_MAP at read(int thread, int /*step*/) { return roof::element(thread); }
  RUNG_MAP at write(int thread, int /*step*/) { return roof::element(thread ^ roof::threads / 2); }
  RUNG_MAP int place(at e) { return e.col * WordBytes; }

#ifdef GPU_KERNEL
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    using piece = word_t<16>;
    const int thread = static_cast<int>(gpu::thread_index());
    const int64_t begin = int64_t{gpu::block_index()} * roof::tile_cols;  // of the block
    const at in = Rung::read(thread, 0), out = Rung::write(thread, 0);
    unsigned char* const tile = gpu::shared_memory();
    if (begin + in.col + roof::width <= a.cols) {
      gpu::store_shared(tile + Rung::place(in), gpu::load_global<piece>(a.src + (begin + in.col) * WordBytes));
    }
    gpu::block_barrier();  // orders the stores into the tile before the loads from it
    if (begin + out.col + roof::width <= a.cols) {
      gpu::store_global(a.dst + (begin + out.col) * WordBytes, gpu::load_shared<piece>(tile + Rung::place(out)));
    } else {
      roof::move_rest(a, begin + out.col);
    }
  }
#endif
};

}  // namespace cornerturn::ladder
