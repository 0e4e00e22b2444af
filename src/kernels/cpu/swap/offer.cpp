// In place: offers for permutations that swap pairs of elements.
#include <algorithm>

#include "kernels/cpu/split.hpp"
#include "kernels/cpu/swap/args.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::swap {
namespace {

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

void finish(offer& made, const facts& known, const cpu_costs& costs, std::int64_t units) noexcept {
  made.units = units;
  const int threads = threads_for(2 * known.bytes, known.threads, costs);
  made.threads = static_cast<int>(std::min<std::int64_t>(threads, units));
}

}  // namespace

bool offer_blocks(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<args>();
  if (!fill(work, known)) return false;
  if (known.in_place->unit != 1 || work.pairs.axes[0].dst_stride != 1 || row.element_bytes != work.word_bytes)
    return false;
  const cpu_costs& costs = costs_of(*on.cpu);
  // Rows that are a multiple of 8 KiB apart share few sets of the L2, so tiles are small: 8192 x 8192 float32 reaches 0.40 to
  // 0.43 of a rewrite, and 0.33 to 0.36 with larger tiles (SPR, 2026-11-22).
  const bool few_sets = work.pairs.axes[0].src_stride * work.element_bytes % 8192 == 0;
  const std::int64_t tile_bytes = few_sets ? swap_buffered_bytes : costs.swap_bytes;
  std::int64_t units = cut(work, tile_bytes / work.element_bytes);
  // Smaller tiles balance the threads: units at the border have partial tiles, and units of the diagonal are half as large.
  const int threads = threads_for(2 * known.bytes, known.threads, costs);
  while (threads > 1 && units < 16 * threads && work.panel * work.element_bytes > 64) units = cut(work, work.panel / 2);
  finish(made, known, costs, units);
  made.time = few_sets ? 2.5 : 1.5;
  made.binds = few_sets ? bound::requests : bound::dram;
  made.reason = "words are swapped in pairs, and columns are contiguous: blocks are transposed in registers";
  return true;
}

bool offer_elements(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  auto& work = made.emplace<args>();
  if (!fill(work, known)) return false;
  const std::int64_t units = cut(work, swap_block(work.element_bytes));
  finish(made, known, costs_of(*on.cpu), units);
  made.time = 3 + 8.0 / static_cast<double>(work.element_bytes);
  made.binds = bound::requests;
  made.reason = turns_elements(work) ? "elements are swapped in pairs: mirrored tiles are transposed through buffers"
                                     : "elements are swapped in pairs, one by one";
  return true;
}

}  // namespace cornerturn::kernels::cpu::swap
