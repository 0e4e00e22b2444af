// 65 asynchronous copy: pieces are copied from global to shared memory without registers.
//
//   byte address   | row    | piece ^ (row / 4 & 7) | element | 00 |       4-byte elements
//                    5 bits   3 bits                  2 bits    4 bytes of an element
//
// Against 50: bring_in(), which uses cp.async. It copies 16 bytes at a time, so place() keeps pieces whole and XORs the
// piece number instead of the column. The XOR key is row / 4, because a warp gathers from every fourth row.
// The model predicts: no conflicts. One request per piece: an LDGSTS, which the profiler's op_ld counts as a load.
// In the profiler: fewer registers; no LDG, no STS; stalls at the wait before the barrier instead of "long scoreboard".
// Seed: CuTe, whose copy compiles to cp.async on sm_80 and later. Its swizzle has the row as the key and keeps
// conflicts.
#pragma once

#include "40_vector_conflicts.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct async_copy : vector_conflicts<WordBytes> {
  using base = vector_conflicts<WordBytes>;
  static constexpr int least_word_bytes = 4;  // the smallest copy of cp.async
  static constexpr bool is_asynchronous = true;

  RUNG_MAP int place(at e) {
    const int key = e.row / base::width % base::pieces;
    return (e.row * base::side + (e.col ^ key * base::width)) * WordBytes;
  }

#ifdef GPU_KERNEL
  template <class Rung>
  GPU_INLINE static void bring_in(const part<Rung>& p) {
    GPU_UNROLL
    for (int step = 0; step < Rung::steps; ++step) {
      const at e = Rung::read(static_cast<int>(gpu::thread_index()), step);
      if (p.src_in_pieces) {
        if (p.inside(e)) gpu::start_copy<16>(&p.shared_word(e), p.from(e));
      } else {
        GPU_UNROLL
        for (int i = 0; i < Rung::width; ++i) {
          const at one{e.row, e.col + i};
          if (p.inside(one)) gpu::start_copy<WordBytes>(&p.shared_word(one), p.from(one));
        }
      }
    }
    gpu::wait_for_copies();
  }
#endif
};

}  // namespace cornerturn::ladder
