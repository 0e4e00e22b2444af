// What is found in a problem; which kernel that leads to is choose_gpu_test.cpp.
#include "plan/sides.hpp"

#include <gtest/gtest.h>

namespace cornerturn::planning {
namespace {

map::canonical form_of(const problem& what, std::int64_t word = 16) { return map::canonicalize(what, word); }

TEST(sides, rows_are_contiguous_in_dst_and_columns_in_src) {
  sides found;
  ASSERT_TRUE(find_sides(form_of(transpose_problem(100, 200, 4)), found));
  EXPECT_EQ(found.row_total, 100);
  EXPECT_EQ(found.col_total, 200);
  EXPECT_FALSE(found.chained());
  EXPECT_TRUE(found.aligned());
}

TEST(sides, a_run_has_none) {
  sides found;
  EXPECT_FALSE(find_sides(form_of(transpose_problem(1, 200, 4)), found));
}

TEST(sides, each_side_says_whether_its_addresses_are_multiples_of_16) {
  sides wide, high;
  ASSERT_TRUE(find_sides(form_of(transpose_problem(1001, 64, 4)), wide));
  EXPECT_TRUE(wide.src_aligned);
  EXPECT_FALSE(wide.dst_aligned);
  ASSERT_TRUE(find_sides(form_of(transpose_problem(64, 1001, 4)), high));
  EXPECT_FALSE(high.src_aligned);
  EXPECT_TRUE(high.dst_aligned);
}

TEST(sides, a_short_side_is_as_many_chunks_as_fill_three_quarters_of_a_power_of_two) {
  EXPECT_EQ(narrow_size(16, 1), 0);
  EXPECT_EQ(narrow_size(17, 1), -1) << "no whole chunk";
  EXPECT_EQ(narrow_size(48, 1), 2);
  EXPECT_EQ(narrow_size(80, 1), -1) << "five of eight";
  EXPECT_EQ(narrow_size(32, 4), 3);
  EXPECT_EQ(narrow_size(64, 4), -1);
  EXPECT_EQ(shifted_narrow_size(64, 4), 4);
  EXPECT_EQ(shifted_narrow_size(256, 1), -1);
  EXPECT_EQ(narrow_size(INT64_MAX, 8), -1) << "no overflow";
}

TEST(sides, what_a_short_side_meets_decides_its_kind) {
  const auto kind = [](const problem& what) {
    sides found;
    const map::canonical form = form_of(what);
    return find_sides(form, found) ? find_narrow(form, found) : narrow_kind::none;
  };
  EXPECT_EQ(kind(transpose_problem(100000, 16, 4)), narrow_kind::columns);
  EXPECT_EQ(kind(transpose_problem(16, 100000, 4)), narrow_kind::rows);
  EXPECT_EQ(kind(transpose_problem(100001, 16, 4)), narrow_kind::shifted_columns);
  EXPECT_EQ(kind(transpose_problem(16, 100001, 4)), narrow_kind::shifted_rows);
  EXPECT_EQ(kind(transpose_problem(101, 16, 4)), narrow_kind::none) << "no two tiles";
  EXPECT_EQ(kind(transpose_problem(100001, 17, 4)), narrow_kind::none);
}

TEST(sides, structures_of_a_few_elements_lie_end_to_end) {
  EXPECT_EQ(find_regrouping(form_of(transpose_problem(1 << 20, 3, 4)), 16, true, false).total, 1 << 20);
  EXPECT_EQ(find_regrouping(form_of(transpose_problem(1 << 20, 3, 4)), 16, false, false).kernel, nullptr);
  EXPECT_NE(find_regrouping(form_of(transpose_problem(3, 1 << 20, 4)), 16, false, false).kernel, nullptr);
  EXPECT_EQ(find_regrouping(form_of(transpose_problem(1 << 20, 9, 4)), 16, true, false).kernel, nullptr);
  EXPECT_EQ(find_regrouping(form_of(transpose_problem(1 << 20, 3, 4)), 4, true, false).kernel, nullptr);
  EXPECT_NE(find_regrouping(form_of(transpose_problem(1 << 20, 3, 4)), 4, true, true).kernel, nullptr);
  EXPECT_EQ(find_regrouping(form_of(transpose_problem(1 << 20, 4, 1)), 2, true, true).kernel, nullptr);
}

}  // namespace
}  // namespace cornerturn::planning
