// Tall-skinny tile: at most 128 bytes of columns, every address a multiple of 16 bytes (map/skinny.hpp has the picture).
// The rows may be any axes, contiguous in dst or not, as long as each chunk of 16 bytes is contiguous.
//   1. the rows of src are copied to shared memory, chunk by chunk, in order
//   2. after a barrier each thread reads its blocks and transposes them in registers
//   3. it stores V chunks of each block, one for each column: 32 lanes store neighbouring chunks
#pragma once

#include "kernels/gpu/policy/chunk.cuh"
#include "kernels/gpu/policy/fused_axes.cuh"
#include "kernels/gpu/policy/transpose_block.cuh"
#include "kernels/gpu/tall_skinny/args.hpp"
#include "map/skinny.hpp"

namespace cornerturn::gpu {

template <int WordBytes, int Across, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
tall_skinny_kernel(GPU_PARAMETER tall_skinny_args args) {
  static_assert(threads_of(Limits) == map::skinny_map<WordBytes, Across>::threads);
  using at = map::skinny_map<WordBytes, Across>;
  constexpr int V = at::v;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  if (here.left[1] <= 0) return;
  unsigned char* const tile = shared_memory();
  const auto thread = static_cast<int>(thread_index());
  const auto first_row = static_cast<uint32_t>(args.blocks.extent[1] - here.left[1]);
  const auto cols = static_cast<int32_t>(args.blocks.extent[0]);
  const auto rows = here.left[1] < at::long_extent ? static_cast<int32_t>(here.left[1]) : at::long_extent;

  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 1.
    const int chunk = at::chunk(thread, step);
    const int row = at::line_of(chunk);
    const int col = at::chunk_in_line(chunk) * V;
    if (row >= rows || col >= cols) continue;
    start_copy<16>(tile + at::smem_offset(chunk),
                   here.src + offset_of(args.rows, args.src_row_bytes, first_row + row) + col * WordBytes);
  }
  wait_for_copies();
  block_barrier();  // orders the chunks copied in 1 before their reads in 2
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {
    const int wide = at::wide_block(thread, b);
    const int narrow = at::narrow_block(thread, b);
    if (wide * V >= rows || narrow * V >= cols) continue;
    register_block<V> block;  //                                                          (V rows, 16 bytes)
    GPU_UNROLL for (int k = 0; k < V; ++k) {  // 2.
      const auto chunk = *reinterpret_cast<const word_t<16>*>(tile + at::smem_offset(at::block_chunk(wide, narrow, k)));
      block.row[k][0] = chunk.x, block.row[k][1] = chunk.y, block.row[k][2] = chunk.z, block.row[k][3] = chunk.w;
    }
    transpose_block<WordBytes>(block);  //                                                (V columns, 16 bytes)
    unsigned char* const to = here.dst + offset_of(args.rows_dst, WordBytes, first_row + wide * V);
    GPU_UNROLL for (int k = 0; k < V; ++k) {  // 3.
      const uint32_t(&c)[4] = block.row[k];
      store_chunk<WordBytes>(to + offset_of(args.cols, args.dst_col_bytes, narrow * V + k), {c[0], c[1], c[2], c[3]},
                             rows - wide * V);
    }
  }
}

}  // namespace cornerturn::gpu
