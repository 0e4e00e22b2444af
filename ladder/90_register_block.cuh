// 90 register block: the library's own kernel, by include. What the plan calls cuda_tile_*_xor.
//
// Against 55: a thread reads V pieces below each other, a V x V block, and transposes it in registers; so shared memory
// is written and read in whole pieces of 16 bytes. A side of the tile has 256 bytes or more. Blocks walk down columns
// of tiles: the rows of dst are then completed soon after they are begun.
// The model predicts: 16 sectors per request, no conflicts; a quarter of the requests of 35, for global and shared
// memory alike.
// In the profiler: memory throughput beside that of 00. What is left is DRAM turning between reads and writes.
// Seed: none of them; the occupancy article's last kernel is 50. Every address must be a multiple of 16 bytes: for
// other matrices the library has other kernels.
#pragma once

#include "map/tile.hpp"
#include "rung.hpp"
#ifdef GPU_KERNEL
#include "kernels/gpu/tile/kernel.cuh"
#endif

namespace cornerturn::ladder {

template <int WordBytes>
struct register_block : rung<WordBytes> {
  static constexpr int side = WordBytes == 8 ? 32 : 16;  // blocks; as in kernels/cuda/tile.cu
  using map = cornerturn::map::tile_map<WordBytes, side>;
  static constexpr bool is_production = true;
  static constexpr int resident =  // blocks; the launch bounds, for those who cannot read the kernel
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
  // Where an element lies: in the chunk that the thread of its block stored for its column.
  RUNG_MAP int place(at e) {
    constexpr int v = map::v;
    const int block = e.row / v * side + e.col / v;
    const int chunk = map::smem_store(block % threads, block / threads * v + e.col % v);
    return chunk + e.row % v * WordBytes;
  }
  // The same without the XOR: a line for each column.
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
