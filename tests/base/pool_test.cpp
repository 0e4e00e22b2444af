#include "base/pool.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace cornerturn::base::pool_test {
namespace {

using namespace std::chrono_literals;

// ThreadSanitizer refuses threads in the child of a process with threads.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CORNERTURN_NO_THREADS_AFTER_FORK
#endif
#endif

struct tally {
  explicit tally(int tasks) : counts(static_cast<std::size_t>(tasks)) {}
  std::vector<int> counts;  // not atomic: ThreadSanitizer must report two tasks on one element
  std::atomic<int> total{0};
  static void count(void* argument, int task) {
    tally& mine = *static_cast<tally*>(argument);
    mine.counts.at(static_cast<std::size_t>(task)) += 1;
    ++mine.total;
  }
  [[nodiscard]] bool once_each() const { return counts == std::vector<int>(counts.size(), 1); }
};

bool runs_each_task_once(int threads, int tasks) {
  tally all(tasks);
  run_on_pool(threads, tasks, tally::count, &all);
  return all.total == tasks && all.once_each();
}

TEST(pool, runs_each_task_once) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const int tasks : {0, 1, 2, 7, 64, 1000})
      EXPECT_TRUE(runs_each_task_once(threads, tasks)) << threads << ' ' << tasks;
  }
}

// 20,000 jobs reuse a few slots: a helper that is late by a generation must not run a task.
TEST(pool, many_short_jobs) {
  std::atomic<std::int64_t> sum{0};
  for (int k = 0; k < 20000; ++k) {
    run_on_pool(
        3, 5, [](void* argument, int task) { *static_cast<std::atomic<std::int64_t>*>(argument) += task; }, &sum);
  }
  EXPECT_EQ(sum, 20000 * 10);
}

TEST(pool, many_callers_at_once) {
  std::atomic<int> faults{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 24; ++caller) {  // more than the pool has slots
    callers.emplace_back([&, caller] {
      for (int k = 0; k < 200; ++k) faults += runs_each_task_once(2 + caller % 4, 1 + (k * 7 + caller) % 40) ? 0 : 1;
    });
  }
  for (std::thread& one : callers) one.join();
  EXPECT_EQ(faults, 0);
}

// Two tasks that wait for each other need two threads.
TEST(pool, helpers_take_part) {
  std::atomic<int> arrived{0};
  run_on_pool(
      2, 2,
      [](void* argument, int) {
        auto& here = *static_cast<std::atomic<int>*>(argument);
        ++here;
        while (here < 2) std::this_thread::yield();
      },
      &arrived);
  EXPECT_EQ(arrived, 2);
}

TEST(pool, no_more_threads_than_asked_for) {
  start_pool(8);
  struct {
    std::atomic<int> now{0}, most{0};
  } seen;
  for (int k = 0; k < 50; ++k) {
    run_on_pool(
        3, 12,
        [](void* argument, int) {
          auto& mine = *static_cast<decltype(seen)*>(argument);
          const int now = ++mine.now;
          for (int most = mine.most; now > most && !mine.most.compare_exchange_weak(most, now);) continue;
          std::this_thread::sleep_for(100us);
          --mine.now;
        },
        &seen);
  }
  EXPECT_LE(seen.most, 3);
}

// A helper blocks in a task of the first call. The second call needs no helper, so it returns.
TEST(pool, a_helper_that_is_stuck_delays_no_other_call) {
  std::atomic<bool> go{false};
  std::atomic<int> stuck{0};
  struct context {
    std::atomic<bool>& go;
    std::atomic<int>& stuck;
  } first{go, stuck};
  std::thread caller([&] {
    run_on_pool(
        2, 2,
        [](void* argument, int) {
          auto& mine = *static_cast<context*>(argument);
          ++mine.stuck;
          while (!mine.go) std::this_thread::sleep_for(1ms);
        },
        &first);
  });
  while (stuck < 2) std::this_thread::sleep_for(1ms);  // the caller and its helper
  for (int k = 0; k < 100; ++k) EXPECT_TRUE(runs_each_task_once(2, 16));
  go = true;
  caller.join();
}

// A child stops one helper after the other, as a debugger would, while this process calls.
TEST(pool, a_helper_that_is_stopped_delays_no_call) {
  start_pool(3);
  ASSERT_TRUE(runs_each_task_once(3, 64));
  std::vector<pid_t> helpers;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "cornerturn") helpers.push_back(std::stoi(task.path().filename()));
  }
  ASSERT_GE(helpers.size(), 2U);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  for (const pid_t one : helpers) {
    int stopped[2], done[2];
    ASSERT_EQ(pipe(stopped) | pipe(done), 0);
    const pid_t child = fork();
    if (child == 0) {
      char byte = ptrace(PTRACE_ATTACH, one, nullptr, nullptr) == 0 && waitpid(one, nullptr, __WALL) == one ? 'y' : 'n';
      if (write(stopped[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1)
        ptrace(PTRACE_DETACH, one, nullptr, nullptr);
      _exit(0);
    }
    char byte = 0;
    ASSERT_EQ(read(stopped[0], &byte, 1), 1);
    for (int k = 0; k < 100 && byte == 'y'; ++k) EXPECT_TRUE(runs_each_task_once(3, 64));
    ASSERT_EQ(write(done[1], &byte, 1), 1);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    for (const int file : {stopped[0], stopped[1], done[0], done[1]}) close(file);
    if (byte != 'y') GTEST_SKIP() << "no thread may trace another one here";
  }
}

#ifndef CORNERTURN_NO_THREADS_AFTER_FORK

TEST(pool, a_refusal_to_start_threads_leaves_the_caller) {
  pid_t child = fork();  // a process without helpers
  if (child == 0) {
    refuse_threads(true);
    const bool alone = start_pool(4) == 1 && runs_each_task_once(4, 100);
    _exit(alone ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(pool, a_child_of_fork_starts_helpers_of_its_own) {
  ASSERT_TRUE(runs_each_task_once(4, 100));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool right = start_pool(2) == 2;
    for (int k = 0; k < 100; ++k) right = right && runs_each_task_once(4, 100);
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(runs_each_task_once(3, 50) ? 0 : 1);
    int status = 0;
    right = right && waitpid(grandchild, &status, 0) == grandchild && status == 0;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(runs_each_task_once(4, 100));
}

// fork() while other threads call: the child must not inherit a taken slot or a reserved core.
TEST(pool, fork_beside_callers) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer's own allocator does not survive a fork() beside threads that allocate";
#endif
#endif
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int k = 0; k < 3; ++k) {
    callers.emplace_back([&] {
      while (!stop) static_cast<void>(runs_each_task_once(3, 30));
    });
  }
  for (int k = 0; k < 20; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      // No allocation here: another thread may hold malloc's lock. glibc would release it, a sanitizer would not.
      std::atomic<int> sum{0};
      run_on_pool(
          3, 30, [](void* argument, int task) { *static_cast<std::atomic<int>*>(argument) += task; }, &sum);
      _exit(sum == 435 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& one : callers) one.join();
}

// Exit handlers and destructors of threads run late. EXPECT_EXIT runs the statement in a child.
TEST(pool, calls_from_exit_handlers) {
  EXPECT_EXIT(
      {
        std::atexit([] {
          if (!runs_each_task_once(3, 64)) _exit(7);
        });
        static_cast<void>(runs_each_task_once(3, 64));
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
}

#endif  // CORNERTURN_NO_THREADS_AFTER_FORK

TEST(pool, calls_from_destructors_of_threads) {
  static std::atomic<int> right;
  right = 0;
  pthread_key_t key{};
  ASSERT_EQ(pthread_key_create(&key, [](void*) { right += runs_each_task_once(3, 64) ? 1 : 0; }), 0);
  std::thread([key] { pthread_setspecific(key, &right); }).join();
  EXPECT_EQ(right, 1);
  pthread_key_delete(key);
}

}  // namespace
}  // namespace cornerturn::base::pool_test
