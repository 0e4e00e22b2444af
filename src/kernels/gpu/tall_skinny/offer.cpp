// Tall-skinny: a row has at most 128 bytes, in whole chunks of 16 bytes (unaligned: 256 bytes of wide words). For the
// aligned kernels, rows may be any axes. For the unaligned kernels, dst may have any address.
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/tall_skinny/args.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

bool offer_aligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  transpose_axes axes = *known.axes();
  if (!axes.aligned() || std::max(axes.row_total, axes.col_total) > most_blocks) return false;
  const std::int64_t word = form.word_bytes, v = 16 / word;
  if (short_side_log2(axes.col_total, word) < 0 || v << short_side_log2(axes.col_total, word) != row.tile_cols)
    return false;
  const std::int64_t long_side = 16384 / word;  // elements: enough rows for a tile of 1024 chunks of 16 bytes
  const bool loose = lengthen(form, axes, &axis::dst_stride, axes.rows, axes.row_rank, axes.row_total, long_side);
  if (axes.row_total * axes.col_total * 2 < long_side) return false;

  auto& args = made.emplace<tall_skinny_args>();
  args.src_row_bytes = form.axes[axes.rows[0]].src_stride * word;
  args.dst_col_bytes = form.axes[axes.cols[0]].dst_stride * word;
  if (axes.row_rank > 1) args.rows = fuse(form, axes.rows, axes.row_rank, &axis::src_stride);
  if (axes.col_rank > 1) args.cols = fuse(form, axes.cols, axes.col_rank, &axis::dst_stride);
  if (loose) args.rows_dst = fuse(form, axes.rows, axes.row_rank, &axis::dst_stride);
  args.blocks.extent[0] = axes.col_total;
  args.blocks.extent[1] = axes.row_total;
  args.blocks.tile[0] = row.tile_cols;
  args.blocks.tile[1] = row.tile_rows;
  grid_builder number(args.blocks, word);
  number.add(ceil_div(axes.row_total, row.tile_rows), 1, 1, 0, 0);
  number_others(form, axes, number);
  if (!finish(made, number, row)) return false;
  made.reason =
      "every address is a multiple of 16 bytes and columns are few: rows are copied to shared memory unchanged";
  predict(known, on, row,
          {.issue = 1 / (fill(axes.col_total, row.tile_cols) * fill(axes.row_total, row.tile_rows)) - 1}, made);
  return true;
}

bool offer_unaligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                     kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const std::int64_t word = form.word_bytes, v = 16 / word;
  const int narrow_log2 = unaligned_short_side_log2(axes.col_total, word);
  // The halo is a block of rows. With 16 chunks a row, it is a 16th of a tile: 1171873 x 64 float32 reaches 0.79 of a
  // copy here, 0.90 in unaligned tiles (H200, 2026-11-22).
  if (!axes.src_aligned || axes.col_rank != 1 || narrow_log2 < 0 || narrow_log2 > (word == 8 ? 4 : 3)) return false;
  const std::int64_t wide = units_of_tile(word) >> narrow_log2;  // blocks down a tile
  if (axes.row_total < 2 * wide * v) return false;

  auto& args = made.emplace<unaligned_tall_skinny_args>();
  args.narrow_log2 = narrow_log2;
  args.src_row_bytes = form.axes[axes.rows[0]].src_stride * word;
  args.dst_col_bytes = form.axes[axes.cols[0]].dst_stride * word;
  if (axes.row_rank > 1) args.rows = fuse(form, axes.rows, axes.row_rank, &axis::src_stride);
  args.blocks.extent[0] = axes.col_total;
  args.blocks.extent[1] = axes.row_total;
  args.blocks.tile[0] = static_cast<std::int32_t>(axes.col_total);
  args.blocks.tile[1] = static_cast<std::int32_t>((wide - 1) * v);
  grid_builder number(args.blocks, word);
  // A line may begin up to v - 1 rows into a chunk.
  number.add((axes.row_total + v - 2) / v / (wide - 1) + 1, 1, 1, 0, 0);
  number_others(form, axes, number);
  if (!finish(made, number, row)) return false;
  made.reason = "columns are few and every address of src is a multiple of 16 bytes: columns of dst are realigned";
  predict(known, on, row, {.issue = 1 / (fill(axes.col_total, v << narrow_log2)) - 1}, made);
  return true;
}

}  // namespace

bool offers::tall_skinny(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                         kernels::offer& made) noexcept {
  if (known.axes() == nullptr || known.alignment != 16 || row.element_bytes != known.form.word_bytes) return false;
  if (row.shared_bytes > on.shared_bytes) return false;
  return kernels::is_variant(row, "_unaligned") ? offer_unaligned(known, on, row, made)
                                                : offer_aligned(known, on, row, made);
}

std::string descriptions::tall_skinny(const kernels::offer& made) { return describe_tile(made); }

}  // namespace cornerturn::gpu
