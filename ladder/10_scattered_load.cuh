// 10 scattered load: as 05, but a warp loads a column and stores a row.
//
// Against 05: element(), the map from threads to elements.
// The model predicts: the counts of 05 with loads and stores exchanged.
// In the profiler: the number of sectors of 05, in much less time. The unused part of a loaded sector stays in L1 and
// L2 for the warps of the adjacent columns. Only L2 can merge partial stores of a sector.
// Seed: "coalesced write" of the occupancy article, the A100 staircase and CuTe.
#pragma once

#include "05_scattered_store.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct scattered_load : scattered_store<WordBytes> {
  RUNG_MAP at element(int thread) { return {thread % 32, thread / 32}; }
};

}  // namespace cornerturn::ladder
