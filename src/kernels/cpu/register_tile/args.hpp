// The arguments of the family register_tile: rows and columns are one axis each, at least a register block long.
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

}  // namespace cornerturn::kernels::cpu::register_tile
