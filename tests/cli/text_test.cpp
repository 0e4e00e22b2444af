#include "text.hpp"

#include <gtest/gtest.h>

namespace cornerturn::cli {
namespace {

TEST(parse_axes, lists) {
  EXPECT_EQ(parse_axes("2,0,1"), (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(parse_axes("-1,0"), (std::vector<int>{-1, 0}));
  EXPECT_EQ(parse_axes(""), std::vector<int>{});
  for (const char* text : {"a", "1,", ",1", "1 2", "1,,2", "1.5", "99999999999"}) {
    EXPECT_FALSE(parse_axes(text).has_value()) << text;
  }
}

TEST(parse_shape, shapes) {
  EXPECT_EQ(parse_shape("64x56x56"), (std::vector<std::int64_t>{64, 56, 56}));
  EXPECT_EQ(parse_shape("0"), std::vector<std::int64_t>{0});
  for (const char* text : {"", "x", "3x", "3x-1", "3,4", "9223372036854775808"}) {
    EXPECT_FALSE(parse_shape(text).has_value()) << text;
  }
}

TEST(parse_size, sizes) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("4096"), 4096);
  EXPECT_EQ(parse_size("4096B"), 4096);
  EXPECT_EQ(parse_size("64K"), 65536);
  EXPECT_EQ(parse_size("64kib"), 65536);
  EXPECT_EQ(parse_size("1MiB"), 1 << 20);
  EXPECT_EQ(parse_size("1.5GiB"), std::int64_t{3} << 29);
  EXPECT_EQ(parse_size("2T"), std::int64_t{2} << 40);
  EXPECT_EQ(parse_size("3MB"), 3000000);
  EXPECT_EQ(parse_size("4611686018427387903"), (std::int64_t{1} << 62) - 1);
  for (const char* text : {"", "K", "-1", "1 K", "1Kb1", "1.5", "1X", "1KiBs", "0x10", "1e3", "nan", "inf", "8388608T",
                           "9223372036854775807", "1..5K"}) {
    EXPECT_FALSE(parse_size(text).has_value()) << text;
  }
}

TEST(utf8, is_told_from_other_bytes) {
  EXPECT_EQ(utf8_length("gr\xc3\xb6\xc3\x9f"
                        "e"),
            7U);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4U);
  EXPECT_EQ(utf8_length("ab\xf6"
                        "c"),
            2U);
  EXPECT_EQ(utf8_length("a\xc3"), 1U);             // cut
  EXPECT_EQ(utf8_length("\xc0\x80"), 0U);          // too long
  EXPECT_EQ(utf8_length("\xed\xa0\x80"), 0U);      // a surrogate
  EXPECT_EQ(utf8_length("\xf4\x90\x80\x80"), 0U);  // above U+10FFFF
  EXPECT_EQ(utf8_of_latin1("gr\xf6\xdf"
                           "e"),
            "gr\xc3\xb6\xc3\x9f"
            "e");
}

TEST(one_line, escapes_control_characters) {
  EXPECT_EQ(one_line("a\nb\x7f"
                     "c"),
            "a\\x0ab\\x7fc");
}

TEST(closest, finds_what_was_meant) {
  const std::vector<std::string> commands{"transpose", "explain", "bench", "report"};
  EXPECT_EQ(closest("tranpose", commands), "transpose");
  EXPECT_EQ(closest("benhc", commands), "bench");
  EXPECT_EQ(closest("expl", commands), "explain");
  EXPECT_EQ(closest("xyz", commands), std::nullopt);
  EXPECT_EQ(closest("", commands), std::nullopt);
}

TEST(resolve_axes, as_numpy) {
  EXPECT_EQ(resolve_axes(std::nullopt, 3, "f"), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(resolve_axes(std::vector<int>{-1, 0, 1}, 3, "f"), (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(resolve_axes(std::vector<int>{}, 0, "f"), std::vector<int>{});
  EXPECT_THROW(static_cast<void>(resolve_axes(std::vector<int>{0}, 2, "f")), failure);
  EXPECT_THROW(static_cast<void>(resolve_axes(std::vector<int>{0, 2}, 2, "f")), failure);
  EXPECT_THROW(static_cast<void>(resolve_axes(std::vector<int>{0, -3}, 2, "f")), failure);
  EXPECT_THROW(static_cast<void>(resolve_axes(std::vector<int>{0, -2}, 2, "f")), failure);
}

TEST(texts, for_people) {
  EXPECT_EQ(shape_text({}), "scalar");
  EXPECT_EQ(tuple_text(std::vector<std::int64_t>{3}), "(3,)");
  EXPECT_EQ(elements_text(1), "elements of 1 byte");
  EXPECT_EQ(elements_text(2000), "elements of 2000 bytes");
  EXPECT_EQ(count_text(1, "axis"), "1 axis");
  EXPECT_EQ(count_text(0, "axis"), "0 axes");
  EXPECT_EQ(count_text(2, "case"), "2 cases");
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(INT64_MAX), "8.00 EiB");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(34e-6), "34 us");
  EXPECT_EQ(seconds_text(0.34e-6), "0.34 us");
}

}  // namespace
}  // namespace cornerturn::cli
