// 30 padded: a row of the tile is 33 elements long, one of them unused.
//
// Against 20: place(), whose rows are 33 apart.
// The model predicts: no conflicts; elements of a column are 33 banks apart, which is one bank round and one further.
// In the profiler: bank conflicts near 0 (the counter itself has some noise); shared memory 3 % larger.
// Seed: all that go beyond the tile. The wrong turn in one of them ("column = row number, so no conflict") is about 20.
#pragma once

#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct padded : load_conflicts<WordBytes> {
  static constexpr int shared_bytes = 32 * 33 * WordBytes;

  RUNG_MAP int place(at e) { return (e.row * 33 + e.col) * WordBytes; }  // (row, col) : (33, 1)
};

}  // namespace cornerturn::ladder
