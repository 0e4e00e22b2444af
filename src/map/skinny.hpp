// The maps of the narrow tile kernels. One side of the tile has 1 to 8 chunks of 16 bytes; the other side is long
// enough to keep every thread busy. Lines of the narrow side are contiguous in memory, so the tile is one list of
// chunks. The list has the order of the array with the short lines.
//
//   few columns:  chunk g of src is (row g / Narrow, chunk g % Narrow) and is staged unchanged in shared memory. Each
//                 thread loads its V x V block from there, transposes it and stores V chunks of dst.
//   few rows:     each thread loads its V x V block from src, transposes it and stores it into shared memory. Chunk g
//                 of dst is (column g / Narrow, chunk g % Narrow).
//
//   Chunk g is stored at slot g ^ (g / (V Narrow) & 7). Eight adjacent blocks then use eight different bank groups, and
//   so do eight consecutive chunks. The XOR key only depends on higher bits of g, so the map is one-to-one.
#pragma once

#include "map/host_device.hpp"

namespace cornerturn::map {

template <int WordBytes, int Narrow>
struct skinny_map {
  static constexpr int threads = WordBytes == 1 ? 128 : 256;  // blocks of bytes fill registers and shared memory
  static constexpr int v = 16 / WordBytes;                    // rows and columns of a block
  static constexpr int narrow = Narrow;                       // blocks on the short side
  static constexpr int blocks = v < 4 ? 4 / v : 1;            // per thread: at least 64 bytes
  static constexpr int wide = threads * blocks / Narrow;      // blocks on the long side
  static constexpr int short_extent = Narrow * v;             // elements
  static constexpr int long_extent = wide * v;
  static constexpr int steps = v * blocks;  // chunks of a thread
  static constexpr int shared_bytes = threads * steps * 16;

  CORNERTURN_HOST_DEVICE static constexpr int chunk(int thread, int step) { return step * threads + thread; }
  CORNERTURN_HOST_DEVICE static constexpr int line_of(int chunk) { return chunk / Narrow; }
  CORNERTURN_HOST_DEVICE static constexpr int chunk_in_line(int chunk) { return chunk % Narrow; }

  // The position of a thread's block `block` on the long side and on the short side.
  CORNERTURN_HOST_DEVICE static constexpr int wide_block(int thread, int block) {
    return (thread + block * threads) % wide;
  }
  CORNERTURN_HOST_DEVICE static constexpr int narrow_block(int thread, int block) {
    return (thread + block * threads) / wide;
  }
  // The chunk with line `k` of a block: its row k for few columns, its column k for few rows.
  CORNERTURN_HOST_DEVICE static constexpr int block_chunk(int wide_block, int narrow_block, int k) {
    return (wide_block * v + k) * Narrow + narrow_block;
  }

  CORNERTURN_HOST_DEVICE static constexpr int smem_offset(int chunk) {
    return (chunk ^ (chunk / (v * Narrow) & 7)) * 16;
  }
};

}  // namespace cornerturn::map
