// 80 TMA load: one thread asks the tensor memory accelerator for the whole tile.
//
//   byte address   | row    | chunk ^ (row & 7) | 0000 |     the 128-byte swizzle, done by the hardware; a row of the
//                    n bits   3 bits              16 bytes   tile has 128 bytes
//
// Against 65: move(), whose tile arrives by itself, and place(), which the hardware dictates.
// The model predicts (4-byte elements): no load requests at all; 3 conflicts for each warp that gathers. The hardware's
// swizzle is keyed by the row, for readers that take 16 bytes from each of eight rows; a gather takes 4 bytes from
// every fourth row, so two keys of eight occur. 65 could choose its key, and had none.
// In the profiler: no global loads, few instructions; shared load conflicts, 3 for each 7 of 40.
// Seed: none has it. Rows of src must be a multiple of 16 bytes, of which the map of the tensor is made.
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
  static constexpr int shared_bytes = tile_bytes + 16;  // and the barrier

  RUNG_MAP at write(int thread, int step) {
    const int p = step * threads + thread;
    return {p % pieces * width, p / pieces};
  }
  RUNG_MAP int swizzle(int byte) { return byte ^ (byte >> 7 & 7) << 4; }
  RUNG_MAP int place(at e) { return swizzle(e.row * 128 + e.col * WordBytes); }

#ifdef GPU_TENSOR
  // 1. The tile comes in; elements outside of src arrive as zeros, and are not stored.
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
