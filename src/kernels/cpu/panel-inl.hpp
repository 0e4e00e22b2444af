// The panel walk of what is not cut into blocks of whole lines: single elements of any size and stride, panels of very
// few columns, and short runs that lie end to end in dst. `fill` says how rows become runs in the buffer.
//
//   1. a unit is a panel of columns times a chunk of rows; its dst runs are `panel` places in dst, written side by side
//   2. the rows are taken in groups, as many as make a piece of a dst run that is worth a visit (128 bytes)
//   3. a group is read 64 bytes of each row at a time into the buffer, strip by strip (16 rows): one row of the buffer
//      is one dst run's piece
//   4. the pieces are written out while they are in L1
// When the runs of a panel lie end to end in dst (`packed`), the buffer is one long run that is written when it is
// full.
#if defined(CORNERTURN_PANEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_PANEL_INL
#undef CORNERTURN_PANEL_INL
#else
#define CORNERTURN_PANEL_INL
#endif

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/block.hpp"
#include "kernels/cpu/lines-inl.hpp"
#include "kernels/cpu/odometer.hpp"
#include "kernels/cpu/pages.hpp"
#include "kernels/cpu/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t slack_bytes = 64;      // a padded strip stores up to a vector too much behind a run
inline constexpr std::int64_t packed_buffer = 2048;  // reads and stores overlap only when they alternate this often
inline constexpr std::int64_t packed_ahead = 8192;
inline constexpr std::int64_t short_row_bytes = 512;
inline constexpr std::int64_t short_run_bytes = 4096;  // and how far ahead such runs are fetched
inline constexpr std::int64_t packed_rows = 1024;      // more never are: see packed_bytes in plan/tuning.hpp

// Up to strip_rows rows of a group. The pointers beyond `count` repeat the last row, so that a block can always read
// whole.
struct strip {
  const std::byte* const* row;
  const std::byte* const* next;  // next[k] + step is where reading goes on when row k ends; null when nothing is known
  std::int64_t step;
  int count;
};

// The row pointers of a group and of the one after it.
class group_rows {
 public:
  // `memory` holds 2 * (group + strip_rows) pointers.
  group_rows(const job& work, const std::byte* src, std::int64_t row, std::int64_t rows, std::byte* memory) noexcept
      : walk_(work.rows, work.form.word_bytes, row, true),
        src_(src),
        stride_(work.rows.rank == 1 ? work.rows.axes[0].src_stride * work.form.word_bytes : 0),
        left_(rows),
        group_(work.group),
        now_(reinterpret_cast<const std::byte**>(memory)),
        next_(now_ + work.group + strip_rows) {
    next_count_ = list(next_);
  }

  // On to the next group; its number of rows, 0 at the end.
  HWY_INLINE std::int64_t advance() noexcept {
    std::swap(now_, next_);
    count_ = next_count_;
    next_count_ = list(next_);
    return count_;
  }

  [[nodiscard]] HWY_INLINE bool last() const noexcept { return next_count_ == 0; }
  [[nodiscard]] HWY_INLINE strip at(std::int64_t row) const noexcept {
    const bool known = row + strip_rows <= next_count_;
    return {now_ + row, known ? next_ + row : nullptr, 0,
            static_cast<int>(HWY_MIN(std::int64_t{strip_rows}, count_ - row))};
  }

 private:
  HWY_INLINE std::int64_t list(const std::byte** into) noexcept {
    const std::int64_t count = HWY_MIN(group_, left_);
    left_ -= count;
    if (rank_one()) {
      const std::byte* const base = src_ + walk_.src() + done_ * stride_;
      for (std::int64_t k = 0; k < count; ++k) into[k] = base + k * stride_;
      done_ += count;
    } else {
      for (std::int64_t k = 0; k < count; ++k, walk_.next()) into[k] = src_ + walk_.src();
    }
    for (int k = 0; k < (count == 0 ? 0 : strip_rows); ++k) into[count + k] = into[count - 1];
    return count;
  }
  [[nodiscard]] HWY_INLINE bool rank_one() const noexcept { return stride_ != 0; }

  odometer walk_;
  const std::byte* src_;
  std::int64_t stride_;  // of the only axis; 0 when there are more
  std::int64_t left_;
  std::int64_t group_;
  std::int64_t done_ = 0;
  const std::byte** now_;
  const std::byte** next_;
  std::int64_t count_ = 0;
  std::int64_t next_count_ = 0;
};

// Runs of rows that follow one another in src: the innermost row axis, piece by piece. For panels of very few columns,
// where a pointer for each row would be more traffic than the row.
class row_runs {
 public:
  row_runs(const job& work, const std::byte* src, std::int64_t row) noexcept
      : extent_(work.rows.axes[0].extent),
        stride_(work.rows.axes[0].src_stride * work.form.word_bytes),
        src_(src),
        at_(row % extent_) {
    chain beyond = work.rows;
    std::copy(beyond.axes.begin() + 1, beyond.axes.begin() + beyond.rank, beyond.axes.begin());
    --beyond.rank;
    outer_ = odometer(beyond, work.form.word_bytes, row / extent_, true);
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
  odometer outer_{chain{}, 1, 0, true};
};

// One unit of work: where it lies in src and dst.
struct unit_place {
  std::int64_t col = 0;  // first column
  std::int64_t cols = 0;
  std::int64_t row = 0;  // first row
  std::int64_t rows = 0;
};

HWY_INLINE unit_place place_of(const job& work, std::int64_t unit_in_outer) noexcept {
  unit_place here;
  const std::int64_t chunks = work.row_chunks();
  here.row = unit_in_outer % chunks * work.row_chunk;
  here.col = unit_in_outer / chunks * work.panel;
  here.rows = HWY_MIN(work.row_chunk, work.rows.total - here.row);
  here.cols = HWY_MIN(work.panel, work.cols.total - here.col);
  return here;
}

// Without memory for a buffer: one element at a time, straight to dst.
HWY_INLINE void move_without_buffer(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                                    std::int64_t end) {
  const std::int64_t per_outer = work.panels() * work.row_chunks();
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const odometer outer(work.outer, work.form.word_bytes, unit / per_outer, false);
    const unit_place here = place_of(work, unit % per_outer);
    odometer col(work.cols, work.form.word_bytes, here.col, true);
    for (std::int64_t c = 0; c < here.cols; ++c, col.next()) {
      odometer row(work.rows, work.form.word_bytes, here.row, true);
      for (std::int64_t r = 0; r < here.rows; ++r, row.next()) {
        std::memcpy(dst + outer.dst() + col.dst() + row.dst(), src + outer.src() + col.src() + row.src(),
                    static_cast<std::size_t>(work.element_bytes));
      }
    }
  }
}

// The units of a packed problem, panel by panel and then outer index by outer index: the order of dst.
class packed_walk {
 public:
  packed_walk(const job& work, std::int64_t unit) noexcept
      : work_(&work),
        per_outer_(work.panels()),
        panel_(unit % per_outer_),
        outer_(work.outer, work.form.word_bytes, unit / per_outer_, false) {}
  // The first panel of where the odometer is, and on.
  packed_walk(const job& work, const odometer& outer) noexcept
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
  const job* work_;
  std::int64_t per_outer_;
  std::int64_t panel_;
  odometer outer_;
};

// Packed: every (outer, panel) is a piece of a long dst run; pieces that follow one another in dst are gathered.
template <class Fill>
void move_packed(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end,
                 const Fill& fill) {
  const std::int64_t run_bytes = work.rows.total * work.element_bytes;  // of one column
  const std::int64_t piece = run_bytes * work.panel;
  const std::int64_t capacity =
      HWY_MAX(packed_buffer, piece + line_bytes);  // what is flushed early is more than a line
  std::byte* const memory = scratch(line_bytes + capacity + slack_bytes + (Fill::spare_cols + 1) * run_bytes);
  if (memory == nullptr || work.rows.total > packed_rows) return move_without_buffer(work, src, dst, begin, end);
  std::byte* const buffer = memory + line_bytes;

  std::array<std::int64_t, packed_rows> offset;
  std::array<const std::byte*, packed_rows + strip_rows> row;
  odometer each_row(work.rows, work.form.word_bytes, 0, true);
  for (std::int64_t r = 0; r < work.rows.total; ++r, each_row.next())
    offset[static_cast<std::size_t>(r)] = each_row.src();

  std::byte* run = nullptr;  // dst place of the buffer's first byte
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
  // What is fetched: one unit an outer index where orders alternate.
  const std::int64_t ahead = HWY_MIN(HWY_MAX(packed_ahead / piece, std::int64_t{1}), end - 1 - begin);
  packed_walk scout = walk;
  if (work.alternates) {
    scout = packed_walk(work, scout_of(work, begin, ahead, work.cols.total * work.element_bytes));
  } else {
    for (std::int64_t k = 0; k < ahead; ++k) scout.next();
  }
  page_scout pages = work.by_pages ? page_scout(src + walk.src()) : page_scout();
  const bool padded = !fill.joins_all();
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
    const std::int64_t step = scout.src() - walk.src();
    if (unit + ahead < end - 1) scout.next();
    pages.fetch(cols * run_bytes);
    const auto rows = static_cast<std::size_t>(work.rows.total);
    for (std::size_t r = 0; r < rows; ++r) row[r] = from + offset[r];
    for (std::size_t r = rows; padded && r % strip_rows != 0; ++r) row[r] = row[rows - 1];
    // Strips last first, for the same reason as in fill_strip.
    for (std::int64_t r = top_strip; r >= 0; r -= strip_rows) {
      const int count = static_cast<int>(HWY_MIN(std::int64_t{strip_rows}, work.rows.total - r));
      fill.packed({row.data() + r, work.by_pages ? nullptr : row.data() + r, step, count}, cols,
                  buffer + filled + r * work.element_bytes, run_bytes);
    }
    filled += cols * run_bytes;
  }
  flush(true);
  finish_streaming();
}

// The places in dst where the runs of a panel go.
HWY_INLINE void run_places(const job& work, std::int64_t col, std::int64_t cols, std::byte* dst,
                           std::byte** place) noexcept {
  odometer walk(work.cols, work.form.word_bytes, col, true);
  for (std::int64_t c = 0; c < cols; ++c) {
    place[c] = dst + walk.dst();
    walk.next();
  }
}

template <class Fill>
void move_panels(const job& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end,
                 const Fill& fill) {
  if (work.packed) return move_packed(work, src, dst, begin, end, fill);
  const std::int64_t e = work.element_bytes;
  constexpr auto pointer = static_cast<std::int64_t>(sizeof(std::byte*));
  // Columns at a time: a line of each row, or the whole of short rows, which then are read one after the other.
  const std::int64_t block = work.panel * e <= short_row_bytes ? work.panel : HWY_MAX(line_bytes / e, std::int64_t{1});
  const std::int64_t pitch = (line_bytes + work.group * e + slack_bytes - 1) / 64 * 64 + 64;
  const std::int64_t buffer_bytes = (block + Fill::spare_cols) * pitch;
  const std::int64_t carry_bytes = work.panel * line_bytes;
  const std::int64_t place_bytes = work.panel * pointer;
  std::byte* const memory = scratch(buffer_bytes + carry_bytes + place_bytes + 2 * (work.group + strip_rows) * pointer);
  if (memory == nullptr) return move_without_buffer(work, src, dst, begin, end);
  std::byte* const buffer = memory + line_bytes;  // of each run; the room for its carry is the line before
  std::byte* const carry = memory + buffer_bytes;
  std::byte** const place = reinterpret_cast<std::byte**>(carry + carry_bytes);
  std::byte* const pointers = carry + carry_bytes + place_bytes;

  // Columns c ... c + cols of the panel, which lie in the buffer from its begin on.
  const auto write_out = [&](std::int64_t c, std::int64_t cols, std::int64_t bytes, bool first, bool last) {
    std::byte* data = buffer;
    std::byte** to = place + c;
    std::byte* kept = carry + c * line_bytes;
    if (work.streaming && !first && !last) {
      for (std::int64_t k = 0; k < cols; ++k, data += pitch, ++to, kept += line_bytes) {
        stream_middle_piece(data, *to, bytes, kept);
        *to += bytes;
      }
      return;
    }
    for (std::int64_t k = 0; k < cols; ++k, data += pitch, ++to, kept += line_bytes) {
      if (work.streaming) {
        stream_piece(data, *to, bytes, kept, first, last);
      } else {
        store_piece(data, *to, bytes);
      }
      *to += bytes;
    }
  };

  const std::int64_t per_outer = work.panels() * work.row_chunks();
  odometer outer(work.outer, work.form.word_bytes, begin / per_outer, false);
  std::int64_t inner = begin % per_outer;
  page_scout pages;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const unit_place here = place_of(work, inner);
    run_places(work, here.col, here.cols, dst + outer.dst() + here.row * e, place);
    const std::byte* const from = src + outer.src() + here.col * work.src_col_bytes;
    if (fill.splits(here.cols)) {
      row_runs runs(work, from, here.row);
      // The hardware does not guess where a short run goes on.
      const std::int64_t run_bytes = work.rows.axes[0].extent * work.rows.axes[0].src_stride * work.form.word_bytes;
      const bool short_runs =
          work.streaming && !work.by_pages && work.rows.rank > 1 && base::magnitude(run_bytes) <= short_run_bytes;
      row_runs scout = runs;
      for (std::int64_t k = short_runs ? short_run_bytes / base::magnitude(run_bytes) : 0; k > 0; --k)
        scout.take(here.rows);
      for (std::int64_t row = 0; row < here.rows; row += work.group) {
        const std::int64_t group = HWY_MIN(work.group, here.rows - row);
        for (std::int64_t r = 0; r < group;) {
          const auto run = runs.take(group - r);
          if (work.by_pages && unit == begin && row + r == 0) pages = page_scout(run.from);
          pages.fetch(run.rows * here.cols * e);
          if (short_runs) {
            const auto ahead = scout.take(run.rows);
            for (std::int64_t k = 0; k < ahead.rows * here.cols * e; k += line_bytes) {
              __builtin_prefetch(ahead.from + k, 0, 2);
            }
          }
          fill.split(run.from, run.rows, here.cols, buffer + r * e, pitch);
          r += run.rows;
        }
        write_out(0, here.cols, group * e, row == 0, row + group == here.rows);
      }
    } else {
      group_rows rows(work, from, here.row, here.rows, pointers);
      bool first = true;
      while (const std::int64_t group = rows.advance()) {
        for (std::int64_t c = 0; c < here.cols; c += block) {
          const std::int64_t some = HWY_MIN(block, here.cols - c);
          for (std::int64_t r = 0; r < group; r += strip_rows) {
            fill.part(rows.at(r), c, some, here.cols, buffer + r * e, pitch);
          }
          write_out(c, some, group * e, first, rows.last());
        }
        first = false;
      }
    }
    if (++inner == per_outer) {
      inner = 0;
      outer.next();
    }
  }
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
