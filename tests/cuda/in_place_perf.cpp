// How fast matrices turn in place on a GPU: 2 S bytes / time, and the share of the fastest copy of as many bytes,
// measured in the same process in turns; medians. Squares also as a share of our own move out of place. The workspace
// is given, unless CORNERTURN_PERF_OWN_WORKSPACE=1: then each call takes it from the stream's pool and gives it back.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "../kernels/in_place_cases.hpp"
#include "bench/cuda/copies.hpp"
#include "check.hpp"
#include "device_clock.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::testing {
namespace {

plan_options on_cuda() { return {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = nullptr}; }

// "line 6" of plan.explain(), and how many places have items of how many bytes.
std::string words_of(const plan& how) {
  const std::string all = how.explain();
  const auto from = [&](const std::string& words, const std::string& until) {
    const std::size_t at = all.find(words);
    return at == std::string::npos ? std::string() : all.substr(at, all.find(until, at) - at);
  };
  return from("line ", "    ") + ", " + how.kernel() + from(" over ", "\n");
}

class cuda_in_place_speed : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
  }

  // The share of a copy.
  double measure(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes) {
    const problem apart = transpose_problem(rows, cols, element_bytes), what = placed(apart);
    const std::int64_t bytes = rows * cols * element_bytes;
    const device_memory first(static_cast<std::size_t>(bytes)), second(static_cast<std::size_t>(bytes));
    const plan how(what, on_cuda()), out_of_place(apart, on_cuda());
    const device_memory work(static_cast<std::size_t>(how.workspace_bytes()) + 1);
    const std::span workspace(work.get(), static_cast<std::size_t>(how.workspace_bytes()));
    const bool own = environment("CORNERTURN_PERF_OWN_WORKSPACE", 0) != 0;
    const auto turn = [&] {
      if (own || workspace.empty()) return how.execute(first.get(), first.get(), stream_.get());
      how.execute(first.get(), first.get(), workspace, stream_.get());
    };
    fill_with_pattern(first.get(), bytes);
    EXPECT_CUDA(cudaDeviceSynchronize());
    turn();
    EXPECT_CUDA(cudaStreamSynchronize(stream_.get()));
    EXPECT_EQ(check_moved(what, first.get(), first.get(), first.get()).wrong, 0U) << to_text(what) << how.explain();

    const auto& copies = bench::cuda::device_copies();
    std::vector<std::vector<double>> times(2 + copies.size());
    for (int round = -2; round < rounds; ++round) {
      for (std::size_t k = 0; k < times.size(); ++k) {
        if (k == 1 && rows != cols) continue;
        const double took = clock_.seconds(
            [&] {
              if (k == 0) return turn();
              if (k == 1) return out_of_place.execute(first.get(), second.get(), stream_.get());
              copies[k - 2].enqueue(first.get(), second.get(), bytes / 256 * 256, stream_.get());
            },
            stream_.get());
        if (round >= 0) times[k].push_back(took);
      }
    }
    const double ours = median(times[0]);
    double copy = 1e9;
    for (std::size_t k = 2; k < times.size(); ++k) copy = std::min(copy, median(times[k]));
    const double both = 2e-9 * static_cast<double>(bytes);
    std::printf("%9lld x %-9lld b%-2lld %6.0f MiB  workspace %.4f  %8.1f us  %6.0f GB/s  copy %6.0f GB/s  share %.3f",
                static_cast<long long>(rows), static_cast<long long>(cols), static_cast<long long>(element_bytes),
                static_cast<double>(bytes) / (1 << 20),
                static_cast<double>(how.workspace_bytes()) / static_cast<double>(bytes), 1e6 * ours, both / ours,
                both / copy, copy / ours);
    if (rows == cols) std::printf("  of out of place %.3f", median(times[1]) / ours);
    std::printf("  %s\n", words_of(how).c_str());
    std::fflush(stdout);
    return copy / ours;
  }

 private:
  const std::int64_t rounds = environment("CORNERTURN_PERF_ROUNDS", 9);
  user_stream stream_;
  timer clock_;
};

TEST_F(cuda_in_place_speed, squares) {
  for (const std::int64_t n : {16384, 8192, 12000}) {
    for (const std::int64_t element_bytes : {4, 8}) measure(n, n, element_bytes);
  }
}

TEST_F(cuda_in_place_speed, rectangles) {
  const struct {
    std::int64_t rows, cols;
  } shapes[] = {{8192, 16384}, {16384, 8192}, {20000, 7000}, {7000, 20000}, {9999, 7001},
                {10007, 8009}, {30000000, 3}, {3, 30000000}, {1000003, 97}, {30000, 20000}};
  for (const auto& shape : shapes) {
    for (const std::int64_t element_bytes : {4, 8}) {
      EXPECT_GE(measure(shape.rows, shape.cols, element_bytes), 0.33) << shape.rows << " x " << shape.cols;
    }
  }
}

TEST_F(cuda_in_place_speed, random_rectangles) {
  dice roll(20);
  std::vector<double> shares;
  for (int k = 0; k < 20; ++k) {
    const std::int64_t element_bytes = roll.one_in(2) ? 4 : 8;
    // 256 MiB to 1 GiB, sides from 1000 on.
    const double elements =
        268435456.0 * std::exp2(static_cast<double>(roll.below(2000)) / 1000) / static_cast<double>(element_bytes);
    const double most = std::log2(elements / 1000), least = std::log2(1000.0);
    const auto rows =
        static_cast<std::int64_t>(std::exp2(least + (most - least) * static_cast<double>(roll.below(1000)) / 1000));
    shares.push_back(measure(rows, static_cast<std::int64_t>(elements) / rows + 1, element_bytes));
  }
  std::printf("median share of 20 random rectangles %.3f, least %.3f\n", median(shares),
              *std::min_element(shares.begin(), shares.end()));
  EXPECT_GE(median(shares), 0.40);
}

}  // namespace
}  // namespace cornerturn::testing
