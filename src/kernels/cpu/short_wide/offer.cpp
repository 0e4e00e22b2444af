// Offers for few rows whose columns are contiguous in dst.
#include "kernels/cpu/short_wide/args.hpp"

#include <algorithm>

#include "kernels/cpu/split.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::short_wide {

bool offer_any(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  if (!has_rows_and_columns(known) || row.element_bytes != known.form.word_bytes) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<any_args>();
  split(work, known, on, 1, true);
  const std::int64_t word = work.word_bytes, column = work.rows.total * word, row_bytes = work.cols.total * word;
  if (!work.streaming || !columns_end_to_end(work) || column > costs.short_wide_bytes ||
      row_bytes < costs.short_wide_run_bytes) {
    return false;
  }
  work.group = work.rows.total;
  work.panel = std::min(work.cols.total, costs.short_wide_panel_bytes / word);
  share_out(made, known, costs, work.units());
  // For columns of 8-byte words that fill whole lines, end_to_end is faster: 8 rows reach 0.97 of a copy with it and 0.86
  // here (SPR, 2026-11-22). For 32 rows or more of 4 bytes or more, stream/strips-inl.hpp stores from registers and is
  // faster.
  const bool strips = word >= 4 && work.rows.total >= 32;
  made.time = (work.rows.total > 16 && work.element_bytes >= 4 ? costs.times.short_wide_many : costs.times.short_wide) +
              (word == 8 && work.rows.total % 8 == 0 ? 0.2
               : strips                              ? 0.15
                                                     : 0);
  if (word >= 4 && work.rows.total <= 6) made.time += 0.03;  // few rows leave blocks of 8 rows part empty
  made.reason = "few long rows, whose columns are contiguous in dst: pieces of 16 bytes are shuffled into columns";
  return true;
}

bool offer_join(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  if (!has_rows_and_columns(known) || row.element_bytes != known.form.word_bytes) return false;
  const cpu_costs& costs = costs_of(on);
  auto& work = made.emplace<join_args>();
  split(work, known, on, 1, true);
  const std::int64_t rows = work.rows.total;
  if (!columns_end_to_end(work) || (rows != 2 && rows != 3 && rows != 4 && rows != 8)) return false;
  cut_packed(work, costs);
  share_out(made, known, costs, work.units());
  // Within the cache: 3 x 10000 float32 5.2 us, 10.7 by lines of byte shuffles; 2 x 10000 bytes 1.0 us and 1.9. Register tiles take 4
  // and 8 rows: 4 x 10000 of 8 bytes 14.9 us, 9.6 with tiles (SPR, 2026-11-26).
  const bool few = !work.streaming && costs.line_tiles && work.outer.total == 1;
  const double cached = (rows <= 3 ? 0.9 : 1.02) + start_bytes_in_cache / static_cast<double>(known.bytes);
  const double usual = costs.times.join * short_reads(known) + buffer_cost_in_cache(known, work.streaming, costs);
  made.time =
      (few ? std::min(usual, cached * short_reads(known)) : usual) + unit_starts(work, costs) + short_gaps(work);
  made.binds = work.streaming ? bound::dram : bound::issue;
  made.reason = "2, 3, 4 or 8 rows, whose columns are contiguous in dst: whole vectors are joined";
  return true;
}

}  // namespace cornerturn::kernels::cpu::short_wide
