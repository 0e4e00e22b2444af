// 35 swizzled: no padding; the column is XORed with the row.
//
//   byte address   | row    | col ^ row | 00 |
//                    5 bits   5 bits      4 bytes of an element
//
// Against 30: place().
// The model predicts: no conflicts. For a fixed row, and for a fixed column, col ^ row takes the values of all banks.
// In the profiler: as 30, with the shared memory of 20. Unlike with padding, rows stay aligned.
// Seed: the occupancy article and CuTe, Swizzle<5, 0, 5> on a tile of 32 x 32.
#pragma once

#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct swizzled : load_conflicts<WordBytes> {
  RUNG_MAP int place(at e) { return (e.row * 32 + (e.col ^ e.row)) * WordBytes; }
};

}  // namespace cornerturn::ladder
