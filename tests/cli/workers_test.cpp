// The threads of the command, without the command itself: for ThreadSanitizer.
#include "workers.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <vector>

#include "cornerturn/system.hpp"
#include "progress.hpp"

namespace cornerturn::cli {
namespace {

TEST(workers, execute_each_task_once) {
  std::vector<std::atomic<int>> calls(100);
  std::atomic<int> made{0};
  std::atomic<int> ticks{0};
  const auto make_worker = [&]() -> worker {
    ++made;
    return [&](std::int64_t task) { ++calls[static_cast<std::size_t>(task)]; };
  };
  run_tasks(3, 100, make_worker, [&] { ++ticks; });
  for (const auto& one : calls) EXPECT_EQ(one, 1);
  EXPECT_LE(made, 3);
  run_tasks(1, 100, make_worker, [&] { ++ticks; });
  EXPECT_GE(ticks, 100);
  run_tasks(4, 0, make_worker, [] {});
}

TEST(workers, the_fault_of_one_stops_all) {
  std::atomic<int> done{0};
  const auto make_worker = [&]() -> worker {
    return [&](std::int64_t task) {
      if (task == 5) throw std::runtime_error("the disk is full");
      ++done;
    };
  };
  EXPECT_THROW(run_tasks(4, 1000000, make_worker, [] {}), std::runtime_error);
  EXPECT_LT(done, 1000000 - 1);
}

TEST(workers, a_thread_that_cannot_begin_is_a_fault) {
  EXPECT_THROW(run_tasks(
                   2, 10, []() -> worker { throw std::bad_alloc(); }, [] {}),
               std::bad_alloc);
}

TEST(workers, openmp_limits_the_default) {
  omp_set_num_threads(1);
  EXPECT_EQ(threads_for(0), 1);
  EXPECT_EQ(threads_for(7), 7);
  omp_set_num_threads(1 << 20);
  EXPECT_EQ(threads_for(0), cpu().threads);
}

TEST(progress, fits_the_terminal) {
  const std::int64_t gib = std::int64_t{1} << 30;
  const std::string wide = progress_text("verifying", gib, 4 * gib, 5, 100);
  EXPECT_NE(wide.find("25%"), std::string::npos) << wide;
  EXPECT_NE(wide.find("#######-------"), std::string::npos) << wide;
  EXPECT_NE(wide.find("1.00 GiB of 4.00 GiB, 0.21 GB/s, 15 s left"), std::string::npos) << wide;
  for (int columns = 0; columns <= 100; ++columns) {
    const std::string text = progress_text("verifying", gib, 4 * gib, 5, columns);
    EXPECT_LE(text.size(), static_cast<std::size_t>(columns)) << text;
    if (columns < 30) continue;
    EXPECT_NE(text.find("25%"), std::string::npos) << text;
    EXPECT_NE(text.find("15 s left"), std::string::npos) << text;
  }
  EXPECT_NE(progress_text("writing", gib, 100 * gib, 100, 80).find("2 h 45 min left"), std::string::npos);
  EXPECT_EQ(progress_text("writing", 0, 4 * gib, 5, 80).find("left"), std::string::npos);
  EXPECT_EQ(progress_text("writing", 4 * gib, 4 * gib, 5, 80).find("left"), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::cli
