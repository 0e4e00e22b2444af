// Offers for a dst that fits the cache, and for small matrices end to end: register blocks are stored straight to dst.
#include "kernels/cpu/register_tile/args.hpp"

#include <algorithm>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/split.hpp"

namespace cornerturn::kernels::cpu::register_tile {
namespace {

// Rows and columns are one axis each. False if there are none for this row.
bool fill(args& work, const facts& known, const kernel& row) noexcept {
  const std::int64_t word = known.form.word_bytes;
  if (!has_rows_and_columns(known) || row.element_bytes != word) return false;
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

bool holds_a_small_block(const args& work) noexcept {
  return std::min(work.rows, work.cols) >= small_block_side(work.word_bytes);
}
bool holds_a_block(const args& work) noexcept {
  return work.rows >= block_rows(work.word_bytes) && work.cols >= block_cols(work.word_bytes);
}

// Matrices of at most this many bytes, end to end in dst, are complete in L1 before their lines are evicted. One thread,
// cpu_register_tile_b4 and the best other row: 42008 x 9 x 16 0.64 and 0.44, 9327 x 80 x 12 0.33 and 0.29, 9000 x 64 x 48
// 0.25 and 0.57 (Zen 4, 2026-11-24).
constexpr std::int64_t item_bytes = 4096;

// Overhead of a matrix of the items walk, in bytes that a copy would move, and the distance of its prefetches.
constexpr double item_start_bytes = 150;
constexpr std::int64_t items_ahead_bytes = 1024;

std::int64_t bytes_of(const args& work) noexcept { return work.rows * work.cols * work.word_bytes; }

bool is_small_item(const args& work) noexcept {
  return work.dst_pitch == work.rows * work.word_bytes && work.cols * work.dst_pitch <= item_bytes &&
         work.src_pitch > 0 && work.rows * work.src_pitch <= 2 * item_bytes;
}

// Bytes of a line of dst that are written before it is evicted.
double line_used(const args& work) noexcept {
  return static_cast<double>(std::min<std::int64_t>(64, work.rows * work.word_bytes));
}

// Of a small item of a batch that are transposed in the L1 before they are written. 8 to 300 float32 0.55 of a copy with 4, 8 and 16
// KiB, 0.43 with all of the item (Intel Xeon with 2 MiB of L2, one thread, 2026-11-22).
constexpr std::int64_t panel_bytes = 8 << 10;

// The bytes of the panels in which a matrix is transposed, the last one no narrower than a block.
std::int64_t panel_of(const args& work) noexcept {
  const std::int64_t block = block_cols(work.word_bytes);
  const std::int64_t cols = work.cols;
  const std::int64_t column = work.rows * work.word_bytes;
  const std::int64_t blocks = std::max({panel_bytes / column / block, 64 / work.word_bytes / block, std::int64_t{1}});
  std::int64_t panel = std::min(cols, blocks * block);
  while (panel < cols && (cols - 1) % panel + 1 < block) panel = std::min(cols, panel + block);
  return panel * column;
}

// More than a line of each of some columns. Bytes lose: 8 to 300 0.40, in panels 0.42; float32 0.65 and 0.55 (Intel Xeon
// with 2 MiB of L2, one thread, 2026-11-23).
bool takes_strips(const args& work) noexcept {
  return work.word_bytes > 1 && work.rows * work.word_bytes > 64 && work.cols >= line_tile_cols(work.word_bytes) &&
         work.cols <= item_strip_cols;
}

// In cache, in bytes that a copy would move meanwhile: a call, and each matrix. Beyond L1 a byte takes longer. Fitted to 413 random
// problems of 64 bytes to 1 MiB: the root mean square of the logarithms of errors is 0.14 to 0.23, without the three 0.16 to 0.50
// (Zen 4, 2026-11-30).
constexpr double call_bytes = 475, matrix_bytes = 230;
constexpr double in_l1 = 0.8, beyond_l1 = 0.45;
constexpr std::int64_t l1_bytes = 32 << 10;
constexpr double small_blocks = 1.3;  // of the time of large ones

double time_in_cache(const args& work, std::int64_t bytes, double time) noexcept {
  const auto matrices = work.outer.total > 1 ? static_cast<double>(work.outer.total) : 0;
  return in_l1 * time + (call_bytes + matrix_bytes * matrices) / static_cast<double>(bytes) +
         beyond_l1 * std::max(0.0, 1 - static_cast<double>(l1_bytes) / static_cast<double>(bytes));
}

// Words of all blocks over words of the matrix: blocks at the borders overlap their neighbours.
double filled_blocks(const args& work) noexcept {
  const bool large = holds_a_block(work);
  const std::int64_t down = large ? block_rows(work.word_bytes) : small_block_side(work.word_bytes);
  const std::int64_t across = large ? block_cols(work.word_bytes) : small_block_side(work.word_bytes);
  const std::int64_t words = base::ceil_div(work.rows, down) * down * base::ceil_div(work.cols, across) * across;
  return static_cast<double>(words) / static_cast<double>(work.rows * work.cols) * (large ? 1 : small_blocks);
}

void finish(offer& made, const args& work, const facts& known, const target& on, double time) noexcept {
  if (work.outer.total == 1 && holds_a_block(work))
    made.item = {.takes_strips = takes_strips(work), .panel_bytes = panel_of(work)};
  share_out(made, known, costs_of(on), work.outer.total);
  const bool fits = fits_cache(known, on);
  if (fits) {
    made.time = time_in_cache(work, known.bytes, time);
  } else if (is_small_item(work)) {
    made.time = time + 0.5 + static_cast<double>(bytes_of(work)) / 2500;
  } else {
    const cpu_times& times = costs_of(on).times;
    const double past_cache = times.past_cache + times.past_cache_bytes / static_cast<double>(work.word_bytes);
    made.time = time + past_cache * short_reads(known) * 64 / line_used(work);
  }
  made.binds = fits ? bound::issue : bound::requests;
}

}  // namespace

bool offer_blocks(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<args>();
  const bool fits = fits_cache(known, on);
  if (!fill(work, known, row) || (fits ? !holds_a_small_block(work) : !holds_a_block(work))) return false;
  // Rows of one element each: 16 bytes are loaded again for each copy. 300 x 100 take 34 us, by cpu_step_runs 18 (Emerald Rapids).
  const double loads = work.src_pitch == 0 && work.word_bytes == 16 ? 0.5 : 0;
  finish(made, work, known, on, costs_of(on).times.register_tile * (fits ? filled_blocks(work) : 1) + loads);
  made.reason = "register blocks are stored straight to dst: fast if dst fits the cache";
  return true;
}

bool offer_lines(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<args>();
  const std::int64_t word = known.form.word_bytes;
  if (!fill(work, known, row) || !holds_a_block(work) || work.rows < line_tile_rows(word) ||
      work.cols < line_tile_cols(word))
    return false;
  // Words of 4 and 8 bytes are slower when stores cross lines that are not in L1: 100 x 100 float32 takes 3.1 us with line
  // tiles and 2.3 us with blocks (SPR, 2026-11-22). Without stores of whole lines this row would run the blocks of the other one.
  const bool has_lines = stores_lines_from_registers(on.cpu->simd);
  const bool pays = costs_of(on).line_tiles && has_lines && (word <= 2 || work.dst_pitch % 64 == 0);
  finish(made, work, known, on, costs_of(on).times.register_tile * (pays ? 0.7 : has_lines ? 1.15 : 2.3));
  made.reason = "tiles that fill whole lines are stored straight to dst: fast if dst fits the cache";
  return true;
}

bool offer_items(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<items_args>();
  if (!fill(work, known, row) || !is_small_item(work) || work.outer.total < 2) return false;
  const cpu_costs& costs = costs_of(on);
  const std::int64_t bytes = bytes_of(work);
  work.src_end_bytes = map::src_span(known.form).hi;
  tile_outer_axes(work.outer, bytes, costs.tiled_outer_bytes);
  work.ahead = fits_cache(known, on) ? 0 : std::max<std::int64_t>(2, items_ahead_bytes / bytes);
  finish(made, work, known, on, costs.times.register_tile);
  const std::int64_t n = 16 / work.word_bytes;  // rows and columns of a block; those at the borders are part empty
  const std::int64_t in_blocks = base::ceil_div(work.rows, n) * base::ceil_div(work.cols, n) * n * n;
  const auto start = item_start_bytes / static_cast<double>(bytes);
  const auto filled = static_cast<double>(in_blocks * work.word_bytes) / static_cast<double>(bytes);
  // Words of one or two bytes take less time than others. 13 x 13 bytes take 2.4 times a copy, 16 x 24 bytes 1.7 times, 8 x 13
  // words of two bytes 1.8 times, 8 x 16 words of four bytes 3.1 times (Zen 4, 2026-11-25).
  made.time += work.word_bytes <= 2 ? 0.4 * start + 0.75 * filled - 0.57 : start + filled - 0.5;
  made.reason = "small matrices end to end in dst: each is transposed in registers and stored straight to dst";
  return true;
}

}  // namespace cornerturn::kernels::cpu::register_tile
