#include "kernels/gpu/policy/alternating.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cornerturn::gpu {
namespace {

alternating_head head_of(const std::vector<std::uint32_t>& blocks) {
  alternating_head made;
  std::uint64_t rest = 0;
  for (const std::uint32_t each : blocks) rest += each;
  for (const std::uint32_t each : blocks) {
    if (each < rest) made.shares[made.count] = share_of(each, rest);
    ++made.count;
    rest -= each;
  }
  return made;
}

TEST(alternating_blocks, are_each_block_of_each_problem_once_in_order_and_in_proportion) {
  const std::vector<std::vector<std::uint32_t>> launches{
      {7}, {1, 1}, {1, 1000}, {1000, 1}, {2197, 2490}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9}, {500, 1, 499}};
  for (const std::vector<std::uint32_t>& blocks : launches) {
    const alternating_head all = head_of(blocks);
    std::uint32_t total = 0;
    for (const std::uint32_t each : blocks) total += each;
    std::vector<std::uint32_t> next(blocks.size());
    for (std::uint32_t number = 0; number < total; ++number) {
      const alternating_block found = find_block(all, number);
      ASSERT_EQ(found.number, next[found.problem]++) << number;
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        const double wanted = static_cast<double>(number + 1) * blocks[k] / total;
        ASSERT_NEAR(next[k], wanted, static_cast<double>(blocks.size())) << "problem " << k;
      }
    }
    EXPECT_EQ(next, blocks);
  }
}

TEST(alternating_blocks, of_the_largest_grid_are_exact_at_both_ends) {
  constexpr std::uint32_t all = 0x7fffffff;
  for (const std::uint32_t first : {1U, 2U, 3U, 12345U, all / 3, all / 2, all - 3, all - 1}) {
    const alternating_head head = head_of({first, all - first});
    EXPECT_EQ(find_block(head, 0).number, 0U);
    EXPECT_EQ(blocks_before(all, head.shares[0]), first);
    const alternating_block last = find_block(head, all - 1);
    EXPECT_EQ(last.number, (last.problem == 0 ? first : all - first) - 1);
  }
}

}  // namespace
}  // namespace cornerturn::gpu
