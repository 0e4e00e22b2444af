#include "kernels/gpu/policy/transpose_axes.hpp"

#include <gtest/gtest.h>

namespace cornerturn::gpu {
namespace {

map::canonical form_of(const problem& what, std::int64_t word = 16) { return map::canonicalize(what, word); }

TEST(transpose_axes_of, rows_are_contiguous_in_dst_and_columns_in_src) {
  transpose_axes found;
  ASSERT_TRUE(find_transpose_axes(form_of(transpose_problem(100, 200, 4)), found));
  EXPECT_EQ(found.rows.total, 100);
  EXPECT_EQ(found.cols.total, 200);
  EXPECT_FALSE(found.fused());
  EXPECT_TRUE(found.aligned());
}

TEST(transpose_axes_of, a_run_has_none) {
  transpose_axes found;
  EXPECT_FALSE(find_transpose_axes(form_of(transpose_problem(1, 200, 4)), found));
}

TEST(transpose_axes_of, each_side_says_whether_its_addresses_are_multiples_of_16) {
  transpose_axes wide, high;
  ASSERT_TRUE(find_transpose_axes(form_of(transpose_problem(1001, 64, 4)), wide));
  EXPECT_TRUE(wide.src_aligned);
  EXPECT_FALSE(wide.dst_aligned);
  ASSERT_TRUE(find_transpose_axes(form_of(transpose_problem(64, 1001, 4)), high));
  EXPECT_FALSE(high.src_aligned);
  EXPECT_TRUE(high.dst_aligned);
}

TEST(transpose_axes_of, a_short_side_is_as_many_chunks_as_fill_three_quarters_of_a_power_of_two) {
  EXPECT_EQ(short_side_log2(16, 1), 0);
  EXPECT_EQ(short_side_log2(17, 1), -1) << "no whole chunk";
  EXPECT_EQ(short_side_log2(48, 1), 2);
  EXPECT_EQ(short_side_log2(80, 1), -1) << "five of eight";
  EXPECT_EQ(short_side_log2(32, 4), 3);
  EXPECT_EQ(short_side_log2(64, 4), -1);
  EXPECT_EQ(unaligned_short_side_log2(64, 4), 4);
  EXPECT_EQ(unaligned_short_side_log2(256, 1), -1);
  EXPECT_EQ(short_side_log2(INT64_MAX, 8), -1) << "no overflow";
}

}  // namespace
}  // namespace cornerturn::gpu
