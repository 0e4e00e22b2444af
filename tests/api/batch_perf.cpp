// Speed of a batch on the CPU. Shares are of the fastest copy of equal bytes by equally many threads, and of the
// fastest copy that does not prefetch. Runs alternate; results are medians.
//   CORNERTURN_PERF_THREADS=n   threads; 1 is the default
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "../wall_clock.hpp"
#include "bench/copies.hpp"
#include "cornerturn/batch.hpp"

namespace cornerturn::testing {
namespace {

struct speed_case {
  const char* name;
  std::int64_t items;
  std::int64_t least, most;  // rows and columns
  std::int64_t unit;         // rows and columns are multiples of this
  std::int64_t element_bytes;
};

constexpr speed_case cases[] = {
    {"8 to 300, float32", 6000, 8, 300, 1, 4},      {"8 to 300 by 4, float32", 6000, 8, 300, 4, 4},
    {"8 to 300, 2 bytes", 6000, 8, 300, 1, 2},      {"8 to 300, bytes", 6000, 8, 300, 1, 1},
    {"8 x 8, float32", 1000000, 8, 8, 1, 4},        {"31 x 31, float32", 60000, 31, 31, 1, 4},
    {"1024 x 1024, float32", 60, 1024, 1024, 1, 4},
};

TEST(batch_speed, is_near_a_copy_of_as_many_bytes) {
  const int threads = threads_to_measure();
  const plan_options options = {.device = device::cpu, .threads = threads, .parallel = {}, .kernel = nullptr};
  for (const speed_case& one : cases) {
    dice roll(11);
    std::vector<batch_item> items;
    std::int64_t bytes = 0;
    const auto side = [&] { return one.least + roll.below((one.most - one.least) / one.unit + 1) * one.unit; };
    for (std::int64_t k = 0; k < one.items; ++k) {
      items.push_back({transpose_problem(side(), side(), one.element_bytes), nullptr, nullptr});
      bytes += elements_of(items.back().what) * one.element_bytes;
    }
    const heap_memory src = lines(static_cast<std::size_t>(bytes)), dst = lines(static_cast<std::size_t>(bytes));
    for (std::int64_t k = 0; k < bytes; ++k) src.get()[k] = static_cast<std::byte>(k * 2654435761 >> 20);
    std::fill_n(dst.get(), bytes, poison);
    std::int64_t at = 0;
    for (batch_item& item : items) {
      item.src = src.get() + at;
      item.dst = dst.get() + at;
      at += elements_of(item.what) * one.element_bytes;
    }
    double made = 0;
    std::vector<double> ours;
    std::vector<std::vector<double>> copies(bench::copies().size());
    {
      std::unique_ptr<batch> how;
      made = seconds([&] { how = std::make_unique<batch>(items, options); });
      for (int round = 0; round < 7; ++round) {
        for (std::size_t k = 0; k < copies.size(); ++k) {
          copies[k].push_back(seconds(
              [&] { bench::parallel_copy(bench::copies()[k], src.get(), dst.get(), bytes / 64 * 64, threads); }));
        }
        ours.push_back(seconds([&] { how->execute(); }));
      }
    }
    double best = 1e9, plain = 1e9;
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const double its = median(copies[k]);
      best = std::min(best, its);
      if (!bench::copies()[k].fetches) plain = std::min(plain, its);
    }
    int wrong = 0;
    for (int k = 0; k < 2000; ++k) {
      const batch_item& item = items[static_cast<std::size_t>(roll.below(one.items))];
      const std::int64_t i = roll.below(item.what.axes[0].extent), j = roll.below(item.what.axes[1].extent);
      const axis& a = item.what.axes[0];
      const axis& b = item.what.axes[1];
      const auto* const from =
          static_cast<const std::byte*>(item.src) + (i * a.src_stride + j * b.src_stride) * one.element_bytes;
      const auto* const to =
          static_cast<const std::byte*>(item.dst) + (i * a.dst_stride + j * b.dst_stride) * one.element_bytes;
      wrong += std::memcmp(from, to, static_cast<std::size_t>(one.element_bytes)) != 0;
    }
    EXPECT_EQ(wrong, 0) << one.name;
    std::printf(
        "%-24s %8lld items %6.1f MB  made in %7.1f ms  %6.2f GB/s  copy %6.2f GB/s  share %.3f, of copies that do not "
        "fetch %.3f\n",
        one.name, static_cast<long long>(one.items), 1e-6 * static_cast<double>(bytes), 1e3 * made,
        2e-9 * static_cast<double>(bytes) / median(ours), 2e-9 * static_cast<double>(bytes) / best, best / median(ours),
        plain / median(ours));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace cornerturn::testing
