// 45 vector padded: pieces of 16 bytes in global memory, and one padding element in each row of the tile.
//
// Against 40: place(). A padded row is not aligned to 16 bytes, so pieces are stored element by element.
// The model predicts (4-byte elements): no conflicts; four shared stores per piece instead of one.
// In the profiler: conflicts near 0, more shared store instructions than 40.
// Seed: the A100 staircase (its float4 kernel) and the occupancy article. CuTe pads by a whole piece to keep the
// alignment, and keeps part of the conflicts.
#pragma once

#include "40_vector_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct vector_padded : vector_conflicts<WordBytes> {
  using vector_conflicts<WordBytes>::side;
  static constexpr int pitch = side + (WordBytes < 4 ? 4 / WordBytes : 1);  // pads by one bank, or by two for 8 bytes
  static constexpr int shared_bytes = side * pitch * WordBytes;
  static constexpr bool whole_pieces = false;

  RUNG_MAP int place(at e) { return (e.row * pitch + e.col) * WordBytes; }  // (row, col) : (pitch, 1)
};

}  // namespace cornerturn::ladder
