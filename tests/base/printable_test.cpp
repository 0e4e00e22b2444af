#include "base/printable.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cornerturn::base::printable_test {
namespace {

TEST(printable, text_stays) {
  for (const char* text : {"", "out.npy",
                           "gr\xc3\xb6\xc3\x9f"
                           "e \xe2\x82\xac \xf0\x9f\x98\x80",
                           "C:\\x1b"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(printable, controls_of_a_terminal_are_escaped) {
  EXPECT_EQ(printable("e\x1b]0;x\x07.npy"), "e\\x1b]0;x\\x07.npy");
  EXPECT_EQ(printable("a\r\n\t\x7f"), "a\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(printable("\xc2\x80\xc2\x9f\xc2\xa0"), "\\u0080\\u009f\xc2\xa0");
}

TEST(printable, controls_of_direction_are_escaped) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u202eb");
  EXPECT_EQ(printable("\xe2\x80\xaa\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e\xd8\x9c"),
            "\\u202a\\u2066\\u2069\\u200e\\u061c");
  EXPECT_EQ(printable("\xe2\x80\xa8\xef\xbb\xbf\xf3\xa0\x80\x81"), "\\u2028\\ufeff\\U000e0001");
}

TEST(printable, bytes_that_are_no_utf8_are_escaped) {
  EXPECT_EQ(printable("\xff"
                      "a\xc3"),
            "\\xffa\\xc3");
  EXPECT_EQ(printable("\xed\xb3\xbf"), "\\xed\\xb3\\xbf");                    // a surrogate
  EXPECT_EQ(printable("\xc0\x9b\xe0\x82\x9b"), "\\xc0\\x9b\\xe0\\x82\\x9b");  // U+009B, longer than needed
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(printable, every_result_is_text_that_stays) {
  std::uint32_t state = 1;
  for (int k = 0; k < 20000; ++k) {
    std::string text;
    for (int byte = 0; byte < 12; ++byte) text += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    const std::string made = printable(text);
    EXPECT_EQ(utf8_length(made), made.size());
    EXPECT_EQ(printable(made), made);
    for (const char c : made) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

}  // namespace
}  // namespace cornerturn::base::printable_test
