// Vector code that converts float32 to smaller floats, without branches. The results have the bits that kernels/element.hpp
// defines. Numbers that are too large are clamped first, and a NaN gets the one pattern of element.hpp.
#if defined(CORNERTURN_SMALL_FLOATS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORNERTURN_SMALL_FLOATS_INL
#undef CORNERTURN_SMALL_FLOATS_INL
#else
#define CORNERTURN_SMALL_FLOATS_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/element.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX2
inline constexpr bool converts_float16 = true;  // the processor has an instruction for it
#else
inline constexpr bool converts_float16 = false;
#endif

using floats = hn::CappedTag<float, 16>;
using vector_of_floats = hn::VFromD<floats>;

template <class T>
struct narrower;

template <>
struct narrower<float16> {
  static HWY_INLINE hn::VFromD<hn::Rebind<hwy::float16_t, floats>> rounded(vector_of_floats x, bool saturate) {
    const floats wide;
    const hn::Rebind<hwy::float16_t, floats> small;
    const auto nan = hn::Set(wide, bits_as<float>(0x7fffffffu));
    const auto most = hn::Set(wide, saturate ? 65504.0F : bits_as<float>(0x7f800000u));
    const auto within = hn::Max(hn::Min(x, most), hn::Neg(most));
    return hn::DemoteTo(small, hn::IfThenElse(hn::IsNaN(x), nan, within));
  }
};

// Rounds the bits as integers. The upper half of each is the result.
template <>
struct narrower<bfloat16> {
  static HWY_INLINE hn::VFromD<hn::RebindToUnsigned<floats>> rounded(vector_of_floats x, bool saturate) {
    const floats wide;
    const hn::RebindToUnsigned<floats> whole;
    const auto most = hn::Set(wide, bits_as<float>(saturate ? 0x7f7f0000u : 0x7f800000u));
    const auto within = hn::BitCast(whole, hn::Max(hn::Min(x, most), hn::Neg(most)));
    const auto odd = hn::And(hn::ShiftRight<16>(within), hn::Set(whole, 1));
    const auto nearest = hn::Add(hn::Add(within, odd), hn::Set(whole, 0x7fff));
    return hn::IfThenElse(hn::RebindMask(whole, hn::IsNaN(x)), hn::Set(whole, 0x7fffffff), nearest);
  }
};

// Rounds by a sum with a power of two whose ulp equals the ulp of the result.
template <class Format>
struct narrower_to_bytes;
template <int Mantissa, int Bias, std::uint32_t Max, std::uint32_t Beyond, std::uint32_t Nan>
struct narrower_to_bytes<small_float<Mantissa, Bias, Max, Beyond, Nan>> {
  using format = small_float<Mantissa, Bias, Max, Beyond, Nan>;
  static constexpr int dropped = format::dropped;
  static constexpr int mantissa = Mantissa, max_code = Max, nan_code = Nan;
  static constexpr bool beyond_is_nan = Beyond == Nan;
  // The bits of the float that has the value of `code`.
  static constexpr std::uint32_t value_of(std::uint32_t code) {
    return (code << dropped) + (static_cast<std::uint32_t>(127 - Bias) << 23);
  }

  // Effect  returns the bytes of the results as 32-bit integers
  static HWY_INLINE hn::VFromD<hn::RebindToSigned<floats>> rounded(vector_of_floats x, bool saturate) {
    const floats wide;
    const hn::RebindToSigned<floats> whole;
    const auto set = [&](std::uint32_t value) HWY_ATTR { return hn::Set(whole, static_cast<std::int32_t>(value)); };
    // A tie between the largest number and the value after it rounds to the largest number, because its code is even.
    static_assert(Beyond != Nan || Max % 2 == 0);
    constexpr std::uint32_t infinity = 0x7f800000;
    const std::uint32_t nan_above = Beyond == Nan && !saturate ? value_of(Max) + (1u << (dropped - 1)) : infinity;
    const auto all = hn::BitCast(whole, x);
    const auto size = hn::And(all, set(0x7fffffff));
    const auto a = hn::Min(size, set(value_of(saturate ? Max : Max + 1)));
    const auto exponent = hn::Max(hn::And(a, set(infinity)), set(format::normal));
    const auto power = hn::Add(exponent, set(static_cast<std::uint32_t>(23 - Mantissa) << 23));
    const auto sum = hn::BitCast(whole, hn::Add(hn::BitCast(wide, a), hn::BitCast(wide, power)));
    auto code = hn::Add(hn::Sub(sum, power), hn::ShiftRight<dropped>(hn::Sub(exponent, set(format::normal))));
    code = hn::Or(code, hn::And(hn::ShiftRight<24>(all), set(format::sign)));
    return hn::IfThenElse(hn::Gt(size, set(nan_above)), set(Nan), code);
  }

#if HWY_TARGET <= HWY_AVX3
  // Effect  returns the bytes of two vectors. Each float is cut to a float16 whose exponent has the bias of the result.
  //         The upper bits of the float16 are then the result before rounding, and integer rounding finishes it, for
  //         subnormal numbers too
  static HWY_INLINE __m256i rounded_two(__m512 first, __m512 second, bool saturate) {
    const auto set = [](std::uint32_t value) HWY_ATTR { return _mm512_set1_epi16(static_cast<short>(value)); };
    constexpr std::uint32_t infinity = 0x7c00;
    const std::uint32_t nan_above = Beyond == Nan && !saturate ? (Max << more) + (1u << (more - 1)) : infinity;
    const __m512i all = _mm512_inserti64x4(_mm512_castsi256_si512(half(first)), half(second), 1);
    const __m512i size = _mm512_and_si512(all, set(0x7fff));
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(all, more), set(1));
    const __m512i nearest = _mm512_add_epi16(_mm512_add_epi16(size, odd), set((1u << (more - 1)) - 1));
    const __m512i code = _mm512_min_epi16(_mm512_srli_epi16(nearest, more), set(saturate ? Max : Max + 1));
    constexpr int a_or_b_and_c = 0xf8;
    const __m512i with_sign =
        _mm512_ternarylogic_epi32(code, _mm512_srli_epi16(all, 8), set(format::sign), a_or_b_and_c);
    const __mmask32 nan = _mm512_cmpgt_epi16_mask(size, set(nan_above));
    return _mm512_cvtepi16_epi8(_mm512_mask_mov_epi16(with_sign, nan, set(Nan)));
  }

 private:
  static constexpr int more = 10 - Mantissa;

  // Cuts floats to float16. Bit 17 is the lowest bit that survives in every float16 that does not round to 0. It becomes a
  // sticky bit: it is set when any bit below it is lost.
  static HWY_INLINE __m256i half(__m512 x) {
    if constexpr (Bias != 15) x = _mm512_mul_ps(x, _mm512_set1_ps(1.0F / (1 << (15 - Bias))));
    const __m512i bits = _mm512_castps_si512(x);
    const __mmask16 lost = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x1ffff));
    const __m512i told = _mm512_mask_or_epi32(bits, lost, bits, _mm512_set1_epi32(0x20000));
    return _mm512_cvtps_ph(_mm512_castsi512_ps(told), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }
#endif
};
template <>
struct narrower<float8_e4m3> : narrower_to_bytes<as_e4m3> {};
template <>
struct narrower<float8_e5m2> : narrower_to_bytes<as_e5m2> {};

}  // namespace cornerturn::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per target
