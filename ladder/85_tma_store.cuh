// 85 TMA load and store: TMA copies tiles in and out; threads only transpose a tile in shared memory.
//
//   thread t transposes the V x V block (chunk row q, chunk column j):   j = t % 8,   q = t % 8 ^ t / 8
//
// Against 80: move(). Threads do not store to global memory, so the assignment of blocks to threads can avoid
// conflicts. With a row of blocks, loads have eight XOR keys but stores only two. A diagonal of blocks has eight keys
// on both sides.
// The model predicts: no requests to global memory, no conflicts; 16-byte shared accesses only.
// In the profiler: global memory counters of the LSU are 0; the traffic is counted under TMA.
// Seed: no article has it.
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
  static constexpr int threads = 64;  // one block of V x V elements per thread
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
