#include "kernels/gpu/policy/costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace cornerturn::gpu {
namespace {

// The architectures of release builds, an older one and a future one.
constexpr int architectures[] = {0, 50, 75, 80, 86, 89, 90, 100, 120, 999};

TEST(gpu_costs, a_device_takes_the_last_row_that_it_reaches) {
  for (const int arch : architectures) {
    EXPECT_LE(costs_for(arch).arch, arch);
    EXPECT_GE(costs_for(arch).arch, costs_for(std::max(arch - 1, 0)).arch) << arch;
  }
  EXPECT_EQ(costs_for(0).arch, 0) << "the end of every fallback chain";
}

TEST(gpu_costs, numbers_are_in_a_range_that_the_plan_can_serve) {
  for (const int arch : architectures) {
    const device_costs& row = costs_for(arch);
    SCOPED_TRACE(row.name);
    EXPECT_NE(std::string(row.name), "");
    EXPECT_GE(row.side_bytes, 64);
    EXPECT_LE(row.side_bytes, 4096);
    for (int size = 0; size < 5; ++size) {
      EXPECT_GE(row.gather_bytes[size], 64 << size) << "cut_box() makes boxes of 64 words at least";
      EXPECT_LE(row.gather_bytes[size], 227 << 10);
    }
    EXPECT_GE(row.piece_words, 1);
    EXPECT_LE(row.piece_words, 1024) << "many_runs_block_words";
  }
}

}  // namespace
}  // namespace cornerturn::gpu
