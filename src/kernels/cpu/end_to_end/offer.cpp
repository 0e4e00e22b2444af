// Offers for short dst runs that are contiguous with their neighbours.
#include "kernels/cpu/end_to_end/args.hpp"

#include <bit>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/split.hpp"

namespace cornerturn::kernels::cpu::end_to_end {
namespace {

// Splits the axes into rows and columns. False unless the dst runs are short and contiguous with their neighbours.
template <class Args>
bool short_runs(Args& work, const facts& known, const target& on, const kernel& row) noexcept {
  if (!has_rows_and_columns(known) || row.element_bytes != known.form.word_bytes) return false;
  split(work, known, on, 1, true);
  const std::int64_t most = end_to_end_limit(work, costs_of(on));
  return work.rows.total * work.element_bytes <= most && columns_end_to_end(work);
}

void finish(offer& made, const blocking& work, const facts& known, const cpu_costs& costs, double time) noexcept {
  share_out(made, known, costs, work.units());
  made.time = time * short_reads(known) + unit_starts(work, costs) + buffer_cost_in_cache(known, work.streaming, costs);
  made.binds = work.streaming ? bound::dram : bound::issue;
}

}  // namespace

bool offer_lines(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  packed_blocking cut;
  // The kernel has only non-temporal stores.
  if (!short_runs(cut, known, on, row) || !cut.streaming || has_short_gaps(cut)) return false;
  if (cut.rows.total * cut.element_bytes % 64 != 0) return false;
  const cpu_costs& costs = costs_of(on);
  cut_packed(cut, costs);
  made.emplace<lines_args>() = cut;
  // For 32 rows or more of 4 bytes or more, cpu_stream_strips stores from registers and is faster (stream/strips-inl.hpp).
  // Bytes lose against short_wide: 128 x 245388 0.14, short_wide 0.44 (Zen 4, 2026-11-23).
  // Many long rows: 128 x 61825 float32 0.30, packed 0.47 (Zen 3, 2026-11-25).
  const bool many = reads_long_rows(cut, costs);
  const double more = many                                             ? 0.6
                      : cut.element_bytes == 1                         ? 0.3
                      : cut.element_bytes >= 4 && cut.rows.total >= 32 ? costs.times.whole_lines_rows
                                                                       : 0;
  finish(made, cut, known, costs, costs.times.whole_lines + more);
  made.reason = "short dst runs of whole lines, contiguous with their neighbours: put together and written as one";
  return true;
}

bool offer_packed(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<packed_args>();
  if (!short_runs(work, known, on, row)) return false;
  const cpu_costs& costs = costs_of(on);
  cut_packed(work, costs);
  const double narrow = work.element_bytes == 1 ? 1 : work.element_bytes == 2 ? 0.35 : 0;
  const double time = costs.times.end_to_end + narrow * costs.times.narrow_rows / static_cast<double>(work.rows.total);
  finish(made, work, known, costs, time + short_gaps(work));
  made.reason = "short dst runs, contiguous with their neighbours: a panel of them is put together and written as one";
  return true;
}

bool offer_small(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  auto& work = made.emplace<small_args>();
  if (!short_runs(work, known, on, row)) return false;
  const cpu_costs& costs = costs_of(on);
  cut_packed(work, costs);
  if (work.outer.rank != 1 || work.rows.rank != 1 || work.cols.rank != 1 || work.panels() != 1) return false;
  const std::int64_t rows = work.rows.total, cols = work.cols.total, bytes = rows * cols * work.word_bytes;
  const bool powers =
      std::has_single_bit(static_cast<std::uint64_t>(rows)) && std::has_single_bit(static_cast<std::uint64_t>(cols));
  const bool contiguous = work.rows.axes[0].src_stride == cols && work.outer.axes[0].src_stride == rows * cols &&
                          work.outer.axes[0].dst_stride == rows * cols;
  const std::int64_t most =
      work.word_bytes >= 2 && stores_lines_from_registers(on.cpu->simd) ? small_lines_bytes : small_bytes;
  if (!powers || !contiguous || bytes < 16 || bytes > most) return false;
  finish(made, work, known, costs, costs.times.small_matrices);
  made.time = costs.times.small_matrices;  // src is read in order
  // If dst fits the cache, this kernel is for matrices that are too small for register_tile.
  // 64 bytes take 61 ns, byte shuffles 24 (Zen 4, 2026-11-30).
  constexpr double call_bytes = 1000;
  if (!work.streaming) made.time = (bytes <= small_bytes ? 0.9 : 1.5) + call_bytes / static_cast<double>(known.bytes);
  made.reason = "a batch of small matrices, contiguous on both sides: each is transposed in registers";
  return true;
}

}  // namespace cornerturn::kernels::cpu::end_to_end
