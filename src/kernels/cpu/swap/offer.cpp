// In place: offers for permutations that swap pairs of elements.
#include <algorithm>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/cpu/swap/args.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::swap {
namespace {

// Of a row of a tile, so that tiles of long elements are not tiny. 10 squares of 24 and 32 bytes: 0.67 of a copy with at least
// 32, 0.75 with 40, 0.71 with 48, 0.67 with 64 (Zen 4, 2026-11-25).
constexpr std::int64_t least_tile_elements = 40;

bool fill(args& work, const facts& known) noexcept {
  if (known.in_place == nullptr || known.in_place->kind != map::in_place_kind::involution) return false;
  const map::in_place_form& places = *known.in_place;
  work.word_bytes = known.form.word_bytes;
  work.element_bytes = places.unit * work.word_bytes;
  for (int k = 0; k < places.pair_count; ++k) work.pairs.push(places.pairs[static_cast<std::size_t>(k)]);
  for (int k = 0; k < places.fixed_count; ++k) work.outer.push(places.fixed[static_cast<std::size_t>(k)]);
  return true;
}

// Effect  sets the side of the tiles: `panel` indices of the fastest digit. Returns the number of units
std::int64_t cut(args& work, std::int64_t panel) noexcept {
  const std::int64_t extent = work.pairs.axes[0].extent;
  const std::int64_t tiles = work.pairs.total / extent * base::ceil_div(extent, panel);
  work.panel = panel;
  return work.outer.total * (tiles * (tiles + 1) / 2);
}

// A square of less than 1 MiB stays in the L2 of one core: 136 to 1000 KiB took 1.7 times as long with two threads, whose tiles were
// smaller, too (2026-11-26).
int threads_of(const facts& known, const cpu_costs& costs) noexcept {
  constexpr std::int64_t least_bytes = 1 << 20;
  return known.bytes < least_bytes ? 1 : threads_for(known.bytes, known.threads, costs);
}

// Tiles of about equal sides, about `tile_bytes` of a row, and whole blocks. Smaller tiles balance the threads: units at the
// border have partial tiles, and units of the diagonal are half as large.
std::int64_t cut_blocks(args& work, std::int64_t tile_bytes, const facts& known, const cpu_costs& costs) noexcept {
  const std::int64_t side = swap_line_side(static_cast<std::size_t>(work.element_bytes));
  const std::int64_t wanted = std::max(tile_bytes / work.element_bytes, least_tile_elements);
  const std::int64_t most = std::max(wanted / side, std::int64_t{1}) * side;
  const std::int64_t extent = work.pairs.axes[0].extent;
  const std::int64_t even = base::ceil_div(extent, base::ceil_div(extent, most));
  std::int64_t units = cut(work, base::ceil_div(even, side) * side);
  const int threads = threads_of(known, costs);
  while (threads > 1 && units < 16 * threads && work.panel * work.element_bytes > 64) units = cut(work, work.panel / 2);
  return units;
}

void finish(offer& made, const facts& known, const cpu_costs& costs, std::int64_t units) noexcept {
  made.units = units;
  made.threads = static_cast<int>(std::min<std::int64_t>(threads_of(known, costs), units));
}

}  // namespace

bool offer_blocks(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<args>();
  if (!fill(work, known)) return false;
  if (known.in_place->unit != 1 || work.pairs.axes[0].dst_stride != 1 || row.element_bytes != work.word_bytes)
    return false;
  const cpu_costs& costs = costs_of(on);
  // Rows that are a multiple of 8 KiB apart share few sets of the L2, so tiles are small: 8192 x 8192 float32 reaches 0.40 to
  // 0.43 of a rewrite, and 0.33 to 0.36 with larger tiles (SPR, 2026-11-22). With AVX-512 words of 4 bytes are alike, and longer
  // ones lose: 1024 x 1024 of 16 bytes 0.32, 0.74 with larger tiles (Zen 4, 2026-11-25).
  const bool few_sets = work.pairs.axes[0].src_stride * work.element_bytes % 8192 == 0;
  work.by_blocks = true;
  work.through_buffers = few_sets && (work.element_bytes <= 4 || !stores_lines_from_registers(on.cpu->simd));
  const std::int64_t tile_bytes = work.through_buffers ? swap_buffered_bytes : costs.swap_bytes;
  finish(made, known, costs, cut_blocks(work, tile_bytes, known, costs));
  made.time = work.through_buffers ? 2.5 : 1.5;
  made.binds = work.through_buffers ? bound::requests : bound::dram;
  made.reason = "words are swapped in pairs, and columns are contiguous: blocks are transposed in registers";
  return true;
}

bool offer_elements(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  auto& work = made.emplace<args>();
  if (!fill(work, known)) return false;
  const cpu_costs& costs = costs_of(on);
  const std::int64_t e = work.element_bytes;
  const bool contiguous = work.pairs.axes[0].dst_stride * work.word_bytes == e;
  made.binds = bound::requests;
  if (contiguous && turns_in_registers(on.cpu->simd, e)) {
    work.by_blocks = true;
    finish(made, known, costs, cut_blocks(work, costs.swap_bytes, known, costs));
    made.time = 2;
    made.reason = "elements are swapped in pairs, and columns are contiguous: blocks are transposed in registers";
    return true;
  }
  // 3180 x 3180 of 3 bytes: 0.42 of a rewrite, one by one 0.13. Wider ones lose: 1453 x 1453 of 12 bytes 0.25, one by one 0.32
  // (Zen 3, 2026-11-25).
  work.through_buffers = contiguous && e <= 8;
  finish(made, known, costs, cut(work, swap_block(e)));
  made.time = 3 + 8.0 / static_cast<double>(e);
  made.reason = work.through_buffers ? "elements are swapped in pairs: mirrored tiles are transposed through buffers"
                                     : "elements are swapped in pairs, one by one";
  return true;
}

}  // namespace cornerturn::kernels::cpu::swap
