// Small tile: one matrix that stays in L2, every address and extent a multiple of 16 bytes. It is bound by latency, so
// it has many blocks, each thread has one chunk of 16 bytes, and the args fit the first lines of constant memory.
//   1. each thread loads a chunk of a row                                               (8 threads: 128 bytes)
//   2. it stores the chunk's elements to shared memory, one in each of V lines; a XOR maps them to different banks
//   3. after a barrier it stores a chunk of a column of src                             (8 threads: 128 bytes)
#pragma once

#include "kernels/gpu/small/args.hpp"

namespace cornerturn::gpu {

template <int WordBytes>
struct small_tile {
  static constexpr int v = 16 / WordBytes;        // elements of a chunk
  static constexpr int extent = 128 / WordBytes;  // of either side
  static constexpr int threads = 8 * extent;

  // Element `row` of line `column`. Chunk c of a line is stored as chunk c ^ (column / v), because eight lanes store to
  // eight columns at distance v.
  GPU_INLINE static int smem_offset(int column, int row) {
    return column * 128 + ((row / v) ^ (column / v)) * 16 + row % v * WordBytes;
  }
};

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
small_kernel(GPU_PARAMETER small_args args) {
  static_assert(threads_of(Limits) == small_tile<WordBytes>::threads);
  using at = small_tile<WordBytes>;
  constexpr int V = at::v;
  unsigned char* const tile = shared_memory();
  const auto line = static_cast<int>(thread_index() / 8);
  const auto chunk = static_cast<int>(thread_index() % 8);
  const uint32_t across = args.down.quotient(block_index());
  const auto first_col = static_cast<int32_t>(across * at::extent);
  const auto first_row = static_cast<int32_t>((block_index() - across * args.down.divisor) * at::extent);

  const int32_t row = first_row + line, col = first_col + chunk * V;
  if (row < args.rows && col < args.cols) {
    const auto words = load_global<word_t<16>>(static_cast<const unsigned char*>(args.src) + row * args.src_row_bytes +
                                               int64_t{col} * WordBytes);  // 1.
    if constexpr (WordBytes == 8) {                                        // 2.
      *reinterpret_cast<word_t<8>*>(tile + at::smem_offset(chunk * V, line)) = {words.x, words.y};
      *reinterpret_cast<word_t<8>*>(tile + at::smem_offset(chunk * V + 1, line)) = {words.z, words.w};
    } else {
      const uint32_t all[4] = {words.x, words.y, words.z, words.w};
      GPU_UNROLL for (int k = 0; k < V; ++k) {
        *reinterpret_cast<word_t<WordBytes>*>(tile + at::smem_offset(chunk * V + k, line)) =
            static_cast<word_t<WordBytes>>(all[k * WordBytes / 4] >> k * WordBytes % 4 * 8);
      }
    }
  }
  block_barrier();  // orders the elements stored in 2 before their reads in 3
  const int32_t column = first_col + line, run = first_row + chunk * V;
  if (column < args.cols && run < args.rows) {
    store_global(static_cast<unsigned char*>(args.dst) + column * args.dst_col_bytes + int64_t{run} * WordBytes,
                 *reinterpret_cast<const word_t<16>*>(tile + at::smem_offset(line, chunk * V)));  // 3.
  }
}

}  // namespace cornerturn::gpu
