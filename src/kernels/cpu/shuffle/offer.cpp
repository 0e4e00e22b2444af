// Offers for small blocks of bytes that are permuted within themselves.
#include "kernels/cpu/shuffle/args.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::shuffle {
namespace {

// Elements of one column. 3 bytes, 2 to 6 rows: 0.28, 0.37, 0.48, 0.31, 0.45 of a copy by cpu_gather_packed; 0.83, 0.59, 0.67, 0.50,
// 0.54 by lines; 7 rows 0.48 and 0.43. 6 bytes, 3 rows 0.47 and 0.54; 5 rows 0.55 and 0.48 (Zen 4, 2026-11-25).
constexpr std::int64_t most_column_bytes = 20;
constexpr std::int64_t unit_bytes = 32 << 10;  // of a run of blocks
// Overheads of lines, in bytes that a copy would move: both ends of a run with a gap behind it, any other unit, and the selections
// of a phase. 17831 x 2 x 64 of 8 bytes with gaps behind the matrices takes 3.3 times a copy, units of 16 bytes 10 times (Zen 4,
// 2026-11-25).
constexpr double run_ends_bytes = 1600;
constexpr double unit_start_bytes = 140;
constexpr double phase_bytes = 4000;
// Of masks that each call makes, in bytes that a copy would move: an estimate from calls that took 1 to 2 us longer.
constexpr double make_masks_bytes = 20000;

// Of blocks in cache, in bytes that a copy would move meanwhile. Four blocks that are neighbours share their masks; a part of a block
// goes through a buffer. Fitted to the times of 747 random problems of 64 bytes to 1 MiB: the root mean square of the logarithms of
// errors is 0.07 (Zen 4, 2026-11-30).
double time_in_cache(const block_args& work, std::int64_t bytes) noexcept {
  const auto pairs = static_cast<double>(work.pairs),
             chunks = static_cast<double>(chunks_of(work.items * work.item_bytes));
  const std::int64_t run =
      work.outer.rank == 0 ? 1 : work.outer.axes[static_cast<std::size_t>(work.outer.rank - 1)].extent;
  const std::int64_t whole = work.last_items < work.items ? run - 1 : run, parts = run - whole;
  const double of_run = static_cast<double>(whole / 4) * (510 + 43 * pairs + 74 * chunks) +
                        static_cast<double>(whole % 4) * (76 + 18 * pairs + 46 * chunks) +
                        static_cast<double>(parts) * (850 + 30 * pairs);
  return (730 + of_run * static_cast<double>(work.outer.total / run)) / static_cast<double>(bytes);
}

// The last axis counts items that are neighbours in src and in dst, `items` of them in a unit. False: they are no neighbours.
bool cut_run(args& work, std::int64_t items) noexcept {
  if (work.outer.rank == 0) return false;
  axis& last = work.outer.axes[static_cast<std::size_t>(work.outer.rank - 1)];
  if (last.src_stride * work.word_bytes != work.src_item_bytes || last.dst_stride * work.word_bytes != work.item_bytes)
    return false;
  const std::int64_t run_words = last.extent * last.dst_stride;
  work.end_to_end =
      work.outer.rank == 1 || work.outer.axes[static_cast<std::size_t>(work.outer.rank - 2)].dst_stride == run_words;
  work.items = std::clamp<std::int64_t>(items, 1, last.extent);
  const std::int64_t blocks = base::ceil_div(last.extent, work.items);
  work.last_items = last.extent - (blocks - 1) * work.items;
  work.outer.total = work.outer.total / last.extent * blocks;
  last = {blocks, last.src_stride * work.items, last.dst_stride * work.items};
  return true;
}

// Several items make a block if they are neighbours in src and in dst: the more bytes, the less is lost at its end.
void join_items(args& work) noexcept {
  std::int64_t items = most_block / 2 / work.item_bytes;
  // Blocks of whole chunks have no last chunk that overlaps. The largest one is taken, if it has four chunks or more.
  for (std::int64_t few = 1; few < items; ++few) {
    if (few * work.item_bytes % chunk_bytes == 0 && few * work.item_bytes >= 4 * chunk_bytes) items = few;
  }
  cut_run(work, items);
}

// Lines begin at multiples of so many bytes of an item: all runs of dst do, and an item has whole steps.
std::int64_t phase_step(const args& work) noexcept {
  std::int64_t step = std::gcd(work.item_bytes, std::int64_t{64});
  for (int k = 0; k < work.outer.rank; ++k) {
    step = std::gcd(step, work.outer.axes[static_cast<std::size_t>(k)].dst_stride * work.word_bytes);
  }
  return step;
}

// Different phases of lines: policy/line_shuffle-inl.hpp.
std::int64_t phases_of(const args& work) noexcept { return work.item_bytes / phase_step(work); }

// Windows of the lines that begin at some phases: `samples` phases, evenly spaced.
struct windows_of_lines {
  std::int64_t all = 0, fewest = INT64_MAX, most = 0;

  windows_of_lines(const args& work, std::int64_t samples) noexcept {
    byte_map from;
    fill_map(work, from);
    const std::int64_t item = work.item_bytes, step = phase_step(work), phases = item / step;
    for (std::int64_t k = 0; k < samples; ++k) {
      std::int64_t low = INT64_MAX, high = 0, src_item = 0;
      std::int64_t byte = k * phases / samples * step;
      for (int of_line = 0; of_line < 64; ++of_line) {
        const std::int64_t src = src_item + from[static_cast<std::size_t>(byte)];
        low = std::min(low, src);
        high = std::max(high, src);
        if (++byte == item) byte = 0, src_item += item;
      }
      const std::int64_t here = (high - low) / 128 + 1;
      all += here;
      fewest = std::min(fewest, here);
      most = std::max(most, here);
    }
  }
};

// Windows of a line, the mean of a few phases. If many phases differ in them, branches are mispredicted: 13 x 13 bytes take 3.0
// times a copy, 24 x 8 bytes 1.9 times, both with about two windows (Zen 4, 2026-11-25). 0: there is no room for the windows of all
// phases, and most lines would make theirs anew: 29867 x 55 x 3 of 3 bytes would take 80 times a copy.
double windows_of(const args& work) noexcept {
  constexpr std::int64_t most_samples = 8;
  const std::int64_t phases = phases_of(work), samples = std::min(phases, most_samples);
  if (phases > most_windows) return 0;
  const windows_of_lines some(work, samples);
  const double mean = static_cast<double>(some.all) / static_cast<double>(samples);
  const bool surely_fits = static_cast<double>(phases) * mean * 4 <= most_windows;
  if (!surely_fits) {
    const windows_of_lines each(work, phases);
    if (each.all + each.most > most_windows) return 0;  // the lines at the begin of runs have a phase of their own
  }
  const bool unpredictable = phases > 2 * most_samples && some.fewest < some.most;
  return mean + (unpredictable ? 0.6 : 0);
}

// Time that runs add which are not read in the order of src. 128 x 3 x 14 x 16 x 14 x 16 of 4 bytes, axes 024351, reads 64 bytes of
// a row at a time, and takes 10 times a copy (Zen 4, 2026-11-25).
double far_reads(const args& work) noexcept {
  if (work.outer.rank < 2) return 0;
  const axis& last = work.outer.axes[static_cast<std::size_t>(work.outer.rank - 1)];
  const std::int64_t run = ((last.extent - 1) * work.items + work.last_items) * work.src_item_bytes;
  const std::int64_t next = work.outer.axes[static_cast<std::size_t>(work.outer.rank - 2)].src_stride * work.word_bytes;
  const std::int64_t behind = next - std::max(run, work.rows * work.row_pitch);  // from the end of these rows
  return behind >= 0 && behind < 256 ? 0 : std::min(450 / static_cast<double>(run), 8.0);
}

void finish_lines(offer& made, args& work, const facts& known, const target& on, double windows) noexcept {
  const cpu_costs& costs = costs_of(on);
  work.streaming = !fits_cache(known, on);
  work.src_end_bytes = map::src_span(known.form).hi;
  share_out(made, known, costs, work.outer.total);
  const auto run = static_cast<double>(work.items * work.item_bytes);
  made.time = costs.times.shuffle_lines + costs.times.shuffle_window * windows + far_reads(work) +
              (work.end_to_end || run < 64 ? unit_start_bytes : run_ends_bytes) / run +
              phase_bytes * static_cast<double>(phases_of(work)) / static_cast<double>(known.bytes);
  made.binds = work.streaming ? bound::dram : bound::issue;
  // Short runs with gaps behind them, as in has_short_gaps(): 2 x 88 of 6 bytes 0.18 of a copy, 0.45 with ordinary stores (Zen 4,
  // 2026-11-25).
  if (!work.end_to_end && run <= short_gaps_bytes) work.streaming = false;
}

}  // namespace

bool offer_blocks(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form)) return false;
  fused_axes inner, outer;
  if (!find_item(known, most_block, inner, outer)) return false;
  auto& work = made.emplace<block_args>();
  work.word_bytes = known.form.word_bytes;
  work.inner = inner;
  work.outer = outer;
  work.item_bytes = work.src_item_bytes = work.inner.total * work.word_bytes;
  join_items(work);
  const std::int64_t block = work.items * work.item_bytes;
  if (block < chunk_bytes) return false;
  const cpu_costs& costs = costs_of(on);
  work.streaming = !fits_cache(known, on);
  share_out(made, known, costs, work.outer.total);
  work.pairs = fill_masks(work, work.kept);
  const auto pairs = static_cast<double>(work.pairs);
  made.time = work.streaming
                  ? costs.times.shuffle + costs.times.shuffle_pair_bytes * pairs / static_cast<double>(block) +
                        costs.times.shuffle_block_bytes / static_cast<double>(block)
                  : time_in_cache(work, known.bytes);
  if (work.pairs > most_kept_pairs) made.time += make_masks_bytes / static_cast<double>(known.bytes);
  made.binds = work.streaming ? bound::dram : bound::issue;
  made.reason = "small blocks that are contiguous in src and in dst: byte shuffles put each chunk of dst together";
  return true;
}

bool offer_lines(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form) || !selects_bytes(on.cpu->simd)) return false;
  auto& work = made.emplace<args>();
  work.word_bytes = known.form.word_bytes;
  if (!find_item(known, most_item, work.inner, work.outer)) return false;
  work.item_bytes = work.src_item_bytes = work.inner.total * work.word_bytes;
  // A line of a larger item may take its bytes from 640 bytes of src: of one run, whose elements are so far apart.
  const axis& run = work.inner.axes[0];
  const bool near = run.extent * work.word_bytes >= 64 && run.src_stride <= 10;
  if (work.item_bytes > most_block && !near) return false;
  if (!cut_run(work, unit_bytes / work.item_bytes)) return false;
  const double windows = windows_of(work);
  if (windows == 0) return false;
  finish_lines(made, work, known, on, windows);
  made.reason =
      "runs of small blocks that are permuted within themselves: byte shuffles put whole lines of dst together";
  return true;
}

bool offer_rows(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || !selects_bytes(on.cpu->simd)) return false;
  auto& work = made.emplace<args>();
  work.word_bytes = known.form.word_bytes;
  const std::int64_t unit = element_words(known);
  if (unit == 0) return false;
  axis_pool left(known.form);
  fused_axes element, rows, cols;
  if (unit > 1) left.take(left.find(&axis::dst_stride, 1), element);
  const axis* const row = left.find(&axis::dst_stride, unit);
  if (row == nullptr || row->extent < 2 || row->extent > most_column_bytes || row->src_stride <= unit) return false;
  left.take(row, rows);
  const axis* const col = left.next(&axis::dst_stride, rows);
  if (col == nullptr || col->src_stride != unit) return false;
  left.take(col, cols);
  left.take_rest(work.outer);
  work.outer.push(cols.axes[0]);
  work.rows = rows.total;
  work.row_pitch = rows.axes[0].src_stride * work.word_bytes;
  work.src_item_bytes = unit * work.word_bytes;
  work.item_bytes = work.rows * work.src_item_bytes;
  // So a line takes at most 64 bytes of a row.
  if (work.item_bytes > most_column_bytes) return false;
  if (!cut_run(work, unit_bytes / work.item_bytes)) return false;
  finish_lines(made, work, known, on, static_cast<double>((work.rows + 1) / 2));
  made.reason = "few rows: byte shuffles put whole lines of dst together";
  return true;
}

}  // namespace cornerturn::kernels::cpu::shuffle
