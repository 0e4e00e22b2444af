#include "base/checked.hpp"

#include <gtest/gtest.h>
// After gtest.
#include <rapidcheck/gtest.h>

namespace cornerturn::base {
namespace {

constexpr std::int64_t most = INT64_MAX;
constexpr std::int64_t least = INT64_MIN;
__extension__ using int128 = __int128;

TEST(checked, products_at_the_edge) {
  std::int64_t out = 7;
  EXPECT_TRUE(checked_mul(most, 1, out));
  EXPECT_EQ(out, most);
  EXPECT_TRUE(checked_mul(least, 1, out));
  EXPECT_EQ(out, least);
  EXPECT_TRUE(checked_mul(std::int64_t{1} << 31, std::int64_t{1} << 31, out));
  EXPECT_EQ(out, std::int64_t{1} << 62);
  out = 7;
  EXPECT_FALSE(checked_mul(least, -1, out));
  EXPECT_FALSE(checked_mul(std::int64_t{1} << 32, std::int64_t{1} << 31, out));
  EXPECT_EQ(out, 7) << "a product that does not fit changes nothing";
}

TEST(checked, sums_at_the_edge) {
  std::int64_t out = 7;
  EXPECT_FALSE(checked_add(most, 1, out));
  EXPECT_FALSE(checked_add(least, -1, out));
  EXPECT_EQ(out, 7) << "a sum that does not fit changes nothing";
  EXPECT_TRUE(checked_add(most, least, out));
  EXPECT_EQ(out, -1);
}

TEST(checked, out_may_be_an_operand) {
  std::int64_t x = 6;
  EXPECT_TRUE(checked_mul(x, 7, x));
  EXPECT_TRUE(checked_add(x, x, x));
  EXPECT_EQ(x, 84);
}

RC_GTEST_PROP(checked, agrees_with_128_bits, (std::int64_t a, std::int64_t b)) {
  const int128 product = static_cast<int128>(a) * b;
  const int128 sum = static_cast<int128>(a) + b;
  std::int64_t out = 0;
  RC_ASSERT(checked_mul(a, b, out) == (product >= least && product <= most));
  if (product >= least && product <= most) RC_ASSERT(out == product);
  out = 0;
  RC_ASSERT(checked_add(a, b, out) == (sum >= least && sum <= most));
  if (sum >= least && sum <= most) RC_ASSERT(out == sum);
}

TEST(checked, ceil_div_rounds_up) {
  for (std::int64_t b = 1; b < 9; ++b) {
    for (std::int64_t a = 0; a < 50; ++a) {
      const std::int64_t q = ceil_div(a, b);
      EXPECT_TRUE(q * b >= a && (q - 1) * b < a) << a << " / " << b;
    }
  }
}

TEST(checked, magnitude_has_no_trap) {
  static_assert(magnitude(-5) == 5 && magnitude(5) == 5 && magnitude(0) == 0);
  EXPECT_EQ(magnitude(least), most);
  EXPECT_EQ(magnitude(least + 1), most);
}

}  // namespace
}  // namespace cornerturn::base
