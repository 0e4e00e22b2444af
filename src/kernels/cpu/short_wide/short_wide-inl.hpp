// Few rows, any number, whose columns are contiguous in dst: structures of arrays become arrays of structures.
//
//   1. two neighbouring lines of each row are loaded together, and prefetched some way ahead in the same row. If there are
//      more rows than the core follows, they are prefetched into L2 by tiles: 2 KiB of 16 rows in turn, then of the next 16
//   2. the shuffle rounds of block-inl.hpp make pieces of 16 bytes from them. A piece is several columns, each padded to a
//      power of two of words, or a part of one column. A byte lookup then removes the padding inside the piece
//
//        3 rows of 2 bytes    a0 b0 c0 .. a1 b1 c1 .. -> a0 b0 c0 a1 b1 c1 . .
//
//   3. pieces are stored to a buffer in the order of dst, so that each piece overwrites the surplus bytes of the piece before
//      it. The last block of rows overlaps its neighbour
//   4. the buffer is written in whole lines, behind the unfinished line of the group before (line_stores-inl.hpp)
#if defined(CORNERTURN_SHORT_WIDE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_SHORT_WIDE_INL
#undef CORNERTURN_SHORT_WIDE_INL
#else
#define CORNERTURN_SHORT_WIDE_INL
#endif

#include <array>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/packed-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t group_rows_least = 8;    // fewer rows than this: a group takes more bytes of each row
inline constexpr std::int64_t row_ahead_bytes = 1024;  // 512 and 2048 bytes make no difference
inline constexpr std::int64_t row_tile_bytes =
    2048;  // 4 KiB makes no difference; 1 KiB and 512 bytes: 0.9 and 0.7 of it
// The core follows at most this many rows. With 56 rows of 2-byte elements, two threads reach 0.49 of a copy when they
// prefetch in all rows, and 0.86 by tiles (Intel Xeon, 2 MiB of L2, 2026-11-23).
inline constexpr std::int64_t rows_followed = 32;
inline constexpr std::int64_t rows_of_tile = 16;  // rows that are prefetched in turn: 4 and 32 are a tenth slower

// Prefetches while rows are loaded.
class row_prefetcher {
 public:
  // offset: the src offset of each row
  row_prefetcher(const std::int64_t* offset, std::int64_t rows) noexcept
      : offset_(offset), rows_(rows), by_tiles_(rows > rows_followed), first_(rows) {}

  // Sets the tile that the next calls of fetch() prefetch.
  void aim(const std::byte* tile) noexcept {
    tile_ = tile;
    first_ = row_ = done_ = 0;
  }

  // The caller loads `step` bytes of each row of `row`, and has already loaded `done` bytes of the group. Prefetches an equal
  // number of bytes.
  template <std::size_t Rows>
  HWY_INLINE void fetch(const std::byte* const (&row)[Rows], std::int64_t done, std::int64_t step) noexcept {
    constexpr auto rows = static_cast<std::int64_t>(Rows);
    if (by_tiles_) return fetch_tile(rows * step);
    const std::int64_t inside = done % row_group_bytes;
    const std::int64_t ahead = done - inside + row_ahead_bytes;
    for (std::int64_t k = rows * inside / row_group_bytes; k < rows * (inside + step) / row_group_bytes; ++k) {
      __builtin_prefetch(row[k] + ahead, 0, 3);
      __builtin_prefetch(row[k] + ahead + line_bytes, 0, 3);
    }
  }

 private:
  static constexpr std::int64_t piece = 4 * line_bytes;  // bytes of a row that are prefetched together

  HWY_INLINE void fetch_tile(std::int64_t bytes) noexcept {
    for (owed_ += bytes; owed_ >= piece; owed_ -= piece) {
      if (first_ >= rows_) continue;
      const std::byte* const from = tile_ + offset_[row_] + done_;
      for (std::int64_t k = 0; k < piece; k += line_bytes) __builtin_prefetch(from + k, 0, 2);
      if (++row_ < HWY_MIN(first_ + rows_of_tile, rows_)) continue;
      if ((done_ += piece) == row_tile_bytes) {
        done_ = 0;
        first_ += rows_of_tile;
      }
      row_ = first_;
    }
  }

  const std::int64_t* offset_;
  std::int64_t rows_;
  bool by_tiles_;
  const std::byte* tile_ = nullptr;
  std::int64_t first_;     // the first of the rows that are prefetched in turn
  std::int64_t row_ = 0;   // the next of these rows
  std::int64_t done_ = 0;  // bytes of each that are prefetched
  std::int64_t owed_ = 0;  // bytes that were loaded, minus bytes that were prefetched in return
};

// Transposes a group of row_group_bytes of each row into columns, Words rows at a time. Words is a power of two.
template <std::size_t Word, std::size_t Words>
class row_turn {
 public:
  // Effect  transposes `bytes` bytes from `offset` on of each row into columns of `rows` words, which are contiguous at
  //         `to`. Prefetches an equal number of bytes
  // Shape   bytes: a multiple of two lines. `row` has at least Words pointers. Stores up to 15 bytes behind the columns
  static HWY_NOINLINE void move(const std::byte* const* row, std::int64_t rows, std::int64_t offset, std::int64_t bytes,
                                std::byte* to, const piece_order& order, row_prefetcher& all_rows) {
    const tag d;
    row_prefetcher prefetcher = all_rows;  // a local copy in registers: byte stores might alias the original
    const hn::FixedTag<std::uint8_t, vector_bytes> each_byte;
    const auto join = hn::LoadDup128(each_byte, order.data());
    const std::int64_t column = rows * word;
    const std::int64_t piece = column * static_cast<std::int64_t>(cols_of_piece);
    const std::int64_t last = HWY_MAX(rows - words, std::int64_t{0});
    for (std::int64_t r = 0;; r = HWY_MIN(r + words, last)) {
      const std::byte* mine[Words];  // in registers along the lines
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < Words; ++k) mine[k] = row[r + static_cast<std::int64_t>(k)] + offset;
      std::byte* at = to + r * word;
      for (std::int64_t done = 0; done < bytes; done += step) {
        prefetcher.fetch(mine, done, step);
        hn::VFromD<tag> v[Words];
        HWY_UNROLL(16)
        for (std::size_t k = 0; k < Words; ++k) v[k] = load(d, mine[k] + done);
        shuffle_times<log2_of(Words)>(d, v);
        HWY_UNROLL(16)
        for (std::size_t k = 0; k < Words; ++k) {
          if constexpr (cols_of_piece > 1)
            v[k] = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(each_byte, v[k]), join));
        }
        at = store_blocks(d, v, at, piece);
      }
      if (r == last) break;
    }
    all_rows = prefetcher;
  }

  // The lookup table of a piece of columns of `rows` words: the source of each byte.
  static piece_order order_for(std::int64_t rows) noexcept {
    piece_order from{};
    const std::size_t column = static_cast<std::size_t>(rows) * Word;
    for (std::size_t k = 0; k < from.size() && k < cols_of_piece * column; ++k) {
      from[k] = static_cast<std::uint8_t>(k / column * Words * Word + k % column);
    }
    return from;
  }

 private:
  using tag = hn::FixedTag<typename word_of<Word>::type, vector_bytes / Word>;
  static constexpr auto word = static_cast<std::int64_t>(Word);
  static constexpr auto words = static_cast<std::int64_t>(Words);
  static constexpr auto step = static_cast<std::int64_t>(vector_bytes);
  static constexpr std::size_t cols_of_piece = 16 / Word / Words;

  // Stores the first 128-bit block of each vector, then the second block. Returns the address of the next block.
  template <class D>
  static HWY_INLINE std::byte* store_blocks(D d, const hn::VFromD<D> (&v)[Words], std::byte* to, std::int64_t pitch) {
    if constexpr (vector_bytes == 16) {
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < Words; ++k, to += pitch) store(v[k], d, to);
    } else {
      const hn::Half<D> half;
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < Words; ++k, to += pitch) store(hn::LowerHalf(half, v[k]), half, to);
      HWY_UNROLL(16)
      for (std::size_t k = 0; k < Words; ++k, to += pitch) store(hn::UpperHalf(half, v[k]), half, to);
    }
    return to;
  }
};

template <std::size_t Word>
void move_short_wide(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr std::int64_t most = 16 / word;  // rows at a time
  const std::int64_t rows = work.rows.total;
  const std::int64_t group_bytes = row_group_bytes * HWY_MAX(group_rows_least / rows, std::int64_t{1});
  const std::int64_t group = group_bytes / word;  // columns
  const std::int64_t column = rows * word;
  const std::int64_t buffer_bytes = line_bytes + group * column + line_bytes;
  std::byte* const front = scratch(buffer_bytes + rows * group_bytes);
  if (front == nullptr || rows > packed_rows) return move_without_buffer(work, src, dst, begin, end);
  std::byte* const copy =
      front + buffer_bytes;  // a copy of the rows' last columns in a unit, if they are no whole group
  const piece_turner<row_turn, Word> turn = turner_for<row_turn, Word>(rows);

  std::array<std::int64_t, packed_rows> offset;
  std::array<const std::byte*, packed_rows> row;
  std::array<const std::byte*, packed_rows> copied;
  odometer each_row(work.rows, work.word_bytes, 0, true);
  for (std::int64_t r = 0; r < HWY_MAX(rows, most); ++r) {
    const std::int64_t real = HWY_MIN(r, rows - 1);  // a block with too few rows repeats the last row
    offset[static_cast<std::size_t>(r)] = each_row.src();
    copied[static_cast<std::size_t>(r)] = copy + real * group_bytes;
    if (r < rows - 1) each_row.next();
  }

  row_prefetcher prefetcher(offset.data(), rows);
  packed_walk walk(work, begin);
  packed_walk next = walk;
  for (std::int64_t unit = begin; unit < end; ++unit, walk.next()) {
    if (unit + 1 < end) next.next();
    const std::int64_t cols = HWY_MIN(work.panel, work.cols.total - walk.col());
    std::byte* const to = dst + walk.dst(column);
    for (std::int64_t r = 0; r < HWY_MAX(rows, most); ++r) {
      row[static_cast<std::size_t>(r)] = src + walk.src() + offset[static_cast<std::size_t>(r)];
    }
    for (std::int64_t c = 0; c < cols; c += group) {
      const std::int64_t count = HWY_MIN(group, cols - c);
      if (const std::int64_t tile_end = c * word + row_tile_bytes; tile_end % row_tile_bytes == 0)
        prefetcher.aim(src + (tile_end < cols * word ? walk.src() + tile_end : next.src()));
      if (count == group) {
        turn.move(row.data(), rows, c * word, group_bytes, front + line_bytes, turn.order, prefetcher);
      } else {
        for (std::int64_t r = 0; r < rows; ++r) {
          std::memcpy(copy + r * group_bytes, row[static_cast<std::size_t>(r)] + c * word,
                      static_cast<std::size_t>(count * word));
        }
        turn.move(copied.data(), rows, 0, group_bytes, front + line_bytes, turn.order, prefetcher);
      }
      stream_window(front + line_bytes, to + c * column, count * column, front, c == 0, c + count == cols);
    }
  }
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
