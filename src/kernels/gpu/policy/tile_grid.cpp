#include "kernels/gpu/policy/tile_grid.hpp"

#include <algorithm>

#include "kernels/gpu/policy/costs.hpp"

namespace cornerturn::gpu {

using base::ceil_div;

double tiles_of(const kernels::facts& known, std::int64_t across, std::int64_t down) noexcept {
  const transpose_axes& axes = *known.axes();
  return static_cast<double>(map::words(known.form)) / static_cast<double>(axes.cols.total) /
         static_cast<double>(axes.rows.total) * static_cast<double>(ceil_div(axes.cols.total, across)) *
         static_cast<double>(ceil_div(axes.rows.total, down));
}

double empty_part(const transpose_axes& axes, const kernels::kernel& row) noexcept {
  return 1 / (fill(axes.cols.total, row.tile_cols) * fill(axes.rows.total, row.tile_rows)) - 1;
}

double cut_tiles(const transpose_axes& axes, const kernels::kernel& row, bool halo) noexcept {
  const auto whole = [](std::int64_t n, std::int64_t tile) {
    return static_cast<double>(n / tile) / static_cast<double>(ceil_div(n, tile));
  };
  const std::int64_t down = ceil_div(axes.rows.total, row.tile_rows);
  const double rows = halo ? static_cast<double>(std::max<std::int64_t>(down - 2, 0)) / static_cast<double>(down)
                           : whole(axes.rows.total, row.tile_rows);
  return 1 - rows * whole(axes.cols.total, row.tile_cols);
}

double tile_waste(const kernels::facts& known, std::int64_t row_bytes, std::int64_t col_bytes) noexcept {
  const transpose_axes& axes = *known.axes();
  std::int64_t src_bits = known.alignment | row_bytes, dst_bits = known.alignment | col_bytes;
  for (int k = 0; k < known.form.rank; ++k) {
    const axis& one = known.form.axes[k];
    if (k != axes.cols.axes[0]) src_bits |= one.src_stride * known.form.word_bytes;
    if (k != axes.rows.axes[0]) dst_bits |= one.dst_stride * known.form.word_bytes;
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

void set_tile(const map::canonical& form, const transpose_axes& axes, std::int64_t across, std::int64_t down,
              tile_args& args) noexcept {
  args.src_row_bytes = form.axes[axes.rows.axes[0]].src_stride * form.word_bytes;
  args.dst_col_bytes = form.axes[axes.cols.axes[0]].dst_stride * form.word_bytes;
  args.blocks.extent[0] = axes.cols.total;
  args.blocks.extent[1] = axes.rows.total;
  args.blocks.tile[0] = static_cast<std::int32_t>(across);
  args.blocks.tile[1] = static_cast<std::int32_t>(down);
}

bool number_tiles(const kernels::facts& known, const kernels::kernel& row, tile_args& args,
                  kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const std::int64_t across = row.tile_cols, down = row.tile_rows;
  const std::int64_t row_stride = form.axes[axes.rows.axes[0]].src_stride;
  const std::int64_t col_stride = form.axes[axes.cols.axes[0]].dst_stride;
  const bool fused = axes.fused();
  set_tile(form, axes, across, down, args);
  grid_builder number(args.blocks, form.word_bytes);  // count, slot, tiles, src step, dst step
  const std::int64_t tiles = ceil_div(axes.rows.total, down);
  const bool banded = !axes.src_aligned && 2 * tiles * across * down * form.word_bytes > banded_bytes;
  const std::int64_t bands = banded ? ceil_div(tiles, band_tiles) : 1, each = ceil_div(tiles, bands);
  number.add(each, 1, 1, fused ? 0 : down * row_stride, down);
  number.add(ceil_div(axes.cols.total, across), 0, 1, across, fused ? 0 : across * col_stride);
  number.add(bands, 1, each, fused ? 0 : each * down * row_stride, each * down);
  number_others(form, axes, number);
  return finish(made, number, row);
}

bool place_tiles(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                 kernels::offer& made) noexcept {
  const transpose_axes& axes = *known.axes();
  const bool fused = kernels::is_variant(row, "_fused");
  if (fused != axes.fused() || row.shared_bytes > on.shared_bytes) return false;
  if (!fused) return number_tiles(known, row, made.emplace<tile_args>(), made);
  auto& args = made.emplace<fused_tile_args>();
  args.rows = fuse(known.form, axes.rows, &axis::src_stride);
  args.cols = fuse(known.form, axes.cols, &axis::dst_stride);
  return number_tiles(known, row, args, made);
}

bool offer_skinny_tiles(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                        int long_slot, fused_tile_args& args, fused_axes& loose_side, kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  transpose_axes axes = *known.axes();
  tile_side& long_side = long_slot == 0 ? axes.cols : axes.rows;
  const tile_side& short_side = long_slot == 0 ? axes.rows : axes.cols;
  if (!axes.aligned() || std::max(long_side.total, short_side.total) > most_blocks) return false;
  const std::int64_t word = form.word_bytes;
  const int chunks_log2 = short_side_log2(short_side.total, word);
  if (chunks_log2 < 0 || 16 / word << chunks_log2 != (long_slot == 0 ? row.tile_rows : row.tile_cols)) return false;
  // The long side is contiguous in one array; `stride` is the stride in that array.
  std::int64_t axis::*const stride = long_slot == 0 ? &axis::src_stride : &axis::dst_stride;
  const std::int64_t enough = 16384 / word;  // elements, for a tile of 1024 chunks of 16 bytes
  const bool loose = lengthen(form, axes, stride, long_side, enough);
  if (long_side.total * short_side.total * 2 < enough) return false;
  set_tile(form, axes, row.tile_cols, row.tile_rows, args);
  if (axes.rows.rank > 1) args.rows = fuse(form, axes.rows, &axis::src_stride);
  if (axes.cols.rank > 1) args.cols = fuse(form, axes.cols, &axis::dst_stride);
  if (loose) loose_side = fuse(form, long_side, stride);
  grid_builder number(args.blocks, word);
  number.add(ceil_div(long_side.total, args.blocks.tile[long_slot]), long_slot, 1, 0, 0);
  number_others(form, axes, number);
  if (!finish(made, number, row)) return false;
  predict(known, on, row, {.issue = empty_part(axes, row)}, made);
  return true;
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
