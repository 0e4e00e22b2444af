#include "fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

// The source offset of each element, in the order of the output.
std::vector<std::int64_t> offsets_of(const array_axes& array) {
  const std::size_t rank = array.shape.size();
  std::vector<std::int64_t> strides(rank, 1);
  for (std::size_t k = rank; k-- > 1;) strides[k - 1] = strides[k] * array.shape[k];
  std::vector<std::int64_t> made = {0};
  for (const int axis : array.axes) {
    std::vector<std::int64_t> longer;
    for (const std::int64_t offset : made) {
      for (std::int64_t i = 0; i < array.shape[static_cast<std::size_t>(axis)]; ++i) {
        longer.push_back(offset + i * strides[static_cast<std::size_t>(axis)]);
      }
    }
    made = std::move(longer);
  }
  return made;
}

TEST(folded, sixteen_axes_are_unchanged) {
  array_axes given{std::vector<std::int64_t>(16, 1), std::vector<int>(16)};
  std::iota(given.axes.begin(), given.axes.end(), 0);
  EXPECT_EQ(folded(given), given);
  EXPECT_EQ(folded({{3, 4}, {1, 0}}), (array_axes{{3, 4}, {1, 0}}));
}

TEST(folded, neighbours_are_one_axis) {
  array_axes given{std::vector<std::int64_t>(18, 1), std::vector<int>(18)};
  given.shape[2] = 3;
  given.shape[5] = 4;
  given.shape[17] = 5;
  std::iota(given.axes.rbegin(), given.axes.rend(), 0);
  EXPECT_EQ(folded(given), (array_axes{{3, 4, 5}, {2, 1, 0}}));
  std::iota(given.axes.begin(), given.axes.end(), 0);
  EXPECT_EQ(folded(given), (array_axes{{60}, {0}}));
  std::rotate(given.axes.begin(), given.axes.begin() + 9, given.axes.end());  // 5 first, then 3 and 4
  EXPECT_EQ(folded(given), (array_axes{{12, 5}, {1, 0}}));
  std::ranges::fill(given.shape, 1);
  EXPECT_EQ(folded(given), (array_axes{{1}, {0}}));
  given.shape[3] = 0;
  EXPECT_EQ(folded(given), (array_axes{{0}, {0}}));
}

TEST(folded, every_element_keeps_its_place) {
  std::mt19937 random(1);
  int cases = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t rank = 17 + random() % 8;
    array_axes given{std::vector<std::int64_t>(rank, 1), std::vector<int>(rank)};
    for (int k = 0; k < 11; ++k) given.shape[random() % rank] = 1 + static_cast<std::int64_t>(random() % 3);
    std::iota(given.axes.begin(), given.axes.end(), 0);
    if (trial % 2 == 0) {
      std::ranges::shuffle(given.axes, random);
    } else {
      std::rotate(given.axes.begin(), given.axes.begin() + static_cast<std::ptrdiff_t>(random() % rank),
                  given.axes.end());
    }
    const array_axes found = folded(given);
    ASSERT_LE(found.shape.size(), 16U);
    ASSERT_EQ(offsets_of(found), offsets_of(given)) << shape_text(given.shape) << " axes " << axes_text(given.axes);
    cases += found.shape.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(cases, 150);
}

TEST(folded, refusals) {
  array_axes given{std::vector<std::int64_t>(17, 2), std::vector<int>(17)};
  std::iota(given.axes.rbegin(), given.axes.rend(), 0);
  EXPECT_THROW(static_cast<void>(folded(given)), failure);
  std::iota(given.axes.begin(), given.axes.end(), 0);
  EXPECT_EQ(folded(given), (array_axes{{1 << 17}, {0}}));
  std::ranges::fill(given.shape, 1 << 10);
  EXPECT_THROW(static_cast<void>(folded(given)), failure);
}

}  // namespace
}  // namespace cornerturn::cli
