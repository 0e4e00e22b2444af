// 25 store conflicts: the tile is stored by columns in shared memory, so the shared stores transpose it.
//
// Against 20: place(), which is transposed.
// The model predicts: the conflicts of 20, but at the shared stores; shared loads have none.
// In the profiler: shared store bank conflicts. No instruction depends on a store, but the LSU is as busy as in 20.
// Seed: CuTe, "bank conflict write".
#pragma once

#include "20_load_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct store_conflicts : load_conflicts<WordBytes> {
  RUNG_MAP int place(at e) { return (e.col * 32 + e.row) * WordBytes; }  // (row, col) : (1, 32)
};

}  // namespace cornerturn::ladder
