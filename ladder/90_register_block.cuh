// 90 register block: the library's own kernel, by include. Its name in the plan is gpu_tile_*_xor.
//
// Against 55: a thread loads V pieces of consecutive rows, a V x V block, and transposes it in registers. Shared memory
// is then stored and loaded in whole pieces of 16 bytes. A side of the tile has 256 bytes or more. Consecutive blocks
// process a column of tiles, so that rows of dst are completed early.
// The model predicts: 16 sectors per request, no conflicts; a quarter of the requests of 35, for global and for shared
// memory.
// In the profiler: memory throughput close to 00. The rest is DRAM switching between reads and writes.
// Seed: no article has it; the occupancy article's last kernel is 50. Every address must be a multiple of 16 bytes. The
// library has other kernels for other matrices.
#pragma once

#include "map/tile.hpp"
#include "rung.hpp"
#ifdef GPU_KERNEL
#include "kernels/gpu/tile/kernel.cuh"
#endif

namespace cornerturn::ladder {

template <int WordBytes>
struct register_block : rung<WordBytes> {
  static constexpr int side = WordBytes == 8 ? 32 : 16;  // blocks per side, as in kernels/cuda/tile.cu
  using map = cornerturn::map::tile_map<WordBytes, side>;
  static constexpr bool is_production = true;
  static constexpr int resident =  // blocks of the launch bounds; host code cannot read them from the kernel
      (WordBytes == 1   ? 512
       : WordBytes == 2 ? 768
       : WordBytes == 8 ? 1024
                        : 1280) /
      map::threads;
  static constexpr int src_row_multiple = 16;
  static constexpr int dst_row_multiple = 16;
  static constexpr int width = map::v;
  static constexpr int steps = map::steps;
  static constexpr int threads = map::threads;
  static constexpr int tile_rows = map::extent;
  static constexpr int tile_cols = map::extent;
  static constexpr int shared_bytes = map::shared_bytes;

  RUNG_MAP at read(int thread, int step) { return {map::src_row(thread, step), map::src_col(thread)}; }
  RUNG_MAP at write(int thread, int step) { return {map::dst_row(thread), map::dst_col(thread, step)}; }
  // The offset of an element: the thread of its block stores a chunk for its column.
  RUNG_MAP int place(at e) {
    constexpr int v = map::v;
    const int block = e.row / v * side + e.col / v;
    const int chunk = map::smem_store(block % threads, block / threads * v + e.col % v);
    return chunk + e.row % v * WordBytes;
  }
  // The offset without the XOR: one line per column.
  RUNG_MAP int plain_place(at e) { return (e.col * tile_rows + e.row) * WordBytes; }
  RUNG_MAP int stored(int thread, int step) { return map::smem_store(thread, step); }
  RUNG_MAP int loaded(int thread, int step) { return map::smem_load(thread, step); }
  RUNG_MAP tile tile_of(std::uint32_t block, const arguments& a) {
    return {0, block % a.tiles_down, block / a.tiles_down};
  }

#ifdef GPU_KERNEL
  static constexpr auto kernel = &gpu::tile_kernel<WordBytes, side, false, gpu::limits(threads, resident)>;
#endif
};

}  // namespace cornerturn::ladder
