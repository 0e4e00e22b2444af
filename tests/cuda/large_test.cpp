// Beyond 2^31 elements, bytes and blocks: filled, moved and checked on the device.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "check.hpp"
#include "device_bench.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::testing {
namespace {

constexpr std::size_t guard = 4096;

void expect_moved(const problem& what, std::size_t misalignment = 0) {
  const byte_range from = range_of(what, &axis::src_stride), to = range_of(what, &axis::dst_stride);
  const std::size_t src_bytes = from.size() + misalignment, dst_bytes = to.size() + misalignment + 2 * guard;
  std::size_t free_bytes = 0, total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free_bytes, &total));
  if (src_bytes + dst_bytes + (std::size_t{1} << 30) > free_bytes) {
    std::printf("left out, for it wants %.1f GiB: %s\n", static_cast<double>(src_bytes + dst_bytes) / (1 << 30),
                to_text(what).c_str());
    return;
  }
  device_memory src, dst;
  src.reserve(src_bytes, true);
  dst.reserve(dst_bytes, true);
  fill_with_pattern(src.get(), static_cast<std::int64_t>(src_bytes));
  ASSERT_CUDA(cudaMemset(dst.get(), static_cast<int>(poison), dst_bytes));
  const std::byte* const src_at = src.get() + misalignment - from.lo;
  std::byte* const dst_at = dst.get() + guard + misalignment - to.lo;
  const plan how(what, {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = nullptr});
  how.execute(src_at, dst_at);
  ASSERT_CUDA(cudaDeviceSynchronize());
  const verdict said = check_moved(what, src.get(), src_at, dst_at);
  EXPECT_EQ(said.wrong, 0U) << "element " << said.first << " of " << to_text(what) << "\n" << how.explain();
  const auto value = static_cast<unsigned char>(poison);
  EXPECT_EQ(count_other_bytes(dst.get(), static_cast<std::int64_t>(guard + misalignment), value), 0U) << to_text(what);
  EXPECT_EQ(count_other_bytes(dst.get() + guard + misalignment + to.size(), guard, value), 0U) << to_text(what);
}

#define SKIP_WITHOUT_GPU() \
  if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none()

TEST(cuda_large, matrices) {
  SKIP_WITHOUT_GPU();
  expect_moved(transpose_problem(50000, 50000, 1));
  expect_moved(transpose_problem(49999, 50021, 1), 3);
  expect_moved(transpose_problem(65536, 65536, 1));
  expect_moved(transpose_problem(46349, 46351, 2), 2);
  expect_moved(transpose_problem(49152, 49152, 4));
  expect_moved(transpose_problem(46351, 46349, 4), 4);
  expect_moved(transpose_problem(46352, 46336, 8));
  expect_moved(transpose_problem(33000, 33001, 12));
}

TEST(cuda_large, skinny_ones) {
  SKIP_WITHOUT_GPU();
  constexpr std::int64_t beyond = (std::int64_t{1} << 31) + 77;
  expect_moved(transpose_problem(beyond, 2, 1));
  expect_moved(transpose_problem(2, beyond, 1), 1);
  expect_moved(transpose_problem(beyond / 2, 3, 4));
  expect_moved(transpose_problem(3, beyond / 2, 4), 4);
  expect_moved(transpose_problem(beyond / 2, 5, 1), 3);
  expect_moved(transpose_problem(5, beyond / 2, 1), 3);
  expect_moved(transpose_problem(beyond / 6, 7, 2), 2);
  expect_moved(transpose_problem(7, beyond / 6, 2), 2);
  expect_moved(transpose_problem(1, 2 * beyond, 1), 1);
  expect_moved(transpose_problem(1, beyond, 4));
}

TEST(cuda_large, batches_and_permutations) {
  SKIP_WITHOUT_GPU();
  expect_moved(batched(transpose_problem(8, 8, 4), 40000000, 64, 64));
  expect_moved(batched(transpose_problem(31, 33, 1), 2200000, 31 * 33, 31 * 33));
  expect_moved(batched(transpose_problem(2, 2, 1), 600000000, 4, 4));
  expect_moved(batched(transpose_problem(3, 5, 2), 150000000, 15, 15), 2);
  const std::vector<std::int64_t> shape{70, 64, 50, 96, 110};
  expect_moved(permute_problem(shape, std::vector<int>{4, 2, 0, 3, 1}, 1));
  expect_moved(permute_problem(shape, std::vector<int>{2, 0, 3, 1, 4}, 2));
  expect_moved(permute_problem(shape, std::vector<int>{0, 3, 2, 1, 4}, 4));
  problem flipped = transpose_problem(50000, 50000, 1);
  flipped.axes[0].src_stride *= -1;
  flipped.axes[1].dst_stride *= -1;
  expect_moved(flipped);
}

void expect_turned_in_place(problem what) {
  what.in_place = true;
  const std::size_t bytes = range_of(what, &axis::src_stride).size();
  const plan how(what, {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = nullptr});
  std::size_t free_bytes = 0, total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free_bytes, &total));
  const auto wanted = bytes + static_cast<std::size_t>(how.workspace_bytes()) + (std::size_t{1} << 30);
  if (wanted > free_bytes) {
    std::printf("left out, for it wants %.1f GiB: %s\n", static_cast<double>(wanted) / (1 << 30),
                to_text(what).c_str());
    return;
  }
  device_memory memory;
  memory.reserve(bytes, true);
  fill_with_pattern(memory.get(), static_cast<std::int64_t>(bytes));
  how.execute(memory.get(), memory.get());
  ASSERT_CUDA(cudaDeviceSynchronize());
  const verdict said = check_moved(what, memory.get(), memory.get(), memory.get());
  EXPECT_EQ(said.wrong, 0U) << "element " << said.first << " of " << to_text(what) << "\n" << how.explain();
}

TEST(cuda_large, rectangles_in_place) {
  SKIP_WITHOUT_GPU();
  constexpr std::int64_t beyond = (std::int64_t{1} << 31) + 77;
  expect_turned_in_place(transpose_problem(50000, 49999, 1));
  expect_turned_in_place(transpose_problem(46349, 46351, 2));
  expect_turned_in_place(transpose_problem(65536, 49152, 4));
  expect_turned_in_place(transpose_problem(46351, 46349, 4));
  expect_turned_in_place(transpose_problem(46352, 46336, 8));
  expect_turned_in_place(transpose_problem(beyond / 2, 3, 4));
  expect_turned_in_place(transpose_problem(3, beyond / 2, 4));
  expect_turned_in_place(transpose_problem(2000, 1100003, 1));
  expect_turned_in_place(batched(transpose_problem(31, 33, 1), 2200000, 31 * 33, 31 * 33));
}

// A leading dimension far beyond 2^32 bytes: few elements, addresses of 64 bits.
TEST(cuda_large, far_apart) {
  SKIP_WITHOUT_GPU();
  expect_moved(transpose_problem(5, 3000, 4, std::int64_t{1} << 31, 8));
  expect_moved(transpose_problem(3000, 5, 4, 8, std::int64_t{1} << 31));
  expect_moved(transpose_problem(70, 3000, 1, (std::int64_t{1} << 29) + 1, 77), 1);
}

}  // namespace
}  // namespace cornerturn::testing
