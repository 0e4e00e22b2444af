// 40 vector conflicts: accesses of 16 bytes to global memory, on both sides.
//
// Against 20: read(), write() and width. A piece of a row is stored unchanged into the tile; a piece of a column is
// gathered.
// The model predicts (4-byte elements): 16 sectors per request instead of 4, and a quarter of the requests. Shared
// stores of 16 bytes have no conflicts. Shared loads have 8 lanes on each of 4 banks: 7 conflicts per warp.
// In the profiler: fewer instructions and requests; a quarter of the shared load conflicts of 20.
// Seed: CuTe, "vectorized bank conflict read"; it refuses column counts that are not multiples of 4. The A100 staircase
// drops the last columns of such a matrix (its `col + 3 < N` has no else). This rung then loads one by one.
#pragma once

#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct vector_conflicts : load_conflicts<WordBytes> {
  static constexpr int width = 16 / WordBytes;
  static constexpr int side = WordBytes < 4 ? 128 / WordBytes : 32;  // a row of the tile has 128 bytes or more
  static constexpr int tile_rows = side;
  static constexpr int tile_cols = side;
  static constexpr int threads = 256;
  static constexpr int steps = side * side / width / threads;
  static constexpr int shared_bytes = side * side * WordBytes;
  static constexpr int pieces = side / width;  // per row, and per column
  static constexpr bool whole_pieces = true;

  RUNG_MAP at read(int thread, int step) {
    const int p = step * threads + thread;
    return {p / pieces, p % pieces * width};
  }
  RUNG_MAP at write(int thread, int step) {
    const int p = step * threads + thread;
    return {p % pieces * width, p / pieces};
  }
  RUNG_MAP int place(at e) { return (e.row * side + e.col) * WordBytes; }  // (row, col) : (side, 1)
};

}  // namespace cornerturn::ladder
