// How the offers of the CPU families split the axes of a problem into rows, columns and the rest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/blocking.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/family.hpp"

namespace cornerturn::kernels::cpu {

// The axes of a problem that nothing has taken yet.
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
  // The axis that continues `fused` in src or in dst.
  [[nodiscard]] const axis* next(std::int64_t axis::*stride, const fused_axes& fused) const noexcept;
  // The axes, innermost first, that are contiguous on one side, until they are `words` long.
  [[nodiscard]] fused_axes run_of(std::int64_t axis::*stride, std::int64_t words) const noexcept;

  void take(const axis* one, fused_axes& into) noexcept;
  void take_rest(fused_axes& into) noexcept;  // outermost in dst first, so that the last axis is the fastest

 private:
  std::array<axis, map::max_axes> left_{};
  int count_;
};

// True for problems of register blocks: an axis is contiguous in src, another one in dst.
[[nodiscard]] bool has_rows_and_columns(const facts& known) noexcept;

[[nodiscard]] inline bool is_one_run(const map::canonical& form) noexcept {
  return form.rank == 0 || (form.rank == 1 && form.axes[0].src_stride == 1 && form.axes[0].dst_stride == 1);
}

[[nodiscard]] inline bool fits_cache(const facts& known, const target& on) noexcept {
  return known.bytes <= std::max<std::int64_t>(cached_limit_bytes(*on.cpu) - known.beside_bytes, 0);
}

// Effect  fills word_bytes, element_bytes, rows, cols, outer, src_col_bytes, src_end_bytes and streaming. An element is
//         `unit` words: 1, or the extent of an inner run. With `fuses`, rows and columns may be several axes.
//         Where rows are few, columns that are contiguous in dst too make runs long enough to be written in lines. Where
//         rows are many, an axis that could lengthen either goes to the columns until a src row fills a panel
void split(blocking& work, const facts& known, const target& on, std::int64_t unit, bool fuses) noexcept;

// True when column c + 1 begins in dst where column c ends, for every c.
[[nodiscard]] bool columns_end_to_end(const blocking& work) noexcept;
// True when every dst run begins at a cache line, if dst does.
[[nodiscard]] bool runs_at_lines(const blocking& work) noexcept;
// True when the units in order read src from its begin to its end, for so many bytes at least; inside 16 KiB the order is
// free.
[[nodiscard]] bool reads_in_order(const blocking& work, std::int64_t bytes) noexcept;

// Effect  cuts the rows into chunks where there are fewer panels than threads need
void cut_rows(blocking& work, int threads) noexcept;

// Effect  cuts panels, groups and the prefetch for policy/panels-inl.hpp
void cut_panels(blocking& work, const cpu_costs& costs) noexcept;
// Effect  cuts panels for stream/strips-inl.hpp, whose dst has words of so many bytes; a panel holds whole blocks
void cut_strips(blocking& work, std::int64_t dst_word_bytes, const cpu_costs& costs) noexcept;
// Effect  cuts a panel of short runs that are contiguous in dst, and orders its prefetches
void cut_packed(packed_blocking& work, const cpu_costs& costs) noexcept;

// Consecutive dst runs are far apart in src. So the axis that is fastest in dst is cut in two, and the axis with the
// smallest src stride is walked between its parts: a few runs of dst, then the runs beside them in src.
// Returns false, and changes nothing, where no tile of the two axes pays
bool tile_outer_axes(fused_axes& outer, std::int64_t run_bytes, std::int64_t tile_bytes) noexcept;

// Effect  a prefetcher of runs of `piece_bytes` walks `order`, `ahead` runs before the run in work. Tiled outer axes are
//         fetched a whole tile ahead and in the order of src, where pieces are shorter than two lines
void order_prefetches(const fused_axes& outer, bool tiled, std::int64_t piece_bytes, fused_axes& order,
                      std::int64_t& ahead) noexcept;

// Predicted time where a src run is shorter than a line, so that each line is read several times; and where dst runs are
// short, so that each begins and ends inside a line.
[[nodiscard]] double with_short_runs(double time, const blocking& work, const facts& known) noexcept;
// How much of the time is lines that are read several times: 1 where src runs fill lines.
[[nodiscard]] double short_reads(const facts& known) noexcept;
// Bytes of a src run: of the columns, and of the rows where they continue it.
[[nodiscard]] std::int64_t src_run_bytes(const facts& known) noexcept;

// Effect  fills units and threads of an offer
void share_out(offer& made, const facts& known, const cpu_costs& costs, std::int64_t units) noexcept;

// The rows, columns and panels of an offer; null where its family has none.
[[nodiscard]] const blocking* blocking_of(const offer& made) noexcept;

}  // namespace cornerturn::kernels::cpu
