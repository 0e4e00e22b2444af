// Swap, in place: a tile and its mirror image are swapped. A tile on the diagonal is its own mirror image. See
// swap_args.
//   1. the block number is converted to a pair of tile numbers I <= J, and the pair to two addresses
//   2. both tiles are copied to shared memory, transposed in registers as in tile/kernel.cuh
//   3. after a barrier each tile is stored, transposed, to the address of the other one
// Every address is a multiple of 16 bytes, elements are one word, columns are contiguous. V x V register blocks.
#pragma once

#include "kernels/gpu/policy/chunk.cuh"
#include "kernels/gpu/policy/transpose_block.cuh"
#include "kernels/gpu/swap/args.hpp"
#include "map/tile.hpp"

namespace cornerturn::gpu {

// 1. The tile of rows I and columns J, and its mirror image.
struct tile_pair {
  unsigned char* upper;
  unsigned char* lower;
  int64_t rows;  // of the upper tile that exist: columns of the lower one
  int64_t cols;
  bool diagonal;
};

GPU_INLINE tile_pair find_tiles(const swap_args& args) {
  auto* base = static_cast<unsigned char*>(args.dst);
  uint32_t rest = args.triangle.quotient(block_index());
  auto [down, across] = find_numbers(args.numbers, block_index() - rest * args.triangle.divisor);
  for (int32_t k = 0; k < args.outer_rank; ++k) {
    const uint32_t above = args.outer[k].count.quotient(rest);
    base += int64_t{rest - above * args.outer[k].count.divisor} * args.outer[k].stride_bytes;
    rest = above;
  }
  tile_pair found{base, base, args.extent, args.extent, down == across};
  for (int32_t k = 0; k < args.digit_count; ++k) {
    const swap_args::digit& digit = args.digits[k];
    const uint32_t down_above = digit.count.quotient(down), across_above = digit.count.quotient(across);
    const int64_t i = down - down_above * digit.count.divisor, j = across - across_above * digit.count.divisor;
    found.upper += i * digit.row_bytes + j * digit.col_bytes;
    found.lower += j * digit.row_bytes + i * digit.col_bytes;
    if (k == 0) found.rows -= i * args.tile, found.cols -= j * args.tile;
    down = down_above, across = across_above;
  }
  return found;
}

// 2.
template <class Map, bool Whole>
GPU_INLINE void load_transposed(const swap_args& args, const unsigned char* from, int64_t rows, int64_t cols,
                                unsigned char* tile) {
  constexpr int V = Map::v, Blocks = Map::steps / V;
  const int thread = static_cast<int>(thread_index());
  register_block<V> block[Blocks];
  from += Map::src_col(thread) * Map::word_bytes;
  cols -= Map::src_col(thread);
  GPU_UNROLL for (int step = 0; step < Map::steps; ++step) {
    const int row = Map::src_row(thread, step);
    load_chunk<Map::word_bytes>(block[step / V].row[step % V], from + row * args.row_bytes,
                                Whole        ? V
                                : row < rows ? cols
                                             : 0);
  }
  GPU_UNROLL for (int b = 0; b < Blocks; ++b) transpose_block<Map::word_bytes>(block[b]);
  GPU_UNROLL for (int step = 0; step < Map::steps; ++step) {
    const uint32_t(&chunk)[4] = block[step / V].row[step % V];
    *reinterpret_cast<word_t<16>*>(tile + Map::smem_store(thread, step)) = {chunk[0], chunk[1], chunk[2], chunk[3]};
  }
}

// 3.
template <class Map, bool Whole>
GPU_INLINE void store_columns(const swap_args& args, const unsigned char* tile, int64_t rows, int64_t cols,
                              unsigned char* to) {
  const int thread = static_cast<int>(thread_index());
  to += Map::dst_row(thread) * Map::word_bytes;
  rows -= Map::dst_row(thread);
  GPU_UNROLL for (int step = 0; step < Map::steps; ++step) {
    const int column = Map::dst_col(thread, step);
    const auto chunk = *reinterpret_cast<const word_t<16>*>(tile + Map::smem_load(thread, step));
    store_chunk<Map::word_bytes>(to + column * args.row_bytes, chunk, Whole ? Map::v : column < cols ? rows : 0);
  }
}

template <class Map, bool Whole>
GPU_INLINE void swap_tiles(const swap_args& args, const tile_pair& here) {
  unsigned char* const upper_tile = shared_memory();
  unsigned char* const lower_tile = upper_tile + Map::shared_bytes;
  load_transposed<Map, Whole>(args, here.upper, here.rows, here.cols, upper_tile);  // 2.
  if (!here.diagonal) load_transposed<Map, Whole>(args, here.lower, here.cols, here.rows, lower_tile);
  // The barrier orders the writes to shared memory in 2 before their reads in 3. It also orders the reads of both tiles in
  // 2 before the writes to them in 3.
  block_barrier();
  store_columns<Map, Whole>(args, upper_tile, here.rows, here.cols, here.lower);  // 3.
  if (!here.diagonal) store_columns<Map, Whole>(args, lower_tile, here.cols, here.rows, here.upper);
}

template <int WordBytes, int Side, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
swap_kernel(GPU_PARAMETER swap_args args) {
  static_assert(threads_of(Limits) == map::tile_map<WordBytes, Side>::threads);
  using at = map::tile_map<WordBytes, Side>;
  const tile_pair here = find_tiles(args);  // 1.
  wait_for_earlier_launches();
  if (here.rows >= at::extent && here.cols >= at::extent) {
    swap_tiles<at, true>(args, here);
  } else {
    swap_tiles<at, false>(args, here);
  }
}

}  // namespace cornerturn::gpu
