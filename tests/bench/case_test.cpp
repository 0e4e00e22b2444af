#include "bench/case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace cornerturn::bench {
namespace {

TEST(cases, are_big_unless_hot_and_their_axes_are_permutations) {
  for (const bench_case& one : all_cases()) {
    SCOPED_TRACE(one.name());
    if (one.hot) {
      EXPECT_LE(one.bytes(), 512 * 1024);
    } else {
      EXPECT_GE(one.bytes(), std::int64_t{64} << 20);
    }
    ASSERT_EQ(one.axes.size(), one.extents.size());
    ASSERT_LE(one.extents.size(), 16U);
    std::vector<int> sorted = one.axes;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> identity(sorted.size());
    std::iota(identity.begin(), identity.end(), 0);
    EXPECT_EQ(sorted, identity);
  }
}

TEST(cases, names_are_unique) {
  std::set<std::string> names;
  for (const bench_case& one : all_cases()) EXPECT_TRUE(names.insert(one.name()).second) << one.name();
}

TEST(cases, none_is_a_mere_copy) {
  for (const bench_case& one : all_cases()) EXPECT_GE(folded(full_view(one)).axes.size(), 2U) << one.name();
}

TEST(cases, every_set_has_members) {
  for (const std::string& set : set_names()) {
    EXPECT_TRUE(std::any_of(all_cases().begin(), all_cases().end(), [&](const auto& one) { return is_in(one, set); }))
        << set;
  }
  const auto in = [](const char* set) {
    return std::count_if(all_cases().begin(), all_cases().end(), [&](const auto& one) { return is_in(one, set); });
  };
  EXPECT_GE(in("rank_n"), 30);
  EXPECT_EQ(in("all"), in("bars") + in("odd_elements"));
  EXPECT_THROW(static_cast<void>(is_in(all_cases().front(), "nonesuch")), std::invalid_argument);
}

TEST(cases, names_say_the_shape) {
  const bench_case matrix{"plain", 4, {10, 7}, {1, 0}, false, false, ""};
  EXPECT_EQ(matrix.name(), "plain/b4/10x7");
  const bench_case qubits{"rank_n", 8, {2, 2, 2, 2, 2, 9}, {5, 0, 1, 2, 3, 4}, false, false, ""};
  EXPECT_EQ(qubits.name(), "rank_n/b8/2^5x9/501234");
  EXPECT_EQ(qubits.bytes(), 32 * 9 * 8);
}

TEST(views, fold_joins_what_stays_together) {
  const view nhwc = folded(full_view({"x", 4, {5, 7, 11, 3}, {0, 3, 1, 2}, false, false, ""}));
  ASSERT_EQ(nhwc.axes.size(), 3U);  // N, C, HW
  EXPECT_EQ(nhwc.axes[2].extent, 77);
  EXPECT_EQ(nhwc.axes[2].src_stride, 3);
  EXPECT_EQ(nhwc.axes[2].dst_stride, 1);
}

TEST(views, slices_cover_the_longest_axis_once) {
  const view whole = full_view({"x", 4, {5, 11}, {1, 0}, false, false, ""});
  std::int64_t elements = 0;
  for (const slice& part : slices(whole, 3)) elements += part.what.elements();
  EXPECT_EQ(elements, 55);
  ASSERT_EQ(slices(whole, 3).size(), 3U);
  EXPECT_EQ(slices(whole, 3)[1].src_offset, 3);      // columns 3.. of src
  EXPECT_EQ(slices(whole, 3)[1].dst_offset, 3 * 5);  // rows 3.. of dst
  EXPECT_EQ(slices(whole, 99).size(), 11U) << "no empty pieces";
}

}  // namespace
}  // namespace cornerturn::bench
