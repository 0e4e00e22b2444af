// Register-block tile: rows and columns whose addresses are multiples of 16 bytes on both sides.
//   1. each thread reads a V x V block as V chunks of 16 bytes, one from each row     (16 threads: 256 bytes of a row)
//   2. it transposes the block in registers
//   3. it puts V chunks, one for each column, into shared memory; a XOR keeps eight threads on eight bank groups
//   4. after a barrier it writes V chunks of 16 bytes                             (16 threads: 256 bytes of a dst run)
// The addresses of all four are map::tile_map. Rows or columns that are several axes look theirs up in tables. Tiles at
// an edge take the same path, element by element only in the chunk that the edge cuts.
#pragma once

#include "kernels/gpu/chain.cuh"
#include "kernels/gpu/transpose_block.cuh"
#include "map/tile.hpp"

namespace cornerturn::gpu {

// Reads `count` elements of a chunk, all of them when count >= V. The rest is undefined and never stored.
template <int WordBytes>
GPU_INLINE void load_chunk(uint32_t (&chunk)[4], const unsigned char* from, int64_t count) {
  constexpr int V = 16 / WordBytes;
  if (count >= V) {
    const auto all = load_global<word_t<16>>(from);
    chunk[0] = all.x, chunk[1] = all.y, chunk[2] = all.z, chunk[3] = all.w;
    return;
  }
  chunk[0] = chunk[1] = chunk[2] = chunk[3] = 0;
  if constexpr (WordBytes < 4) {
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (k < count) {
        const uint32_t element = load_global<word_t<WordBytes>>(from + k * WordBytes);
        chunk[k * WordBytes / 4] |= element << k * WordBytes % 4 * 8;
      }
    }
  } else {
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      if (k * 4 < count * WordBytes) chunk[k] = load_global<uint32_t>(from + k * 4);
    }
  }
}

template <int WordBytes>
GPU_INLINE void store_chunk(unsigned char* to, const word_t<16>& chunk, int64_t count) {
  constexpr int V = 16 / WordBytes;
  if (count >= V) return store_global(to, chunk);
  const uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
  if constexpr (WordBytes < 4) {
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (k < count) {
        const uint32_t element = words[k * WordBytes / 4] >> k * WordBytes % 4 * 8;
        store_global(to + k * WordBytes, static_cast<word_t<WordBytes>>(element));
      }
    }
  } else {
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      if (k * 4 < count * WordBytes) store_global(to + k * 4, words[k]);
    }
  }
}

// Blocks that must fit a multiprocessor: as many registers as the block needs without a spill, and few enough that the
// compiler keeps all loads in flight: 4 bytes with five 0.967 of the copy, with six 0.951 (H200, 2026-11-21).
template <int WordBytes, int Side>
inline constexpr int tile_blocks = (WordBytes == 1   ? 512
                                    : WordBytes == 2 ? 768
                                    : WordBytes == 8 ? 1024
                                                     : 1280) /
                                   (Side <= 16 ? Side * Side : 256);

template <int WordBytes, int Side, bool Chained, bool Whole, class Between = nothing_between>
GPU_INLINE void move_tile(const job_t<Chained>& job, const place& here, const Between& between = {}) {
  using at = map::tile_map<WordBytes, Side>;
  constexpr int V = at::v;
  constexpr int Blocks = at::steps / V;
  unsigned char* const tile = shared_memory();
  const int64_t* const row_src = reinterpret_cast<const int64_t*>(tile + at::shared_bytes);  // (extent)
  const int64_t* const col_dst = row_src + at::extent;                                       // (extent)
  const int thread = static_cast<int>(thread_index());
  if constexpr (Chained) {
    fill_tables(job, here, reinterpret_cast<int64_t*>(tile + at::shared_bytes), at::extent, at::extent, at::threads);
    block_barrier();  // orders the tables before their reads
  }

  register_block<V> block[Blocks];  //                                                    (blocks, V rows, 16 bytes)
  const unsigned char* const from = here.src + at::src_col(thread) * WordBytes;
  const int64_t cols = here.left[0] - at::src_col(thread);
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 1.
    const int row = at::src_row(thread, step);
    const int64_t offset = Chained ? row_src[row] : row * job.src_row_bytes;
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
    const int64_t offset = Chained ? col_dst[column] : column * job.dst_col_bytes;
    const auto chunk = load_shared<word_t<16>>(tile + at::smem_load(thread, step));
    store_chunk<WordBytes>(to + offset, chunk, Whole ? V : column < here.left[0] ? length : 0);
  }
}

template <int WordBytes, int Side, bool Chained>
GPU_KERNEL((map::tile_map<WordBytes, Side>::threads), (tile_blocks<WordBytes, Side>))
tile_kernel(GPU_PARAMETER job_t<Chained> job) {
  constexpr int extent = map::tile_map<WordBytes, Side>::extent;
  const place here = find_place(job.blocks, job.src, job.dst);
  if (here.left[1] <= 0) return;
  if (here.left[0] >= extent && here.left[1] >= extent) {
    move_tile<WordBytes, Side, Chained, true>(job, here);
  } else {
    move_tile<WordBytes, Side, Chained, false>(job, here);
  }
}

}  // namespace cornerturn::gpu
