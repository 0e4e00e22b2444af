// The panel walk. `fill` transposes rows into runs in the buffer.
//
//   1. a unit is a panel of columns times a chunk of rows. Its `panel` dst runs are written side by side
//   2. the rows are taken in groups: `group` rows make a piece of each dst run that is long enough to store efficiently
//   3. a group is loaded into the buffer 64 bytes of each row at a time, strip by strip (16 rows). A row of the buffer is
//      the piece of one dst run. block_fill::part (fill-inl.hpp) cuts a strip into the register blocks of block-inl.hpp
//   4. the pieces are written while they are in L1: write() below
#if defined(CORNERTURN_PANELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_PANELS_INL
#undef CORNERTURN_PANELS_INL
#else
#define CORNERTURN_PANELS_INL
#endif

#include "kernels/cpu/policy/units-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// The row pointers of a group, and of the group after it for prefetches.
class group_rows {
 public:
  // `memory` holds 2 * (group + strip_rows) pointers.
  group_rows(const blocking& work, const std::byte* src, std::int64_t row, std::int64_t rows,
             std::byte* memory) noexcept
      : walk_(work.rows, work.word_bytes, row, true),
        src_(src),
        stride_(work.rows.rank == 1 ? work.rows.axes[0].src_stride * work.word_bytes : 0),
        left_(rows),
        group_(work.group),
        now_(reinterpret_cast<const std::byte**>(memory)),
        next_(now_ + work.group + strip_rows) {
    next_count_ = list(next_);
  }

  // Goes to the next group. Returns its number of rows, 0 at the end.
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
  std::int64_t stride_;  // src stride of the only row axis, in bytes; 0: there are several
  std::int64_t left_;
  std::int64_t group_;
  std::int64_t done_ = 0;
  const std::byte** now_;
  const std::byte** next_;
  std::int64_t count_ = 0;
  std::int64_t next_count_ = 0;
};

// 4. Streams a piece that is neither the first nor the last of its run. `carry` keeps the part of its last line for the next
// piece.
HWY_INLINE void stream_middle_piece(std::byte* data, std::byte* to, std::int64_t bytes, std::byte* carry) {
  const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
  if (a != 0) std::memcpy(data - line_bytes, carry, line_bytes);
  const std::byte* from = data - a;
  std::byte* line = to - a;
  for (std::int64_t left = bytes + a; left >= line_bytes; left -= line_bytes, from += line_bytes, line += line_bytes) {
    stream_line(from, line);
  }
  if (line != to + bytes) std::memcpy(carry, data + bytes - line_bytes, line_bytes);
}

// Memory of a panel: a buffer for the pieces of some columns, and for each column a carry and its address in dst.
class panel_buffer {
 public:
  // Makes room for `spare_cols` surplus columns that a block may store, and for `more` bytes of the caller. If there is no
  // memory, data() is null.
  panel_buffer(const blocking& work, std::int64_t spare_cols, std::int64_t more) noexcept
      // Columns that are filled at once: all of a short row, one line of a longer one.
      : cols_(work.panel * work.element_bytes <= short_row_bytes
                  ? work.panel
                  : HWY_MAX(line_bytes / work.element_bytes, std::int64_t{1})),
        pitch_((line_bytes + work.group * work.element_bytes + slack_bytes - 1) / 64 * 64 + 64),
        streaming_(work.streaming) {
    const std::int64_t buffer_bytes = (cols_ + spare_cols) * pitch_;
    const std::int64_t carry_bytes = work.panel * line_bytes;
    const std::int64_t place_bytes = work.panel * static_cast<std::int64_t>(sizeof(std::byte*));
    std::byte* const memory = scratch(buffer_bytes + carry_bytes + place_bytes + more);
    if (memory == nullptr) return;
    data_ = memory + line_bytes;  // the room for a run's carry is the line before
    carry_ = memory + buffer_bytes;
    place_ = reinterpret_cast<std::byte**>(carry_ + carry_bytes);
    more_ = carry_ + carry_bytes + place_bytes;
  }

  [[nodiscard]] HWY_INLINE std::int64_t cols() const noexcept { return cols_; }  // columns that the buffer holds
  [[nodiscard]] HWY_INLINE std::int64_t pitch() const noexcept { return pitch_; }
  [[nodiscard]] HWY_INLINE std::byte* data() const noexcept { return data_; }
  [[nodiscard]] HWY_INLINE std::byte** place() const noexcept { return place_; }
  [[nodiscard]] HWY_INLINE std::byte* more() const noexcept { return more_; }

  // Writes `bytes` bytes of each of the columns [c, c + cols) of the panel. Column c is at the begin of the buffer.
  HWY_INLINE void write(std::int64_t c, std::int64_t cols, std::int64_t bytes, bool first, bool last) const {
    std::byte* data = data_;
    std::byte** to = place_ + c;
    std::byte* kept = carry_ + c * line_bytes;
    if (streaming_ && !first && !last) {
      for (std::int64_t k = 0; k < cols; ++k, data += pitch_, ++to, kept += line_bytes) {
        stream_middle_piece(data, *to, bytes, kept);
        *to += bytes;
      }
      return;
    }
    for (std::int64_t k = 0; k < cols; ++k, data += pitch_, ++to, kept += line_bytes) {
      if (streaming_) {
        stream_piece(data, *to, bytes, kept, first, last);
      } else {
        store_piece(data, *to, bytes);
      }
      *to += bytes;
    }
  }

  // Prefetches the lines of dst that store_apart() writes.
  HWY_INLINE void fetch_apart(std::int64_t c, std::int64_t cols, std::int64_t bytes) const {
    for (std::int64_t k = 0; k < cols; ++k) {
      for (std::int64_t b = 0; b < bytes + line_bytes - 1; b += line_bytes)
        __builtin_prefetch(place_[c + k] + HWY_MIN(b, bytes - 1), 1, 3);
    }
  }
  // write() for dst runs with gaps between their rows.
  template <class Fill>
  HWY_INLINE void store_apart(std::int64_t c, std::int64_t cols, std::int64_t rows, const Fill& fill) const {
    constexpr std::int64_t together = 16;
    const std::byte* data[together];
    for (std::int64_t k = 0; k < cols; k += together) {
      const std::int64_t some = HWY_MIN(together, cols - k);
      std::byte** const to = place_ + c + k;
      for (std::int64_t i = 0; i < some; ++i) data[i] = data_ + (k + i) * pitch_;
      fill.store_apart(data, to, some, rows);
      for (std::int64_t i = 0; i < some; ++i) to[i] += rows * fill.dst_row_bytes();
    }
  }

 private:
  std::int64_t cols_;
  std::int64_t pitch_;
  bool streaming_;
  std::byte* data_ = nullptr;
  std::byte* carry_ = nullptr;
  std::byte** place_ = nullptr;
  std::byte* more_ = nullptr;
};

// Fill is block_fill or another class of fill-inl.hpp. It has
//   part(rows, c, cols, panel_cols, to, pitch)   transposes words [c, c + cols) of each row of the strip into runs in the buffer
//   spare_cols                                   surplus columns that its last block may store
// and, if rows may have gaps between them in dst:
//   has_gaps(), dst_row_bytes()                  from one row to the next in dst
//   store_apart(data, to, pieces, rows)          stores some pieces
template <class Fill>
void move_panels(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end,
                 const Fill& fill) {
  const std::int64_t e = work.element_bytes;
  std::int64_t dst_row = e;
  if constexpr (requires { fill.has_gaps(); }) dst_row = fill.dst_row_bytes();
  const panel_buffer buffer(work, Fill::spare_cols,
                            2 * (work.group + strip_rows) * static_cast<std::int64_t>(sizeof(std::byte*)));
  if (buffer.data() == nullptr) {
    if constexpr (requires { fill.copy_element(src, dst); }) {
      return move_without_buffer(
          work, src, dst, begin, end,
          [&](const std::byte* row, std::int64_t column, std::byte* to) { fill.copy_element(row + column, to); });
    } else {
      return move_without_buffer(work, src, dst, begin, end);
    }
  }
  const std::int64_t per_outer = work.panels() * work.row_chunks();
  odometer outer(work.outer, work.word_bytes, begin / per_outer, false);
  std::int64_t inner = begin % per_outer;
  for (std::int64_t unit = begin; unit < end; ++unit) {  // 1.
    const unit_place here = place_of(work, inner);
    run_places(work, here.col, here.cols, dst + outer.dst() + here.row * dst_row, buffer.place());
    group_rows rows(work, src + outer.src() + here.col * work.src_col_bytes, here.row, here.rows, buffer.more());
    bool first = true;
    while (const std::int64_t group = rows.advance()) {  // 2.
      for (std::int64_t c = 0; c < here.cols; c += buffer.cols()) {
        const std::int64_t some = HWY_MIN(buffer.cols(), here.cols - c);
        if constexpr (requires { fill.has_gaps(); }) {
          if (fill.has_gaps()) buffer.fetch_apart(c, some, group * dst_row);
        }
        for (std::int64_t r = 0; r < group; r += strip_rows) {  // 3.
          fill.part(rows.at(r), c, some, here.cols, buffer.data() + r * e, buffer.pitch());
        }
        if constexpr (requires { fill.has_gaps(); }) {  // 4.
          if (fill.has_gaps()) {
            buffer.store_apart(c, some, group, fill);
            continue;
          }
        }
        buffer.write(c, some, group * e, first, rows.last());
      }
      first = false;
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
