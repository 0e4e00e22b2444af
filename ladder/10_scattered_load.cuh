// 10 scattered load: as 05, but a warp reads a column and writes a row.
//
// Against 05: element(), which thread has which element.
// The model predicts: the counts of 05 with loads and stores exchanged.
// In the profiler: the same sectors in all, yet much less time: what a load leaves over in L1 and L2 serves the warps
// that read the columns beside it, while stores wait for nobody to complete their sectors but L2.
// Seed: "coalesced write" of the occupancy article, the A100 staircase and CuTe.
#pragma once

#include "05_scattered_store.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct scattered_load : scattered_store<WordBytes> {
  RUNG_MAP at element(int thread) { return {thread % 32, thread / 32}; }
};

}  // namespace cornerturn::ladder
