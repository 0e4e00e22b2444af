#include "file/boxes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cornerturn/error.hpp"

namespace cornerturn::files {
namespace {

using extents = std::vector<std::int64_t>;

stored_array array_of(const extents& shape, const std::vector<int>& axes, std::int64_t element_bytes) {
  return {shape, axes, element_bytes};
}

std::vector<int> reversed(int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return axes;
}

extents extents_of(const permuted& what) { return {what.extents.begin(), what.extents.begin() + what.rank}; }
std::vector<int> axes_of(const permuted& what) { return {what.axes.begin(), what.axes.begin() + what.rank}; }

TEST(folded, axes_that_stay_together_become_one) {
  const permuted what = folded(array_of({4, 1, 5, 6}, {2, 3, 1, 0}, 8));
  EXPECT_EQ(extents_of(what), (extents{30, 4}));
  EXPECT_EQ(axes_of(what), (std::vector<int>{1, 0}));
  EXPECT_EQ(what.element_bytes, 8);
}

TEST(folded, a_reversed_fortran_order_is_a_copy) {
  stored_array array = array_of({4, 5, 7}, reversed(3), 2);
  array.src_fortran_order = true;
  EXPECT_EQ(folded(array).rank, 1);
  EXPECT_EQ(bytes_of(folded(array)), 280);
  array.src_fortran_order = false;
  array.dst_fortran_order = true;
  EXPECT_EQ(folded(array).rank, 1);
}

TEST(folded, an_axis_that_stays_last_becomes_a_wider_element) {
  const permuted what = folded(array_of({100, 30, 4}, {1, 0, 2}, 2));
  EXPECT_EQ(what.element_bytes, 8);
  EXPECT_EQ(extents_of(what), (extents{30, 100}));
}

TEST(folded, an_odd_element_becomes_words) {
  const permuted what = folded(array_of({10, 20}, {1, 0}, 12));
  EXPECT_EQ(what.element_bytes, 4);
  EXPECT_EQ(extents_of(what), (extents{20, 10, 3}));
  EXPECT_EQ(axes_of(what), (std::vector<int>{1, 0, 2}));
}

TEST(folded, a_scalar_has_no_axes) {
  EXPECT_EQ(folded(array_of({}, {}, 4)).rank, 0);
  EXPECT_EQ(folded(array_of(extents(20, 1), reversed(20), 4)).rank, 0);
}

TEST(folded, no_elements) { EXPECT_EQ(bytes_of(folded(array_of({3, 0, 5}, reversed(3), 4))), 0); }

TEST(folded, sixteen_axes_of_odd_elements_keep_their_elements) {
  const permuted what = folded(array_of(extents(16, 2), reversed(16), 3));
  EXPECT_EQ(what.rank, 16);
  EXPECT_EQ(what.element_bytes, 3);
}

TEST(folded, refuses_wrong_arrays) {
  const auto refused = [](const stored_array& what, status code) {
    try {
      static_cast<void>(folded(what));
    } catch (const error& fault) {
      return fault.code() == code;
    }
    return false;
  };
  EXPECT_TRUE(refused(array_of(extents(17, 2), reversed(17), 1), status::invalid_argument));
  EXPECT_TRUE(refused(array_of({2, 3}, {0}, 1), status::invalid_argument));
  EXPECT_TRUE(refused(array_of({2, 3}, {0, 0}, 1), status::invalid_argument));
  EXPECT_TRUE(refused(array_of({2, 3}, {0, 2}, 1), status::invalid_argument));
  EXPECT_TRUE(refused(array_of({2, -3}, {0, 1}, 1), status::invalid_argument));
  EXPECT_TRUE(refused(array_of({2, 3}, {0, 1}, 0), status::invalid_argument));
  EXPECT_TRUE(refused(array_of({std::int64_t{1} << 40, std::int64_t{1} << 40}, {0, 1}, 1), status::overflow));
}

TEST(unfolded, keeps_all_axes) {
  const permuted what = unfolded(array_of({4, 1, 5}, {2, 0, 1}, 3));
  EXPECT_EQ(extents_of(what), (extents{5, 4, 1}));
  EXPECT_EQ(axes_of(what), (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(what.element_bytes, 3);
}

TEST(box_grid, covers_each_element_once_in_any_order) {
  const std::vector<std::pair<extents, extents>> cases{
      {{}, {}}, {{7}, {3}}, {{5, 9}, {5, 2}}, {{3, 4, 5}, {2, 4, 3}}, {{2, 3, 2, 5}, {1, 2, 2, 5}}};
  for (const auto& [whole, box] : cases) {
    const box_grid grid(whole, box);
    for (const bool backwards : {false, true}) {
      std::vector<int> order(whole.size());
      std::iota(order.begin(), order.end(), 0);
      if (backwards) std::reverse(order.begin(), order.end());
      std::int64_t total = std::accumulate(whole.begin(), whole.end(), std::int64_t{1}, std::multiplies<>());
      std::vector<int> seen(static_cast<std::size_t>(total), 0);
      for (std::int64_t n = 0; n < grid.count(); ++n) {
        const box_grid::piece one = grid.at(n, order);
        std::int64_t elements = 1;
        for (std::size_t k = 0; k < whole.size(); ++k) elements *= one.extents[k];
        for (std::int64_t i = 0; i < elements; ++i) {
          std::int64_t left = i, at = 0, stride = 1;
          for (std::size_t k = whole.size(); k-- > 0;) {
            at += (one.first[k] + left % one.extents[k]) * stride;
            left /= one.extents[k];
            stride *= whole[k];
          }
          ++seen[static_cast<std::size_t>(at)];
        }
      }
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    }
  }
}

}  // namespace
}  // namespace cornerturn::files
