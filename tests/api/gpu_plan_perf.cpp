// The time of a plan: its choice for the CPU, and for a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "cornerturn/plan.hpp"
#include "run/launch.hpp"

namespace cornerturn::detail {
namespace {

const kernels::gpu_traits h200 = {.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10, .l2_bytes = 50 << 20};

TEST(gpu_plan_time, costs_microseconds) {
  const auto microseconds = [](const auto& body) {
    double best = 1e9;
    for (int k = 0; k < 20; ++k) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < 50; ++i) body(k * 50 + i);
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count() / 50);
    }
    return best;
  };
  const double host = microseconds([](int k) { plan how(transpose_problem(1000 + k, 777, 4)); });
  const double matrix = microseconds(
      [](int k) { static_cast<void>(running::choose_variants(transpose_problem(1000 + k, 777, 4), h200, "")); });
  const double boxes = microseconds([](int k) {
    static_cast<void>(running::choose_variants(
        permute_problem(std::array<std::int64_t, 5>{9, 14 + k, 5, 13, 7}, std::array<int, 5>{2, 4, 0, 3, 1}, 2), h200,
        ""));
  });
  std::printf("the CPU's half %.2f us, the GPU's %.2f us (a matrix), %.2f us (five axes)\n", host, matrix, boxes);
  RecordProperty("cpu_half_us", std::to_string(host));
  RecordProperty("gpu_plan_matrix_us", std::to_string(matrix));
  RecordProperty("gpu_plan_boxes_us", std::to_string(boxes));
  EXPECT_LT(host + std::max(matrix, boxes), 100) << "ten times what is promised: a busy machine is no defect";
}

}  // namespace
}  // namespace cornerturn::detail
