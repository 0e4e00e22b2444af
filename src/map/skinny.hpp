// The maps of the narrow tile kernels: one side of the tile is 1 to 8 chunks of 16 bytes, the other as long as it takes
// to keep every thread busy. The narrow side is short in memory too, so neighbouring lines of it lie side by side: the
// tile is moved as one list of chunks, in the order of the side that has the short lines.
//
//   columns are few:  chunk g of src is (row g / Across, chunk g % Across); it goes to shared memory as it is, and each
//                     thread reads its V x V block from there, transposes it and writes V chunks of dst.
//   rows are few:     the same backwards: each thread reads its block from src, transposes it and puts it into shared
//                     memory; chunk g of dst is (column g / Down, chunk g % Down).
//
//   Chunk g lies at place g ^ (g / (V Narrow) & 7), so that eight neighbouring blocks meet eight bank groups, and so do
//   eight chunks in order. The XOR takes bits of g from higher up only: it is its own triangular system, so one to one.
#pragma once

#include "map/host_device.hpp"

namespace cornerturn::map {

template <int WordBytes, int Narrow>
struct skinny_map {
  static constexpr int threads = WordBytes == 1 ? 128 : 256;  // blocks of bytes fill registers and shared memory
  static constexpr int v = 16 / WordBytes;                    // rows and columns of a block
  static constexpr int narrow = Narrow;                       // blocks on the short side
  static constexpr int blocks = v < 4 ? 4 / v : 1;            // of a thread: 64 bytes at least
  static constexpr int wide = threads * blocks / Narrow;      // blocks on the long side
  static constexpr int short_extent = Narrow * v;             // elements
  static constexpr int long_extent = wide * v;
  static constexpr int steps = v * blocks;  // chunks of a thread
  static constexpr int shared_bytes = threads * steps * 16;

  CORNERTURN_HOST_DEVICE static constexpr int chunk(int thread, int step) { return step * threads + thread; }
  CORNERTURN_HOST_DEVICE static constexpr int line_of(int chunk) { return chunk / Narrow; }
  CORNERTURN_HOST_DEVICE static constexpr int chunk_in_line(int chunk) { return chunk % Narrow; }

  // Block `block` of a thread: where it lies on the long and on the short side.
  CORNERTURN_HOST_DEVICE static constexpr int wide_block(int thread, int block) {
    return (thread + block * threads) % wide;
  }
  CORNERTURN_HOST_DEVICE static constexpr int narrow_block(int thread, int block) {
    return (thread + block * threads) / wide;
  }
  // The chunk that holds line `k` of a block: a row of it when columns are few, a column of it when rows are few.
  CORNERTURN_HOST_DEVICE static constexpr int block_chunk(int wide_block, int narrow_block, int k) {
    return (wide_block * v + k) * Narrow + narrow_block;
  }

  CORNERTURN_HOST_DEVICE static constexpr int smem_offset(int chunk) { return (chunk ^ (chunk / (v * Narrow) & 7)) * 16; }
};

}  // namespace cornerturn::map
