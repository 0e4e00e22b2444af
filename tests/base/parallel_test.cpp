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
  explicit tally(int tasks) : counts(static_cast<std::size_t>(tasks)) {}
  std::vector<int> counts;  // not atomic: ThreadSanitizer must report two tasks on one element
  std::atomic<int> total{0};
  static void count(void* argument, int task) {
    tally& mine = *static_cast<tally*>(argument);
    mine.counts.at(static_cast<std::size_t>(task)) += 1;
    ++mine.total;
  }
};

TEST(parallel, own_team_runs_each_task_once) {
  for (const int tasks : {1, 2, 3, 7, 16, 65}) {
    tally all(tasks);
    parallel_for({}, tasks, tally::count, &all);
    EXPECT_EQ(all.total, tasks);
    EXPECT_EQ(all.counts, std::vector<int>(static_cast<std::size_t>(tasks), 1)) << tasks;
  }
}

TEST(parallel, an_executor_runs_each_task_once) {
  for (const int tasks : {2, 3, 9}) {
    std::atomic<int> calls{0};
    tally all(tasks);
    parallel_for({run_on_threads, &calls}, tasks, tally::count, &all);
    EXPECT_EQ(calls, 1) << "run is called once, with its context";
    EXPECT_EQ(all.counts, std::vector<int>(static_cast<std::size_t>(tasks), 1)) << tasks;
  }
}

TEST(parallel, what_tasks_wrote_is_seen_afterwards) {
  std::vector<int> squares(50);
  const auto body = [](void* argument, int task) {
    (*static_cast<std::vector<int>*>(argument))[static_cast<std::size_t>(task)] = task * task;
  };
  std::atomic<int> calls{0};
  for (const executor& one : {executor{}, executor{run_on_threads, &calls}}) {
    std::fill(squares.begin(), squares.end(), -1);
    parallel_for(one, 50, body, &squares);
    for (int k = 0; k < 50; ++k) ASSERT_EQ(squares[static_cast<std::size_t>(k)], k * k);
  }
}

TEST(parallel, one_task_stays_on_the_callers_thread) {
  std::thread::id where;
  std::atomic<int> calls{0};
  parallel_for(
      {run_on_threads, &calls}, 1,
      [](void* argument, int) { *static_cast<std::thread::id*>(argument) = std::this_thread::get_id(); }, &where);
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_EQ(calls, 0) << "a single task does not call the executor";
}

TEST(parallel, no_task_is_no_call) {
  std::atomic<int> calls{0};
  const auto never = [](void*, int) { ADD_FAILURE(); };
  parallel_for({run_on_threads, &calls}, 0, never, nullptr);
  parallel_for({run_on_threads, &calls}, -3, never, nullptr);
  parallel_for({}, 0, never, nullptr);
  EXPECT_EQ(calls, 0);
}

TEST(parallel, threads_are_those_of_the_affinity_mask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(hardware_threads(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(hardware_threads(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
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
