// The choice of a plan for a GPU. The tests run on a machine without one: only the rows of the list are needed.
#include "run/variant.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"

namespace cornerturn::running::variant_test {
namespace {

problem permuted(std::vector<std::int64_t> extents, std::vector<int> axes, std::int64_t element_bytes) {
  return permute_problem(extents, axes, element_bytes);
}

const kernels::gpu_traits h200 = {.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10, .l2_bytes = 50 << 20};
const kernels::gpu_traits turing = {.arch = 75, .multiprocessors = 40, .shared_bytes = 64 << 10, .l2_bytes = 4 << 20};

TEST(variant, has_a_way_for_aligned_pointers_and_one_for_those_of_an_element) {
  const struct {
    std::int64_t element_bytes;
    int narrow;
  } wanted[] = {{1, 1}, {2, 2}, {3, 1}, {4, 4}, {6, 2}, {8, 8}, {12, 4}, {16, 16}, {24, 8}, {40, 8}, {48, 16}};
  for (const auto& one : wanted) {
    for (const problem& what :
         {transpose_problem(640, 480, one.element_bytes), transpose_problem(1, 77, one.element_bytes)}) {
      const gpu_plan made = choose_variants(what, h200, "");
      EXPECT_EQ(made.aligned.alignment, 16);
      EXPECT_EQ(made.element_aligned.alignment, one.narrow) << one.element_bytes;
      for (const gpu_variant* variant : {&made.aligned, &made.element_aligned}) {
        ASSERT_NE(variant->chosen.row, nullptr) << one.element_bytes;
        EXPECT_LE(variant->form.word_bytes, variant->alignment);
        EXPECT_EQ(variant->alignment % variant->chosen.row->element_bytes, 0)
            << "a word may not be split by its address";
        EXPECT_TRUE(kernels::is_of_gpu(*variant->chosen.row));
        EXPECT_FALSE(variant->tuned);
      }
    }
  }
}

TEST(variant, with_math_has_a_way_for_pointers_that_are_multiples_of_their_elements) {
  problem what = transpose_problem(9999, 7001, 8);
  what.math = {.src = element_type::float64, .dst = element_type::float32};
  const gpu_plan made = choose_variants(what, h200, "");
  EXPECT_EQ(made.element_aligned.alignment, 8);
  ASSERT_NE(made.element_aligned.chosen.row, nullptr);
  EXPECT_STREQ(made.element_aligned.chosen.row->name, "gpu_apply_b8_b4_unaligned");
  EXPECT_STREQ(choose_variant(what, h200, 4, "").chosen.row->name, "gpu_apply_b8_any");
}

TEST(variant, no_choice_wants_more_shared_memory_than_a_block_may_have) {
  for (const kernels::gpu_traits* on : {&h200, &turing}) {
    for (const std::int64_t element_bytes : testing::element_sizes) {
      for (const problem& what :
           {transpose_problem(4096, 4096, element_bytes), transpose_problem(9999, 7001, element_bytes),
            transpose_problem(100000, 3, element_bytes),
            batched(transpose_problem(31, 33, element_bytes), 9999, 1023, 1023),
            permuted({50, 60, 70, 80}, {3, 1, 2, 0}, element_bytes)}) {
        const gpu_plan made = choose_variants(what, *on, "");
        for (const gpu_variant* variant : {&made.aligned, &made.element_aligned}) {
          ASSERT_NE(variant->chosen.row, nullptr);
          EXPECT_LE(variant->chosen.shared_bytes, on->shared_bytes) << variant->chosen.row->name << ", sm_" << on->arch;
        }
      }
    }
  }
}

// A form in shorter words is the form that the problem has in these words.
TEST(variant, words_are_those_of_the_alignment) {
  for (const std::int64_t element_bytes : testing::element_sizes) {
    for (const int alignment : {1, 2, 4, 8, 16}) {
      const problem what = batched(transpose_problem(48, 32, element_bytes), 3, 48 * 32, 48 * 32);
      EXPECT_EQ(choose_variant(what, h200, alignment, "gpu_gather_b1").form, map::canonicalize(what, 1));
      const gpu_variant any = choose_variant(what, h200, alignment, "");
      EXPECT_EQ(any.form, map::canonicalize(what, any.form.word_bytes)) << element_bytes;
      EXPECT_LE(any.form.word_bytes, alignment);
    }
  }
}

}  // namespace
}  // namespace cornerturn::running::variant_test
