// A step of a rectangle in place: strips are transposed out of place, each over strips that were read before.
#include <algorithm>

#include "kernels/gpu/policy/costs.hpp"
#include "kernels/gpu/policy/offers.hpp"
#include "kernels/gpu/policy/tile_grid.hpp"
#include "kernels/gpu/strips/args.hpp"
#include "kernels/gpu/unaligned_tile/args.hpp"
#include "kernels/in_place_steps.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

// Strips up to this size have two bands, with a flag each, because their blocks wait for blocks of the strip before.
// 8192 x 16384 float32 in strips of 17 MB reaches 0.42 of a copy with one band, 0.44 with two. Strips of 26 to 96 MB
// lose up to 2 % with two (H200, 2026-11-22).
constexpr std::int64_t banded_strip_bytes = 24 << 20;

fused_axes one_axis(std::int64_t extent, std::int64_t stride_bytes) noexcept {
  fused_axes made;
  made.rank = 1;
  made.axes[0] = {map::fast_divisor(static_cast<std::uint32_t>(extent)), stride_bytes};
  return made;
}

// Describes rows and columns as fused axes, even single axes. False if they are too long, or the grid has bands of
// rows.
bool fuse_all(const kernels::facts& known, strips_args& args) noexcept {
  const transpose_axes& axes = *known.axes();
  if (axes.fused()) {
    args.rows = fuse(known.form, axes.rows, &axis::src_stride);
    args.cols = fuse(known.form, axes.cols, &axis::dst_stride);
    return true;
  }
  int cuts = 0;
  for (int k = 0; k < args.blocks.rank; ++k) cuts += args.blocks.axes[k].tiles[1] > 0 ? 1 : 0;
  if (cuts > 1 || std::max(args.blocks.extent[0], args.blocks.extent[1]) > INT32_MAX / 2) return false;
  args.rows = one_axis(args.blocks.extent[1], args.src_row_bytes);
  args.cols = one_axis(args.blocks.extent[0], args.dst_col_bytes);
  for (int k = 0; k < args.blocks.rank; ++k) {
    grid_axis& one = args.blocks.axes[k];
    if (one.tiles[1] > 0) one.src_step_bytes = 0;
    if (one.tiles[0] > 0) one.dst_step_bytes = 0;
  }
  return true;
}

// Makes the blocks walk down the columns of tiles of one band, then of the next. False if the grid has other axes.
bool cut_bands(strips_args& args, std::int64_t strip_bytes) noexcept {
  grid_axis cols, rows;
  for (int k = 0; k + 1 < args.blocks.rank; ++k) {
    const grid_axis& one = args.blocks.axes[k];
    grid_axis& its = one.tiles[0] > 0 ? cols : rows;
    if (its.tiles[0] + its.tiles[1] > 0 || one.tiles[0] + one.tiles[1] != 1) return false;
    its = one;
  }
  const grid_axis strips = args.blocks.axes[args.blocks.rank - 1];
  const std::uint32_t tiles = rows.count.divisor;
  const auto band =
      static_cast<std::uint32_t>(ceil_div(tiles, strip_bytes <= banded_strip_bytes ? kernels::most_bands : 1));
  grid_axis bands = rows;
  bands.count = map::fast_divisor((tiles + band - 1) / band);
  bands.tiles[1] *= band;
  bands.src_step_bytes *= band;
  bands.dst_step_bytes *= band;
  rows.count = map::fast_divisor(band);
  args.blocks.rank = 4;
  args.blocks.axes[0] = rows, args.blocks.axes[1] = cols, args.blocks.axes[2] = bands, args.blocks.axes[3] = strips;
  args.bands = bands.count;
  args.band_blocks = map::fast_divisor(band * cols.count.divisor);
  args.band_rows = static_cast<double>(band) * args.blocks.tile[1];
  return true;
}

// Sets the position to which each column of a strip is written. Gaps in a strip make it inexact: by at most the bytes
// from the end of a strip to the next one.
void locate_dst(strips_args& args, const kernels::strip_steps& steps) noexcept {
  const auto of_strip = [&](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(steps.src_step_bytes);
  };
  args.dst_begin = of_strip(steps.dst_begin_bytes);
  args.dst_strip_step = of_strip(steps.dst_step_bytes);
  args.dst_column_step = of_strip(steps.dst_step_bytes) / static_cast<double>(args.blocks.extent[0]);
  args.dst_margin =
      of_strip(steps.src_step_bytes - steps.src_span_bytes + steps.dst_step_bytes - steps.dst_span_bytes) + 1e-9;
}

}  // namespace

bool offers::strips(const kernels::facts& known, const kernels::target& on, const kernels::kernel& row,
                    kernels::offer& made) noexcept {
  const kernels::strip_steps* const steps = known.strips;
  const transpose_axes* const axes = known.axes();
  if (steps == nullptr || axes == nullptr || row.element_bytes != known.form.word_bytes) return false;
  const bool unaligned = kernels::is_variant(row, "_unaligned");
  if (!unaligned && (known.alignment != 16 || !axes->aligned())) return false;
  if (row.shared_bytes > on.shared_bytes || !on.words.block_flags) return false;
  if (unaligned && !on.words.async_copies) return false;
  const double filled = fill(axes->cols.total, row.tile_cols) * fill(axes->rows.total, row.tile_rows);
  if (filled < (unaligned ? kernels::least_filled : 0.45)) return false;

  auto& args = made.emplace<strips_args>();
  if (!number_tiles(known, row, args, made)) return false;
  if (args.blocks.rank == 0) return false;
  const grid_axis& slowest = args.blocks.axes[args.blocks.rank - 1];
  if (slowest.count.divisor != steps->count || slowest.tiles[0] + slowest.tiles[1] != 0 ||
      slowest.src_step_bytes != steps->src_step_bytes || slowest.dst_step_bytes != steps->dst_step_bytes) {
    return false;
  }
  if (!fuse_all(known, args) || !cut_bands(args, steps->src_step_bytes)) return false;
  made.blocks = static_cast<std::uint32_t>(steps->count) * args.bands.divisor * args.band_blocks.divisor;
  made.flag_bytes = 4 * steps->count * args.bands.divisor;
  args.last = made.blocks - 1;
  args.backwards = steps->backwards ? 1 : 0;
  locate_dst(args, *steps);
  if (unaligned) {
    args.halo = unaligned_halo_bytes / static_cast<double>(args.blocks.extent[1] * known.form.word_bytes);
  }
  made.reason = "strips are transposed out of place, each over the strips that were read before, in one launch";
  // Each block raises a flag and waits for one, so small tiles lose: 8192 x 16384 float64 in tiles of 16 x 16 reaches
  // 0.24 of a copy (H200, 2026-11-22).
  const bool small = !unaligned && row.tile_rows * row.element_bytes <= 128;
  made.time = 1 / ((unaligned ? 0.60 : small ? 0.45 : 0.70) * filled);
  made.binds = kernels::bound::requests;
  return true;
}

std::string descriptions::strips(const kernels::offer& made) {
  const auto& args = made.as<strips_args>();
  return "strips     " + std::to_string(args.blocks.axes[3].count.divisor) + " in " +
         std::to_string(args.bands.divisor) + (args.bands.divisor == 1 ? " band each\n" : " bands each\n");
}

}  // namespace cornerturn::gpu
