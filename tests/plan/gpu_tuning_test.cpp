#include "plan/gpu_tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace cornerturn::planning {
namespace {

// One for each architecture that release builds have code for, what is older than all, and what is to come.
constexpr int architectures[] = {0, 50, 75, 80, 86, 89, 90, 100, 120, 999};

TEST(gpu_tuning, a_device_takes_the_last_row_that_it_reaches) {
  for (const int arch : architectures) {
    EXPECT_LE(gpu_tuning_for(arch).arch, arch);
    EXPECT_GE(gpu_tuning_for(arch).arch, gpu_tuning_for(std::max(arch - 1, 0)).arch) << arch;
  }
  EXPECT_EQ(gpu_tuning_for(0).arch, 0) << "the end of every fallback chain";
}

TEST(gpu_tuning, numbers_are_in_a_range_that_the_plan_can_serve) {
  for (const int arch : architectures) {
    const gpu_tuning& row = gpu_tuning_for(arch);
    SCOPED_TRACE(row.name);
    EXPECT_NE(std::string(row.name), "");
    EXPECT_GE(row.run_bytes, 16);
    EXPECT_LE(row.run_bytes, 4096);
    EXPECT_GE(row.side_bytes, 64);
    EXPECT_LE(row.side_bytes, 4096);
    for (int size = 0; size < 5; ++size) {
      EXPECT_GE(row.box_bytes[size], 64 << size) << "cut_box() makes boxes of 64 words at least";
      EXPECT_LE(row.box_bytes[size], 227 << 10);
    }
    EXPECT_GE(row.tiles_per_sm, 0);
    EXPECT_GE(row.band_bytes, 0);
    EXPECT_GE(row.piece_words, 1);
    EXPECT_LE(row.piece_words, 1024) << "runs_block_words of kernels/gpu/job.hpp";
  }
}

}  // namespace
}  // namespace cornerturn::planning
