// Pieces cover their box once, and keep long runs on both sides. tests/dist/layout_test.cpp copies pieces of random boxes.
#include "dist/boxes.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../kernels/cases.hpp"

namespace cornerturn::testing {
namespace {

using namespace distributed;

box matrix(std::int64_t rows, std::int64_t cols) {
  box made;
  made.rank = 2;
  made.dimensions[0] = {.axis = 0, .extent = rows};
  made.dimensions[1] = {.axis = 1, .extent = cols};
  return made;
}

TEST(dist_boxes, pieces_of_a_matrix_have_rows_of_at_least_64_KiB_and_whole_tiles) {
  std::int64_t pieces = 0, elements = 0;
  const piece_size size{.elements = 32 << 18, .row = 64 << 8, .src_axis = 0};
  for_each_piece(matrix(100000, 90000), size, [&](const box& one) {
    ++pieces;
    elements += one.elements();
    EXPECT_LE(one.elements(), size.elements);
    EXPECT_GE(one.dimensions[1].extent, size.row);
    if (one.dst_at[0] == 0 && one.dst_at[1] == 0) {
      EXPECT_EQ(one.dimensions[1].extent, 18048);
      EXPECT_EQ(one.dimensions[0].extent, 448);
    }
  });
  EXPECT_EQ(elements, std::int64_t{100000} * 90000);
  EXPECT_EQ(pieces, 224 * 5);
}

TEST(dist_boxes, the_axes_that_are_contiguous_on_neither_side_are_cut_first) {
  box all;
  all.rank = 3;
  all.dimensions[0] = {.axis = 0, .extent = 200};
  all.dimensions[1] = {.axis = 1, .extent = 300};
  all.dimensions[2] = {.axis = 2, .extent = 400};
  std::set<std::int64_t> middles;
  for_each_piece(all, {.elements = 200 * 400 * 2, .row = 16, .src_axis = 0}, [&](const box& one) {
    EXPECT_EQ(one.dimensions[0].extent, 200);
    EXPECT_EQ(one.dimensions[1].extent, 2);
    EXPECT_EQ(one.dimensions[2].extent, 400);
    middles.insert(one.dst_at[1]);
  });
  EXPECT_EQ(middles.size(), 150U);
}

TEST(dist_boxes, one_element_is_a_box_without_dimensions) {
  entry one;
  one.rank = 2;
  one.axes[0] = {.count = 1, .length = 1, .src_at = 3, .src_step = 0, .dst_at = 5, .dst_step = 0};
  one.axes[1] = {.count = 1, .length = 1, .src_at = 2, .src_step = 0, .dst_at = 7, .dst_step = 0};
  int pieces = 0;
  for_each_piece(box_of(one), {}, [&](const box& piece) {
    ++pieces;
    const strides src{10, 1}, dst{100, 1};
    const placed at = place(piece, 4, &src, &dst);
    EXPECT_EQ(at.what.rank, 0);
    EXPECT_EQ(at.src_offset, 32);
    EXPECT_EQ(at.dst_offset, 507);
  });
  EXPECT_EQ(pieces, 1);
}

TEST(dist_boxes, dimensions_are_ordered_by_their_distance_in_dst) {
  box one = matrix(8, 9);
  order_by({1, 8}, one);
  EXPECT_EQ(one.dimensions[0].axis, 1);
  EXPECT_EQ(one.dimensions[1].axis, 0);
  const placed packed = place(one, 4, nullptr, nullptr);
  EXPECT_EQ(packed.what.axes[0].dst_stride, 8);
  EXPECT_EQ(packed.what.axes[1].dst_stride, 1);
}

}  // namespace
}  // namespace cornerturn::testing
