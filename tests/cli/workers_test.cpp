// The code of the command that transposes files on several threads, without the command itself: for ThreadSanitizer.
#include "file_move.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <new>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "boxes.hpp"
#include "cornerturn/system.hpp"
#include "mapped_file.hpp"
#include "progress.hpp"
#include "verify.hpp"
#include "workers.hpp"

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;

class file_move : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cornerturn-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path directory_;
};

TEST_F(file_move, threads_share_the_boxes_and_the_check) {
  npy_header in;
  in.itemsize = 4;
  in.shape = {257, 60, 101};
  const std::vector<int> axes{2, 0, 1};
  std::vector<std::uint32_t> data(257 * 60 * 101);
  std::iota(data.begin(), data.end(), 1u);
  const auto* const src = reinterpret_cast<const std::byte*>(data.data());
  in.data_bytes = static_cast<std::int64_t>(data.size() * sizeof data[0]);
  npy_header out = in;
  out.shape = {101, 257, 60};
  const problem what = file_problem(in.shape, false, axes, in.itemsize);
  const progress_call ignore = [](std::int64_t) {};

  for (const int threads : {1, 2, 5}) {
    const output_file file((directory_ / "out").string(), in.data_bytes);
    std::int64_t shown = 0;
    const move_report done = move_to_file(what, src, file, 0, threads, [&](std::int64_t bytes) {
      EXPECT_GE(bytes, shown);
      shown = bytes;
    });
    EXPECT_GE(done.boxes, 6);
    EXPECT_EQ(done.threads, threads);
    const mapped_file written(file.descriptor(), "out");
    ASSERT_EQ(written.size(), in.data_bytes);
    EXPECT_EQ(find_difference(in, src, out, written.bytes().data(), axes, threads, ignore), std::nullopt) << threads;

    // Every thread finds a single wrong element.
    file.write_at("x", in.data_bytes - 4 * 61);
    const mapped_file spoilt(file.descriptor(), "out");
    EXPECT_EQ(find_difference(in, src, out, spoilt.bytes().data(), axes, threads, ignore),
              (std::vector<std::int64_t>{100, 255, 59}))
        << threads;
  }
}

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
  EXPECT_NE(wide.find("1.00 GiB of 4.00 GiB, 15 s left"), std::string::npos) << wide;
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
