// Lines that strided arrays touch, against a set of the bytes of every element.
#include "map/lines.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../kernels/cases.hpp"

namespace cornerturn::map::lines_test {
namespace {

lines walked(const std::vector<stepped_axis>& axes, std::int64_t element_bytes, std::int64_t line, std::int64_t begin) {
  std::map<std::int64_t, std::set<std::int64_t>> found;
  std::int64_t total = 1;
  for (const stepped_axis& one : axes) total *= one.extent;
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t left = i, at = begin + (std::int64_t{1} << 30);
    for (const stepped_axis& one : axes) {
      at += left % one.extent * one.stride * element_bytes;
      left /= one.extent;
    }
    for (std::int64_t byte = at; byte < at + element_bytes; ++byte) found[byte / line].insert(byte);
  }
  lines made;
  made.all = static_cast<std::int64_t>(found.size());
  for (const auto& [where, bytes] : found) made.whole += static_cast<std::int64_t>(bytes.size()) == line ? 1 : 0;
  return made;
}

TEST(lines, are_those_of_a_walk_over_all_elements) {
  testing::dice roll(3);
  for (int k = 0; k < 100 / testing::thinner(); ++k) {
    const std::int64_t bytes = roll.of(testing::element_sizes), begin = roll.below(128);
    const problem what =
        roll.one_in(2) ? testing::any_view(roll, bytes, 3000) : testing::any_strides(roll, bytes, 3000);
    for (std::int64_t axis::*stride : {&axis::dst_stride, &axis::src_stride}) {
      std::vector<stepped_axis> axes;
      for (int n = 0; n < what.rank; ++n) axes.push_back({what.axes[n].extent, what.axes[n].*stride});
      for (const std::int64_t line : {32, 64}) {
        const lines found = lines_of(axes, bytes, line, begin), wanted = walked(axes, bytes, line, begin);
        ASSERT_EQ(found.all, wanted.all) << k;
        // An element of src may be read several times, at overlapping addresses: a count of bytes is then no set of bytes.
        if (stride == &axis::dst_stride) {
          ASSERT_EQ(found.whole, wanted.whole) << k;
        }
      }
    }
  }
}

TEST(lines, of_large_arrays_are_scaled) {
  const std::int64_t many = std::int64_t{1} << 36;
  EXPECT_EQ(lines_of(std::vector<stepped_axis>{{many, 2}}, 4, 64).all, many / 8);
  EXPECT_EQ(lines_of(std::vector<stepped_axis>{{many, 2}}, 4, 64).whole, 0);
  EXPECT_EQ(lines_of(std::vector<stepped_axis>{{many, 1}}, 4, 64).whole, many / 16);
  EXPECT_EQ(lines_of(std::vector<stepped_axis>{{many, 64}, {16, 1}}, 4, 64).whole, many);
  EXPECT_EQ(lines_of(std::vector<stepped_axis>{{0, 64}, {16, 1}}, 4, 64).all, 0);
  EXPECT_EQ(lines_of(std::vector<stepped_axis>{{many, 0}}, 4, 64).all, 1);
}

}  // namespace
}  // namespace cornerturn::map::lines_test
