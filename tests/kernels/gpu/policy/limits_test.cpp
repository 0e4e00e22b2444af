#include "kernels/gpu/policy/limits.hpp"

#include <gtest/gtest.h>

namespace cornerturn::gpu::limits_test {
namespace {

constexpr int architectures[] = {75, 80, 86, 89, 90, 100, 120};

// The most of each number that its bits hold, so that a number that is too wide spoils its neighbour.
TEST(limits, every_number_is_found_again) {
  constexpr std::uint64_t packed =
      limits(1024, {.sm75 = 63, .sm80 = 1, .sm86 = 62, .sm89 = 2, .sm90 = 61, .sm100 = 3, .sm120 = 60}, 100);
  EXPECT_EQ(threads_of(packed), 1024);
  EXPECT_EQ(shared_percent_of(packed), 100);
  constexpr int wanted[] = {63, 1, 62, 2, 61, 3, 60};
  for (int k = 0; k < 7; ++k) EXPECT_EQ(blocks_of(packed, architectures[k]), wanted[k]) << architectures[k];
}

TEST(limits, an_architecture_without_a_number_has_that_of_sm_90) {
  constexpr std::uint64_t packed = limits(256, {.sm75 = 2, .sm90 = 5, .sm120 = 4});
  for (const int arch : {80, 86, 89, 90, 100}) EXPECT_EQ(blocks_of(packed, arch), 5) << arch;
  EXPECT_EQ(blocks_of(packed, 75), 2);
  EXPECT_EQ(blocks_of(packed, 120), 4);
  for (const int arch : architectures) EXPECT_EQ(blocks_of(limits(64, 7), arch), 7) << arch;
  EXPECT_EQ(shared_percent_of(packed), 0);
}

TEST(limits, an_architecture_that_is_not_listed_has_the_blocks_of_the_one_before) {
  constexpr std::uint64_t packed =
      limits(256, {.sm75 = 1, .sm80 = 2, .sm86 = 3, .sm89 = 4, .sm90 = 5, .sm100 = 6, .sm120 = 7});
  constexpr int wanted[][2] = {{87, 3}, {103, 6}, {110, 6}, {121, 7}, {130, 7}};
  for (const auto& [arch, blocks] : wanted) EXPECT_EQ(blocks_of(packed, arch), blocks) << arch;
}

}  // namespace
}  // namespace cornerturn::gpu::limits_test
