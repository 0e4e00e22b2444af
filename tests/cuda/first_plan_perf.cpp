// Costs of the first plan and of the first calls of a process on a GPU. Each test is a process of its own under ctest, and the context
// exists before its clock starts.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "cornerturn/transpose.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::testing {
namespace {

class stopwatch_ms {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - begin_).count();
    begin_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

struct device_free {
  void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};

void measure(const problem& what, std::int64_t bytes) {
  if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
  stopwatch_ms clock;
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  const double context = clock.lap();
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, static_cast<std::size_t>(2 * bytes)), cudaSuccess);
  const std::unique_ptr<void, device_free> owner(memory);
  auto* const src = static_cast<std::byte*>(memory);
  ASSERT_EQ(cudaMemset(src, 0, static_cast<std::size_t>(2 * bytes)), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  clock.lap();
  static_cast<void>(gpu::info(0));
  const double info = clock.lap();
  const plan first(what);
  const double made = clock.lap();
  first.execute(src, src + bytes);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const double first_call = clock.lap();
  first.execute(src, src + bytes);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const double second_call = clock.lap();
  const plan again(what);
  const double made_again = clock.lap();
  std::printf(
      "context %.2f ms, facts of the device %.2f ms, first plan %.2f ms, first call %.3f ms, second call %.3f ms, "
      "second plan %.3f ms\n",
      context, info, made, first_call, second_call, made_again);
  EXPECT_LT(info + made, 20.0);
  EXPECT_LT(made_again, 0.5);
}

TEST(first_plan_on_a_gpu, of_a_matrix) { measure(transpose_problem(1000, 1000, 4), 4000000); }

TEST(first_plan_on_a_gpu, of_an_unaligned_matrix) { measure(transpose_problem(999, 1001, 2), 2000000); }

TEST(first_plan_on_a_gpu, of_a_rectangle_in_place) {
  problem what = transpose_problem(1000, 3001, 4);
  what.in_place = true;
  if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  stopwatch_ms clock;
  const plan first(what);
  const double made = clock.lap();
  std::printf("first plan %.2f ms\n", made);
  EXPECT_LT(made, 30.0);
}

}  // namespace
}  // namespace cornerturn::testing
