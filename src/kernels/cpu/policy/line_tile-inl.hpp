// Matrices in the cache, with AVX-512: tiles of 64 / Word rows, so that each store fills a whole line of a dst run.
//
//   1. pieces of distant rows are combined while they are loaded: 16 bytes of four rows, or 32 bytes of two rows. This does
//      not use the only port that shuffles 64-byte vectors
//   2. the shuffle rounds of block-inl.hpp follow. Words of 4 bytes take 32 bytes of two rows. Five of their twelve exchanges
//      of two vectors are one shuffle and two blends, so that two ports share the work
//
// float32 64 x 64 takes 257 to 270 ns with blends, 324 ns with shuffles alone, and 310 to 350 ns with blocks of 32-byte
// vectors (Intel Xeon, 2 MiB of L2, 2.4 GHz, 2026-11-22).
#if defined(CORNERTURN_LINE_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_LINE_TILE_INL
#undef CORNERTURN_LINE_TILE_INL
#else
#define CORNERTURN_LINE_TILE_INL
#endif

#include "kernels/cpu/policy/block-inl.hpp"

#if HWY_TARGET <= HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// A vector is 16 bytes of each of four rows that are n apart: one column of 16-byte blocks.
template <std::size_t Word>
struct line_tile {
  static constexpr std::size_t n = 16 / Word;
  static constexpr std::size_t rows = 64 / Word;
  static constexpr std::size_t cols = n;

  // Transposes into registers: line[c] is the line of column c.
  static HWY_INLINE void turn(const std::byte* from, std::int64_t src_pitch, __m512i (&line)[cols]) {
    using lane = typename word_of<Word>::type;
    const hn::FixedTag<lane, 64 / sizeof(lane)> d;
    const hn::FixedTag<std::uint8_t, 16> piece;
    const std::int64_t apart = static_cast<std::int64_t>(n) * src_pitch;
    hn::VFromD<decltype(d)> v[n];
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < n; ++k, from += src_pitch) {
      __m512i all = _mm512_castsi128_si512(load(piece, from).raw);
      all = _mm512_inserti32x4(all, load(piece, from + apart).raw, 1);
      all = _mm512_inserti32x4(all, load(piece, from + 2 * apart).raw, 2);
      v[k] = hn::VFromD<decltype(d)>{_mm512_inserti32x4(all, load(piece, from + 3 * apart).raw, 3)};
    }
    shuffle_times<log2_of(n)>(d, v);
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < n; ++k) line[k] = v[k].raw;
  }

  static HWY_INLINE void move(const std::byte* from, std::int64_t src_pitch, std::byte* to, std::int64_t dst_pitch) {
    __m512i v[cols];
    turn(from, src_pitch, v);
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < cols; ++k, to += dst_pitch) _mm512_storeu_si512(to, v[k]);
  }
};

// Words of 4 bytes: rows r and r + 8 share a vector, so eight vectors are 16 rows x 8 columns.
template <>
struct line_tile<4> {
  static constexpr std::size_t rows = 16;
  static constexpr std::size_t cols = 8;

  static HWY_INLINE __m512i two_rows(const std::byte* upper, const std::byte* lower) {
    const hn::FixedTag<std::uint8_t, 32> half;
    return _mm512_inserti64x4(_mm512_castsi256_si512(load(half, upper).raw), load(half, lower).raw, 1);
  }
  // Three exchanges a0 a1 | b0 b1 -> a0 b0 | a1 b1, where a0 is a word, a pair of words, or four words.
  static HWY_INLINE void trade_words(__m512i& a, __m512i& b) {
    const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);
    a = _mm512_castps_si512(_mm512_mask_moveldup_ps(x, 0xAAAA, y));
    b = _mm512_castps_si512(_mm512_mask_movehdup_ps(y, 0x5555, x));
  }
  static HWY_INLINE void trade_pairs(__m512i& a, __m512i& b) {  // one shuffle for all pairs that change places
    __m512i between = _mm512_castpd_si512(_mm512_shuffle_pd(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b), 0x55));
    asm("" : "+v"(between));  // keeps g++ from using two shuffles instead
    a = _mm512_mask_blend_epi64(0xAA, a, between);
    b = _mm512_mask_blend_epi64(0xAA, between, b);
  }
  template <bool Blends>
  static HWY_INLINE void trade_fours(__m512i& a, __m512i& b) {
    if constexpr (Blends) {
      __m512i between = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13), b);
      asm("" : "+v"(between));
      a = _mm512_mask_blend_epi64(0xCC, a, between);
      b = _mm512_mask_blend_epi64(0xCC, between, b);
      return;
    }
    const __m512i first = _mm512_mask_permutex_epi64(a, 0xCC, b, 0x4E);
    b = _mm512_mask_permutex_epi64(b, 0x33, a, 0x4E);
    a = first;
  }

  static HWY_INLINE void turn(const std::byte* from, std::int64_t src_pitch, __m512i (&v)[cols]) {
    const std::byte* at[] = {from, from + 4 * src_pitch, from + 8 * src_pitch, from + 12 * src_pitch};
    // Without this, g++ 12 addresses all rows from one pointer, and needs more multiples of the pitch than it has registers.
    asm("" : "+r"(at[0]), "+r"(at[1]), "+r"(at[2]), "+r"(at[3]));
    HWY_UNROLL(8)
    for (std::size_t k = 0; k < 8; ++k) {
      const std::int64_t row = static_cast<std::int64_t>(k % 4) * src_pitch;
      v[k] = two_rows(at[k / 4] + row, at[k / 4 + 2] + row);
    }
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < 8; k += 2) trade_words(v[k], v[k + 1]);
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < 4; ++k) trade_pairs(v[k % 2 + k / 2 * 4], v[k % 2 + k / 2 * 4 + 2]);
    trade_fours<true>(v[0], v[4]);
    HWY_UNROLL(3)
    for (std::size_t k = 1; k < 4; ++k) trade_fours<false>(v[k], v[k + 4]);
  }

  static HWY_INLINE void move(const std::byte* from, std::int64_t src_pitch, std::byte* to, std::int64_t dst_pitch) {
    std::byte* run[] = {to, to + 4 * dst_pitch};
    asm("" : "+r"(run[0]), "+r"(run[1]));  // limits the multiples of the pitch, as in turn()
    __m512i v[cols];
    turn(from, src_pitch, v);
    HWY_UNROLL(8)
    for (std::size_t k = 0; k < 8; ++k) {
      _mm512_storeu_si512(run[k / 4] + static_cast<std::int64_t>(k % 4) * dst_pitch, v[k]);
    }
  }
};

// Transposes one strip of tiles, along the columns. Not inlined: g++ 12 would keep all multiples of the pitch for the
// surrounding loop, and spill registers.
template <std::size_t Word>
HWY_NOINLINE void strip_of_tiles(const std::byte* from, std::int64_t src_pitch, std::byte* to, std::int64_t dst_pitch,
                                 std::int64_t cols) {
  constexpr auto across = static_cast<std::int64_t>(line_tile<Word>::cols);
  for (; cols >= across; cols -= across, from += across * static_cast<std::int64_t>(Word), to += across * dst_pitch) {
    line_tile<Word>::move(from, src_pitch, to, dst_pitch);
  }
  if (cols == 0) return;
  from -= (across - cols) * static_cast<std::int64_t>(Word);  // the last tile overlaps its neighbour
  to -= (across - cols) * dst_pitch;
  line_tile<Word>::move(from, src_pitch, to, dst_pitch);
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif  // per target
