// The four maps of the register-block tile kernel: global loads, shared stores, shared loads and global stores.
//
//   A tile has Side x Side blocks. A block has V x V elements with V = 16 / WordBytes, so a row of a block is one
//   16-byte chunk. Block b is (b / Side, b % Side). Thread t owns blocks t, t + Threads, ... It loads V chunks of each
//   block, one per row, and transposes them in registers into V chunks, one per column. A `step` counts the chunks of a
//   thread: step / V is the block, and step % V is the row or column in it.
//
//   Shared memory stores the transposed tile: one line per column, with Side chunks. The index of a chunk in its line
//   is XORed with the low three bits of the column's block. Eight threads store a row of blocks to eight lines, and the
//   XOR gives them eight different bank groups:
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
  static constexpr int side = Side;         // blocks, on both sides
  static constexpr int v = 16 / WordBytes;  // rows and columns of a block
  static constexpr int extent = Side * v;   // elements, on both sides
  static constexpr int threads = Threads;
  static constexpr int steps = v * Side * Side / Threads;
  static constexpr int shared_bytes = extent * Side * 16;

  CORNERTURN_HOST_DEVICE static constexpr int block_row(int thread, int step) {
    return (thread + step / v * Threads) / Side;
  }
  CORNERTURN_HOST_DEVICE static constexpr int block_col(int thread) { return thread % Side; }  // Threads % Side == 0

  // Load from src: the element (row, first column) that `thread` loads as its chunk `step`.
  CORNERTURN_HOST_DEVICE static constexpr int src_row(int thread, int step) {
    return block_row(thread, step) * v + step % v;
  }
  CORNERTURN_HOST_DEVICE static constexpr int src_col(int thread) { return block_col(thread) * v; }

  // Store to shared memory: the byte offset at which `thread` stores column step % v of its block step / v.
  CORNERTURN_HOST_DEVICE static constexpr int smem_store(int thread, int step) {
    return chunk_place(block_col(thread) * v + step % v, block_row(thread, step));
  }

  // Store to dst: the element (column, first row) that `thread` stores as its chunk `step`.
  CORNERTURN_HOST_DEVICE static constexpr int dst_col(int thread, int step) {
    return step * (Threads / Side) + thread / Side;
  }
  CORNERTURN_HOST_DEVICE static constexpr int dst_row(int thread) { return thread % Side * v; }

  // Load from shared memory: the byte offset from which `thread` loads its chunk `step` of dst.
  CORNERTURN_HOST_DEVICE static constexpr int smem_load(int thread, int step) {
    return chunk_place(dst_col(thread, step), thread % Side);
  }

  // The byte offset of a chunk of a column.
  CORNERTURN_HOST_DEVICE static constexpr int chunk_place(int column, int chunk) {
    return (column * Side + (chunk ^ (column / v & 7))) * 16;
  }
};

}  // namespace cornerturn::map
