#include "plan/cutting.hpp"

#include <algorithm>

namespace cornerturn::planning {
namespace {

using base::ceil_div;

// Blocks wait for each other at the end of each strip, for the time of a copy of so many bytes: 0.7 us (H200,
// 2026-11-22).
constexpr double wait_bytes = 1.4e6;
// A strip that cannot share a launch with others is a launch of its own: 5 to 20 us (H100, 2026-11-26).
constexpr double launch_bytes = 2e7;

std::int64_t round_up(std::int64_t bytes) noexcept {
  return ceil_div(bytes, workspace_alignment) * workspace_alignment;
}

double share(std::int64_t part, std::int64_t all) noexcept {
  return static_cast<double>(part) / static_cast<double>(all);
}

// Passes for the columns over and the rest rows, which are copied to the workspace and back.
double workspace_passes(const cutting& cut) noexcept {
  return 4 * (share(cut.rest, cut.pieces * cut.length + cut.rest) + share(cut.over, cut.kept + cut.over));
}

}  // namespace

double passes_of_gpu(const cutting& cut, std::int64_t element) noexcept {
  const std::int64_t side = cut.pieces * cut.length + cut.rest, other = cut.kept + cut.over;
  const std::int64_t item = cut.length * element;
  const int aligned = alignment_of(item | side * element, 128);
  const double transposed = aligned >= 16 ? 1.1 : 1.2;  // the time of the out-of-place kernels
  // Items of 2 to 4 KiB, copied in random order, reach these shares of a copy: 0.93 as whole cache lines, 0.87 as whole
  // sectors, 0.83 as chunks of 16 bytes. A sector that two items share is written twice (H200, 2026-11-22).
  const double more_bytes = 100 + (aligned == 128 ? 0 : aligned >= 32 ? 200 : aligned >= 4 ? 350 : 700);
  const double followed = 1.1 + more_bytes / static_cast<double>(item);
  const double bytes = static_cast<double>(side) * static_cast<double>(other) * static_cast<double>(element);
  const std::int64_t tile = element < 8 ? 128 : 64;
  const auto filled = [&](std::int64_t extent) { return share(extent, ceil_div(extent, tile) * tile); };
  const bool together =
      element <= 8 && (element & (element - 1)) == 0 && filled(cut.length) * filled(other) >= kernels::least_filled;
  return transposed + followed + workspace_passes(cut) + 0.5 / static_cast<double>(cut.pieces) +
         static_cast<double>(cut.pieces) * (together ? wait_bytes : launch_bytes) / bytes;
}

// Cycles take 1.3 times as long as rewriting the array for items of 2 KB, and 1.6 to 1.9 times for items of 800 bytes
// (Intel Xeon, model 143, one thread, 2026-11-22).
double passes_of_cpu(const cutting& cut, std::int64_t element) noexcept {
  constexpr double more_bytes = 450;
  constexpr double strip = 0.005;  // tasks wait for each other at the end of each
  return 2.2 + more_bytes / static_cast<double>(cut.length * element) + workspace_passes(cut) +
         strip * static_cast<double>(cut.pieces);
}

int alignment_of(std::int64_t bits, int most) noexcept {
  return static_cast<int>(std::min<std::int64_t>(bits == 0 ? most : bits & -bits, most));
}

workspace_offsets workspace_of(const cutting& cut, std::int64_t element) noexcept {
  const std::int64_t side = cut.pieces * cut.length + cut.rest;
  workspace_offsets made;
  made.over_at = round_up(4 * kernels::most_bands * cut.pieces);
  made.rest_at = made.over_at + round_up(cut.over * side * element);
  made.strip_at = made.rest_at + round_up(cut.rest * cut.kept * element);
  const std::int64_t item = cut.length * element;
  made.flags_at = made.strip_at + round_up(cut.kept * item);
  made.bytes = made.flags_at + 4 * kernels::flag_words(cut.kept * cut.pieces * parts_of(item));
  return made;
}

cutting cut_side(bool by_rows, std::int64_t side, std::int64_t other, std::int64_t element, std::int64_t most_bytes,
                 const cutting_terms& terms) noexcept {
  cutting best;
  const std::int64_t chunk = 16 / std::min<std::int64_t>(element & -element, 16);
  for (std::int64_t pieces = terms.fewest_pieces; pieces <= std::min(most_pieces, side); ++pieces) {
    const std::int64_t longest = side / pieces;
    for (const std::int64_t length : {longest, longest / chunk * chunk, longest / (8 * chunk) * 8 * chunk}) {
      if (length == 0) continue;
      cutting made{.by_rows = by_rows, .pieces = pieces, .length = length, .rest = side - pieces * length};
      // A strip's items fill whole rows of slots, or a row of slots holds whole strips. Without a rest, all rows are
      // one.
      const bool fits = made.rest == 0 || pieces % other == 0;
      made.over = fits ? 0 : other % pieces;
      made.kept = other - made.over;
      if (made.kept == 0 || made.kept >= terms.most_parts / pieces / parts_of(length * element)) continue;
      made.workspace = workspace_of(made, element).bytes;
      made.cost = terms.passes(made, element);
      if (made.workspace <= most_bytes && made.cost < best.cost) best = made;
    }
  }
  return best;
}

}  // namespace cornerturn::planning
