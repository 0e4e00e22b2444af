#include "kernels/cpu/costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/machine.hpp"
#include "kernels/machine/known.hpp"

namespace cornerturn::kernels::cpu {
namespace {

// Built in, with constants: a file of this user's might be among the known machines.
std::vector<std::shared_ptr<const machine_file>> measured() {
  std::vector<std::shared_ptr<const machine_file>> all;
  for (const auto& one : known_machines()) {
    if (!one->is_gpu && one->has_constants && one->origin == "built in") all.push_back(one);
  }
  return all;
}

TEST(costs, numbers_are_in_a_range_that_the_kernels_can_serve) {
  ASSERT_GE(measured().size(), 4u);
  for (const auto& one : measured()) {
    SCOPED_TRACE(one->name);
    EXPECT_EQ(fault_of(one->of_cpu), "");
    const cpu_costs& row = one->of_cpu;
    // policy/line_stores-inl.hpp: a piece that is not the last of its run must not end before the first line does.
    for (std::int64_t e = 1; e <= 256; ++e) EXPECT_GT(std::max<std::int64_t>(row.piece_bytes / e, 1) * e, 63) << e;
    for (const std::int64_t e : {1, 2, 4, 8, 16, 64, 255}) {
      const std::int64_t panel = std::max<std::int64_t>(16, row.panel_bytes / e);
      EXPECT_LE(panel * (std::max(row.piece_bytes, e) + 128), 4 << 20) << "a tile fits in a second-level cache, " << e;
    }
  }
}

TEST(costs, a_number_that_no_kernel_serves_is_named) {
  cpu_costs row = measured().front()->of_cpu;
  row.panel_bytes = 12;
  EXPECT_EQ(fault_of(row), "panel_bytes 12, wanted 1024 to 16384");
  row = measured().front()->of_cpu;
  row.end_to_end_bytes = 2000;
  EXPECT_EQ(fault_of(row), "end_to_end_bytes 2000, wanted 0 to 1024");
  row = measured().front()->of_cpu;
  row.strip_bytes = 300;
  EXPECT_EQ(fault_of(row), "strip_bytes 300, wanted 256 to 65536, a multiple of 256");
  for (const std::int64_t lines : {0, 3, 8}) {
    row = measured().front()->of_cpu;
    row.staged_lines = lines;
    EXPECT_EQ(fault_of(row), "staged_lines " + std::to_string(lines) + ", wanted 1, 2 or 4");
    row.staged_lines = 1, row.carried_lines = lines;
    EXPECT_EQ(fault_of(row), "carried_lines " + std::to_string(lines) + ", wanted 1, 2 or 4");
  }
}

TEST(costs, predicted_times_are_no_shorter_than_a_copy) {
  for (const auto& one : measured()) {
    const cpu_times& times = one->of_cpu.times;
    for (const double time :
         {times.copy_runs, times.register_tile, times.panels, times.panels_carried, times.staged_lines,
          times.staged_lines_carried, times.strips, times.end_to_end, times.whole_lines, times.small_matrices,
          times.tall_skinny, times.tall_skinny_many, times.short_wide_many, times.split, times.short_wide, times.join,
          times.box, times.gather}) {
      EXPECT_GE(time, 1);
      EXPECT_LT(time, 10);
    }
  }
}

TEST(costs, the_cached_limit_follows_the_cache) {
  base::machine machine;
  machine.l2_bytes = 0;
  EXPECT_EQ(cached_limit_bytes(machine), 0) << "registry_test makes every store non-temporal this way";
  // All of a small L2, half of a large one.
  const std::pair<std::int64_t, std::int64_t> limits[] = {{256 << 10, 256 << 10}, {512 << 10, 512 << 10},
                                                          {1 << 20, 1 << 20},     {2 << 20, 1 << 20},
                                                          {3 << 20, 3 << 19},     {64 << 20, 32 << 20}};
  for (const auto& [l2, limit] : limits) {
    machine.l2_bytes = l2;
    EXPECT_EQ(cached_limit_bytes(machine), limit);
  }
}

}  // namespace
}  // namespace cornerturn::kernels::cpu
