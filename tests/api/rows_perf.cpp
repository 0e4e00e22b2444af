// The fixed cost of a call, relative to a call of the cheapest row. Runs alternate; times are minima, so that other
// work on the machine matters little.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "api/plan_cache.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/transpose.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::rows_perf {
namespace {

using testing::elements_of;

template <class Call>
double seconds_of(const Call& call) {
  constexpr int together = 16;
  double best = 1e9;
  for (int round = 0; round < 60; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < together; ++k) call();
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    best = std::min(best, all.count() / together);
  }
  return best;
}

std::int64_t bytes_of(const problem& what) { return elements_of(what) * what.element_bytes; }

// Problems of all kinds, the smallest ones first.
std::vector<problem> small_problems() {
  std::vector<problem> all;
  const std::vector<std::int64_t> sides{1,  2,  3,  4,   5,   7,   8,   9,   12,  16,  17,   24,   32,   33,
                                        48, 64, 65, 100, 128, 150, 256, 300, 512, 600, 1100, 2048, 4100, 8200};
  const auto add = [&](const problem& what) {
    if (bytes_of(what) <= 1 << 19) all.push_back(what);
  };
  for (const std::int64_t e : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}) {
    for (const std::int64_t rows : sides) {
      for (const std::int64_t cols : sides) {
        if (rows * cols * e > 1 << 19) continue;
        add(transpose_problem(rows, cols, e));
        add(batched(transpose_problem(rows, cols, e), 2, rows * cols, rows * cols));
        add(batched(transpose_problem(rows, cols, e), 3, rows * cols + 5, rows * cols + 3));
        add(permute_problem(std::vector<std::int64_t>{rows, 2, cols}, std::vector<int>{1, 0, 2}, e));
        add(permute_problem(std::vector<std::int64_t>{rows, 3, cols}, std::vector<int>{2, 1, 0}, e));
        add(permute_problem(std::vector<std::int64_t>{2, rows, 2, cols}, std::vector<int>{3, 1, 2, 0}, e));
        problem strided = transpose_problem(rows, cols, e, cols + 3, rows + 5);
        strided.axes[0].dst_stride = 2;
        strided.axes[1].dst_stride = 2 * rows + 7;
        add(strided);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const problem& a, const problem& b) { return bytes_of(a) < bytes_of(b); });
  return all;
}

struct sample {
  std::string row;
  problem what;
  double seconds;
};

std::optional<plan> plan_with(const problem& what, const char* row) {
  try {
    return plan(what, {.device = device::cpu, .threads = 1, .parallel = {}, .kernel = row});
  } catch (const error&) {
    return {};
  }
}

// No row takes more than 0.5 us before its first byte, which is about 25 calls of the cheapest row (20 ns; SPR, 2026-11-26). The
// allowance for the bytes is 16 copies of them in the L1: some rows only accept some KiB, in short pieces.
TEST(rows_on_their_smallest_problem, have_no_fixed_cost) {
  constexpr double most_calls = 25, most_copies = 16;
  std::vector<std::byte> src(4 << 20), dst(4 << 20);
  const std::vector<problem> problems = small_problems();
  std::vector<sample> all;
  for (const kernels::kernel& row : kernels::all()) {
    if (row.run == nullptr || row.kind != kernels::row_kind::move || std::strcmp(row.family, "reference") == 0)
      continue;
    for (const problem& what : problems) {
      const std::optional<plan> how = plan_with(what, row.name);
      if (!how) continue;
      all.push_back({row.name, what, seconds_of([&] { how->execute(src.data(), dst.data()); })});
      break;
    }
  }
  ASSERT_GT(all.size(), 40U);
  const double cheapest = std::min_element(all.begin(), all.end(), [](const sample& a, const sample& b) {
                            return a.seconds < b.seconds;
                          })->seconds;
  for (const sample& one : all) {
    const auto bytes = static_cast<std::size_t>(bytes_of(one.what));
    const double copy = seconds_of([&] { std::memcpy(dst.data(), src.data(), bytes); });
    std::printf("%-28s %7zu bytes %8.1f ns = %5.1f calls, a copy %.1f ns\n", one.row.c_str(), bytes, one.seconds * 1e9,
                one.seconds / cheapest, copy * 1e9);
    EXPECT_LT(one.seconds, most_calls * cheapest + most_copies * copy) << one.row << ": " << testing::to_text(one.what);
  }
}

// dst[j][i] = src[i][j] by two loops.
template <class T>
double seconds_of_loops(std::int64_t rows, std::int64_t cols, const std::byte* src, std::byte* dst) {
  return seconds_of([&] {
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = 0; i < rows; ++i)
        std::memcpy(dst + (j * rows + i) * sizeof(T), src + (i * cols + j) * sizeof(T), sizeof(T));
    }
  });
}

TEST(small_matrices, do_not_lose_to_loops) {
  struct pixel {
    std::byte bytes[32];
  };
  std::vector<std::byte> src(1 << 20), dst(1 << 20);
  const double cheapest = seconds_of([&] { execute(transpose_problem(1, 1, 4), src.data(), dst.data()); });
  for (const std::int64_t rows : {1, 2, 3, 4, 6, 8}) {
    for (const std::int64_t cols : {1, 2, 3, 5, 8}) {
      const auto check = [&](std::int64_t e, double loops) {
        const problem what = transpose_problem(rows, cols, e);
        const double ours = seconds_of([&] { execute(what, src.data(), dst.data()); });
        EXPECT_LT(ours, 2 * loops + 3 * cheapest) << testing::to_text(what);
      };
      check(1, seconds_of_loops<std::uint8_t>(rows, cols, src.data(), dst.data()));
      check(2, seconds_of_loops<std::uint16_t>(rows, cols, src.data(), dst.data()));
      check(4, seconds_of_loops<std::uint32_t>(rows, cols, src.data(), dst.data()));
      check(8, seconds_of_loops<std::uint64_t>(rows, cols, src.data(), dst.data()));
      check(32, seconds_of_loops<pixel>(rows, cols, src.data(), dst.data()));
    }
  }
}

// Columns that are far apart in src: prefetches of the bytes between them would take 100 times as long as the copy.
TEST(strided_columns, read_no_gaps) {
  for (const std::int64_t column : {128, 1024, 8192, 56 << 10}) {
    for (const std::int64_t rows : {6, 100}) {
      const std::int64_t cols = 60;
      const std::int64_t words = column / 4;
      std::vector<float> src(static_cast<std::size_t>(rows * cols * words)),
          dst(static_cast<std::size_t>(rows * cols * 3));
      problem what{.element_bytes = 4, .rank = 3};
      what.axes[0] = {rows, cols * words, 3};
      what.axes[1] = {cols, words, 3 * rows};
      what.axes[2] = {3, 1, 1};
      const plan how(what, {.device = device::cpu, .threads = 1});
      const double ours = seconds_of([&] { how.execute(src.data(), dst.data()); });
      const double loops = seconds_of([&] {
        for (std::int64_t j = 0; j < cols; ++j) {
          for (std::int64_t i = 0; i < rows; ++i)
            std::memcpy(&dst[static_cast<std::size_t>((j * rows + i) * 3)],
                        &src[static_cast<std::size_t>((i * cols + j) * words)], 12);
        }
      });
      std::printf("%lld x %lld, columns %lld bytes apart: %.1f us, loops %.1f us, %s\n", static_cast<long long>(rows),
                  static_cast<long long>(cols), static_cast<long long>(column), ours * 1e6, loops * 1e6, how.kernel());
      EXPECT_LT(ours, 3 * loops + 1e-6);
    }
  }
}

// A hit costs the same with 1 and with hundreds of live problems, within a factor.
TEST(one_line_calls, find_their_plan) {
  std::vector<std::byte> src(1 << 16), dst(1 << 16);
  double first = 0;
  for (const std::int64_t live : {1, 16, 100, 500}) {
    std::vector<problem> problems;
    for (std::int64_t k = 0; k < live; ++k) problems.push_back(transpose_problem(1 + k % 25, 2 + k / 25, 4));
    const double all = seconds_of([&] {
      for (const problem& what : problems) static_cast<void>(api::find_plan({.what = what}));
    });
    const double each = all / static_cast<double>(live);
    if (live == 1) first = each;
    std::printf("%lld live problems: %.1f ns to find a plan\n", static_cast<long long>(live), each * 1e9);
    EXPECT_LT(each, 12 * first);
  }
}

}  // namespace
}  // namespace cornerturn::rows_perf
