// 80 TMA load: one thread requests the whole tile from the tensor memory accelerator.
//
//   byte address   | row    | chunk ^ (row & 7) | 0000 |     the hardware's 128-byte swizzle; a row of the tile has 128
//                    n bits   3 bits              16 bytes   bytes
//
// Against 65: move(), which copies the tile by TMA, and place(), which the hardware defines.
// The model predicts (4-byte elements): no load requests; 3 conflicts per warp at the gather. The hardware's swizzle
// has the row as the key, for readers that load 16 bytes from each of eight rows. The gather loads 4 bytes from every
// fourth row, so only two of eight keys occur. Rung 65 can choose its key and has no conflicts.
// In the profiler: no global loads, few instructions; 3 shared load conflicts for every 7 of rung 40.
// Seed: no article has it. A row of src must be a multiple of 16 bytes, which the tensor map requires.
#pragma once

#include "40_vector_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct tma_load : vector_conflicts<WordBytes> {
  using vector_conflicts<WordBytes>::width;
  static constexpr int least_compute = 90;
  static constexpr bool tensor_load = true;
  static constexpr int src_row_multiple = 16;
  static constexpr int side = 128 / WordBytes;
  static constexpr int tile_rows = side;
  static constexpr int tile_cols = side;
  static constexpr int pieces = 8;
  static constexpr int threads = side * pieces < 256 ? side * pieces : 256;
  static constexpr int steps = side * pieces / threads;
  static constexpr int tile_bytes = side * 128;
  static constexpr int shared_bytes = tile_bytes + 16;  // including the barrier

  RUNG_MAP at write(int thread, int step) {
    const int p = step * threads + thread;
    return {p % pieces * width, p / pieces};
  }
  RUNG_MAP int swizzle(int byte) { return byte ^ (byte >> 7 & 7) << 4; }
  RUNG_MAP int place(at e) { return swizzle(e.row * 128 + e.col * WordBytes); }

#ifdef GPU_TENSOR
  // 1. Loads the tile. TMA writes zeros for elements outside of src; columns_out() does not store them.
  template <class Rung>
  GPU_INLINE static void bring_in(const tensor_arguments& a, tile which, unsigned char* shared) {
    gpu::fetch_box(shared, a.src_tensor, static_cast<int>(which.across) * Rung::tile_cols,
                   static_cast<int>(which.down) * Rung::tile_rows, shared + Rung::shared_bytes - 16, tile_bytes);
  }
  template <class Rung>
  GPU_INLINE static void move(const tensor_arguments& a) {
    const tile which = Rung::tile_of(gpu::block_index(), a);
    const auto p = part_of<Rung>(a, which);
    Rung::template bring_in<Rung>(a, which, p.shared);
    columns_out(p);
  }
#endif
};

}  // namespace cornerturn::ladder
