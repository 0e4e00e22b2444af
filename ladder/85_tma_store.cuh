// 85 TMA load and store: tiles come and go by themselves; threads only turn one in shared memory.
//
//   thread t turns the V x V block (chunk row q, chunk column j):   j = t % 8,   q = t % 8 ^ t / 8
//
// Against 80: move(). With no store of its own, a thread may have whatever block suits the banks: a row of blocks meets
// eight keys where chunks are read and two where they are written, a diagonal meets eight on both sides.
// The model predicts: no requests to global memory, no conflicts; 16-byte shared accesses only.
// In the profiler: global memory counters of the LSU at 0; what moves is counted under TMA.
// Seed: none has it.
#pragma once

#include "80_tma_load.cuh"
#ifdef GPU_TENSOR
#include "kernels/gpu/policy/transpose_block.cuh"
#endif

namespace cornerturn::ladder {

template <int WordBytes>
struct tma_store : tma_load<WordBytes> {
  using base = tma_load<WordBytes>;
  static constexpr bool tensor_store = true;
  static constexpr int dst_row_multiple = 16;
  static constexpr int v = base::width;
  static constexpr int threads = 64;  // a block of V x V elements each
  static constexpr int steps = v;
  static constexpr int shared_bytes = 2 * base::tile_bytes + 16;

  RUNG_MAP at read(int thread, int step) { return {(thread % 8 ^ thread / 8) * v + step, thread % 8 * v}; }
  RUNG_MAP at write(int thread, int step) { return {(thread % 8 ^ thread / 8) * v, thread % 8 * v + step}; }
  RUNG_MAP int place_out(at e) { return base::tile_bytes + base::swizzle(e.col * 128 + e.row * WordBytes); }

#ifdef GPU_TENSOR
  template <class Rung>
  GPU_INLINE static void move(const tensor_arguments& a) {
    using chunk = word_t<16>;
    const tile which = Rung::tile_of(gpu::block_index(), a);
    const int thread = static_cast<int>(gpu::thread_index());
    unsigned char* const shared = gpu::shared_memory();
    Rung::template bring_in<Rung>(a, which, shared);
    gpu::register_block<v> block;
    GPU_UNROLL
    for (int i = 0; i < v; ++i) {
      const auto row = *reinterpret_cast<const chunk*>(shared + Rung::place(Rung::read(thread, i)));
      block.row[i][0] = row.x, block.row[i][1] = row.y, block.row[i][2] = row.z, block.row[i][3] = row.w;
    }
    gpu::transpose_block<WordBytes>(block);
    GPU_UNROLL
    for (int i = 0; i < v; ++i) {
      const chunk column = {block.row[i][0], block.row[i][1], block.row[i][2], block.row[i][3]};
      *reinterpret_cast<chunk*>(shared + Rung::place_out(Rung::write(thread, i))) = column;
    }
    gpu::send_box(a.dst_tensor, static_cast<int>(which.down) * Rung::tile_rows,
                  static_cast<int>(which.across) * Rung::tile_cols, shared + base::tile_bytes);
  }
#endif
};

}  // namespace cornerturn::ladder
