#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../kernels/instructions.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn {
namespace {

std::string explained(const problem& what, const char* kernel = nullptr) {
  return plan(what, {.device = device::cpu, .threads = 1, .parallel = {}, .kernel = kernel}).explain();
}

problem in_place(problem what) {
  what.in_place = true;
  return what;
}

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in\n" << text;
}

TEST(explain, tells_the_problem_and_its_canonical_form) {
  expect_parts(
      explained(transpose_problem(3000, 5000, 12)),
      {"12-byte elements, rank 2", "5000  src stride 1, dst stride 3000", "3000  src stride 5000, dst stride 1",
       "4-byte words, rank 3", "5000  src stride 3, dst stride 9000", "3  src stride 1, dst stride 1", "cpu_gather",
       "offers ", "cpu_gather_strided", "one wide element", "threads    1 over", "bytes      360000000"});
}

TEST(explain, tells_the_blocking) {
  expect_parts(explained(transpose_problem(30000, 50000, 4)),
               {"cpu_stream_", "offers ", "predicted time", "(chosen)", "times the fastest", "costs of \"",
                "rows 30000", "cols 50000", "panel", "group", "non-temporal stores"});
  expect_parts(explained(permute_problem(std::vector<std::int64_t>{20, 30, 40, 50}, std::vector<int>{1, 3, 2, 0}, 4)),
               {"rows 800 = 40 x 20", "cols 50", "outer 30"});
}

TEST(explain, tells_the_lines_of_a_view) {
  problem every_second = transpose_problem(1024, 1024, 4);
  every_second.axes = {axis{1024, 2048, 1024}, axis{1024, 2, 1}};
  expect_parts(explained(every_second), {"8388608 bytes of src, 4194304 of dst: the roof is 0.667"});
  for (axis& one : every_second.axes) std::swap(one.src_stride, one.dst_stride);
  expect_parts(explained(every_second),
               {"4194304 bytes of src, 8388608 of dst and 8388608 of dst read before: the roof is 0.400"});
  every_second.math = {.src = element_type::float32, .dst = element_type::float32, .beta = {1, 0}};
  expect_parts(explained(every_second), {"8388608 of dst and 8388608 of dst read before"});
  every_second.math.second = second_array::source;
  every_second.axes[0].second_stride = 0;
  every_second.axes[1].second_stride = 4;
  expect_parts(explained(every_second), {", 16384 of the second array: the roof is"});
  EXPECT_EQ(explained(transpose_problem(1024, 1024, 4)).find("the roof is"), std::string::npos);
}

TEST(explain, says_when_there_is_nothing) {
  expect_parts(explained(transpose_problem(0, 5, 4)), {"empty", "nothing to move", "0 units"});
}

TEST(explain, says_that_a_kernel_was_asked_for) {
  expect_parts(explained(transpose_problem(64, 64, 4), "cpu_reference"), {"cpu_reference", "by options.kernel"});
}

problem doubled(problem what) {
  what.math = {.src = element_type::float32, .dst = element_type::float32, .alpha = {2, 0}};
  return what;
}

TEST(explain, every_row_explains_itself) {
  for (const kernel_info& row : kernel_list()) {
    if (row.backend != "cpu") continue;  // gpu_plan_test.cpp
    int said = 0;
    for (const problem& what :
         {transpose_problem(64, 64, row.element_bytes == 0 ? 3 : row.element_bytes),
          transpose_problem(64, 64, 24),
          permute_problem(std::vector<std::int64_t>{64, 8, 4, 3}, std::vector<int>{1, 3, 0, 2}, 1),
          permute_problem(std::vector<std::int64_t>{64, 8, 4, 3}, std::vector<int>{1, 0, 3, 2}, 1),
          problem{.element_bytes = 1, .rank = 0, .axes = {}},
          permute_problem(std::vector<std::int64_t>(16, 2),
                          std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15, 2, 6, 10, 14, 0, 4, 8, 12},
                          std::max(row.element_bytes, 1)),
          transpose_problem(1000000, 3, std::max(row.element_bytes, 1)),
          transpose_problem(3, 1000000, std::max(row.element_bytes, 1)),
          transpose_problem(64 / std::max(row.element_bytes, 1), 1000000, std::max(row.element_bytes, 1)),
          permute_problem(std::vector<std::int64_t>{100000, 4, 4}, std::vector<int>{0, 2, 1},
                          std::max(row.element_bytes, 1)),
          permute_problem(std::vector<std::int64_t>{1000, 7, 5, 300}, std::vector<int>{0, 2, 1, 3}, 1),
          permute_problem(std::vector<std::int64_t>{1000, 7, 5, 3}, std::vector<int>{0, 2, 1, 3}, 1),
          doubled(transpose_problem(64, 640, 4)),
          problem{.element_bytes = 4, .rank = 1, .axes = {{{100000, 2, 1}}}},  // views
          problem{.element_bytes = 4, .rank = 2, .axes = {{{3000, 2, 3000}, {3000, 6000, 1}}}},
          problem{.element_bytes = 4, .rank = 2, .axes = {{{30000, -2, 20}, {20, 60000, 1}}}},
          in_place(transpose_problem(64, 64, row.element_bytes == 0 ? 3 : row.element_bytes)),
          in_place(transpose_problem(64, 60, 1)),
          doubled(transpose_problem(64, 60, 4)),
          doubled(transpose_problem(1, 60, 4))}) {
      try {
        const std::string text = explained(what, row.name.c_str());
        expect_parts(text, {row.name.c_str(), row.note.c_str()});
        EXPECT_EQ(text.back(), '\n');
        ++said;
      } catch (const std::exception&) {  // it refuses this problem
      }
    }
    EXPECT_EQ(said > 0, testing::has_instructions(row.note)) << row.name;
  }
}

}  // namespace
}  // namespace cornerturn
