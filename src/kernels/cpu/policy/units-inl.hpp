// Helpers of all walks over rows and columns: the rows of a strip, runs of rows, and the rows and columns of a unit.
#if defined(CORNERTURN_UNITS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_UNITS_INL
#undef CORNERTURN_UNITS_INL
#else
#define CORNERTURN_UNITS_INL
#endif

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/blocking.hpp"
#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t slack_bytes = 64;       // a padded strip stores up to one surplus vector behind a run
inline constexpr std::int64_t short_row_bytes = 512;  // rows up to this length are read whole, one after another

// Up to strip_rows rows of a group. The pointers beyond `count` repeat the last row, so that a whole block can always be
// loaded.
struct strip {
  const std::byte* const* row;
  const std::byte* const* next;  // loads continue at next[k] + step after the end of row k; null: unknown
  std::int64_t step;
  int count;
};

// Runs of rows along the innermost row axis, piece by piece. For panels of very few columns: a pointer for each row would be
// more memory traffic than the row.
class row_runs {
 public:
  row_runs(const blocking& work, const std::byte* src, std::int64_t row) noexcept
      : extent_(work.rows.axes[0].extent),
        stride_(work.rows.axes[0].src_stride * work.word_bytes),
        src_(src),
        at_(row % extent_) {
    fused_axes beyond = work.rows;
    std::copy(beyond.axes.begin() + 1, beyond.axes.begin() + beyond.rank, beyond.axes.begin());
    --beyond.rank;
    outer_ = odometer(beyond, work.word_bytes, row / extent_, true);
  }

  struct run {
    const std::byte* from;
    std::int64_t rows;
  };
  // The next run, of at most `most` rows.
  HWY_INLINE run take(std::int64_t most) noexcept {
    const run next{src_ + outer_.src() + at_ * stride_, HWY_MIN(most, extent_ - at_)};
    at_ += next.rows;
    if (at_ == extent_) {
      at_ = 0;
      outer_.next();
    }
    return next;
  }

 private:
  std::int64_t extent_;
  std::int64_t stride_;
  const std::byte* src_;
  std::int64_t at_;
  odometer outer_{fused_axes{}, 1, 0, true};
};

// The rows and columns of one unit of work.
struct unit_place {
  std::int64_t col = 0;  // first column
  std::int64_t cols = 0;
  std::int64_t row = 0;  // first row
  std::int64_t rows = 0;
};

HWY_INLINE unit_place place_of(const blocking& work, std::int64_t unit_in_outer) noexcept {
  unit_place here;
  const std::int64_t chunks = work.row_chunks();
  here.row = unit_in_outer % chunks * work.row_chunk;
  here.col = unit_in_outer / chunks * work.panel;
  here.rows = HWY_MIN(work.row_chunk, work.rows.total - here.row);
  here.cols = HWY_MIN(work.panel, work.cols.total - here.col);
  return here;
}

// Without memory for a buffer: one element at a time, straight to dst. copy(row, column, to) copies the element that is
// `column` bytes behind the begin of its row.
template <class Copy>
HWY_INLINE void move_without_buffer(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                                    std::int64_t end, const Copy& copy) {
  const std::int64_t per_outer = work.panels() * work.row_chunks();
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const odometer outer(work.outer, work.word_bytes, unit / per_outer, false);
    const unit_place here = place_of(work, unit % per_outer);
    odometer col(work.cols, work.word_bytes, here.col, true);
    for (std::int64_t c = 0; c < here.cols; ++c, col.next()) {
      odometer row(work.rows, work.word_bytes, here.row, true);
      for (std::int64_t r = 0; r < here.rows; ++r, row.next()) {
        copy(src + outer.src() + row.src(), col.src(), dst + outer.dst() + col.dst() + row.dst());
      }
    }
  }
}
HWY_INLINE void move_without_buffer(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                                    std::int64_t end) {
  const auto bytes = static_cast<std::size_t>(work.element_bytes);
  move_without_buffer(work, src, dst, begin, end, [bytes](const std::byte* row, std::int64_t column, std::byte* to) {
    std::memcpy(to, row + column, bytes);
  });
}

// Fills `place` with the dst addresses of the runs of a panel.
HWY_INLINE void run_places(const blocking& work, std::int64_t col, std::int64_t cols, std::byte* dst,
                           std::byte** place) noexcept {
  odometer walk(work.cols, work.word_bytes, col, true);
  for (std::int64_t c = 0; c < cols; ++c) {
    place[c] = dst + walk.dst();
    walk.next();
  }
}

// A strip of a unit: up to Side rows. A strip with fewer rows repeats its last row, so that a whole block can always be
// loaded.
template <std::size_t Side>
struct strip_of_rows {
  const std::byte* row[Side];
  std::int64_t count = 0;      // 0: there are no more strips
  std::int64_t row_bytes = 0;  // bytes of a row of the panel
  std::int64_t number = 0;     // strips of the unit before this one
  bool last = false;           // the last strip of its unit
  unit_place unit;
  std::int64_t outer_dst = 0;
};

// Walks the strips of the units [begin, end), one after another.
template <std::size_t Side>
class strip_walk {
 public:
  strip_walk(const blocking& work, const std::byte* src, std::int64_t begin, std::int64_t end) noexcept
      : work_(work),
        src_(src),
        per_outer_(work.panels() * work.row_chunks()),
        inner_(begin % per_outer_),
        left_(end - begin),
        stride_(work.rows.rank == 1 ? work.rows.axes[0].src_stride * work.word_bytes : 0),
        outer_(work.outer, work.word_bytes, begin / per_outer_, false),
        rows_(work.rows, work.word_bytes, 0, true) {
    if (left_ > 0) enter();
  }

  HWY_INLINE void next(strip_of_rows<Side>& into) noexcept {
    into.count = HWY_MIN(rows_left_, std::int64_t{Side});
    if (into.count == 0) return;
    into.row_bytes = unit_.cols * work_.src_col_bytes;
    into.number = number_++;
    into.unit = unit_;
    into.outer_dst = outer_.dst();
    if (stride_ != 0) {
      for (std::int64_t k = 0; k < into.count; ++k) into.row[k] = from_ + k * stride_;
      from_ += into.count * stride_;
    } else {
      for (std::int64_t k = 0; k < into.count; ++k, rows_.next()) into.row[k] = from_ + rows_.src();
    }
    for (std::size_t k = static_cast<std::size_t>(into.count); k < Side; ++k) into.row[k] = into.row[k - 1];
    rows_left_ -= into.count;
    into.last = rows_left_ == 0;
    if (into.last && --left_ > 0) {
      if (++inner_ == per_outer_) {
        inner_ = 0;
        outer_.next();
      }
      enter();
    }
  }

 private:
  HWY_NOINLINE void enter() noexcept {
    unit_ = place_of(work_, inner_);
    rows_left_ = unit_.rows;
    number_ = 0;
    from_ = src_ + outer_.src() + unit_.col * work_.src_col_bytes;
    if (stride_ != 0) {
      from_ += unit_.row * stride_;
    } else {
      rows_ = odometer(work_.rows, work_.word_bytes, unit_.row, true);
    }
  }

  const blocking& work_;
  const std::byte* src_;
  std::int64_t per_outer_;
  std::int64_t inner_;
  std::int64_t left_;
  std::int64_t stride_;  // src stride of the only row axis, in bytes; 0: there are several
  odometer outer_;
  odometer rows_;
  unit_place unit_;
  std::int64_t rows_left_ = 0;
  std::int64_t number_ = 0;
  const std::byte* from_ = nullptr;
};

// The current strip and the strips after it. It finds the lines that are to be prefetched.
template <std::size_t Side>
class strip_queue {
 public:
  strip_queue(const blocking& work, const std::byte* src, std::int64_t begin, std::int64_t end) noexcept
      : walk_(work, src, begin, end) {
    for (strip_of_rows<Side>& one : strips_) walk_.next(one);
  }

  [[nodiscard]] HWY_INLINE const strip_of_rows<Side>& front() const noexcept { return strips_[front_]; }
  HWY_INLINE void pop() noexcept {
    walk_.next(strips_[front_]);
    front_ = (front_ + 1) % strips_.size();
  }

  struct target {
    const std::byte* const* row;
    std::int64_t offset;
    std::int64_t blocks;  // blocks from there to the end of the strip, at least 1
  };
  // A block is block_bytes of each row. Returns the block that is `block` blocks after the first block of the front strip, or the
  // last known block.
  [[nodiscard]] HWY_INLINE target find(std::int64_t block, std::int64_t block_bytes) const noexcept {
    std::size_t at = front_;
    std::int64_t blocks = base::ceil_div(strips_[at].row_bytes, block_bytes);
    for (std::size_t k = 1; block >= blocks; ++k) {
      const std::size_t after = (at + 1) % strips_.size();
      if (k == strips_.size() || strips_[after].count == 0) {
        block = blocks - 1;
        break;
      }
      block -= blocks;
      at = after;
      blocks = base::ceil_div(strips_[at].row_bytes, block_bytes);
    }
    return {strips_[at].row, block * block_bytes, blocks - block};
  }

 private:
  strip_walk<Side> walk_;
  std::array<strip_of_rows<Side>, 8> strips_;
  std::size_t front_ = 0;
};

// Transposes a block that the end of the panel cuts off, quarter by quarter. The last quarter goes through a copy if it must
// not load beyond the end of the rows.
template <std::size_t Word>
HWY_NOINLINE void part_of_block(const std::byte* const* row, std::int64_t offset, std::int64_t cols,
                                std::byte* const (&to)[4], std::int64_t pitch, const std::byte* readable_end) {
  using small = tall_block<Word, 16>;
  constexpr std::size_t side = line_block<Word>::side;
  constexpr auto word = static_cast<std::int64_t>(Word);
  alignas(16) std::byte copy[side][16];
  const std::byte* copied[side];
  for (int quarter = 0; cols > 0; cols -= 16 / word, offset += 16, ++quarter) {
    const std::byte* const* from = row;
    std::int64_t at = offset;
    if (cols < 16 / word &&
        (readable_end == nullptr || *std::max_element(row, row + side) + offset + 16 > readable_end)) {
      for (std::size_t k = 0; k < side; ++k) {
        copied[k] = copy[k];
        std::memcpy(copy[k], row[k] + offset, static_cast<std::size_t>(cols * word));
      }
      from = copied;
      at = 0;
    }
    for (std::size_t r = 0; r < side; r += small::rows) {
      small::move(from + r, at, to[quarter] + static_cast<std::int64_t>(r * Word), pitch);
    }
  }
}

// True when every dst run begins at a multiple of `unit` bytes, a power of two.
[[nodiscard]] HWY_INLINE bool runs_begin_at(const blocking& work, const std::byte* dst, std::uintptr_t unit) noexcept {
  std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(dst);
  const auto word = static_cast<std::uintptr_t>(work.word_bytes);
  for (int k = 0; k < work.cols.rank; ++k) bits |= static_cast<std::uintptr_t>(work.cols.axes[k].dst_stride) * word;
  for (int k = 0; k < work.outer.rank; ++k) bits |= static_cast<std::uintptr_t>(work.outer.axes[k].dst_stride) * word;
  if (work.row_chunk != work.rows.total) bits |= static_cast<std::uintptr_t>(work.row_chunk * work.element_bytes);
  return bits % unit == 0;
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
