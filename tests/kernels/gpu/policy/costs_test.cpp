#include "kernels/gpu/policy/costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

namespace cornerturn::gpu {
namespace {

TEST(gpu_costs, scale_with_the_cache_and_the_multiprocessors) {
  const device_costs h200 = costs_for({.arch = 90, .multiprocessors = 132});
  const device_costs same = scaled(h200, h200.device);
  EXPECT_EQ(same.cached_bytes, h200.cached_bytes);
  EXPECT_EQ(same.cached_bytes_per_us, h200.cached_bytes_per_us);
  const device_costs half = scaled(h200, {.multiprocessors = 66, .l2_bytes = 30 << 20});
  EXPECT_EQ(half.cached_bytes, h200.cached_bytes / 2);
  EXPECT_EQ(half.cached_bytes_per_us, h200.cached_bytes_per_us / 2);
  EXPECT_EQ(half.rows, h200.rows);
  EXPECT_EQ(scaled(h200, {.multiprocessors = 1}).cached_bytes, h200.cached_bytes) << "the L2 is unknown";
}

TEST(gpu_costs, a_view_touches_whole_lines) {
  const auto touched = [](std::int64_t bytes, std::initializer_list<axis> axes, std::int64_t line = 32) {
    problem what{.element_bytes = bytes, .rank = static_cast<int>(axes.size())};
    std::copy(axes.begin(), axes.end(), what.axes.begin());
    return touched_lines(map::canonicalize(what), line);
  };
  EXPECT_EQ(touched(4, {{1000, 1, 1}}), 1);
  EXPECT_EQ(touched(4, {{300, 1, 200}, {200, 300, 1}}), 1) << "a transpose";
  EXPECT_NEAR(touched(4, {{1000, 2, 1}}), 1.5, 0.001);
  EXPECT_EQ(touched(4, {{1000, -1, 1}}), 1);
  EXPECT_EQ(touched(4, {{1000, 100, 1}}), 4.5) << "a sector has 8 elements";
  EXPECT_EQ(touched(4, {{1000, 100, 1}}, 64), 8.5);
  EXPECT_EQ(touched(16, {{1000, 100, 1}}), 1.5);
  EXPECT_NEAR(touched(4, {{1000, 1, 2}}), 2.5, 0.002) << "sectors of dst are read and written";
  EXPECT_NEAR(touched(3, {{1000, 2, 1}}), 1.5, 0.001);
  EXPECT_EQ(touched(4, {{1000, 0, 1}}), 0.5005) << "an element is read once";
  EXPECT_EQ(touched(4, {{100, 1000, 8}, {8, 1, 1}}), 1) << "whole sectors";
  EXPECT_EQ(touched(4, {{100, 1000, 16}, {16, 1, 1}}, 64), 1.25) << "1000 elements are no multiple of a line";
  EXPECT_EQ(touched(4, {{100, 16, 1000}, {16, 1, 1}}, 64), 1.75) << "of two lines of dst, both are written in part";
  EXPECT_EQ(touched(16, {{1000, 1, 12}}, 64), 4.5) << "so is a line whose begin is an element's";
  EXPECT_NEAR(touched(4, {{100, 20, 48}, {20, 1, 1}}, 64), 1.7, 1e-9) << "one whole line, and a part";
}

}  // namespace
}  // namespace cornerturn::gpu
