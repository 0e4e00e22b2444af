// One element: every conversion against tables that contain only the meaning of each bit pattern, and the rules of
// arithmetic.hpp.
#include "kernels/element.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cases.hpp"

namespace cornerturn::kernels {
namespace {

using testing::dice;

// A small float by its definition. beyond: the code of values that are too large. The format may have infinity, NaN, or
// neither.
struct format {
  const char* name;
  int mantissa, bias;
  std::uint32_t max, beyond, nan, sign;

  [[nodiscard]] double value(std::uint32_t code) const {
    const auto exponent = static_cast<int>(code >> mantissa);
    const auto fraction = static_cast<double>(code & ((1u << mantissa) - 1));
    if (exponent == 0) return std::ldexp(fraction, 1 - bias - mantissa);
    return std::ldexp(fraction + static_cast<double>(1u << mantissa), exponent - bias - mantissa);
  }
};

constexpr format half{"float16", 10, 15, 0x7bff, 0x7c00, 0x7fff, 0x8000};
constexpr format brain{"bfloat16", 7, 127, 0x7f7f, 0x7f80, 0x7fff, 0x8000};
constexpr format e4m3{"float8_e4m3", 3, 7, 0x7e, 0x7f, 0x7f, 0x80};
constexpr format e5m2{"float8_e5m2", 2, 15, 0x7b, 0x7c, 0x7f, 0x80};

// The nearest of all codes, by search; the code after the largest number counts as a number too.
class nearest_of_all {
 public:
  explicit nearest_of_all(const format& of) : of_(of) {
    for (std::uint32_t code = 0; code <= of.max + 1; ++code) values_.push_back(of.value(code));
  }

  [[nodiscard]] std::uint32_t operator()(float x, bool saturate) const {
    if (std::isnan(x)) return of_.nan;
    const double a = std::fabs(static_cast<double>(x));
    const std::uint32_t sign = std::signbit(x) ? of_.sign : 0;
    std::uint32_t code = of_.max + 1;
    if (a < values_.back()) {
      const auto above = std::upper_bound(values_.begin(), values_.end(), a);
      code = static_cast<std::uint32_t>(above - values_.begin()) - 1;
      const double middle = (values_[code] + values_[code + 1]) / 2;
      if (a > middle || (a == middle && code % 2 == 1)) ++code;
    }
    if (code <= of_.max) return code | sign;
    if (saturate) return of_.max | sign;
    return of_.beyond == of_.nan ? of_.nan : of_.beyond | sign;
  }

 private:
  format of_;
  std::vector<double> values_;
};

template <class T, class Visit>
void expect_nearest(const format& wanted, const Visit& each_float) {
  const nearest_of_all nearest(wanted);
  std::int64_t wrong = 0;
  each_float([&](float x) {
    for (const bool saturate : {false, true}) {
      const std::uint32_t found = narrow<T>(x, saturate).bits;
      if (found == nearest(x, saturate) || ++wrong > 5) continue;
      ADD_FAILURE() << x << " (0x" << std::hex << bits_as<std::uint32_t>(x) << ") became " << wanted.name << " 0x"
                    << found << ", wanted 0x" << nearest(x, saturate) << (saturate ? ", saturating" : "");
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Every sign, every exponent and all values of the upper 12 bits of the mantissa; the lower bits are zeros, mixed, or
// ones.
template <class Use>
void each_boundary(const Use& use) {
  for (std::uint32_t upper = 0; upper < (1u << 21); ++upper) {
    for (const std::uint32_t lower : {0u, 1u, 0x7ffu}) use(bits_as<float>((upper << 11) | lower));
  }
}

TEST(element, floats_become_the_nearest_float16) {
  expect_nearest<float16>(half, [](const auto& use) { each_boundary(use); });
}
TEST(element, floats_become_the_nearest_bfloat16) {
  expect_nearest<bfloat16>(brain, [](const auto& use) { each_boundary(use); });
}
TEST(element, floats_become_the_nearest_e4m3) {
  expect_nearest<float8_e4m3>(e4m3, [](const auto& use) { each_boundary(use); });
}
TEST(element, floats_become_the_nearest_e5m2) {
  expect_nearest<float8_e5m2>(e5m2, [](const auto& use) { each_boundary(use); });
}

TEST(element, every_float16_and_bfloat16_widens_to_its_value) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    for (const format& of : {half, brain}) {
      const auto bits = static_cast<std::uint16_t>(code);
      const float found = &of == &half || of.mantissa == 10 ? widen(float16{bits}) : widen(bfloat16{bits});
      const std::uint32_t a = code & 0x7fff;
      ASSERT_EQ(std::signbit(found), (code & 0x8000) != 0) << of.name << ' ' << code;
      if (a > of.beyond) {
        ASSERT_TRUE(std::isnan(found)) << of.name << ' ' << code;
      } else if (a == of.beyond) {
        ASSERT_TRUE(std::isinf(found)) << of.name << ' ' << code;
      } else {
        ASSERT_EQ(std::fabs(static_cast<double>(found)), of.value(a)) << of.name << ' ' << code;
      }
    }
  }
}

TEST(element, numbers_that_say_what_the_formats_are) {
  EXPECT_EQ(narrow<float8_e4m3>(448.0F, true).bits, 0x7e);
  EXPECT_EQ(narrow<float8_e4m3>(464.0F, false).bits, 0x7e) << "halfway to 480, which is odd";
  EXPECT_EQ(narrow<float8_e4m3>(465.0F, false).bits, 0x7f);
  EXPECT_EQ(narrow<float8_e4m3>(-1e30F, false).bits, 0x7f);
  EXPECT_EQ(narrow<float8_e4m3>(-1e30F, true).bits, 0xfe);
  EXPECT_EQ(narrow<float8_e4m3>(-INFINITY, true).bits, 0xfe);
  EXPECT_EQ(narrow<float8_e5m2>(57344.0F, false).bits, 0x7b);
  EXPECT_EQ(narrow<float8_e5m2>(61440.0F, false).bits, 0x7c);
  EXPECT_EQ(narrow<float8_e5m2>(-INFINITY, true).bits, 0xfb);
  EXPECT_EQ(narrow<float16>(65519.0F, false).bits, 0x7bff);
  EXPECT_EQ(narrow<float16>(65520.0F, false).bits, 0x7c00);
  EXPECT_EQ(narrow<float16>(65520.0F, true).bits, 0x7bff);
  EXPECT_EQ(narrow<float>(1e300, true), std::numeric_limits<float>::max());
  EXPECT_EQ(narrow<float>(-1e300, true), -std::numeric_limits<float>::max());
  EXPECT_EQ(narrow<float>(1e300, false), INFINITY);
  EXPECT_EQ(bits_as<std::uint32_t>(narrow<float>(std::nan(""), true)), 0x7fffffffu);
  EXPECT_EQ(bits_as<std::uint64_t>(narrow<double>(-std::nan(""), true)), 0x7fffffffffffffffu);
}

// Computed in 128 bits, which hold every value of every integer type.
template <class To, class From>
void expect_integers(dice& roll) {
  __extension__ using wide = __int128;
  const auto check = [](From x) {
    const wide value = x;
    const wide lo = std::numeric_limits<To>::min(), hi = std::numeric_limits<To>::max();
    ASSERT_EQ(static_cast<wide>(convert_integer<To>(x, true)) == std::clamp(value, lo, hi), true) << +x;
    const wide modulus = static_cast<wide>(1) << (8 * sizeof(To));
    const wide difference = value - static_cast<wide>(convert_integer<To>(x, false));
    ASSERT_EQ(difference % modulus == 0, true) << +x;
  };
  if constexpr (sizeof(From) <= 2) {
    for (int x = std::numeric_limits<From>::min(); x <= std::numeric_limits<From>::max(); ++x)
      check(static_cast<From>(x));
  } else {
    for (const auto x : {std::numeric_limits<From>::min(), std::numeric_limits<From>::max()}) check(x);
    for (int bit = 0; bit < static_cast<int>(8 * sizeof(From)); ++bit) {
      for (const int near : {-2, -1, 0, 1, 2}) {
        const auto power = static_cast<From>(std::uint64_t{1} << bit);
        check(static_cast<From>(static_cast<std::uint64_t>(power) + static_cast<std::uint64_t>(near)));
        check(static_cast<From>(static_cast<std::uint64_t>(near) - static_cast<std::uint64_t>(power)));
      }
    }
    for (int k = 0; k < 2000; ++k) check(static_cast<From>(static_cast<std::uint64_t>(roll.below(INT64_MAX)) * 2 + 1));
  }
}

TEST(element, integers_saturate_or_wrap) {
  dice roll(7);
  const auto to_all = [&](auto from) {
    using From = decltype(from);
    expect_integers<std::int8_t, From>(roll);
    expect_integers<std::int16_t, From>(roll);
    expect_integers<std::int32_t, From>(roll);
    expect_integers<std::int64_t, From>(roll);
    expect_integers<std::uint8_t, From>(roll);
    expect_integers<std::uint16_t, From>(roll);
    expect_integers<std::uint32_t, From>(roll);
    expect_integers<std::uint64_t, From>(roll);
  };
  to_all(std::int8_t{});
  to_all(std::int16_t{});
  to_all(std::int32_t{});
  to_all(std::int64_t{});
  to_all(std::uint8_t{});
  to_all(std::uint16_t{});
  to_all(std::uint32_t{});
  to_all(std::uint64_t{});
}

op math_of(element_type type, scalar alpha, scalar beta, bool conj = false) {
  return op_of({.src = type, .dst = type, .alpha = alpha, .beta = beta, .conj = conj}, bytes_of(type));
}

TEST(element, terms_say_what_is_read) {
  const auto of = [](scalar alpha, scalar beta) { return math_of(element_type::float32, alpha, beta); };
  EXPECT_EQ(of({1, 0}, {0, 0}).terms, terms::value);
  EXPECT_EQ(of({2, 0}, {-0.0, 0}).terms, terms::alpha);
  EXPECT_EQ(of({2, 0}, {1, 0}).terms, terms::both);
  EXPECT_EQ(of({0, 0}, {1, 0}).terms, terms::beta);
  EXPECT_EQ(of({0, 0}, {0, 0}).terms, terms::zero);
  EXPECT_EQ(of({1e-80, 0}, {1e-80, 0}).terms, terms::zero) << "they are floats";
  EXPECT_EQ(math_of(element_type::float64, {1e-80, 0}, {1e-80, 0}).terms, terms::both);
  EXPECT_FALSE(of({0, 0}, {1, 0}).reads_src());
  EXPECT_FALSE(of({1, 0}, {0, 0}).reads_second());
  EXPECT_EQ(of({1, 0}, {1, 0}).second, second_array::source);
}

TEST(element, real_arithmetic_is_one_product_and_one_fma) {
  dice roll(3);
  const auto number = [&] {
    return static_cast<double>(roll.below(2000000) - 1000000) * std::ldexp(1.0, static_cast<int>(roll.below(60)) - 30);
  };
  for (int k = 0; k < 20000; ++k) {
    const double a = number(), b = number(), s = number(), d = number();
    const op both = math_of(element_type::float64, {a, 0}, {b, 0});
    ASSERT_EQ(apply<terms::both>(both, s, d, 1.0F), std::fma(a, s, b * d));
    ASSERT_EQ(apply<terms::alpha>(both, s, d, 1.0F), a * s);
    ASSERT_EQ(apply<terms::beta>(both, s, d, 1.0F), b * d);
    const op single = math_of(element_type::float32, {a, 0}, {b, 0});
    const auto fa = static_cast<float>(a), fb = static_cast<float>(b), fs = static_cast<float>(s),
               fd = static_cast<float>(d);
    const float product = fb * fd;
    ASSERT_EQ(apply<terms::both>(single, fs, fd, 1.0F), std::fma(fa, fs, product));
    const float16 hs = narrow<float16>(fs, false), hd = narrow<float16>(fd, false);
    const op small = math_of(element_type::float16, {a, 0}, {b, 0});
    const float wide = std::fma(fa, widen(hs), fb * widen(hd));
    ASSERT_EQ(apply<terms::both>(small, hs, hd, 1.0F).bits, narrow<float16>(wide, false).bits);
    const op to_e4m3 =
        op_of({.src = element_type::float16, .dst = element_type::float8_e4m3, .alpha = {a, 0}, .scaled = true}, 2);
    ASSERT_EQ(apply<terms::alpha>(to_e4m3, hs, float8_e4m3{}, fs).bits,
              narrow<float8_e4m3>(fa * widen(hs) * fs, true).bits);
  }
}

TEST(element, complex_arithmetic) {
  using c = complex_of<double>;
  const c s{3, 5}, d{7, -11};
  const auto of = [](scalar alpha, scalar beta, bool conj) {
    return math_of(element_type::complex128, alpha, beta, conj);
  };
  const auto expect = [](const c& found, double re, double im) {
    EXPECT_EQ(found.re, re);
    EXPECT_EQ(found.im, im);
  };
  expect(apply<terms::both>(of({2, 13}, {17, 19}, false), s, d, 1.0F), 2 * 3 - 13 * 5 + 17 * 7 + 19 * 11,
         2 * 5 + 13 * 3 - 17 * 11 + 19 * 7);
  expect(apply<terms::both>(of({2, 13}, {17, 19}, true), s, d, 1.0F), 2 * 3 + 13 * 5 + 17 * 7 + 19 * 11,
         -2 * 5 + 13 * 3 - 17 * 11 + 19 * 7);
  expect(apply<terms::alpha>(of({2, 13}, {0, 0}, true), s, d, 1.0F), 2 * 3 + 13 * 5, -2 * 5 + 13 * 3);
  expect(apply<terms::beta>(of({0, 0}, {17, 19}, true), s, d, 1.0F), 17 * 7 + 19 * 11, -17 * 11 + 19 * 7);
  expect(apply<terms::zero>(of({0, 0}, {0, 0}, true), s, d, 1.0F), 0, 0);
  // Real scalars multiply each component, so infinity times 0 does not occur.
  expect(apply<terms::alpha>(of({2, 0}, {0, 0}, false), c{INFINITY, 1}, d, 1.0F), INFINITY, 2);
}

TEST(element, a_conjugate_keeps_every_bit_but_the_sign) {
  const op conj = math_of(element_type::complex64, {1, 0}, {0, 0}, true);
  for (const std::uint32_t bits : {0u, 0x80000000u, 0x3f800000u, 0x7f800001u, 0xffc12345u, 0x7f800000u}) {
    const complex_of<float> s{bits_as<float>(bits), bits_as<float>(bits)};
    std::uint32_t found[2];
    const complex_of<float> made = apply<terms::value>(conj, s, s, 1.0F);
    std::memcpy(found, &made, sizeof found);
    EXPECT_EQ(found[0], bits);
    EXPECT_EQ(found[1], bits ^ 0x80000000u);
  }
}

TEST(element, pairs_are_those_of_the_list) {
  int pairs = 0;
  for (int src = 0; src <= 16; ++src) {
    for (int dst = 0; dst <= 16; ++dst) {
      const auto from = static_cast<element_type>(src), to = static_cast<element_type>(dst);
      if (!pair_exists(from, to)) continue;
      ++pairs;
      op how;
      how.src = from;
      how.dst = to;
      int visits = 0;
      visit(how, [&](auto s, auto d, auto) {
        ++visits;
        using Src = typename decltype(s)::storage;
        using Dst = typename decltype(d)::storage;
        if (from != element_type::bits) {
          EXPECT_EQ(sizeof(Src), static_cast<std::size_t>(bytes_of(from)));
          EXPECT_EQ(sizeof(Dst), static_cast<std::size_t>(bytes_of(to)));
        }
      });
      EXPECT_EQ(visits, 1) << name(from) << " to " << name(to);
    }
  }
  EXPECT_EQ(pairs, 9 + 64 + 6 + 6);
}

}  // namespace
}  // namespace cornerturn::kernels
