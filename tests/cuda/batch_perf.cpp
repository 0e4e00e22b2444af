// How fast a batch moves on a GPU: the share of the fastest copy that moves as many bytes, measured in the same process
// in turns; medians. The time to make the batch is printed too.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "../kernels/cases.hpp"
#include "bench/cuda/copies.hpp"
#include "cornerturn/batch.hpp"
#include "device_clock.hpp"
#include "kernels/gpu/device.hpp"

namespace cornerturn::testing {
namespace {

constexpr std::size_t pattern_bytes = 16 << 20;

struct speed_case {
  const char* name;
  std::int64_t items;
  std::int64_t least_rows, most_rows, least_cols, most_cols;
  std::int64_t unit;  // that both are multiples of
  std::int64_t element_bytes;
  bool by_pointers;
};

constexpr speed_case cases[] = {
    {"8 to 300, float32", 10000, 8, 300, 8, 300, 1, 4, false},
    {"8 to 300 by 4, float32", 10000, 8, 300, 8, 300, 4, 4, false},
    {"8 to 300, 2 bytes", 10000, 8, 300, 8, 300, 1, 2, false},
    {"8 to 300 by 4, 2 bytes", 10000, 8, 300, 8, 300, 4, 2, false},
    {"8 to 300, bytes", 10000, 8, 300, 8, 300, 1, 1, false},
    {"8 to 300 by 4, bytes", 10000, 8, 300, 8, 300, 4, 1, false},
    {"8 to 300, 8 bytes", 10000, 8, 300, 8, 300, 1, 8, false},
    {"8 x 8, float32, pointers", 1000000, 8, 8, 8, 8, 1, 4, true},
    {"4 x 4, float32, pointers", 1000000, 4, 4, 4, 4, 1, 4, true},
    {"16 x 16, 2 bytes, pointers", 1000000, 16, 16, 16, 16, 1, 2, true},
    {"31 x 33, float32, pointers", 100000, 31, 31, 33, 33, 1, 4, true},
    {"8 to 32, float32", 200000, 8, 32, 8, 32, 1, 4, false},
};

// Elements that are wrong, of some. src is a pattern again and again.
int wrong_of(const std::vector<batch_item>& items, const std::byte* src, dice& roll) {
  int wrong = 0;
  for (int k = 0; k < 500; ++k) {
    const batch_item& one = items[static_cast<std::size_t>(roll.below(static_cast<std::int64_t>(items.size())))];
    std::int64_t from = 0, to = 0;
    for (int a = 0; a < one.what.rank; ++a) {
      const std::int64_t i = roll.below(one.what.axes[a].extent);
      from += i * one.what.axes[a].src_stride * one.what.element_bytes;
      to += i * one.what.axes[a].dst_stride * one.what.element_bytes;
    }
    const auto size = static_cast<std::size_t>(one.what.element_bytes);
    const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(one.src) + from - src) % pattern_bytes;
    std::byte found[16];
    EXPECT_CUDA(cudaMemcpy(found, static_cast<const std::byte*>(one.dst) + to, size, cudaMemcpyDeviceToHost));
    wrong += std::memcmp(found, pattern(pattern_bytes) + at, std::min(size, pattern_bytes - at)) != 0;
  }
  return wrong;
}

TEST(cuda_batch_speed, is_near_a_copy_of_as_many_bytes) {
  if (gpu::device_count() == 0) GTEST_SKIP() << gpu::why_none();
  const user_stream stream;
  timer clock;
  constexpr int rounds = 15;
  const plan_options options = {.device = device::cuda, .threads = 0, .parallel = {}, .kernel = nullptr};
  for (const speed_case& one : cases) {
    dice roll(11);
    const auto side = [&](std::int64_t least, std::int64_t most) {
      return least + roll.below((most - least) / one.unit + 1) * one.unit;
    };
    std::vector<batch_item> items;
    std::vector<std::size_t> at;
    std::size_t bytes = 0;
    for (std::int64_t k = 0; k < one.items; ++k) {
      const std::int64_t rows = side(one.least_rows, one.most_rows);
      items.push_back(
          {transpose_problem(rows, side(one.least_cols, one.most_cols), one.element_bytes), nullptr, nullptr});
      at.push_back(bytes);
      bytes += static_cast<std::size_t>(elements_of(items.back().what) * one.element_bytes + 15) / 16 * 16;
    }
    const device_memory src(bytes), dst(bytes);
    for (std::size_t k = 0; k < bytes; k += pattern_bytes) {
      EXPECT_CUDA(cudaMemcpy(src.get() + k, pattern(pattern_bytes), std::min(pattern_bytes, bytes - k),
                             cudaMemcpyHostToDevice));
    }
    std::vector<const void*> from;
    std::vector<void*> to;
    for (std::size_t k = 0; k < items.size(); ++k) {
      items[k].src = src.get() + at[k];
      items[k].dst = dst.get() + at[k];
      from.push_back(items[k].src);
      to.push_back(items[k].dst);
    }
    const auto begin = std::chrono::steady_clock::now();
    const batch how = one.by_pointers ? batch(items[0].what, from, to, options) : batch(items, options);
    const std::chrono::duration<double, std::milli> made = std::chrono::steady_clock::now() - begin;
    how.execute(stream.get());
    EXPECT_CUDA(cudaStreamSynchronize(stream.get()));
    EXPECT_EQ(wrong_of(items, src.get(), roll), 0) << one.name;

    const std::int64_t half = how.bytes_moved() / 2 / 256 * 256;
    std::vector<std::vector<double>> times(1 + bench::cuda::device_copies().size());
    for (int round = -2; round < rounds; ++round) {
      for (std::size_t k = 0; k < times.size(); ++k) {
        const double took = clock.seconds(
            [&] {
              if (k == 0) return how.execute(stream.get());
              bench::cuda::device_copies()[k - 1].enqueue(src.get(), dst.get(), half, stream.get());
            },
            stream.get());
        if (round >= 0) times[k].push_back(took);
      }
    }
    const double ours = median(times[0]);
    double copy = 1e9;
    for (std::size_t k = 1; k < times.size(); ++k) copy = std::min(copy, median(times[k]));
    std::printf("%-28s %8lld items %7.1f MB  made in %7.1f ms  %8.1f us %6.0f GB/s  copy %6.0f GB/s  share %.3f\n",
                one.name, static_cast<long long>(one.items), 1e-6 * static_cast<double>(how.bytes_moved()),
                made.count(), 1e6 * ours, 1e-9 * static_cast<double>(how.bytes_moved()) / ours,
                1e-9 * static_cast<double>(how.bytes_moved()) / copy, copy / ours);
    std::printf("%s", how.explain().c_str());
  }
}

}  // namespace
}  // namespace cornerturn::testing
