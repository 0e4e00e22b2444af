// Tall-skinny tile with dst at any address that is a multiple of one element. A row of src has 2^narrow_log2 aligned
// chunks of 16 bytes: at most 8, or 16 of wide words.
//   1. the rows of src are copied to shared memory, chunk by chunk, in order. The halo, one block of rows above the
//      tile, is copied with them
//   2. after a barrier each thread loads its blocks and transposes them in registers
//   3. after a barrier it stores them to shared memory as lines of dst
//   4. after a barrier aligned chunks of dst are realigned, each from two chunks of a line, and stored
#pragma once

#include "kernels/gpu/policy/fused_axes.cuh"
#include "kernels/gpu/policy/unaligned_skinny.cuh"
#include "kernels/gpu/tall_skinny/args.hpp"

namespace cornerturn::gpu {

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
unaligned_tall_skinny_kernel(GPU_PARAMETER unaligned_tall_skinny_args args) {
  static_assert(threads_of(Limits) == unaligned_skinny_tile<WordBytes>::threads);
  using at = unaligned_skinny_tile<WordBytes>;
  constexpr int V = at::v;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  unsigned char* const tile = shared_memory();
  auto* const chunks = reinterpret_cast<word_t<16>*>(tile);
  const auto thread = static_cast<int>(thread_index());
  const int narrow_log2 = args.narrow_log2;
  const int wide_log2 = at::units_log2 - narrow_log2;
  const int wide = 1 << wide_log2;                                 // blocks down the tile, with the halo
  const int64_t first_row = args.blocks.extent[1] - here.left[1];  // of the tile, behind the halo
  const int32_t above = -clamp_extent(first_row);                  // rows [above, below) exist; row 0 is first_row
  const int32_t below = clamp_extent(here.left[1]);
  const auto cols = static_cast<int32_t>(args.blocks.extent[0]);

  {  // 1.
    const int part = thread & (1 << narrow_log2) - 1;
    int32_t row = (thread >> narrow_log2) - V;
    const unsigned char* from = here.src + (first_row + row) * args.src_row_bytes + part * 16;
    GPU_UNROLL for (int step = 0; step < at::steps; ++step) {
      if (row >= above && row < below && part * V < cols) {
        if (args.rows.rank != 0) from = here.src + fused_offset(args.rows, first_row + row) + part * 16;
        start_copy<16>(tile + at::smem_offset(step * at::threads + thread, narrow_log2), from);
      }
      row += at::threads >> narrow_log2;
      from += (at::threads >> narrow_log2) * args.src_row_bytes;
    }
  }
  wait_for_copies();
  block_barrier();                      // orders the chunks copied in 1 before their reads in 2
  register_block<V> block[at::blocks];  //                                                (blocks, V rows, 16 bytes)
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 2.
    const int unit = thread + b * at::threads;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const int chunk = (((unit & wide - 1) * V + k) << narrow_log2) + (unit >> wide_log2);
      const auto row = *reinterpret_cast<const word_t<16>*>(tile + at::smem_offset(chunk, narrow_log2));
      block[b].row[k][0] = row.x, block[b].row[k][1] = row.y, block[b].row[k][2] = row.z, block[b].row[k][3] = row.w;
    }
    transpose_block<WordBytes>(block[b]);  //                                             (blocks, V columns, 16 bytes)
  }
  block_barrier();                                   // orders the reads of the chunks in 2 before the writes in 3
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 3.                                (columns, wide, 16 bytes)
    const int unit = thread + b * at::threads;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      chunks[(((unit >> wide_log2) * V + k) << wide_log2) + (unit & wide - 1)] = chunk_of<V>(block[b], k);
    }
  }
  block_barrier();  // orders the lines stored in 3 before their reads in 4
  const auto write = [&](int index, int number, unsigned char* line) {  // 4. `line` is the address of row first_row
    const uint32_t before = low_word(line) & 15;                        // misalignment
    const int32_t row = number * V - static_cast<int32_t>(before) / WordBytes;
    if (row >= below || row + V <= above) return;
    const int low = before == 0 ? index + 1 : index;
    uint32_t words[4];
    realign<WordBytes>(words, view_shared(chunks + low), view_shared(chunks + (before == 0 ? low : low + 1)),
                       16 - before & 15);
    unsigned char* const to = line + row * WordBytes;
    if (row >= above && row + V <= below) {
      store_global(to, word_t<16>{words[0], words[1], words[2], words[3]});
    } else {
      store_rows<WordBytes>(to, words, above - row, below - row);
    }
  };
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {
    const int unit = thread + b * at::threads;
    const int number = unit & wide - 1;
    int col = unit >> wide_log2;
    unsigned char* line = here.dst + first_row * WordBytes + col * args.dst_col_bytes;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (col < cols && number != wide - 1) write((col << wide_log2) + number, number, line);
      col += 1 << narrow_log2;
      line += args.dst_col_bytes << narrow_log2;
    }
  }
}

}  // namespace cornerturn::gpu
