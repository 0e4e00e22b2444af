// A problem gets a kernel for each alignment, and pointers become arguments. The tests run on a machine without a GPU: nothing starts.
#include "run/launch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "kernels/gpu/apply/args.hpp"

namespace cornerturn::running::launch_test {
namespace {

const kernels::gpu_traits h200 = {.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10, .l2_bytes = 50 << 20};
problem permuted(std::vector<std::int64_t> extents, std::vector<int> axes, std::int64_t element_bytes) {
  return permute_problem(extents, axes, element_bytes);
}

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
      EXPECT_EQ(made.aligned().alignment, 16);
      EXPECT_EQ(made.variants.back().alignment, one.narrow) << one.element_bytes;
      for (const gpu_variant& variant : made.variants) {
        ASSERT_NE(variant.chosen.row, nullptr) << one.element_bytes;
        EXPECT_LE(variant.form.word_bytes, variant.alignment);
        EXPECT_EQ(variant.alignment % variant.chosen.row->element_bytes, 0) << "a word may not be split by its address";
        EXPECT_TRUE(kernels::is_of_gpu(*variant.chosen.row));
        EXPECT_FALSE(variant.tuned);
      }
    }
  }
}

// Pixels of four bytes whose rows are read backwards: the first one is seldom at a multiple of 16 bytes.
TEST(variant, keeps_words_that_are_longer_than_elements) {
  const problem pixels{.element_bytes = 1, .rank = 3, .axes = {{{100, 7680, 7680}, {1920, -4, 4}, {4, 1, 1}}}};
  const gpu_plan made = choose_variants(pixels, h200, "");
  ASSERT_EQ(made.variants.size(), 3U);
  EXPECT_EQ(made.for_alignment(4).form.word_bytes, 4);
  EXPECT_EQ(&made.for_alignment(8), &made.for_alignment(4));
  EXPECT_EQ(made.for_alignment(2).form.word_bytes, 1);
}

TEST(variant, with_math_has_a_way_for_pointers_that_are_multiples_of_their_elements) {
  problem what = transpose_problem(9999, 7001, 8);
  what.math = {.src = element_type::float64, .dst = element_type::float32};
  const gpu_plan made = choose_variants(what, h200, "");
  EXPECT_EQ(made.variants.back().alignment, 8);
  ASSERT_NE(made.variants.back().chosen.row, nullptr);
  EXPECT_STREQ(made.variants.back().chosen.row->name, "gpu_apply_b8_b4_unaligned");
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
        for (const gpu_variant& variant : made.variants) {
          ASSERT_NE(variant.chosen.row, nullptr);
          EXPECT_LE(variant.chosen.shared_bytes, on->shared_bytes) << variant.chosen.row->name << ", sm_" << on->arch;
        }
      }
    }
  }
}

// Every n-th element of a matrix, transposed; and rows of a few elements with gaps behind them.
TEST(variant, slow_views_take_the_fastest_row_of_all_words) {
  int slow = 0, in_shorter_words = 0;
  for (const std::int64_t element_bytes : {1, 2, 4, 8, 16}) {
    for (const std::int64_t step : {2, 4, 10}) {
      const std::int64_t rows = 70001 / element_bytes, cols = 613;
      for (const problem& what :
           {problem{.element_bytes = element_bytes, .rank = 2, .axes = {{{cols, step, rows}, {rows, cols * step, 1}}}},
            problem{.element_bytes = element_bytes,
            .rank = 3,
            .axes = {{{5, rows * 48, 7}, {rows, 48, 7 * 5 * step}, {7, step, 1}}}}}) {
        const gpu_variant made = choose_variant(what, h200, 16, "");
        ASSERT_NE(made.chosen.row, nullptr);
        if (made.chosen.time <= 2) continue;
        ++slow;
        if (made.form.word_bytes < element_bytes) ++in_shorter_words;
        each_gpu_offer(what, h200, 16, [&](const kernels::offer& one) {
          EXPECT_GE(one.time, made.chosen.time * (1 - 1e-9))
              << one.row->name << " and " << made.chosen.row->name << " for " << testing::to_text(what);
        });
      }
    }
  }
  EXPECT_GE(slow, 15);
  EXPECT_GE(in_shorter_words, 3);
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

TEST(launch, alignment_is_that_of_index_0) {
  const auto alignment = [](const map::canonical& form, std::uintptr_t src, std::uintptr_t dst) {
    return alignment_of(form, {.src = reinterpret_cast<const void*>(src), .dst = reinterpret_cast<void*>(dst)});
  };
  const map::canonical plain = map::canonicalize(transpose_problem(64, 64, 4));
  EXPECT_EQ(alignment(plain, 4096, 8192), 16);
  EXPECT_EQ(alignment(plain, 4096 + 8, 8192), 8);
  EXPECT_EQ(alignment(plain, 4096, 8192 + 4), 4);
  EXPECT_EQ(alignment(plain, 4096 + 2, 8192 + 4), 2);
  EXPECT_EQ(alignment(plain, 4097, 8192), 1);
  problem backward{.element_bytes = 4, .rank = 2, .axes = {}};
  backward.axes[0] = {10, -1, 16};
  backward.axes[1] = {16, 12, 1};
  const map::canonical turned = map::canonicalize(backward);
  const auto at = static_cast<std::uint64_t>(4096 - turned.src_offset * 4);
  EXPECT_EQ(alignment(turned, at, 8192), 16) << "the pointer is not, its index 0 is";
}

TEST(launch, alignment_with_math_is_that_of_whole_elements) {
  problem what = transpose_problem(9999, 7001, 8);
  what.math = {.src = element_type::float64, .dst = element_type::float32};
  const map::canonical form = map::canonicalize(what);
  const auto alignment = [&](std::uintptr_t src, std::uintptr_t dst, std::uintptr_t second = 0) {
    return alignment_of(form, {.src = reinterpret_cast<const void*>(src),
                               .dst = reinterpret_cast<void*>(dst),
                               .second = reinterpret_cast<void*>(second)});
  };
  EXPECT_EQ(alignment(4096, 8192), 16);
  EXPECT_EQ(alignment(4096 + 8, 8192), 8);
  EXPECT_EQ(alignment(4096 + 8, 8192 + 4), 8) << "each is a multiple of its own elements";
  EXPECT_EQ(alignment(4096, 8192, 16384 + 4), 8);
  EXPECT_EQ(alignment(4096 + 4, 8192), 4);
  EXPECT_EQ(alignment(4096, 8192, 16384 + 2), 2);
}

TEST(launch, nothing_to_move_starts_nothing) {
  const gpu_plan made = choose_variants(transpose_problem(0, 5, 4), h200, "");
  EXPECT_EQ(made.aligned().chosen.blocks, 0U);
  EXPECT_EQ(start(made.aligned(), {}, nullptr), nullptr);
}

TEST(launch, arguments_have_the_addresses_of_index_0_and_the_ends_of_src) {
  problem what{.element_bytes = 4, .rank = 2, .axes = {}};
  what.axes[0] = {10, -1, 16};
  what.axes[1] = {16, 12, 1};
  const gpu_variant made = choose_variant(what, h200, 4, "");
  ASSERT_NE(made.chosen.row, nullptr);
  std::array<float, 12 * 16 + 9> src;
  std::array<float, 10 * 16> dst;
  std::uint32_t flag = 0;
  const launch_arguments all(made.form, made.chosen, {.src = &src[9], .dst = dst.data()}, &flag);
  const auto& arrays = *static_cast<const gpu::array_args*>(all.get());
  const auto at = [](const void* one) { return reinterpret_cast<std::uint64_t>(one); };
  EXPECT_EQ(arrays.src, &src[9] + made.form.src_offset);
  EXPECT_EQ(arrays.dst, dst.data() + made.form.dst_offset);
  EXPECT_EQ(arrays.src_begin, at(&src[0])) << "the last column";
  EXPECT_EQ(arrays.src_end, at(&src[9 + 15 * 12 + 1])) << "the first column";
  EXPECT_EQ(arrays.flags, &flag);
}

TEST(launch, arguments_of_arithmetic_have_the_second_array_and_the_scale) {
  problem what = transpose_problem(64, 64, 4);
  what.math = {.src = element_type::float32, .dst = element_type::float32, .beta = {1, 0}, .scaled = true};
  const gpu_variant made = choose_variant(what, h200, 1, "");
  ASSERT_NE(made.chosen.row, nullptr);
  alignas(16) std::array<std::byte, 64 * 64 * 4 + 16> src, dst;
  const float scale = 2;
  for (const std::size_t shift : {0U, 4U, 1U}) {
    void* const to = &dst[shift];
    const launch_arguments all(made.form, made.chosen, {.src = &src[0], .dst = to, .second = to, .scale = &scale});
    const auto& computed = *static_cast<const gpu::apply_args*>(all.get());
    EXPECT_EQ(computed.second, to);
    EXPECT_EQ(computed.scale, &scale);
    EXPECT_EQ(computed.bytewise, shift == 1 ? 1 : 0);
  }
}

}  // namespace
}  // namespace cornerturn::running::launch_test
