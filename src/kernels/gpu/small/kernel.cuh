// Many small matrices: both sides are 1, 2, 4 or 8 chunks of 16 bytes, every address is a multiple of 16 bytes.
//   1. the chunks of several matrices, a tile, are copied to shared memory in the order of src
//   2. after a barrier each thread loads its blocks and transposes them in registers
//   3. after a barrier it stores them to shared memory in the order of dst
//   4. after a barrier they are stored in that order
// Contiguous matrices are loaded and stored as one run. The addresses of matrices of one shape may also come from a
// table: then the block first copies the addresses of its own matrices to shared memory.
#pragma once

#include "kernels/gpu/policy/grid.cuh"
#include "kernels/gpu/policy/transpose_block.cuh"
#include "kernels/gpu/small/args.hpp"

namespace cornerturn::gpu {

template <int WordBytes>
struct many_small_tile {
  static constexpr int v = 16 / WordBytes;
  static constexpr int threads = WordBytes == 1 ? 128 : 256;  // blocks of bytes fill registers and shared memory
  static constexpr int blocks = v < 4 ? 4 / v : 1;            // of a thread
  static constexpr int steps = v * blocks;                    // chunks of a thread
  static constexpr int units = threads * blocks;              // blocks of a tile: units_of_tile
  static constexpr int shared_bytes = threads * steps * 16;
  static_assert(units == units_of_tile(WordBytes));
};

// Transposes matrices 0 to left - 1 of a tile; src_of and dst_of return their addresses.
template <int WordBytes, class Args, class SrcOf, class DstOf>
GPU_INLINE void transpose_matrices(const Args& args, int32_t left, const SrcOf& src_of, const DstOf& dst_of) {
  using at = many_small_tile<WordBytes>;
  constexpr int V = at::v;
  const auto thread = static_cast<int>(thread_index());
  const int across = args.across_log2, down = args.down_log2;  // blocks along a row and down a column of a matrix
  const int matrix = across + down;                            // blocks of a matrix
  const int chunks = V << matrix;                              // of a matrix, on either side
  // Chunks in the order of src, and of dst. A XOR maps eight neighbouring blocks to eight bank groups in both orders.
  const auto src_order = [&](int chunk) { return shared_memory() + (chunk ^ (chunk / V >> across & 7)) * 16; };
  const auto dst_order = [&](int chunk) {
    return shared_memory() + (chunk ^ ((chunk / V >> matrix) << down & 7)) * 16;
  };

  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 1.
    const int chunk = step * at::threads + thread;
    const int number = chunk / V >> matrix;
    if (number >= left) continue;
    const int line = (chunk & chunks - 1) >> across;
    const int part = chunk & (1 << across) - 1;
    start_copy<16>(src_order(chunk), src_of(number) + line * args.src_row_bytes + part * 16);
  }
  wait_for_copies();
  block_barrier();                      // orders the chunks copied in 1 before their reads in 2
  register_block<V> block[at::blocks];  //                                                (blocks, V rows, 16 bytes)
  constexpr int Units = at::units;
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 2.
    const int unit = thread + b * at::threads;
    const int high = unit & (Units >> across) - 1, wide = unit / (Units >> across);
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const auto row = *reinterpret_cast<const word_t<16>*>(src_order(((high * V + k) << across) + wide));
      block[b].row[k][0] = row.x, block[b].row[k][1] = row.y, block[b].row[k][2] = row.z, block[b].row[k][3] = row.w;
    }
    transpose_block<WordBytes>(block[b]);  //                                             (blocks, V columns, 16 bytes)
  }
  block_barrier();                                   // orders the reads of the chunks in 2 before the writes in 3
  GPU_UNROLL for (int b = 0; b < at::blocks; ++b) {  // 3.
    const int unit = thread + b * at::threads;
    const int high = unit & (Units >> across) - 1, wide = unit / (Units >> across);
    const int number = high >> down;
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const int chunk = ((((number << across) + wide) * V + k) << down) + (high & (1 << down) - 1);
      const uint32_t(&c)[4] = block[b].row[k];
      *reinterpret_cast<word_t<16>*>(dst_order(chunk)) = {c[0], c[1], c[2], c[3]};
    }
  }
  block_barrier();                                           // orders the chunks stored in 3 before their reads in 4
  GPU_UNROLL for (int step = 0; step < at::steps; ++step) {  // 4.
    const int chunk = step * at::threads + thread;
    const int number = chunk / V >> matrix;
    if (number >= left) continue;
    const int line = (chunk & chunks - 1) >> down;
    const int part = chunk & (1 << down) - 1;
    store_global(dst_of(number) + line * args.dst_col_bytes + part * 16,
                 *reinterpret_cast<const word_t<16>*>(dst_order(chunk)));
  }
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
many_small_kernel(GPU_PARAMETER many_small_args args) {
  static_assert(threads_of(Limits) == many_small_tile<WordBytes>::threads);
  constexpr int Units = many_small_tile<WordBytes>::units;
  const tile_origin here = find_origin(args.blocks, args.src, args.dst);
  wait_for_earlier_launches();
  if (here.left[1] <= 0) return;
  const auto left = static_cast<int32_t>(here.left[1] < Units ? here.left[1] : Units);
  transpose_matrices<WordBytes>(
      args, left, [&](int number) { return here.src + number * args.src_matrix_bytes; },
      [&](int number) { return here.dst + number * args.dst_matrix_bytes; });
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_batch_kernel(GPU_PARAMETER small_batch_args args) {
  static_assert(threads_of(Limits) == many_small_tile<WordBytes>::threads);
  using at = many_small_tile<WordBytes>;
  auto* const items = reinterpret_cast<item_addresses*>(shared_memory() + at::shared_bytes);
  const uint32_t all = at::units >> (args.across_log2 + args.down_log2), first = block_index() * all;
  const uint32_t left = args.count - first < all ? args.count - first : all;
  wait_for_earlier_launches();
  for (uint32_t i = thread_index(); i < left; i += at::threads) start_copy<16>(items + i, args.items + first + i);
  wait_for_copies();
  block_barrier();  // orders the copies of the addresses before their reads in 1 and 4
  transpose_matrices<WordBytes>(
      args, static_cast<int32_t>(left),
      [&](int number) { return reinterpret_cast<const unsigned char*>(items[number].src); },
      [&](int number) { return reinterpret_cast<unsigned char*>(items[number].dst); });
}

}  // namespace cornerturn::gpu
