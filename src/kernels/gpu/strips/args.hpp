#pragma once

#include <cmath>

#include "kernels/gpu/policy/tile_args.hpp"

namespace cornerturn::gpu {

inline constexpr std::int64_t most_bands = 2;  // of a strip

// The strips of one step, in the order in which they are written: each `src_step_bytes` behind the one before in src, and
// `dst_step_bytes` in dst. Of a form whose outermost axis counts the strips.
struct strips_steps {
  std::int64_t count = 0;
  std::int64_t src_step_bytes = 0;
  std::int64_t dst_step_bytes = 0;
  std::int64_t room_bytes = 0;      // from the first strip in src to the first in dst
  std::int64_t src_span_bytes = 0;  // of one strip
  std::int64_t dst_span_bytes = 0;
  bool backwards = false;  // the last strip is written first
};

// gpu/strips.cuh: strips that are reversed one after another, the slowest axis of the grid. A strip is written to where
// others lay whose blocks come before its own. Bands of its rows of tiles have a flag each, which says how many of their
// blocks have read. Strips, bands and flags are numbered as they lie in src.
struct strips_args : fused_tile_args {
  map::fast_divisor band_blocks;
  map::fast_divisor bands;     // of a strip
  double band_rows = 1;        // of src
  std::uint32_t last = 0;      // blocks - 1
  std::int32_t backwards = 0;  // block 0 is the last one of the grid
  // Column c of strip s is written at room + s * room_strip + c * room_column, in strips of src, give or take
  // room_margin.
  double room = 0;
  double room_strip = 0;
  double room_column = 0;
  double room_margin = 0;
  double halo = 0;  // rows that the tiles below them read too, in strips
};

struct flag_range {
  std::int64_t first = 0;
  std::int64_t last = -1;
};

// The flag of a place in src, in strips.
CORNERTURN_HOST_DEVICE inline std::int64_t flag_at(const strips_args& args, double place) {
  const double strip = std::floor(place);
  const auto band =
      static_cast<std::int64_t>((place - strip) * static_cast<double>(args.blocks.extent[1]) / args.band_rows);
  return static_cast<std::int64_t>(strip) * args.bands.divisor + band;
}

// Those of what lies where columns [begin, end) of the strip are written, of strips that come before it.
CORNERTURN_HOST_DEVICE inline flag_range flags_before(const strips_args& args, std::uint32_t strip, std::int64_t begin,
                                                      std::int64_t end) {
  const double room = args.room + strip * args.room_strip;
  const std::int64_t bands = args.bands.divisor;
  flag_range found = {flag_at(args, room + static_cast<double>(begin) * args.room_column - args.room_margin),
                      flag_at(args, room + static_cast<double>(end) * args.room_column + args.room_margin + args.halo)};
  const std::int64_t first = args.backwards != 0 ? (strip + 1) * bands : 0;
  const std::int64_t past =
      args.backwards != 0 ? (std::int64_t{args.last} + 1) / args.band_blocks.divisor : strip * bands;
  if (found.first < first) found.first = first;
  if (found.last >= past) found.last = past - 1;
  return found;
}

}  // namespace cornerturn::gpu
