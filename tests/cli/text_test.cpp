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
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(INT64_MAX), "8.00 EiB");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
}

}  // namespace
}  // namespace cornerturn::cli
