#include "cornerturn/plan.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "base/parallel.hpp"
#include "cornerturn/batch.hpp"
#include "cornerturn/system.hpp"
#include "cornerturn/transpose.hpp"
#include "cornerturn/tune.hpp"
#include "expect_error.hpp"

namespace cornerturn::plan_test {
namespace {

using testing::expect_error;
using testing::placement;
using testing::workbench;

void run_on_threads(void* context, int tasks, void (*body)(void* argument, int task), void* argument) {
  *static_cast<std::atomic<int>*>(context) += tasks;
  std::vector<std::thread> team;
  for (int task = tasks - 1; task >= 0; --task) team.emplace_back(body, argument, task);
  for (std::thread& one : team) one.join();
}

plan_options with(int threads, const char* kernel = nullptr, executor parallel = {}) {
  return {.device = device::cpu, .threads = threads, .parallel = parallel, .kernel = kernel};
}

// Large enough for a team, small enough for a test; kernels of all kinds.
std::vector<problem> team_problems() {
  const std::vector<std::int64_t> cube{37, 41, 67};
  std::vector<problem> all;
  for (const std::int64_t e : {1, 2, 3, 4, 8, 12, 16}) {
    all.push_back(transpose_problem(1021, 1031, e));
    all.push_back(transpose_problem(5, 300007, e));
    all.push_back(transpose_problem(300007, 5, e));
    all.push_back(batched(transpose_problem(61, 130, e, 131, 67), 40, 61 * 131, 130 * 67));
    all.push_back(batched(transpose_problem(700, 520, e), 2, 700 * 520, 700 * 520));
    all.push_back(permute_problem(cube, std::vector<int>{2, 1, 0}, 4 * e));
    problem gaps = transpose_problem(500, 600, e, 600, 1000);
    gaps.axes[1].dst_stride = 2;
    gaps.axes[0].dst_stride = 1000;
    all.push_back(gaps);  // no unit stride in dst
    all.push_back(permute_problem(std::vector<std::int64_t>{300, 20, 512}, std::vector<int>{1, 0, 2}, e));
  }
  return all;
}

TEST(plan, moves_with_any_number_of_threads_and_any_executor) {
  for (const problem& what : team_problems()) {
    std::atomic<int> tasks{0};
    workbench bench(what, placement::heap, 1, 7);
    for (const int threads : {1, 2, 3, 7}) {
      for (const executor& parallel : {executor{}, executor{run_on_threads, &tasks}}) {
        const plan how(what, with(threads, nullptr, parallel));
        EXPECT_LE(how.threads(), threads);
        tasks = 0;
        bench.clear();
        how.execute(bench.src(), bench.dst());
        ASSERT_EQ(bench.difference(), "") << how.explain();
        if (parallel.run != nullptr && how.threads() > 1) {
          EXPECT_GE(tasks, how.threads());
          EXPECT_LE(tasks, how.threads() * base::ranges_per_thread);
        }
      }
    }
  }
}

TEST(plan, a_cancelled_call_returns_early) {
  struct question {
    std::atomic<int> asked{0};
    int answers_no;
  };
  const auto ask = [](void* context) {
    auto& mine = *static_cast<question*>(context);
    return mine.asked++ >= mine.answers_no;
  };
  const problem what = transpose_problem(4200, 4200, 1);
  workbench bench(what, placement::heap, 1, 7);
  for (const int threads : {1, 2}) {
    bench.clear();
    question never{.answers_no = 1 << 30};
    const plan whole(what, with(threads, nullptr, {.context = &never, .is_cancelled = ask}));
    whole.execute(bench.src(), bench.dst());
    EXPECT_EQ(bench.difference(), "");
    EXPECT_GE(never.asked, 2) << "the call moves 35 MB: it is asked for about each 16 MiB";
    bench.clear();
    question second{.answers_no = 1};
    plan(what, with(threads, nullptr, {.context = &second, .is_cancelled = ask})).execute(bench.src(), bench.dst());
    EXPECT_NE(bench.difference(), "");
    question at_once{.answers_no = 0};
    bench.clear();
    cornerturn::execute(what, {.src = bench.src(), .dst = bench.dst()},
                        with(threads, nullptr, {.context = &at_once, .is_cancelled = ask}));
    EXPECT_GE(at_once.asked, 1);
    EXPECT_NE(bench.difference(), "");
  }
}

TEST(plan, many_callers_share_one_plan) {
  for (const problem& what :
       {transpose_problem(257, 263, 4), transpose_problem(63, 67, 12), transpose_problem(1500, 1030, 2)}) {
    const plan how(what, with(1));
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    testing::pattern(8 << 20);  // allocated before the threads share it
    for (int k = 0; k < 4; ++k) {
      callers.emplace_back([&how, &what, &wrong] {
        workbench bench(what, placement::heap, 3, 5);
        for (int turn = 0; turn < 20; ++turn) {
          bench.clear();
          how.execute(bench.src(), bench.dst());
          if (!bench.difference().empty()) ++wrong;
        }
      });
    }
    for (std::thread& one : callers) one.join();
    EXPECT_EQ(wrong, 0) << how.explain();
  }
}

TEST(plan, callers_with_teams_of_their_own_share_one_plan) {
  const problem what = transpose_problem(1021, 1031, 4);
  std::atomic<int> tasks{0};
  const plan how(what, with(3, nullptr, {run_on_threads, &tasks}));
  EXPECT_GT(how.threads(), 1);
  testing::pattern(8 << 20);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int k = 0; k < 3; ++k) {
    callers.emplace_back([&] {
      workbench bench(what, placement::heap, 0, 0);
      how.execute(bench.src(), bench.dst());
      if (!bench.difference().empty()) ++wrong;
    });
  }
  for (std::thread& one : callers) one.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(tasks, 3 * how.threads());
}

TEST(plan, a_copy_outlives_its_original) {
  auto first = std::make_unique<plan>(transpose_problem(5, 7, 4), with(1));
  const plan copy = *first;
  first.reset();
  workbench bench(transpose_problem(5, 7, 4), placement::heap, 0, 0);
  copy.execute(bench.src(), bench.dst());
  EXPECT_EQ(bench.difference(), "");
}

// The CPU would not wait for the work of the stream.
TEST(plan, a_stream_is_refused_on_the_cpu) {
  for (const std::int64_t rows : {8, 700}) {  // the fast path, and threads
    const problem what = transpose_problem(rows, 500, 4);
    const auto words = static_cast<std::size_t>(rows * 500);
    std::vector<float> src(words), dst(words, -1);
    int no_stream = 0;
    problem scaled = what;
    scaled.math = {.src = element_type::float32, .dst = element_type::float32, .alpha = {2, 0}};
    const std::vector<batch_item> items{{what, src.data(), dst.data()}};
    problem square = transpose_problem(8, 8, 4);
    square.in_place = true;
    const std::initializer_list<std::function<void()>> calls = {
        [&] { plan(what).execute(src.data(), dst.data(), &no_stream); },
        [&] { plan(scaled).execute(src.data(), dst.data(), &no_stream); },
        [&] { plan(square).execute(dst.data(), dst.data(), &no_stream); },
        [&] { transpose(src.data(), dst.data(), rows, 500, &no_stream); },
        [&] { batch(items).execute(&no_stream); },
        [&] { tune(what, src.data(), dst.data(), {.device = device::cpu, .seconds = 0}, &no_stream); },
    };
    for (const auto& call : calls) testing::expect_error(status::invalid_argument, {"stream", "host memory"}, call);
    EXPECT_EQ(dst, std::vector<float>(words, -1));
  }
}

TEST(plan, needs_no_workspace) { EXPECT_EQ(plan(transpose_problem(500, 700, 12)).workspace_bytes(), 0); }

TEST(plan, null_pointers_are_told_apart) {
  const plan how(transpose_problem(5, 7, 4));
  std::vector<float> some(35);
  expect_error(status::invalid_argument, {"src is null"}, [&] { how.execute(nullptr, some.data()); });
  expect_error(status::invalid_argument, {"dst is null"}, [&] { how.execute(some.data(), nullptr); });
  expect_error(status::invalid_argument, {"is null"}, [&] { how.execute(nullptr, nullptr); });
  EXPECT_NO_THROW(plan(transpose_problem(0, 7, 4)).execute(nullptr, nullptr));
}

TEST(plan, in_place_is_an_overlap_unless_the_problem_says_so) {
  std::vector<float> some(100);
  expect_error(status::overlap, {"src and dst overlap"},
               [&] { plan(transpose_problem(10, 10, 4)).execute(some.data(), some.data()); });
}

TEST(plan, a_bad_problem_is_no_plan) {
  problem what = transpose_problem(5, 7, 4);
  what.axes[0].extent = -7;
  expect_error(status::invalid_argument, {"axis 0 has extent -7"}, [&] { plan{what}; });
}

TEST(plan, threads_may_not_be_negative) {
  expect_error(status::invalid_argument, {"threads is -2", "0 (all) or more"},
               [] { plan(transpose_problem(5, 7, 4), with(-2)); });
  EXPECT_GE(plan(transpose_problem(2000, 2000, 4), with(0)).threads(), 1);
  EXPECT_EQ(plan(transpose_problem(2000, 2000, 4), with(1)).threads(), 1);
  EXPECT_EQ(plan(transpose_problem(5, 7, 4), with(64)).threads(), 1) << "a team for 280 bytes";
  const plan largest(transpose_problem(1 << 20, 1 << 20, 4), with(std::numeric_limits<int>::max()));
  EXPECT_EQ(largest.threads(), base::most_threads);
}

TEST(plan, an_absent_backend_says_so) {
  for (const backend_info& one : backends()) {
    if (one.present) continue;
    expect_error(status::no_device, {("device is " + one.name).c_str(), one.detail.c_str(), "auto or cpu"}, [&] {
      plan(transpose_problem(5, 7, 4), {.device = one.id, .threads = 0, .parallel = {}, .kernel = nullptr});
    });
  }
  EXPECT_NO_THROW(
      plan(transpose_problem(5, 7, 4), {.device = device::automatic, .threads = 0, .parallel = {}, .kernel = nullptr}));
}

TEST(plan, a_forced_kernel_is_taken_or_refused) {
  EXPECT_STREQ(plan(transpose_problem(64, 64, 4), with(1, "cpu_gather")).kernel(), "cpu_gather");
  expect_error(status::invalid_argument, {"kernel is \"cpu_stream_lines_b8\"", "does not accept this problem"},
               [] { plan(transpose_problem(64, 64, 4), with(1, "cpu_stream_lines_b8")); });
  expect_error(status::invalid_argument,
               {"kernel is \"warp_drive\"", "not the name of a kernel", "`cornerturn kernels`"},
               [] { plan(transpose_problem(64, 64, 4), with(1, "warp_drive")); });
}

TEST(plan, forced_kernels_move_what_they_accept) {
  for (const kernel_info& row : kernel_list()) {
    for (const std::int64_t element_bytes : {1, 2, 3, 4, 8, 16, 24}) {
      for (const problem& what : {transpose_problem(67, 97, element_bytes), transpose_problem(1, 97, element_bytes),
                                  transpose_problem(6, 970, element_bytes, 971, 9)}) {
        try {
          const plan how(what, with(2, row.name.c_str()));
          workbench bench(what, placement::heap, 1, 1);
          how.execute(bench.src(), bench.dst());
          EXPECT_EQ(bench.difference(), "") << how.explain();
        } catch (const error& refused) {
          // On a machine with a GPU, a GPU row must find that the workbench is host memory.
          const bool absent = row.backend != "cpu" && refused.code() == status::no_device;
          EXPECT_TRUE(absent || refused.code() == status::invalid_argument) << refused.what();
        }
      }
    }
  }
}

TEST(plan, a_limit_of_openmp_holds_in_place_too) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  problem what = transpose_problem(4096, 4096, 4);
  EXPECT_EQ(plan(what, {.device = device::cpu}).threads(), 1);
  what.in_place = true;
  EXPECT_EQ(plan(what, {.device = device::cpu}).threads(), 1);
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace cornerturn::plan_test
