// Offers for a dst that fits the cache: register blocks are stored straight to it.
#include "kernels/cpu/register_tile/args.hpp"

#include <algorithm>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/split.hpp"

namespace cornerturn::kernels::cpu::register_tile {
namespace {

// Rows and columns are one axis each. False if they do not hold a block.
bool fill(args& work, const facts& known, const kernel& row) noexcept {
  const std::int64_t word = known.form.word_bytes;
  if (!has_rows_and_columns(known) || row.element_bytes != word) return false;
  if (known.dst_unit()->extent < block_rows(word) || known.src_unit()->extent < block_cols(word)) return false;
  axis_pool left(known.form);
  fused_axes rows, cols;
  left.take(left.find(&axis::dst_stride, 1), rows);
  left.take(left.find(&axis::src_stride, 1), cols);
  left.take_rest(work.outer);
  work.word_bytes = word;
  work.rows = rows.total;
  work.cols = cols.total;
  work.src_pitch = rows.axes[0].src_stride * word;
  work.dst_pitch = cols.axes[0].dst_stride * word;
  return true;
}

// Bytes of a line of dst that are written before it is evicted.
double line_used(const args& work) noexcept {
  return static_cast<double>(std::min<std::int64_t>(64, work.rows * work.word_bytes));
}

// If dst does not fit the cache, each line of dst is fetched before it is written, and again after its eviction.
constexpr double past_the_cache = 5;

void finish(offer& made, const args& work, const facts& known, const target& on, double time) noexcept {
  share_out(made, known, costs_of(*on.cpu), work.outer.total);
  const bool fits = fits_cache(known, on);
  made.time = time + (fits ? 0 : past_the_cache * short_reads(known) * 64 / line_used(work));
  made.binds = fits ? bound::issue : bound::requests;
}

}  // namespace

bool offer_blocks(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<args>();
  if (!fill(work, known, row)) return false;
  finish(made, work, known, on, costs_of(*on.cpu).times.register_tile);
  made.reason = "dst fits the cache: register blocks are stored straight to dst";
  return true;
}

bool offer_lines(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<args>();
  const std::int64_t word = known.form.word_bytes;
  if (!fill(work, known, row) || work.rows < line_tile_rows(word) || work.cols < line_tile_cols(word)) return false;
  // Words of 4 and 8 bytes are slower when stores cross lines that are not in L1: 100 x 100 float32 takes 3.1 us with line
  // tiles and 2.3 us with blocks (SPR, 2026-11-22).
  const bool pays =
      costs_of(*on.cpu).line_tiles && stores_lines_from_registers() && (word <= 2 || work.dst_pitch % 64 == 0);
  finish(made, work, known, on, costs_of(*on.cpu).times.register_tile * (pays ? 0.7 : 1.15));
  made.reason = "dst fits the cache: tiles that fill whole lines are stored straight to dst";
  return true;
}

}  // namespace cornerturn::kernels::cpu::register_tile
