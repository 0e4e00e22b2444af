#include "kernels/cpu/split.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu {

using base::ceil_div;
using base::magnitude;

axis_pool::axis_pool(const map::canonical& form) noexcept : count_(form.rank) {
  std::copy_n(form.axes.begin(), form.rank, left_.begin());
}

const axis* axis_pool::smallest(std::int64_t axis::*stride) const noexcept {
  return std::min_element(left_.data(), left_.data() + count_, [stride](const axis& a, const axis& b) {
    return magnitude(a.*stride) < magnitude(b.*stride);
  });
}

const axis* axis_pool::next(std::int64_t axis::*stride, const fused_axes& fused) const noexcept {
  const axis& last = fused.axes[static_cast<std::size_t>(fused.rank - 1)];
  std::int64_t continued = 0;
  return base::checked_mul(last.*stride, last.extent, continued) ? find(stride, continued) : nullptr;
}

fused_axes axis_pool::run_of(std::int64_t axis::*stride, std::int64_t words) const noexcept {
  fused_axes run;
  for (const axis* one = find(stride, 1); one != nullptr; one = run.total < words ? next(stride, run) : nullptr) {
    run.push(*one);
  }
  return run;
}

void axis_pool::take(const axis* one, fused_axes& into) noexcept {
  into.push(*one);
  std::copy(one + 1, static_cast<const axis*>(left_.data()) + count_, left_.data() + (one - left_.data()));
  --count_;
}

void axis_pool::take_rest(fused_axes& into) noexcept {
  for (int k = 0; k < count_; ++k) into.push(left_[static_cast<std::size_t>(k)]);
  count_ = 0;
}

namespace {

// True if the axes are contiguous in src, in any order.
bool contiguous_in_src(const fused_axes& axes) noexcept {
  std::int64_t words = 1;
  for (int found = 0; found < axes.rank; ++found) {
    const auto* const end = axes.axes.data() + axes.rank;
    const auto* const next = std::find_if(axes.axes.data(), end, [&](const axis& a) { return a.src_stride == words; });
    if (next == end) return false;
    words *= next->extent;
  }
  return true;
}

}  // namespace

bool find_item(const facts& known, std::int64_t most, fused_axes& inner, fused_axes& outer) noexcept {
  axis_pool left(known.form);
  const axis* next = left.find(&axis::dst_stride, 1);
  while (next != nullptr) {
    if (next->extent > most / known.form.word_bytes / inner.total) return false;
    left.take(next, inner);
    if (inner.rank > 1 && contiguous_in_src(inner)) {
      left.take_rest(outer);
      return true;
    }
    next = left.next(&axis::dst_stride, inner);
  }
  return false;
}

bool has_rows_and_columns(const facts& known) noexcept {
  return !known.form.empty && known.src_unit() != nullptr && known.dst_unit() != nullptr &&
         known.dst_unit()->src_stride != 1;
}

std::int64_t element_words(const facts& known) noexcept {
  if (known.form.empty || is_one_run(known.form) || known.dst_unit() == nullptr) return 0;
  const std::int64_t unit = known.dst_unit()->src_stride == 1 ? known.dst_unit()->extent : 1;
  return axis_pool(known.form).find(&axis::dst_stride, unit) != nullptr ? unit : 0;
}

namespace {

// True when a src row that begins with `column` needs the axis `one` to become `words` long.
bool lengthens(const axis_pool& left, const axis& column, const axis& one, std::int64_t words) noexcept {
  fused_axes row;
  row.push(column);
  for (std::int64_t have = column.extent; have < words;) {
    const axis* following = left.next(&axis::src_stride, row);
    if (following == nullptr) return false;
    if (*following == one) return true;
    have *= following->extent;
    row.axes[0] = *following;
  }
  return false;
}

bool continues(const axis_pool& left, const fused_axes& cols, bool in_dst_too) noexcept {
  const axis* one = left.next(&axis::src_stride, cols);
  return one != nullptr && (!in_dst_too || one == left.next(&axis::dst_stride, cols));
}

}  // namespace

void split(blocking& work, const facts& known, const target& on, std::int64_t unit, bool fuses) noexcept {
  const cpu_costs& costs = costs_of(on);
  work.word_bytes = known.form.word_bytes;
  work.element_bytes = unit * work.word_bytes;
  work.src_end_bytes = map::src_span(known.form).hi;
  work.streaming = !fits_cache(known, on);
  axis_pool left(known.form);
  if (unit > 1) {
    fused_axes run;
    left.take(left.find(&axis::dst_stride, 1), run);
  }
  const axis* src_unit = left.find(&axis::src_stride, unit);
  const axis* dst_unit = left.find(&axis::dst_stride, unit);
  // An axis that has unit stride in src and in dst becomes a row axis, because dst is written in whole lines.
  const axis column = src_unit != nullptr && src_unit != dst_unit ? *src_unit : axis{};
  // If src would be read in pieces of less than 16 bytes, shorter dst runs are long enough. 184 x 3 x 2 x 32 x 168 x 5 bytes,
  // axes 352140: 0.07 of a copy with 512 bytes, 0.25 with 128 (Zen 4, 2026-11-25).
  const std::int64_t long_run = column.extent * work.element_bytes < 16 ? 128 : costs.long_run_bytes;
  left.take(dst_unit, work.rows);
  for (const axis* next = nullptr; fuses && (next = left.next(&axis::dst_stride, work.rows)) != nullptr &&
                                   *next != column &&
                                   !(work.rows.total * work.element_bytes >= long_run && column.extent > 1 &&
                                     lengthens(left, column, *next, costs.panel_cols));) {
    left.take(next, work.rows);
  }
  if (!left.empty()) {
    const axis* first = left.find(&axis::src_stride, unit);
    if (first == nullptr || first->extent == 1) first = left.smallest(&axis::src_stride);
    left.take(first, work.cols);
    // If a row of columns is less than a line, runs of more than two lines are long enough alone. 1920 columns of 268 bytes with
    // a gap behind each 15 runs: 0.13 of a copy as 128 matrices of 15 columns, 0.44 as one (Zen 4, 2026-11-25).
    const std::int64_t short_run = work.cols.total * work.element_bytes < 64
                                       ? std::min<std::int64_t>(128, costs.end_to_end_bytes)
                                       : costs.end_to_end_bytes;
    const bool few_rows = work.rows.total * work.element_bytes <= short_run && columns_end_to_end(work);
    while (fuses && continues(left, work.cols, few_rows)) left.take(left.next(&axis::src_stride, work.cols), work.cols);
    work.src_col_bytes = work.cols.axes[0].src_stride * work.word_bytes;
  }
  left.take_rest(work.outer);
  work.row_chunk = work.rows.total;
}

bool columns_end_to_end(const blocking& work) noexcept {
  std::int64_t expected = work.rows.total * (work.element_bytes / work.word_bytes);
  for (int k = 0; k < work.cols.rank; ++k) {
    const axis& one = work.cols.axes[static_cast<std::size_t>(k)];
    if (one.dst_stride != expected) return false;
    expected *= one.extent;
  }
  return true;
}

bool reads_long_rows(const blocking& work, const cpu_costs& costs) noexcept {
  return costs.end_to_end_row_bytes > 64 && work.rows.total > 40 && work.element_bytes <= 16 &&
         work.cols.total * work.element_bytes >= 1024;
}

std::int64_t end_to_end_limit(const blocking& work, const cpu_costs& costs) noexcept {
  if (reads_long_rows(work, costs) && work.element_bytes < 16) return costs.long_rows_end_to_end_bytes;
  return work.element_bytes <= 2 ? costs.narrow_end_to_end_bytes : costs.end_to_end_bytes;
}

bool runs_at_lines(const blocking& work) noexcept {
  return work.cols.rank == 0 || work.cols.axes[0].dst_stride * work.word_bytes % 64 == 0;
}

bool reads_in_order(const blocking& work, std::int64_t bytes) noexcept {
  if (bytes == 0 || work.panel != work.cols.total) return false;
  std::int64_t words = 1;
  const auto continues = [&words](const axis& one) {
    if (one.src_stride != words) return false;
    words *= one.extent;
    return true;
  };
  for (const fused_axes* inner : {&work.cols, &work.rows}) {
    for (int k = 0; k < inner->rank; ++k) {
      if (!continues(inner->axes[static_cast<std::size_t>(k)])) return false;
    }
  }
  for (int k = work.outer.rank - 1; k >= 0 && continues(work.outer.axes[static_cast<std::size_t>(k)]); --k) continue;
  return words * work.word_bytes >= bytes;
}

void cut_rows(blocking& work, const facts& known, const cpu_costs& costs) noexcept {
  const int threads = threads_for(known.bytes, known.threads, costs);
  work.row_chunk = work.rows.total;
  const std::int64_t whole = work.outer.total * work.panels();
  if (threads > 1 && whole < std::int64_t{16} * threads && whole % threads != 0) {
    work.row_chunk = ceil_div(ceil_div(work.rows.total, threads), work.group) * work.group;
  }
}

void cut_panels(blocking& work, const cpu_costs& costs) noexcept {
  const std::int64_t e = work.element_bytes;
  work.prefetch_bytes = e <= 16 ? costs.prefetch_bytes : costs.wide_ahead_bytes;
  work.panel = std::min(work.cols.total, std::max<std::int64_t>(16, costs.panel_bytes / e));
  // A group has whole strips and makes pieces of piece_bytes or more. A narrow panel takes more rows: they fill
  // narrow_buffer. Each piece is whole lines, so runs that begin at lines leave no part of a line to the next group.
  const std::int64_t strip = e <= 16 ? std::max<std::int64_t>(strip_rows, 64 / e) : 1;
  const std::int64_t piece = e <= 2                ? costs.narrow_piece_bytes
                             : runs_at_lines(work) ? costs.piece_bytes
                                                   : costs.carried_piece_bytes;
  const std::int64_t rows = std::max(piece / e, costs.narrow_buffer / (e * work.panel));
  work.group = std::min(ceil_div(std::max<std::int64_t>(rows, 1), strip) * strip, work.rows.total);
}

void cut_strips(blocking& work, std::int64_t dst_word_bytes, const cpu_costs& costs) noexcept {
  // Two cases take half of the columns: narrow words, which are staged in windows in L2, and runs that are whole pages
  // apart, which share a few sets of the TLB.
  const bool fewer = dst_word_bytes <= 2 || work.cols.axes[0].dst_stride * dst_word_bytes % 4096 == 0;
  work.prefetch_bytes = costs.strip_ahead_bytes;
  // All panels have one width, in whole blocks, so that threads have equal shares.
  const std::int64_t wide = costs.strip_bytes / (fewer ? 2 * dst_word_bytes : dst_word_bytes);
  const std::int64_t panels = ceil_div(work.cols.total, wide);
  const std::int64_t block = strip_block_bytes / dst_word_bytes;
  work.panel = std::min(work.cols.total, ceil_div(ceil_div(work.cols.total, panels), block) * block);
  work.group = std::min(2 * 64 / dst_word_bytes, work.rows.total);
}

constexpr std::int64_t whole_lines_bytes = 512;  // the most of a row
void cut_packed(packed_blocking& work, const cpu_costs& costs) noexcept {
  const std::int64_t run_bytes = work.rows.total * work.element_bytes;
  work.group = work.rows.total;
  work.prefetch_bytes = run_bytes % 64 == 0 ? costs.lines_ahead_bytes : costs.prefetch_bytes;
  // A panel reads at least one line of each row, and fills about end_to_end_panel_bytes of dst. Of many long rows it reads
  // more at a time: the hardware prefetchers do not follow so many rows.
  const std::int64_t least = reads_long_rows(work, costs) ? costs.end_to_end_row_bytes : 64;
  std::int64_t cols = std::max(least / work.element_bytes, costs.end_to_end_panel_bytes / run_bytes);
  // Whole lines of odd elements, so that no line is read for two panels. They are also whole blocks in registers. 45 x 37357 of 3 bytes
  // 0.34 to 0.45, 128 x 53043 0.13 to 0.37; 60 x 31001 of 7 bytes 0.35 to 0.46; 60 x 37357 of 6 bytes 0.35 to 0.6 (Emerald Rapids).
  const std::int64_t e = work.element_bytes;
  if (e <= whole_lines_bytes && !std::has_single_bit(static_cast<std::uint64_t>(e)) && work.src_col_bytes == e) {
    const std::int64_t in_lines = std::lcm(e, std::int64_t{64}) / e;
    if (in_lines * e <= whole_lines_bytes) cols = ceil_div(std::max(cols, std::int64_t{1}), in_lines) * in_lines;
  }
  work.panel = std::clamp<std::int64_t>(cols, 1, work.cols.total);
  work.ahead_units = std::max(packed_ahead_bytes / (run_bytes * work.panel), std::int64_t{1});
  const bool tiled = work.streaming && work.panels() == 1 &&
                     tile_outer_axes(work.outer, run_bytes * work.cols.total, costs.tiled_outer_bytes);
  order_prefetches(work.outer, tiled, work.cols.total * work.element_bytes, work.read_order, work.ahead_units);
  work.prefetches_pages = reads_in_order(work, costs.page_prefetch_bytes);
}

bool tile_outer_axes(fused_axes& outer, std::int64_t run_bytes, std::int64_t tile_bytes) noexcept {
  if (outer.rank < 2 || outer.rank == map::max_axes || 2 * run_bytes > tile_bytes) return false;
  const auto begin = outer.axes.begin();
  const auto last = begin + outer.rank - 1;
  const auto nearest = std::min_element(
      begin, last + 1, [](const axis& a, const axis& b) { return magnitude(a.src_stride) < magnitude(b.src_stride); });
  if (nearest == last) return false;
  std::int64_t together = tile_bytes / run_bytes;
  while (last->extent % together != 0) --together;
  if (together * run_bytes * 2 < tile_bytes) return false;
  const axis near = *nearest;
  const axis inner = {together, last->src_stride, last->dst_stride};
  std::copy(nearest + 1, last + 1, nearest);
  *(last - 1) = {last->extent / together, last->src_stride * together, last->dst_stride * together};
  *last = near;
  *(last + 1) = inner;
  ++outer.rank;
  return true;
}

void order_prefetches(const fused_axes& outer, bool tiled, std::int64_t piece_bytes, fused_axes& order,
                      std::int64_t& ahead) noexcept {
  order = outer;
  if (!tiled || piece_bytes >= 128) return;
  axis& last = order.axes[static_cast<std::size_t>(order.rank - 1)];
  axis& before = order.axes[static_cast<std::size_t>(order.rank - 2)];
  std::swap(last, before);
  ahead = last.extent * before.extent;
}

std::int64_t src_run_bytes(const facts& known) noexcept {
  const bool continued = known.dst_unit()->src_stride == known.src_unit()->extent;
  return known.src_unit()->extent * (continued ? known.dst_unit()->extent : 1) * known.form.word_bytes;
}

namespace {

double reads_of(std::int64_t run_bytes) noexcept {
  return run_bytes < 64 ? 1 + 64 / static_cast<double>(run_bytes) : 1;
}

}  // namespace

double short_reads(const facts& known) noexcept { return reads_of(src_run_bytes(known)); }

// The costs were fitted to units of at most this many bytes; larger ones start unseen. Words of 16 bytes differ: 5142 x 128 x 3
// by panels 0.71, by register tiles 0.82 (Zen 3, 2026-11-25).
constexpr std::int64_t small_unit_bytes = 2048;

// In cache, where a copy moves so many bytes while a unit of a walk begins.
constexpr double unit_start_bytes_in_cache = 700;

double unit_starts(const blocking& work, const cpu_costs& costs) noexcept {
  const std::int64_t e = work.element_bytes;
  if (work.panels() > 1 || work.row_chunks() > 1 || work.outer.total == 1) return 0;
  const double factor = e == 1 ? 3 : e == 16 ? 4 : 1;
  const std::int64_t bytes = work.rows.total * work.cols.total * e;
  if (!work.streaming) return unit_start_bytes_in_cache / static_cast<double>(bytes);
  return e < 16 && bytes > small_unit_bytes ? 0 : factor * costs.times.unit_bytes / static_cast<double>(bytes);
}

bool steps_are_lines(const fused_axes& all, std::int64_t word_bytes) noexcept {
  return std::all_of(all.axes.begin(), all.axes.begin() + all.rank,
                     [&](const axis& one) { return one.dst_stride * word_bytes % 64 == 0; });
}
bool has_short_gaps(const blocking& work) noexcept {
  // Through a buffer and by register tiles, with a gap behind each matrix: 40 x 20 of 2 bytes 0.32 and 0.60 of a copy. 8 x 16 of 8
  // bytes 0.34 and 0.80. 18 x 40 of 4 bytes 0.24 and 0.57, but 7 x 128 of 4 bytes 0.51 and 0.25 (Zen 4, 2026-11-25).
  if (work.outer.rank == 0 || !columns_end_to_end(work)) return false;
  const std::int64_t piece = work.rows.total * work.cols.total * work.element_bytes;
  const std::int64_t next = work.outer.axes[static_cast<std::size_t>(work.outer.rank - 1)].dst_stride * work.word_bytes;
  return piece <= short_gaps_bytes && next != piece && (piece % 64 != 0 || next % 64 != 0);
}
double short_gaps(const blocking& work) noexcept { return has_short_gaps(work) ? 2 : 0; }
double short_far_rows(const blocking& work) noexcept {
  constexpr std::int64_t short_bytes = 192, line = 64;
  const std::int64_t row_bytes = work.cols.total * work.element_bytes;
  const bool far = base::magnitude(work.rows.axes[0].src_stride) * work.word_bytes - row_bytes >= line;
  return far && row_bytes < short_bytes ? static_cast<double>(line) / static_cast<double>(row_bytes) : 0;
}
double with_short_runs(double time, const blocking& work, const facts& known) noexcept {
  const double dst_run = static_cast<double>(work.rows.total) * static_cast<double>(work.element_bytes);
  // Columns of several axes that are read at once are one run. Rows may continue it.
  std::int64_t run = work.src_col_bytes == work.element_bytes ? work.cols.total * work.element_bytes : 0;
  if (magnitude(work.rows.axes[0].src_stride) * work.word_bytes == run) run *= work.rows.axes[0].extent;
  return (time + 32 / dst_run) * reads_of(std::max(src_run_bytes(known), run));
}

double roof_of(const map::canonical& form) noexcept {
  constexpr std::int64_t line = 64;
  const auto& axes = form.axes;
  if (form.rank == 0) return 1;
  const axis& last = axes[static_cast<std::size_t>(form.rank - 1)];
  const bool is_element = last.src_stride == 1 && last.dst_stride == 1;  // a run that is contiguous on both sides
  const std::int64_t element = is_element ? last.extent : 1;
  std::int64_t src = INT64_MAX, dst = INT64_MAX;  // words from an element to the nearest one
  double read = 1;                                // elements of src for each element of dst
  for (int k = 0; k < form.rank - (is_element ? 1 : 0); ++k) {
    const axis& one = axes[static_cast<std::size_t>(k)];
    dst = std::min(dst, magnitude(one.dst_stride));
    if (one.src_stride == 0) {
      read /= static_cast<double>(one.extent);
    } else {
      src = std::min(src, magnitude(one.src_stride));
    }
  }
  const auto lines = [&](std::int64_t step) {
    const std::int64_t most = std::max(element, ceil_div(line, form.word_bytes));
    return static_cast<double>(std::clamp(step, element, most)) / static_cast<double>(element);
  };
  if (src != INT64_MAX) read *= lines(src);
  const double written = dst == INT64_MAX ? 1 : lines(dst);
  return (read + (written > 1 ? 2 * written : 1)) / 2;
}

const blocking* blocking_of(const offer& made) noexcept { return made.has_blocking ? &made.as<blocking>() : nullptr; }

void share_out(offer& made, const facts& known, const cpu_costs& costs, std::int64_t units) noexcept {
  made.units = units;
  const int threads = threads_for(known.bytes, known.threads, costs);
  made.threads = static_cast<int>(std::min<std::int64_t>(threads, std::max<std::int64_t>(units, 1)));
}

}  // namespace cornerturn::kernels::cpu
