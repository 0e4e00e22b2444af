// Narrow tiles between aligned chunks and lines at any address: the short lines of one side are 1 to 8 chunks of 16
// bytes (16 of wide words) whose addresses are multiples of 16, the long lines of the other begin at any multiple of an
// element.
//   columns are few:  1. the rows of src travel to shared memory, chunk by chunk, in order; one block of rows above the
//                        tile comes with them, the halo
//                     2. after a barrier each thread reads its blocks and transposes them in registers
//                     3. after a barrier it puts them back as lines of dst
//                     4. after a barrier 16 bytes that begin at a multiple of 16 in dst are taken out of two chunks of
//                        a line, and written
//   rows are few:     1. the aligned chunks that hold the rows travel to shared memory as they lie
//                     2. after a barrier each thread takes its blocks out of them, two chunks for 16 bytes, and
//                        transposes them in registers
//                     3. after a barrier it puts them back in the order of dst
//                     4. after a barrier they are written in order
// How many chunks make a short line is a number of the job, not of the kernel: 2^narrow_log2.
#pragma once

#include <type_traits>

#include "kernels/gpu/shift.cuh"
#include "kernels/gpu/transpose_block.cuh"

namespace cornerturn::gpu {

template <int WordBytes>
struct narrow_shift_tile {
  static constexpr int v = 16 / WordBytes;
  static constexpr int threads = WordBytes == 1 ? 128 : 256;  // blocks of bytes fill registers and shared memory
  static constexpr int resident = WordBytes < 4 ? 4 - WordBytes / 2 : 4;
  static constexpr int blocks = v < 4 ? 4 / v : 1;  // of a thread
  static constexpr int steps = v * blocks;          // chunks of a thread
  static constexpr int units_log2 = WordBytes == 1 ? 7 : WordBytes == 8 ? 9 : 8;
  static constexpr int columns_bytes = threads * steps * 16;
  static constexpr int rows_bytes = columns_bytes + (WordBytes < 4 ? 8 : 16) * v * 16;  // one more chunk in each line
  static constexpr int threads_log2 = WordBytes == 1 ? 7 : 8;
  static_assert(1 << units_log2 == units_of_tile(WordBytes) && 1 << units_log2 == threads * blocks &&
                1 << threads_log2 == threads);

  // Chunk g of the short lines, end to end, as in map/narrow.hpp: eight neighbouring blocks meet eight bank groups.
  GPU_INLINE static int place(int chunk, int narrow_log2) { return (chunk ^ (chunk / v >> narrow_log2 & 7)) * 16; }
};

// Bytes [first, first + 16) of two chunks, 0 <= first < 16; of the second one only what that takes is looked at. The
// lanes of a warp have the same `first`, or few different ones.
template <int WordBytes>
GPU_INLINE void take_out(uint32_t (&taken)[4], const word_t<16>& low, const word_t<16>& high, uint32_t first) {
  const uint32_t all[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  const auto take = [&](auto from) {
    constexpr int From = decltype(from)::value;
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      taken[k] = WordBytes < 4 ? funnel_shift_right(all[From + k], all[From + k + 1], first % 4 * 8) : all[From + k];
    }
  };
  switch (first / 4) {
    case 0:
      return take(std::integral_constant<int, 0>());
    case 1:
      return take(std::integral_constant<int, 1>());
    case 2:
      return take(std::integral_constant<int, 2>());
    default:
      return take(std::integral_constant<int, 3>());
  }
}

template <int V>
GPU_INLINE word_t<16> chunk_of(const register_block<V>& block, int k) {
  return {block.row[k][0], block.row[k][1], block.row[k][2], block.row[k][3]};
}

// What is left of a long side, as far as a tile can see.
GPU_INLINE int32_t in_sight(int64_t extent) {
  constexpr int64_t Most = 1 << 20;
  return static_cast<int32_t>(extent < Most ? extent : Most);
}

template <int WordBytes>
GPU_KERNEL((narrow_shift_tile<WordBytes>::threads), (narrow_shift_tile<WordBytes>::resident))
shifted_columns_kernel(GPU_PARAMETER chain_job job) {
  using at = narrow_shift_tile<WordBytes>;
  constexpr int V = at::v;
  const place here = find_place(job.blocks, job.src, job.dst);
  unsigned char* const tile = shared_memory();
  auto* const chunks = reinterpret_cast<word_t<16>*>(tile);
  const auto thread = static_cast<int>(thread_index());
  const int narrow_log2 = job.narrow_log2;
  const int wide_log2 = at::units_log2 - narrow_log2;
  const int wide = 1 << wide_log2;                                // blocks down the tile, the halo among them
  const int64_t first_row = job.blocks.extent[1] - here.left[1];  // the halo's are before it
  const int32_t above = -in_sight(first_row);                     // rows from here to there exist, the first being 0
  const int32_t below = in_sight(here.left[1]);
  const auto cols = static_cast<int32_t>(job.blocks.extent[0]);

  {  // 1.
    const int part = thread & (1 << narrow_log2) - 1;
    int32_t row = (thread >> narrow_log2) - V;
    const unsigned char* from = here.src + (first_row + row) * job.src_row_bytes + part * 16;
    GPU_UNROLL for (int step = 0; step < at::steps; ++step) {
      if (row >= above && row < below && part * V < cols) {
        if (job.rows.rank != 0) from = here.src + chain_offset(job.rows, first_row + row) + part * 16;
        start_copy<16>(tile + at::place(step * at::threads + thread, narrow_log2), from);
      }
      row += at::threads >> narrow_log2;
      from += (at::threads >> narrow_log2) * job.src_row_bytes;
    }
  }
  wait_for_copies();
  block_barrier();                      // orders the chunks copied in 1 before their reads in 2
  register_block<V> block[at::blocks];  //                                                (blocks, V rows, 16 bytes)
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 2.
    const int unit = thread + b * at::threads;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const int chunk = (((unit & wide - 1) * V + k) << narrow_log2) + (unit >> wide_log2);
      const auto row = *reinterpret_cast<const word_t<16>*>(tile + at::place(chunk, narrow_log2));
      block[b].row[k][0] = row.x, block[b].row[k][1] = row.y, block[b].row[k][2] = row.z, block[b].row[k][3] = row.w;
    }
    transpose_block<WordBytes>(block[b]);  //                                             (blocks, V columns, 16 bytes)
  }
  block_barrier();                                   // orders the reads in 2 before the lines put there in 3
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 3.                                (columns, wide, 16 bytes)
    const int unit = thread + b * at::threads;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      chunks[(((unit >> wide_log2) * V + k) << wide_log2) + (unit & wide - 1)] = chunk_of<V>(block[b], k);
    }
  }
  block_barrier();  // orders the lines put down in 3 before their reads in 4
  const auto write = [&](int index, int number, unsigned char* line) {  // 4. `line` is at first_row
    const uint32_t before = low_word(line) & 15;  // bytes of the row's chunk that are not the line's
    const int32_t row = number * V - static_cast<int32_t>(before) / WordBytes;
    if (row >= below || row + V <= above) return;
    const int low = before == 0 ? index + 1 : index;
    uint32_t words[4];
    take_out<WordBytes>(words, chunks[low], chunks[before == 0 ? low : low + 1], 16 - before & 15);
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
    unsigned char* line = here.dst + first_row * WordBytes + col * job.dst_col_bytes;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (col < cols && number != wide - 1) write((col << wide_log2) + number, number, line);
      col += 1 << narrow_log2;
      line += job.dst_col_bytes << narrow_log2;
    }
  }
}

template <int WordBytes>
GPU_KERNEL((narrow_shift_tile<WordBytes>::threads), (narrow_shift_tile<WordBytes>::resident))
shifted_rows_kernel(GPU_PARAMETER chain_job job) {
  using at = narrow_shift_tile<WordBytes>;
  constexpr int V = at::v;
  const place here = find_place(job.blocks, job.src, job.dst);
  if (here.left[0] <= 0) return;
  unsigned char* const tile = shared_memory();
  auto* const chunks = reinterpret_cast<word_t<16>*>(tile);
  const auto thread = static_cast<int>(thread_index());
  const int narrow_log2 = job.narrow_log2;
  const int wide_log2 = at::units_log2 - narrow_log2;
  const int wide = 1 << wide_log2;  // blocks along the tile
  const auto rows = static_cast<int32_t>(job.blocks.extent[1]);
  const int32_t cols = in_sight(here.left[0]);
  const int64_t first_col = job.blocks.extent[0] - here.left[0];
  const unsigned char* const first = here.src + first_col * WordBytes;
  const shift_source src = {first, job.src_row_bytes, job.src_begin, job.src_end, 0, {cols, rows}};

  GPU_UNROLL for (int step = 0; step <= at::steps; ++step) {  // 1.                       (rows, wide + 1, 16 bytes)
    const int index = step * at::threads + thread;
    const auto row = static_cast<int>(job.run_chunks.quotient(index));
    const int number = index - row * (wide + 1);
    if (row >= rows) continue;
    const unsigned char* const line = first + row * job.src_row_bytes;
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
    uint32_t line = low_word(first) + (unit >> wide_log2) * V * static_cast<uint32_t>(job.src_row_bytes);
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const uint32_t before = line & 15;
      take_out<WordBytes>(block[b].row[k], chunks[low], chunks[before == 0 ? low : low + 1], before);
      low += wide + 1;
      line += static_cast<uint32_t>(job.src_row_bytes);
    }
    transpose_block<WordBytes>(block[b]);  //                                             (blocks, V columns, 16 bytes)
  }
  block_barrier();                                   // orders the reads in 2 before what is put there in 3
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 3.
    const int unit = thread + b * at::threads;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const int chunk = (((unit & wide - 1) * V + k) << narrow_log2) + (unit >> wide_log2);
      *reinterpret_cast<word_t<16>*>(tile + at::place(chunk, narrow_log2)) = chunk_of<V>(block[b], k);
    }
  }
  block_barrier();  // orders the chunks put down in 3 before their reads in 4
  const int part = thread & (1 << narrow_log2) - 1;
  int32_t col = thread >> narrow_log2;
  unsigned char* to = here.dst + (first_col + col) * job.dst_col_bytes + part * 16;
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 4.
    if (col < cols && part * V < rows) {
      if (job.cols.rank != 0) to = here.dst + chain_offset(job.cols, first_col + col) + part * 16;
      store_global(to,
                   *reinterpret_cast<const word_t<16>*>(tile + at::place(step * at::threads + thread, narrow_log2)));
    }
    col += at::threads >> narrow_log2;
    to += (at::threads >> narrow_log2) * job.dst_col_bytes;
  }
}

}  // namespace cornerturn::gpu
