// Matrices of 3-byte elements whose extents and addresses are multiples of 4.
#include "kernels/gpu/pixel/args.hpp"
#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"

namespace cornerturn::gpu {

bool offers::pixel(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                   kernels::offer& made) noexcept {
  const map::canonical& form = known.form;
  if (form.word_bytes != 1 || known.alignment < 4) return false;
  const axis *rows = nullptr, *cols = nullptr, *bytes = nullptr;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (one.extent == 3 && one.src_stride == 1 && one.dst_stride == 1) {
      bytes = &one;
    } else if (one.src_stride == 3) {
      cols = &one;
    } else if (one.dst_stride == 3) {
      rows = &one;
    }
  }
  if (bytes == nullptr || rows == nullptr || cols == nullptr) return false;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (&one == bytes) continue;
    if (one.src_stride == 1 && one.dst_stride == 1) continue;
    if ((&one != cols && one.src_stride % 4 != 0) || (&one != rows && one.dst_stride % 4 != 0)) return false;
  }
  const auto suits = [](std::int64_t extent) { return extent % 4 == 0 && extent >= 32; };
  if (!suits(rows->extent) || !suits(cols->extent)) return false;

  auto& args = made.emplace<pixel_args>();
  args.src_row_bytes = rows->src_stride;
  args.dst_col_bytes = cols->dst_stride;
  args.blocks.extent[0] = cols->extent;
  args.blocks.extent[1] = rows->extent;
  args.blocks.tile[0] = row.tile_cols;
  args.blocks.tile[1] = row.tile_rows;
  grid_builder number(args.blocks, 1);
  const auto add = [&](const axis& one, int slot) {
    const std::int64_t tile = slot < 0 ? 1 : args.blocks.tile[slot];
    number.add(base::ceil_div(one.extent, tile), slot, 1, tile * one.src_stride, tile * one.dst_stride);
  };
  add(*rows, 1);
  add(*cols, 0);
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    if (&one != rows && &one != cols && one.src_stride != 1) add(one, -1);
  }
  if (!finish(made, number, row)) return false;
  made.reason = "3-byte elements, every address and extent a multiple of 4: 4 x 4 of them are transposed in registers";
  const double filled = fill(cols->extent, row.tile_cols) * fill(rows->extent, row.tile_rows);
  predict(known, on, row, {.issue = 1 / filled - 1}, made);
  return true;
}

std::string descriptions::pixel(const kernels::offer& made) { return describe_tile(made); }

}  // namespace cornerturn::gpu
