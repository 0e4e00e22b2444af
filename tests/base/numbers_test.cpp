#include "base/numbers.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdint>
#include <limits>

namespace cornerturn::base::numbers_test {
namespace {

TEST(numbers, are_text_as_printf_writes_it_in_the_c_locale) {
  for (const double value : {0.0, 1.0, -2.5, 0.0003889, 1e-9, 123456789.0, 1e300, 5e-324}) {
    char text[400];
    std::snprintf(text, sizeof text, "%.4g", value);
    EXPECT_EQ(decimal(value, 4), text);
    std::snprintf(text, sizeof text, "%6.2f", value);
    EXPECT_EQ(fixed(value, 2, 6), text);
  }
  EXPECT_EQ(fixed(-std::numeric_limits<double>::max(), 2).size(), 313U);
}

TEST(numbers, have_a_point_in_every_locale) {
  bool has_comma = false;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR"}) {
    has_comma = has_comma || std::setlocale(LC_NUMERIC, name) != nullptr;
  }
  EXPECT_EQ(decimal(0.5), "0.5");
  EXPECT_EQ(fixed(0.5, 2), "0.50");
  double read = 0;
  EXPECT_TRUE(read_number("0.25", read));
  EXPECT_EQ(read, 0.25);
  std::setlocale(LC_NUMERIC, "C");
  if (!has_comma) GTEST_SKIP() << "this machine has no locale with a comma";
}

TEST(numbers, a_text_is_read_as_a_whole) {
  int number = 7;
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "0x1", "99999999999", "a"}) {
    EXPECT_FALSE(read_number(text, number)) << text;
  }
  EXPECT_EQ(number, 7);
  EXPECT_TRUE(read_number("-12", number));
  EXPECT_EQ(number, -12);
  double real = 0;
  for (const char* text : {"", "1,5", "1e999", "1.5x"}) EXPECT_FALSE(read_number(text, real)) << text;
  EXPECT_TRUE(read_number("1.25e-04", real));
  EXPECT_EQ(real, 1.25e-4);
}

}  // namespace
}  // namespace cornerturn::base::numbers_test
