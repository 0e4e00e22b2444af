// 20 load conflicts: shared memory transposes a tile of 32 x 32 elements, so both global accesses are along rows.
//
// Against 05: move(), which stages the tile in shared memory; a thread copies four elements.
// The model predicts: 4 sectors per request on both sides, all useful. A column of the tile is in one bank, so each
// shared load takes 32 wavefronts: 31 conflicts per warp.
// In the profiler: shared load bank conflicts, "L1 wavefronts shared excessive".
// Seed: the shared tile of all five (LDS in the AMD article, whose kernel has no bounds checks and reads too far).
#pragma once

#include "rung.hpp"
#ifdef GPU_KERNEL
#include "move.cuh"
#endif

namespace cornerturn::ladder {

template <int WordBytes>
struct load_conflicts : rung<WordBytes> {
  static constexpr int tile_rows = 32;
  static constexpr int tile_cols = 32;
  static constexpr int threads = 256;
  static constexpr int steps = 4;
  static constexpr int shared_bytes = 32 * 32 * WordBytes;

  RUNG_MAP at read(int thread, int step) { return {step * 8 + thread / 32, thread % 32}; }
  RUNG_MAP at write(int thread, int step) { return {thread % 32, step * 8 + thread / 32}; }
  RUNG_MAP int place(at e) { return (e.row * 32 + e.col) * WordBytes; }  // (row, col) : (32, 1)

#ifdef GPU_KERNEL
  template <class Rung, bool Checked>
  GPU_INLINE static void bring_in(const part<Rung, Checked>& p) {
    rows_in(p);
  }
  template <class Rung, bool Checked>
  GPU_INLINE static void through_tile(const part<Rung, Checked>& p) {
    Rung::bring_in(p);
    gpu::block_barrier();  // orders the stores into the tile before the loads from it
    columns_out(p);
  }
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    Rung::through_tile(part_of<Rung>(a, Rung::tile_of(gpu::block_index(), a)));
  }
#endif
};

}  // namespace cornerturn::ladder
