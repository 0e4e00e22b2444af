// Short dst runs that are contiguous with their neighbours: panels of them are collected in a buffer, which is written as one
// run when it is full. `fill` transposes rows into runs in the buffer.
#if defined(CORNERTURN_PACKED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_PACKED_INL
#undef CORNERTURN_PACKED_INL
#else
#define CORNERTURN_PACKED_INL
#endif

#include <array>

#include "kernels/cpu/page_prefetcher.hpp"
#include "kernels/cpu/policy/units-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t packed_buffer = 2048;  // loads and stores overlap only when they alternate this often

// Walks the units of a packed problem in the order of dst: all panels of an outer index, then the next outer index.
class packed_walk {
 public:
  packed_walk(const blocking& work, std::int64_t unit) noexcept
      : work_(&work),
        per_outer_(work.panels()),
        panel_(unit % per_outer_),
        outer_(work.outer, work.word_bytes, unit / per_outer_, false) {}
  // Starts at the first panel of the outer index of `outer`.
  packed_walk(const blocking& work, const odometer& outer) noexcept
      : work_(&work), per_outer_(work.panels()), panel_(0), outer_(outer) {}

  [[nodiscard]] HWY_INLINE std::int64_t col() const noexcept { return panel_ * work_->panel; }
  [[nodiscard]] HWY_INLINE std::int64_t src() const noexcept { return outer_.src() + col() * work_->src_col_bytes; }
  [[nodiscard]] HWY_INLINE std::int64_t dst(std::int64_t run_bytes) const noexcept {
    return outer_.dst() + col() * run_bytes;
  }
  HWY_INLINE void next() noexcept {
    if (++panel_ < per_outer_) return;
    panel_ = 0;
    outer_.next();
  }

 private:
  const blocking* work_;
  std::int64_t per_outer_;
  std::int64_t panel_;
  odometer outer_;
};

template <class Fill>
void move_packed(const packed_blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                 std::int64_t end, const Fill& fill) {
  const std::int64_t run_bytes = work.rows.total * work.element_bytes;  // of one column
  const std::int64_t piece = run_bytes * work.panel;
  const std::int64_t capacity =
      HWY_MAX(packed_buffer, piece + line_bytes);  // so an early flush writes more than a line: see stream_piece
  std::byte* const memory = scratch(line_bytes + capacity + slack_bytes + (Fill::spare_cols + 1) * run_bytes);
  if (memory == nullptr || work.rows.total > packed_rows) return move_without_buffer(work, src, dst, begin, end);
  std::byte* const buffer = memory + line_bytes;

  std::array<std::int64_t, packed_rows> offset;
  std::array<const std::byte*, packed_rows + strip_rows> row;
  odometer each_row(work.rows, work.word_bytes, 0, true);
  for (std::int64_t r = 0; r < work.rows.total; ++r, each_row.next())
    offset[static_cast<std::size_t>(r)] = each_row.src();

  std::byte* run = nullptr;  // the address in dst of the buffer's first byte
  std::int64_t filled = 0;
  bool first = true;
  alignas(64) std::byte carry[line_bytes] = {};
  const auto flush = [&](bool last) {
    if (filled == 0) return;
    if (work.streaming) {
      stream_piece(buffer, run, filled, carry, first, last);
    } else {
      store_piece(buffer, run, filled);
    }
    run += filled;
    filled = 0;
    first = last;
  };

  packed_walk walk(work, begin);
  const std::int64_t ahead = HWY_MIN(work.ahead_units, end - 1 - begin);
  packed_walk prefetcher = walk;
  if (work.panels() == 1) {
    const std::int64_t fetched = HWY_MIN(begin + work.ahead_units, work.outer.total - 1);
    prefetcher = packed_walk(work, odometer(work.read_order, work.word_bytes, fetched, false));
  } else {
    for (std::int64_t k = 0; k < ahead; ++k) prefetcher.next();
  }
  page_prefetcher pages = work.prefetches_pages ? page_prefetcher(src + walk.src()) : page_prefetcher();
  const std::int64_t top_strip = (work.rows.total - 1) / strip_rows * strip_rows;
  for (std::int64_t unit = begin; unit < end; ++unit, walk.next()) {
    const std::int64_t cols = HWY_MIN(work.panel, work.cols.total - walk.col());
    std::byte* const to = dst + walk.dst(run_bytes);
    if (to != run + filled) {
      flush(true);
      run = to;
    } else if (filled + piece > capacity) {
      flush(false);
    }
    const std::byte* const from = src + walk.src();
    const std::int64_t step = prefetcher.src() - walk.src();
    if (unit + ahead < end - 1) prefetcher.next();
    pages.fetch(cols * run_bytes);
    const auto rows = static_cast<std::size_t>(work.rows.total);
    for (std::size_t r = 0; r < rows; ++r) row[r] = from + offset[r];
    for (std::size_t r = rows; Fill::pads && r % strip_rows != 0; ++r) row[r] = row[rows - 1];
    // Strips in reverse order, so that later stores overwrite surplus rows: see last_first in block-inl.hpp.
    for (std::int64_t r = top_strip; r >= 0; r -= strip_rows) {
      const int count = static_cast<int>(HWY_MIN(std::int64_t{strip_rows}, work.rows.total - r));
      fill.packed({row.data() + r, work.prefetches_pages ? nullptr : row.data() + r, step, count}, cols,
                  buffer + filled + r * work.element_bytes, run_bytes);
    }
    filled += cols * run_bytes;
  }
  flush(true);
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
