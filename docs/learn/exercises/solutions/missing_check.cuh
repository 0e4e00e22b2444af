// Solution 4: a tile at the edge has fewer rows or columns than its block has threads. Those threads must do nothing.
#pragma once

#include "05_scattered_store.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct missing_check : scattered_store<WordBytes> {
  template <class Rung>
  GPU_INLINE static void move(const arguments& a) {
    const auto p = part_of<Rung>(a, Rung::tile_of(gpu::block_index(), a));
    const at e = Rung::element(static_cast<int>(gpu::thread_index()));
    if (p.inside(e)) *p.to(e) = *p.from(e);
  }
};

}  // namespace cornerturn::ladder
