#include "kernels/gpu/policy/tile_grid.hpp"

#include <algorithm>

#include "kernels/gpu/policy/costs.hpp"

namespace cornerturn::gpu {

using base::ceil_div;

double tiles_of(const kernels::facts& known, std::int64_t across, std::int64_t down) noexcept {
  const transpose_axes& axes = *known.axes();
  return static_cast<double>(map::words(known.form)) / static_cast<double>(axes.col_total) /
         static_cast<double>(axes.row_total) * static_cast<double>(ceil_div(axes.col_total, across)) *
         static_cast<double>(ceil_div(axes.row_total, down));
}

double empty_part(const transpose_axes& axes, const kernels::kernel& row) noexcept {
  return 1 / (fill(axes.col_total, row.tile_cols) * fill(axes.row_total, row.tile_rows)) - 1;
}

double cut_tiles(const transpose_axes& axes, const kernels::kernel& row, bool halo) noexcept {
  const auto whole = [](std::int64_t n, std::int64_t tile) {
    return static_cast<double>(n / tile) / static_cast<double>(ceil_div(n, tile));
  };
  const std::int64_t down = ceil_div(axes.row_total, row.tile_rows);
  const double rows = halo ? static_cast<double>(std::max<std::int64_t>(down - 2, 0)) / static_cast<double>(down)
                           : whole(axes.row_total, row.tile_rows);
  return 1 - rows * whole(axes.col_total, row.tile_cols);
}

double tile_waste(const kernels::facts& known, std::int64_t row_bytes, std::int64_t col_bytes) noexcept {
  const transpose_axes& axes = *known.axes();
  std::int64_t src_bits = known.alignment | row_bytes, dst_bits = known.alignment | col_bytes;
  for (int k = 0; k < known.form.rank; ++k) {
    const axis& one = known.form.axes[k];
    if (k != axes.cols[0]) src_bits |= one.src_stride * known.form.word_bytes;
    if (k != axes.rows[0]) dst_bits |= one.dst_stride * known.form.word_bytes;
  }
  // An address that is a multiple of 16 is a multiple of 32 in half of all cases, so no more than 16 is assumed.
  const auto known_of = [](std::int64_t bits) { return (bits | 16) & -(bits | 16); };
  return (sector_waste(row_bytes, known_of(src_bits)) + sector_waste(col_bytes, known_of(dst_bits))) / 2;
}

void number_others(const map::canonical& form, const transpose_axes& axes, grid_builder& number) noexcept {
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (!axes.taken[k]) number.add(one.extent, -1, 0, one.src_stride, one.dst_stride);
  }
}

bool number_tiles(const kernels::facts& known, const kernels::kernel& row, std::int64_t band_bytes, tile_args& args,
                  kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const std::int64_t across = row.tile_cols, down = row.tile_rows;
  const axis& col = form.axes[axes.cols[0]];
  const axis& first_row = form.axes[axes.rows[0]];
  const bool fused = axes.fused();
  args.src_row_bytes = first_row.src_stride * form.word_bytes;
  args.dst_col_bytes = col.dst_stride * form.word_bytes;
  grid& blocks = args.blocks;
  blocks.extent[0] = axes.col_total;
  blocks.extent[1] = axes.row_total;
  blocks.tile[0] = static_cast<std::int32_t>(across);
  blocks.tile[1] = static_cast<std::int32_t>(down);
  const std::int64_t tiles = ceil_div(axes.row_total, down);
  std::int64_t bands = 1;
  if (band_bytes != 0 && !fused) {
    std::int64_t reach = 0;
    if (!base::checked_mul(base::magnitude(args.src_row_bytes), axes.row_total, reach)) reach = INT64_MAX;
    bands = std::clamp<std::int64_t>(reach / band_bytes, 1, tiles);
  }
  const std::int64_t band = ceil_div(tiles, bands);
  grid_builder number(blocks, form.word_bytes);
  number.add(band, 1, 1, fused ? 0 : down * first_row.src_stride, down);
  number.add(ceil_div(axes.col_total, across), 0, 1, across, fused ? 0 : across * col.dst_stride);
  number.add(ceil_div(tiles, band), 1, band, fused ? 0 : band * down * first_row.src_stride, band * down);
  number_others(form, axes, number);
  return finish(made, number, row);
}

std::string describe_grid(const grid& blocks) {
  std::string text;
  for (int k = 0; k < blocks.rank; ++k) {
    const grid_axis& one = blocks.axes[k];
    text += (k > 0 ? ", then " : "order      ") + std::to_string(one.count.divisor);
    if (one.tiles[0] > 0) text += " across src's rows";
    if (one.tiles[1] > 0) text += " down src's columns";
  }
  return text.empty() ? text : text + " (fastest first)\n";
}

std::string describe_tile(const kernels::offer& made) {
  const auto& args = made.as<tile_args>();
  return "tile       " + std::to_string(args.blocks.tile[1]) + " rows x " + std::to_string(args.blocks.tile[0]) +
         " columns of " + std::to_string(made.row->element_bytes) + "-byte words\n" + describe_grid(args.blocks);
}

}  // namespace cornerturn::gpu
