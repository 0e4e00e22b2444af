// 05 scattered store: one thread per element; a warp loads a row and stores a column.
//
// Against 00: the element is stored to [col][row].
// The model predicts: 4 sectors per load request and 32 per store request. An eighth of each stored sector is useful
// (4 of 32 bytes), unless src has fewer than 8 rows.
// In the profiler: "uncoalesced global accesses" at the store, sectors/request 32.
// Seed: "coalesced read" of all five; 32 x 32 thread blocks as in the A100 staircase.
#pragma once

#include "rung.hpp"
#ifdef GPU_KERNEL
#include "move.cuh"
#endif

namespace cornerturn::ladder {

template <int WordBytes>
struct scattered_store : rung<WordBytes> {
  static constexpr int tile_rows = 32;
  static constexpr int tile_cols = 32;
  static constexpr int threads = 1024;

  RUNG_MAP at element(int thread) { return {thread / 32, thread % 32}; }

#ifdef GPU_KERNEL
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    const auto p = part_of<Rung>(a, Rung::tile_of(gpu::block_index(), a));
    const at e = Rung::element(static_cast<int>(gpu::thread_index()));
    if (p.inside(e)) *p.to(e) = *p.from(e);
  }
#endif
};

}  // namespace cornerturn::ladder
