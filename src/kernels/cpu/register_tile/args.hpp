// The arguments of the family register_tile: rows and columns are one axis each.
#pragma once

#include "kernels/fused_axes.hpp"

namespace cornerturn::kernels::cpu::register_tile {

struct args {
  std::int64_t word_bytes = 1;
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  std::int64_t src_pitch = 0;  // bytes from one row to the next in src
  std::int64_t dst_pitch = 0;  // bytes from one column to the next in dst
  fused_axes outer;            // a unit is one matrix
};

struct items_args : args {
  std::int64_t src_end_bytes = 0;  // end of the bytes that src spans, from the word of index 0
  std::int64_t ahead = 0;          // the matrix that is prefetched comes so many units later; 0: none is prefetched
};

}  // namespace cornerturn::kernels::cpu::register_tile
