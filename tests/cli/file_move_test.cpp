// The code of the command that transposes files on several threads, without the command itself: for ThreadSanitizer.
#include "file_move.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "boxes.hpp"
#include "mapped_file.hpp"
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

TEST(workers, the_fault_of_one_stops_all) {
  std::atomic<int> ended{0};
  const auto body = [&](std::atomic<bool>& stop) {
    if (ended++ == 0) throw std::runtime_error("the disk is full");
    while (!stop.load()) std::this_thread::yield();
    ++ended;
  };
  EXPECT_THROW(run_workers(4, body, [] {}), std::runtime_error);
  EXPECT_EQ(ended, 7);
}

TEST(workers, the_caller_hears_of_it_while_they_work) {
  std::atomic<int> ticks{0};
  run_workers(
      3,
      [&](std::atomic<bool>&) {
        while (ticks.load() < 2) std::this_thread::yield();
      },
      [&] { ++ticks; });
  EXPECT_GE(ticks, 2);
}

}  // namespace
}  // namespace cornerturn::cli
