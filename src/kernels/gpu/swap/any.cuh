// Swap, in place, of any size, stride and address: word by word.
//   1. find_tiles of kernel.cuh finds a tile and its mirror image
//   2. both tiles are copied to shared memory. Each row has a word of padding there, so that loads down a column use
//      different banks
//   3. after a barrier each tile is stored, transposed, to the address of the other one
#pragma once

#include "kernels/gpu/swap/kernel.cuh"

namespace cornerturn::gpu {

// Word k of the element (row, col) of a tile.
struct tile_word {
  int32_t row, col, word;
};
GPU_INLINE tile_word tile_word_of(const swap_args& args, int32_t i) {
  const int32_t length = args.tile * args.words;
  const int32_t row = i / length, rest = i - row * length;
  const int32_t col = rest / args.words;
  return {row, col, rest - col * args.words};
}

// 2.
template <int WordBytes>
GPU_INLINE void load_words(const swap_args& args, const unsigned char* from, int64_t rows, int64_t cols,
                           word_t<WordBytes>* tile) {
  const int32_t pitch = args.tile * args.words + 1;
  for (int32_t i = static_cast<int32_t>(thread_index()); i < args.tile * args.tile * args.words; i += swap_threads) {
    const tile_word at = tile_word_of(args, i);
    if (at.row >= rows || at.col >= cols) continue;
    tile[at.row * pitch + at.col * args.words + at.word] =
        load_global<word_t<WordBytes>>(from + at.row * args.row_bytes + at.col * args.col_bytes + at.word * WordBytes);
  }
}

// 3. rows, cols: of the tile in shared memory, which is stored transposed.
template <int WordBytes>
GPU_INLINE void store_words(const swap_args& args, const word_t<WordBytes>* tile, int64_t rows, int64_t cols,
                            unsigned char* to) {
  const int32_t pitch = args.tile * args.words + 1;
  for (int32_t i = static_cast<int32_t>(thread_index()); i < args.tile * args.tile * args.words; i += swap_threads) {
    const tile_word at = tile_word_of(args, i);
    if (at.row >= cols || at.col >= rows) continue;
    store_global(to + at.row * args.row_bytes + at.col * args.col_bytes + at.word * WordBytes,
                 tile[at.col * pitch + at.row * args.words + at.word]);
  }
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
any_swap_kernel(GPU_PARAMETER swap_args args) {
  static_assert(threads_of(Limits) == swap_threads);
  const tile_pair here = find_tiles(args);  // 1.
  wait_for_earlier_launches();
  auto* const upper_tile = reinterpret_cast<word_t<WordBytes>*>(shared_memory());
  auto* const lower_tile = upper_tile + args.tile * (args.tile * args.words + 1);
  load_words<WordBytes>(args, here.upper, here.rows, here.cols, upper_tile);  // 2.
  if (!here.diagonal) load_words<WordBytes>(args, here.lower, here.cols, here.rows, lower_tile);
  // The barrier orders the writes to shared memory in 2 before their reads in 3. It also orders the reads of both tiles in
  // 2 before the writes to them in 3.
  block_barrier();
  store_words<WordBytes>(args, upper_tile, here.rows, here.cols, here.lower);  // 3.
  if (!here.diagonal) store_words<WordBytes>(args, lower_tile, here.cols, here.rows, here.upper);
}

}  // namespace cornerturn::gpu
