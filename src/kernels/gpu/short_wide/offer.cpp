// Short-wide: a column has at most 128 bytes, in whole chunks of 16 bytes (unaligned: 256 bytes of wide words). For the
// aligned kernels, columns may be any axes. For the unaligned kernels, src may have any address.
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/short_wide/args.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

bool offer_aligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  transpose_axes axes = *known.axes();
  if (!axes.aligned() || std::max(axes.row_total, axes.col_total) > most_blocks) return false;
  const std::int64_t word = form.word_bytes, v = 16 / word;
  if (short_side_log2(axes.row_total, word) < 0 || v << short_side_log2(axes.row_total, word) != row.tile_rows)
    return false;
  const std::int64_t long_side = 16384 / word;  // elements: enough columns for a tile of 1024 chunks of 16 bytes
  const bool loose = lengthen(form, axes, &axis::src_stride, axes.cols, axes.col_rank, axes.col_total, long_side);
  if (axes.col_total * axes.row_total * 2 < long_side) return false;

  auto& args = made.emplace<short_wide_args>();
  args.src_row_bytes = form.axes[axes.rows[0]].src_stride * word;
  args.dst_col_bytes = form.axes[axes.cols[0]].dst_stride * word;
  if (axes.row_rank > 1) args.rows = fuse(form, axes.rows, axes.row_rank, &axis::src_stride);
  if (axes.col_rank > 1) args.cols = fuse(form, axes.cols, axes.col_rank, &axis::dst_stride);
  if (loose) args.cols_src = fuse(form, axes.cols, axes.col_rank, &axis::src_stride);
  args.blocks.extent[0] = axes.col_total;
  args.blocks.extent[1] = axes.row_total;
  args.blocks.tile[0] = row.tile_cols;
  args.blocks.tile[1] = row.tile_rows;
  grid_builder number(args.blocks, word);
  number.add(ceil_div(axes.col_total, row.tile_cols), 0, 1, 0, 0);
  number_others(form, axes, number);
  if (!finish(made, number, row)) return false;
  made.reason = "every address is a multiple of 16 bytes and rows are few: whole columns are stored in order";
  predict(known, on, row,
          {.issue = 1 / (fill(axes.col_total, row.tile_cols) * fill(axes.row_total, row.tile_rows)) - 1}, made);
  return true;
}

bool offer_unaligned(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                     kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const std::int64_t word = form.word_bytes, v = 16 / word;
  const int narrow_log2 = unaligned_short_side_log2(axes.row_total, word);
  if (!axes.dst_aligned || axes.row_rank != 1 || narrow_log2 < 0) return false;
  const std::int64_t wide = units_of_tile(word) >> narrow_log2;  // blocks along a tile
  if (axes.col_total < 2 * wide * v) return false;

  auto& args = made.emplace<unaligned_short_wide_args>();
  args.narrow_log2 = narrow_log2;
  args.run_chunks = map::fast_divisor(static_cast<std::uint32_t>(wide + 1));
  args.src_row_bytes = form.axes[axes.rows[0]].src_stride * word;
  args.dst_col_bytes = form.axes[axes.cols[0]].dst_stride * word;
  if (axes.col_rank > 1) args.cols = fuse(form, axes.cols, axes.col_rank, &axis::dst_stride);
  args.blocks.extent[0] = axes.col_total;
  args.blocks.extent[1] = axes.row_total;
  args.blocks.tile[0] = static_cast<std::int32_t>(wide * v);
  args.blocks.tile[1] = static_cast<std::int32_t>(axes.row_total);
  grid_builder number(args.blocks, word);
  number.add(ceil_div(axes.col_total, wide * v), 0, 1, 0, 0);
  number_others(form, axes, number);
  if (!finish(made, number, row)) return false;
  made.reason = "rows are few and every address of dst is a multiple of 16 bytes: rows of src are realigned";
  predict(known, on, row, {.issue = 1 / (fill(axes.row_total, v << narrow_log2) * fill(axes.col_total, wide * v)) - 1},
          made);
  return true;
}

}  // namespace

bool offers::short_wide(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                        kernels::offer& made) noexcept {
  if (known.axes() == nullptr || known.alignment != 16 || row.element_bytes != known.form.word_bytes) return false;
  if (row.shared_bytes > on.shared_bytes) return false;
  return kernels::is_variant(row, "_unaligned") ? offer_unaligned(known, on, row, made)
                                                : offer_aligned(known, on, row, made);
}

std::string descriptions::short_wide(const kernels::offer& made) { return describe_tile(made); }

}  // namespace cornerturn::gpu
