// A plan keeps its choice for a GPU. The tests run on a machine without one: only the rows of the list are needed.
#include "api/gpu_plan.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::detail {
namespace {

problem permuted(std::vector<std::int64_t> extents, std::vector<int> axes, std::int64_t element_bytes) {
  return permute_problem(extents, axes, element_bytes);
}

const gpu::device_info h200 = {.name = "A GPU",
                               .arch = 90,
                               .multiprocessors = 132,
                               .shared_bytes = 227 << 10,
                               .l2_bytes = 50 << 20,
                               .memory_bytes = std::int64_t{140} << 30};
const gpu::device_info turing = {.name = "An old GPU",
                                 .arch = 75,
                                 .multiprocessors = 40,
                                 .shared_bytes = 64 << 10,
                                 .l2_bytes = 4 << 20,
                                 .memory_bytes = std::int64_t{16} << 30};

std::string explained(const problem& what, const char* row) {
  return explain(what, choose_variants(what, h200, row), h200);
}

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in\n" << text;
}

TEST(gpu_plan, has_a_way_for_aligned_pointers_and_one_for_those_of_an_element) {
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

TEST(gpu_plan, alignment_is_that_of_index_0) {
  const map::canonical plain = map::canonicalize(transpose_problem(64, 64, 4));
  EXPECT_EQ(alignment_of(plain, 4096, 8192), 16);
  EXPECT_EQ(alignment_of(plain, 4096 + 8, 8192), 8);
  EXPECT_EQ(alignment_of(plain, 4096, 8192 + 4), 4);
  EXPECT_EQ(alignment_of(plain, 4096 + 2, 8192 + 4), 2);
  EXPECT_EQ(alignment_of(plain, 4097, 8192), 1);
  problem backward{.element_bytes = 4, .rank = 2, .axes = {}};
  backward.axes[0] = {10, -1, 16};
  backward.axes[1] = {16, 12, 1};
  const map::canonical turned = map::canonicalize(backward);
  const auto at = static_cast<std::uint64_t>(4096 - turned.src_offset * 4);
  EXPECT_EQ(alignment_of(turned, at, 8192), 16) << "the pointer is not, its index 0 is";
}

TEST(gpu_plan, with_math_has_a_way_for_pointers_that_are_multiples_of_their_elements) {
  problem what = transpose_problem(9999, 7001, 8);
  what.math = {.src = element_type::float64, .dst = element_type::float32};
  const gpu_plan made = choose_variants(what, h200, "");
  EXPECT_EQ(made.element_aligned.alignment, 8);
  ASSERT_NE(made.element_aligned.chosen.row, nullptr);
  EXPECT_STREQ(made.element_aligned.chosen.row->name, "gpu_apply_b8_b4_unaligned");
  const auto alignment = [&](std::uintptr_t src, std::uintptr_t dst, std::uintptr_t second = 0) {
    return alignment_of(made.aligned.form, {.src = reinterpret_cast<const void*>(src),
                                            .dst = reinterpret_cast<void*>(dst),
                                            .second = reinterpret_cast<void*>(second)});
  };
  EXPECT_EQ(alignment(4096, 8192), 16);
  EXPECT_EQ(alignment(4096 + 8, 8192), 8);
  EXPECT_EQ(alignment(4096 + 8, 8192 + 4), 8) << "each is a multiple of its own elements";
  EXPECT_EQ(alignment(4096, 8192, 16384 + 4), 8);
  EXPECT_EQ(alignment(4096 + 4, 8192), 4);
  EXPECT_EQ(alignment(4096, 8192, 16384 + 2), 2);
  EXPECT_STREQ(choose_variant(what, h200, 4, "").chosen.row->name, "gpu_apply_b8_any");
}

TEST(gpu_plan, no_choice_wants_more_shared_memory_than_a_block_may_have) {
  for (const gpu::device_info* on : {&h200, &turing}) {
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

TEST(gpu_plan, nothing_to_move_starts_nothing) {
  const gpu_plan made = choose_variants(transpose_problem(0, 5, 4), h200, "");
  EXPECT_EQ(made.aligned.chosen.blocks, 0U);
  EXPECT_EQ(start_move(made.aligned, {}, nullptr, nullptr, nullptr), nullptr);
}

TEST(gpu_plan, explain_tells_the_tile_the_order_and_the_device) {
  const std::string text = explained(transpose_problem(4096, 8192, 4), "");
  expect_parts(text,
               {"device     A GPU, sm_90, 132 multiprocessors, costs of \"", "pointers   multiples of 16 bytes",
                "pointers   multiples of 4 bytes only", "kernel     gpu_", "reason     ", "offers     ", "(chosen)",
                "tile       ", "rows x", "order", "blocks, ", "bytes of shared memory each, of 232448"});
  const std::string wide = explained(transpose_problem(4096, 8192, 16), "");
  EXPECT_EQ(wide.find("only"), std::string::npos) << "16-byte elements have one way\n" << wide;
  expect_parts(explained(transpose_problem(64, 64, 4), "gpu_gather_b4"),
               {"gpu_gather_b4", "box        ", "runs of", "lines of", "words in dst"});
  expect_parts(explained(permuted({5, 6, 1024}, {1, 0, 2}, 4), ""), {"gpu_copy_b4_runs", "runs       30 of"});
  expect_parts(explained(transpose_problem(0, 64, 4), ""), {"no elements"});
}

TEST(gpu_plan, a_row_that_cannot_move_it_is_none) {
  const gpu_plan made = choose_variants(transpose_problem(64, 64, 4), h200, "gpu_gather_b8");
  EXPECT_EQ(made.aligned.chosen.row, nullptr);
  expect_parts(explain(transpose_problem(64, 64, 4), made, h200), {"kernel     none"});
}

TEST(gpu_plan, moves_in_place_what_trades_places) {
  problem what = transpose_problem(640, 640, 4);
  what.in_place = true;
  const gpu_plan made = choose_variants(what, h200, "");
  expect_parts(explain(what, made, h200),
               {"gpu_swap_b4_64x64_r4_xor", "gpu_swap_b4_unaligned", "in place   tiles of 64 x 64"});
  problem rectangle = transpose_problem(640, 480, 4);
  rectangle.in_place = true;
  expect_parts(explained(rectangle, ""), {"the rectangle is small", "from the workspace", "passes     2"});
}

TEST(gpu_plan, moves_rectangles_in_place_by_programs) {
  problem what = transpose_problem(10007, 8009, 4);
  what.in_place = true;
  const gpu_plan made = choose_variants(what, h200, "");
  expect_parts(explain(what, made, h200),
               {"gpu_cycles_b1: ", "strips of rows", "program    1 time", " to the workspace", "cycles     ",
                " items of ", "passes     2", "workspace  "});
  ASSERT_NE(made.element_aligned.rectangle, nullptr);
  EXPECT_EQ(made.aligned.rectangle->workspace_bytes, made.element_aligned.rectangle->workspace_bytes);
  EXPECT_STREQ(choose_variant(what, h200, 4, "gpu_cycles_b1").chosen.row->name, "gpu_cycles_b1");
  EXPECT_EQ(choose_variant(what, h200, 4, "gpu_cycles_b1_short").chosen.row, nullptr);
  EXPECT_EQ(choose_variant(what, h200, 16, "gpu_swap_b4_64x64_r4_xor").chosen.row, nullptr);
}

}  // namespace
}  // namespace cornerturn::detail
