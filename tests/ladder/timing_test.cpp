#include "ladder/timing.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace cornerturn::ladder {
namespace {

std::string line_of(const std::string& text, const std::string& rung) {
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    if (line.rfind(rung, 0) == 0) return line;
  }
  return "no line of " + rung;
}

// Half of the copy, then three quarters of it. The control is a copy, so no speedup is relative to it.
TEST(print_table, has_a_bar_and_the_speedup_over_the_rung_above) {
  const matrix_shape shape{1000, 1000};
  std::ostringstream out;
  print_table(out, {{"00_copy", 4, shape, {3, 3, 3}},
                    {"02_shared_copy", 4, shape, {3, 3, 3}},
                    {"05_low", 4, shape, {6, 6, 6}},
                    {"10_high", 4, shape, {4, 4, 4}},
                    {"00_copy", 4, shape, {3, 3, 3}},
                    {"10_high", 4, shape, {300, 300, 300}}});
  const std::string text = out.str();
  const std::string full = "████████████████████", half = "██████████          ",
                    three_quarters = "███████████████     ";
  EXPECT_NE(line_of(text, "00_copy").find("  100.0          " + full), std::string::npos) << text;
  EXPECT_NE(line_of(text, "05_low").find("   50.0          " + half), std::string::npos) << text;
  EXPECT_NE(line_of(text, "10_high").find("   75.0   1.50x  " + three_quarters), std::string::npos) << text;
  EXPECT_NE(text.find("    1.0          ▎                   "), std::string::npos)
      << text;  // the second table's 10_high
}

}  // namespace
}  // namespace cornerturn::ladder
