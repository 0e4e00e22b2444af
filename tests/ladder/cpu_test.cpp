// The CPU's ladder transposes every shape, and its check detects a wrong rung. The table of a clock prints the
// measurements.
#include "ladder/cpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <vector>

#include "ladder/timing.hpp"

namespace cornerturn::ladder {
namespace {

TEST(cpu_ladder, moves_every_shape) {
  std::ostringstream out;
  EXPECT_EQ(check_cpu_rungs(out), 0) << out.str();
}

TEST(cpu_ladder, has_each_rung_for_each_element) {
  for (const int word_bytes : {1, 2, 4, 8}) {
    std::vector<std::string> names;
    for (const cpu_rung& one : cpu_rungs()) {
      if (one.word_bytes == word_bytes) names.emplace_back(one.name);
    }
    ASSERT_GE(names.size(), 4u);
    EXPECT_EQ(names.front(), "10_scattered_store");
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  }
}

TEST(cpu_ladder, its_check_sees_what_is_wrong) {
  const cpu_rung idle{"idle", 4, 2, [](const void*, void*, const cpu_matrix&) {}};
  const cpu_rung beyond{"beyond", 4, 2, [](const void* src, void* dst, const cpu_matrix& shape) {
                          cpu_rungs()[0].run(src, dst, shape);
                          std::memset(static_cast<char*>(dst) - 1, 0, 1);
                        }};
  for (const cpu_rung& one : {idle, beyond}) {
    std::ostringstream out;
    EXPECT_GT(check_cpu_rungs(out, {&one, 1}), 0);
    EXPECT_NE(out.str().find(std::string(one.name) + " b4 1x1 padded by 0: byte "), std::string::npos) << out.str();
  }
}

TEST(timing, quartiles_and_speed) {
  const timing one{"00_copy", 4, {1000, 500}, {1, 2, 4, 5, 8}};  // 4 MB transposed
  EXPECT_DOUBLE_EQ(one.median(), 4);
  EXPECT_DOUBLE_EQ(one.gigabytes_per_second(), 1);
  EXPECT_DOUBLE_EQ(one.third_quartile(), 2);
  EXPECT_DOUBLE_EQ(one.first_quartile(), 0.8);
}

TEST(timing, table_and_file) {
  const std::vector<timing> times{{"00_copy", 4, {1000, 500}, {1, 2}, "copy_x"}, {"30_padded", 4, {1000, 500}, {4}}};
  std::ostringstream table, file;
  print_table(table, times);
  EXPECT_NE(table.str().find("30_padded                          4         1000x500    4.0000     1.0   50.0          "
                             "██████████            1.0 - 1.0\n"),
            std::string::npos)
      << table.str();
  write_json(file, {"a \"GPU\"", "sm_90", 0, "m"}, times);
  EXPECT_EQ(file.str(),
            "{\"device\": \"a \\\"GPU\\\"\", \"arch\": \"sm_90\", \"threads\": 0, \"method\": \"m\", \"rungs\": [\n"
            "  {\"rung\": \"00_copy\", \"element_bytes\": 4, \"rows\": 1000, \"cols\": 500, \"batch\": 1, "
            "\"note\": \"copy_x\", \"gigabytes_per_second\": 2, \"milliseconds\": [1, 2]},\n"
            "  {\"rung\": \"30_padded\", \"element_bytes\": 4, \"rows\": 1000, \"cols\": 500, \"batch\": 1, "
            "\"note\": \"\", \"gigabytes_per_second\": 1, \"milliseconds\": [4]}\n]}\n");
}

}  // namespace
}  // namespace cornerturn::ladder
