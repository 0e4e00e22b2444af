// The text of a plan for a GPU. The tests run on a machine without one: only the rows of the list are needed.
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

const gpu::device_info h200 = {
    .name = "A GPU",
    .arch = "sm_90",
    .traits = {.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10, .l2_bytes = 50 << 20}};
std::string explained(const problem& what, const char* row) {
  return explain(what, running::choose_variants(what, h200.traits, row), h200);
}

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in\n" << text;
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
  expect_parts(explained(permuted({5, 6, 1024}, {1, 0, 2}, 4), "gpu_copy_b4_runs"),
               {"gpu_copy_b4_runs", "runs       30 of"});
  expect_parts(explained(transpose_problem(0, 64, 4), ""), {"no elements"});
}

TEST(gpu_plan, a_row_that_cannot_move_it_is_none) {
  const running::gpu_plan made = running::choose_variants(transpose_problem(64, 64, 4), h200.traits, "gpu_gather_b8");
  EXPECT_EQ(made.aligned().chosen.row, nullptr);
  expect_parts(explain(transpose_problem(64, 64, 4), made, h200), {"kernel     none"});
}

TEST(gpu_plan, moves_in_place_what_trades_places) {
  problem what = transpose_problem(640, 640, 4);
  what.in_place = true;
  const running::gpu_plan made = running::choose_variants(what, h200.traits, "");
  expect_parts(explain(what, made, h200),
               {"gpu_swap_b4_64x64_r4_xor", "gpu_swap_b4_unaligned", "in place   tiles of 64 x 64"});
  problem rectangle = transpose_problem(640, 480, 4);
  rectangle.in_place = true;
  expect_parts(explained(rectangle, ""), {"the rectangle is small", "from the workspace", "passes     2"});
}

TEST(gpu_plan, moves_rectangles_in_place_by_programs) {
  problem what = transpose_problem(10007, 8009, 4);
  what.in_place = true;
  const running::gpu_plan made = running::choose_variants(what, h200.traits, "");
  expect_parts(explain(what, made, h200),
               {"gpu_cycles_b1: ", "strips of rows", "program    1 time", " to the workspace", "cycles     ",
                " items of ", "passes     2", "workspace  "});
  ASSERT_NE(made.variants.back().rectangle, nullptr);
  EXPECT_EQ(made.aligned().rectangle->workspace_bytes, made.variants.back().rectangle->workspace_bytes);
  EXPECT_STREQ(running::choose_variant(what, h200.traits, 4, "gpu_cycles_b1").chosen.row->name, "gpu_cycles_b1");
  EXPECT_EQ(running::choose_variant(what, h200.traits, 4, "gpu_cycles_b1_short").chosen.row, nullptr);
  EXPECT_EQ(running::choose_variant(what, h200.traits, 16, "gpu_swap_b4_64x64_r4_xor").chosen.row, nullptr);
}

}  // namespace
}  // namespace cornerturn::detail
