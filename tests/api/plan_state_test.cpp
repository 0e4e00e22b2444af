// The byte ranges of a plan on either side, and their overlaps.
#include "api/plan_state.hpp"

#include <gtest/gtest.h>

#include "../kernels/oracle.hpp"
#include "expect_error.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::detail {
namespace {

using testing::expect_error;

class overlap : public ::testing::Test {
 protected:
  std::vector<std::byte> memory = std::vector<std::byte>(4096);
  std::byte* middle = memory.data() + 2048;
};

TEST_F(overlap, neighbours_do_not_overlap) {
  const plan_state state(transpose_problem(3, 5, 4), {});
  EXPECT_NO_THROW(state.execute(middle, middle + 60));
  EXPECT_NO_THROW(state.execute(middle, middle - 60));
  expect_error(status::overlap, {"src spans bytes 0 to 60", "dst 0 to 60", "dst - src is 59 bytes"},
               [&] { state.execute(middle, middle + 59); });
  expect_error(status::overlap, {"dst - src is -59 bytes"}, [&] { state.execute(middle, middle - 59); });
  expect_error(status::overlap, {"dst - src is 0 bytes"}, [&] { state.execute(middle, middle); });
}

TEST_F(overlap, negative_strides_reach_below_the_pointer) {
  problem what{.element_bytes = 4, .rank = 1, .axes = {}};
  what.axes[0] = {10, 1, -1};  // dst spans -36 to 4
  const plan_state state(what, {});
  EXPECT_NO_THROW(state.execute(middle, middle - 4));
  EXPECT_NO_THROW(state.execute(middle, middle + 76));
  expect_error(status::overlap, {"dst -36 to 4"}, [&] { state.execute(middle, middle); });
  expect_error(status::overlap, {"dst -36 to 4"}, [&] { state.execute(middle, middle + 75); });
  expect_error(status::overlap, {"dst -36 to 4"}, [&] { state.execute(middle, middle - 3); });
}

TEST_F(overlap, nothing_to_move_overlaps_nothing) {
  const plan_state state(transpose_problem(0, 5, 4), {});
  EXPECT_NO_THROW(state.execute(middle, middle));
  EXPECT_NO_THROW(state.execute(nullptr, nullptr));
}

class at_once : public overlap {
 protected:
  void SetUp() override {
    if (gpu::driver_is_loaded()) GTEST_SKIP() << "each pointer is asked about";
  }
  static plan_options threads(int count) {
    return {.device = device::cpu, .threads = count, .parallel = {}, .kernel = nullptr};
  }
};

TEST_F(at_once, what_needs_no_decision_moves) {
  memory[2048 + 4] = std::byte{7};  // the second of 3 x 5 elements
  const plan_state state(transpose_problem(3, 5, 4), threads(1));
  EXPECT_TRUE(state.try_fast_path(middle, middle + 60));
  EXPECT_EQ(middle[60 + 3 * 4], std::byte{7});
  EXPECT_TRUE(state.try_fast_path(middle, middle - 60));
  for (const int apart : {59, 1, 0, -1, -59}) EXPECT_FALSE(state.try_fast_path(middle, middle + apart)) << apart;
  EXPECT_FALSE(state.try_fast_path(nullptr, middle));
  EXPECT_FALSE(state.try_fast_path(middle, nullptr));
}

TEST_F(at_once, negative_strides_reach_below_the_pointer) {
  problem what{.element_bytes = 4, .rank = 1, .axes = {}};
  what.axes[0] = {10, 1, -1};
  const plan_state state(what, threads(1));
  for (const int apart : {-4, 76}) EXPECT_TRUE(state.try_fast_path(middle, middle + apart)) << apart;
  for (const int apart : {-3, 0, 75}) EXPECT_FALSE(state.try_fast_path(middle, middle + apart)) << apart;
}

TEST_F(at_once, other_plans_want_execute) {
  const auto refuses = [&](const problem& what, const plan_options& how) {
    std::vector<std::byte> room(16 << 20);
    return !plan_state(what, how).try_fast_path(room.data(), room.data() + (8 << 20));
  };
  EXPECT_TRUE(refuses(transpose_problem(1000, 1000, 8), threads(2)));
  EXPECT_TRUE(refuses(transpose_problem(0, 5, 4), threads(1)));
  problem square = transpose_problem(8, 8, 4);
  square.in_place = true;
  EXPECT_TRUE(refuses(square, threads(1)));
  problem doubled = transpose_problem(8, 8, 4);
  doubled.math.src = doubled.math.dst = element_type::float32;
  doubled.math.alpha = {2, 0};
  EXPECT_TRUE(refuses(doubled, threads(1)));
}

TEST(plan_state, bytes_moved_counts_each_element_on_both_sides) {
  EXPECT_EQ(plan_state(transpose_problem(3, 5, 12), {}).bytes_moved(), 2 * 3 * 5 * 12);
  EXPECT_EQ(plan_state(transpose_problem(3, 5, 12, 50, 60), {}).bytes_moved(), 2 * 3 * 5 * 12);
  EXPECT_EQ(plan_state(transpose_problem(0, 5, 12), {}).bytes_moved(), 0);
  problem most{.element_bytes = 1, .rank = 1, .axes = {}};
  most.axes[0] = {INT64_MAX, 1, 1};
  EXPECT_EQ(plan_state(most, {}).bytes_moved(), INT64_MAX);
}

TEST(plan_state, threads_never_exceed_the_units) {
  const plan_state state(transpose_problem(1000, 1000, 8),
                         {.device = device::cpu, .threads = 5, .parallel = {}, .kernel = nullptr});
  EXPECT_LE(state.chosen().threads, 5);
  EXPECT_LE(state.chosen().threads, state.chosen().units);
}

}  // namespace
}  // namespace cornerturn::detail
