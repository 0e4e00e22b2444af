#include "map/fast_divisor.hpp"

#include <gtest/gtest.h>
// After gtest.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>

namespace cornerturn::map {
namespace {

constexpr std::uint32_t most = 0x7fffffff;

void expect_exact_round_multiples(std::uint32_t d) {
  const fast_divisor by(d);
  const auto check = [&](std::int64_t n) {
    if (n < 0 || n > most) return;
    ASSERT_EQ(by.quotient(static_cast<std::uint32_t>(n)), static_cast<std::uint32_t>(n) / d) << n << " / " << d;
  };
  for (std::int64_t near = -2; near <= 2; ++near) {
    for (const std::int64_t multiple : {0u, 1u, 2u, 3u, most / d / 2, most / d - 1, most / d}) {
      check(multiple * d + near);
    }
    for (int bit = 0; bit < 32; ++bit) check((std::int64_t{1} << bit) + near);
  }
}

TEST(fast_divisor, is_exact_round_the_multiples_of_every_small_divisor) {
  for (std::uint32_t d = 1; d <= 20000; ++d) expect_exact_round_multiples(d);
}

TEST(fast_divisor, is_exact_round_powers_of_two_and_at_the_end) {
  for (int bit = 0; bit < 31; ++bit) {
    for (std::int64_t near = -300; near <= 300; ++near) {
      const std::int64_t d = (std::int64_t{1} << bit) + near;
      if (d >= 1 && d <= most) expect_exact_round_multiples(static_cast<std::uint32_t>(d));
    }
  }
  for (std::uint32_t d = most; d > most - 300; --d) expect_exact_round_multiples(d);
  for (std::uint32_t d = most / 2 + 150; d > most / 2 - 150; --d) expect_exact_round_multiples(d);
}

RC_GTEST_PROP(fast_divisor, is_exact_for_any_number_below_two_to_the_31, ()) {
  const auto d = *rc::gen::inRange<std::uint32_t>(1, most) + *rc::gen::inRange<std::uint32_t>(0, 2);
  const auto n = *rc::gen::inRange<std::uint32_t>(0, most) + *rc::gen::inRange<std::uint32_t>(0, 2);
  RC_ASSERT(fast_divisor(d).quotient(n) == n / d);
}

TEST(fast_divisor, is_exact_for_many_random_pairs) {
  std::uint64_t state = 20260101;
  for (int k = 0; k < 1'000'000; ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto n = static_cast<std::uint32_t>(state >> 33);
    const auto d = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(state >> 2 & most) >> (state >> 8 & 31));
    ASSERT_EQ(fast_divisor(d).quotient(n), n / d) << n << " / " << d;
  }
}

TEST(fast_divisor, of_nothing_divides_by_one) {
  EXPECT_EQ(fast_divisor().divisor, 1u);
  EXPECT_EQ(fast_divisor().quotient(most), most);
}

static_assert(fast_divisor(7).quotient(48) == 6);

}  // namespace
}  // namespace cornerturn::map
