#include "plan/in_place_cpu.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../kernels/in_place_cases.hpp"
#include "kernels/cpu/swap/args.hpp"

namespace cornerturn::planning::in_place_test {
namespace {

using testing::placed;
using testing::to_text;

in_place_choice choose_for(const problem& what, const cpu_request& wanted = {.threads = 2},
                           std::int64_t l2_bytes = 1 << 20) {
  base::machine machine;
  machine.l2_bytes = l2_bytes;
  const map::canonical form = map::canonicalize(what);
  return choose_in_place(form, map::in_place(form), wanted, machine);
}

void expect_way(const problem& what, in_place_way way, const std::string& kernel, int passes) {
  const in_place_choice made = choose_for(what);
  EXPECT_EQ(made.way, way) << to_text(what);
  ASSERT_NE(made.kernel, nullptr);
  EXPECT_EQ(made.kernel->name, kernel) << to_text(what);
  EXPECT_EQ(made.passes, passes);
  EXPECT_STRNE(made.reason, "");
}

TEST(in_place_ways, have_a_problem_each) {
  expect_way(placed(transpose_problem(0, 5, 4)), in_place_way::nothing, "cpu_copy", 0);
  expect_way(placed(transpose_problem(1, 5, 4)), in_place_way::nothing, "cpu_copy", 0);
  expect_way(placed(transpose_problem(500, 500, 4)), in_place_way::swapped, "cpu_swap_b4", 1);
  expect_way(placed(transpose_problem(500, 500, 16, 600, 600)), in_place_way::swapped, "cpu_swap_b16", 1);
  expect_way(placed(transpose_problem(500, 500, 12)), in_place_way::swapped, "cpu_swap", 1);
  expect_way(placed(transpose_problem(50, 60, 4)), in_place_way::buffered, "cpu_register_tile_b4", 1);
  expect_way(placed(transpose_problem(5000, 6000, 2048)), in_place_way::cycles, "cpu_cycles", 1);
  expect_way(placed(transpose_problem(10000, 7001, 4)), in_place_way::row_strips, "cpu_cycles", 2);
  expect_way(placed(transpose_problem(7001, 10000, 4)), in_place_way::col_strips, "cpu_cycles", 2);
  expect_way(placed(transpose_problem(10007, 6997, 4)), in_place_way::row_strips, "cpu_cycles", 2);
  expect_way(placed(transpose_problem(6997, 10007, 4)), in_place_way::col_strips, "cpu_cycles", 2);
}

// A strip is a twentieth; beside it wait fewer rows than there are strips. Anything that fits the caches is allowed too.
TEST(in_place_ways, the_workspace_is_bounded) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{10000, 7000},
                                   {9999, 7001},
                                   {10007, 6997},
                                   {1000000, 16},
                                   {16, 1000000},
                                   {100003, 100019},
                                   {4000037, 4000003},
                                   {83, 1000003},
                                   {3, 1000003}}) {
    for (const std::int64_t element_bytes : {1, 4, 8, 12}) {
      const problem what = placed(transpose_problem(rows, cols, element_bytes));
      const in_place_choice made = choose_for(what);
      const double whole = static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(element_bytes);
      EXPECT_LE(static_cast<double>(made.workspace_bytes), std::max(0.055 * whole, 1.1 * (1 << 20))) << to_text(what);
      EXPECT_LE(made.passes, 2);
    }
  }
}

// Two threads lose to one on a square that stays in the L2 of one core.
TEST(in_place_ways, one_thread_swaps_a_square_within_the_cache) {
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 8, 12, 16, 24}) {
    for (const std::int64_t kilobytes : {64, 136, 400, 1000}) {
      const auto n = static_cast<std::int64_t>(std::sqrt(static_cast<double>(1024 * kilobytes / element_bytes)));
      EXPECT_EQ(choose_for(placed(transpose_problem(n, n, element_bytes)), {.threads = 16}).threads, 1) << n;
    }
    const auto n = static_cast<std::int64_t>(std::sqrt(static_cast<double>((8 << 20) / element_bytes)));
    EXPECT_EQ(choose_for(placed(transpose_problem(n, n, element_bytes)), {.threads = 2}).threads, 2) << n;
  }
}

TEST(in_place_ways, threads_stay_below_what_was_asked) {
  for (const int threads : {1, 3, 64}) {
    for (const problem& what : {transpose_problem(3000, 3000, 4), transpose_problem(3000, 4000, 4),
                                transpose_problem(3001, 4001, 4), transpose_problem(30, 40, 4)}) {
      const in_place_choice made = choose_for(placed(what), {.threads = threads});
      EXPECT_LE(made.threads, threads);
      for (const kernels::offer& how : made.moves) {
        EXPECT_LE(how.threads, made.threads);
        EXPECT_LE(how.threads, how.units);
      }
    }
  }
}

TEST(in_place_ways, every_block_pair_has_one_unit) {
  for (const std::int64_t n : {1, 2, 3, 10, 57}) {
    std::int64_t unit = 0;
    for (std::int64_t down = 0; down < n; ++down) {
      for (std::int64_t across = down; across < n; ++across, ++unit) {
        const kernels::cpu::block_pair found = kernels::cpu::block_pair_of(unit, n);
        ASSERT_EQ(found.down, down);
        ASSERT_EQ(found.across, across);
      }
    }
  }
  const std::int64_t n = 3000000000;  // its square fits 63 bits, like the square of every matrix
  const kernels::cpu::block_pair last = kernels::cpu::block_pair_of(n * (n + 1) / 2 - 1, n);
  EXPECT_EQ(last.down, n - 1);
  EXPECT_EQ(last.across, n - 1);
}

}  // namespace
}  // namespace cornerturn::planning::in_place_test
