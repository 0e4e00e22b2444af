// 15 blocks of 16 x 16 threads: as 05 with a quarter of the threads in a block.
//
// Against 05: element(), and with it the size of a block.
// The model predicts: occupancy 100 % where an SM holds 1536 threads (sm_86, sm_89, sm_120), against 67 % for blocks of
// 1024; no difference where it holds 2048 (sm_80, sm_90). And 16 sectors per stored request, not 32: a warp is now two
// rows of 16, so two of its lanes share each sector of dst.
// In the profiler: "theoretical occupancy", then sectors/request at the store.
// Seed: the occupancy article. It credits occupancy alone; half of the stored sectors is the other half of the story.
#pragma once

#include "05_scattered_store.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct blocks_16x16 : scattered_store<WordBytes> {
  static constexpr int tile_rows = 16;
  static constexpr int tile_cols = 16;
  static constexpr int threads = 256;

  RUNG_MAP at element(int thread) { return {thread / 16, thread % 16}; }
};

}  // namespace cornerturn::ladder
