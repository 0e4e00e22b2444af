// A walk of large matrices: whole lines of src are loaded, and lines of dst are staged until a few lines of one dst run are
// complete.
//
//   1. a unit is a panel of columns times a chunk of rows. It is cut into blocks of 64 / word rows and columns: one
//      line of each row, which becomes one line of each column. A strip is a row of blocks
//   2. a strip is walked along the columns. Each block goes through registers into the tile. There every column has
//      a window of `lines` lines and, in front of it, room for a carry (line_stores-inl.hpp)
//   3. before a window is filled again, its lines are written. A quarter is 16 bytes of a src row. The windows of quarter q
//      are full before the strips s with (s + q) % lines == 0. So the quarters take turns, and with four lines the loads of
//      each block come with the stores of one quarter:
//
//        strip 0   1   2   3   4   5         lines = 4; a letter is a line of a column, capitals close a window
//      q 0     a   b   c   D | a   b
//      q 1     a   b   C | a   b   c         |  the window is written here, as one piece
//      q 2     a   B | a   b   c   D
//      q 3     A | a   b   c   D | a
//
//   4. a prefetcher is some blocks ahead. It loads one line for each line that is stored
#if defined(CORNERTURN_STAGED_LINES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_STAGED_LINES_INL
#undef CORNERTURN_STAGED_LINES_INL
#else
#define CORNERTURN_STAGED_LINES_INL
#endif

#include <algorithm>
#include <array>

#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/cpu/stream/args.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// The staged lines of a panel's columns: `lines` lines of each column, behind room for a carry.
struct column_tile {
  std::byte* memory;
  std::byte** place;  // the dst addresses of the columns' runs
  std::int64_t quarter_cols;
  std::int64_t lines;
  bool streaming;
  bool direct = false;  // lines == 1, and every run begins at a line: each line is stored as soon as it is complete

  [[nodiscard]] HWY_INLINE std::int64_t pitch() const noexcept { return line_bytes * (lines + 1); }
  [[nodiscard]] HWY_INLINE std::int64_t slot(std::int64_t strip, std::int64_t quarter) const noexcept {
    return (strip + quarter) & (lines - 1);
  }
  // The place in the tile for the line that `strip` adds to the first column of `quarter`.
  [[nodiscard]] HWY_INLINE std::byte* line(std::int64_t strip, std::int64_t quarter) const noexcept {
    return memory + quarter * quarter_cols * pitch() + line_bytes * (slot(strip, quarter) + 1);
  }

  // Effect  writes the windows of `quarter` that end before `strip` to dst. run_bytes: the length of the whole run if the
  //         windows end it, else 0
  HWY_NOINLINE void write(std::int64_t strip, std::int64_t quarter, std::int64_t cols,
                          std::int64_t run_bytes) const noexcept {
    const std::int64_t last_slot = slot(strip - 1, quarter);
    const std::int64_t staged = HWY_MIN(last_slot + 1, strip);
    const std::int64_t from = line_bytes * (strip - staged);
    const bool last = run_bytes != 0;
    const std::int64_t bytes = last ? run_bytes - from : line_bytes * staged;
    const std::int64_t first_col = quarter * quarter_cols;
    const std::int64_t end_col = HWY_MIN(first_col + quarter_cols, cols);
    std::byte* front = memory + first_col * pitch();
    std::byte* data = front + line_bytes * (last_slot + 2 - staged);
    for (std::int64_t c = first_col; c < end_col; ++c, front += pitch(), data += pitch()) {
      if (streaming) {
        stream_window(data, place[c] + from, bytes, front, from == 0, last);
      } else {
        store_piece(data, place[c] + from, bytes);
      }
    }
  }
};

// Effect  transposes the blocks [first, end) of a strip in the middle of its unit. Writes the quarters that are full, each
//         a window of Lines lines. Prefetches from `ahead` on, 64 bytes further with each block
template <std::size_t Word, std::int64_t Lines>
HWY_NOINLINE void middle_blocks(const std::byte* const* row, std::int64_t first, std::int64_t end,
                                const column_tile& tile, std::int64_t strip, const std::byte* const* ahead,
                                std::int64_t ahead_offset) {
  constexpr std::int64_t quarter_cols = 16 / static_cast<std::int64_t>(Word);
  constexpr std::int64_t pitch = line_bytes * (Lines + 1);
  const std::int64_t from = line_bytes * (strip - Lines);
  const std::int64_t due = (Lines - strip % Lines) % Lines;  // (strip + due) % Lines == 0
  std::byte* memory = tile.memory + first * 4 * quarter_cols * pitch;
  std::byte* const* place = tile.place + first * 4 * quarter_cols;
  std::int64_t down[4];
  for (std::int64_t q = 0; q < 4; ++q) down[q] = q * quarter_cols * pitch + line_bytes * ((strip + q) % Lines + 1);
  for (std::int64_t block = first; block < end; ++block) {
    const std::byte* const* fetch = ahead;
    for (std::int64_t q = due; q < 4; q += Lines) {
      std::byte* front = memory + q * quarter_cols * pitch;
      for (std::int64_t k = q * quarter_cols; k < (q + 1) * quarter_cols; ++k, front += pitch) {
        std::byte* to = place[k] + from;
        const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
        const std::byte* const data = front + line_bytes - a;
        to -= a;
        HWY_UNROLL(4)
        for (std::int64_t line = 0; line < Lines; ++line) {
          __builtin_prefetch(*fetch++ + ahead_offset, 0, 2);
          stream_line(data + line * line_bytes, to + line * line_bytes);
        }
        if (a != 0) std::memcpy(front, front + Lines * line_bytes, line_bytes);
      }
    }
    std::byte* const to[] = {memory + down[0], memory + down[1], memory + down[2], memory + down[3]};
    line_block<Word>::move(row, block * line_bytes, to, pitch);
    ahead_offset += line_bytes;
    memory += 4 * quarter_cols * pitch;
    place += 4 * quarter_cols;
  }
}

// Transposes blocks whose lines are whole lines of dst: nothing is staged, and each part of a block is stored at once.
template <std::size_t Word>
HWY_NOINLINE void direct_blocks(const std::byte* const* row, std::int64_t first, std::int64_t end,
                                const column_tile& tile, std::int64_t strip, const std::byte* const* ahead,
                                std::int64_t ahead_offset) {
  using lines = line_block<Word>;
  constexpr auto cols = static_cast<std::int64_t>(lines::side / lines::parts);
  alignas(64) std::byte part[lines::side / lines::parts * line_bytes];
  const std::int64_t from = line_bytes * strip;
  std::byte* const* place = tile.place + first * static_cast<std::int64_t>(lines::side);
  for (std::int64_t block = first; block < end; ++block) {
    const std::byte* const* fetch = ahead;
    for (std::size_t p = 0; p < lines::parts; ++p) {
      lines::move_part(row, block * line_bytes + static_cast<std::int64_t>(p * (64 / lines::parts)), part, line_bytes);
      for (std::int64_t k = 0; k < cols; ++k) {
        __builtin_prefetch(*fetch++ + ahead_offset, 0, 2);
        stream_line(part + k * line_bytes, *place++ + from);
      }
    }
    ahead_offset += line_bytes;
  }
}

template <std::size_t Word>
void middle_blocks(const std::byte* const* row, std::int64_t first, std::int64_t end, const column_tile& tile,
                   std::int64_t strip, const std::byte* const* ahead, std::int64_t ahead_offset) {
  if (tile.lines == 4) return middle_blocks<Word, 4>(row, first, end, tile, strip, ahead, ahead_offset);
  if (tile.lines == 2) return middle_blocks<Word, 2>(row, first, end, tile, strip, ahead, ahead_offset);
  if (!tile.direct) return middle_blocks<Word, 1>(row, first, end, tile, strip, ahead, ahead_offset);
  direct_blocks<Word>(row, first, end, tile, strip, ahead, ahead_offset);
}

// readable_end: a block may load beyond the end of a row up to this address. Null: it may not.
template <std::size_t Word>
void move_staged_lines(const stream::lines_args& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                       std::int64_t end, const std::byte* readable_end) {
  constexpr std::size_t side = line_block<Word>::side;
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr std::int64_t quarter_cols = 16 / word;
  column_tile tile{nullptr, nullptr, quarter_cols, work.lines, work.streaming};
  tile.direct = work.streaming && work.lines == 1 && runs_begin_at(work, dst, line_bytes);
  // The last quarter may have fewer columns, but whole quarters are stored to the tile.
  const std::int64_t tile_bytes = (work.panel + quarter_cols) * tile.pitch();
  tile.memory = scratch(tile_bytes + work.panel * static_cast<std::int64_t>(sizeof(std::byte*)));
  if (tile.memory == nullptr) return move_without_buffer(work, src, dst, begin, end);
  tile.place = reinterpret_cast<std::byte**>(tile.memory + tile_bytes);
  const std::int64_t far = work.prefetch_bytes / (line_bytes * static_cast<std::int64_t>(side));

  for (strip_queue<side> strips(work, src, begin, end); strips.front().count != 0; strips.pop()) {
    const strip_of_rows<side>& now = strips.front();
    const std::int64_t n = now.number;
    const std::int64_t panel_cols = now.unit.cols;
    const std::int64_t run_bytes = now.unit.rows * word;
    if (n == 0) run_places(work, now.unit.col, panel_cols, dst + now.outer_dst + now.unit.row * word, tile.place);
    std::int64_t block = 0;
    if (tile.direct ? now.count == static_cast<std::int64_t>(side) : work.streaming && n > tile.lines) {
      for (const std::int64_t whole = now.row_bytes / line_bytes; block < whole;) {
        const auto ahead = strips.find(block + far, line_bytes);
        const std::int64_t stop = HWY_MIN(block + ahead.blocks, whole);
        middle_blocks<Word>(now.row, block, stop, tile, n, ahead.row, ahead.offset);
        block = stop;
      }
    }
    for (; block * line_bytes < now.row_bytes; ++block) {
      const std::int64_t first = 4 * block;  // the first quarter of the block
      const std::int64_t cols = panel_cols - first * quarter_cols;
      const std::int64_t last = first + HWY_MIN(base::ceil_div(cols, quarter_cols), std::int64_t{4});
      for (std::int64_t q = first; q < last; ++q) {
        if (!tile.direct && n > 0 && tile.slot(n, q) == 0) tile.write(n, q, panel_cols, 0);
      }
      const auto ahead = strips.find(block + far, line_bytes);
      for (std::int64_t k = 0; k < now.count; ++k) __builtin_prefetch(ahead.row[k] + ahead.offset, 0, 2);
      std::byte* const to[] = {tile.line(n, first), tile.line(n, first + 1), tile.line(n, first + 2),
                               tile.line(n, first + 3)};
      if (cols >= 4 * quarter_cols) {
        line_block<Word>::move(now.row, block * line_bytes, to, tile.pitch());
      } else {
        part_of_block<Word>(now.row, block * line_bytes, cols, to, tile.pitch(), readable_end);
      }
      for (std::int64_t q = first; q < last; ++q) {
        if (tile.direct) tile.write(n + 1, q, panel_cols, now.last ? run_bytes : 0);
      }
    }
    for (std::int64_t q = 0; now.last && !tile.direct && q * quarter_cols < panel_cols; ++q) {
      tile.write(n + 1, q, panel_cols, run_bytes);
    }
  }
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
