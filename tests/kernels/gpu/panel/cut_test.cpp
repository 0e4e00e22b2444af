#include "kernels/gpu/panel/cut.hpp"

#include <gtest/gtest.h>

#include "cornerturn/transpose.hpp"

namespace cornerturn::gpu {
namespace {

panel_matrix matrix_of(std::int64_t rows, std::int64_t cols, std::int64_t word) {
  return {word, rows, cols, cols * word, rows * word};
}

TEST(panel, fills_a_block_and_no_more) {
  for (const std::int64_t word : {1, 2, 4, 8}) {
    for (const std::int64_t rows : {1, 3, 31, 64, 300, 1000, 5000, 1 << 20}) {
      for (const std::int64_t cols : {1, 2, 7, 33, 64, 299, 4001}) {
        const panel_matrix matrix = matrix_of(rows, cols, word);
        const panel_cut cut = cut_panels(matrix);
        ASSERT_GE(cut.rows, 1);
        ASSERT_LE(cut.rows, rows);
        ASSERT_GE(cut.cols, 1);
        ASSERT_LE(cut.cols, cols);
        const panel_shape shape = shape_of_panels(matrix, cut.rows, cut.cols);
        const auto teams = panel_threads >> shape.team_log2;
        EXPECT_LE(teams * (shape.shared_bytes + static_cast<int>(sizeof(panel_item))), most_panel_bytes)
            << word << ": " << rows << " x " << cols;
        EXPECT_EQ(shape.end_to_end, cut.rows == rows ? 1 : 0);
        if (cut.cols == cols) continue;
        EXPECT_GE(cut.cols * cut.rows * word, most_panel_bytes / 8) << "pieces are not smaller than necessary";
      }
    }
  }
}

TEST(panel, small_ones_share_a_block) {
  const auto team = [](std::int64_t side, std::int64_t word) {
    return 1 << shape_of_panels(matrix_of(side, side, word), side, side).team_log2;
  };
  EXPECT_EQ(team(8, 4), 32);
  EXPECT_EQ(team(32, 4), 64);
  EXPECT_EQ(team(50, 4), 128);
  EXPECT_EQ(team(75, 4), 256);
  EXPECT_EQ(team(150, 1), 256);
}

TEST(panel, a_matrix_has_rows_and_columns) {
  panel_matrix found;
  EXPECT_TRUE(find_matrix(map::canonicalize(transpose_problem(31, 33, 4)), found));
  EXPECT_EQ(found.rows, 31);
  EXPECT_EQ(found.cols, 33);
  EXPECT_EQ(found.src_row_bytes, 33 * 4);
  EXPECT_EQ(found.dst_col_bytes, 31 * 4);
  EXPECT_FALSE(find_matrix(map::canonicalize(transpose_problem(31, 33, 16)), found)) << "no kernel";
  EXPECT_FALSE(find_matrix(map::canonicalize(transpose_problem(1, 33, 4)), found)) << "one run";
}

TEST(panel, windows_that_slide_along_a_row_are_many_matrices) {
  problem what{.element_bytes = 8, .rank = 3};
  what.axes = {{{2, 1, 24}, {40, 1, 48}, {24, 80, 1}}};
  const map::canonical form = map::canonicalize(what);
  panel_matrix found;
  ASSERT_TRUE(is_of_panels(form, found));
  EXPECT_EQ(found.rows, 24);
  EXPECT_EQ(found.cols, 40) << "the longer one";
  EXPECT_EQ(found.dst_col_bytes, 48 * 8);
  std::uint32_t blocks = 0;
  const panel_cut cut = cut_panels(found);
  EXPECT_EQ(fill_panels(form, found, blocks).count, 2 * ((40 + cut.cols - 1) / cut.cols));
}

}  // namespace
}  // namespace cornerturn::gpu
