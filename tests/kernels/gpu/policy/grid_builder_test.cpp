#include "kernels/gpu/policy/grid_builder.hpp"

#include <gtest/gtest.h>

namespace cornerturn::gpu {
namespace {

TEST(grid_builder_of_axes, takes_axes_of_several_indices_fastest_first) {
  grid blocks;
  grid_builder number(blocks, 4);
  number.add(5, 1, 2, 10, 20);
  number.add(1, 0, 1, 7, 7);
  number.add(3, -1, 9, -30, 40);
  EXPECT_EQ(number.blocks(), 15U);
  ASSERT_EQ(blocks.rank, 2);
  EXPECT_EQ(blocks.axes[0].count.divisor, 5U);
  EXPECT_EQ(blocks.axes[0].tiles[0], 0U);
  EXPECT_EQ(blocks.axes[0].tiles[1], 2U);
  EXPECT_EQ(blocks.axes[0].src_step_bytes, 40);
  EXPECT_EQ(blocks.axes[0].dst_step_bytes, 80);
  EXPECT_EQ(blocks.axes[1].tiles[0] + blocks.axes[1].tiles[1], 0U);
  EXPECT_EQ(blocks.axes[1].src_step_bytes, -120);
}

TEST(grid_builder_of_axes, of_more_blocks_than_a_grid_has_is_of_none) {
  grid blocks;
  grid_builder number(blocks, 1);
  number.add(1 << 16, -1, 0, 1, 1);
  number.add(1 << 15, -1, 0, 1, 1);
  EXPECT_EQ(number.blocks(), 0U) << "2^31, one too many";
  number.add(std::int64_t{1} << 62, -1, 0, 1, 1);
  number.add(std::int64_t{1} << 62, -1, 0, 1, 1);
  EXPECT_EQ(number.blocks(), 0U);
}

TEST(grid_builder_of_axes, of_no_axis_is_one_block) {
  grid blocks;
  EXPECT_EQ(grid_builder(blocks, 1).blocks(), 1U);
}

}  // namespace
}  // namespace cornerturn::gpu
