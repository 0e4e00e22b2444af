#pragma once

#include <cmath>

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

// Strips are transposed one after another: they are the slowest axis of the grid. A strip is written over strips whose
// blocks come before its own. A band is a range of a strip's rows of tiles. Its flag counts the blocks that have read
// their tiles. Strips, bands and flags are numbered by their addresses in src.
struct strips_args : fused_tile_args {
  map::fast_divisor band_blocks;
  map::fast_divisor bands;     // of a strip
  double band_rows = 1;        // of src
  std::uint32_t last = 0;      // blocks - 1
  std::int32_t backwards = 0;  // block 0 is the last one of the grid
  // Column c of strip s is written at dst_begin + s * dst_strip_step + c * dst_column_step, plus or minus dst_margin.
  // The unit is a strip of src.
  double dst_begin = 0;
  double dst_strip_step = 0;
  double dst_column_step = 0;
  double dst_margin = 0;
  double halo = 0;  // in strips: the rows that two tiles read
};

struct flag_range {
  std::int64_t first = 0;
  std::int64_t last = -1;
};

// The flag of a position in src. The unit of `position` is a strip.
CORNERTURN_HOST_DEVICE inline std::int64_t flag_at(const strips_args& args, double position) {
  const double strip = std::floor(position);
  const auto band =
      static_cast<std::int64_t>((position - strip) * static_cast<double>(args.blocks.extent[1]) / args.band_rows);
  return static_cast<std::int64_t>(strip) * args.bands.divisor + band;
}

// Flags of the strips whose source these columns overwrite.
CORNERTURN_HOST_DEVICE inline flag_range flags_before(const strips_args& args, std::uint32_t strip, std::int64_t begin,
                                                      std::int64_t end) {
  const double dst_begin = args.dst_begin + strip * args.dst_strip_step;
  const std::int64_t bands = args.bands.divisor;
  flag_range found = {
      flag_at(args, dst_begin + static_cast<double>(begin) * args.dst_column_step - args.dst_margin),
      flag_at(args, dst_begin + static_cast<double>(end) * args.dst_column_step + args.dst_margin + args.halo)};
  const std::int64_t first = args.backwards != 0 ? (strip + 1) * bands : 0;
  const std::int64_t past =
      args.backwards != 0 ? (std::int64_t{args.last} + 1) / args.band_blocks.divisor : strip * bands;
  if (found.first < first) found.first = first;
  if (found.last >= past) found.last = past - 1;
  return found;
}

}  // namespace cornerturn::gpu
