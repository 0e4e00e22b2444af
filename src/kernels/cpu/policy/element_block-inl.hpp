// Blocks of elements of 3, 4, 6, 8, 12, 16, 24 and 32 bytes in registers of 64 bytes (AVX-512). `side` elements of one row, 48 or
// 64 bytes, are at the begin of a register. side x side elements are transposed by log2(side) perfect shuffles
// (block-inl.hpp) of whole elements. Elements of 3 bytes need AVX-512 VBMI for that: without it they are widened to 4 bytes, transposed,
// and narrowed.
#if defined(CORNERTURN_ELEMENT_BLOCK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_ELEMENT_BLOCK_INL
#undef CORNERTURN_ELEMENT_BLOCK_INL
#else
#define CORNERTURN_ELEMENT_BLOCK_INL
#endif

#include <array>

#include "kernels/cpu/block_sizes.hpp"
#include "kernels/cpu/policy/block-inl.hpp"

#if HWY_TARGET <= HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Selects bytes of a and b: byte k of the result is byte index[k] of both. The instruction is of AVX-512 VBMI, which is not
// part of any target of this build: selects_bytes() of dispatch.hpp tells whether the machine has it.
HWY_INLINE __m512i select_bytes_of(__m512i a, __m512i index, __m512i b) {
  asm("vpermt2b %2, %1, %0" : "+v"(a) : "v"(index), "v"(b));
  return a;
}
// In one load: the compiler's library asks the machine when the program begins.
HWY_INLINE bool has_select_bytes() { return __builtin_cpu_supports("avx512vbmi") != 0; }

// The blocks of elements of Bytes bytes.
template <std::size_t Bytes>
struct element_block {
  static constexpr std::size_t side = element_block_side(Bytes);
  static constexpr std::size_t piece_bytes = side * Bytes;
  static constexpr std::size_t word = Bytes % 8 == 0 ? 8 : Bytes & -Bytes;  // the largest that divides an element
  using lane = typename word_of<word>::type;
  static constexpr std::size_t lanes = 64 / word;
  using selection = std::array<lane, lanes>;

  static HWY_INLINE __m512i select(__m512i a, __m512i index, __m512i b) {
    if constexpr (word == 1) return select_bytes_of(a, index, b);
    if constexpr (word == 2) return _mm512_permutex2var_epi16(a, index, b);
    if constexpr (word == 4) return _mm512_permutex2var_epi32(a, index, b);
    return _mm512_permutex2var_epi64(a, index, b);
  }

  // Transposes side x side elements: register k holds row k before, and column k after.
  static HWY_INLINE void turn(__m512i (&v)[side]) {
    if constexpr (Bytes == 3) {
      if (!has_select_bytes()) return turn_widened(v);
    }
    shuffle<log2_of(side)>(v, _mm512_load_si512(lower_half.data()), _mm512_load_si512(upper_half.data()));
  }

 private:
  // Elements of 3 bytes as words of 4. In each 16 bytes of a register there are four of them.
  static HWY_INLINE void turn_widened(__m512i (&v)[side]) {
    const __m512i apart = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
    const __m512i widen = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11));
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < side; ++k) v[k] = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(apart, v[k]), widen);
    element_block<4>::turn(v);
    const __m512i narrow =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m512i together = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < side; ++k) {
      v[k] = _mm512_permutexvar_epi32(together, _mm512_shuffle_epi8(v[k], narrow));
    }
  }

  // `Rounds` perfect shuffles, as shuffle_times() of block-inl.hpp.
  template <std::size_t Rounds>
  static HWY_INLINE void shuffle(__m512i (&v)[side], __m512i lower, __m512i upper) {
    __m512i t[side];
    HWY_UNROLL(8)
    for (std::size_t k = 0; k < side / 2; ++k) {
      t[2 * k] = select(v[k], lower, v[k + side / 2]);
      t[2 * k + 1] = select(v[k], upper, v[k + side / 2]);
    }
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < side; ++k) v[k] = t[k];
    if constexpr (Rounds > 1) shuffle<Rounds - 1>(v, lower, upper);
  }

  // The elements of one half of two registers, in turn.
  static constexpr selection half(std::size_t first) {
    selection all{};
    constexpr std::size_t words = Bytes / word;
    for (std::size_t k = 0; k < side * words; ++k) {
      const std::size_t element = k / words;
      all[k] = static_cast<lane>(element % 2 * lanes + (first + element / 2) * words + k % words);
    }
    return all;
  }
  alignas(64) static constexpr selection lower_half = half(0);
  alignas(64) static constexpr selection upper_half = half(side / 2);
};

// The first `bytes` bytes of a register. Shape   0 < bytes <= 64
HWY_INLINE __m512i load_bytes(const std::byte* from, std::int64_t bytes) {
  return bytes == 64 ? _mm512_loadu_si512(from) : _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (64 - bytes), from);
}
HWY_INLINE void store_bytes(__m512i v, std::byte* to, std::int64_t bytes) {
  if (bytes == 64) return _mm512_storeu_si512(to, v);
  _mm512_mask_storeu_epi8(to, ~std::uint64_t{0} >> (64 - bytes), v);
}

// Effect  to[c][r] = row[r][c]: elements at `offset` of each row become columns, `pitch` bytes apart
// Shape   rows, cols: at most `side`. Whole: both are
template <std::size_t Bytes, bool Whole, class Rows>
HWY_INLINE void move_element_block(const Rows& row, std::int64_t offset, std::int64_t rows, std::int64_t cols,
                                   std::byte* to, std::int64_t pitch) {
  using block = element_block<Bytes>;
  constexpr auto side = static_cast<std::int64_t>(block::side);
  constexpr auto element = static_cast<std::int64_t>(Bytes);
  if constexpr (Whole) rows = cols = side;
  __m512i v[block::side];
  HWY_UNROLL(16)
  for (std::int64_t k = 0; k < side; ++k) {
    const bool mine = Whole || k < rows;
    v[k] = mine ? load_bytes(row[static_cast<std::size_t>(k)] + offset, cols * element) : _mm512_setzero_si512();
  }
  block::turn(v);
  HWY_UNROLL(16)
  for (std::int64_t k = 0; k < side; ++k) {
    if (!Whole && k >= cols) break;
    store_bytes(v[k], to + k * pitch, rows * element);
  }
}

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif  // per target
