#include "base/json.hpp"

#include <gtest/gtest.h>

namespace cornerturn::base {
namespace {

TEST(json, reads_every_kind_of_value) {
  const json_value all = read_json(R"( {"a": [1, -2.5e3, true, false, null], "b": {"c": "d\"e\\\u0041"}, "f": {}} )");
  const json_value& a = *all.find("a");
  ASSERT_EQ(a.items.size(), 5u);
  EXPECT_EQ(a.items[0].number, 1);
  EXPECT_EQ(a.items[1].number, -2500);
  EXPECT_EQ(a.items[2].is, json_value::kind::boolean);
  EXPECT_EQ(a.items[2].number, 1);
  EXPECT_EQ(a.items[3].number, 0);
  EXPECT_EQ(a.items[4].is, json_value::kind::null);
  EXPECT_EQ(all.find("b")->find("c")->text, "d\"e\\\\u0041");
  EXPECT_TRUE(all.find("f")->names.empty());
  EXPECT_EQ(all.find("g"), nullptr);
  EXPECT_EQ(a.find("a"), nullptr);
}

TEST(json, names_the_place_of_a_fault) {
  const auto fault = [](const char* text) -> std::string {
    try {
      static_cast<void>(read_json(text));
    } catch (const json_error& found) {
      return found.what();
    }
    return "";
  };
  EXPECT_EQ(fault("[1, }"), "has \"}\" at byte 4, wanted a value");
  EXPECT_EQ(fault("[1"), "has its end at byte 2, wanted \",\" or \"]\"");
  EXPECT_EQ(fault("{\"a\" 1}"), "has \"1\" at byte 5, wanted \":\"");
  EXPECT_EQ(fault("1 2"), "has \"2\" at byte 2, wanted the end of the file");
  for (const char* text : {"", "{", "\"", "\"\\", "nul", "1e999", "nan", "[1,]", "{1:2}"})
    EXPECT_NE(fault(text), "") << text;
  EXPECT_NE(fault(std::string(100000, '[').c_str()), "") << "no stack overflow";
}

}  // namespace
}  // namespace cornerturn::base
