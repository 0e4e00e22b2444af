// How the offers of the CPU families split the axes of a problem into rows, columns and outer axes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/blocking.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/family.hpp"

namespace cornerturn::kernels::cpu {

// The axes of a problem that are not yet assigned to rows, columns or outer axes.
class axis_pool {
 public:
  explicit axis_pool(const map::canonical& form) noexcept;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  template <class Test>
  [[nodiscard]] const axis* find_if(const Test& test) const noexcept {
    const axis* const end = left_.data() + count_;
    const axis* const found = std::find_if(left_.data(), end, test);
    return found == end ? nullptr : found;
  }
  [[nodiscard]] const axis* find(std::int64_t axis::*stride, std::int64_t value) const noexcept {
    return find_if([&](const axis& one) { return one.*stride == value; });
  }
  [[nodiscard]] const axis* last() const noexcept { return left_.data() + count_ - 1; }
  [[nodiscard]] const axis* smallest(std::int64_t axis::*stride) const noexcept;
  // The axis that continues `fused` in the array that `stride` names, src or dst. Null: no axis does.
  [[nodiscard]] const axis* next(std::int64_t axis::*stride, const fused_axes& fused) const noexcept;
  // The contiguous axes of the array that `stride` names, innermost first, until they are `words` long.
  [[nodiscard]] fused_axes run_of(std::int64_t axis::*stride, std::int64_t words) const noexcept;

  void take(const axis* one, fused_axes& into) noexcept;
  void take_rest(fused_axes& into) noexcept;  // outermost in dst first, so that the last axis is the fastest

 private:
  std::array<axis, map::max_axes> left_{};
  int count_;
};

// True for problems that suit register blocks: one axis is contiguous in src and a different one in dst.
[[nodiscard]] bool has_rows_and_columns(const facts& known) noexcept;

[[nodiscard]] inline bool is_one_run(const map::canonical& form) noexcept {
  return form.rank == 0 || (form.rank == 1 && form.axes[0].src_stride == 1 && form.axes[0].dst_stride == 1);
}

// A call of a walk through a buffer takes 50 to 200 ns to begin; a copy in cache moves so many bytes meanwhile. 3 x 3 to 5 x 7 words: 75
// to 120 ns, cpu_copy_elements 15 to 25 (Intel Xeon, model 207, 2026-11-27; Zen 4, 2026-11-30).
inline constexpr double start_bytes_in_cache = 3000;
inline constexpr double lines_start_bytes = 6000;      // of walks that stage lines
inline constexpr double elements_start_bytes = 16000;  // of walks for elements of any size
// Added to such walks when dst fits the cache: they copy twice.
[[nodiscard]] inline double buffer_cost_in_cache(const facts& known, bool streaming, const cpu_costs& costs,
                                                 double start_bytes = start_bytes_in_cache) noexcept {
  return streaming ? 0 : costs.times.buffered_in_cache + start_bytes / static_cast<double>(known.bytes);
}

// Finds the axes of an item: the fewest axes that are contiguous in src and in dst, and differ in order. False if an item would
// have more than `most` bytes.
[[nodiscard]] bool find_item(const facts& known, std::int64_t most, fused_axes& inner, fused_axes& outer) noexcept;

// Words of an element: the length of an inner run that is contiguous in src and dst, else 1. 0: no axis continues the dst
// run.
[[nodiscard]] std::int64_t element_words(const facts& known) noexcept;

// Effect  fills word_bytes, element_bytes, rows, cols, outer, src_col_bytes, src_end_bytes and streaming. An element is
//         `unit` words: 1, or the extent of an inner run. With `fuses`, rows and columns may be several axes.
//         Few rows: only columns that are also contiguous in dst are fused, so that runs are long enough to be written in
//         lines. Many rows: an axis that could lengthen rows or columns goes to the columns until a src row fills a panel
void split(blocking& work, const facts& known, const target& on, std::int64_t unit, bool fuses) noexcept;

// True when column c + 1 begins in dst where column c ends, for every c.
[[nodiscard]] bool columns_end_to_end(const blocking& work) noexcept;
// True when src has more rows than the hardware prefetchers follow, they are long, and this machine gains from reading
// end_to_end_row_bytes of each at a time.
[[nodiscard]] bool reads_long_rows(const blocking& work, const cpu_costs& costs) noexcept;
// The longest dst runs, in bytes, that are put together with their neighbours.
[[nodiscard]] std::int64_t end_to_end_limit(const blocking& work, const cpu_costs& costs) noexcept;
// True when dst steps of these axes are whole lines.
[[nodiscard]] bool steps_are_lines(const fused_axes& all, std::int64_t word_bytes) noexcept;
// True when every dst run begins at a cache line, provided that dst does.
[[nodiscard]] bool runs_at_lines(const blocking& work) noexcept;
// True when consecutive units read `bytes` bytes or more of src from begin to end. Inside 16 KiB the order is free.
[[nodiscard]] bool reads_in_order(const blocking& work, std::int64_t bytes) noexcept;

// Effect  cuts the rows into chunks when there are fewer panels than threads_for() needs
void cut_rows(blocking& work, const facts& known, const cpu_costs& costs) noexcept;

// Effect  sets panel, group and prefetch_bytes for policy/panels-inl.hpp
void cut_panels(blocking& work, const cpu_costs& costs) noexcept;
// Effect  sets panel, group and prefetch_bytes for stream/strips-inl.hpp. A panel holds whole blocks of words of
//         dst_word_bytes
void cut_strips(blocking& work, std::int64_t dst_word_bytes, const cpu_costs& costs) noexcept;
// Effect  cuts a panel of short runs that are contiguous in dst, and orders its prefetches
void cut_packed(packed_blocking& work, const cpu_costs& costs) noexcept;

// Consecutive dst runs are far apart in src. So the axis that is fastest in dst is cut in two, and the axis with the
// smallest src stride is walked between its parts: a few runs of dst, then the runs beside them in src.
// Returns false, and changes nothing, when no tile of the two axes pays
bool tile_outer_axes(fused_axes& outer, std::int64_t run_bytes, std::int64_t tile_bytes) noexcept;

// Effect  sets `order` and `ahead`: a prefetcher of runs of `piece_bytes` walks `order`, `ahead` runs before the current
//         one. Pieces shorter than two lines of tiled axes are prefetched a whole tile ahead and in the order of src
void order_prefetches(const fused_axes& outer, bool tiled, std::int64_t piece_bytes, fused_axes& order,
                      std::int64_t& ahead) noexcept;

// The roof of a problem whose elements are a step apart: bytes of the lines that hold elements, in times of a copy of the elements.
// Lines of src are loaded; lines of dst that are not written whole are loaded, too. 1 if there is no step.
[[nodiscard]] double roof_of(const map::canonical& form) noexcept;

// `time` plus the cost of short runs: a src run shorter than a line makes each line be read several times, and a short dst
// run begins and ends inside a line.
[[nodiscard]] double with_short_runs(double time, const blocking& work, const facts& known) noexcept;
// Bytes of src that are read for each byte of short columns, if the rows of a dst run have no line of src in common; else 0.
[[nodiscard]] double short_far_rows(const blocking& work) noexcept;
// Time that the start of a unit adds if a unit is a whole small matrix.
[[nodiscard]] double unit_starts(const blocking& work, const cpu_costs& costs) noexcept;
// True when dst is written in short pieces with gaps behind them that begin or end inside lines. Then ordinary stores are faster.
[[nodiscard]] bool has_short_gaps(const blocking& work) noexcept;
inline constexpr std::int64_t short_gaps_bytes = 2900;  // most bytes of such a piece
// Time that such gaps add to walks with non-temporal stores.
[[nodiscard]] double short_gaps(const blocking& work) noexcept;
// Factor of the time for lines that are read several times: 1 when src runs fill lines.
[[nodiscard]] double short_reads(const facts& known) noexcept;
// Bytes of a src run: the columns, and the rows too when they continue it.
[[nodiscard]] std::int64_t src_run_bytes(const facts& known) noexcept;

// Number of threads that pay for a problem of `bytes`, at most `most`.
[[nodiscard]] inline int threads_for(std::int64_t bytes, int most, const cpu_costs& costs) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>(bytes / (costs.thread_bytes / 2), 1, std::max(most, 1)));
}

// Effect  sets units and threads of an offer: threads_for() of its bytes, never more than units
void share_out(offer& made, const facts& known, const cpu_costs& costs, std::int64_t units) noexcept;

// The rows, columns and panels of an offer; null: its arguments have none.
[[nodiscard]] const blocking* blocking_of(const offer& made) noexcept;

}  // namespace cornerturn::kernels::cpu
