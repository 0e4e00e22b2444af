#include "boxes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

std::vector<int> reversed(int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return axes;
}

// Marks every element of dst that the boxes write, and checks that each is written once and from the correct source.
void expect_partition(const problem& what, std::int64_t target_bytes) {
  std::int64_t total = 1;
  for (int k = 0; k < what.rank; ++k) total *= what.axes[static_cast<std::size_t>(k)].extent;
  std::vector<std::int64_t> source_of(static_cast<std::size_t>(total), -1);
  const box_grid grid(what, choose_box(what, target_bytes));
  for (std::int64_t b = 0; b < grid.count(); ++b) {
    const box_grid::piece box = grid.at(b);
    std::int64_t count = 1;
    for (int k = 0; k < what.rank; ++k) count *= box.what.axes[static_cast<std::size_t>(k)].extent;
    ASSERT_LE(count * what.element_bytes, grid.buffer_bytes());
    ASSERT_EQ(count % box.run, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t left = i;
      std::int64_t src = box.src_offset;
      std::int64_t packed = 0;
      for (std::size_t k = static_cast<std::size_t>(what.rank); k-- > 0;) {
        const std::int64_t at = left % box.what.axes[k].extent;
        left /= box.what.axes[k].extent;
        src += at * box.what.axes[k].src_stride;
        packed += at * box.what.axes[k].dst_stride;
      }
      ASSERT_EQ(packed, i);
      const std::int64_t dst = grid.run_offset(box, i / box.run) + i % box.run;
      ASSERT_GE(dst, 0);
      ASSERT_LT(dst, total);
      ASSERT_EQ(source_of[static_cast<std::size_t>(dst)], -1) << "written twice";
      source_of[static_cast<std::size_t>(dst)] = src;
    }
  }
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t left = i;
    std::int64_t src = 0;
    for (std::size_t k = static_cast<std::size_t>(what.rank); k-- > 0;) {
      src += left % what.axes[k].extent * what.axes[k].src_stride;
      left /= what.axes[k].extent;
    }
    ASSERT_EQ(source_of[static_cast<std::size_t>(i)], src) << "element " << i;
  }
}

TEST(file_problem, folds_and_drops_axes) {
  const std::vector<std::int64_t> shape{4, 1, 5, 6};
  const std::vector<int> axes{2, 3, 1, 0};
  const problem what = file_problem(shape, false, axes, 8);
  ASSERT_EQ(what.rank, 2);
  EXPECT_EQ(what.axes[0], (axis{30, 1, 4}));
  EXPECT_EQ(what.axes[1], (axis{4, 30, 1}));
}

TEST(file_problem, fortran_order_reversed_is_a_copy) {
  const std::vector<std::int64_t> shape{4, 5, 6};
  const problem what = file_problem(shape, true, reversed(3), 2);
  ASSERT_EQ(what.rank, 1);
  EXPECT_EQ(what.axes[0], (axis{120, 1, 1}));
}

TEST(file_problem, a_scalar_has_no_axes) {
  EXPECT_EQ(file_problem({}, false, {}, 4).rank, 0);
  const std::vector<std::int64_t> ones(20, 1);
  EXPECT_EQ(file_problem(ones, false, reversed(20), 4).rank, 0);
}

TEST(file_problem, more_axes_than_the_library_takes) {
  const std::vector<std::int64_t> shape(17, 2);
  EXPECT_THROW(static_cast<void>(file_problem(shape, false, reversed(17), 1)), failure);
}

TEST(box_grid, covers_dst_once) {
  const std::vector<std::vector<std::int64_t>> shapes{{},          {7},          {37, 53},       {1, 300},
                                                      {12, 9, 33}, {5, 1, 7, 3}, {2, 3, 2, 5, 7}};
  for (const auto& shape : shapes) {
    std::vector<int> axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    do {
      for (const bool fortran : {false, true}) {
        for (const std::int64_t target : {1, 64, 500, 1 << 20}) {
          expect_partition(file_problem(shape, fortran, axes, 4), target);
          if (HasFatalFailure()) FAIL() << shape_text(shape) << " axes " << axes_text(axes) << " target " << target;
        }
      }
    } while (shape.size() < 5 && std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST(choose_box, a_box_of_bands_takes_whole_pixels) {
  // 12 bands interleaved by pixel: a box of one band would read every source line twelve times.
  const std::vector<std::int64_t> shape{4096, 4096, 12};
  const std::vector<int> axes{2, 0, 1};
  const problem what = file_problem(shape, false, axes, 2);
  const auto box = choose_box(what, 8 << 20);
  ASSERT_EQ(box.size(), 2U);
  EXPECT_EQ(box[0], 12);
}

TEST(choose_box, a_matrix_is_cut_into_rows_of_dst) {
  const std::vector<std::int64_t> shape{16384, 16384};
  const auto box = choose_box(file_problem(shape, false, reversed(2), 4), 8 << 20);
  EXPECT_EQ(box, (std::vector<std::int64_t>{128, 16384}));
}

}  // namespace
}  // namespace cornerturn::cli
