// Where a thread's word of dst and its elements of src are: element_grid.hpp has the numbers.
#pragma once

#include "kernels/gpu/policy/element_grid.hpp"

namespace cornerturn::gpu {

// A word of a row; the offsets of the row's first element.
struct element_word {
  uint32_t word;
  int64_t src, dst;
};

GPU_INLINE element_word locate_word(const element_grid& args, uint32_t number) {
  uint32_t below = args.rank == 0 ? 0 : args.words.quotient(number);
  element_word made{number - below * args.words.divisor, 0, 0};
  GPU_UNROLL for (int k = 0; k < max_element_outer_axes; ++k) {
    if (k >= args.rank) break;
    const auto& axis = args.outer[k];
    const uint32_t above = k + 1 < args.rank ? axis.words.quotient(number) : 0;
    const auto index = static_cast<int32_t>(below - above * axis.extent);
    made.src += index * int64_t{axis.src_bytes};
    made.dst += index * int64_t{axis.dst_bytes};
    below = above;
  }
  return made;
}

// The offsets in src of V elements of a row, from element `first` on.
template <int V>
GPU_INLINE void set_offsets(const element_grid& args, int32_t first, int64_t (&offset)[V]) {
  int32_t stride = args.src_bytes;
  uint32_t index[V];
  GPU_UNROLL for (int k = 0; k < V; ++k) index[k] = static_cast<uint32_t>(first + k), offset[k] = 0;
  GPU_UNROLL for (int axis = 0; axis < max_element_row_axes - 1; ++axis) {
    if (axis + 1 >= args.row_rank) break;
    const auto& row = args.row[axis];
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      const uint32_t above = row.count.quotient(index[k]);
      offset[k] += static_cast<int32_t>(index[k] - above * row.count.divisor) * int64_t{stride};
      index[k] = above;
    }
    stride = row.above_src_bytes;
  }
  GPU_UNROLL for (int k = 0; k < V; ++k) offset[k] += static_cast<int32_t>(index[k]) * int64_t{stride};
}

}  // namespace cornerturn::gpu
