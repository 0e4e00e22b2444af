// Conversions in the walk of strips-inl.hpp, with AVX-512: 32 rows of a column are turned as words of src, converted in
// registers, and are then two lines of dst, one, or half of one.
#if defined(CORNERTURN_CONVERTED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_CONVERTED_INL
#undef CORNERTURN_CONVERTED_INL
#else
#define CORNERTURN_CONVERTED_INL
#endif

#include "kernels/cpu/small_floats-inl.hpp"
#include "kernels/cpu/strips_math-inl.hpp"

#if HWY_TARGET <= HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {

// To wider elements: sixteen of them.
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
template <bool Sign>
struct from_byte {
  static constexpr std::size_t src = 1, dst = 4;
  HWY_INLINE __m512i operator()(__m128i some) const {
    return Sign ? _mm512_cvtepi8_epi32(some) : _mm512_cvtepu8_epi32(some);
  }
};

// To narrower ones: those of two registers.
struct to_float16 {
  static constexpr std::size_t src = 4, dst = 2;
  bool saturate;
  HWY_INLINE __m512i operator()(__m512i first, __m512i second) const {
    return _mm512_inserti64x4(_mm512_castsi256_si512(rounded(first)), rounded(second), 1);
  }

 private:
  HWY_INLINE __m256i rounded(__m512i x) const {
    return narrower<float16>::rounded(vector_of_floats{_mm512_castsi512_ps(x)}, saturate).raw;
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
template <class T>
struct to_float8 {
  static constexpr std::size_t src = 4, dst = 1;
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
struct to_int8 {
  static constexpr std::size_t src = 4, dst = 1;
  bool saturate;
  HWY_INLINE __m256i operator()(__m512i first, __m512i second) const {
    return saturate ? joined(_mm512_cvtsepi32_epi8(first), _mm512_cvtsepi32_epi8(second))
                    : joined(_mm512_cvtepi32_epi8(first), _mm512_cvtepi32_epi8(second));
  }
};

template <class Convert>
struct blocks_math : rows_math {
  static constexpr bool computes_blocks = true;
  static constexpr bool two_lines = Convert::dst > Convert::src;
  static constexpr std::size_t side = 32;
  static_assert(rows_of_strip(Convert::dst) == side);

  blocks_math(const job& work, const arrays& all, Convert convert) noexcept : rows_math(work, all), convert_(convert) {}

  // Effect  a block of columns from c on, 128 bytes of each row at a time. What comes is fetched, two lines of each row.
  //         apart: false where rows are copied side by side before they are turned
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
      // A block that takes less of each row fetches for some of them.
      const std::int64_t inside = offset % strip_block_bytes;
      const block_ahead<side> ahead(now, next, offset - inside, work_.prefetch_bytes, strip_block_bytes, nullptr);
      for (std::int64_t k = 0; k < HWY_MIN(bytes, strip_block_bytes); k += 16) {
        ahead.fetch(inside + k);
        turn(now.row, offset + k, to);
      }
    }
  }

 private:
  static constexpr std::int64_t bytes = strip_block_bytes / Convert::dst * Convert::src;  // of a row

  HWY_INLINE void turn(const std::byte* const* row, std::int64_t offset, column_lines& to) const {
    if constexpr (two_lines) {
      widen(row, offset, to);
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
      if constexpr (Convert::src == 2) {
        one = convert_(_mm512_castsi512_si256(v[k].raw));
        two = convert_(_mm512_extracti64x4_epi64(v[k].raw, 1));
      } else {
        one = convert_(_mm256_castsi256_si128(v[k].raw));
        two = convert_(_mm256_extracti128_si256(v[k].raw, 1));
      }
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
      if constexpr (Convert::dst == 1) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.window), made);
      } else if (to.closes) {
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
