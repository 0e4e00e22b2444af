#include "bench/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace cornerturn::bench {
namespace {

// The simplest form of the permutation: one counter, one odometer.
std::vector<std::byte> moved(const view& what, const std::vector<std::byte>& src) {
  std::vector<std::byte> dst(src.size());
  const auto bytes = static_cast<std::size_t>(what.element_bytes);
  for (std::int64_t item = 0; item < what.elements(); ++item) {
    std::int64_t rest = item, from = 0, to = 0;
    for (const view_axis& axis : what.axes) {
      from += rest % axis.extent * axis.src_stride;
      to += rest % axis.extent * axis.dst_stride;
      rest /= axis.extent;
    }
    std::memcpy(&dst[static_cast<std::size_t>(to) * bytes], &src[static_cast<std::size_t>(from) * bytes], bytes);
  }
  return dst;
}

const bench_case shapes[] = {
    {"x", 1, {130, 67}, {1, 0}, false, false, ""},
    {"x", 2, {64, 64}, {1, 0}, false, false, ""},
    {"x", 3, {17, 5, 9}, {2, 0, 1}, false, false, ""},
    {"x", 4, {5, 7, 66, 3}, {0, 3, 1, 2}, false, false, ""},
    {"x", 8, {3, 70, 2, 65}, {2, 1, 0, 3}, false, false, ""},
    {"x", 16, {9, 8, 7}, {2, 1, 0}, false, false, ""},
    {"x", 40, {11, 13}, {1, 0}, false, false, ""},
    {"x", 8, {2, 2, 2, 2, 2, 3}, {4, 1, 5, 3, 0, 2}, false, false, ""},
    {"x", 1, {500}, {0}, false, false, ""},
    {"x", 4, {1, 1, 1}, {2, 1, 0}, false, false, ""},
};

TEST(verify, accepts_the_right_result_and_finds_every_single_planted_byte) {
  std::mt19937 random(7);
  for (const bench_case& shape : shapes) {
    SCOPED_TRACE(shape.name());
    const view what = full_view(shape);
    std::vector<std::byte> src(static_cast<std::size_t>(shape.bytes()));
    for (std::byte& one : src) one = static_cast<std::byte>(random() & 0xff);
    std::vector<std::byte> dst = moved(what, src);
    EXPECT_EQ(difference(what, src.data(), dst.data()), "");
    for (int plant = 0; plant < 40; ++plant) {  // first, last, and places between
      const std::size_t at = plant == 0 ? 0 : plant == 1 ? dst.size() - 1 : random() % dst.size();
      dst[at] ^= std::byte{1};
      EXPECT_NE(difference(what, src.data(), dst.data()), "") << "byte " << at;
      dst[at] ^= std::byte{1};
    }
  }
}

TEST(verify, a_copy_is_not_a_transpose) {
  const bench_case shape{"x", 4, {30, 20}, {1, 0}, false, false, ""};
  std::vector<std::byte> src(static_cast<std::size_t>(shape.bytes()));
  std::mt19937 random(11);
  for (std::byte& one : src) one = static_cast<std::byte>(random() & 0xff);
  EXPECT_NE(difference(full_view(shape), src.data(), src.data()), "");
}

}  // namespace
}  // namespace cornerturn::bench
