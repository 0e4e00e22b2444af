// Narrow tiles: few columns or few rows, every address a multiple of 16 bytes (map/narrow.hpp has the picture).
// The long side may be any axes, contiguous or not, as long as each chunk of 16 bytes is.
//   columns are few:  1. the rows of src travel to shared memory, chunk by chunk, in order
//                     2. after a barrier each thread reads its blocks and transposes them in registers
//                     3. it writes V chunks of each, one for each column: 32 lanes write neighbouring chunks
//   rows are few:     1. each thread reads its blocks, V chunks each, and transposes them in registers
//                     2. it puts them into shared memory
//                     3. after a barrier the columns of dst are written, chunk by chunk, in order
#pragma once

#include "kernels/gpu/chain.cuh"
#include "kernels/gpu/tile.cuh"
#include "map/narrow.hpp"

namespace cornerturn::gpu {

GPU_INLINE int64_t offset_of(const chain& axes, int64_t stride_bytes, uint32_t index) {
  return axes.rank == 0 ? index * stride_bytes : chain_offset(axes, index);
}

template <int WordBytes, int Across>
GPU_KERNEL((map::narrow_map<WordBytes, Across>::threads), (WordBytes == 1   ? 4
                                                           : WordBytes == 2 ? 3
                                                                            : 6))
few_columns_kernel(GPU_PARAMETER chain_job job) {
  using at = map::narrow_map<WordBytes, Across>;
  constexpr int V = at::v;
  const place here = find_place(job.blocks, job.src, job.dst);
  if (here.left[1] <= 0) return;
  unsigned char* const tile = shared_memory();
  const auto thread = static_cast<int>(thread_index());
  const auto first_row = static_cast<uint32_t>(job.blocks.extent[1] - here.left[1]);
  const auto cols = static_cast<int32_t>(job.blocks.extent[0]);
  const auto rows = here.left[1] < at::long_extent ? static_cast<int32_t>(here.left[1]) : at::long_extent;

  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 1.
    const int chunk = at::chunk(thread, step);
    const int row = at::line_of(chunk);
    const int col = at::chunk_in_line(chunk) * V;
    if (row >= rows || col >= cols) continue;
    start_copy<16>(tile + at::place(chunk),
                   here.src + offset_of(job.rows, job.src_row_bytes, first_row + row) + col * WordBytes);
  }
  wait_for_copies();
  block_barrier();  // orders the chunks copied in 1 before their reads in 2
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {
    const int wide = at::wide_block(thread, b);
    const int narrow = at::narrow_block(thread, b);
    if (wide * V >= rows || narrow * V >= cols) continue;
    register_block<V> block;  //                                                          (V rows, 16 bytes)
    GPU_UNROLL for (int k = 0; k < V; ++k) {  // 2.
      const auto chunk = *reinterpret_cast<const word_t<16>*>(tile + at::place(at::block_chunk(wide, narrow, k)));
      block.row[k][0] = chunk.x, block.row[k][1] = chunk.y, block.row[k][2] = chunk.z, block.row[k][3] = chunk.w;
    }
    transpose_block<WordBytes>(block);  //                                                (V columns, 16 bytes)
    unsigned char* const to = here.dst + offset_of(job.rows_dst, WordBytes, first_row + wide * V);
    GPU_UNROLL for (int k = 0; k < V; ++k) {  // 3.
      const uint32_t(&c)[4] = block.row[k];
      store_chunk<WordBytes>(to + offset_of(job.cols, job.dst_col_bytes, narrow * V + k), {c[0], c[1], c[2], c[3]},
                             rows - wide * V);
    }
  }
}

template <int WordBytes, int Down>
GPU_KERNEL((map::narrow_map<WordBytes, Down>::threads), (WordBytes == 1   ? 4
                                                         : WordBytes == 2 ? 3
                                                                          : 6))
few_rows_kernel(GPU_PARAMETER chain_job job) {
  using at = map::narrow_map<WordBytes, Down>;
  constexpr int V = at::v;
  const place here = find_place(job.blocks, job.src, job.dst);
  if (here.left[0] <= 0) return;
  unsigned char* const tile = shared_memory();
  const auto thread = static_cast<int>(thread_index());
  const auto first_col = static_cast<uint32_t>(job.blocks.extent[0] - here.left[0]);
  const auto rows = static_cast<int32_t>(job.blocks.extent[1]);
  const auto cols = here.left[0] < at::long_extent ? static_cast<int32_t>(here.left[0]) : at::long_extent;

  register_block<V> block[at::blocks];  //                                                (blocks, V rows, 16 bytes)
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {
    const int wide = at::wide_block(thread, b);
    const int narrow = at::narrow_block(thread, b);
    const int32_t left = narrow * V < rows ? cols - wide * V : 0;
    const unsigned char* const from = here.src + offset_of(job.cols_src, WordBytes, first_col + wide * V);
    GPU_UNROLL for (int k = 0; k < V; ++k) {  // 1.
      load_chunk<WordBytes>(block[b].row[k], from + offset_of(job.rows, job.src_row_bytes, narrow * V + k), left);
    }
  }
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {
    transpose_block<WordBytes>(block[b]);  //                                             (blocks, V columns, 16 bytes)
    GPU_UNROLL for (int k = 0; k < V; ++k) {  // 2.
      const int chunk = at::block_chunk(at::wide_block(thread, b), at::narrow_block(thread, b), k);
      const uint32_t(&c)[4] = block[b].row[k];
      *reinterpret_cast<word_t<16>*>(tile + at::place(chunk)) = {c[0], c[1], c[2], c[3]};
    }
  }
  block_barrier();                                           // orders the chunks put down in 2 before their reads in 3
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 3.
    const int chunk = at::chunk(thread, step);
    const int col = at::line_of(chunk);
    const int row = at::chunk_in_line(chunk) * V;
    if (col >= cols || row >= rows) continue;
    store_global(here.dst + offset_of(job.cols, job.dst_col_bytes, first_col + col) + row * WordBytes,
                 *reinterpret_cast<const word_t<16>*>(tile + at::place(chunk)));
  }
}

}  // namespace cornerturn::gpu
