// 15 with blocks of 8 x 8 threads, and 30 padded in seven other sizes: tiles of 16, 32 and 64 elements a side, blocks of
// 64, 256 and 1024 threads.
//
// Against 15: block size. A warp is four rows of 8 elements, so four lanes share each sector of dst.
// Against 30: tile and block sizes. Each thread copies 1 to 64 elements. Two of nine combinations are absent: 16 x 16
// has too few elements for 1024 threads, and 32 x 32 with 256 threads is rung 30.
// The model predicts: sectors or cache lines per request, conflicts and occupancy. A row of 16 floats fills two
// sectors, a cache line of 64 bytes, or half a line of 128 bytes. Tiles of 16 x 16 have conflicts in spite of the
// padding.
// In the profiler: occupancy, sectors or lines per request, shared conflicts.
// Seed: "Tile size selection" of the AMD article, which names 16 x 16 and 32 x 32 as common.
#pragma once

#include "05_scattered_store.cuh"
#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct blocks_8x8 : scattered_store<WordBytes> {
  static constexpr int tile_rows = 8;
  static constexpr int tile_cols = 8;
  static constexpr int threads = 64;

  RUNG_MAP at element(int thread) { return {thread / 8, thread % 8}; }
};

template <int WordBytes, int Side, int Threads>
struct padded_tile : load_conflicts<WordBytes> {
  static constexpr int tile_rows = Side;
  static constexpr int tile_cols = Side;
  static constexpr int threads = Threads;
  static constexpr int steps = Side * Side / Threads;
  static constexpr int pitch = Side + 1;
  static constexpr int shared_bytes = Side * pitch * WordBytes;
  static_assert(steps > 0 && steps * Threads == Side * Side);
  // A thread keeps at most 16 elements in registers. With 64, nvcc 13.0 spills even at 255 registers. Fewer resident
  // threads leave more registers per thread.
  static constexpr int held = steps < 16 ? steps : 16;
  static constexpr int resident_threads = held <= 4 ? 2048 : held <= 8 ? 1024 : 512;

  RUNG_MAP at read(int thread, int step) {
    const int element = step * threads + thread;
    return {element / Side, element % Side};
  }
  RUNG_MAP at write(int thread, int step) {
    const int element = step * threads + thread;
    return {element % Side, element / Side};
  }
  RUNG_MAP int place(at e) { return (e.row * pitch + e.col) * WordBytes; }  // (row, col) : (Side + 1, 1)

#ifdef GPU_KERNEL
  template <class Rung, bool Checked>
  GPU_INLINE static void through_tile(const part<Rung, Checked>& p) {
    GPU_UNROLL_BY(1)
    for (int first = 0; first < steps; first += held) rows_in<Rung, Checked, held>(p, first);
    gpu::block_barrier();  // orders the stores into the tile before the loads from it
    GPU_UNROLL_BY(1)
    for (int first = 0; first < steps; first += held) columns_out<Rung, Checked, held>(p, first);
  }
#endif
};

template <int WordBytes>
using padded_tile16_threads64 = padded_tile<WordBytes, 16, 64>;
template <int WordBytes>
using padded_tile16_threads256 = padded_tile<WordBytes, 16, 256>;
template <int WordBytes>
using padded_tile32_threads64 = padded_tile<WordBytes, 32, 64>;
template <int WordBytes>
using padded_tile32_threads1024 = padded_tile<WordBytes, 32, 1024>;
template <int WordBytes>
using padded_tile64_threads64 = padded_tile<WordBytes, 64, 64>;
template <int WordBytes>
using padded_tile64_threads256 = padded_tile<WordBytes, 64, 256>;
template <int WordBytes>
using padded_tile64_threads1024 = padded_tile<WordBytes, 64, 1024>;

}  // namespace cornerturn::ladder
