#include "cornerturn/problem.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "../kernels/oracle.hpp"
#include "cornerturn/batch.hpp"
#include "cornerturn/transpose.hpp"
#include "cornerturn/tune.hpp"
#include "expect_error.hpp"

namespace cornerturn::problem_test {
namespace {

using testing::expect_error;
using extents = std::vector<std::int64_t>;
using order = std::vector<int>;

TEST(transpose_problem, is_its_formula) {
  const std::int64_t rows = 3, cols = 5, src_ld = 7, dst_ld = 4;
  std::vector<int> found(static_cast<std::size_t>(cols * dst_ld), -1);
  testing::walk(transpose_problem(rows, cols, 4, src_ld, dst_ld), [&](std::int64_t src, std::int64_t dst) {
    found.at(static_cast<std::size_t>(dst)) = static_cast<int>(src);
  });
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) EXPECT_EQ(found[static_cast<std::size_t>(j * dst_ld + i)], i * src_ld + j);
  }
}

TEST(transpose_problem, a_leading_dimension_of_0_is_packed) {
  EXPECT_EQ(transpose_problem(3, 5, 4), transpose_problem(3, 5, 4, 5, 3));
}

TEST(transpose_problem, errors_name_the_argument) {
  expect_error(status::invalid_argument, {"element_bytes is 0", "at least 1"},
               [] { (void)transpose_problem(3, 5, 0); });
  expect_error(status::invalid_argument, {"element_bytes is -4"}, [] { (void)transpose_problem(3, 5, -4); });
  expect_error(status::invalid_argument, {"rows is -3", "0 or more"}, [] { (void)transpose_problem(-3, 5, 4); });
  expect_error(status::invalid_argument, {"cols is -5", "0 or more"}, [] { (void)transpose_problem(3, -5, 4); });
  expect_error(status::invalid_argument, {"src_ld is 4", "cols = 5"}, [] { (void)transpose_problem(3, 5, 4, 4, 0); });
  expect_error(status::invalid_argument, {"dst_ld is 2", "rows = 3"}, [] { (void)transpose_problem(3, 5, 4, 0, 2); });
  expect_error(status::invalid_argument, {"src_ld is -1"}, [] { (void)transpose_problem(3, 5, 4, -1, 0); });
  expect_error(status::invalid_argument, {"dst_ld is -1"}, [] { (void)transpose_problem(0, 0, 4, 0, -1); });
}

// numpy.transpose of arange(2*3*4).reshape(2, 3, 4): one permutation by hand, all permutations by the formula.
TEST(permute_problem, is_numpys_transpose) {
  const extents shape{2, 3, 4};
  std::vector<std::int64_t> found(24, -1);
  testing::walk(permute_problem(shape, order{2, 0, 1}, 8),
                [&](std::int64_t src, std::int64_t dst) { found[static_cast<std::size_t>(dst)] = src; });
  EXPECT_EQ((std::vector<std::int64_t>(found.begin(), found.begin() + 8)),
            (std::vector<std::int64_t>{0, 4, 8, 12, 16, 20, 1, 5}));
  for (const order& axes :
       {order{0, 1, 2}, order{0, 2, 1}, order{1, 0, 2}, order{1, 2, 0}, order{2, 0, 1}, order{2, 1, 0}}) {
    testing::walk(permute_problem(shape, axes, 8),
                  [&](std::int64_t src, std::int64_t dst) { found[static_cast<std::size_t>(dst)] = src; });
    std::int64_t index[3];
    for (index[0] = 0; index[0] < 2; ++index[0]) {
      for (index[1] = 0; index[1] < 3; ++index[1]) {
        for (index[2] = 0; index[2] < 4; ++index[2]) {
          std::int64_t dst = 0;
          for (int k = 0; k < 3; ++k)
            dst = dst * shape[static_cast<std::size_t>(axes[static_cast<std::size_t>(k)])] +
                  index[axes[static_cast<std::size_t>(k)]];
          EXPECT_EQ(found[static_cast<std::size_t>(dst)], (index[0] * 3 + index[1]) * 4 + index[2]);
        }
      }
    }
  }
}

TEST(permute_problem, takes_strides_of_either_side) {
  const problem what = permute_problem(extents{2, 3}, order{1, 0}, 4, extents{10, 2}, extents{7, 3});
  EXPECT_EQ(what.axes[0], (axis{3, 2, 7}));
  EXPECT_EQ(what.axes[1], (axis{2, 10, 3}));
  EXPECT_EQ(permute_problem(extents{2, 3}, order{1, 0}, 4, extents{3, 1}, {}),
            permute_problem(extents{2, 3}, order{1, 0}, 4));
  EXPECT_EQ(permute_problem(extents{2, 3}, order{1, 0}, 4, {}, extents{2, 1}),
            permute_problem(extents{2, 3}, order{1, 0}, 4));
}

TEST(permute_problem, rank_0_is_one_element) {
  const problem what = permute_problem({}, {}, 4);
  EXPECT_EQ(what.rank, 0);
  EXPECT_EQ(what.element_bytes, 4);
}

TEST(permute_problem, rank_16_is_the_most) {
  const extents shape(16, 2);
  order axes;
  for (int k = 15; k >= 0; --k) axes.push_back(k);
  EXPECT_EQ(permute_problem(shape, axes, 1).rank, 16);
  axes.push_back(16);
  expect_error(status::invalid_argument, {"rank 17", "at most 16"},
               [&] { (void)permute_problem(extents(17, 2), axes, 1); });
}

TEST(permute_problem, errors_name_the_axis) {
  expect_error(status::invalid_argument, {"element_bytes is 0"},
               [] { (void)permute_problem(extents{2}, order{0}, 0); });
  expect_error(status::invalid_argument, {"axes has 1 entries", "wanted 2"}, [] {
    (void)permute_problem(extents{2, 3}, order{0}, 4);
  });
  expect_error(status::invalid_argument, {"axes[1] is 2", "0 to 1"}, [] {
    (void)permute_problem(extents{2, 3}, order{0, 2}, 4);
  });
  expect_error(status::invalid_argument, {"axes[0] is -1"}, [] {
    (void)permute_problem(extents{2, 3}, order{-1, 0}, 4);
  });
  expect_error(status::invalid_argument, {"axes[1] repeats axis 1"}, [] {
    (void)permute_problem(extents{2, 3}, order{1, 1}, 4);
  });
  expect_error(status::invalid_argument, {"axis 1 has extent -3"}, [] {
    (void)permute_problem(extents{2, -3}, order{1, 0}, 4);
  });
  expect_error(status::invalid_argument, {"src_strides has 1 entries", "wanted 2"}, [] {
    (void)permute_problem(extents{2, 3}, order{1, 0}, 4, extents{1}, {});
  });
  expect_error(status::invalid_argument, {"dst_strides has 3 entries", "wanted 2"}, [] {
    (void)permute_problem(extents{2, 3}, order{1, 0}, 4, {}, extents{1, 2, 3});
  });
}

TEST(permute_problem, an_array_of_2_to_the_63_bytes_is_too_large) {
  const std::int64_t big = std::int64_t{1} << 32;
  expect_error(status::overflow, {"63 bits", "axis 0"}, [&] {
    (void)permute_problem(extents{big, big}, order{1, 0}, 1);
  });
  expect_error(status::overflow, {"63 bits"}, [&] {
    (void)permute_problem(extents{big, big / 2, 3}, order{2, 1, 0}, 1);
  });
  // 2^62 elements fit, their bytes do not.
  expect_error(status::overflow, {"63 bits"}, [&] { (void)permute_problem(extents{big, big / 4}, order{1, 0}, 2); });
  EXPECT_EQ(permute_problem(extents{big, big / 4}, order{1, 0}, 1).rank, 2);
}

TEST(permute_problem, one_long_axis_counts_its_bytes_too) {
  expect_error(status::overflow, {"63 bits", "axis 0", "extent 4611686018427387904"},
               [] { (void)permute_problem(extents{std::int64_t{1} << 62}, order{0}, 2); });
}

TEST(permute_problem, an_array_without_elements_is_never_too_large) {
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_EQ(permute_problem(extents{big, 0, big}, order{2, 1, 0}, 8).rank, 3);
}

TEST(batched, puts_one_axis_in_front) {
  const problem what = batched(transpose_problem(3, 5, 4), 7, 100, 200);
  EXPECT_EQ(what.rank, 3);
  EXPECT_EQ(what.element_bytes, 4);
  EXPECT_EQ(what.axes[0], (axis{7, 100, 200}));
  EXPECT_EQ(what.axes[1], transpose_problem(3, 5, 4).axes[0]);
  EXPECT_EQ(what.axes[2], transpose_problem(3, 5, 4).axes[1]);
}

TEST(batched, errors) {
  expect_error(status::invalid_argument, {"count is -1", "0 or more"},
               [] { (void)batched(transpose_problem(3, 5, 4), -1, 15, 15); });
  problem full{.element_bytes = 4, .rank = max_rank, .axes = {}};
  expect_error(status::invalid_argument, {"rank 16"}, [&] { (void)batched(full, 2, 1, 1); });
}

TEST(batched, keeps_in_place_and_refuses_a_wrong_rank) {
  problem one = transpose_problem(3, 3, 4);
  one.in_place = true;
  EXPECT_TRUE(batched(one, 2, 9, 9).in_place);
  one.rank = -1;
  expect_error(status::invalid_argument, {"rank -1"}, [&] { (void)batched(one, 2, 9, 9); });
}

// By every function that takes a problem: nothing is divided by the bytes of an element.
TEST(problem, elements_of_no_bytes_are_refused) {
  problem none = transpose_problem(3, 5, 4);
  float some[30] = {};
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    none.element_bytes = bytes;
    const auto refused = [&](const auto& call) { expect_error(status::invalid_argument, {"element_bytes is"}, call); };
    refused([&] { (void)transpose_problem(3, 5, bytes); });
    refused([&] { (void)permute_problem(extents{3, 5}, order{1, 0}, bytes); });
    refused([&] { const plan made(batched(none, 2, 15, 15)); });
    refused([&] { execute(none, some, some + 15); });
    refused([&] { (void)offers(none); });
    refused([&] { (void)explain(none, {.machine = "H200"}); });
    refused([&] { (void)tune(none, some, some + 15); });
    const batch_item item{none, some, some + 15};
    refused([&] { const batch made(std::span(&item, 1)); });
  }
}

}  // namespace
}  // namespace cornerturn::problem_test
