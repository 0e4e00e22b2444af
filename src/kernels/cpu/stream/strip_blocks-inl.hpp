// The blocks of strips-inl.hpp: how they are prefetched, transposed, and stored from registers.
//
// A window holds two lines of a column. A strip fills a quarter of it with words of 1 byte, and half of it with words of 2
// bytes. With AVX-512, the first strips of a window are staged in the order of blocks, not of windows, until the last strip
// completes them. So each line in L2 is written once and read once: 9984 x 7040 bytes reach 0.66 of a copy, and 0.51 with
// windows (Intel Xeon, 2 MiB of L2, one thread, 2026-11-22).
#if defined(CORNERTURN_STRIP_BLOCKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_STRIP_BLOCKS_INL
#undef CORNERTURN_STRIP_BLOCKS_INL
#else
#define CORNERTURN_STRIP_BLOCKS_INL
#endif

#include <array>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/page_prefetcher.hpp"
#include "kernels/cpu/policy/block-inl.hpp"
#include "kernels/cpu/policy/units-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// A block that is prefetched, a share of its rows with each 16 bytes of the current block.
template <std::size_t Side>
struct block_ahead {
  const std::byte* const* row;
  page_prefetcher* pages;  // prefetches instead if src is read in order; else null

  // The block is `distance` bytes ahead in the current strip. Beyond its end it is in the next strip.
  HWY_INLINE block_ahead(const strip_of_rows<Side>& now, const strip_of_rows<Side>& next, std::int64_t offset,
                         std::int64_t distance, std::int64_t block_bytes, page_prefetcher* prefetcher) noexcept
      : row(now.row), pages(prefetcher), offset_(offset + distance), share_(strip_rows_a_step(block_bytes)) {
    if (pages != nullptr || offset_ < now.row_bytes) return;
    offset_ -= base::ceil_div(now.row_bytes, strip_block_bytes) * strip_block_bytes;
    if (next.count != 0) row = next.row;
    if (next.count == 0 || offset_ < 0 || offset_ >= next.row_bytes) offset_ = offset;
  }
  HWY_INLINE void fetch(std::int64_t done) const noexcept {
    if (pages != nullptr) return pages->fetch(static_cast<std::int64_t>(Side) * 16);
    constexpr std::int64_t least = strip_rows_a_step(strip_block_bytes);
    if (share_ == least) {
      const std::byte* const* some = row + done / 16 * least;
      HWY_UNROLL(4)
      for (std::int64_t k = 0; k < least; ++k) fetch_row(some[k]);
    } else {
      const std::int64_t first = done / 16 * share_;
      const std::int64_t end = HWY_MIN(first + share_, static_cast<std::int64_t>(Side));
      for (std::int64_t k = first; k < end; ++k) fetch_row(row[k]);
    }
  }
  // Prefetches for a partial block of `bytes` bytes.
  HWY_INLINE void fetch_all(std::int64_t bytes) const noexcept {
    if (pages != nullptr) return pages->fetch(bytes);
    for (std::size_t k = 0; k < Side; ++k) fetch_row(row[k]);
  }

 private:
  static constexpr std::int64_t strip_rows_a_step(std::int64_t block_bytes) noexcept {
    return base::ceil_div(static_cast<std::int64_t>(Side) * 16, block_bytes);
  }
  HWY_INLINE void fetch_row(const std::byte* from) const noexcept {
    __builtin_prefetch(from + offset_, 0, 3);
    __builtin_prefetch(from + offset_ + line_bytes, 0, 3);
  }

  std::int64_t offset_;
  std::int64_t share_;
};

// Transposes a whole block of narrow words. It stores longer pieces of columns than the blocks of other walks.
template <std::size_t Word, std::size_t Side>
HWY_NOINLINE void turn_whole_block(const std::byte* const* row, std::int64_t offset, std::byte* to, std::int64_t pitch,
                                   const block_ahead<Side>& ahead) {
  constexpr std::size_t widest = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
  using tall = tall_block<Word, (Word == 1 ? HWY_MIN(widest, std::size_t{32}) : widest)>;
  constexpr auto word = static_cast<std::int64_t>(Word);
  for (std::size_t r = 0; r < Side; r += tall::rows) {
    std::byte* run = to + static_cast<std::int64_t>(r) * word;
    for (std::int64_t k = 0; k < strip_block_bytes; k += 16, run += 16 / word * pitch) {
      if (r == 0) ahead.fetch(k);
      tall::move(row + r, offset + k, run, pitch);
    }
  }
}

#if HWY_TARGET <= HWY_AVX3
inline constexpr bool lines_in_registers = true;

// Aligns the lines of a run that begins inside a line. It works in registers, so that no load waits for a store in flight.
template <std::size_t Word>
class splicer {
 public:
  // a: bytes from the begin of a line to the begin of the run; a multiple of the word, or of 8
  explicit HWY_INLINE splicer(std::int64_t a) noexcept
      : index_(_mm512_loadu_si512(lanes_of_two.data() + lanes - a / static_cast<std::int64_t>(sizeof(lane)))) {}
  // The last a bytes of `before`, followed by all but the last a bytes of `after`.
  HWY_INLINE __m512i operator()(__m512i before, __m512i after) const noexcept {
    if constexpr (Word == 2) return _mm512_permutex2var_epi16(before, index_, after);
    if constexpr (Word == 4) return _mm512_permutex2var_epi32(before, index_, after);
    return _mm512_permutex2var_epi64(before, index_, after);
  }

 private:
  using lane = typename word_of<Word>::type;
  static constexpr std::size_t lanes = 64 / sizeof(lane);
  static constexpr std::array<lane, 2 * lanes> numbers() {
    std::array<lane, 2 * lanes> all{};
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<lane>(k);
    return all;
  }
  // A table in memory: computing the indices would need broadcasts, which use the port of the shuffles.
  alignas(64) static constexpr std::array<lane, 2 * lanes> lanes_of_two = numbers();
  __m512i index_;
};

// Bytes, any offset a: two selections of 8-byte words, one word apart, are shifted and joined.
template <>
class splicer<1> {
 public:
  explicit HWY_INLINE splicer(std::int64_t a) noexcept
      : low_(_mm512_sub_epi64(_mm512_setr_epi64(8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi64((a + 7) / 8))),
        high_(_mm512_add_epi64(low_, _mm512_set1_epi64(1))),
        right_(_mm512_set1_epi64((64 - a) % 8 * 8)),
        left_(_mm512_sub_epi64(_mm512_set1_epi64(64), right_)) {}
  HWY_INLINE __m512i operator()(__m512i before, __m512i after) const noexcept {
    return _mm512_or_si512(_mm512_srlv_epi64(_mm512_permutex2var_epi64(before, low_, after), right_),
                           _mm512_sllv_epi64(_mm512_permutex2var_epi64(before, high_, after), left_));
  }

 private:
  __m512i low_;
  __m512i high_;
  __m512i right_;
  __m512i left_;
};

HWY_INLINE void stream_register(__m512i line, std::byte* to) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line);
}

// Stores two lines of a run from registers to dst. kept: holds the line before them, and receives the second of them.
// first, last: the lines are the first or the last ones of the run.
template <std::size_t Word, bool AtLines>
HWY_INLINE void write_two(__m512i one, __m512i two, std::byte* to, std::byte* kept, bool first, bool last) {
  if constexpr (AtLines) {
    stream_register(one, to);
    stream_register(two, to + line_bytes);
  } else {
    const auto a = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
    const splicer<Word> splice(a);
    const __m512i begun = splice(_mm512_loadu_si512(kept), one);
    to -= a;
    if (first) {
      _mm512_mask_storeu_epi8(to, ~std::uint64_t{0} << a, begun);
    } else {
      stream_register(begun, to);
    }
    stream_register(splice(one, two), to + line_bytes);
    if (last) {
      _mm512_mask_storeu_epi8(to + 2 * line_bytes, (std::uint64_t{1} << a) - 1, splice(two, two));
    } else {
      _mm512_storeu_si512(kept, two);
    }
  }
}

// Transposes a block from src to dst, two lines of each column. Width: its bytes if the compiler knows them, else 0.
template <std::size_t Word, bool AtLines, std::int64_t Width, class Math>
HWY_NOINLINE void stream_whole_block(const std::byte* const* row, std::int64_t offset, std::int64_t bytes,
                                     std::byte* const* place, std::int64_t from, std::byte* kept, bool first, bool last,
                                     const block_ahead<rows_of_strip(Word)>& ahead, const Math& math) {
  using tall = tall_block<Word, 64>;
  const typename tall::Tag d;
  const std::int64_t end = Width == 0 ? bytes : Width;
  for (std::int64_t k = 0; k < end; k += 16) {
    hn::VFromD<decltype(d)> upper[tall::n];
    hn::VFromD<decltype(d)> lower[tall::n];
    ahead.fetch(k);
    tall::turn(row, offset + k, upper);
    tall::turn(row + tall::rows, offset + k, lower);
    HWY_UNROLL(4)
    for (std::size_t c = 0; c < tall::n; ++c, kept += line_bytes) {
      if constexpr (Math::computes_lines) {
        upper[c] = math.line(d, upper[c]);
        lower[c] = math.line(d, lower[c]);
      }
      write_two<Word, AtLines>(upper[c].raw, lower[c].raw, *place++ + from, kept, first, last);
    }
  }
}

// turn_pairs makes vectors whose 16-byte pieces belong to two columns in turn. left_pieces joins the pieces of the first column
// from two vectors to one line, right_pieces the pieces of the second column.
HWY_INLINE __m512i left_pieces(__m512i upper, __m512i lower) { return _mm512_shuffle_i64x2(upper, lower, 0x88); }
HWY_INLINE __m512i right_pieces(__m512i upper, __m512i lower) { return _mm512_shuffle_i64x2(upper, lower, 0xdd); }

// Transposes 32 bytes of each of 2n rows, n = 16 / Word. Vector c holds the pieces of columns c and c + n in turn.
template <std::size_t Word>
HWY_INLINE void turn_pairs(const std::byte* const* row, std::int64_t offset, __m512i* to) {
  constexpr std::size_t n = 16 / Word;
  using T = typename word_of<Word>::type;
  const hn::FixedTag<T, 64 / Word> d;
  const hn::Half<decltype(d)> half;
  hn::VFromD<decltype(d)> v[n];
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < n; ++i)
    v[i] = hn::Combine(d, load(half, row[i + n] + offset), load(half, row[i] + offset));
  shuffle_times<log2_of(n)>(d, v);
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < n; ++i) to[i] = v[i].raw;
}

// Transposes 32 bytes of each row of a block, from byte k on, into 16 vectors. With words of 2 bytes, a vector is a line of
// one column. With bytes, it holds pieces of two columns.
inline constexpr std::size_t strip_vectors = 16;
template <std::size_t Word>
struct moved_rows {
  const std::byte* const* row;
  std::int64_t offset;
  const block_ahead<rows_of_strip(Word)>& ahead;

  HWY_INLINE void turn(std::int64_t k, __m512i (&strip)[strip_vectors]) const {
    ahead.fetch(k);
    ahead.fetch(k + 16);
    if constexpr (Word == 1) {
      turn_pairs<1>(row, offset + k, strip);
    } else {
      constexpr std::size_t n = 16 / Word;
      __m512i upper[n];
      __m512i lower[n];
      turn_pairs<Word>(row, offset + k, upper);
      turn_pairs<Word>(row + 2 * n, offset + k, lower);
      HWY_UNROLL(8)
      for (std::size_t c = 0; c < n; ++c) {
        strip[c] = left_pieces(upper[c], lower[c]);
        strip[c + n] = right_pieces(upper[c], lower[c]);
      }
    }
  }
};

// A whole block of words of 1 or 2 bytes that is staged until the last strip of its windows, which have two lines each.
// Apart: the distance between the two columns that share a vector of bytes.
template <std::size_t Word, std::size_t Apart>
struct waiting_block {
  static constexpr std::int64_t strips = 4 / static_cast<std::int64_t>(Word);  // strips that fill a window
  static constexpr std::int64_t cols = strip_block_bytes / static_cast<std::int64_t>(Word);
  static constexpr std::int64_t strip_bytes = rows_of_strip(Word) * strip_block_bytes;
  static constexpr std::int64_t bytes = (strips - 1) * strip_bytes + cols * line_bytes;

  std::byte* memory;  // the staged strips, and behind them the last line of each column that was stored to dst

  [[nodiscard]] HWY_INLINE std::byte* kept() const noexcept { return memory + (strips - 1) * strip_bytes; }

  template <class Rows>
  HWY_NOINLINE void park(const Rows& rows, std::int64_t slot) const noexcept {
    std::byte* to = memory + slot * strip_bytes;
    for (std::int64_t k = 0; k < strip_block_bytes; k += 32, to += strip_vectors * line_bytes) {
      __m512i strip[strip_vectors];
      rows.turn(k, strip);
      HWY_UNROLL(16)
      for (std::size_t c = 0; c < strip_vectors; ++c) _mm512_store_si512(to + c * line_bytes, strip[c]);
    }
  }

  // Takes the last strip of the window, and writes the window to dst. from: offset of the window in its run.
  template <bool AtLines, class Rows>
  HWY_NOINLINE void close(const Rows& rows, std::byte* const* place, std::int64_t from, bool first,
                          bool last) const noexcept {
    const std::byte* at = memory;
    std::byte* line = kept();
    const auto write = [&](std::size_t c, __m512i one, __m512i two) HWY_ATTR {
      write_two<Word, AtLines>(one, two, place[c] + from, line + c * line_bytes, first, last);
    };
    for (std::int64_t k = 0; k < strip_block_bytes; k += 32) {
      __m512i strip[strip_vectors];
      rows.turn(k, strip);
      HWY_UNROLL(16)
      for (std::size_t c = 0; c < strip_vectors; ++c, at += line_bytes) {
        if constexpr (Word == 1) {
          const __m512i a = _mm512_load_si512(at);
          const __m512i b = _mm512_load_si512(at + strip_bytes);
          const __m512i d = _mm512_load_si512(at + 2 * strip_bytes);
          const std::size_t column = c / Apart * 2 * Apart + c % Apart;
          write(column, left_pieces(a, b), left_pieces(d, strip[c]));
          write(column + Apart, right_pieces(a, b), right_pieces(d, strip[c]));
        } else {
          write(c, _mm512_load_si512(at), strip[c]);
        }
      }
      place += 32 / Word;
      line += 32 / Word * line_bytes;
    }
  }

  // Effect  copies the staged strips [first, end), and the line before them of each column, to column windows that are
  //         `pitch` bytes apart. For a partial strip, which cannot be staged by blocks
  HWY_NOINLINE void to_windows(std::int64_t first, std::int64_t end, std::byte* front,
                               std::int64_t pitch) const noexcept {
    for (std::int64_t c = 0; c < cols; ++c, front += pitch) {
      std::memcpy(front, kept() + c * line_bytes, line_bytes);
      for (std::int64_t slot = first; slot < end; ++slot) {
        const std::byte* const strip = memory + slot * strip_bytes;
        std::byte* const to = front + line_bytes * (1 + slot * static_cast<std::int64_t>(Word) / 2);
        if constexpr (Word == 1) {
          constexpr auto apart = static_cast<std::int64_t>(Apart);
          const std::int64_t vector = c / (2 * apart) * apart + c % apart;
          const std::byte* const pair = strip + vector * line_bytes + c / apart % 2 * 16;
          std::memcpy(to + slot % 2 * 32, pair, 16);
          std::memcpy(to + slot % 2 * 32 + 16, pair + 32, 16);
        } else {
          std::memcpy(to, strip + c * line_bytes, line_bytes);
        }
      }
    }
  }
  HWY_NOINLINE void keep(const std::byte* front, std::int64_t pitch) const noexcept {
    for (std::int64_t c = 0; c < cols; ++c, front += pitch) std::memcpy(kept() + c * line_bytes, front, line_bytes);
  }
};
#else
inline constexpr bool lines_in_registers = false;
template <std::size_t Word, bool AtLines, std::int64_t Width, class Math>
void stream_whole_block(const std::byte* const*, std::int64_t, std::int64_t, std::byte* const*, std::int64_t,
                        std::byte*, bool, bool, const block_ahead<rows_of_strip(Word)>&, const Math&) {}
template <std::size_t Word>
struct moved_rows {
  const std::byte* const* row;
  std::int64_t offset;
  const block_ahead<rows_of_strip(Word)>& ahead;
};
template <std::size_t Word, std::size_t Apart>
struct waiting_block {
  static constexpr std::int64_t bytes = 0;
  std::byte* memory;
  template <class Rows>
  void park(const Rows&, std::int64_t) const {}
  template <bool AtLines, class Rows>
  void close(const Rows&, std::byte* const*, std::int64_t, bool, bool) const {}
  void to_windows(std::int64_t, std::int64_t, std::byte*, std::int64_t) const {}
  void keep(const std::byte*, std::int64_t) const {}
};
#endif

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
