// Conversions in the walk of strips-inl.hpp, with AVX-512. The rows of a strip are transposed as words of src and converted
// in registers. A column of the strip is then two lines of dst, one line (2-byte elements), or half a line (1-byte
// elements). Half lines are staged by blocks until the line is complete.
#if defined(CORNERTURN_CONVERTED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CONVERTED_INL
#undef CORNERTURN_CONVERTED_INL
#else
#define CORNERTURN_CONVERTED_INL
#endif

#include "kernels/cpu/apply/small_floats-inl.hpp"
#include "kernels/cpu/apply/strips_math-inl.hpp"

#if HWY_TARGET <= HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// Conversions to wider elements fill one register.

// Gives all NaNs one bit pattern.
HWY_INLINE __m512i with_one_nan(__m512i floats) {
  const __m512 x = _mm512_castsi512_ps(floats);
  return _mm512_mask_mov_epi32(floats, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fffffff));
}
struct from_bfloat16 {
  static constexpr std::size_t src = 2, dst = 4;
  HWY_INLINE __m512i operator()(__m256i some) const {
    return with_one_nan(_mm512_slli_epi32(_mm512_cvtepu16_epi32(some), 16));
  }
};
struct from_float16 {
  static constexpr std::size_t src = 2, dst = 4;
  HWY_INLINE __m512i operator()(__m256i some) const { return with_one_nan(_mm512_castps_si512(_mm512_cvtph_ps(some))); }
};
struct from_float32 {
  static constexpr std::size_t src = 4, dst = 8;
  HWY_INLINE __m512i operator()(__m256i some) const {
    const __m512d x = _mm512_cvtps_pd(_mm256_castsi256_ps(some));
    const __m512i nan = _mm512_set1_epi64(0x7fffffffffffffff);
    return _mm512_mask_mov_epi64(_mm512_castpd_si512(x), _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q), nan);
  }
};
template <bool Sign>
struct from_byte {
  static constexpr std::size_t src = 1, dst = 4;
  HWY_INLINE __m512i operator()(__m128i some) const {
    return Sign ? _mm512_cvtepi8_epi32(some) : _mm512_cvtepu8_epi32(some);
  }
};

// Conversions to narrower elements take two registers and fill one.
struct to_float16 {
  static constexpr std::size_t src = 4, dst = 2;
  bool saturate;
  HWY_INLINE __m512i operator()(__m512i first, __m512i second) const {
    return _mm512_inserti64x4(_mm512_castsi256_si512(rounded(first)), rounded(second), 1);
  }

 private:
  HWY_INLINE __m256i rounded(__m512i x) const {
    // Highway's vectors of float16 hold __m256h if the target has FP16, else __m256i.
    const hn::FixedTag<std::uint16_t, 16> halves;
    return hn::BitCast(halves, narrower<float16>::rounded(vector_of_floats{_mm512_castsi512_ps(x)}, saturate)).raw;
  }
};
struct to_float32 {
  static constexpr std::size_t src = 8, dst = 4;
  bool saturate;
  HWY_INLINE __m512i operator()(__m512i first, __m512i second) const {
    return with_one_nan(_mm512_inserti64x4(_mm512_castsi256_si512(rounded(first)), rounded(second), 1));
  }

 private:
  HWY_INLINE __m256i rounded(__m512i x) const {
    const double limit = saturate ? 0x1.fffffep127 : std::numeric_limits<double>::infinity();
    // _mm512_min_pd and _mm512_max_pd return their second operand if either operand is NaN, so a NaN stays one.
    const __m512d below = _mm512_min_pd(_mm512_set1_pd(limit), _mm512_castsi512_pd(x));
    return _mm256_castps_si256(_mm512_cvtpd_ps(_mm512_max_pd(_mm512_set1_pd(-limit), below)));
  }
};
struct to_bfloat16 {
  static constexpr std::size_t src = 4, dst = 2;
  bool saturate;
  HWY_INLINE __m512i operator()(__m512i first, __m512i second) const {
    const hn::FixedTag<std::uint16_t, 32> halves;
    return hn::ConcatOdd(halves, rounded(second), rounded(first)).raw;
  }

 private:
  HWY_INLINE hn::VFromD<hn::FixedTag<std::uint16_t, 32>> rounded(__m512i x) const {
    const hn::FixedTag<std::uint16_t, 32> halves;
    return hn::BitCast(halves, narrower<bfloat16>::rounded(vector_of_floats{_mm512_castsi512_ps(x)}, saturate));
  }
};
// Conversions to bytes: a column of 32 rows fills half a register.
template <class Convert>
struct to_bytes {
  static constexpr std::size_t src = 4, dst = 1, pairs_apart = 2;

  // Transposes and converts 32 rows x 32 columns, four columns at a time.
  HWY_INLINE void turn(const std::byte* const* row, std::int64_t offset, __m512i (&strip)[strip_vectors]) const {
    using tall = tall_block<src, 64>;
    const __m512i pieces = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    for (std::size_t c = 0; c < strip_vectors; c += 2, offset += 16) {
      hn::VFromD<typename tall::Tag> upper[4];
      hn::VFromD<typename tall::Tag> lower[4];
      tall::turn(row, offset, upper);
      tall::turn(row + tall::rows, offset, lower);
      const auto column = [&](std::size_t k) HWY_ATTR {
        return _mm512_castsi256_si512(static_cast<const Convert&>(*this)(upper[k].raw, lower[k].raw));
      };
      strip[c] = _mm512_permutex2var_epi64(column(0), pieces, column(2));
      strip[c + 1] = _mm512_permutex2var_epi64(column(1), pieces, column(3));
    }
  }
};
template <class T>
struct to_float8 : to_bytes<to_float8<T>> {
  to_float8(bool saturates, float by) noexcept : saturate(saturates), scale(by) {}
  bool saturate;
  float scale;
  HWY_INLINE __m256i operator()(__m512i first, __m512i second) const {
    return narrower<T>::rounded_two(scaled(first), scaled(second), saturate);
  }

 private:
  HWY_INLINE __m512 scaled(__m512i x) const { return _mm512_mul_ps(_mm512_castsi512_ps(x), _mm512_set1_ps(scale)); }
};
HWY_INLINE __m256i joined(__m128i first, __m128i second) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}
struct to_int8 : to_bytes<to_int8> {
  explicit to_int8(bool saturates) noexcept : saturate(saturates) {}
  bool saturate;
  HWY_INLINE __m256i operator()(__m512i first, __m512i second) const {
    return saturate ? joined(_mm512_cvtsepi32_epi8(first), _mm512_cvtsepi32_epi8(second))
                    : joined(_mm512_cvtepi32_epi8(first), _mm512_cvtepi32_epi8(second));
  }
};

// Converts 64 bfloat16 to bytes by two lookup tables. The upper byte of a number is its sign and a pair of binades. The lower
// byte is a cell of eight neighbours (5 bits) and a place in the cell (3 bits). Inside a cell the code of the result grows
// by at most one. So (the sum of the eight codes of the cell + the place) / 8, rounded down, is the code.
//
// `sums_` holds the sums of four pairs of binades: the three pairs that hold all numbers with a subnormal result, and the next
// pair. The codes of all larger pairs are the codes of the fourth pair plus a multiple of `codes`. The conversion of
// element.hpp fills both tables for the scale of the call. 64 numbers take 20 instructions; arithmetic on floats takes 60.
template <class T>
class bfloat16_to_float8 {
  using to = narrower<T>;

 public:
  static constexpr std::size_t src = 2, dst = 1, pairs_apart = 8;

  static bool serves(float scale) noexcept {
    return __builtin_cpu_supports("avx512vbmi") && scale >= 0x1p-60F && scale <= 0x1p60F;
  }

  bfloat16_to_float8(float scale, bool saturate) noexcept : saturate_(saturate) {
    const auto code = [&](int pair, int low) HWY_ATTR {
      return narrow<T>(widen(bfloat16{static_cast<std::uint16_t>(pair << 8 | low)}) * scale, true).bits;
    };
    int first = 0;
    while (code(first, 255) == 0) ++first;
    const int above = code(first + 3, 0) / codes;
    for (int cell = 0; cell < 128; ++cell) {
      int sum = cell < 96 ? 0 : -8 * above * codes;
      for (int k = 0; k < 8; ++k) sum += code(first + cell / 32, cell % 32 * 8 + k);
      sums_[cell] = static_cast<std::uint8_t>(sum);
    }
    for (int pair = 0; pair < 128; ++pair) {
      const int row = HWY_MIN(HWY_MAX(pair - first, 0), 3);
      const int times = pair < first ? 0 : 1 + (row < 3 ? 0 : HWY_MIN(above + pair - first - 3, 128 / codes));
      pairs_[pair] = static_cast<std::uint8_t>((pair == 127 ? 0x80 : 0) | row << 5 | times);
    }
  }

  HWY_INLINE __m512i operator()(__m512i low, __m512i high) const {
    const auto set = [](int value) HWY_ATTR { return _mm512_set1_epi8(static_cast<char>(value)); };
    constexpr int b_where_c_else_a = 0xd8, a_or_b_and_c = 0xf8;
    const __m512i pair = looked_up(high, pairs_);
    const __m512i cell = _mm512_ternarylogic_epi32(pair, _mm512_srli_epi16(low, 3), set(0x1f), b_where_c_else_a);
    const __m512i sum = _mm512_add_epi8(_mm512_and_si512(low, set(7)), looked_up(cell, sums_));
    const __m512i times = _mm512_and_si512(_mm512_slli_epi16(pair, to::mantissa + 1), set(256 - codes));
    const __m512i some = _mm512_and_si512(_mm512_srli_epi16(sum, 3), set(0x1f));
    const __m512i code = _mm512_subs_epu8(_mm512_add_epi8(some, times), set(codes));
    const __mmask64 nan = to::beyond_is_nan && !saturate_
                              ? _mm512_cmpgt_epu8_mask(code, set(to::max_code))
                              : _mm512_mask_cmpgt_epu8_mask(_mm512_movepi8_mask(pair), low, set(0x80));
    const __m512i most = _mm512_min_epu8(code, set(to::max_code + (saturate_ ? 0 : 1)));
    const __m512i with_sign = _mm512_ternarylogic_epi32(most, high, set(0x80), a_or_b_and_c);
    return _mm512_mask_mov_epi8(with_sign, nan, set(to::nan_code));
  }

  // Transposes and converts 32 rows x 32 columns.
  HWY_INLINE void turn(const std::byte* const* row, std::int64_t offset, __m512i (&strip)[strip_vectors]) const {
    for (std::size_t half = 0; half < 2; ++half) {
      __m512i bytes[16];
      turn_pairs<1>(row, offset + 32 * static_cast<std::int64_t>(half), bytes);
      HWY_UNROLL(8)
      for (std::size_t c = 0; c < 8; ++c) strip[8 * half + c] = (*this)(bytes[2 * c], bytes[2 * c + 1]);
    }
  }

 private:
  static constexpr int codes = 2 << to::mantissa;  // codes of one pair of binades

  // Looks up each byte by its lower seven bits. Inline assembly, because the compiler has no vpermi2b for this target.
  static HWY_INLINE __m512i looked_up(__m512i index, const std::array<std::uint8_t, 128>& table) {
    asm("vpermi2b %2, %1, %0"
        : "+v"(index)
        : "v"(_mm512_load_si512(table.data())), "v"(_mm512_load_si512(table.data() + 64)));
    return index;
  }

  alignas(64) std::array<std::uint8_t, 128> pairs_;
  alignas(64) std::array<std::uint8_t, 128> sums_;
  bool saturate_;
};

// A strip for waiting_block whose rows are converted while they are transposed. It prefetches later rows, two lines of each
// row at a time.
template <class Convert, std::size_t Side>
struct converted_rows {
  const strip_of_rows<Side>& now;
  const strip_of_rows<Side>& next;
  std::int64_t offset;
  std::int64_t distance;
  bool apart;  // false: rows are copied side by side before they are transposed
  const Convert& convert;

  HWY_INLINE void turn(std::int64_t k, __m512i (&strip)[strip_vectors]) const {
    constexpr auto bytes = static_cast<std::int64_t>(32 * Convert::src);
    const std::int64_t at = offset + k * static_cast<std::int64_t>(Convert::src), inside = at % strip_block_bytes;
    const block_ahead<Side> ahead(now, next, at - inside, distance, strip_block_bytes, nullptr);
    for (std::int64_t b = 0; b < bytes; b += 16) ahead.fetch(inside + b);
    if (apart) return convert.turn(now.row, at, strip);
    alignas(64) std::byte copied[Side][bytes];
    std::array<const std::byte*, Side> copies;
    for (std::size_t r = 0; r < Side; ++r) {
      std::memcpy(copied[r], now.row[r] + at, bytes);
      copies[r] = copied[r];
    }
    convert.turn(copies.data(), 0, strip);
  }
};

template <class Convert>
struct blocks_math : rows_math {
  static constexpr bool computes_blocks = true;
  static constexpr std::size_t pairs_apart = [] {
    if constexpr (Convert::dst == 1) return Convert::pairs_apart;
    return rows_math::pairs_apart;
  }();
  static constexpr bool two_lines = Convert::dst >= 4;
  static constexpr std::size_t side = rows_of_strip(Convert::dst);

  blocks_math(const apply::args& work, const arrays& all, Convert convert) noexcept
      : rows_math(work, all), convert_(convert) {}

  [[nodiscard]] converted_rows<Convert, side> converted(const strip_of_rows<side>& now, const strip_of_rows<side>& next,
                                                        std::int64_t c, bool apart) const noexcept {
    return {now, next, c * static_cast<std::int64_t>(Convert::src), work_.prefetch_bytes, apart, convert_};
  }

  // Effect  transposes and converts a block of columns from c on, 128 bytes of each row at a time. Prefetches later rows,
  //         two lines of each row. apart: false if rows are copied side by side before they are transposed
  HWY_NOINLINE void block(const strip_of_rows<side>& now, const strip_of_rows<side>& next, std::int64_t c, bool apart,
                          column_lines to) const noexcept {
    const std::int64_t begin = c * static_cast<std::int64_t>(Convert::src);
    if (!apart) {
      alignas(64) std::byte copied[side][bytes];
      std::array<const std::byte*, side> copies;
      const coming_rows coming(now, next, begin, work_.prefetch_bytes);
      for (std::size_t k = 0; k < side; ++k) {
        coming.fetch(static_cast<std::int64_t>(k), bytes);
        std::memcpy(copied[k], now.row[k] + begin, bytes);
        copies[k] = copied[k];
      }
      for (std::int64_t k = 0; k < bytes; k += 16) turn(copies.data(), k, to);
      return;
    }
    for (std::int64_t offset = begin; offset < begin + bytes; offset += HWY_MIN(bytes, strip_block_bytes)) {
      // A block that loads fewer than 128 bytes of each row prefetches only for its share of the rows.
      const std::int64_t inside = offset % strip_block_bytes;
      const block_ahead<side> ahead(now, next, offset - inside, work_.prefetch_bytes, strip_block_bytes, nullptr);
      for (std::int64_t k = 0; k < HWY_MIN(bytes, strip_block_bytes); k += 16) {
        ahead.fetch(inside + k);
        turn(now.row, offset + k, to);
      }
    }
  }

 private:
  static constexpr std::int64_t bytes = strip_block_bytes / Convert::dst * Convert::src;  // that a block loads of a row

  HWY_INLINE void turn(const std::byte* const* row, std::int64_t offset, column_lines& to) const {
    if constexpr (Convert::dst > Convert::src) {
      widen(row, offset, to);
    } else if constexpr (two_lines) {
      halve(row, offset, to);
    } else {
      narrow(row, offset, to);
    }
  }
  HWY_INLINE void widen(const std::byte* const* row, std::int64_t offset, column_lines& to) const {
    using tall = tall_block<Convert::src, side * Convert::src>;
    hn::VFromD<typename tall::Tag> v[tall::n];
    tall::turn(row, offset, v);
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < tall::n; ++k, to.kept += line_bytes) {
      __m512i one, two;
      if constexpr (Convert::src > 1) {
        one = convert_(_mm512_castsi512_si256(v[k].raw));
        two = convert_(_mm512_extracti64x4_epi64(v[k].raw, 1));
      } else {
        one = convert_(_mm256_castsi256_si128(v[k].raw));
        two = convert_(_mm256_extracti128_si256(v[k].raw, 1));
      }
      write_two<Convert::dst, false>(one, two, *to.run++ + to.from, to.kept, to.from == 0, to.last);
    }
  }

  HWY_INLINE void halve(const std::byte* const* row, std::int64_t offset, column_lines& to) const {
    using tall = tall_block<Convert::src, 64>;
    static_assert(4 * tall::rows == side);
    hn::VFromD<typename tall::Tag> v[4][tall::n];
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < 4; ++k) tall::turn(row + k * tall::rows, offset, v[k]);
    HWY_UNROLL(2)
    for (std::size_t k = 0; k < tall::n; ++k, to.kept += line_bytes) {
      const __m512i one = convert_(v[0][k].raw, v[1][k].raw);
      const __m512i two = convert_(v[2][k].raw, v[3][k].raw);
      write_two<Convert::dst, false>(one, two, *to.run++ + to.from, to.kept, to.from == 0, to.last);
    }
  }

  HWY_INLINE void narrow(const std::byte* const* row, std::int64_t offset, column_lines& to) const {
    using tall = tall_block<Convert::src, 64>;
    static_assert(2 * tall::rows == side);
    hn::VFromD<typename tall::Tag> upper[tall::n];
    hn::VFromD<typename tall::Tag> lower[tall::n];
    tall::turn(row, offset, upper);
    tall::turn(row + tall::rows, offset, lower);
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < tall::n; ++k, to.window += to.pitch) {
      const auto made = convert_(upper[k].raw, lower[k].raw);
      if (to.closes) {
        std::byte* const front = to.window - 2 * line_bytes;
        write_two<Convert::dst, false>(_mm512_loadu_si512(front + line_bytes), made, *to.run++ + to.from, front,
                                       to.from == 0, to.last);
      } else {
        _mm512_storeu_si512(to.window, made);
      }
    }
  }

  Convert convert_;
};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // AVX-512
#endif  // per target
