#include "plan/cutting.hpp"

#include <gtest/gtest.h>

namespace cornerturn::planning {
namespace {

TEST(cutting, adds_up_and_fits) {
  for (const std::int64_t side : {21, 97, 1000, 8192, 10007, 1000003}) {
    for (const std::int64_t other : {1, 3, 19, 23, 97, 500, 8009, 65536}) {
      for (const std::int64_t element : {1, 4, 12, 16}) {
        const std::int64_t most = side * other * element / workspace_share;
        const cutting cut = cut_side(true, side, other, element, most, of_gpu);
        if (cut.pieces == 0) continue;
        EXPECT_EQ(cut.pieces * cut.length + cut.rest, side);
        EXPECT_EQ(cut.kept + cut.over, other);
        EXPECT_GE(cut.pieces, fewest_pieces);
        EXPECT_TRUE(cut.rest == 0 || cut.kept % cut.pieces == 0 || cut.pieces % cut.kept == 0);
        const workspace_offsets in = workspace_of(cut, element);
        EXPECT_EQ(in.bytes, cut.workspace);
        EXPECT_LE(in.bytes, most);
        EXPECT_GE(in.rest_at - in.over_at, cut.over * side * element);
        EXPECT_GE(in.strip_at - in.rest_at, cut.rest * cut.kept * element);
        EXPECT_GE(in.flags_at - in.strip_at, cut.kept * cut.length * element);
        EXPECT_EQ((in.over_at | in.rest_at | in.strip_at | in.flags_at) % workspace_alignment, 0);
      }
    }
  }
}

TEST(cutting, takes_a_divisor_where_there_is_one_and_whole_chunks_where_there_are) {
  const std::int64_t much = INT64_MAX;
  EXPECT_EQ(cut_side(true, 8192 * 25, 8192, 4, much, of_gpu).length * 4 % 16, 0);
  EXPECT_EQ(cut_side(true, 20000, 7000, 4, much, of_gpu).length * 4 % 16, 0);
  const cutting odd = cut_side(true, 10007, 8009, 4, much, of_gpu);
  EXPECT_LT(odd.rest, 200);
  EXPECT_LT(odd.over, 64);
}

TEST(cutting, says_no_where_nothing_fits) {
  EXPECT_EQ(cut_side(true, 20, 1000000, 4, INT64_MAX, of_gpu).pieces, 0);
  EXPECT_EQ(cut_side(true, 1000, 1000, 4, 1000, of_gpu).pieces, 0);
  EXPECT_EQ(cut_side(true, std::int64_t{1} << 40, std::int64_t{1} << 18, 4, INT64_MAX, of_gpu).pieces, 0);
}

TEST(cutting, alignments_are_powers_of_two) {
  EXPECT_EQ(alignment_of(0, 16), 16);
  EXPECT_EQ(alignment_of(48, 16), 16);
  EXPECT_EQ(alignment_of(24, 16), 8);
  EXPECT_EQ(alignment_of(7, 16), 1);
  EXPECT_EQ(alignment_of(-4, 16), 4);
}

}  // namespace
}  // namespace cornerturn::planning
