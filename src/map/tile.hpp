// The four maps of the register-block tile kernel: who reads what, where it lies in shared memory, who writes what.
//
//   A tile is Side x Side blocks; a block is V x V elements with V = 16 / WordBytes, so that one row of a block is one
//   16-byte chunk. Block b is (b / Side, b % Side); thread t owns blocks t, t + Threads, ... It reads V chunks of each,
//   one from each row of the block, transposes them in registers and holds V chunks, one for each column. A `step`
//   counts the chunks of a thread: step / V is the block, step % V the row or the column in it.
//
//   Shared memory holds the transposed tile: one line for each column, Side chunks long. The chunk's place in its line
//   is XORed with the low three bits of the column's block, so that eight threads, which write one row of blocks to
//   eight lines at a time, meet eight different bank groups:
//
//     byte address   | column (line)        | chunk ^ (block column & 7) | 0000 |
//                      Side * 16 bytes each   log2(Side) bits              16 bytes
#pragma once

#include "map/host_device.hpp"

namespace cornerturn::map {

template <int WordBytes, int Side, int Threads = Side <= 16 ? Side* Side : 256>
struct tile_map {
  static_assert(Side % 8 == 0, "a line must be a whole number of eight-chunk bank rounds");
  static constexpr int word_bytes = WordBytes;
  static constexpr int side = Side;         // blocks, on either side
  static constexpr int v = 16 / WordBytes;  // rows and columns of a block
  static constexpr int extent = Side * v;   // elements, on either side
  static constexpr int threads = Threads;
  static constexpr int steps = v * Side * Side / Threads;
  static constexpr int shared_bytes = extent * Side * 16;

  CORNERTURN_HOST_DEVICE static constexpr int block_row(int thread, int step) {
    return (thread + step / v * Threads) / Side;
  }
  CORNERTURN_HOST_DEVICE static constexpr int block_col(int thread) { return thread % Side; }  // Threads % Side == 0

  // 1. The element (row, first column) of the tile that `thread` reads as its chunk `step`.
  CORNERTURN_HOST_DEVICE static constexpr int src_row(int thread, int step) {
    return block_row(thread, step) * v + step % v;
  }
  CORNERTURN_HOST_DEVICE static constexpr int src_col(int thread) { return block_col(thread) * v; }

  // 2. Where it puts its chunk of column step % v of its block step / v, in bytes.
  CORNERTURN_HOST_DEVICE static constexpr int smem_store(int thread, int step) {
    return chunk_place(block_col(thread) * v + step % v, block_row(thread, step));
  }

  // 4. The element (column, first row) of the tile that `thread` writes as its chunk `step`.
  CORNERTURN_HOST_DEVICE static constexpr int dst_col(int thread, int step) {
    return step * (Threads / Side) + thread / Side;
  }
  CORNERTURN_HOST_DEVICE static constexpr int dst_row(int thread) { return thread % Side * v; }

  // 3. Where that chunk lies.
  CORNERTURN_HOST_DEVICE static constexpr int smem_load(int thread, int step) {
    return chunk_place(dst_col(thread, step), thread % Side);
  }

  // Where chunk `chunk` of a column lies.
  CORNERTURN_HOST_DEVICE static constexpr int chunk_place(int column, int chunk) {
    return (column * Side + (chunk ^ (column / v & 7))) * 16;
  }
};

}  // namespace cornerturn::map
