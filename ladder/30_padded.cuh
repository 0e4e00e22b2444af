// 30 padded: a row of the tile has 33 elements; one of them is padding.
//
// Against 20: place(), whose row stride is 33.
// The model predicts: no conflicts. Elements of a column are 33 banks apart: the next bank, modulo 32.
// In the profiler: bank conflicts near 0 (the counter itself has some noise); shared memory 3 % larger.
// Seed: all articles that optimize the tile. The error in one of them ("column = row number, so no conflict") is about
// rung 20.
#pragma once

#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct padded : load_conflicts<WordBytes> {
  static constexpr int shared_bytes = 32 * 33 * WordBytes;

  RUNG_MAP int place(at e) { return (e.row * 33 + e.col) * WordBytes; }  // (row, col) : (33, 1)
};

}  // namespace cornerturn::ladder
