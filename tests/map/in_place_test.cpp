#include "map/in_place.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../kernels/in_place_cases.hpp"
#include "api/check.hpp"

namespace cornerturn::map::in_place_test {
namespace {

using testing::dice;
using testing::placed;
using testing::to_text;

// The destination of each element, by the definition; empty when src and dst cover different addresses.
std::map<std::int64_t, std::int64_t> moves_of(const problem& what) {
  std::map<std::int64_t, std::int64_t> moves;
  std::set<std::int64_t> targets;
  testing::walk(what, [&](std::int64_t src, std::int64_t dst) { moves[src] = dst, targets.insert(dst); });
  for (const auto& [src, dst] : moves) {
    if (!targets.contains(src)) return {};
  }
  return moves.size() == targets.size() ? moves : std::map<std::int64_t, std::int64_t>{};
}

void expect_kind_is_true(const problem& what, in_place_kind kind) {
  const auto moves = moves_of(what);
  if (kind == in_place_kind::impossible) return;
  ASSERT_FALSE(moves.empty()) << to_text(what);
  for (const auto& [src, dst] : moves) {
    const bool true_of_it = kind == in_place_kind::nothing      ? src == dst
                            : kind == in_place_kind::involution ? moves.at(dst) == src
                                                                : true;
    ASSERT_TRUE(true_of_it) << to_text(what);
  }
}

TEST(in_place, kinds_of_involutions_are_true) {
  dice roll(3);
  int involutions = 0;
  for (int k = 0; k < 400; ++k) {
    const problem what = any_involution(roll, roll.of(testing::element_sizes), 3000);
    api::check(what);
    const in_place_form form = in_place(canonicalize(what));
    ASSERT_NE(form.kind, in_place_kind::impossible) << to_text(what);
    involutions += form.kind == in_place_kind::involution;
    expect_kind_is_true(what, form.kind);
    for (int pair = 1; pair < form.pair_count; ++pair) {
      EXPECT_LE(std::abs(form.pairs[pair - 1].dst_stride), std::abs(form.pairs[pair].dst_stride));
    }
  }
  EXPECT_GT(involutions, 200);
}

// Every accepted problem is a permutation in place. Every involution and every matrix is accepted.
TEST(in_place, kinds_of_permutations_are_true) {
  dice roll(5);
  std::set<in_place_kind> met;
  for (int k = 0; k < 600; ++k) {
    problem what = placed(any_permutation(roll, roll.of(testing::element_sizes), 700));
    if (roll.one_in(2)) {
      for (int a = 0; a < what.rank; ++a) what.axes[a].extent = 3;
      std::vector<std::int64_t> shape(static_cast<std::size_t>(what.rank), 3);
      std::vector<int> axes(shape.size());
      std::iota(axes.begin(), axes.end(), 0);
      for (int a = what.rank - 1; a > 0; --a)
        std::swap(axes[static_cast<std::size_t>(a)], axes[static_cast<std::size_t>(roll.below(a + 1))]);
      what = placed(permute_problem(shape, axes, what.element_bytes));
    }
    const in_place_form form = in_place(canonicalize(what));
    met.insert(form.kind);
    expect_kind_is_true(what, form.kind);
    const auto moves = moves_of(what);
    bool involution = !moves.empty();
    for (const auto& [src, dst] : moves) involution = involution && moves.at(dst) == src;
    const bool found = form.kind == in_place_kind::involution || form.kind == in_place_kind::nothing;
    EXPECT_TRUE(found || !involution) << to_text(what);
  }
  EXPECT_EQ(met.size(), 4U);
}

TEST(in_place, rectangles) {
  for (const std::int64_t element_bytes : {1, 3, 4, 16, 40}) {
    for (int variant = 0; variant < 8; ++variant) {
      const problem what = testing::rectangle_of(5, 7, element_bytes, variant);
      const canonical form = canonicalize(what);
      const in_place_form found = in_place(form);
      EXPECT_EQ(found.kind, in_place_kind::rectangle) << to_text(what);
      EXPECT_EQ(found.rows, 5);
      EXPECT_EQ(found.cols, 7);
      EXPECT_EQ(found.unit * form.word_bytes, element_bytes);
      expect_kind_is_true(what, found.kind);
    }
  }
  EXPECT_EQ(in_place(canonicalize(transpose_problem(5, 7, 4, 8, 5))).kind, in_place_kind::impossible);
  EXPECT_EQ(in_place(canonicalize(transpose_problem(5, 7, 4, 7, 6))).kind, in_place_kind::impossible);
  EXPECT_EQ(in_place(canonicalize(transpose_problem(0, 7, 4))).kind, in_place_kind::nothing);
  EXPECT_EQ(in_place(canonicalize(transpose_problem(1, 7, 4))).kind, in_place_kind::nothing);
}

}  // namespace
}  // namespace cornerturn::map::in_place_test
