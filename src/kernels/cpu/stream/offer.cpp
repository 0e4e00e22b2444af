// Offers for large matrices, and how each one cuts the rows and columns. The rows make lines of dst in five ways:
//   panels    pieces of a dst run are put together in L1                          policy/panels-inl.hpp
//   lines     blocks of whole lines, a few of each dst run staged in L2           staged_lines-inl.hpp
//   strips    blocks of two lines of 8 to 32 rows, stored from registers with AVX-512  strips-inl.hpp
//   elements  elements of 3 to 32 bytes, 4 and 8 too, stored from registers with AVX-512  element_strips-inl.hpp
//   shuffled  elements, whose rows of src are shuffled into L1 first (AVX-512 VBMI)  element_strips-inl.hpp
// Times are relative to a copy; kernels/machine has those that differ by machine.
#include <algorithm>
#include <cstdlib>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/cpu/stream/args.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::stream {
namespace {

using base::ceil_div;

bool takes(const facts& known, const kernel& row) noexcept {
  return has_rows_and_columns(known) && row.element_bytes == known.form.word_bytes;
}

// Time that short axes add which alternate in src and dst: a few neighbouring rows and all columns share a line or two of src. 16 x
// 20 x 62 x 12 x 12 x 3 of 2 bytes, axes 531204, takes 15 times a copy, 372 x 56 x 9 x 12 x 8 bytes, axes 12403, 9 times (Zen 4,
// 2026-11-25).
double alternating_axes(const blocking& work) noexcept {
  const axis& down = work.rows.axes[0];
  const std::int64_t near = std::abs(down.src_stride) * work.word_bytes,
                     row_bytes = work.cols.total * work.element_bytes;
  if (work.rows.rank < 2 || row_bytes >= 64 || near >= 64 || down.extent * near >= 512) return 0;
  return 64 / static_cast<double>(row_bytes);
}

void finish(offer& made, blocking& work, const facts& known, const cpu_costs& costs, double time,
            double start_bytes = lines_start_bytes) noexcept {
  cut_rows(work, known, costs);
  time += alternating_axes(work);
  share_out(made, known, costs, work.units());
  if (has_rows_and_columns(known)) time = with_short_runs(time, work, known);
  // A unit sets up more than a panel of short runs does: 302088 x 16 x 3 float32 takes 9.5 times a copy (Zen 4, 2026-11-24).
  made.time = time + 3 * unit_starts(work, costs) + buffer_cost_in_cache(known, work.streaming, costs, start_bytes);
  made.binds = work.streaming ? bound::dram : bound::issue;
}

// Lines of a dst run that are written together. Every store goes through a slice of the last-level cache, which bits 6 to 8
// of the address select. If neighbouring runs are in different slices, one line is enough. If all runs are in one slice,
// several lines use several slices. If runs begin inside lines, two lines share the cost of a carry.
std::int64_t lines_together(const blocking& work, const cpu_costs& costs) noexcept {
  const std::int64_t pitch = work.cols.rank == 0 ? 0 : work.cols.axes[0].dst_stride * work.word_bytes;
  if (pitch % 64 != 0) return work.element_bytes == 2 || work.element_bytes == 4 ? costs.carried_lines : 1;
  return pitch % 512 == 0 ? costs.staged_lines : 1;
}

// True when runs are whole pages apart: they share a few sets of the TLB.
bool pages_apart(const blocking& work) noexcept {
  return work.cols.rank > 0 && work.cols.axes[0].dst_stride * work.word_bytes % 4096 == 0;
}

// Sets panel, group and prefetch_bytes for element_strips-inl.hpp. A panel is at most 16 KiB of a row and 2048 columns; elements
// of 3 and 6 bytes take fewer columns, so that what waits of them fits a quarter of the L2. 20 matrices of 3 to 32 bytes with panels
// of 4, 8, 16, 32 and 64 KiB: 0.62, 0.65, 0.66, 0.66, 0.64 of a copy. 15 matrices, most of 4 and 8 bytes, with panels of 512, 1024,
// 1536, 2048 and 4096 columns: 0.71, 0.76, 0.77, 0.78, 0.68 (Zen 4, 2026-11-25).
void cut_elements(elements_args& work, std::int64_t l2_bytes) noexcept {
  const std::int64_t wide = work.folded * work.element_bytes;
  const auto side = static_cast<std::int64_t>(element_block_side(static_cast<std::size_t>(wide)));
  const auto strip = static_cast<std::int64_t>(element_strip_rows(static_cast<std::size_t>(wide)));
  const auto pieces = static_cast<std::int64_t>(element_window_pieces(static_cast<std::size_t>(wide)));
  const std::int64_t waiting = pieces - strip / side;
  const std::int64_t fit = std::max(l2_bytes / 4 / ((waiting + 1) * 64), 4 * side);
  const std::int64_t most = std::min({(std::int64_t{16} << 10) / wide, fit, std::int64_t{2048}});
  const std::int64_t panels = ceil_div(work.cols.total, most);
  work.panel = std::min(work.cols.total, ceil_div(ceil_div(work.cols.total, panels), 4 * side) * 4 * side);
  work.group = std::min(pieces * side * work.folded, work.rows.total);
  work.prefetch_bytes = 384;
}

// Rows that are loaded as one: of at most half as many columns as a block has, contiguous in src one after another. None of few rows
// is left over: 23333 x 50 x 4 of 3 bytes 0.14 of a copy with four rows loaded as one, 0.28 with two (Zen 4, 2026-11-25).
std::int64_t rows_to_fold(const blocking& work, base::simd_target simd) noexcept {
  const std::int64_t e = work.element_bytes;
  if (e % 2 != 0 && !selects_bytes(simd)) return 1;
  const bool dense = work.rows.rank == 1 && work.rows.axes[0].src_stride * work.word_bytes == work.cols.total * e;
  if (!dense) return 1;
  const auto side = static_cast<std::int64_t>(element_block_side(static_cast<std::size_t>(e)));
  std::int64_t rows = 1;
  while (2 * rows * work.cols.total <= side && (work.rows.total % (2 * rows) == 0 || work.rows.total > 1024)) rows *= 2;
  return rows;
}

// True when every dst run of every unit begins at a cache line, provided that dst does.
bool every_run_at_lines(const blocking& work) noexcept {
  return steps_are_lines(work.cols, work.word_bytes) && steps_are_lines(work.outer, work.word_bytes);
}

// True when src rows share a few sets of the L1.
bool rows_share_sets(const blocking& work) noexcept {
  return work.rows.axes[0].src_stride * work.word_bytes % 2048 == 0;
}

// Time that words of 4, 8 and 16 bytes add, for which there are other walks too. Shares on Zen 4, 2026-11-25.
// Evenly spaced rows of less than 2 KiB share pages, and other walks take fewer of them at a time. 22388 x 268 of 4 bytes: staged
// lines 0.59, elements 0.47. 30304 x 112 of 8 bytes: 0.76 and 0.52. 83344 x 16 of 16 bytes: strips 0.72, elements 0.59. Rows that
// share sets, 2048 x 2048 of 8 bytes: panels 0.71, elements 0.56.
double words_differ(const elements_args& work, bool whole_windows, const cpu_times& times) noexcept {
  const std::int64_t e = work.element_bytes;
  const std::int64_t row_bytes = work.cols.total * e;
  const bool short_rows = work.rows.rank == 1 && row_bytes < 2048;
  if (e == 16) return row_bytes >= 64 && row_bytes < 320 ? 1.2 : short_rows ? times.elements_short_b16_rows : 0;
  if (e != 4 && e != 8) return 0;
  if (e == 4 && whole_windows && work.rows.total * e <= 256) return times.elements_few_b4;
  if (e == 4 && short_rows && row_bytes >= 80 && row_bytes <= 128) return times.elements_few_b4;
  return (e == 4 ? -0.2 : 0) + (short_rows || rows_share_sets(work) ? 0.8 : 0);
}

// Bytes of a row that is shuffled into L1: a strip of 16 of them fits.
constexpr std::int64_t shuffled_row_bytes = 1536;
constexpr std::int64_t most_shuffled_item = 512;
constexpr double shuffled_row_start_bytes = 300;  // overhead of a row, in bytes that a copy would move

// Effect  fills the item that begins with the axis of stride 1 in src and ends with the axis of stride 1 in dst, and the strides
//         that src has when this axis comes first. Returns the number of elements of an item, 0: there is none
std::int64_t shuffle_rows(facts& known, small_item& item) noexcept {
  const axis last = *known.dst_unit();
  if (last.src_stride <= 1) return 0;
  item.word_bytes = known.form.word_bytes;
  item.inner.push({last.extent, last.src_stride, 1});
  const axis_pool axes(known.form);
  std::int64_t cols = 1;
  while (cols < last.src_stride) {
    const axis* const one = axes.find(&axis::src_stride, cols);
    if (one == nullptr || one->extent == 1) return 0;
    item.inner.push({one->extent, cols, cols * last.extent});
    cols *= one->extent;
  }
  if (cols != last.src_stride || last.extent > most_shuffled_item / item.word_bytes / cols) return 0;
  int inside = 0;
  for (int k = 0; k < known.form.rank; ++k) {
    axis& one = known.form.axes[static_cast<std::size_t>(k)];
    if (one == last) {
      one.src_stride = 1;
      known.src_unit_axis = k;
    } else if (one.src_stride > -last.src_stride && one.src_stride < last.src_stride) {
      one.src_stride *= last.extent;
      ++inside;
    }
  }
  item.item_bytes = item.src_item_bytes = cols * last.extent * item.word_bytes;
  return inside == item.inner.rank - 1 ? cols : 0;
}

// True if the first columns, `cols` of them, are an item, and rows are whole items apart.
bool rows_have_items(const elements_args& work, std::int64_t cols) noexcept {
  std::int64_t first = 1;
  for (int k = 0; k < work.cols.rank && first < cols; ++k) first *= work.cols.axes[static_cast<std::size_t>(k)].extent;
  const std::int64_t words = work.item.item_bytes / work.word_bytes;
  return first == cols && work.cols.total % cols == 0 &&
         std::all_of(work.rows.axes.begin(), work.rows.axes.begin() + work.rows.rank,
                     [&](const axis& one) { return std::abs(one.src_stride) >= words; });
}

}  // namespace

bool offer_panels(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  if (!takes(known, row)) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<panels_args>();
  split(work, known, on, 1, true);  // also decides `streaming`: dst is too large for the cache
  cut_panels(work, costs);
  const double time = runs_at_lines(work) ? costs.times.panels : costs.times.panels_carried;
  const auto src_run = static_cast<double>(work.cols.total * work.element_bytes);
  finish(made, work, known, costs, time + costs.times.panels_src_bytes / src_run + short_gaps(work));
  made.reason = "register blocks through a buffer in L1: pieces of each dst run are written in whole lines";
  return true;
}

bool offer_lines(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  if (!takes(known, row)) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<lines_args>();
  split(work, known, on, 1, true);
  const std::int64_t e = work.element_bytes;
  work.lines = lines_together(work, costs);
  work.prefetch_bytes = std::max(costs.lines_ahead_bytes, 2 * 64 * 64 / e);  // two blocks at least
  work.panel = pages_apart(work) ? costs.panel_cols / 2 : work.lines == 1 ? costs.direct_cols : costs.panel_cols;
  work.panel = std::min(work.panel, work.cols.total);
  if (pages_apart(work)) work.prefetch_bytes /= 2;
  work.group = std::min(work.lines * 64 / e, work.rows.total);
  const bool carried = !runs_at_lines(work);
  const double time = carried || e < 2 ? costs.times.staged_lines_carried : costs.times.staged_lines;
  const double few = costs.times.staged_lines_cols / static_cast<double>(work.cols.total);
  finish(made, work, known, costs, time + few + short_gaps(work));
  made.reason = "register blocks of whole lines: lines of each dst run are staged in L2 until a few are together";
  return true;
}

bool offer_strips(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  if (!takes(known, row)) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<strips_args>();
  split(work, known, on, 1, true);
  const std::int64_t e = work.element_bytes;
  const std::int64_t row_bytes = work.cols.total * e;
  if (work.rows.total < static_cast<std::int64_t>(rows_of_strip(static_cast<std::size_t>(e)))) return false;
  const bool whole_registers = e >= 4 && row_bytes % 16 == 0;
  if (row_bytes < strip_block_bytes && !whole_registers) return false;
  work.lines = 2;
  cut_strips(work, e, costs);
  work.prefetches_pages = reads_in_order(work, costs.page_prefetch_bytes);
  // Partial blocks and narrow elements go through windows in L2.
  double time = e == 16 ? costs.times.strips_b16 : costs.times.strips;
  if (e == 8 && costs.times.strips_b8 != 0 && !rows_share_sets(work)) {
    time = costs.times.strips_b8 + costs.times.strips_b8_src_bytes / static_cast<double>(row_bytes);
  }
  if (e == 8 && work.streaming) time += costs.times.strips_b8_dst_bytes / static_cast<double>(work.rows.total * e);
  if (e <= 2) time += 0.3;
  if (e == 16 && work.rows.rank == 1 && row_bytes >= 320 && row_bytes < 2048) time += costs.times.strips_short_b16_rows;
  if (!whole_registers) time += static_cast<double>(row_bytes % strip_block_bytes) / static_cast<double>(row_bytes);
  // 17279 x 64 x 2 of 16 bytes: 0.21 of a copy, panels 0.62 (Zen 4, 2026-11-24).
  if (row_bytes < 64) time += e == 16 ? 3 : 0.14;
  finish(made, work, known, costs, time + short_gaps(work));
  // Strips write two lines at once, so this takes back the penalty that with_short_runs adds for short dst runs.
  made.time -= 32 / static_cast<double>(work.rows.total * e) * short_reads(known);
  made.reason = "register blocks of two lines of 8 to 32 rows, written two lines of a dst run at a time";
  return true;
}

bool offer_elements(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const std::int64_t unit = element_words(known);
  if (unit == 0) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<elements_args>();
  split(work, known, on, unit, true);
  const std::int64_t e = work.element_bytes;
  if (!turns_in_registers(on.cpu->simd, e)) return false;
  if (work.src_col_bytes != e || work.rows.total * e < 64) return false;
  work.folded = rows_to_fold(work, on.cpu->simd);
  cut_elements(work, on.cpu->l2_bytes);
  double time = costs.times.elements + costs.times.elements_bytes / static_cast<double>(e);
  // A block with few columns takes as long as a whole one: 11 x 16 x 8 x 5 x 448 x 2 of 3 bytes 0.05, by boxes 0.19 (Emerald Rapids).
  const auto side = static_cast<std::int64_t>(element_block_side(static_cast<std::size_t>(e)));
  const std::int64_t at_once = std::min(work.folded * work.cols.total, side);
  time += costs.times.elements * (static_cast<double>(side) / static_cast<double>(at_once) - 1);
  const std::int64_t run_bytes = work.rows.total * e;
  // Runs that are whole windows cost nothing at their ends.
  const auto wide = static_cast<std::size_t>(work.folded * e);
  const auto window = static_cast<std::int64_t>(element_window_pieces(wide) * element_block_side(wide) * wide);
  const bool whole = every_run_at_lines(work) && run_bytes % window == 0;
  if (!whole) time += costs.times.elements_run_bytes / static_cast<double>(run_bytes);
  if (e == 3 && run_bytes % window != 0) time += 0.4;  // rows that fill no window wait in L2 for the others
  time += words_differ(work, whole, costs.times) + 3 * short_far_rows(work);
  finish(made, work, known, costs, time, elements_start_bytes);
  // Evenly spaced short rows set up less for a unit: 71673 x 64 x 3 of 3 bytes 0.70, packed 0.12 (Zen 4, 2026-11-25).
  if (work.rows.rank == 1) made.time -= 2 * unit_starts(work, costs);
  // A last chunk with fewer rows than are folded would have no row.
  while (work.rows.total % work.row_chunk != 0 && work.rows.total % work.row_chunk < work.folded) {
    work.row_chunk += work.group;
    made.units = work.units();
  }
  made.reason = "register blocks of whole elements, stored without a buffer one to four lines of a dst run at a time";
  return true;
}

bool offer_shuffled(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form) || known.dst_unit() == nullptr || !selects_bytes(on.cpu->simd))
    return false;
  auto& work = made.emplace<elements_args>();
  work.shuffled = true;
  facts shuffled = known;
  const std::int64_t cols = shuffle_rows(shuffled, work.item);
  if (cols == 0 || !turns_in_registers(on.cpu->simd, work.item.item_bytes / cols)) return false;
  const std::int64_t unit = work.item.inner.axes[0].extent;
  if (element_words(shuffled) != unit) return false;
  split(work, shuffled, on, unit, true);
  const std::int64_t e = work.element_bytes;
  if (work.src_col_bytes != e || work.rows.total * e < 64 || !rows_have_items(work, cols)) return false;
  const cpu_costs& costs = costs_of(on);
  cut_elements(work, on.cpu->l2_bytes);
  work.panel = std::min(work.panel, std::max(shuffled_row_bytes / e, cols)) / cols * cols;
  if (work.panel == 0) return false;
  work.prefetch_bytes = work.panel * e;  // of the next strip: all of this one is loaded at its begin
  const double shuffles = costs.times.shuffle_window * (1 + static_cast<double>(work.item.item_bytes) / 128);
  finish(made, work, shuffled, costs,
         costs.times.elements + costs.times.elements_bytes / static_cast<double>(e) +
             costs.times.elements_run_bytes / static_cast<double>(work.rows.total * e) + shuffles +
             shuffled_row_start_bytes / static_cast<double>(work.panel * e));
  made.reason =
      "src rows are shuffled into L1, so that elements are contiguous; then register blocks of these elements";
  return true;
}

}  // namespace cornerturn::kernels::cpu::stream
