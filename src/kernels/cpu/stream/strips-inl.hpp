// A walk of large matrices for cores that follow 16 to 32 rows at a time and have megabytes of L2. Two neighbouring lines of
// a row are loaded together. A panel is as wide as the windows of its columns fit the L2.
//
//   1. a unit is a panel of columns times a chunk of rows. A strip is rows_of_strip() rows of it, which are loaded side by
//      side
//   2. a strip is walked in blocks of 128 bytes of each row, which are prefetched some way ahead in the same rows. A block
//      goes through registers into the windows of its columns: `lines` lines each, behind room for a carry (line_stores-inl.hpp)
//   3. a window is written when it is full. Blocks take turns, so that every strip comes with its share of stores. Block b is full
//      after the strips s with (s + k b + 1) % (strips of a window) == 0. k strips make a line; if one is longer, k is 1. If a
//      second array is read, all windows are written together, so that its pieces are prefetched in one go
//   4. with AVX-512, windows of two lines are written from registers. Narrow words are staged by blocks for this purpose:
//      strip_blocks-inl.hpp
#if defined(CORNERTURN_STRIPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_STRIPS_INL
#undef CORNERTURN_STRIPS_INL
#else
#define CORNERTURN_STRIPS_INL
#endif

#include <array>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/page_prefetcher.hpp"
#include "kernels/cpu/policy/units-inl.hpp"
#include "kernels/cpu/stream/args.hpp"
#include "kernels/cpu/stream/strip_blocks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// No arithmetic. apply/strips_math-inl.hpp has the alternatives.
struct no_math {
  static constexpr std::size_t pairs_apart = 16;  // see waiting_block
  static constexpr bool computes_rows = false;
  static constexpr bool computes_lines = false;
  static constexpr bool computes_pieces = false;
  static constexpr bool computes_blocks = false;
};

// A piece of a dst run: a whole window, or the bytes that are left at the end of the run.
struct piece_of_run {
  std::int64_t from;
  std::int64_t bytes;
  bool last;
};

// The windows of a panel's columns. If each strip fills its windows, there are only windows for one block of columns.
struct column_windows {
  std::byte* memory;
  std::byte*
      carry;  // if each strip fills its windows: one line for each column. Else carries are in front of the windows
  std::byte** place;    // the dst addresses of the columns' runs
  std::int64_t strip;   // bytes that a strip adds to a run
  std::int64_t strips;  // strips that fill a window; a power of two
  std::int64_t block_cols;
  bool streaming;
  std::int64_t first_block = 0;  // blocks before it are staged elsewhere

  [[nodiscard]] HWY_INLINE std::int64_t window() const noexcept { return strip * strips; }
  [[nodiscard]] HWY_INLINE std::int64_t pitch() const noexcept { return line_bytes + window(); }
  // The strip's number inside its window. The first window of a run may be shorter than the others, but is whole lines too.
  [[nodiscard]] HWY_INLINE std::int64_t slot(std::int64_t number, std::int64_t block) const noexcept {
    return (number + block * HWY_MAX(line_bytes / strip, std::int64_t{1})) & (strips - 1);
  }
  [[nodiscard]] HWY_INLINE std::byte* front(std::int64_t block) const noexcept {
    return memory + (strips == 1 ? 0 : (block - first_block) * block_cols * pitch());
  }

  // Effect  writes the windows of `block`, which end with strip `number`, to dst. The panel has `panel_cols` columns.
  //         run_bytes: the length of the whole run if the windows end it, else 0
  template <class Math>
  HWY_NOINLINE void write(std::int64_t number, std::int64_t block, std::int64_t panel_cols, std::int64_t run_bytes,
                          const Math& math) const noexcept {
    const std::int64_t cols = Math::computes_pieces ? panel_cols : HWY_MIN(block_cols, panel_cols - block * block_cols);
    const std::int64_t last_slot = slot(number, block);
    const std::int64_t filled = HWY_MIN(last_slot, number) + 1;
    const std::int64_t from = strip * (number + 1 - filled);
    const bool last = run_bytes != 0;
    const std::int64_t bytes = last ? run_bytes - from : strip * filled;
    std::byte* at = front(block);
    std::byte* data = at + line_bytes + (last_slot + 1 - filled) * strip;
    std::byte* const* to = place + block * block_cols;
    std::byte* kept = carry + block * block_cols * line_bytes;
    if constexpr (Math::computes_pieces) {
      return math.pieces(at, data - at, pitch(), to, cols, {from, bytes, last});
    }
    if (streaming && !last && from != 0 && strips > 1) {
      for (std::int64_t c = 0; c < cols; ++c, at += pitch()) middle(at, *to++ + from);
      return;
    }
    for (std::int64_t c = 0; c < cols; ++c, at += pitch(), data += pitch(), ++to, kept += line_bytes) {
      if (!streaming) {
        store_piece(data, *to + from, bytes);
      } else if (strips == 1) {
        stream_piece(data, *to + from, bytes, kept, from == 0, last);
      } else {
        stream_window(data, *to + from, bytes, at, from == 0, last);
      }
    }
  }

 private:
  // A whole window in the middle of its run.
  HWY_INLINE void middle(std::byte* at, std::byte* to) const noexcept {
    const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
    const std::byte* const data = at + line_bytes - a;
    to -= a;
    for (std::int64_t k = 0; k < window(); k += line_bytes) stream_line(data + k, to + k);
    if (a != 0) std::memcpy(at, at + window(), line_bytes);
  }
};

// The destination of a block of columns: windows, or two lines of each column straight to its run.
struct column_lines {
  std::byte* window;
  std::int64_t pitch;
  std::byte* const* run;
  std::int64_t from;  // offset of the two lines in their run
  std::byte* kept;    // a line of each column
  bool last;          // the lines end their runs
  bool closes;        // the block completes windows of two lines, whose first line is staged in the window
};

// Fill: block_fill of policy/fill-inl.hpp, for partial strips, and for all blocks where registers do not stage them.
template <std::size_t Word, class Fill, class Math = no_math>
void move_strips(const stream::strips_args& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                 std::int64_t end, const Fill& fill, const Math& math = {}) {
  constexpr bool computes_rows = Math::computes_rows;
  constexpr std::size_t side = Math::computes_pieces ? rows_of_summed_strip(Word) : rows_of_strip(Word);
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr std::int64_t strip_bytes = static_cast<std::int64_t>(side) * word;
  constexpr std::int64_t block_cols = strip_block_bytes / word;
  column_windows all{
      nullptr,    nullptr,       nullptr, strip_bytes, HWY_MAX(work.lines * line_bytes / strip_bytes, std::int64_t{1}),
      block_cols, work.streaming};
  constexpr auto unit = static_cast<std::uintptr_t>(HWY_MIN(Word, std::size_t{8}));
  const bool by_lines = lines_in_registers && all.window() == 2 * line_bytes && work.streaming &&
                        !Math::computes_pieces && runs_begin_at(work, dst, unit);  // an element may be several words
  const bool from_registers = by_lines && (Word >= 4 || (Word == 2 && Math::computes_blocks));
  // Narrow words are staged by blocks. Partial blocks and run ends use column windows.
  constexpr bool narrow =
      Word <= 2 && !Math::computes_lines && !Math::computes_pieces && (Word == 1 || !Math::computes_blocks);
  using pending = waiting_block<Word, Math::pairs_apart>;
  const bool waits = narrow && by_lines;

  // The last block may have fewer columns, but whole register blocks are stored to the windows.
  const std::int64_t columns = all.strips == 1 ? block_cols : waits ? 2 * block_cols : work.panel;
  const std::int64_t tile_bytes = (columns + Fill::spare_cols) * all.pitch();
  const std::int64_t carry_bytes = all.strips == 1 ? work.panel * line_bytes : 0;
  std::int64_t waiting_bytes = 0;
  if constexpr (narrow) waiting_bytes = waits ? work.panel / block_cols * pending::bytes : 0;
  std::byte* const waiting =
      scratch(waiting_bytes + tile_bytes + carry_bytes + work.panel * static_cast<std::int64_t>(sizeof(std::byte*)));
  if (waiting == nullptr) {
    if constexpr (computes_rows || Math::computes_pieces) return math.without_memory(begin, end);
    return move_without_buffer(work, src, dst, begin, end);
  }
  all.memory = waiting + waiting_bytes;
  all.carry = all.memory + tile_bytes;
  all.place = reinterpret_cast<std::byte**>(all.carry + carry_bytes);

  const bool at_lines = runs_begin_at(work, dst, line_bytes);

  // Rows that are a multiple of 2 KiB apart share a few sets of the L1, which cannot hold a line of each row. These rows are
  // copied side by side before the transpose.
  const bool together = work.rows.axes[0].src_stride * word % 2048 == 0;
  alignas(64) std::byte copied[side * strip_block_bytes];
  std::array<std::byte*, side> copies;
  for (std::size_t k = 0; k < side; ++k) copies[k] = copied + k * strip_block_bytes;

  strip_walk<side> walk(work, src, begin, end);
  strip_of_rows<side> strips[2];
  for (auto& one : strips) walk.next(one);
  page_prefetcher prefetcher = strips[0].count == 0 ? page_prefetcher() : page_prefetcher(strips[0].row[0]);
  page_prefetcher nothing;  // math.rows() prefetches its rows itself
  page_prefetcher* const pages = work.prefetches_pages ? &prefetcher : nullptr;
  for (std::size_t turn = 0; strips[turn].count != 0; walk.next(strips[turn]), turn ^= 1) {
    const strip_of_rows<side>& now = strips[turn];
    const std::int64_t n = now.number;
    const std::int64_t panel_cols = now.unit.cols;
    if (waits) all.first_block = panel_cols / block_cols;
    if (n == 0) run_places(work, now.unit.col, panel_cols, dst + now.outer_dst + now.unit.row * word, all.place);
    std::int64_t block = 0;
    for (std::int64_t c = 0; c < panel_cols; c += block_cols, ++block) {
      const std::int64_t cols = HWY_MIN(block_cols, panel_cols - c);
      const std::int64_t bytes = cols * word;
      const std::int64_t slot = all.slot(n, Math::computes_pieces ? 0 : block);
      const bool full_strip = now.count == static_cast<std::int64_t>(side);
      const bool whole = full_strip && cols == block_cols;
      const bool in_registers = from_registers && slot == all.strips - 1 && n >= slot &&
                                (whole || (Word >= 4 && full_strip && bytes % 16 == 0));
      const bool closes = slot == all.strips - 1;
      const bool parks = waits && whole && (closes ? n >= slot : !now.last);
      const bool computed = computes_rows && !(Math::computes_lines && in_registers);
      const block_ahead<side> ahead(now, strips[turn ^ 1], block * strip_block_bytes, work.prefetch_bytes, bytes,
                                    computed ? &nothing : pages);
      const auto wait = [&](const auto& rows) {
        const pending mine{waiting + block * pending::bytes};
        const std::int64_t from = (n + 1 - all.strips) * strip_bytes;
        if (!closes) return mine.park(rows, slot);
        if (at_lines) return mine.template close<true>(rows, all.place + c, from, from == 0, now.last);
        mine.template close<false>(rows, all.place + c, from, from == 0, now.last);
      };
      if constexpr (Math::computes_blocks && narrow) {
        if (parks) {
          wait(math.converted(now, strips[turn ^ 1], c, !together));
          continue;
        }
      } else if constexpr (Math::computes_blocks) {
        if (whole && (!Math::two_lines || in_registers)) {
          const std::int64_t from = (n + 1 - all.strips) * strip_bytes;
          std::byte* const to = all.front(block) + line_bytes + slot * strip_bytes;
          math.block(
              now, strips[turn ^ 1], c, !together,
              column_lines{to, all.pitch(), all.place + c, from, all.carry + c * line_bytes, now.last, in_registers});
          if (!in_registers && (now.last || closes))
            all.write(n, block, panel_cols, now.last ? now.unit.rows * word : 0, math);
          continue;
        }
      }
      const std::byte* const* row = now.row;
      std::int64_t offset = block * strip_block_bytes;
      if (computed) {
        if constexpr (computes_rows) math.rows(now, strips[turn ^ 1], c, cols, copies.data());
        row = copies.data();
        offset = 0;
      } else if (together && whole) {
        for (std::size_t k = 0; k < side; ++k)
          std::memcpy(copied + k * strip_block_bytes, row[k] + offset, strip_block_bytes);
        row = copies.data();
        offset = 0;
      }
      if (in_registers) {
        const std::int64_t from = (n + 1 - all.strips) * strip_bytes;
        const bool first = from == 0;
        std::byte* const* const to = all.place + c;
        if constexpr (Word >= 4 && !Math::computes_pieces) {
          std::byte* const kept = all.carry + c * line_bytes;
          constexpr std::int64_t width = strip_block_bytes;
          if (!whole) {
            stream_whole_block<Word, false, 0>(row, offset, bytes, to, from, kept, first, now.last, ahead, math);
          } else if (at_lines) {
            stream_whole_block<Word, true, width>(row, offset, width, to, from, kept, first, now.last, ahead, math);
          } else {
            stream_whole_block<Word, false, width>(row, offset, width, to, from, kept, first, now.last, ahead, math);
          }
        }
        continue;
      }
      const column_windows* windows = &all;
      column_windows alone = all;  // the windows of one staged block
      if constexpr (narrow) {
        if (waits && cols == block_cols) {
          if (parks) {
            wait(moved_rows<Word>{row, offset, ahead});
            continue;
          }
          alone.memory += block_cols * all.pitch();
          alone.first_block = block;
          windows = &alone;
          const pending mine{waiting + block * pending::bytes};
          mine.to_windows(HWY_MAX(slot - n, std::int64_t{0}), slot, alone.memory, alone.pitch());
        }
      }
      std::byte* const room = windows->front(block) + line_bytes + slot * strip_bytes;
      if ((Word <= 2 || Math::computes_pieces) && whole) {
        turn_whole_block<Word>(row, offset, room, all.pitch(), ahead);
      } else {
        ahead.fetch_all(now.count * bytes);
        for (std::int64_t r = 0; r < now.count; r += strip_rows) {
          const int count = static_cast<int>(HWY_MIN(std::int64_t{strip_rows}, now.count - r));
          const strip those{(computes_rows ? row : now.row) + r, nullptr, 0, count};
          fill.block(those, computes_rows ? 0 : c, cols, room + r * word, all.pitch());
        }
      }
      if (!Math::computes_pieces && (now.last || closes))
        windows->write(n, block, panel_cols, now.last ? now.unit.rows * word : 0, math);
      if constexpr (narrow) {
        if (windows == &alone) {
          pending{waiting + block * pending::bytes}.keep(alone.memory, alone.pitch());
        }
      }
    }
    if (Math::computes_pieces && (now.last || all.slot(n, 0) == all.strips - 1))
      all.write(n, 0, panel_cols, now.last ? now.unit.rows * word : 0, math);
  }
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
