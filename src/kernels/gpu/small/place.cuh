// Where a small tile is, and its offsets in elements.
#pragma once

#include "kernels/gpu/policy/grid.cuh"
#include "kernels/gpu/small/args.hpp"

namespace cornerturn::gpu {

GPU_INLINE uint32_t split_line(const small_side& side, uint32_t ld, uint32_t index) {
  const uint32_t above = side.count.quotient(index);
  return (index - above * side.count.divisor) * ld + above * static_cast<uint32_t>(side.ld);
}
template <bool Fused>
struct small_place {
  const small_args_t<Fused>& args;
  uint32_t first_row, first_col;
  uint32_t src = 0, dst = 0;

  GPU_INLINE small_place(const small_args_t<Fused>& all, int rows, int cols) : args(all) {
    const auto block = block_in_grid(args.tiles_across, args.tiles_down);
    first_row = block.y * rows;
    first_col = block.x * cols;
    if constexpr (Fused) {
      src = block.z * static_cast<uint32_t>(args.src_stride);
      dst = block.z * static_cast<uint32_t>(args.dst_stride);
      GPU_UNROLL for (const auto& axis : args.outer) {
        const uint32_t quotient = axis.faster.quotient(block.z);
        src += quotient * static_cast<uint32_t>(axis.src_step);
        dst += quotient * static_cast<uint32_t>(axis.dst_step);
      }
    }
  }
  // Every row and every column of the tile exists, and each side is one axis.
  GPU_INLINE bool is_whole(int rows, int cols) const {
    if constexpr (Fused) {
      if (args.row_axes.is_split != 0 || args.col_axes.is_split != 0) return false;
    }
    return first_row + rows <= args.rows && first_col + cols <= args.cols;
  }
  // row_of(k) is the row of line k.
  template <int Count, class RowOf>
  GPU_INLINE void set_rows(uint32_t (&line)[Count], const RowOf& row_of) const {
    const auto ld = static_cast<uint32_t>(args.src_ld);
    GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = src + row_of(k) * ld;
    if constexpr (Fused) {
      if (args.row_axes.is_split == 0) return;
      GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = src + split_line(args.row_axes, ld, row_of(k));
    }
  }
  template <int Count>
  GPU_INLINE void set_columns(uint32_t (&line)[Count], uint32_t column, uint32_t step) const {
    const auto ld = static_cast<uint32_t>(args.dst_ld);
    GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = dst + (column + k * step) * ld;
    if constexpr (Fused) {
      if (args.col_axes.is_split == 0) return;
      GPU_UNROLL for (int k = 0; k < Count; ++k) line[k] = dst + split_line(args.col_axes, ld, column + k * step);
    }
  }
};

}  // namespace cornerturn::gpu
