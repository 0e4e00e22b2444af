// The tables on the terminal: measured and predicted shares side by side.
#include <gtest/gtest.h>

#include <string>

#include "bench/report.hpp"

namespace cornerturn::bench {
namespace {

// 0.75 of a copy by measurement, 0.8 by prediction.
result some_result() {
  result one{{"plain", 4, {4096, 2048}, {1, 0}, false, false, ""}, 1, 3, {}, 0};
  one.entries.resize(2);
  one.entries[0].name = "cornerturn";
  one.entries[0].part = role::ours;
  one.entries[0].detail = "the_kernel";
  one.entries[0].seconds = {4e-3, 4e-3, 4e-3};
  one.entries[0].places = {0, 1, 2};
  one.entries[1].name = "memcpy";
  one.entries[1].part = role::roof;
  one.entries[1].seconds = {3e-3, 3e-3, 3e-3};
  one.offers = {{.kernel = "another", .time = 1.1}, {.kernel = "the_kernel", .time = 1.25}};
  return one;
}

// The text of a row under the word `column` of the head, both aligned to the right.
std::string cell(const std::string& head, const std::string& row, const std::string& column, std::size_t width) {
  const std::size_t line = head.find('\n', 1) + 1;  // the head begins with an empty line and the name of the set
  const std::size_t end = head.find(column, line) + column.size() - line;
  return row.substr(end - width, width);
}

TEST(table, has_the_predicted_share_beside_the_measured_one) {
  const result one = some_result();
  result without = one;
  without.offers.clear();
  for (const bool with_peers : {false, true}) {
    const std::string head = table_head("plain", with_peers, 12), row = table_row(one, with_peers, 12);
    EXPECT_EQ(cell(head, row, "predicted", 6), " 0.800") << head << row;
    EXPECT_NE(row.find(" 0.750 (0.750-0.750)"), std::string::npos) << row;
    EXPECT_EQ(cell(head, table_row(without, with_peers, 12), "predicted", 6), "     -") << head;
    const std::string gpu_head = gpu_table_head("plain", with_peers, 12), gpu_row = gpu_table_row(one, with_peers, 12);
    EXPECT_EQ(cell(gpu_head, gpu_row, "predicted", 6), " 0.800") << gpu_head << gpu_row;
    EXPECT_EQ(cell(gpu_head, gpu_table_row(without, with_peers, 12), "predicted", 6), "     -") << gpu_head;
  }
}

TEST(table, predictions_are_the_planners) {
  memory pool(false, 0);
  const result one = measure_hot({"hot", 4, {64, 64}, {1, 0}, true, false, ""}, pool, {});
  ASSERT_NE(one.offer_of(one.ours().detail), nullptr);
  EXPECT_EQ(one.offer_of(one.ours().detail)->time, one.offers.front().time) << "the chosen kernel is the cheapest";
  EXPECT_EQ(one.predicted_share(), 1 / one.offers.front().time);
  EXPECT_EQ(one.offer_of("no_such_kernel"), nullptr);
  const bench_case rectangle{"in_place", 4, {64, 65}, {1, 0}, true, false, ""};
  EXPECT_TRUE(offers_for(rectangle, 1, machine::cpu).empty());
}

}  // namespace
}  // namespace cornerturn::bench
