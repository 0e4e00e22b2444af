#include "base/text_stream.hpp"

#include <gtest/gtest.h>

namespace cornerturn::base::text_stream_test {
namespace {

struct german : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(text_stream, ignores_the_locale_of_the_program) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new german));
  text_stream out;
  out << 1234567 << ' ' << 0.5;
  std::locale::global(before);
  EXPECT_EQ(out.str(), "1234567 0.5");
}

TEST(text_stream, a_failure_is_an_exception) {
  text_stream out;
  EXPECT_THROW(out.setstate(std::ios::badbit), std::ios::failure);
}

}  // namespace
}  // namespace cornerturn::base::text_stream_test
