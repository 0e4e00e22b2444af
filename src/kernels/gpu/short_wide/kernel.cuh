// Short-wide tile: at most 128 bytes of rows, every address a multiple of 16 bytes (map/skinny.hpp has the picture).
// The columns may be any axes, contiguous in src or not, as long as each chunk of 16 bytes is contiguous.
//   1. each thread loads its blocks, V chunks each, and transposes them in registers
//   2. it stores them to shared memory
//   3. after a barrier the columns of dst are stored, chunk by chunk, in order
#pragma once

#include "kernels/gpu/policy/chunk.cuh"
#include "kernels/gpu/policy/fused_axes.cuh"
#include "kernels/gpu/policy/transpose_block.cuh"
#include "kernels/gpu/short_wide/args.hpp"
#include "map/skinny.hpp"

namespace cornerturn::gpu {

template <int WordBytes, int Down, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
short_wide_kernel(GPU_PARAMETER short_wide_args args) {
  static_assert(threads_of(Limits) == map::skinny_map<WordBytes, Down>::threads);
  using at = map::skinny_map<WordBytes, Down>;
  constexpr int V = at::v;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  if (here.left[0] <= 0) return;
  unsigned char* const tile = shared_memory();
  const auto thread = static_cast<int>(thread_index());
  const auto first_col = static_cast<uint32_t>(args.blocks.extent[0] - here.left[0]);
  const auto rows = static_cast<int32_t>(args.blocks.extent[1]);
  const auto cols = here.left[0] < at::long_extent ? static_cast<int32_t>(here.left[0]) : at::long_extent;

  register_block<V> block[at::blocks];  //                                                (blocks, V rows, 16 bytes)
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {
    const int wide = at::wide_block(thread, b);
    const int narrow = at::narrow_block(thread, b);
    const int32_t left = narrow * V < rows ? cols - wide * V : 0;
    const unsigned char* const from = here.src + offset_of(args.cols_src, WordBytes, first_col + wide * V);
    GPU_UNROLL for (int k = 0; k < V; ++k) {  // 1.
      load_chunk<WordBytes>(block[b].row[k], from + offset_of(args.rows, args.src_row_bytes, narrow * V + k), left);
    }
  }
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {
    transpose_block<WordBytes>(block[b]);  //                                             (blocks, V columns, 16 bytes)
    GPU_UNROLL for (int k = 0; k < V; ++k) {  // 2.
      const int chunk = at::block_chunk(at::wide_block(thread, b), at::narrow_block(thread, b), k);
      const uint32_t(&c)[4] = block[b].row[k];
      *reinterpret_cast<word_t<16>*>(tile + at::smem_offset(chunk)) = {c[0], c[1], c[2], c[3]};
    }
  }
  block_barrier();                                           // orders the chunks stored in 2 before their reads in 3
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 3.
    const int chunk = at::chunk(thread, step);
    const int col = at::line_of(chunk);
    const int row = at::chunk_in_line(chunk) * V;
    if (col >= cols || row >= rows) continue;
    store_global(here.dst + offset_of(args.cols, args.dst_col_bytes, first_col + col) + row * WordBytes,
                 *reinterpret_cast<const word_t<16>*>(tile + at::smem_offset(chunk)));
  }
}

}  // namespace cornerturn::gpu
