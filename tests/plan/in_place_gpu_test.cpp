#include "plan/in_place_gpu.hpp"

#include <gtest/gtest.h>

#include "../kernels/in_place_cases.hpp"

namespace cornerturn::planning::in_place_gpu_test {
namespace {

using testing::placed;
using testing::to_text;

const gpu_request usual = {.multiprocessors = 132, .shared_bytes = 227 << 10, .alignment = 16, .kernel = {}};

gpu_choice choose_for(const problem& what, const gpu_request& wanted = usual) {
  std::int64_t word = wanted.alignment;
  if (!wanted.kernel.empty()) word = std::min<std::int64_t>(word, kernels::find(wanted.kernel)->element_bytes);
  const map::canonical form = map::canonicalize(placed(what), word);
  return choose_in_place(form, map::in_place(form), wanted);
}

void expect_row(const problem& what, int line, const std::string& row, const gpu_request& wanted = usual) {
  const gpu_choice made = choose_for(what, wanted);
  EXPECT_EQ(made.line, line) << to_text(what);
  ASSERT_NE(made.kernel, nullptr) << to_text(what);
  EXPECT_EQ(made.kernel->name, row) << to_text(what);
  EXPECT_STRNE(made.reason, "");
}

gpu_request with_alignment(int alignment) {
  gpu_request wanted = usual;
  wanted.alignment = alignment;
  return wanted;
}

TEST(gpu_in_place_list, has_a_line_for_each) {
  expect_row(transpose_problem(1, 5, 4), 1, "cuda_copy_b4");
  EXPECT_EQ(choose_for(transpose_problem(1, 5, 4)).blocks, 0U);
  expect_row(transpose_problem(1024, 1024, 1), 2, "cuda_swap_b1_128x128_r16_xor");
  expect_row(transpose_problem(1024, 1024, 2), 2, "cuda_swap_b2_128x128_r8_xor");
  expect_row(transpose_problem(1000, 1000, 4), 2, "cuda_swap_b4_64x64_r4_xor");
  expect_row(transpose_problem(1002, 1002, 8), 2, "cuda_swap_b8_64x64_r2_xor");
  expect_row(transpose_problem(1001, 1001, 4), 3, "cuda_exchange_b4");
  expect_row(transpose_problem(1001, 1001, 4, 1004, 1004), 2, "cuda_swap_b4_64x64_r4_xor");
  expect_row(transpose_problem(1000, 1000, 4), 3, "cuda_exchange_b4", with_alignment(4));
  expect_row(transpose_problem(1000, 1000, 16), 3, "cuda_exchange_b16");
  expect_row(transpose_problem(1000, 1000, 12), 3, "cuda_exchange_b4");
  expect_row(transpose_problem(8, 8, 4), 3, "cuda_exchange_b4");
}

TEST(gpu_in_place_list, a_row_that_is_asked_for_is_taken_or_refused) {
  for (const kernels::kernel& row : kernels::all()) {
    if (row.launch == nullptr) continue;
    for (const problem& what : {transpose_problem(1000, 1000, 4), transpose_problem(1001, 1001, 4),
                                transpose_problem(1024, 1024, 8), transpose_problem(60, 60, 48)}) {
      gpu_request wanted = usual;
      wanted.kernel = row.name;
      const gpu_choice made = choose_for(what, wanted);
      if (made.kernel != nullptr) {
        EXPECT_EQ(made.kernel, &row);
        EXPECT_TRUE(kernels::moves_in_place(row));
      }
    }
  }
}

TEST(gpu_in_place_list, blocks_fit_a_grid) {
  EXPECT_EQ(choose_for(transpose_problem(1024, 1024, 4)).blocks, 16U * 17 / 2);
  EXPECT_EQ(choose_for(batched(transpose_problem(1024, 1024, 4), 3, 1 << 20, 1 << 20)).blocks, 3 * 16U * 17 / 2);
  EXPECT_NE(choose_for(transpose_problem(65535 * 64, 65535 * 64, 4)).kernel, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(65536 * 64, 65536 * 64, 4)).kernel, nullptr);
  EXPECT_EQ(
      choose_for(batched(transpose_problem(65535 * 64, 65535 * 64, 4), 2, std::int64_t{1} << 45, std::int64_t{1} << 45))
          .kernel,
      nullptr);
}

TEST(gpu_in_place_list, shared_memory_fits_48_KiB_but_for_large_tiles) {
  gpu_request wanted = usual;
  wanted.shared_bytes = 48 << 10;
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 8, 12, 16, 24, 48, 256, 272, 1000, 1009, 4096}) {
    const gpu_choice made = choose_for(transpose_problem(300, 300, element_bytes), wanted);
    ASSERT_NE(made.kernel, nullptr) << element_bytes;
    EXPECT_LE(made.shared_bytes, wanted.shared_bytes) << element_bytes;
  }
}

}  // namespace
}  // namespace cornerturn::planning::in_place_gpu_test
