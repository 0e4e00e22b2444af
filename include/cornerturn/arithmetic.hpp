// Arithmetic on each element during the copy: a field of `problem`. S is the second array, or the old content of dst.
//
//   dst = convert(scale * (alpha * op(src) + beta * S))          op: identity or complex conjugate
//
//   value      With alpha 1, beta 0 and one type, dst gets the exact bits of src. conj only flips the sign of the
//              imaginary part. alpha 0 does not read src and beta 0 does not read S, so their NaNs have no effect.
//   arithmetic In double if a type is float64 or complex128, else in float. alpha and beta are rounded to it first.
//              alpha * s; fma(alpha, s, beta * S). Next two lines: alpha or beta has an imaginary part other than 0.
//                q = (fma(br, Sr, -(bi * Si)), fma(br, Si, bi * Sr))              if beta is 0, the inner terms are
//                (fma(ar, sr, fma(-ai, si, qr)), fma(ar, si, fma(ai, sr, qi)))    -(ai * si) and ai * sr.
//              Otherwise each part is computed separately. The scale is applied last. All CPUs and GPUs agree bitwise.
//   rounding   To nearest, ties to even. With saturate, a number too large for a narrower float type, and infinity,
//              become its largest finite number. Else they become infinity (NaN in float8_e4m3).
//   NaN        Every NaN from arithmetic or a conversion has all bits set but the sign: 0x7fffffff, 0x7fff, 0x7f.
//   integers   Conversions only: with saturate to the nearest value of dst, else modulo 2^bits.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace cornerturn {

enum class element_type : std::int32_t {
  bits = 0,  // of any size, copied unchanged
  float16,
  bfloat16,
  float32,
  float64,
  complex64,    // two float32
  complex128,   // two float64
  float8_e4m3,  // the "fn" variant: no infinity, at most 448
  float8_e5m2,  // at most 57344
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
};

// Effect  returns the literal name of a type: "bits", "float16", ...
[[nodiscard]] const char* name(element_type type) noexcept;

// Effect  returns the bytes of one element; 0 for bits
[[nodiscard]] constexpr std::int64_t bytes_of(element_type type) noexcept {
  constexpr std::int8_t sizes[] = {0, 2, 2, 4, 8, 8, 16, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8};
  const auto k = static_cast<std::int64_t>(type);
  return k < 0 || k >= static_cast<std::int64_t>(sizeof sizes) ? 0 : sizes[k];
}

enum class second_array : std::int32_t {
  none = 0,
  source = 1,       // beta multiplies its elements instead of dst's elements
  destination = 2,  // receives every element that dst receives
};

struct scalar {
  double re = 0;
  double im = 0;  // complex types only
  friend bool operator==(const scalar&, const scalar&) = default;
};

// Types  equal types: any; alpha and beta with float16, bfloat16, float32, float64, complex64, complex128.
//        Any integer to any other integer. float32 to and from float16, bfloat16 and float64, with alpha and beta.
//        float32, float16 or bfloat16 to float8_e4m3 or float8_e5m2, with alpha and a scale that execute reads
struct arithmetic {
  element_type src = element_type::bits;
  element_type dst = element_type::bits;
  scalar alpha{1, 0};
  scalar beta{0, 0};
  bool conj = false;
  bool saturate = true;
  bool scaled = false;  // must be set for a conversion to float8, and only for that
  second_array second = second_array::none;
  friend bool operator==(const arithmetic&, const arithmetic&) = default;
};

}  // namespace cornerturn
#pragma GCC visibility pop
