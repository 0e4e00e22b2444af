#include "kernels/gpu/policy/box_axes.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "../../cases.hpp"

namespace cornerturn::gpu::box_axes_test {
namespace {

problem permuted(const std::vector<std::int64_t>& extents, const std::vector<int>& axes, std::int64_t element_bytes) {
  return permute_problem(extents, axes, element_bytes);
}

TEST(box_axes, runs_and_lines_grow_alternately) {
  const map::canonical form = map::canonicalize(transpose_problem(5000, 7000, 4));
  box_axes axes(form, 8192);
  axes.grow(64);
  EXPECT_EQ(axes.elements(axes.run()), 64);
  EXPECT_EQ(axes.elements(axes.line()), 128);
  EXPECT_EQ(axes.elements(), 64 * 128);
  EXPECT_TRUE(axes.line_is_cut());
  EXPECT_NE(axes.cut_of_run(), axes.cut_of_line());
}

TEST(box_axes, an_axis_may_be_in_both) {
  const map::canonical form = map::canonicalize(permuted({50, 60, 5}, {1, 0, 2}, 4));
  box_axes axes(form, 8192);
  axes.grow(64);
  EXPECT_EQ(axes.run().axes[0], axes.line().axes[0]);
  EXPECT_TRUE(axes.contiguous(axes.run()) && axes.contiguous(axes.line()));
  EXPECT_LE(axes.elements(), 8192);
}

TEST(box_axes, even_tiles_are_as_many_and_no_longer) {
  for (std::int64_t extent = 100; extent < 2000; extent += 37) {
    const map::canonical form = map::canonicalize(transpose_problem(extent, extent + 11, 2));
    box_axes before(form, 16384), after(form, 16384);
    before.grow(128);
    after.grow(128);
    after.even_out();
    for (int k = 0; k < form.rank; ++k) {
      const auto tiles = [&](const box_axes& one) { return (form.axes[k].extent + one.tile(k) - 1) / one.tile(k); };
      EXPECT_EQ(tiles(before), tiles(after)) << extent;
      EXPECT_LE(after.tile(k), before.tile(k)) << extent;
    }
  }
}

TEST(box_axes, the_cut_axis_is_the_last_one) {
  const map::canonical form = map::canonicalize(permuted({7, 300, 5, 400}, {3, 2, 1, 0}, 2));
  box_axes axes(form, 16384);
  axes.grow(128);
  for (const box_walk* one : {&axes.run(), &axes.line()}) {
    const box_walk all = axes.whole_order(*one);
    for (int i = 0; i + 1 < all.count; ++i) {
      const int k = all.axes[static_cast<std::size_t>(i)];
      EXPECT_TRUE(axes.whole(k) || k == one->axes[static_cast<std::size_t>(one->count - 1)]);
    }
  }
}

TEST(box_axes, a_line_of_four_axes_may_go_on) {
  const map::canonical form = map::canonicalize(permuted({3, 3, 3, 3, 3, 8192}, {5, 4, 3, 2, 1, 0}, 2));
  box_axes axes(form, 16384);
  axes.grow(128);
  EXPECT_TRUE(axes.line_goes_on());
}

}  // namespace
}  // namespace cornerturn::gpu::box_axes_test
