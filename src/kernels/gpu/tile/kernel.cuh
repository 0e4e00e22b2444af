// Register-block tile: rows and columns whose addresses are multiples of 16 bytes on both sides.
//   1. each thread loads a V x V block as V chunks of 16 bytes, one from each row     (b4_64x64: 16 threads, 256 bytes)
//   2. it transposes the block in registers
//   3. it stores V chunks, one for each column, to shared memory; a XOR maps eight threads to eight bank groups
//   4. after a barrier it copies V chunks of 16 bytes to dst                      (b4_64x64: 16 threads, 256 bytes)
//
// map::tile_map has the addresses of 1, 3 and 4. In b4_64x64, thread t loads rows 4 (t / 16) to 4 (t / 16) + 3 at columns
// 4 (t % 16) to 4 (t % 16) + 3. In each step of phase 4 it stores column 16 step + t / 16 at rows 4 (t % 16) to 4 (t % 16) + 3.
// Tables in shared memory hold the offsets of rows and columns that are fused axes. A tile at an edge takes the same path;
// only the chunk that the edge cuts is copied by elements.
#pragma once

#include "kernels/gpu/policy/alternating.cuh"
#include "kernels/gpu/policy/chunk.cuh"
#include "kernels/gpu/policy/fused_axes.cuh"
#include "kernels/gpu/policy/transpose_block.cuh"
#include "kernels/gpu/tile/args.hpp"
#include "map/tile.hpp"

namespace cornerturn::gpu {

template <int WordBytes, int Side, bool Fused, bool Whole, class Between = nothing_between>
GPU_INLINE void transpose_tile(const tile_args_t<Fused>& args, const tile_origin& here, const Between& between = {}) {
  using at = map::tile_map<WordBytes, Side>;
  constexpr int V = at::v;
  constexpr int Blocks = at::steps / V;
  unsigned char* const tile = shared_memory();
  const int64_t* const row_src = reinterpret_cast<const int64_t*>(tile + at::shared_bytes);  // (extent)
  const int64_t* const col_dst = row_src + at::extent;                                       // (extent)
  const int thread = static_cast<int>(thread_index());
  if constexpr (Fused) {
    fill_tables(args, here, reinterpret_cast<int64_t*>(tile + at::shared_bytes), at::extent, at::extent, at::threads);
    block_barrier();  // orders the writes of the tables before their reads in 1 and 4
  }

  register_block<V> block[Blocks];  //                                                    (blocks, V rows, 16 bytes)
  const unsigned char* const from = here.src + at::src_col(thread) * WordBytes;
  const int64_t cols = here.left[0] - at::src_col(thread);
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 1.
    const int row = at::src_row(thread, step);
    const int64_t offset = Fused ? row_src[row] : row * args.src_row_bytes;
    load_chunk<WordBytes>(block[step / V].row[step % V], from + offset, Whole ? V : row < here.left[1] ? cols : 0);
  }
  GPU_UNROLL for (int b = 0; b < Blocks; ++b) transpose_block<WordBytes>(block[b]);  // 2. (blocks, V columns, 16 bytes)
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {                          // 3.
    const uint32_t(&chunk)[4] = block[step / V].row[step % V];
    store_shared(tile + at::smem_store(thread, step), word_t<16>{chunk[0], chunk[1], chunk[2], chunk[3]});
  }
  block_barrier();  // orders the chunks written in 3 before their reads in 4
  between();
  unsigned char* const to = here.dst + at::dst_row(thread) * WordBytes;
  const int64_t length = here.left[1] - at::dst_row(thread);
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 4.
    const int column = at::dst_col(thread, step);
    const int64_t offset = Fused ? col_dst[column] : column * args.dst_col_bytes;
    const auto chunk = load_shared<word_t<16>>(tile + at::smem_load(thread, step));
    store_chunk<WordBytes>(to + offset, chunk, Whole ? V : column < here.left[0] ? length : 0);
  }
}

template <int WordBytes, int Side, bool Fused>
GPU_INLINE void tile_block(const tile_args_t<Fused>& args, uint32_t number) {
  constexpr int extent = map::tile_map<WordBytes, Side>::extent;
  // Pointers to the tile's first element on both sides, and the columns and rows from there to the edges of the matrix. Of
  // 16384 x 16384 float32, block b has the rows from 64 (b % 256) and the columns from 64 (b / 256).
  const tile_origin here = find_origin(args.blocks, args.src, args.dst, number);
  wait_for_earlier_launches();
  if (here.left[1] <= 0) return;
  if (here.left[0] >= extent && here.left[1] >= extent) {
    transpose_tile<WordBytes, Side, Fused, true>(args, here);
  } else {
    transpose_tile<WordBytes, Side, Fused, false>(args, here);
  }
}

template <int WordBytes, int Side, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
tile_kernel(GPU_PARAMETER tile_args_t<Fused> args) {
  static_assert(threads_of(Limits) == map::tile_map<WordBytes, Side>::threads);
  tile_block<WordBytes, Side, Fused>(args, block_index());
}

template <int WordBytes, int Side, bool Fused, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
alternating_tile_kernel(GPU_PARAMETER alternating<tile_args_t<Fused>> all) {
  static_assert(threads_of(Limits) == map::tile_map<WordBytes, Side>::threads);
  alternate(all,
            [](const tile_args_t<Fused>& args, uint32_t number) { tile_block<WordBytes, Side, Fused>(args, number); });
}

}  // namespace cornerturn::gpu
