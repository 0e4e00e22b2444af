#include "base/parallel.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace cornerturn::base {
namespace {

// An executor as a user would write it: a thread for each task, the last task on the caller's thread.
void run_on_threads(void* context, int tasks, void (*body)(void* argument, int task), void* argument) {
  ++*static_cast<std::atomic<int>*>(context);
  std::vector<std::thread> team;
  for (int task = 0; task < tasks - 1; ++task) team.emplace_back(body, argument, task);
  body(argument, tasks - 1);
  for (std::thread& one : team) one.join();
}

struct tally {
  explicit tally(std::int64_t units) : counts(static_cast<std::size_t>(units)) {}
  std::vector<int> counts;  // not atomic: ThreadSanitizer must report two ranges with one unit
  std::atomic<int> ranges{0};
  static void count(void* argument, std::int64_t begin, std::int64_t end) {
    tally& mine = *static_cast<tally*>(argument);
    for (std::int64_t unit = begin; unit < end; ++unit) mine.counts.at(static_cast<std::size_t>(unit)) += 1;
    ++mine.ranges;
  }
  void expect_once_each() const { EXPECT_EQ(counts, std::vector<int>(counts.size(), 1)); }
};

TEST(parallel, own_threads_run_each_unit_once) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const std::int64_t units : {1, 2, 3, 7, 16, 65, 1000}) {
      tally all(units);
      parallel_for({}, threads, units, tally::count, &all);
      all.expect_once_each();
      EXPECT_LE(all.ranges, ranges_per_thread * threads);
    }
  }
}

TEST(parallel, an_executor_gets_more_tasks_than_threads) {
  for (const int threads : {2, 3, 9}) {
    std::atomic<int> calls{0};
    tally all(1000);
    parallel_for({run_on_threads, &calls}, threads, 1000, tally::count, &all);
    EXPECT_EQ(calls, 1) << "run is called once, with its context";
    EXPECT_EQ(all.ranges, ranges_per_thread * threads);
    all.expect_once_each();
  }
}

TEST(parallel, no_more_tasks_than_units) {
  std::atomic<int> calls{0};
  tally all(5);
  parallel_for({run_on_threads, &calls}, 4, 5, tally::count, &all);
  EXPECT_EQ(all.ranges, 5);
  all.expect_once_each();
}

TEST(parallel, what_tasks_wrote_is_seen_afterwards) {
  std::vector<std::int64_t> squares(50);
  const auto body = [](void* argument, std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      (*static_cast<std::vector<std::int64_t>*>(argument))[static_cast<std::size_t>(k)] = k * k;
    }
  };
  std::atomic<int> calls{0};
  for (const executor& one : {executor{}, executor{run_on_threads, &calls}}) {
    std::fill(squares.begin(), squares.end(), -1);
    parallel_for(one, 4, 50, body, &squares);
    for (int k = 0; k < 50; ++k) ASSERT_EQ(squares[static_cast<std::size_t>(k)], k * k);
  }
}

TEST(parallel, one_thread_or_one_unit_is_one_call_in_the_callers_thread) {
  std::atomic<int> calls{0};
  for (const auto& [threads, units] : {std::pair{1, 10}, std::pair{8, 1}}) {
    struct {
      std::thread::id where;
      std::int64_t units = 0;
    } seen;
    parallel_for(
        {run_on_threads, &calls}, threads, units,
        [](void* argument, std::int64_t begin, std::int64_t end) {
          auto& mine = *static_cast<decltype(seen)*>(argument);
          mine.where = std::this_thread::get_id();
          mine.units += end - begin;
        },
        &seen);
    EXPECT_EQ(seen.where, std::this_thread::get_id());
    EXPECT_EQ(seen.units, units);
  }
  EXPECT_EQ(calls, 0) << "one thread does not call the executor";
}

TEST(parallel, no_unit_is_no_call) {
  std::atomic<int> calls{0};
  const auto never = [](void*, std::int64_t, std::int64_t) { ADD_FAILURE(); };
  parallel_for({run_on_threads, &calls}, 2, 0, never, nullptr);
  parallel_for({run_on_threads, &calls}, 2, -3, never, nullptr);
  parallel_for({}, 2, 0, never, nullptr);
  EXPECT_EQ(calls, 0);
}

// Leaves this thread one core. Returns those it had.
cpu_set_t take_one_core() {
  cpu_set_t before, one;
  EXPECT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  return before;
}

TEST(parallel, threads_are_those_of_the_affinity_mask) {
  const cpu_set_t before = take_one_core();
  EXPECT_EQ(hardware_threads(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(hardware_threads(), CPU_COUNT(&before));
}

// LLVM's OpenMP moves a thread at its first question.
TEST(parallel, questions_to_openmp_move_no_thread) {
  omp_get_max_threads();
  for (int (*const ask)() noexcept : {default_threads, hardware_threads}) {
    std::thread([ask] {
      take_one_core();
      EXPECT_EQ(ask(), 1);
      cpu_set_t after;
      ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
      EXPECT_EQ(CPU_COUNT(&after), 1);
    }).join();
  }
}

TEST(parallel, openmp_may_ask_for_fewer) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  EXPECT_EQ(default_threads(), 1);
  omp_set_num_threads(hardware_threads() + 3);
  EXPECT_EQ(default_threads(), hardware_threads());
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace cornerturn::base
