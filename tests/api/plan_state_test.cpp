// The byte ranges of a plan on either side, and their overlaps.
#include "api/plan_state.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

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

plan_options measures(int threads = 1) {
  plan_options made{.device = device::cpu, .threads = threads, .parallel = {}, .kernel = nullptr};
  made.measure = true;
  return made;
}

bool says(const plan_state& state, const char* text) { return state.explain().find(text) != std::string::npos; }

// The first call runs the prediction's kernel; each call of up to six kernels gives the bits of the reference.
TEST(plan_that_measures_itself, gives_equal_bits_and_settles_after_eight_calls) {
  for (const problem& what :
       {transpose_problem(600, 700, 4), transpose_problem(900, 1100, 2), transpose_problem(61, 3001, 8, 3010, 64)}) {
    const plan_state usual(what, {.device = device::cpu, .threads = 1, .parallel = {}, .kernel = nullptr});
    const plan_state state(what, measures());
    EXPECT_STREQ(state.kernel(), usual.kernel());
    EXPECT_FALSE(says(usual, "\nmeasure"));
    EXPECT_TRUE(says(state, "\nmeasures   the first ")) << state.explain();
    testing::workbench bench(what, testing::placement::heap, 0, 0);
    for (int call = 0; call < 8; ++call) {
      bench.clear();
      state.execute(bench.src(), bench.dst());
      ASSERT_EQ(bench.difference(), "") << testing::to_text(what) << " call " << call;
    }
    EXPECT_TRUE(says(state, (std::string("\nmeasured   ") + state.kernel() + " in ").c_str())) << state.explain();
    EXPECT_TRUE(says(state, (std::string("\nkernel     ") + state.kernel() + ": ").c_str()));
    EXPECT_GT(state.bytes(), usual.bytes());
    bench.clear();
    state.execute(bench.src(), bench.dst());
    EXPECT_EQ(bench.difference(), "");
  }
}

TEST(plan_that_measures_itself, leaves_out_what_it_cannot_compare) {
  const auto measured = [](const problem& what, const plan_options& how) {
    return says(plan_state(what, how), "\nmeasures");
  };
  const problem what = transpose_problem(600, 700, 4);
  EXPECT_TRUE(measured(what, measures()));
  EXPECT_FALSE(measured(transpose_problem(500, 500, 4), measures())) << "less than 1 MiB";
  problem computes = what, in_place = transpose_problem(600, 600, 4);
  computes.math = {.src = element_type::float32, .dst = element_type::float32, .alpha = {2, 0}};
  in_place.in_place = true;
  EXPECT_FALSE(measured(computes, measures()));
  EXPECT_FALSE(measured(in_place, measures()));
  plan_options forced = measures(), stops = measures();
  forced.kernel = "cpu_reference";
  stops.parallel.is_cancelled = [](void*) { return false; };
  EXPECT_FALSE(measured(what, forced));
  EXPECT_FALSE(measured(what, stops));
  EXPECT_FALSE(says(plan_state(what, measures(), findings::ignore), "\nmeasures"));
}

TEST(plan_that_measures_itself, takes_the_variable_of_the_environment) {
  const problem what = transpose_problem(600, 700, 4);
  ASSERT_EQ(setenv("CORNERTURN_MEASURE", "1", 1), 0);
  EXPECT_TRUE(says(plan_state(what, {.device = device::cpu}), "\nmeasures"));
  ASSERT_EQ(setenv("CORNERTURN_MEASURE", "0", 1), 0);
  EXPECT_FALSE(says(plan_state(what, {.device = device::cpu}), "\nmeasures"));
  ASSERT_EQ(unsetenv("CORNERTURN_MEASURE"), 0);
}

// Calls that overlap run the prediction's kernel untimed; after 64 calls the plan stops to measure.
TEST(plan_that_measures_itself, is_shared_by_threads) {
  const problem what = transpose_problem(600, 700, 4);
  const plan_state state(what, measures(2));
  testing::pattern(std::size_t{4} * 600 * 700);
  std::atomic<int> good{0};
  std::vector<std::thread> team;
  for (int k = 0; k < 3; ++k) {
    team.emplace_back([&] {
      testing::workbench bench(what, testing::placement::heap, 0, 0);
      bool is_right = true;
      for (int call = 0; call < 25; ++call) {
        bench.clear();
        state.execute(bench.src(), bench.dst());
        is_right = is_right && bench.difference().empty();
      }
      good += is_right ? 1 : 0;
    });
  }
  for (std::thread& one : team) one.join();
  EXPECT_EQ(good, 3);
  EXPECT_TRUE(says(state, "\nmeasured")) << state.explain();
}

TEST(plan_that_measures_itself, goes_on_in_a_child_of_fork) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer does not survive a fork() beside threads";
#endif
#endif
  const problem what = transpose_problem(600, 700, 4);
  const plan_state state(what, measures());
  testing::workbench bench(what, testing::placement::heap, 0, 0);
  state.execute(bench.src(), bench.dst());
  const pid_t child = fork();
  for (int call = 1; call < 8; ++call) state.execute(bench.src(), bench.dst());
  const bool is_right = bench.difference().empty() && says(state, "\nmeasured");
  if (child == 0) _exit(is_right ? 0 : 1);
  EXPECT_TRUE(is_right);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cornerturn::detail
