// Offers for views: elements that are a step apart in src, in dst or in both.
#include <algorithm>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/cpu/step/args.hpp"
#include "kernels/cpu/step/table.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::step {
namespace {

using base::ceil_div;
using base::magnitude;

constexpr std::int64_t line = 64;
constexpr std::int64_t most_words_of_block = 8;      // elements, where no table is made
constexpr std::int64_t most_transposed_windows = 4;  // of a block of a matrix without gaps
constexpr std::int64_t most_words_apart = 4;         // of a block with gaps in dst, to be stored one by one
constexpr std::int64_t piece_src_bytes = 32 << 10;   // a piece stays in the L1, for the runs that read its lines again
constexpr std::int64_t long_run_bytes = 512;         // of dst: rows that are long enough
constexpr std::int64_t most_packed_bytes = 512;      // of a dst run that is put together with its neighbours
constexpr std::int64_t row_ahead_bytes = 1024;       // of a src row that is picked, if that is more than a block
constexpr std::int64_t piece_dst_bytes = 16 << 10;
constexpr std::int64_t most_row_bytes = 16 << 10;  // of src. The hardware follows longer rows
constexpr std::int64_t wide_steps_ahead = 64;
constexpr std::int64_t most_step_bytes = 1 << 30;  // of steps that are prefetched
constexpr std::int64_t least_gap_bytes = 256;      // between short rows, which ends the stream of the hardware
constexpr double far_word = 9;  // times of a word near by. 14 transposes of steps (Zen 4, 2026-11-29)
// Rows of src that are a page apart: 24 transposes of steps of 2 to 16 bytes take 1.9 to 3.1 times as long as with short rows
// (Emerald Rapids, 2026-11-29).
constexpr std::int64_t page_bytes = 4096;
constexpr double word_of_other_page = 27;
constexpr std::int64_t least_repeated_bytes = 1024;  // of a row that is copied from a pattern in memory

// The axes of a problem, fastest in dst first. Each of them leads upwards in dst.
struct view {
  fused_axes axes;
  std::int64_t word = 1;
  std::int64_t src_begin = 0, dst_begin = 0;  // bytes
  std::int64_t unit = 1;     // words of an element: of the innermost run that is contiguous on both sides
  std::int64_t element = 1;  // its bytes

  explicit view(const map::canonical& form) noexcept : word(form.word_bytes) {
    for (int k = form.rank - 1; k >= 0; --k) {
      axis one = form.axes[static_cast<std::size_t>(k)];
      if (one.dst_stride < 0) {
        src_begin += (one.extent - 1) * one.src_stride * word;
        dst_begin += (one.extent - 1) * one.dst_stride * word;
        one.src_stride = -one.src_stride;
        one.dst_stride = -one.dst_stride;
      }
      axes.push(one);
    }
    const axis& first = axes.axes[0];
    if (first.src_stride == 1 && first.dst_stride == 1) unit = first.extent;
    element = unit * word;
  }
  [[nodiscard]] int first() const noexcept { return unit > 1 ? 1 : 0; }  // the axis behind the element
  [[nodiscard]] const axis& at(int k) const noexcept { return axes.axes[static_cast<std::size_t>(k)]; }
  // The axis whose elements are nearest in src; -1: all elements of src are one.
  [[nodiscard]] int nearest_in_src() const noexcept {
    int best = -1;
    for (int k = first(); k < axes.rank; ++k) {
      if (at(k).src_stride == 0) continue;
      if (best < 0 || magnitude(at(k).src_stride) < magnitude(at(best).src_stride)) best = k;
    }
    return best;
  }
};

// Bytes of the runs that are contiguous in one array; all of it if there are no gaps behind them.
std::int64_t run_bytes(const map::canonical& form, std::int64_t axis::*stride) noexcept {
  return axis_pool(form).run_of(stride, INT64_MAX).total * form.word_bytes;
}

// True if elements are a step apart in src or in dst, or runs of less than a line have gaps behind them, or copies of an element are
// within a line of dst.
bool is_view(const facts& known) noexcept {
  const auto has_gaps = [&](std::int64_t axis::*stride) {
    const std::int64_t run = run_bytes(known.form, stride);
    return run < line && run < known.bytes;
  };
  const auto is_repeated = [&](const axis& one) {
    return one.src_stride == 0 && magnitude(one.dst_stride) * known.form.word_bytes < line;
  };
  const auto begin = known.form.axes.begin();
  return has_gaps(&axis::src_stride) || has_gaps(&axis::dst_stride) ||
         std::any_of(begin, begin + known.form.rank, is_repeated);
}

// Cuts `one` into blocks and makes their table.
void cut_blocks(cut_axis& cut, const axis& one, const facts& known, const target& on, block_table& blocks) noexcept {
  const std::int64_t word = known.form.word_bytes;
  cut_along(cut, one, word, picked_bytes(on.cpu->simd, word));
  cut.gap_ahead = costs_of(on).step_gap_ahead_bytes;
  fill(cut, blocks);
  const std::int64_t bytes = cut.inner.total * cut.word_bytes;
  // Few words of a line, each stored apart: 2 bytes at step 12 of dst take 0.71 of the time word by word (Zen 4, 2026-11-29).
  const bool is_apart = cut.inner.total == 1 && cut.dst_step > bytes;
  if (is_apart && cut.tile <= most_words_apart) cut.vector = 0;
  // Short rows of words in memory, stored apart: 9 views of 1 to 4 MiB take 0.77 of the time word by word, in the cache 1.3
  // (Zen 4, 2026-11-29).
  if (is_apart && word > 1 && one.extent * cut.dst_step < 256 && !fits_cache(known, on)) cut.vector = 0;
}

// Instructions that move a byte of dst, in times of a copy.
double moves(const cut_axis& cut, const block_table& blocks, const cpu_times& times) noexcept {
  if (cut.vector == 0) return times.step_word_bytes / static_cast<double>(cut.moved_bytes());
  // More than four windows load their masks for each block.
  const std::int64_t windows = blocks.windows <= 4 ? blocks.windows + 1 : 2 * blocks.windows;
  return times.step_window_bytes * static_cast<double>(windows) /
         static_cast<double>(cut.inner.total * cut.tile * cut.word_bytes);
}

}  // namespace

// A copy in cache is so many times as fast, so instructions count more.
double instructions_of(const facts& known, const target& on) noexcept { return fits_cache(known, on) ? 4 : 1; }

bool offer_runs(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form) || !is_view(known)) return false;
  const view all(known.form);
  if (all.element > line) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<runs_args>();
  work.src_begin = all.src_begin;
  work.dst_begin = all.dst_begin;
  // Whole axes, as long as they fit a vector; then the one that is cut.
  int cut = 0;
  for (std::int64_t span = all.word; cut < all.axes.rank - 1; ++cut) {
    span += (all.at(cut).extent - 1) * all.at(cut).dst_stride * all.word;
    if (span > line) break;
    work.inner.push(all.at(cut));
  }
  // A transpose loads each line of src for each of its elements. In the cache that costs little for wide elements, so the longest axis
  // is the loop: 526 x 27 of 8 bytes 0.23, 0.63 with it; 868 x 48 of 2 bytes 0.28, 0.11 (Intel Xeon, model 207, 2026-11-27).
  const bool transposes = all.nearest_in_src() > cut && magnitude(all.at(cut).src_stride) * all.word >= line;
  const std::int64_t wide = all.at(all.first()).dst_stride == all.unit ? 4 : 8;
  const bool in_cache = transposes && fits_cache(known, on) && all.unit == 1 && all.element >= wide;
  if (in_cache) {
    work.inner = {};
    if (all.unit > 1) work.inner.push(all.at(0));
    for (int k = cut = all.first(); k < all.axes.rank; ++k) {
      if (all.at(k).extent > all.at(cut).extent) cut = k;
    }
  }
  const axis& along = all.at(cut);
  cut_blocks(work, along, known, on, work.blocks);
  // Elements of many lines that are contiguous along another axis: register blocks of other families transpose them. 659344 x 19 of 2
  // bytes, both axes backwards, takes 0.5 of the time (Emerald Rapids, 2026-11-30).
  const int nearest = all.nearest_in_src();
  const bool is_matrix = nearest > cut && magnitude(all.at(nearest).src_stride) == 1 && work.inner.total == all.unit;
  if (is_matrix && work.blocks.windows > most_transposed_windows) return false;
  if (in_cache) work.vector = 0;
  work.whole = work.dst_step == work.inner.total * work.word_bytes;
  // The copies of an element fill lines of a vector register, or lines of memory, which short rows would wait for.
  const bool in_register = line % work.dst_step == 0 && picked_bytes(on.cpu->simd, 4) == line;
  work.repeats =
      work.src_step == 0 && work.whole && (in_register || along.extent * work.dst_step >= least_repeated_bytes);
  if (work.vector == 0 && !work.repeats && work.inner.total > most_words_of_block * all.unit)
    return false;  // a transpose, word by word
  const std::int64_t inner_bytes = work.inner.total * work.word_bytes;
  // Elements that are more than a line apart take a line of the L1 each.
  const std::int64_t longer = std::max(std::min(magnitude(work.src_step), line), work.dst_step);
  const std::int64_t most =
      std::max(std::min(piece_src_bytes / longer, piece_dst_bytes / work.dst_step), std::int64_t{1});
  work.piece = in_cache ? along.extent : std::min(along.extent, ceil_div(most, work.tile) * work.tile);
  work.pieces = ceil_div(along.extent, work.piece);
  work.last = along.extent - (work.pieces - 1) * work.piece;
  // Axes whose runs read the lines of a piece again come behind the pieces.
  fused_axes inside;
  for (int k = all.axes.rank - 1; k >= work.inner.rank; --k) {
    if (k == cut) continue;
    const axis& one = all.at(k);
    const std::int64_t span = magnitude(one.src_stride) * (one.extent - 1);
    const bool near = span > 0 && span < magnitude(along.src_stride) * work.piece;
    (near ? inside : work.outer).push(one);
  }
  work.outer.push({work.pieces, along.src_stride * work.piece, along.dst_stride * work.piece});
  for (int k = 0; k < inside.rank; ++k) work.outer.push(inside.axes[static_cast<std::size_t>(k)]);
  work.inside = inside.total;
  work.streaming = work.whole && !fits_cache(known, on);
  const std::int64_t span = std::max(magnitude(work.src_step) * work.piece, std::int64_t{1});
  // The hardware follows no row to the next one behind a gap, and no row backwards.
  const bool is_row = work.pieces == 1 && work.inside == 1 && work.outer.rank > 1 && span <= most_row_bytes;
  const auto before = static_cast<std::size_t>(std::max(work.outer.rank - 2, 0));  // behind it: the pieces
  const bool has_gap = is_row && magnitude(work.outer.axes[before].src_stride) * all.word >= span + least_gap_bytes;
  // Lines that hold one element each fill the cache sooner than dst does.
  const bool is_wide = magnitude(work.src_step) >= wide_step_bytes && magnitude(work.src_step) <= most_step_bytes;
  const bool reads_memory = is_wide && known.bytes / inner_bytes > cached_limit_bytes(*on.cpu) / line;
  if (!fits_cache(known, on) || reads_memory) {
    if (work.src_step == -inner_bytes || has_gap) {
      work.ahead = work.inside * ceil_div(costs.step_back_ahead_bytes, span);
    } else if (is_wide && work.vector == 0) {
      work.src_ahead = wide_steps_ahead * work.src_step;
    } else if (work.src_step != 0) {
      work.src_ahead = work.src_step < 0 ? -costs.step_ahead_bytes : costs.step_ahead_bytes;
    }
  }
  share_out(made, known, costs, work.outer.total);
  const double run = static_cast<double>(work.inner.total * along.extent * work.word_bytes);
  made.time = roof_of(known.form) * costs.times.step +
              ((work.repeats ? costs.times.step_window_bytes / line : moves(work, work.blocks, costs.times)) +
               costs.times.step_run_bytes / run) *
                  instructions_of(known, on);
  if (fits_cache(known, on)) made.time += start_bytes_in_cache / static_cast<double>(known.bytes);
  // Each word is in a line that another word has taken from the L1.
  if (transposes && !in_cache) {
    const double far = magnitude(along.src_stride) * all.word >= page_bytes ? word_of_other_page : far_word;
    made.time += far * costs.times.step_word_bytes / static_cast<double>(work.moved_bytes());
  }
  made.binds = work.streaming ? bound::dram : bound::issue;
  made.reason =
      "elements are a step apart: whole lines of src are loaded, and their elements are put together in registers";
  return true;
}

namespace {

// Rows and columns of a transpose of elements that are a step apart, in src or, with `gaps`, in dst.
bool split_view(const view& all, const facts& known, const target& on, bool gaps, transpose_args& work) noexcept {
  const int row = all.first(), col = all.nearest_in_src();
  if (all.element > line || row >= all.axes.rank || col <= row) return false;
  const axis &down = all.at(row), &across = all.at(col);
  const bool in_dst = down.dst_stride != all.unit, in_src = across.src_stride != all.unit;
  if ((in_dst && !gaps) || (!in_src && !in_dst)) return false;
  work.src_begin = all.src_begin;
  work.dst_begin = all.dst_begin;
  work.word_bytes = all.word;
  work.element_bytes = all.element;
  work.streaming = !fits_cache(known, on);
  work.src_end_bytes = map::src_span(known.form).hi;
  work.rows.push(down);
  work.cols.push(across);
  // Longer rows and columns: the axes that continue them.
  std::array<bool, map::max_axes> taken{};
  taken[static_cast<std::size_t>(row)] = taken[static_cast<std::size_t>(col)] = true;
  const auto lengthen = [&](fused_axes& one, std::int64_t axis::*stride, std::int64_t bytes) {
    for (int k = all.first(); k < all.axes.rank && one.total * all.element < bytes; ++k) {
      if (taken[static_cast<std::size_t>(k)] || all.at(k).*stride != one.axes[0].*stride * one.total) continue;
      taken[static_cast<std::size_t>(k)] = true;
      one.push(all.at(k));
      k = all.first() - 1;
    }
  };
  lengthen(work.rows, &axis::dst_stride, long_run_bytes);
  lengthen(work.cols, &axis::src_stride, INT64_MAX);
  for (int k = all.axes.rank - 1; k > row; --k) {
    if (!taken[static_cast<std::size_t>(k)]) work.outer.push(all.at(k));
  }
  work.row_chunk = work.rows.total;
  work.src_col_bytes = across.src_stride * all.word;
  if (in_src) {
    if (all.unit > 1) work.reads.inner.push({all.unit, 1, 1});
    cut_blocks(work.reads, {work.cols.total, across.src_stride, all.unit}, known, on, work.read_blocks);
  }
  return true;
}

// Columns without gaps that are read backwards: other families turn the order of dst instead. 359344 x 40 of 2 bytes takes 0.6 of the
// time (Emerald Rapids, 2026-11-30).
bool is_backwards(const transpose_args& work) noexcept { return work.src_col_bytes == -work.element_bytes; }

// Effect  sets all of an offer but its arguments. time: added to the pick of the elements
void finish(offer& made, const transpose_args& work, const facts& known, const cpu_costs& costs, double time) noexcept {
  const cpu_times& times = costs.times;
  share_out(made, known, costs, work.units());
  if (work.reads.dst_step != 0) time += moves(work.reads, work.read_blocks, times);
  made.time = roof_of(known.form) * times.step + time;
  if (!work.streaming)
    made.time += times.buffered_in_cache / 2 + elements_start_bytes / static_cast<double>(known.bytes);
  made.binds = bound::requests;
  made.reason =
      "a transpose of elements that are a step apart: rows are picked into L1, then transposed by register blocks";
}

}  // namespace

bool offer_strips(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form)) return false;
  const view all(known.form);
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<strips_args>();
  if (!split_view(all, known, on, false, work) || all.element > 16 || (all.element & (all.element - 1)) != 0)
    return false;
  if (work.rows.total < static_cast<std::int64_t>(rows_of_strip(static_cast<std::size_t>(all.element)))) return false;
  if (is_backwards(work)) return false;
  cut_strips(work, all.element, costs);
  // A block ahead, or a few lines of src.
  const std::int64_t block = strip_block_bytes / all.element, few = row_ahead_bytes / magnitude(work.src_col_bytes);
  work.prefetch_bytes = std::max(few / block, std::int64_t{1}) * strip_block_bytes;
  const double row_bytes = static_cast<double>(work.cols.total * all.element);
  finish(made, work, known, costs,
         costs.times.step_strips + (row_bytes < 128 ? 1 : 0) + 64 / row_bytes +
             64 / static_cast<double>(work.rows.total * all.element));
  return true;
}

bool offer_packed(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form)) return false;
  const view all(known.form);
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<packed_args>();
  if (!split_view(all, known, on, false, work)) return false;
  if (work.rows.total * all.element > most_packed_bytes || work.rows.total > packed_rows || !columns_end_to_end(work))
    return false;
  packed_blocking packed;
  static_cast<blocking&>(packed) = work;
  cut_packed(packed, costs);
  // Columns that are a step apart read more lines than they fill.
  const std::int64_t read = work.rows.total * std::min(magnitude(work.src_col_bytes), line);
  packed.panel = std::clamp(2 * costs.end_to_end_panel_bytes / read, std::int64_t{1}, packed.panel);
  if (work.reads.vector > 0)
    packed.panel = std::min(ceil_div(packed.panel, work.reads.tile) * work.reads.tile, work.cols.total);
  static_cast<blocking&>(work) = packed;
  work.outer = packed.outer;
  work.ahead_units = packed.ahead_units;
  finish(made, work, known, costs, costs.times.step_packed);
  return true;
}

bool offer_panels(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form)) return false;
  const view all(known.form);
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<panels_args>();
  if (!split_view(all, known, on, true, work)) return false;
  const axis& down = work.rows.axes[0];
  work.dst_row_bytes = down.dst_stride * all.word;
  const bool gaps = work.dst_row_bytes != all.element;
  if (!gaps && is_backwards(work)) return false;
  if (gaps) {
    if (all.unit > 1) work.writes.inner.push({all.unit, 1, 1});
    cut_blocks(work.writes, {work.rows.total, all.unit, down.dst_stride}, known, on, work.write_blocks);
  }
  cut_panels(work, costs);
  cut_rows(work, known, costs);
  finish(made, work, known, costs,
         costs.times.step_panels + (gaps ? moves(work.writes, work.write_blocks, costs.times) : 0) +
             96 / static_cast<double>(work.rows.total * all.element));
  // Runs of words in the cache are copied faster: 20000 of 16 bytes 0.18 of the speed of cpu_copy_runs.
  if (all.unit > 1 && (!work.streaming || all.element > 16)) made.time += 8;
  return true;
}

}  // namespace cornerturn::kernels::cpu::step
