#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cornerturn/cornerturn.h"
#include "cornerturn/error.hpp"

namespace cornerturn {
namespace {

TEST(status, each_has_its_literal_name) {
  EXPECT_STREQ(name(status::ok), "ok");
  EXPECT_STREQ(name(status::invalid_argument), "invalid_argument");
  EXPECT_STREQ(name(status::overflow), "overflow");
  EXPECT_STREQ(name(status::overlap), "overlap");
  EXPECT_STREQ(name(status::no_device), "no_device");
  EXPECT_STREQ(name(status::out_of_memory), "out_of_memory");
  EXPECT_STREQ(name(status::internal), "internal");
  EXPECT_STREQ(name(static_cast<status>(99)), "unknown");
}

TEST(status, is_the_same_number_in_c) {
  static_assert(static_cast<int>(status::ok) == CORNERTURN_OK);
  static_assert(static_cast<int>(status::invalid_argument) == CORNERTURN_INVALID_ARGUMENT);
  static_assert(static_cast<int>(status::overflow) == CORNERTURN_OVERFLOW);
  static_assert(static_cast<int>(status::overlap) == CORNERTURN_OVERLAP);
  static_assert(static_cast<int>(status::no_device) == CORNERTURN_NO_DEVICE);
  static_assert(static_cast<int>(status::out_of_memory) == CORNERTURN_OUT_OF_MEMORY);
  static_assert(static_cast<int>(status::internal) == CORNERTURN_INTERNAL);
}

TEST(status, the_sentence_of_an_error_is_one_line_of_text) {
  EXPECT_STREQ(error(status::internal, std::string("a\0b\x1b[31m\n\xff", 10)).what(), "a\\x00b\\x1b[31m\\x0a\\xff");
}

TEST(status, an_error_carries_its_code_and_its_sentence) {
  try {
    throw error(status::overlap, "axis 3 is wrong");
  } catch (const std::runtime_error& caught) {
    EXPECT_STREQ(caught.what(), "axis 3 is wrong");
    const auto* ours = dynamic_cast<const error*>(&caught);
    ASSERT_NE(ours, nullptr);
    EXPECT_EQ(ours->code(), status::overlap);
  }
}

}  // namespace
}  // namespace cornerturn
