// Short-wide tile with src at any address that is a multiple of one element. A column of dst has 2^narrow_log2 aligned
// chunks of 16 bytes: at most 8, or 16 of wide words.
//   1. the aligned chunks that hold the rows are copied to shared memory unchanged
//   2. after a barrier each thread realigns its blocks, 16 bytes from two chunks, and transposes them in registers
//   3. after a barrier it stores them to shared memory in the order of dst
//   4. after a barrier they are stored to dst in that order
#pragma once

#include "kernels/gpu/policy/fused_axes.cuh"
#include "kernels/gpu/policy/unaligned_skinny.cuh"
#include "kernels/gpu/short_wide/args.hpp"

namespace cornerturn::gpu {

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_short_wide_kernel(GPU_PARAMETER unaligned_short_wide_args args) {
  static_assert(threads_of(Limits) == unaligned_skinny_tile<WordBytes>::threads);
  using at = unaligned_skinny_tile<WordBytes>;
  constexpr int V = at::v;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  if (here.left[0] <= 0) return;
  unsigned char* const tile = shared_memory();
  auto* const chunks = reinterpret_cast<word_t<16>*>(tile);
  const auto thread = static_cast<int>(thread_index());
  const int narrow_log2 = args.narrow_log2;
  const int wide_log2 = at::units_log2 - narrow_log2;
  const int wide = 1 << wide_log2;  // blocks along the tile
  const auto rows = static_cast<int32_t>(args.blocks.extent[1]);
  const int32_t cols = clamp_extent(here.left[0]);
  const int64_t first_col = args.blocks.extent[0] - here.left[0];
  const unsigned char* const first = here.src + first_col * WordBytes;
  const unaligned_source src = {first, args.src_row_bytes, args.src_begin, args.src_end, 0, {cols, rows}};

  GPU_UNROLL for (int step = 0; step <= at::steps; ++step) {  // 1.                       (rows, wide + 1, 16 bytes)
    const int index = step * at::threads + thread;
    const auto row = static_cast<int>(args.run_chunks.quotient(index));
    const int number = index - row * (wide + 1);
    if (row >= rows) continue;
    const unsigned char* const line = first + row * args.src_row_bytes;
    const auto before = static_cast<int>(low_word(line) & 15);
    if (number * 16 - before >= cols * WordBytes || (number == wide && before == 0)) continue;
    fetch_part(src, tile + index * 16, line - before + number * 16);
  }
  wait_for_copies();
  block_barrier();                      // orders the chunks copied in 1 before their reads in 2
  register_block<V> block[at::blocks];  //                                                (blocks, V rows, 16 bytes)
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 2.
    const int unit = thread + b * at::threads;
    int low = (unit >> wide_log2) * V * (wide + 1) + (unit & wide - 1);
    uint32_t line = low_word(first) + (unit >> wide_log2) * V * static_cast<uint32_t>(args.src_row_bytes);
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const uint32_t before = line & 15;
      realign<WordBytes>(block[b].row[k], view_shared(chunks + low),
                         view_shared(chunks + (before == 0 ? low : low + 1)), before);
      low += wide + 1;
      line += static_cast<uint32_t>(args.src_row_bytes);
    }
    transpose_block<WordBytes>(block[b]);  //                                             (blocks, V columns, 16 bytes)
  }
  block_barrier();                                   // orders the reads of the chunks in 2 before the writes in 3
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 3.
    const int unit = thread + b * at::threads;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const int chunk = (((unit & wide - 1) * V + k) << narrow_log2) + (unit >> wide_log2);
      *reinterpret_cast<word_t<16>*>(tile + at::smem_offset(chunk, narrow_log2)) = chunk_of<V>(block[b], k);
    }
  }
  block_barrier();  // orders the chunks stored in 3 before their reads in 4
  const int part = thread & (1 << narrow_log2) - 1;
  int32_t col = thread >> narrow_log2;
  unsigned char* to = here.dst + (first_col + col) * args.dst_col_bytes + part * 16;
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 4.
    if (col < cols && part * V < rows) {
      if (args.cols.rank != 0) to = here.dst + fused_offset(args.cols, first_col + col) + part * 16;
      store_global(
          to, *reinterpret_cast<const word_t<16>*>(tile + at::smem_offset(step * at::threads + thread, narrow_log2)));
    }
    col += at::threads >> narrow_log2;
    to += (at::threads >> narrow_log2) * args.dst_col_bytes;
  }
}

}  // namespace cornerturn::gpu
