// Few columns, any number, whose rows are contiguous in src: arrays of structures become structures of arrays.
//
//   1. src is read in its order. If it is one run, four pages of it are prefetched in turn (page_prefetcher.hpp)
//   2. a group of rows makes two lines of each column. It is loaded as pieces of 16 bytes. A piece is several rows, each
//      padded to a power of two of words, or a part of one row. The last part of a row overlaps the part before it
//
//        3 columns of 4 bytes    a0 b0 c0 a1 -> a0 b0 c0 ..   one row
//        3 columns of 2 bytes    a0 b0 c0 a1 b1 c1 a2 b2 -> a0 b0 c0 .. a1 b1 c1 ..
//
//   3. the shuffle rounds of block-inl.hpp transpose the pieces. The columns go to windows of two lines, each behind room
//      for a carry (line_stores-inl.hpp)
//   4. all windows are written. Loads and stores overlap only when they alternate this often: groups of 4 lines are 2 to 5
//      points slower, groups of 8 lines 5 to 10 (Intel Xeon, 2 MiB of L2, 2026-11-22)
#if defined(CORNERTURN_TALL_SKINNY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_TALL_SKINNY_INL
#undef CORNERTURN_TALL_SKINNY_INL
#else
#define CORNERTURN_TALL_SKINNY_INL
#endif

#include <array>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/page_prefetcher.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/line_stores-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Transposes the rows of a group into the windows of the columns, Words words of each row at a time. Words is a power of two.
template <std::size_t Word, std::size_t Words>
class column_turn {
 public:
  // Effect  copies word c of each row to the window at to + c * pitch. The rows have `cols` words and are contiguous at
  //         `from`. Prefetches as many bytes as it loads
  // Shape   loads up to 15 bytes behind the rows, and stores up to Words - 1 windows behind the columns
  static HWY_NOINLINE void move(const std::byte* from, std::int64_t cols, std::byte* to, std::int64_t pitch,
                                const piece_order& order, page_prefetcher& all_pages) {
    const tag d;
    page_prefetcher pages = all_pages;  // a local copy in registers: byte stores might alias the original
    const hn::Repartition<std::uint8_t, tag> bytes;
    const auto spread = hn::LoadDup128(bytes, order.data());
    const std::int64_t piece = cols * static_cast<std::int64_t>(Word * rows_of_piece);
    const std::int64_t last = HWY_MAX(cols - words, std::int64_t{0});
    for (std::int64_t done = 0; done < column_group_bytes; done += vector, from += rows * cols * word) {
      for (std::int64_t c = 0, turned = 0;; c = HWY_MIN(c + words, last)) {
        pages.fetch((HWY_MIN(c + words, cols) - turned) * vector);
        turned = c + words;
        const std::byte* at = from + c * word;
        hn::VFromD<tag> v[Words];
        HWY_UNROLL(16)
        for (std::size_t k = 0; k < Words; ++k, at += piece) {
          v[k] = gather(d, at, static_cast<std::int64_t>(Words) * piece);
          if constexpr (rows_of_piece > 1)
            v[k] = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, v[k]), spread));
        }
        shuffle_times<log2_of(16 / Word)>(d, v);
        std::byte* window = to + c * pitch + done;
        HWY_UNROLL(16)
        for (std::size_t k = 0; k < Words; ++k, window += pitch) store(v[k], d, window);
        if (c == last) break;
      }
    }
    all_pages = pages;
  }

  // The lookup table of a piece of rows of `cols` words: the source of each byte.
  static piece_order order_for(std::int64_t cols) noexcept {
    piece_order from{};
    for (std::size_t k = 0; k < from.size(); ++k) {
      const std::size_t row = k / Word / Words, col = k / Word % Words;
      from[k] = static_cast<std::uint8_t>(
          col < static_cast<std::size_t>(cols) ? (row * static_cast<std::size_t>(cols) + col) * Word + k % Word : 0);
    }
    return from;
  }

 private:
  using lane = typename word_of<Word>::type;
  static constexpr auto vector = static_cast<std::int64_t>(HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64);
  using tag = hn::FixedTag<lane, static_cast<std::size_t>(vector) / Word>;
  static constexpr auto word = static_cast<std::int64_t>(Word);
  static constexpr auto words = static_cast<std::int64_t>(Words);
  static constexpr std::int64_t rows = vector / word;  // rows that one vector of a column holds
  static constexpr std::size_t rows_of_piece = 16 / Word / Words;

  // A vector with one piece in each 128-bit block. The pieces are `pitch` bytes apart.
  template <class D>
  static HWY_INLINE hn::VFromD<D> gather(D d, const std::byte* from, std::int64_t pitch) {
    if constexpr (hn::MaxLanes(D()) * Word == 16) {
      return load(d, from);
#if HWY_TARGET <= HWY_AVX3
    } else if constexpr (hn::MaxLanes(D()) * Word == 64) {  // g++ 12 compiles Combine to extra moves
      const hn::FixedTag<std::uint8_t, 16> block;
      __m512i all = _mm512_castsi128_si512(load(block, from).raw);
      all = _mm512_inserti32x4(all, load(block, from + pitch).raw, 1);
      all = _mm512_inserti32x4(all, load(block, from + 2 * pitch).raw, 2);
      return hn::VFromD<D>{_mm512_inserti32x4(all, load(block, from + 3 * pitch).raw, 3)};
#endif
    } else {
      const hn::Half<D> half;
      constexpr auto blocks = static_cast<std::int64_t>(hn::MaxLanes(half) * Word / 16);
      return hn::Combine(d, gather(half, from + blocks * pitch, pitch), gather(half, from, pitch));
    }
  }
};

template <std::size_t Word>
void move_tall_skinny(const blocking& work, const std::byte* src, std::byte* dst, std::int64_t begin,
                      std::int64_t end) {
  constexpr auto word = static_cast<std::int64_t>(Word);
  constexpr std::int64_t group = column_group_bytes / word;
  constexpr std::int64_t pitch = line_bytes + column_group_bytes;
  const std::int64_t cols = work.cols.total;
  const std::int64_t row_bytes = cols * word;
  const std::int64_t windows_bytes = (cols + 16 / word) * pitch;
  // Room for a copy of a group that is not contiguous in src, and for the 15 bytes that are loaded behind it.
  const std::int64_t copy_bytes = base::ceil_div(group * row_bytes + 16, line_bytes) * line_bytes;
  std::byte* const windows = scratch(windows_bytes + copy_bytes + cols * static_cast<std::int64_t>(sizeof(std::byte*)));
  if (windows == nullptr) return move_without_buffer(work, src, dst, begin, end);
  std::byte* const copy = windows + windows_bytes;
  std::byte** const place = reinterpret_cast<std::byte**>(copy + copy_bytes);
  const piece_turner<column_turn, Word> turn = turner_for<column_turn, Word>(cols);
  const std::byte* const src_end = src + work.src_end_bytes;

  odometer outer(work.outer, work.word_bytes, begin / work.row_chunks(), false);
  page_prefetcher pages;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const unit_place here = place_of(work, unit % work.row_chunks());
    run_places(work, 0, cols, dst + outer.dst() + here.row * word, place);
    row_runs runs(work, src + outer.src(), here.row);
    for (std::int64_t row = 0; row < here.rows; row += group) {
      const std::int64_t count = HWY_MIN(group, here.rows - row);
      row_runs::run run = runs.take(count);
      if (work.prefetches_pages && unit == begin && row == 0) pages = page_prefetcher(run.from);
      const std::byte* from = run.from;
      if (run.rows < group || src_end - from < group * row_bytes + 16) {
        for (std::int64_t done = 0;; run = runs.take(count - done)) {
          std::memcpy(copy + done * row_bytes, run.from, static_cast<std::size_t>(run.rows * row_bytes));
          done += run.rows;
          if (done == count) break;
        }
        from = copy;
      }
      turn.move(from, cols, windows + line_bytes, pitch, turn.order, pages);
      const bool last = row + count == here.rows;
      std::byte* front = windows;
      if (work.streaming && row != 0 && !last) {
        for (std::int64_t c = 0; c < cols; ++c, front += pitch) {
          stream_whole_window<column_group_bytes>(front, place[c] + row * word);
        }
        continue;
      }
      for (std::int64_t c = 0; c < cols; ++c, front += pitch) {
        std::byte* const to = place[c] + row * word;
        if (work.streaming) {
          stream_window(front + line_bytes, to, count * word, front, row == 0, last);
        } else {
          store_piece(front + line_bytes, to, count * word);
        }
      }
    }
    if ((unit + 1) % work.row_chunks() == 0) outer.next();
  }
  finish_streaming();
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
