#include "kernels/gpu/policy/limits.hpp"

#include <gtest/gtest.h>

#include "kernels/kernel.hpp"

namespace cornerturn::gpu::limits_test {
namespace {

constexpr int architectures[] = {75, 80, 86, 89, 90, 100, 120};

// The most of each number that its bits hold, so that a number that is too wide spoils its neighbour.
TEST(limits, every_number_is_found_again) {
  constexpr std::uint64_t packed =
      limits(32, {.sm75 = 16, .sm80 = 1, .sm86 = 15, .sm89 = 2, .sm90 = 32, .sm100 = 3, .sm120 = 24}, 100);
  EXPECT_EQ(threads_of(packed), 32);
  EXPECT_EQ(shared_percent_of(packed), 100);
  constexpr int wanted[] = {16, 1, 15, 2, 32, 3, 24};
  for (int k = 0; k < 7; ++k) EXPECT_EQ(blocks_of(packed, architectures[k]), wanted[k]) << architectures[k];
  constexpr std::uint64_t widest =
      limits(1024, {.sm75 = 63, .sm80 = 63, .sm86 = 63, .sm89 = 63, .sm90 = 63, .sm100 = 63, .sm120 = 63}, 127);
  EXPECT_EQ(threads_of(widest), 1024);
  EXPECT_EQ(shared_percent_of(widest), 127);
}

// ptxas warns about more blocks than fit, and warnings are errors in some builds.
TEST(limits, blocks_that_do_not_fit_are_clamped) {
  constexpr int by_blocks[] = {16, 32, 16, 24, 32, 32, 24};  // of 32 threads
  constexpr int by_threads[] = {2, 4, 3, 3, 4, 4, 3};        // of 512 threads
  for (int k = 0; k < 7; ++k) {
    EXPECT_EQ(blocks_of(limits(32, 63), architectures[k]), by_blocks[k]) << architectures[k];
    EXPECT_EQ(blocks_of(limits(512, 63), architectures[k]), by_threads[k]) << architectures[k];
  }
}

// No row asks more of the H200, where the rows were tuned, than fits: the clamp changes nothing there.
TEST(limits, rows_ask_for_what_fits_sm_90) {
  int rows = 0;
  for (const kernels::kernel& row : kernels::all()) {
    if (row.limits == 0) continue;
    const auto wanted = static_cast<int>(row.limits >> (18 + 6 * 4) & 63);  // the slot of sm_90
    EXPECT_EQ(blocks_of(row.limits, 90), wanted) << row.name;
    ++rows;
  }
  EXPECT_GE(rows, 100);
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
      limits(128, {.sm75 = 1, .sm80 = 2, .sm86 = 3, .sm89 = 4, .sm90 = 5, .sm100 = 6, .sm120 = 7});
  constexpr int wanted[][2] = {{87, 3}, {103, 6}, {110, 6}, {121, 7}, {130, 7}};
  for (const auto& [arch, blocks] : wanted) EXPECT_EQ(blocks_of(packed, arch), blocks) << arch;
}

}  // namespace
}  // namespace cornerturn::gpu::limits_test
