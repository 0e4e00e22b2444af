// The arguments of the production kernel for a packed matrix, as the plan makes them.
#pragma once

#include "kernels/gpu/policy/tile_args.hpp"
#include "rung.hpp"

namespace cornerturn::ladder {

template <class Rung>
gpu::tile_args args_for(const arguments& a) {
  constexpr std::int64_t word = Rung::word_bytes;
  gpu::tile_args made;
  made.src = a.src;
  made.dst = a.dst;
  made.src_row_bytes = a.cols * word;
  made.dst_col_bytes = a.rows * word;
  gpu::grid& grid = made.blocks;  // slot 0: columns, slot 1: rows; consecutive blocks process a column of tiles
  grid.extent[0] = a.cols;
  grid.extent[1] = a.rows;
  grid.tile[0] = Rung::tile_cols;
  grid.tile[1] = Rung::tile_rows;
  grid.rank = 2;
  grid.axes[0].count = map::fast_divisor(a.tiles_down);
  grid.axes[0].tiles[1] = 1;
  grid.axes[0].src_step_bytes = a.cols * Rung::tile_rows * word;
  grid.axes[0].dst_step_bytes = Rung::tile_rows * word;
  grid.axes[1].count = map::fast_divisor(a.tiles_across);
  grid.axes[1].tiles[0] = 1;
  grid.axes[1].src_step_bytes = Rung::tile_cols * word;
  grid.axes[1].dst_step_bytes = a.rows * Rung::tile_cols * word;
  return made;
}

}  // namespace cornerturn::ladder
