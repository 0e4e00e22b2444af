#include "api/plan_cache.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "../kernels/oracle.hpp"
#include "api/problem_hash.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/transpose.hpp"
#include "cornerturn/tune.hpp"
#include "expect_error.hpp"

namespace cornerturn::plan_cache_test {
namespace {

using testing::expect_error;

void turn_and_check(std::int64_t rows, std::int64_t cols) {
  const problem what = transpose_problem(rows, cols, 4);
  testing::workbench bench(what, testing::placement::heap, 0, 0);
  execute(what, bench.src(), bench.dst());
  ASSERT_EQ(bench.difference(), "") << rows << " x " << cols;
}

// The problems are repeated in every order, and one problem is used all the time.
TEST(plan_cache, problems_come_and_go) {
  for (int turn = 0; turn < 3; ++turn) {
    for (std::int64_t k = 1; k <= 40; ++k) {
      turn_and_check(k, 41 - k);
      turn_and_check(64, 48);
    }
    for (std::int64_t k = 40; k >= 1; --k) turn_and_check(k, 41 - k);
    for (std::int64_t k = 0; k < 200; ++k) turn_and_check(1 + k * k % 19, 23);
  }
}

TEST(plan_cache, a_problem_that_fails_leaves_no_plan_behind) {
  problem bad = transpose_problem(5, 7, 4);
  bad.axes[0].dst_stride = 0;
  std::vector<float> src(35), dst(35);
  for (int k = 0; k < 20; ++k) {
    expect_error(status::overlap, {"axis 0"}, [&] { execute(bad, src.data(), dst.data()); });
    turn_and_check(5, 7);
  }
}

TEST(plan_cache, problems_that_differ_little_are_not_mixed_up) {
  problem forwards = transpose_problem(8, 8, 4), wider = transpose_problem(8, 8, 8),
          padded = transpose_problem(8, 8, 4, 9, 0);
  for (int turn = 0; turn < 3; ++turn) {
    for (const problem& what : {forwards, wider, padded}) {
      testing::workbench bench(what, testing::placement::heap, 0, 0);
      execute(what, bench.src(), bench.dst());
      ASSERT_EQ(bench.difference(), "") << testing::to_text(what);
    }
  }
}

TEST(plan_cache, threads_do_not_meet) {
  testing::pattern(1 << 20);
  std::vector<std::thread> team;
  for (int k = 0; k < 6; ++k) {
    team.emplace_back([k] {
      for (std::int64_t turn = 0; turn < 60; ++turn) turn_and_check(1 + (turn * 7 + k) % 23, 1 + turn % 29);
    });
  }
  for (std::thread& one : team) one.join();
}

std::int64_t plans_made() { return api::use_of_cache().made; }

// Problems that no other test of this file asks for, unless it gives an equal number.
problem numbered(std::int64_t number) { return transpose_problem(1 + number % 100, 2 + number / 100, 5); }

TEST(plan_cache, hundreds_of_problems_are_planned_once) {
  const std::int64_t before = plans_made();
  for (int turn = 0; turn < 3; ++turn) {
    for (std::int64_t k = 0; k < 500; ++k) static_cast<void>(api::find_plan({.what = numbered(k)}));
  }
  EXPECT_EQ(plans_made() - before, 500);
}

TEST(plan_cache, threads_share_plans) {
  const auto ask = [] {
    for (std::int64_t k = 1000; k < 1200; ++k) static_cast<void>(api::find_plan({.what = numbered(k)}));
  };
  ask();
  const std::int64_t before = plans_made();
  for (int k = 0; k < 8; ++k) std::thread(ask).join();
  EXPECT_EQ(plans_made(), before);
}

TEST(plan_cache, is_bounded_and_keeps_the_plan_in_use) {
  const problem hot = transpose_problem(77, 1, 7);
  const detail::plan_state* const its_plan = &*api::find_plan({.what = hot});
  const std::int64_t before = plans_made();
  for (std::int64_t k = 0; k < 20000; ++k) {
    static_cast<void>(api::find_plan({.what = numbered(2000 + k)}));
    ASSERT_EQ(&*api::find_plan({.what = hot}), its_plan) << k;
  }
  EXPECT_EQ(plans_made() - before, 20000) << "the plan in use was dropped";
  const api::cache_use use = api::use_of_cache();
  EXPECT_GT(use.plans, 500);
  EXPECT_LE(use.plans, api::cache_sets * api::plans_of_set);
  EXPECT_LE(use.bytes, api::cache_bytes);
}

// A plan in place may hold hundreds of kilobytes of programs.
TEST(plan_cache, counts_what_a_plan_holds) {
  problem in_place = transpose_problem(3000, 4001, 4);
  in_place.in_place = true;
  const std::int64_t out_of_place = api::find_plan({.what = transpose_problem(3000, 4001, 4)})->bytes();
  EXPECT_GE(out_of_place, static_cast<std::int64_t>(sizeof(detail::plan_state)));
  EXPECT_GT(api::find_plan({.what = in_place})->bytes(),
            out_of_place + static_cast<std::int64_t>(sizeof(kernels::offer)));
}

TEST(plan_cache, the_least_recently_used_plan_leaves) {
  // Enough new plans to replace all others.
  for (std::int64_t k = 0; k < 4000; ++k) static_cast<void>(api::find_plan({.what = numbered(30000 + k)}));
  const std::int64_t before = plans_made();
  for (std::int64_t k = 3500; k < 4000; ++k) static_cast<void>(api::find_plan({.what = numbered(30000 + k)}));
  EXPECT_EQ(plans_made(), before) << "recent plans were dropped";
  for (std::int64_t k = 0; k < 500; ++k) static_cast<void>(api::find_plan({.what = numbered(30000 + k)}));
  EXPECT_EQ(plans_made() - before, 500) << "old plans are still there";
}

TEST(plan_cache, keys_differ_by_all_that_selects_a_plan) {
  const problem what = transpose_problem(12, 12, 4);
  problem scaled = what;
  scaled.math = {.src = element_type::float32, .dst = element_type::float32, .alpha = {0.0, 0}};
  problem negative = scaled;
  negative.math.alpha.re = -0.0;
  problem in_place = what;
  in_place.in_place = true;
  std::set<const detail::plan_state*> all;
  for (int turn = 0; turn < 2; ++turn) {
    all.insert(&*api::find_plan({.what = what}));
    all.insert(&*api::find_plan({.what = in_place}));
    all.insert(&*api::find_plan({.what = what, .device = device::cpu}));
    all.insert(&*api::find_plan({.what = what, .device = device::cpu, .threads = 71}));
    all.insert(&*api::find_plan({.what = what, .device = device::cpu, .threads = 72}));
    all.insert(&*api::find_plan({.what = what, .device = device::cpu, .threads = 72, .measure = true}));
    all.insert(&*api::find_plan({.what = scaled}));
    all.insert(&*api::find_plan({.what = negative}));
  }
  EXPECT_EQ(all.size(), 8U);
}

// A plan for the default of one thread is none for a thread with another default.
TEST(plan_cache, threads_with_other_cores_have_plans_of_their_own) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one core only";
  const problem what = transpose_problem(3001, 3000, 4);
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int k = 0; CPU_COUNT(&one) == 0; ++k) {
      if (CPU_ISSET(k, &before)) CPU_SET(k, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(api::find_plan({.what = what})->threads(), 1);
  }).join();
  const plan own(what, {.device = device::cpu});
  EXPECT_EQ(api::find_plan({.what = what})->threads(), own.threads());
}

TEST(plan_cache, axes_behind_the_rank_do_not_matter) {
  const problem what = transpose_problem(13, 12, 4);
  problem other = what;
  other.axes[5].extent = 99;
  EXPECT_EQ(api::hash_of(what), api::hash_of(other));
  EXPECT_TRUE(api::is_same(what, other));
  EXPECT_EQ(&*api::find_plan({.what = what}), &*api::find_plan({.what = other}));
}

TEST(plan_cache, options_select_plans_and_forced_kernels_are_not_kept) {
  std::vector<float> src(64 * 48), dst(64 * 48);
  for (std::size_t k = 0; k < src.size(); ++k) src[k] = static_cast<float>(k);
  const problem what = transpose_problem(64, 48, 4);
  const operands all{.src = src.data(), .dst = dst.data()};
  execute(what, all, plan_options{.device = device::cpu, .threads = 3});
  const std::int64_t before = plans_made();
  for (int turn = 0; turn < 5; ++turn) {
    std::fill(dst.begin(), dst.end(), -1.0F);
    execute(what, all, plan_options{.device = device::cpu, .threads = 3});
    ASSERT_EQ(dst[5], src[5 * 48]);
    std::fill(dst.begin(), dst.end(), -1.0F);
    execute(what, all, plan_options{.kernel = "cpu_reference"});
    ASSERT_EQ(dst[5], src[5 * 48]);
  }
  EXPECT_EQ(plans_made(), before);
  expect_error(status::invalid_argument, {"threads is -1"}, [&] { execute(what, all, plan_options{.threads = -1}); });
}

TEST(plan_cache, results_of_tune_make_new_plans) {
  const problem what = transpose_problem(40, 60, 4);
  std::vector<float> src(2400), dst(2400);
  const detail::plan_state* const before = &*api::find_plan({.what = what, .device = device::cpu});
  const std::int64_t made = plans_made();
  static_cast<void>(
      tune(what, src.data(), dst.data(), {.device = device::cpu, .threads = 1, .seconds = 0.01, .file = {}}));
  static_cast<void>(api::find_plan({.what = what, .device = device::cpu}));
  EXPECT_EQ(plans_made(), made + 1);
  static_cast<void>(before);
  forget_tuning();
}

// Calls at the end of a thread and of the process. A repeated call finds its plan without the thread's own ones.

void call_and_check(const char* when) {
  std::vector<float> src(200 * 200), dst(200 * 200);
  for (std::size_t k = 0; k < src.size(); ++k) src[k] = static_cast<float>(k);
  for (const int n : {3, 64, 200}) {
    std::fill(dst.begin(), dst.end(), -1.0F);
    if (cornerturn_transpose(src.data(), dst.data(), n, n, 4, 0, 0, nullptr) != CORNERTURN_OK) std::abort();
    for (int k = 0; k < n * n; ++k) {
      const auto at = static_cast<std::size_t>(k), from = static_cast<std::size_t>(k % n * n + k / n);
      if (dst[at] != src[from]) {
        std::fprintf(stderr, "%s: wrong result\n", when);
        std::abort();
      }
    }
  }
  if (cornerturn_transpose(src.data(), src.data() + 1, 64, 64, 4, 0, 0, nullptr) == CORNERTURN_OK) std::abort();
  if (std::strstr(cornerturn_last_error(), "overlap") == nullptr) std::abort();
}

void call_from_key(void* /*value*/) { call_and_check("destructor of a pthread key"); }

TEST(late_calls, work_in_destructors_of_pthread_keys) {
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, call_from_key), 0);
  for (int k = 0; k < 20; ++k) {
    std::thread([&] {
      pthread_setspecific(key, &key);
      call_and_check("thread");
    }).join();
  }
  pthread_key_delete(key);
}

struct calls_late {
  ~calls_late() { call_and_check("destructor of a thread_local"); }
};

TEST(late_calls, work_in_destructors_of_older_thread_locals) {
  for (int k = 0; k < 20; ++k) {
    std::thread([] {
      static thread_local const calls_late destroyed_last;
      static_cast<void>(destroyed_last);
      call_and_check("thread");
    }).join();
  }
}

const calls_late* static_object() {
  static const calls_late destroyed_at_exit;
  return &destroyed_at_exit;
}

TEST(late_calls, work_at_exit) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer starts no threads in the child of a process with threads";
#endif
#endif
  EXPECT_EXIT(
      {
        std::atexit([] { call_and_check("atexit"); });
        static_cast<void>(static_object());
        call_and_check("main");
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

// Threads look for plans, old and new, while the process forks: no child may wait for a lock of a thread that it lacks.
TEST(late_calls, a_child_of_fork_finds_and_makes_plans) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer's own allocator does not survive a fork() beside threads that allocate";
#endif
#endif
  std::atomic<bool> done{false};
  std::vector<std::thread> team;
  for (int k = 0; k < 3; ++k) {
    team.emplace_back([&, k] {
      for (std::int64_t n = 0; !done; ++n)
        static_cast<void>(api::find_plan({.what = numbered(60000 + n % 3000 * 3 + k)}));
    });
  }
  for (int turn = 0; turn < 50; ++turn) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      for (std::int64_t n = 0; n < 300; ++n) static_cast<void>(api::find_plan({.what = numbered(60000 + 37 * n)}));
      _exit(0);
    }
    int result = 0;
    ASSERT_EQ(waitpid(child, &result, 0), child);
    EXPECT_EQ(result, 0) << "turn " << turn;
  }
  done = true;
  for (std::thread& one : team) one.join();
}

}  // namespace
}  // namespace cornerturn::plan_cache_test
