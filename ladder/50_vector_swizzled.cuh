// 50 vector swizzled: pieces of 16 bytes in global memory; the column of each element is XORed with the row.
//
//   byte address   | row    | col ^ row | 00 |
//                    5 bits   5 bits      4 bytes of an element
//
// Against 45: place().
// The model predicts (4-byte elements): no conflicts. A warp has 4 rows x 8 pieces. Element i of piece p is in column
// 4 p + i, and (4 p + i) ^ (4 w + r) = 4 (p ^ w) + (i ^ r) uses each bank once. The gather uses the transposed pattern.
// In the profiler: as 45, with the shared memory of 40.
// Seed: the occupancy article, its last kernel.
#pragma once

#include "45_vector_padded.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct vector_swizzled : vector_padded<WordBytes> {
  using vector_padded<WordBytes>::side;
  static constexpr int shared_bytes = side * side * WordBytes;

  RUNG_MAP int place(at e) { return (e.row * side + (e.col ^ e.row)) * WordBytes; }
};

}  // namespace cornerturn::ladder
