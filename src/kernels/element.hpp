// The arithmetic of one element, for the host and for the device. cornerturn/arithmetic.hpp has the rules. The bits do
// not depend on the compiler, for two reasons: every product and sum that may be contracted is an explicit fma, and
// small floats are rounded in integers.
//
//   1. storage: a type for each element_type
//   2. small floats: integers that round
//   3. apply<terms>(): one element
//   4. visit(): selects the types for an op, once for each call
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/op.hpp"

// Always inlined, so that it is compiled for the SIMD target, or the device, of its caller.
#define CORNERTURN_ELEMENT CORNERTURN_HOST_DEVICE inline __attribute__((always_inline))

namespace cornerturn::kernels {

// 1. Storage.
struct float16 {
  std::uint16_t bits;
};
struct bfloat16 {
  std::uint16_t bits;
};
struct float8_e4m3 {
  std::uint8_t bits;
};
struct float8_e5m2 {
  std::uint8_t bits;
};
template <class Part>
struct complex_of {
  using part = Part;
  Part re;
  Part im;
};
struct word16 {
  std::uint64_t low;
  std::uint64_t high;
};

template <class T>
inline constexpr bool is_complex = false;
template <class Part>
inline constexpr bool is_complex<complex_of<Part>> = true;
template <class T>
inline constexpr bool is_float8 = std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;

// 2. Small floats.
template <class To, class From>
CORNERTURN_ELEMENT To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Selects a number without a branch: compilers would keep a branch, and would not vectorize the loop.
CORNERTURN_ELEMENT std::uint32_t either(bool condition, std::uint32_t yes, std::uint32_t no) {
  return no ^ ((yes ^ no) & (0u - static_cast<std::uint32_t>(condition)));
}

// Compares numbers below 2^31 as signed ones: most processors have no comparison of unsigned vectors.
CORNERTURN_ELEMENT bool below(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
}

// A float of at most 16 bits, in the low bits of a word. `Beyond` replaces numbers that are too large: infinity, or NaN
// in a type without infinity.
template <int Mantissa, int Bias, std::uint32_t Max, std::uint32_t Beyond, std::uint32_t Nan>
struct small_float {
  // `shift` is the power of two whose ulp equals the ulp of subnormal numbers, so adding it rounds a float to them.
  static constexpr std::uint32_t shift = static_cast<std::uint32_t>(127 + 24 - Bias - Mantissa) << 23;
  static constexpr std::uint32_t normal = static_cast<std::uint32_t>(127 - Bias + 1) << 23;
  static constexpr std::uint32_t sign = (Nan + 1) & ~Nan;
  static constexpr int dropped = 23 - Mantissa;

  CORNERTURN_ELEMENT static std::uint32_t from_float(float x, bool saturate) {
    const auto all = bits_as<std::uint32_t>(x);
    const std::uint32_t a = all & 0x7fffffffu;
    constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - Bias) << 23;
    constexpr std::uint32_t half = (1u << (dropped - 1)) - 1;
    std::uint32_t r = (a - rebias + half + ((a >> dropped) & 1u)) >> dropped;
    if constexpr (Bias < 127) {
      const std::uint32_t low = bits_as<std::uint32_t>(bits_as<float>(a) + bits_as<float>(shift)) - shift;
      r = either(below(a, normal), low, r);
    }
    r = either(below(Max, r), either(saturate, Max, Beyond), r);
    std::uint32_t made = r | ((all >> 31) * sign);
    if constexpr (Beyond == Nan) made = either(r == Nan, Nan, made);
    return either(below(0x7f800000u, a), Nan, made);
  }
};

using as_float16 = small_float<10, 15, 0x7bff, 0x7c00, 0x7fff>;
using as_bfloat16 = small_float<7, 127, 0x7f7f, 0x7f80, 0x7fff>;
using as_e4m3 = small_float<3, 7, 0x7e, 0x7f, 0x7f>;
using as_e5m2 = small_float<2, 15, 0x7b, 0x7c, 0x7f>;

CORNERTURN_ELEMENT float widen(float x) { return x; }
CORNERTURN_ELEMENT double widen(double x) { return x; }
CORNERTURN_ELEMENT float widen(bfloat16 x) { return bits_as<float>(static_cast<std::uint32_t>(x.bits) << 16); }
CORNERTURN_ELEMENT float widen(float16 x) {
  const std::uint32_t a = x.bits & 0x7fffu;
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits >> 15) << 31;
  const std::uint32_t normal = (a << 13) + (112u << 23);
  const std::uint32_t beyond = normal + (112u << 23);  // infinity and NaN
  // A subnormal number: an integer below 2^10, times 2^-24.
  const auto low = bits_as<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(a)) * 0x1p-24f);
  return bits_as<float>(either(a < 0x400u, low, either(a < 0x7c00u, normal, beyond)) | sign);
}

// Effect  `x` rounded to T; a NaN has all bits set but the sign
template <class T, class C>
CORNERTURN_ELEMENT T narrow(C x, bool saturate) {
  if constexpr (std::is_same_v<T, float16>) {
    return {static_cast<std::uint16_t>(as_float16::from_float(x, saturate))};
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return {static_cast<std::uint16_t>(as_bfloat16::from_float(x, saturate))};
  } else if constexpr (std::is_same_v<T, float8_e4m3>) {
    return {static_cast<std::uint8_t>(as_e4m3::from_float(x, saturate))};
  } else if constexpr (std::is_same_v<T, float8_e5m2>) {
    return {static_cast<std::uint8_t>(as_e5m2::from_float(x, saturate))};
  } else if constexpr (std::is_same_v<T, double>) {
    return x != x ? bits_as<double>(std::uint64_t{0x7fffffffffffffff}) : static_cast<double>(x);
  } else {
    auto r = static_cast<float>(x);
    if constexpr (std::is_same_v<C, double>) {
      constexpr float most = 0x1.fffffep127f;
      if (saturate) r = r > most ? most : r < -most ? -most : r;
    }
    return x != x ? bits_as<float>(0x7fffffffu) : r;
  }
}

template <class To, class From>
CORNERTURN_ELEMENT To convert_integer(From x, bool saturate) {
  using to = std::numeric_limits<To>;
  using from = std::numeric_limits<From>;
  constexpr auto to_max = static_cast<std::uint64_t>(to::max());
  constexpr auto from_max = static_cast<std::uint64_t>(from::max());
  constexpr From hi = static_cast<From>(to_max < from_max ? to_max : from_max);
  constexpr auto to_min = static_cast<std::int64_t>(to::min());
  constexpr auto from_min = static_cast<std::int64_t>(from::min());
  constexpr From lo = static_cast<From>(to_min > from_min ? to_min : from_min);
  const From nearest = x > hi ? hi : x < lo ? lo : x;
  return static_cast<To>(saturate ? nearest : x);
}

// 3. One element.

CORNERTURN_ELEMENT float fused(float a, float b, float c) { return ::fmaf(a, b, c); }
CORNERTURN_ELEMENT double fused(double a, double b, double c) { return ::fma(a, b, c); }

// Flips the sign, of a NaN, too: the operator may change other bits of a NaN.
CORNERTURN_ELEMENT float negated(float x) { return bits_as<float>(bits_as<std::uint32_t>(x) ^ 0x80000000u); }
CORNERTURN_ELEMENT double negated(double x) { return bits_as<double>(bits_as<std::uint64_t>(x) ^ 0x8000000000000000u); }

// alpha * s + beta * S of real numbers, or of a component.
template <terms Terms, class C>
CORNERTURN_ELEMENT C combine(C alpha, C s, C beta, C second) {
  if constexpr (Terms == terms::value) return s;
  if constexpr (Terms == terms::alpha) return alpha * s;
  if constexpr (Terms == terms::both) return fused(alpha, s, beta * second);
  if constexpr (Terms == terms::beta) return beta * second;
  return C{0};
}

template <terms Terms, class C>
CORNERTURN_ELEMENT complex_of<C> combine_complex(const op& how, complex_of<C> s, complex_of<C> second) {
  const auto ar = static_cast<C>(how.alpha_re), ai = static_cast<C>(how.alpha_im);
  const auto br = static_cast<C>(how.beta_re), bi = static_cast<C>(how.beta_im);
  if (!how.complex_scalars) {
    return {combine<Terms>(ar, s.re, br, second.re), combine<Terms>(ar, s.im, br, second.im)};
  }
  complex_of<C> q{C{0}, C{0}};
  if constexpr (Terms == terms::both || Terms == terms::beta) {
    q = {fused(br, second.re, -(bi * second.im)), fused(br, second.im, bi * second.re)};
  }
  if constexpr (Terms == terms::alpha) return {fused(ar, s.re, -(ai * s.im)), fused(ar, s.im, ai * s.re)};
  if constexpr (Terms == terms::both) {
    return {fused(ar, s.re, fused(-ai, s.im, q.re)), fused(ar, s.im, fused(ai, s.re, q.im))};
  }
  return q;
}

// Returns  the element of dst for `s` of src and `second` of the second array; `how` may ignore either. scale: 1 unless
//          how.scaled
template <terms Terms, class Src, class Dst>
CORNERTURN_ELEMENT Dst apply(const op& how, Src s, [[maybe_unused]] Dst second, [[maybe_unused]] float scale) {
  if constexpr (is_complex<Src>) {
    if (how.conj) s.im = negated(s.im);
    if constexpr (Terms == terms::value) return s;
    using C = typename Src::part;
    const complex_of<C> r = combine_complex<Terms>(how, s, second);
    return {narrow<C>(r.re, false), narrow<C>(r.im, false)};
  } else if constexpr (std::is_integral_v<Src>) {
    if constexpr (std::is_same_v<Src, Dst>) return s;
    return convert_integer<Dst>(s, how.saturate);
  } else if constexpr (std::is_same_v<Src, Dst> && Terms == terms::value) {
    return s;
  } else if constexpr (is_float8<Dst>) {
    return narrow<Dst>(combine<Terms>(static_cast<float>(how.alpha_re), widen(s), 0.0F, 0.0F) * scale, how.saturate);
  } else {
    using C = decltype(widen(s) + widen(second));
    const C r = combine<Terms>(static_cast<C>(how.alpha_re), static_cast<C>(widen(s)), static_cast<C>(how.beta_re),
                               static_cast<C>(widen(second)));
    return narrow<Dst>(r, how.saturate);
  }
}

// 4. Selection of the types.
template <class T>
struct type {
  using storage = T;
};

// Calls f(type<Src>{}, type<Dst>{}) for the types of `how`. Elements of type `bits` are integers of their size.
template <class F>
void visit_types(const op& how, const F& f) {
  using enum element_type;
  const auto pair = [&](element_type src, element_type dst, auto s, auto d) {
    if (how.src == src && how.dst == dst) f(s, d);
  };
  const auto both_ways = [&](element_type one, element_type other, auto a, auto b) {
    pair(one, other, a, b);
    pair(other, one, b, a);
  };
  const auto same = [&](element_type one, auto a) { pair(one, one, a, a); };
  const type<kernels::float16> half;
  const type<kernels::bfloat16> brain;
  const type<kernels::float8_e4m3> e4m3;
  const type<kernels::float8_e5m2> e5m2;
  const type<float> single;
  const type<double> twice;
  same(float16, half);
  same(bfloat16, brain);
  same(float32, single);
  same(float64, twice);
  same(complex64, type<complex_of<float>>{});
  same(complex128, type<complex_of<double>>{});
  both_ways(float32, float16, single, half);
  both_ways(float32, bfloat16, single, brain);
  both_ways(float32, float64, single, twice);
  pair(float32, float8_e4m3, single, e4m3);
  pair(float32, float8_e5m2, single, e5m2);
  pair(float16, float8_e4m3, half, e4m3);
  pair(float16, float8_e5m2, half, e5m2);
  pair(bfloat16, float8_e4m3, brain, e4m3);
  pair(bfloat16, float8_e5m2, brain, e5m2);
  const auto to_integer = [&](element_type src, auto s) {
    pair(src, int8, s, type<std::int8_t>{});
    pair(src, int16, s, type<std::int16_t>{});
    pair(src, int32, s, type<std::int32_t>{});
    pair(src, int64, s, type<std::int64_t>{});
    pair(src, uint8, s, type<std::uint8_t>{});
    pair(src, uint16, s, type<std::uint16_t>{});
    pair(src, uint32, s, type<std::uint32_t>{});
    pair(src, uint64, s, type<std::uint64_t>{});
  };
  to_integer(int8, type<std::int8_t>{});
  to_integer(int16, type<std::int16_t>{});
  to_integer(int32, type<std::int32_t>{});
  to_integer(int64, type<std::int64_t>{});
  to_integer(uint8, type<std::uint8_t>{});
  to_integer(uint16, type<std::uint16_t>{});
  to_integer(uint32, type<std::uint32_t>{});
  to_integer(uint64, type<std::uint64_t>{});
  // Elements that are copied as bits to two destinations need no type.
  if (how.src != how.dst || (how.src != bits && how.src != float8_e4m3 && how.src != float8_e5m2)) return;
  if (how.word_bytes == 1) f(type<std::uint8_t>{}, type<std::uint8_t>{});
  if (how.word_bytes == 2) f(type<std::uint16_t>{}, type<std::uint16_t>{});
  if (how.word_bytes == 4) f(type<std::uint32_t>{}, type<std::uint32_t>{});
  if (how.word_bytes == 8) f(type<std::uint64_t>{}, type<std::uint64_t>{});
  if (how.word_bytes == 16) f(type<word16>{}, type<word16>{});
}

// Calls f(type<Src>{}, type<Dst>{}, std::integral_constant<terms, ...>{}).
template <class F>
void visit(const op& how, const F& f) {
  visit_types(how, [&](auto s, auto d) {
    using Src = typename decltype(s)::storage;
    using Dst = typename decltype(d)::storage;
    constexpr bool has_terms = !std::is_integral_v<Src> && !std::is_same_v<Src, word16>;
    const auto with = [&](auto which) {
      if (how.terms == which.value) f(s, d, which);
    };
    with(std::integral_constant<terms, terms::value>{});
    if constexpr (has_terms) {
      with(std::integral_constant<terms, terms::alpha>{});
      with(std::integral_constant<terms, terms::zero>{});
      if constexpr (!is_float8<Dst>) {
        with(std::integral_constant<terms, terms::both>{});
        with(std::integral_constant<terms, terms::beta>{});
      }
    }
  });
}

}  // namespace cornerturn::kernels
