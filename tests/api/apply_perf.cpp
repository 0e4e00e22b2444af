// Speed of arithmetic and conversions on the CPU. Shares are of the fastest copy of equal bytes, read and written, and
// of the fastest copy that does not prefetch. Runs alternate; results are medians. Buffers are larger than the caches
// and rotate. All floats in them are normal.
//   CORNERTURN_PERF_CASE=text   only cases whose names contain it
//   CORNERTURN_PERF_THREADS=n   threads; 1 is the default
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "../wall_clock.hpp"
#include "bench/copies.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::testing {
namespace {

using enum element_type;

struct speed_case {
  const char* name;
  arithmetic math;
};

const speed_case cases[] = {
    {"float32, alpha", {.src = float32, .dst = float32, .alpha = {2, 0}}},
    {"float32, alpha, beta", {.src = float32, .dst = float32, .alpha = {2, 0}, .beta = {0.5, 0}}},
    {"float32, a second source",
     {.src = float32, .dst = float32, .alpha = {2, 0}, .beta = {0.5, 0}, .second = second_array::source}},
    {"float64, alpha", {.src = float64, .dst = float64, .alpha = {2, 0}}},
    {"float64, alpha, beta", {.src = float64, .dst = float64, .alpha = {2, 0}, .beta = {0.5, 0}}},
    {"complex64, conj", {.src = complex64, .dst = complex64, .conj = true}},
    {"complex64, alpha, conj", {.src = complex64, .dst = complex64, .alpha = {2, 1}, .conj = true}},
    {"float32 to bfloat16", {.src = float32, .dst = bfloat16}},
    {"float32 to float16", {.src = float32, .dst = float16}},
    {"bfloat16 to float32", {.src = bfloat16, .dst = float32}},
    {"float16 to float32", {.src = float16, .dst = float32}},
    {"float64 to float32", {.src = float64, .dst = float32}},
    {"float32 to float64", {.src = float32, .dst = float64}},
    {"bfloat16 to e4m3", {.src = bfloat16, .dst = float8_e4m3, .scaled = true}},
    {"float32 to e4m3", {.src = float32, .dst = float8_e4m3, .scaled = true}},
    {"int32 to int8", {.src = int32, .dst = int8}},
    {"uint8 to int32", {.src = uint8, .dst = int32}},
};

TEST(apply_speed, is_near_a_copy_of_as_many_bytes) {
  const int threads = threads_to_measure();
  const char* const only = std::getenv("CORNERTURN_PERF_CASE");
  constexpr std::int64_t shapes[][2] = {{5000, 6992}, {4999, 6001}, {4096, 4096}};
  constexpr std::size_t each = std::size_t{5000} * 6992 * 12, sides = 2;  // bytes of float64 with beta
  heap_memory src[sides], dst[sides];
  for (std::size_t k = 0; k < sides; ++k) {
    src[k] = lines(each);
    dst[k] = lines(each);
    for (std::size_t b = 0; b < each; ++b)
      src[k].get()[b] = static_cast<std::byte>((b * 2654435761 >> 20 & 0x9f) | 0x20);
    std::fill_n(dst[k].get(), each, std::byte{});
  }
  const float scale = 0.5F;
  for (const speed_case& one : cases) {
    if (only != nullptr && std::string_view(one.name).find(only) == std::string_view::npos) continue;
    for (const auto& shape : shapes) {
      problem what = transpose_problem(shape[0], shape[1], bytes_of(one.math.src));
      what.math = one.math;
      for (int k = 0; k < 2 && one.math.second == second_array::source; ++k) {
        what.axes[static_cast<std::size_t>(k)].second_stride = what.axes[static_cast<std::size_t>(k)].dst_stride;
      }
      const plan how(what, {.device = device::cpu, .threads = threads});
      const bool sums = one.math.beta.re != 0;
      const std::int64_t bytes =
          shape[0] * shape[1] * (bytes_of(one.math.src) + (sums ? 2 : 1) * bytes_of(one.math.dst));
      std::vector<double> ours;
      std::vector<std::vector<double>> copies(bench::copies().size());
      std::size_t at = 0;
      for (int round = -1; round < 5; ++round) {
        operands all;
        all.scale = one.math.scaled ? &scale : nullptr;
        const auto next = [&] {
          all.src = src[at % sides].get();
          all.dst = dst[at % sides].get();
          all.second = one.math.second == second_array::source ? src[(at + 1) % sides].get() : nullptr;
          ++at;
        };
        next();
        const double mine = seconds([&] { how.execute(all); });
        if (round >= 0) ours.push_back(mine);
        for (std::size_t k = 0; k < copies.size(); ++k) {
          next();
          const double its = seconds([&] {
            bench::parallel_copy(bench::copies()[k], src[at % sides].get(), dst[at % sides].get(), bytes / 2 / 64 * 64,
                                 threads);
          });
          if (round >= 0) copies[k].push_back(its);
        }
      }
      double best = 1e9, plain = 1e9;
      for (std::size_t k = 0; k < copies.size(); ++k) {
        const double its = median(copies[k]);
        best = std::min(best, its);
        if (!bench::copies()[k].fetches) plain = std::min(plain, its);
      }
      std::printf("%-26s %lld x %lld  %6.2f GB/s  copy %6.2f GB/s  share %.3f, of copies that do not fetch %.3f\n",
                  one.name, static_cast<long long>(shape[0]), static_cast<long long>(shape[1]),
                  1e-9 * static_cast<double>(bytes) / median(ours), 1e-9 * static_cast<double>(bytes) / best,
                  best / median(ours), plain / median(ours));
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace cornerturn::testing
