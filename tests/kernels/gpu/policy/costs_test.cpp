#include "kernels/gpu/policy/costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

namespace cornerturn::gpu {
namespace {

// The architectures of release builds, an older one and a future one.
constexpr int architectures[] = {0, 50, 75, 80, 86, 89, 90, 100, 120, 999};

TEST(gpu_costs, a_device_takes_the_last_row_that_it_reaches) {
  for (const int arch : architectures) {
    EXPECT_LE(costs_for({.arch = arch}).arch, arch);
    EXPECT_GE(costs_for({.arch = arch}).arch, costs_for({.arch = std::max(arch - 1, 0)}).arch) << arch;
  }
  EXPECT_EQ(costs_for({.arch = 0}).arch, 0) << "the end of every fallback chain";
  EXPECT_EQ(&costs_for({.vendor = kernels::gpu_vendor::amd, .arch = 90}), &all_costs()[0]) << "no row has this vendor";
}

TEST(gpu_costs, numbers_are_in_a_range_that_the_plan_can_serve) {
  for (const int arch : architectures) {
    const kernels::gpu_traits device{.arch = arch};
    const device_costs& row = costs_for(device);
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

TEST(gpu_costs, a_view_touches_whole_sectors) {
  const auto touched = [](std::int64_t bytes, std::initializer_list<axis> axes) {
    problem what{.element_bytes = bytes, .rank = static_cast<int>(axes.size())};
    std::copy(axes.begin(), axes.end(), what.axes.begin());
    return touched_sectors(map::canonicalize(what));
  };
  EXPECT_EQ(touched(4, {{1000, 1, 1}}), 1);
  EXPECT_EQ(touched(4, {{300, 1, 200}, {200, 300, 1}}), 1) << "a transpose";
  EXPECT_EQ(touched(4, {{1000, 2, 1}}), 1.5);
  EXPECT_EQ(touched(4, {{1000, -1, 1}}), 1);
  EXPECT_EQ(touched(4, {{1000, 100, 1}}), 4.5) << "a sector has 8 elements";
  EXPECT_EQ(touched(16, {{1000, 100, 1}}), 1.5);
  EXPECT_EQ(touched(4, {{1000, 1, 2}}), 2.5) << "sectors of dst are read and written";
  EXPECT_EQ(touched(3, {{1000, 2, 1}}), 1.5);
  EXPECT_EQ(touched(4, {{1000, 0, 1}}), 0.5005) << "an element is read once";
}

}  // namespace
}  // namespace cornerturn::gpu
