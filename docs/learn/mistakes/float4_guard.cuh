// The float4 kernel of the A100 article: `row < M && col + 3 < N` guards a piece of four columns, and there is no else.
#pragma once

#include "45_vector_padded.cuh"

namespace cornerturn::ladder {

template <int WordBytes>
struct float4_guard : vector_padded<WordBytes> {
  template <class Rung, bool Checked>
  GPU_INLINE static void through_tile(const part<Rung, Checked>& p) {
    const int thread = static_cast<int>(gpu::thread_index());
    const at in = Rung::read(thread, 0);
    if (in.row < p.rows && in.col + 3 < p.cols) {
      const auto value = load_piece<Rung>(p.from(in));
      for (int i = 0; i < 4; ++i) p.shared_word({in.row, in.col + i}) = value.word[i];
    }
    gpu::block_barrier();  // orders the stores into the tile before the loads from it
    const at out = Rung::write(thread, 0);
    if (out.col < p.cols && out.row + 3 < p.rows) {
      piece<Rung> value;
      for (int i = 0; i < 4; ++i) value.word[i] = p.shared_word({out.row + i, out.col});
      store_piece<Rung>(p.to(out), value);
    }
  }
};

}  // namespace cornerturn::ladder
