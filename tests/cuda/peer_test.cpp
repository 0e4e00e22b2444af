// dst is memory of another GPU: run/ makes the launch, although a plan refuses two GPUs. Skipped with one GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "../kernels/cases.hpp"
#include "device_bench.hpp"
#include "device_clock.hpp"
#include "kernels/gpu/device.hpp"
#include "run/launch.hpp"

namespace cornerturn::testing {
namespace {

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

class cuda_peer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::device_count() < 2) GTEST_SKIP() << "fewer than two GPUs";
    int reaches = 0;
    ASSERT_CUDA(cudaDeviceCanAccessPeer(&reaches, 0, 1));
    if (reaches == 0) GTEST_SKIP() << "GPU 0 cannot access the memory of GPU 1";
    ASSERT_CUDA(cudaSetDevice(0));
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(1, 0);
    ASSERT_TRUE(enabled == cudaSuccess || enabled == cudaErrorPeerAccessAlreadyEnabled);
    static_cast<void>(cudaGetLastError());
  }
  void TearDown() override { static_cast<void>(cudaSetDevice(0)); }

  // src is memory of GPU 0, dst of GPU 1. GPU 0 runs.
  void reserve(std::size_t src_bytes, std::size_t dst_bytes) {
    ASSERT_CUDA(cudaSetDevice(1));
    dst_.reserve(dst_bytes);
    ASSERT_CUDA(cudaSetDevice(0));
    src_.reserve(src_bytes);
  }

  device_memory src_, dst_;
};

TEST_F(cuda_peer, matrices_of_all_sizes_arrive) {
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 8, 16}) {
    for (const auto& [rows, cols] : {std::pair{64, 64}, {1000, 1003}, {4096, 17}, {3, 5000}}) {
      const problem what = transpose_problem(rows, cols, element_bytes);
      const auto bytes = static_cast<std::size_t>(rows * cols * element_bytes);
      reserve(bytes, bytes);
      std::vector<std::byte> src(bytes), dst(bytes), wanted(bytes);
      const std::byte* const some = pattern(bytes);
      std::copy_n(some, bytes, src.begin());
      walk(what, [&](std::int64_t from, std::int64_t to) {
        std::copy_n(src.begin() + from * element_bytes, element_bytes, wanted.begin() + to * element_bytes);
      });
      ASSERT_CUDA(cudaMemcpy(src_.get(), src.data(), bytes, cudaMemcpyDefault));
      ASSERT_CUDA(cudaMemset(dst_.get(), 0xEE, bytes));
      const running::gpu_variant how = running::choose_variant(what, gpu::info(0).traits, 16, "");
      ASSERT_NE(how.chosen.row, nullptr);
      ASSERT_EQ(gpu::load(*how.chosen.row, 0), nullptr);
      ASSERT_EQ(running::start(how, {.src = src_.get(), .dst = dst_.get()}, nullptr), nullptr);
      ASSERT_CUDA(cudaDeviceSynchronize());
      ASSERT_CUDA(cudaMemcpy(dst.data(), dst_.get(), bytes, cudaMemcpyDefault));
      ASSERT_EQ(dst, wanted) << rows << " x " << cols << " of " << element_bytes << " bytes, " << how.chosen.row->name;
    }
  }
}

TEST_F(cuda_peer, float32_is_near_a_copy_between_the_gpus) {
  constexpr std::int64_t side = 16384;
  constexpr std::size_t bytes = side * side * 4;
  reserve(bytes, bytes);
  const running::gpu_variant how =
      running::choose_variant(transpose_problem(side, side, 4), gpu::info(0).traits, 16, "");
  ASSERT_EQ(gpu::load(*how.chosen.row, 0), nullptr);
  timer clock;
  std::vector<double> copies, transposes;
  for (int round = 0; round < 11; ++round) {
    copies.push_back(clock.seconds(
        [&] { EXPECT_CUDA(cudaMemcpyPeerAsync(dst_.get(), 1, src_.get(), 0, bytes, nullptr)); }, nullptr));
    transposes.push_back(clock.seconds(
        [&] { EXPECT_EQ(running::start(how, {.src = src_.get(), .dst = dst_.get()}, nullptr), nullptr); }, nullptr));
  }
  const double copy = static_cast<double>(bytes) / median(copies) / 1e9;
  const double transpose = static_cast<double>(bytes) / median(transposes) / 1e9;
  std::printf("to the other GPU: a copy %.0f GB/s, %s %.0f GB/s, %.2f of the copy\n", copy, how.chosen.row->name,
              transpose, transpose / copy);
  RecordProperty("share_of_a_peer_copy", std::to_string(transpose / copy));
  EXPECT_GT(transpose / copy, 0.5) << "half the promised share: a busy machine is no defect";
}

}  // namespace
}  // namespace cornerturn::testing
