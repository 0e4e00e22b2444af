// Offers for few columns whose rows are contiguous in src.
#include "kernels/cpu/tall_skinny/args.hpp"

#include <algorithm>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu::tall_skinny {
namespace {

bool contiguous_rows(args& work, const facts& known, const target& on, const kernel& row) noexcept {
  if (!has_rows_and_columns(known) || row.element_bytes != known.form.word_bytes) return false;
  split(work, known, on, 1, true);
  return work.cols.axes[0].src_stride == 1 && work.rows.axes[0].src_stride == work.cols.total;
}

// in_cache: added if dst fits the cache.
void finish(offer& made, args& work, const facts& known, const cpu_costs& costs, double time,
            double in_cache) noexcept {
  cut_rows(work, known, costs);
  work.prefetches_pages = reads_in_order(work, costs.page_prefetch_bytes);
  share_out(made, known, costs, work.units());
  // Rows of several axes are contiguous in src for the first axis only. 2 columns in runs of 2 rows: splits take 83 times a
  // copy, shuffled pieces 24, staged lines 23 (Zen 4, 2026-11-23).
  const std::int64_t run_bytes = work.rows.axes[0].extent * work.cols.total * work.word_bytes;
  if (work.rows.rank > 1) time += 256 / static_cast<double>(run_bytes);
  made.time = with_short_runs(time, work, known) + unit_starts(work, costs) + (work.streaming ? 0 : in_cache);
  made.binds = work.streaming ? bound::dram : bound::issue;
  if (has_short_gaps(work)) work.streaming = false;  // 232 x 8 bytes 0.30 of a copy, 0.67 with it (Zen 4, 2026-11-25)
}

}  // namespace

bool offer_any(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<args>();
  if (!contiguous_rows(work, known, on, row)) return false;
  const cpu_costs& costs = costs_of(on);
  const std::int64_t word = work.word_bytes, row_bytes = work.cols.total * word;
  if (row_bytes > costs.tall_skinny_bytes || work.rows.total * word < costs.tall_skinny_run_bytes) return false;
  work.panel = work.cols.total;
  work.group = std::min(column_group_bytes / word, work.rows.total);
  // Strips that are stored from registers are faster: 64 columns of float32 reach 0.88 of a copy with them, 0.78 here (SPR,
  // 2026-11-22).
  const bool whole_registers = word >= 4 && row_bytes >= 64 && row_bytes % 16 == 0;
  const double time = work.cols.total > 32 ? costs.times.tall_skinny_many : costs.times.tall_skinny;
  finish(made, work, known, costs, time + (whole_registers ? 0.15 : 0),
         buffer_cost_in_cache(known, work.streaming, costs));
  made.reason = "few columns, whose rows are contiguous in src: pieces of 16 bytes are shuffled into columns";
  return true;
}

bool offer_split(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<args>();
  if (!contiguous_rows(work, known, on, row)) return false;
  const std::int64_t cols = work.cols.total;
  if (cols != 2 && cols != 3 && cols != 4 && cols != 8 && cols != 16) return false;
  const cpu_costs& costs = costs_of(on);
  cut_panels(work, costs);
  // Within the cache: 10000 x 3 float32 5.4 us, 19.6 with shuffled pieces; 1000 x 16 bytes 0.8 us and 2.2. Register tiles are as
  // fast for 8 and 16 columns, and slower for fewer: 10000 x 3 of 8 bytes 9.9 us, 13.9 with tiles; 200 x 4 of 8 bytes 0.28 us and
  // 0.20 (SPR, 2026-11-26).
  const double cached = costs.line_tiles && cols <= 4 ? 0.62 : 1.02;
  const double few = std::min(cached, costs.times.split + costs.times.buffered_in_cache);
  finish(made, work, known, costs, work.streaming ? costs.times.split : few,
         start_bytes_in_cache / static_cast<double>(known.bytes));
  made.reason = "2, 3, 4, 8 or 16 columns, whose rows are contiguous in src: whole vectors are split into columns";
  return true;
}

}  // namespace cornerturn::kernels::cpu::tall_skinny
