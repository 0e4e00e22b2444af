// Offers for elements that register blocks cannot take, and for boxes of short axes.
#include <algorithm>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/gather/args.hpp"
#include "kernels/cpu/gather/box.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::gather {
namespace {

// Of an item that is an element. Longer ones are copied in pieces of several windows each.
constexpr std::int64_t most_shuffled_bytes = 512;

void finish(offer& made, const blocking& work, const facts& known, const cpu_costs& costs, double more) noexcept {
  share_out(made, known, costs, work.units());
  made.time = costs.times.gather + costs.times.gather_bytes / static_cast<double>(work.element_bytes) + more;
  if (!work.streaming) made.time += costs.times.buffered_in_cache;
  if (has_rows_and_columns(known)) made.time = with_short_runs(made.time + 0.5, work, known);
  made.binds = bound::requests;
}

bool contains(const fused_axes& all, const axis& one) noexcept {
  return std::find(all.axes.data(), all.axes.data() + all.rank, one) != all.axes.data() + all.rank;
}

// Finds a box whose runs are at least one line long in src and in dst, and four lines if such a box fits box_bytes. False if
// there is none.
bool find_box(box_args& work, const facts& known, const cpu_costs& costs) noexcept {
  const axis_pool axes(known.form);
  const std::int64_t word = known.form.word_bytes;
  for (std::int64_t words = 256 / word; words * word >= 64; words /= 2) {
    const fused_axes src_run = axes.run_of(&axis::src_stride, words);
    work.rows = axes.run_of(&axis::dst_stride, words);
    if (std::min(work.rows.total, src_run.total) * word < 64) return false;
    work.cols = work.outer = fused_axes{};
    std::int64_t room = costs.box_bytes / word;
    for (int k = 0; k < known.form.rank; ++k) {
      const axis& one = known.form.axes[static_cast<std::size_t>(k)];
      const bool in_rows = contains(work.rows, one), inside = in_rows || contains(src_run, one);
      if (inside) room /= one.extent;
      if (!in_rows) (inside ? work.cols : work.outer).push(one);
    }
    if (room > 0) return runs_of_box(work).whole;
  }
  return false;
}

}  // namespace

bool offer_elements(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const std::int64_t unit = element_words(known);
  if (unit == 0) return false;
  const cpu_costs& costs = costs_of(*on.cpu);
  auto& work = made.emplace<elements_args>();
  split(work, known, on, unit, true);
  cut_panels(work, costs);
  cut_rows(work, known, costs);
  // 64 x 3166 x 44 float32, axes 102: 0.28 of a copy, copy_runs 0.67 (Zen 4, 2026-11-24).
  finish(made, work, known, costs, unit_starts(work, costs) + (work.element_bytes > 64 ? 2 : 0));
  made.reason = unit > 1 ? "short inner runs that are contiguous on both sides: each is copied as one wide element"
                         : "elements are copied one by one, and dst is written in whole lines";
  return true;
}

bool offer_packed(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  const std::int64_t unit = element_words(known);
  if (unit == 0) return false;
  const cpu_costs& costs = costs_of(*on.cpu);
  auto& work = made.emplace<packed_args>();
  split(work, known, on, unit, true);
  // 616 x 6295 of 6 bytes: 0.31, panels 0.26; 118 x 123988 of 3 bytes: 0.31, panels 0.21 (Zen 3, 2026-11-25).
  const std::int64_t most = reads_long_rows(work, costs) ? 4096 : costs.end_to_end_bytes;
  if (work.rows.total * work.element_bytes > most || work.rows.total > packed_rows || !columns_end_to_end(work)) {
    return false;
  }
  cut_packed(work, costs);
  // Short src rows of 3 bytes: 2178 x 128 x 43 0.23, panels 0.40 (Zen 3, 2026-11-25). Of 6 bytes and more packed runs win.
  // In small matrices packed runs win too: 29419 x 47 x 8 0.32, panels 0.16 (Zen 4, 2026-11-25).
  const bool narrow = work.element_bytes == 3 && work.cols.total < 64 && work.rows.total >= 24 &&
                      work.rows.total * work.cols.total * work.element_bytes > 2048;
  // 113108 x 7 x 2 of 12 bytes 0.31, byte shuffles 0.61 (Zen 4, 2026-11-25).
  finish(made, work, known, costs, (narrow ? 0.4 : -0.05) + 0.3 * unit_starts(work, costs));
  // Blocks of 3-byte elements in registers: 11416 x 103 x 8 0.39, whole lines of dst by cpu_stream_elements 0.22; 6 x 68 x 19736
  // 0.51 and 0.36 (Zen 4, 2026-11-25).
  if (work.element_bytes == 3 && work.src_col_bytes == 3 && work.rows.total > 8 && turns_in_registers(3))
    made.time -= 3.2;
  made.reason = "elements are copied one by one into short dst runs, which are written as one";
  return true;
}

bool offer_shuffled(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form) || !selects_bytes()) return false;
  auto& work = made.emplace<shuffled_args>();
  fused_axes outer;
  if (!find_item(known, most_shuffled_bytes, work.item.inner, outer) || outer.rank == 0) return false;
  const std::int64_t unit = work.item.inner.total;
  work.item.word_bytes = known.form.word_bytes;
  work.item.item_bytes = work.item.src_item_bytes = unit * known.form.word_bytes;
  // The problem whose elements are the items.
  facts items = known;
  items.form.rank = 0;
  for (int k = 0; k < outer.rank; ++k) items.form.axes[items.form.rank++] = outer.axes[static_cast<std::size_t>(k)];
  items.form.axes[items.form.rank] = {unit, 1, 1};
  items.src_unit_axis = items.dst_unit_axis = items.form.rank++;
  if (element_words(items) != unit) return false;
  const cpu_costs& costs = costs_of(*on.cpu);
  split(work, items, on, unit, true);
  cut_panels(work, costs);
  cut_rows(work, items, costs);
  finish(made, work, items, costs, 1.5 + unit_starts(work, costs));
  made.reason = "blocks that are permuted within themselves are elements: byte shuffles permute each of them";
  return true;
}

bool offer_box(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  if (!has_rows_and_columns(known) || row.element_bytes != known.form.word_bytes) return false;
  const cpu_costs& costs = costs_of(*on.cpu);
  auto& work = made.emplace<box_args>();
  work.word_bytes = work.element_bytes = known.form.word_bytes;
  if (!find_box(work, known, costs)) return false;
  work.src_end_bytes = map::src_span(known.form).hi;
  work.streaming = !fits_cache(known, on);
  work.panel = work.cols.total;
  work.group = work.row_chunk = work.rows.total;
  work.prefetch_bytes = costs.lines_ahead_bytes;
  share_out(made, known, costs, work.outer.total);
  // A piece of dst that begins or ends inside a line takes the time of 16 lines more: parts of lines go through the cache.
  // Runs of 240 bytes of 16-byte words reach 0.16, staged lines 0.48 (Zen 4, 2026-11-23).
  const bool at_lines = runs_at_lines(work) && work.rows.total * work.word_bytes % 64 == 0;
  const std::int64_t piece = work.rows.total * (columns_end_to_end(work) ? work.cols.total : 1) * work.word_bytes;
  const double cut_lines = at_lines ? 0 : 16.0 * 64 / static_cast<double>(piece);
  // If src runs are a line long without a box, a walk over rows and columns is faster.
  made.time = costs.times.box + costs.times.box_bytes / static_cast<double>(work.word_bytes) + cut_lines +
              (src_run_bytes(known) >= 64 ? 4 : 0) + (work.streaming ? 0 : costs.times.buffered_in_cache);
  made.binds = bound::requests;
  made.reason = "short axes alternate in src and dst: boxes of both are gathered in the cache";
  return true;
}

bool offer_strided(const facts& known, const target& on, const kernel& /*row*/, offer& made) noexcept {
  if (known.form.empty || is_one_run(known.form)) return false;
  auto& work = made.emplace<strided_args>();
  work.word_bytes = known.form.word_bytes;
  axis_pool(known.form).take_rest(work.outer);
  share_out(made, known, costs_of(*on.cpu), work.outer.total);
  made.time = 64.0 / static_cast<double>(work.word_bytes) + 8;
  if (has_rows_and_columns(known)) made.time *= 4 * short_reads(known);
  made.binds = bound::requests;
  made.reason = known.dst_unit() == nullptr ? "no axis of dst has stride 1, so no line of dst can be written whole"
                                            : "one word at a time, in the order of dst";
  return true;
}

}  // namespace cornerturn::kernels::cpu::gather
