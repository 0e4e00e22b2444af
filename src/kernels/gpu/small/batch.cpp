// Batches of small matrices of one shape, whose addresses come from a table: each shape has a launch of its own. kernel.cuh has the
// kernel.
#include "kernels/batch.hpp"
#include "kernels/gpu/policy/grid_builder.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/small/args.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

constexpr double time_of_batch = 1.08;

std::int64_t matrices_of_block(const small_batch_args& args, int word) noexcept {
  return units_of_tile(word) >> (args.across_log2 + args.down_log2);
}

int shared_of_block(const small_batch_args& args, const kernels::kernel& row) noexcept {
  return row.shared_bytes +
         static_cast<int>(matrices_of_block(args, row.element_bytes) * std::int64_t{sizeof(item_addresses)});
}

}  // namespace

bool batch_offers::small(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                         kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  const transpose_axes* const axes = known.axes();
  const std::int64_t word = form.word_bytes;
  if (row.element_bytes != word || form.rank != 2 || axes == nullptr || known.alignment != 16) return false;
  if (!axes->aligned() || !on.words.async_copies || known.bytes >= kernels::most_item_bytes) return false;
  if (known.bytes * known.batch->items < small_batch_bytes) return false;
  auto& args = made.emplace<small_batch_args>();
  args.down_log2 = whole_side_log2(axes->rows.total, word);
  args.across_log2 = whole_side_log2(axes->cols.total, word);
  if (args.down_log2 < 0 || args.across_log2 < 0) return false;
  args.src_row_bytes = form.axes[axes->rows.axes[0]].src_stride * word;
  args.dst_col_bytes = form.axes[axes->cols.axes[0]].dst_stride * word;
  args.count = static_cast<std::uint32_t>(known.batch->items);
  made.blocks = static_cast<std::uint32_t>(ceil_div(known.batch->items, matrices_of_block(args, row.element_bytes)));
  made.shared_bytes = shared_of_block(args, row);
  if (made.shared_bytes > on.shared_bytes) return false;
  made.time = time_of_batch;
  made.reason = "many matrices of at most 128 bytes a side, every address a multiple of 16 bytes: several in a block";
  return true;
}

void lay_outs::small(std::span<const kernels::batch_shape* const> shapes, const kernels::target& /*on*/,
                     const kernels::kernel& row, kernels::batch_tables& made) {
  for (const kernels::batch_shape* const one : shapes) {
    kernels::batch_launch launch;
    launch.row = &row;
    launch.blocks = one->blocks;
    launch.shared_bytes = one->shared_bytes;
    launch.items = static_cast<std::int64_t>(one->items.size());
    launch.shapes = 1;
    auto& args = launch.emplace<small_batch_args>(1);
    args = one->as<small_batch_args>();
    args.items = made.append(one->items);
    made.launches.push_back(launch);
  }
}

}  // namespace cornerturn::gpu
