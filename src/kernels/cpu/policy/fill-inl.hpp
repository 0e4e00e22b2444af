// Register blocks transpose rows of words into runs in a buffer.
#if defined(CORNERTURN_FILL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_FILL_INL
#undef CORNERTURN_FILL_INL
#else
#define CORNERTURN_FILL_INL
#endif

#include <algorithm>
#include <array>

#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Prefetches `distance` bytes ahead in the rows of a strip, one line of each row. Beyond the end of the rows it continues in
// the next strip.
struct read_ahead {
  const strip& rows;
  std::int64_t distance;
  std::int64_t end;  // bytes of the panel's rows
  std::int64_t apart =
      64;  // bytes from one prefetch of each_row() to the next: a column whose neighbours are in other lines

  // Prefetches the line at `offset` of each of the next rows.
  HWY_INLINE void line_of_next(std::int64_t offset) const {
    if (rows.next == nullptr) return;
    for (int k = 0; k < rows.count; ++k) __builtin_prefetch(rows.next[k] + rows.step + offset, 0, 2);
  }

  // Prefetches `bytes` of each row, `distance` bytes behind `offset`, or as far into the next rows.
  HWY_INLINE void each_row(std::int64_t offset, std::int64_t bytes) const {
    if (distance == 0) return;
    std::int64_t from = offset + distance;
    const std::byte* const* row = rows.row;
    if (from >= end) {
      if (rows.next == nullptr || from - end >= end) return;
      row = rows.next;
      from += rows.step - end;
    }
    for (int k = 0; k < rows.count; ++k) {
      for (std::int64_t line = 0; line < bytes; line += apart) __builtin_prefetch(row[k] + from + line, 0, 2);
    }
  }

  template <std::size_t Rows>
  HWY_INLINE void rows_from(int first, std::int64_t offset) const {
    if (distance == 0 || offset % 64 != 0) return;
    std::int64_t ahead = offset + distance;
    const std::byte* const* row = rows.row;
    if (ahead >= end) {
      if (rows.next == nullptr) return;
      row = rows.next;
      ahead -= end;
      if (ahead >= end) ahead = offset;  // the next rows are shorter than the distance
      ahead += rows.step;
    }
    for (std::size_t k = 0; k < Rows; ++k) __builtin_prefetch(row[static_cast<std::size_t>(first) + k] + ahead, 0, 2);
  }
};

// Calls the read_ahead of a strip for one block of its rows. A struct and not a lambda: g++ 12 drops calls of a lambda that
// only prefetches, because it finds no effect in it.
template <std::size_t Rows, class Ahead>
struct ahead_of_rows {
  const Ahead& ahead;
  int first;
  std::int64_t offset;
  HWY_INLINE void operator()(std::int64_t column) const { ahead.template rows_from<Rows>(first, offset + column); }
};

struct plain_rows {
  template <std::size_t Rows>
  HWY_INLINE const std::byte* const (&operator()(const std::byte* const (&row)[Rows]) const)[Rows] {
    return row;
  }
};

// Effect  calls row_of_blocks for each block of the `rows` rows, from byte `offset` on. wrap() makes the rows object of a block
//         from the pointers to its rows
// Shape   rows is a multiple of Block::rows.
//         last_first: the blocks of rows are transposed in reverse order, the columns of each block in order. If runs are
//         contiguous and the last block has too many rows, later stores overwrite the surplus behind its runs. Otherwise
//         blocks are in order, which the hardware prefetcher follows best
template <class Block, std::size_t Word, class Ahead, class Wrap = plain_rows>
HWY_INLINE void fill_strip(const std::byte* const* row, int rows, std::int64_t offset, std::int64_t cols, std::byte* to,
                           std::int64_t pitch, bool last_first, const Ahead& ahead, const Wrap& wrap = {}) {
  constexpr auto at_once = static_cast<int>(Block::rows);
  for (int done = 0; done < rows; done += at_once) {
    const int r = last_first ? rows - at_once - done : done;
    const std::byte* mine[Block::rows];  // in registers along the columns
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < Block::rows; ++k) mine[k] = row[r + static_cast<int>(k)] + offset;
    row_of_blocks<Block, Word>(wrap(mine), cols, to + r * static_cast<std::int64_t>(Word), pitch,
                               ahead_of_rows<Block::rows, Ahead>{ahead, r, offset});
  }
}

// Transposes with the register blocks of Set. readable_end: a block may load beyond the end of a row up to this address.
// Null: it may not.
template <std::size_t Word, class Set = blocks<Word>, class Wrap = plain_rows>
struct column_fill {
  using best = typename Set::best;
  using small = typename Set::small;
  static constexpr std::int64_t word = Word;
  static constexpr std::int64_t spare_cols = small::cols;

  const std::byte* readable_end = nullptr;
  Wrap wrap = {};

  // Transposes words [c, c + cols) of each row into runs at `to`, `pitch` bytes apart. Not inlined, so that the shuffles of
  // each word size exist once. A call transposes hundreds of bytes or more.
  HWY_NOINLINE void columns(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch,
                            bool last_first, const read_ahead& ahead) const {
    if (cols >= static_cast<std::int64_t>(best::cols) && rows.count > static_cast<int>(small::rows)) {
      fill_strip<best, Word>(rows.row, whole<best>(rows.count), c * word, cols, to, pitch, last_first, ahead, wrap);
    } else if (cols >= static_cast<std::int64_t>(small::cols)) {
      fill_strip<small, Word>(rows.row, whole<small>(rows.count), c * word, cols, to, pitch, last_first, ahead, wrap);
    } else {
      few_columns(rows, c, cols, to, pitch, last_first);
    }
  }

  HWY_INLINE void block(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    columns(rows, c, cols, to, pitch, false, read_ahead{rows, 0, 0});
  }

 private:
  template <class Block>
  HWY_INLINE static int whole(int count) {
    constexpr int step = static_cast<int>(Block::rows);
    return (count + step - 1) / step * step;
  }

  // Transposes fewer columns than a block has. The block loads beyond the end of the rows if readable_end permits it. Else
  // the rows are copied first.
  HWY_NOINLINE void few_columns(const strip& rows, std::int64_t c, std::int64_t cols, std::byte* to, std::int64_t pitch,
                                bool last_first) const {
    const std::int64_t offset = c * word;
    // The last row is not always the highest address: an outer axis of the rows may have a negative src stride.
    if (readable_end != nullptr &&
        *std::max_element(&rows.row[0], &rows.row[0] + rows.count) + offset + 16 <= readable_end) {
      return fill_strip<small, Word>(rows.row, whole<small>(rows.count), offset, small::cols, to, pitch, last_first,
                                     no_prefetch{}, wrap);
    }
    alignas(16) std::byte copy[strip_rows][16];
    std::array<const std::byte*, strip_rows> row;
    const std::size_t bytes = HWY_MIN(static_cast<std::size_t>(cols * word), sizeof copy[0]);
    for (std::size_t k = 0; k < row.size(); ++k) {
      row[k] = copy[k];
      std::memcpy(copy[k], rows.row[k] + offset, bytes);
    }
    fill_strip<small, Word>(row.data(), whole<small>(rows.count), 0, small::cols, to, pitch, last_first, no_prefetch{},
                            wrap);
  }
};

// column_fill for a whole problem. If rows are contiguous one after another in src, blocks may load beyond the end of a row.
template <std::size_t Word>
struct block_fill : column_fill<Word> {
  static constexpr std::int64_t word = Word;
  static constexpr bool pads = true;  // reads whole blocks: row pointers beyond the last row repeat it

  const blocking& work;

  block_fill(const blocking& of, const std::byte* src) noexcept : work(of) {
    const bool dense = of.rows.rank >= 1 && of.rows.axes[0].src_stride == of.cols.total && of.cols.rank == 1;
    if (dense) this->readable_end = src + of.src_end_bytes;
  }

  HWY_INLINE void part(const strip& rows, std::int64_t c, std::int64_t cols, std::int64_t panel_cols, std::byte* to,
                       std::int64_t pitch) const {
    this->columns(rows, c, cols, to, pitch, false, read_ahead{rows, work.prefetch_bytes, panel_cols * word});
  }

  HWY_INLINE void packed(const strip& rows, std::int64_t cols, std::byte* to, std::int64_t pitch) const {
    fetch_short_rows(rows, cols, pitch);
    packed_from(rows, 0, cols, to, pitch);
  }

 protected:
  // Prefetches the next rows of short runs, which are at other addresses. Long rows continue in place, so the hardware
  // prefetches them.
  HWY_INLINE void fetch_short_rows(const strip& rows, std::int64_t cols, std::int64_t pitch) const {
    if (Word > 8 || pitch != rows.count * word || cols * word > 4 * line_bytes) return;
    for (std::int64_t k = 0; k < cols * word; k += line_bytes) read_ahead{rows, 0, 0}.line_of_next(k);
  }
  HWY_INLINE void packed_from(const strip& rows, std::int64_t done, std::int64_t cols, std::byte* to,
                              std::int64_t pitch) const {
    this->columns(rows, done, cols - done, to + done * pitch, pitch, true,
                  read_ahead{rows, work.prefetch_bytes, cols * word});
  }
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
