// Short dst runs that are whole lines and contiguous one after another: many middle-sized matrices, or few rows.
//
//   1. the columns are taken in blocks of 64 / word. A block is transposed strip by strip into a buffer, where it makes one
//      contiguous piece of dst
//   2. there are two buffers. While a strip goes into one buffer, as much of the other buffer (the block before) is stored,
//      and as much of a later block is prefetched. Loads and stores overlap only when they alternate often
//
// dst may begin inside a line: the last, unfinished line of a piece is copied in front of the next piece.
#if defined(CORNERTURN_WHOLE_LINES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_WHOLE_LINES_INL
#undef CORNERTURN_WHOLE_LINES_INL
#else
#define CORNERTURN_WHOLE_LINES_INL
#endif

#include <array>

#include "kernels/cpu/page_prefetcher.hpp"
#include "kernels/cpu/policy/units-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Walks the blocks of the units [begin, end), one after another.
template <std::int64_t Side>
class block_walk {
 public:
  block_walk(const blocking& work, std::int64_t begin, std::int64_t end) noexcept
      : work_(work),
        run_bytes_(work.rows.total * work.word_bytes),
        per_outer_(work.panels()),
        panel_(begin % per_outer_),
        left_(end - begin),
        outer_(work.outer, work.word_bytes, begin / per_outer_, false) {
    if (left_ > 0) enter();
  }

  [[nodiscard]] HWY_INLINE bool done() const noexcept { return left_ == 0; }
  [[nodiscard]] HWY_INLINE std::int64_t src() const noexcept { return outer_.src() + col_ * work_.src_col_bytes; }
  [[nodiscard]] HWY_INLINE std::int64_t dst() const noexcept { return outer_.dst() + col_ * run_bytes_; }
  [[nodiscard]] HWY_INLINE std::int64_t cols() const noexcept { return HWY_MIN(Side, end_ - col_); }

  HWY_INLINE void next() noexcept {
    col_ += Side;
    if (col_ < end_) return;
    if (--left_ == 0) {
      col_ -= Side;  // stays at the last block, because the prefetcher may ask again
      return;
    }
    if (++panel_ == per_outer_) {
      panel_ = 0;
      outer_.next();
    }
    enter();
  }

 private:
  HWY_INLINE void enter() noexcept {
    col_ = panel_ * work_.panel;
    end_ = HWY_MIN(col_ + work_.panel, work_.cols.total);
  }

  const blocking& work_;
  std::int64_t run_bytes_;
  std::int64_t per_outer_;
  std::int64_t panel_;
  std::int64_t left_;
  odometer outer_;
  std::int64_t col_ = 0;
  std::int64_t end_ = 0;
};

// Stores a piece from its buffer to dst, line by line.
class piece_writer {
 public:
  // Begins the piece of `bytes` at `data`, which goes to `to`. There is room for a line before `data`.
  HWY_INLINE void begin(std::byte* data, std::byte* to, std::int64_t bytes) noexcept {
    const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
    if (to != end_) {
      finish();
      if (a != 0) std::memcpy(to, data, static_cast<std::size_t>(line_bytes - a));
      from_ = a == 0 ? data : data - a + line_bytes;
      to_ = a == 0 ? to : to - a + line_bytes;
    } else {
      if (a != 0) std::memcpy(data - line_bytes, data_end_ - line_bytes, line_bytes);
      from_ = data - a;
      to_ = to - a;
    }
    data_end_ = data + bytes;
    end_ = to + bytes;
  }

  [[nodiscard]] HWY_INLINE std::int64_t lines() const noexcept { return (end_ - to_) / line_bytes; }
  HWY_INLINE void line() noexcept {
    stream_line(from_, to_);
    from_ += line_bytes;
    to_ += line_bytes;
  }
  HWY_INLINE void rest() noexcept {
    while (lines() > 0) line();
  }
  // Stores the unfinished line of the last piece.
  HWY_INLINE void finish() noexcept {
    if (to_ != end_) std::memcpy(to_, from_, static_cast<std::size_t>(end_ - to_));
    to_ = end_;
  }

 private:
  const std::byte* from_ = nullptr;
  const std::byte* data_end_ = nullptr;
  std::byte* to_ = nullptr;
  std::byte* end_ = nullptr;
};

template <std::size_t Word>
void move_whole_lines(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end,
                      const std::byte* readable_end) {
  constexpr auto side = static_cast<std::int64_t>(line_block<Word>::side);
  constexpr std::int64_t quarter_cols = side / 4;
  const std::int64_t rows = work.rows.total;
  const std::int64_t strips = rows / side;
  const std::int64_t run_bytes = rows * static_cast<std::int64_t>(Word);
  const std::int64_t buffer_bytes = line_bytes + (side + quarter_cols) * run_bytes;
  std::byte* const memory = scratch(2 * buffer_bytes);
  if (memory == nullptr) return move_without_buffer(work, src, dst, begin, end);

  std::array<std::int64_t, packed_rows> offset;
  odometer each_row(work.rows, work.word_bytes, 0, true);
  for (std::int64_t r = 0; r < rows; ++r, each_row.next()) offset[static_cast<std::size_t>(r)] = each_row.src();

  block_walk<side> walk(work, begin, end);
  block_walk<side> prefetcher = walk;
  const std::int64_t far = HWY_MAX(work.prefetch_bytes / (line_bytes * rows), std::int64_t{1});
  for (std::int64_t k = 0; k < far; ++k) prefetcher.next();
  page_prefetcher pages(src + walk.src());
  const auto fetch = [&](const std::byte* line) {
    if (work.prefetches_pages) {
      pages.fetch(line_bytes);
    } else {
      __builtin_prefetch(line, 0, 2);
    }
  };
  piece_writer writer;
  for (std::int64_t turn = 0; !walk.done(); walk.next(), prefetcher.next(), turn ^= 1) {
    std::byte* const data = memory + turn * buffer_bytes + line_bytes;
    const std::byte* const from = src + walk.src();
    const std::byte* const ahead = src + prefetcher.src();
    const std::int64_t cols = walk.cols();
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      const std::int64_t* const at = offset.data() + strip * side;
      const std::byte* row[side];
      for (std::int64_t k = 0; k < side; ++k) row[k] = from + at[k];
      std::byte* const to = data + strip * line_bytes;
      const std::int64_t quarter = quarter_cols * run_bytes;
      std::byte* const quarters[] = {to, to + quarter, to + 2 * quarter, to + 3 * quarter};
      if (cols == side) {
        line_block<Word>::move(row, 0, quarters, run_bytes);
      } else {
        part_of_block<Word>(row, 0, cols, quarters, run_bytes, readable_end);
      }
      std::int64_t k = 0;
      for (const std::int64_t lines = HWY_MIN(writer.lines(), side); k < lines; ++k) {
        fetch(ahead + at[k]);
        writer.line();
      }
      for (; k < side; ++k) fetch(ahead + at[k]);
    }
    writer.rest();
    writer.begin(data, dst + walk.dst(), cols * run_bytes);
  }
  writer.rest();
  writer.finish();
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
