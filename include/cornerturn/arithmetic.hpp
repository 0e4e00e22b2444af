// What happens to an element on its way, as a field of `problem`. With S the second array, or dst before the move:
//
//   dst = convert(scale * (alpha * op(src) + beta * S))          op: nothing, or the complex conjugate
//
//   value      alpha 1 and beta 0 of one type: the bits of src, whatever they are. conj flips the sign of the imaginary
//              part and nothing else. An alpha of 0 does not read src, a beta of 0 does not read S: no NaN leaks
//   arithmetic in double where either type is float64 or complex128, else in float, to which alpha and beta are rounded
//              first: alpha * s; fma(alpha, s, beta * S). Complex, an imaginary part of alpha or beta not 0:
//                q = (fma(br, Sr, -(bi * Si)), fma(br, Si, bi * Sr))                 beta is 0: fma(-ai, si, qr) is
//                (fma(ar, sr, fma(-ai, si, qr)), fma(ar, si, fma(ai, sr, qi)))       -(ai * si), the other ai * sr
//              else each component by itself. A scale comes last. The bits are the same on every CPU and GPU
//   rounding   to nearest, ties to even. What is too large for another type of float becomes its largest number when
//              saturate is set, infinities included; else infinity, and NaN in float8_e4m3, which has none
//   NaN        of any arithmetic or conversion has all bits set but the sign: 0x7fffffff, 0x7fff, 0x7f
//   integers   have conversions only: to the nearest value of dst when saturate is set, else modulo 2^bits
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace cornerturn {

enum class element_type : std::int32_t {
  bits = 0,  // of any size, moved as they are
  float16,
  bfloat16,
  float32,
  float64,
  complex64,    // two float32
  complex128,   // two float64
  float8_e4m3,  // the "fn" kind: no infinity, 448 at most
  float8_e5m2,  // 57344 at most
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
};

// Effect  the literal name of a type: "bits", "float16", ...
[[nodiscard]] const char* name(element_type type) noexcept;

// The bytes of one element; 0 for bits.
[[nodiscard]] constexpr std::int64_t bytes_of(element_type type) noexcept {
  constexpr std::int8_t sizes[] = {0, 2, 2, 4, 8, 8, 16, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8};
  const auto k = static_cast<std::int64_t>(type);
  return k < 0 || k >= static_cast<std::int64_t>(sizeof sizes) ? 0 : sizes[k];
}

enum class second_array : std::int32_t {
  none = 0,
  source = 1,       // beta multiplies its elements, not those of dst
  destination = 2,  // what is written to dst is written there too
};

struct scalar {
  double re = 0;
  double im = 0;  // of complex types only
  friend bool operator==(const scalar&, const scalar&) = default;
};

// Types  one on both sides: any; with alpha and beta float16, bfloat16, float32, float64, complex64, complex128.
//        float32 to and from float16, bfloat16 and float64, with alpha and beta. float32, float16 or bfloat16 to
//        float8_e4m3 or float8_e5m2, with alpha, and with a scale, which is read at execute. Any integer to any other
struct arithmetic {
  element_type src = element_type::bits;
  element_type dst = element_type::bits;
  scalar alpha{1, 0};
  scalar beta{0, 0};
  bool conj = false;
  bool saturate = true;
  bool scaled = false;  // dst is float8: set, and only then
  second_array second = second_array::none;
  friend bool operator==(const arithmetic&, const arithmetic&) = default;
};

}  // namespace cornerturn
#pragma GCC visibility pop
