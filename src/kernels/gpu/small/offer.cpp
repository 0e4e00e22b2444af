// Small matrices, every address a multiple of 16 bytes: many matrices with sides of 1, 2, 4 or 8 chunks of 16 bytes, or
// one matrix that stays in L2. The rows for batches take addresses from a table, which plan/batch_gpu.cpp fills.
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/small/args.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;
using base::magnitude;

// The axis of the smallest dst stride that counts small matrices; -1: there is none, or it is too short.
int find_matrices(const map::canonical& form, const transpose_axes& axes) noexcept {
  if (form.rank < 3 || !axes.aligned() || axes.fused()) return -1;
  const int down = whole_side_log2(axes.rows.total, form.word_bytes),
            across = whole_side_log2(axes.cols.total, form.word_bytes);
  if (down < 0 || across < 0) return -1;
  int best = -1;
  for (int k = 0; k < form.rank; ++k) {
    if (axes.taken[k]) continue;
    if (best < 0 || magnitude(form.axes[k].dst_stride) < magnitude(form.axes[best].dst_stride)) best = k;
  }
  const std::int64_t at_a_time = units_of_tile(form.word_bytes) >> (down + across);
  return form.axes[best].extent >= 2 * at_a_time ? best : -1;
}

bool offer_many(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const int along = find_matrices(form, axes);
  if (along < 0) return false;
  auto& args = made.emplace<many_small_args>();
  const std::int64_t word = form.word_bytes;
  const axis& matrices = form.axes[along];
  args.src_row_bytes = form.axes[axes.rows.axes[0]].src_stride * word;
  args.dst_col_bytes = form.axes[axes.cols.axes[0]].dst_stride * word;
  args.src_matrix_bytes = matrices.src_stride * word;
  args.dst_matrix_bytes = matrices.dst_stride * word;
  args.down_log2 = whole_side_log2(axes.rows.total, word);
  args.across_log2 = whole_side_log2(axes.cols.total, word);
  const std::int64_t at_a_time = units_of_tile(word) >> (args.down_log2 + args.across_log2);
  args.blocks.extent[1] = matrices.extent;
  args.blocks.tile[1] = static_cast<std::int32_t>(at_a_time);
  grid_builder number(args.blocks, word);
  number.add(ceil_div(matrices.extent, at_a_time), 1, 1, at_a_time * matrices.src_stride,
             at_a_time * matrices.dst_stride);
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (!axes.taken[k] && k != along) number.add(one.extent, -1, 0, one.src_stride, one.dst_stride);
  }
  if (!finish(made, number, row)) return false;
  made.reason = "many matrices of at most 128 bytes a side, every address a multiple of 16 bytes: several in a block";
  predict(known, on, row, {.issue = 1 / fill(matrices.extent, at_a_time) - 1}, made);
  return true;
}

bool offer_one(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
               kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes& axes = *known.axes();
  const std::int64_t word = form.word_bytes, chunk = 16 / word;
  if (form.rank != 2 || !axes.aligned() || known.bytes > on.gpu->small_bytes) return false;
  if (axes.rows.total % chunk != 0 || axes.cols.total % chunk != 0) return false;
  if (axes.rows.total < row.tile_rows || axes.cols.total < row.tile_cols) return false;
  auto& args = made.emplace<small_args>();
  args.src_row_bytes = form.axes[axes.rows.axes[0]].src_stride * word;
  args.dst_col_bytes = form.axes[axes.cols.axes[0]].dst_stride * word;
  args.rows = static_cast<std::int32_t>(axes.rows.total);
  args.cols = static_cast<std::int32_t>(axes.cols.total);
  const std::int64_t down = ceil_div(axes.rows.total, row.tile_rows);
  args.down = map::fast_divisor(static_cast<std::uint32_t>(down));
  made.blocks = static_cast<std::uint32_t>(down * ceil_div(axes.cols.total, row.tile_cols));
  made.shared_bytes = row.shared_bytes;
  made.reason = "one matrix that stays in L2, every address and extent a multiple of 16 bytes: the fewest instructions";
  // Each thread has one load and one store, so a block takes as long as a block of a copy.
  predict(known, on, row, {}, made);
  made.time -=
      (on.gpu->block_us - on.gpu->copy_block_us) /
      (on.gpu->launch_us + on.gpu->copy_block_us + 2 * static_cast<double>(known.bytes) / on.gpu->copy_bytes_per_us);
  return true;
}

}  // namespace

bool offers::small(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  if (known.axes() == nullptr || known.alignment != 16 || row.element_bytes != known.form.word_bytes) return false;
  if (row.shared_bytes > on.shared_bytes) return false;
  if (row.kind != kernels::row_kind::move) return false;
  return kernels::is_variant(row, "_many") ? offer_many(known, on, row, made) : offer_one(known, on, row, made);
}

std::string descriptions::small(const kernels::offer& made) {
  if (made.args_bytes == sizeof(many_small_args)) {
    const auto& args = made.as<many_small_args>();
    return "matrices   " + std::to_string(args.blocks.extent[1]) + " in a row, " + std::to_string(args.blocks.tile[1]) +
           " at a time\n" + describe_grid(args.blocks);
  }
  const auto& args = made.as<small_args>();
  return "matrix     " + std::to_string(args.rows) + " rows x " + std::to_string(args.cols) + " columns, " +
         std::to_string(args.down.divisor) + " tiles down a column of them\n";
}

}  // namespace cornerturn::gpu
