#include "kernels/cpu/costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/machine.hpp"

namespace cornerturn::kernels::cpu {
namespace {

base::machine vendor(bool amd, std::int64_t l2_bytes = 512 << 10) {
  base::machine made;
  made.amd = amd;
  made.l2_bytes = l2_bytes;
  return made;
}

using kind = std::pair<bool, std::int64_t>;  // AMD, L2

class costs : public ::testing::TestWithParam<kind> {
 protected:
  const base::machine processor = vendor(GetParam().first, GetParam().second);
  const cpu_costs& row = costs_of(processor);
};

TEST_P(costs, numbers_are_in_a_range_that_the_kernels_can_serve) {
  EXPECT_NE(std::string(row.name), "");
  EXPECT_GE(row.panel_bytes, 1024);
  EXPECT_LE(row.panel_bytes, 1 << 20);
  EXPECT_GE(row.prefetch_bytes, 0);
  EXPECT_EQ(row.prefetch_bytes % 64, 0);
  EXPECT_GE(row.narrow_buffer, row.piece_bytes);
  EXPECT_LE(row.narrow_buffer, 32 << 10) << "the buffer of a narrow panel stays in the smallest L1";
  EXPECT_GE(row.end_to_end_bytes, 0);
  EXPECT_LE(row.end_to_end_bytes, 1024) << "packed_rows of blocking.hpp, for 1-byte elements";
  EXPECT_GE(row.thread_bytes, 4096);
  EXPECT_EQ(row.strip_bytes % 256, 0) << "whole blocks, of 1- and 2-byte elements too";
  EXPECT_EQ(row.tiled_outer_bytes % 64, 0);
  EXPECT_LE(row.short_wide_bytes, row.end_to_end_bytes) << "few rows are short runs";
  EXPECT_EQ(row.short_wide_panel_bytes % 128, 0) << "whole groups";
}

TEST_P(costs, predicted_times_are_no_shorter_than_a_copy) {
  for (const double time : {row.times.copy_runs, row.times.register_tile, row.times.panels, row.times.panels_carried,
                            row.times.staged_lines, row.times.staged_lines_carried, row.times.strips,
                            row.times.end_to_end, row.times.whole_lines, row.times.small_matrices,
                            row.times.tall_skinny, row.times.tall_skinny_many, row.times.short_wide_many,
                            row.times.split, row.times.short_wide, row.times.join, row.times.box, row.times.gather}) {
    EXPECT_GE(time, 1);
    EXPECT_LT(time, 10);
  }
}

// policy/line_stores-inl.hpp: a piece that is not the last of its run must not end before the first line does.
TEST_P(costs, pieces_are_longer_than_a_line_for_every_element_size) {
  for (std::int64_t e = 1; e <= 256; ++e) {
    const std::int64_t step = std::max<std::int64_t>(row.piece_bytes / e, 1);
    EXPECT_GT(step * e, 63) << e;
  }
}

TEST_P(costs, a_tile_fits_in_a_second_level_cache) {
  for (const std::int64_t e : {1, 2, 4, 8, 16, 64, 255}) {
    const std::int64_t panel = std::max<std::int64_t>(16, row.panel_bytes / e);
    EXPECT_LE(panel * (std::max(row.piece_bytes, e) + 128), 4 << 20) << e;
  }
}

constexpr kind kinds[] = {{true, 512 << 10}, {true, 1 << 20}, {false, 1 << 20}, {false, 2 << 20}};

INSTANTIATE_TEST_SUITE_P(rows, costs, ::testing::ValuesIn(kinds), [](const auto& one) {
  return (one.param.first ? "amd_" : "other_") + std::to_string(one.param.second >> 10) + "_KiB";
});

TEST(costs_rows, differ_by_name) {
  std::set<std::string> names;
  for (const kind& one : kinds) names.insert(costs_of(vendor(one.first, one.second)).name);
  EXPECT_EQ(names.size(), std::size(kinds));
  EXPECT_EQ(&costs_of(vendor(true)), &costs_of(vendor(true)));
}

TEST(costs_rows, each_has_a_machine) {
  std::set<std::string> names;
  for (const cpu_machine& one : all_machines()) {
    const base::machine machine = machine_of(one);
    names.insert(costs_of(machine).name);
    EXPECT_EQ(costs_of(machine).name, one.simd == base::simd_target::neon ? std::string("generic") : one.name);
    EXPECT_EQ(machine.amd, std::string(one.what).starts_with("AMD"));
    EXPECT_LT(machine.l1d_bytes, machine.l2_bytes);
    EXPECT_LT(machine.l2_bytes, machine.l3_bytes);
  }
  for (const kind& one : kinds) EXPECT_TRUE(names.contains(costs_of(vendor(one.first, one.second)).name));
}

TEST(costs_rows, the_cached_limit_follows_the_cache) {
  base::machine machine;
  machine.l2_bytes = 0;
  EXPECT_EQ(cached_limit_bytes(machine), 0) << "registry_test makes every store non-temporal this way";
  std::int64_t last = 0;
  for (const std::int64_t l2 : {256 << 10, 512 << 10, 1 << 20, 2 << 20, 64 << 20}) {
    machine.l2_bytes = l2;
    EXPECT_GT(cached_limit_bytes(machine), last);
    EXPECT_LE(cached_limit_bytes(machine), l2);
    last = cached_limit_bytes(machine);
  }
}

}  // namespace
}  // namespace cornerturn::kernels::cpu
