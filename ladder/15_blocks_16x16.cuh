// 15 blocks of 16 x 16 threads: as 05 with a quarter of the threads per block.
//
// Against 05: element(), and the size of a block.
// The model predicts: on SMs with 1536 threads (sm_86, sm_89, sm_120) occupancy is 100 %, and 67 % with blocks of 1024.
// On SMs with 2048 threads (sm_80, sm_90) both are 100 %. A store request has 16 sectors instead of 32: a warp is two
// rows of 16 elements, so two lanes share each sector of dst.
// In the profiler: "theoretical occupancy", then sectors/request at the store.
// Seed: the occupancy article. It only mentions occupancy; half the number of stored sectors also matters.
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
