#include "map/canonical.hpp"

#include <gtest/gtest.h>
// After gtest.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "../kernels/oracle.hpp"
#include "api/check.hpp"
#include "map/in_words.hpp"

namespace cornerturn::map::canonical_test {
namespace {

// A hundred cases, RapidCheck's default, miss combinations of three rare properties.
[[maybe_unused]] const int more_cases = setenv("RC_PARAMS", "max_success=2000", 0);

using byte_move = std::pair<std::int64_t, std::int64_t>;  // from src byte, to dst byte

std::vector<byte_move> moves_of(const problem& what) {
  std::vector<byte_move> moves;
  testing::walk(what, [&](std::int64_t src, std::int64_t dst) {
    for (std::int64_t b = 0; b < what.element_bytes; ++b)
      moves.emplace_back(src * what.element_bytes + b, dst * what.element_bytes + b);
  });
  std::sort(moves.begin(), moves.end());
  return moves;
}

std::vector<byte_move> moves_of(const canonical& form) {
  std::vector<byte_move> moves;
  for (std::int64_t i = 0; i < words(form); ++i) {
    const offsets here = at(form, i);
    for (std::int64_t b = 0; b < form.word_bytes; ++b)
      moves.emplace_back(here.src * form.word_bytes + b, here.dst * form.word_bytes + b);
  }
  std::sort(moves.begin(), moves.end());
  return moves;
}

// Converts the canonical form back to a problem. The pointers carry its offsets.
problem problem_of(const canonical& form) {
  problem what;
  what.element_bytes = form.word_bytes;
  what.rank = form.rank;
  std::copy_n(form.axes.begin(), form.rank, what.axes.begin());
  return what;
}

// Up to 6 axes in any order: dst strides nest, src strides are arbitrary. Some extents are 1, few are 0.
rc::Gen<problem> problems() {
  return rc::gen::exec([] {
    problem what;
    what.element_bytes = *rc::gen::element(1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40, 48, 96);
    what.rank = *rc::gen::inRange(0, 6);
    const auto order = *rc::gen::container<std::vector<int>>(max_rank, rc::gen::inRange(0, 1000));
    std::vector<int> axes, src_axes;
    for (int k = 0; k < what.rank; ++k) axes.push_back(k), src_axes.push_back(k);
    std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) { return order[a] < order[b]; });
    std::stable_sort(src_axes.begin(), src_axes.end(), [&](int a, int b) { return order[8 + a] < order[8 + b]; });
    for (int k = 0; k < what.rank; ++k)
      what.axes[k].extent = *rc::gen::weightedElement<std::int64_t>({{1, 0}, {6, 1}, {12, 2}, {6, 3}, {8, 4}, {4, 5}});
    const auto gap = rc::gen::weightedElement<std::int64_t>({{12, 0}, {1, 1}, {1, 2}, {1, 8}});
    const auto sign = rc::gen::weightedElement<std::int64_t>({{3, 1}, {1, -1}});
    std::int64_t next = 1;
    for (const int k : axes) {
      next += *gap;
      what.axes[k].dst_stride = next * *sign;
      next *= std::max<std::int64_t>(what.axes[k].extent, 1);
    }
    next = 1;
    for (const int k : src_axes) {
      next += *gap;
      what.axes[k].src_stride = next * *rc::gen::weightedElement<std::int64_t>({{12, 1}, {4, -1}, {1, 0}});
      next *= std::max<std::int64_t>(what.axes[k].extent, 1);
    }
    return what;
  });
}

RC_GTEST_PROP(canonical, keeps_the_set_of_moves, ()) {
  const problem what = *problems();
  RC_PRE(testing::elements_of(what) * what.element_bytes < 20000);
  api::check(what);
  for (const std::int64_t max_word : {1, 4, 16}) {
    const canonical form = canonicalize(what, max_word);
    RC_ASSERT(form.word_bytes <= max_word);
    RC_ASSERT(moves_of(form) == moves_of(what));
  }
}

RC_GTEST_PROP(canonical, in_shorter_words_is_the_form_with_that_limit, ()) {
  const problem what = *problems();
  api::check(what);
  for (const std::int64_t longer : {4, 8, 16}) {
    for (const std::int64_t shorter : {1, 2, 4, 8, 16}) {
      RC_ASSERT(in_words(canonicalize(what, longer), shorter) == canonicalize(what, std::min(longer, shorter)));
    }
  }
}

RC_GTEST_PROP(canonical, says_what_each_side_spans, ()) {
  const problem what = *problems();
  const canonical form = canonicalize(what);
  const testing::byte_range src = testing::range_of(what, &axis::src_stride);
  const testing::byte_range dst = testing::range_of(what, &axis::dst_stride);
  RC_ASSERT(src_span(form).lo == src.lo);
  RC_ASSERT(src_span(form).hi == src.hi);
  RC_ASSERT(dst_span(form).lo == dst.lo);
  RC_ASSERT(dst_span(form).hi == dst.hi);
}

RC_GTEST_PROP(canonical, is_canonical_already, ()) {
  const canonical form = canonicalize(*problems());
  RC_PRE(!form.empty);
  // Offsets limit the width of a word. Without them words could become wider, so the test forbids wider words.
  const canonical again = canonicalize(problem_of(form), form.word_bytes);
  RC_ASSERT(again.axes == form.axes);
  RC_ASSERT(again.rank == form.rank);
  RC_ASSERT(again.word_bytes == form.word_bytes);
  RC_ASSERT(again.src_offset == 0);
  RC_ASSERT(again.dst_offset == 0);
  if (form.src_offset == 0 && form.dst_offset == 0) {
    RC_ASSERT(canonicalize(problem_of(form)) == form);
  }
}

RC_GTEST_PROP(canonical, does_not_depend_on_the_order_of_axes, ()) {
  const problem what = *problems();
  problem shuffled = what;
  const auto keys = *rc::gen::container<std::vector<int>>(max_rank, rc::gen::inRange(0, 1000));
  std::vector<int> order;
  for (int k = 0; k < what.rank; ++k) order.push_back(k);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  for (int k = 0; k < what.rank; ++k) shuffled.axes[k] = what.axes[order[k]];
  RC_ASSERT(canonicalize(shuffled) == canonicalize(what));
}

RC_GTEST_PROP(canonical, has_the_shape_that_its_header_promises, ()) {
  const problem what = *problems();
  const std::int64_t line_bytes = *rc::gen::element(cpu_line_bytes, gpu_line_bytes);
  const canonical form = canonicalize(what, 16, line_bytes);
  if (form.empty) {
    RC_ASSERT(form.rank == 0);
    RC_ASSERT(words(form) == 0);
    return;
  }
  std::int64_t run = 1;
  for (int k = form.rank - 1; k >= 0; --k) {
    const axis& one = form.axes[k];
    RC_ASSERT(one.extent >= 2);
    const bool continues = std::abs(one.dst_stride) == run;
    const std::int64_t bytes = run * form.dst_word_bytes;
    const bool keeps_run = continues && bytes < line_bytes && bytes % 16 != 0 && !what.in_place;
    const bool by_src = one.src_stride != 0 && std::abs(one.src_stride) < std::abs(one.dst_stride) && !keeps_run;
    RC_ASSERT((by_src ? one.src_stride : one.dst_stride) > 0);
    if (continues) run *= one.extent;
    if (k == 0) continue;
    const axis& outer = form.axes[k - 1];
    RC_ASSERT(std::abs(outer.dst_stride) > std::abs(one.dst_stride));
    RC_ASSERT(outer.src_stride != one.extent * one.src_stride || outer.dst_stride != one.extent * one.dst_stride);
  }
  for (int k = form.rank; k < max_axes; ++k) RC_ASSERT(form.axes[k] == axis{});
}

// ---- with math ----

struct triple {
  std::int64_t src, dst, second;
  auto operator<=>(const triple&) const = default;
};

RC_GTEST_PROP(canonical, with_math_keeps_every_triple_of_elements, ()) {
  problem what = *problems();
  RC_PRE(testing::elements_of(what) < 20000);
  what.element_bytes = 4;
  what.math = {
      .src = element_type::float32, .dst = element_type::float16, .beta = {1, 0}, .second = second_array::source};
  for (int k = 0; k < what.rank; ++k) {
    // Often strides that fold like dst's strides.
    what.axes[k].second_stride =
        *rc::gen::weightedElement<std::int64_t>({{3, what.axes[k].dst_stride}, {1, 0}, {1, k - 2}});
  }
  const canonical form = canonicalize(what);
  RC_ASSERT(form.word_bytes == 4);
  RC_ASSERT(form.dst_word_bytes == 2);
  std::vector<triple> wanted, found;
  problem second = what;
  for (int k = 0; k < what.rank; ++k) second.axes[k].src_stride = what.axes[k].second_stride;
  testing::walk(what, [&](std::int64_t src, std::int64_t dst) { wanted.push_back({src, dst, 0}); });
  std::size_t at_wanted = 0;
  testing::walk(second, [&](std::int64_t other, std::int64_t) { wanted[at_wanted++].second = other; });
  for (std::int64_t i = 0; i < words(form); ++i)
    found.push_back({at(form, i).src, at(form, i).dst, at(form, i).second});
  std::sort(wanted.begin(), wanted.end());
  std::sort(found.begin(), found.end());
  RC_ASSERT(found == wanted);
  const testing::byte_range range = testing::range_of(what, &axis::second_stride);
  RC_ASSERT(second_span(form).lo == range.lo / 2);
  RC_ASSERT(second_span(form).hi == range.hi / 2);
}

TEST(canonical_math, words_are_elements) {
  problem what = transpose_problem(30, 50, 8);
  what.math = {.src = element_type::complex64, .dst = element_type::complex64, .conj = true};
  const canonical form = canonicalize(what, 4);
  EXPECT_EQ(form.word_bytes, 8);
  EXPECT_EQ(form.dst_word_bytes, 8);
  EXPECT_EQ(form.rank, 2);
  what = permute_problem(std::vector<std::int64_t>{4, 6}, std::vector<int>{0, 1}, 2);
  what.math = {.src = element_type::int16, .dst = element_type::int64};
  EXPECT_EQ(canonicalize(what).rank, 1) << "folded, not widened";
  EXPECT_EQ(canonicalize(what).word_bytes, 2);
  EXPECT_EQ(canonicalize(what).dst_word_bytes, 8);
}

TEST(canonical_math, dst_is_the_second_array_where_beta_says_so) {
  problem what = transpose_problem(30, 50, 4, 51, 33);
  what.axes[0].dst_stride *= -1;
  what.math = {.src = element_type::float32, .dst = element_type::float32, .beta = {1, 0}};
  const canonical form = canonicalize(what);
  EXPECT_EQ(form.second_offset, form.dst_offset);
  for (int k = 0; k < form.rank; ++k) EXPECT_EQ(form.axes[k].second_stride, form.axes[k].dst_stride);
  // An array that is not read has no strides.
  what.math.second = second_array::source;
  what.math.beta = {};
  what.axes[0].second_stride = 7;
  what.math.alpha = {2, 0};
  for (int k = 0; k < form.rank; ++k) EXPECT_EQ(canonicalize(what).axes[k].second_stride, 0);
}

TEST(canonical_math, only_moves) {
  const auto moves = [](const arithmetic& math) { return only_moves(problem{.element_bytes = 4, .math = math}); };
  using enum element_type;
  EXPECT_TRUE(moves({}));
  EXPECT_TRUE(moves({.src = float32, .dst = float32}));
  EXPECT_TRUE(moves({.src = float32, .dst = float32, .second = second_array::source}));
  EXPECT_TRUE(moves({.src = int32, .dst = uint32, .saturate = false}));
  EXPECT_FALSE(moves({.src = int32, .dst = uint32}));
  EXPECT_FALSE(moves({.src = float32, .dst = float16}));
  EXPECT_FALSE(moves({.src = float32, .dst = float32, .alpha = {2, 0}}));
  EXPECT_FALSE(moves({.src = float32, .dst = float32, .beta = {2, 0}}));
  EXPECT_FALSE(moves({.src = complex64, .dst = complex64, .conj = true}));
  EXPECT_FALSE(moves({.second = second_array::destination}));
}

// ---- known cases ----

canonical packed(std::initializer_list<std::int64_t> extents, std::initializer_list<int> axes,
                 std::int64_t element_bytes) {
  return canonicalize(permute_problem(std::vector(extents), std::vector(axes), element_bytes));
}

TEST(canonical_cases, identities_are_one_run) {
  for (const std::int64_t element_bytes : {1, 3, 4, 16, 20}) {
    const canonical form = packed({5, 7, 9, 2}, {0, 1, 2, 3}, element_bytes);
    EXPECT_EQ(form.rank, 1) << element_bytes;
    EXPECT_EQ(form.axes[0].src_stride, 1);
    EXPECT_EQ(form.axes[0].dst_stride, 1);
    EXPECT_EQ(words(form) * form.word_bytes, 5 * 7 * 9 * 2 * element_bytes);
  }
}

TEST(canonical_cases, one_element_is_rank_0) {
  for (const problem& what : {problem{.element_bytes = 8}, transpose_problem(1, 1, 8, 5, 7)}) {
    const canonical form = canonicalize(what);
    EXPECT_FALSE(form.empty);
    EXPECT_EQ(form.rank, 0);
    EXPECT_EQ(words(form), 1);
    EXPECT_EQ(form.word_bytes, 8);
  }
}

TEST(canonical_cases, a_transpose_keeps_two_axes) {
  const canonical form = canonicalize(transpose_problem(30, 50, 4));
  ASSERT_EQ(form.rank, 2);
  EXPECT_EQ(form.axes[0], (axis{50, 1, 30}));
  EXPECT_EQ(form.axes[1], (axis{30, 50, 1}));
  EXPECT_EQ(form.word_bytes, 4);
}

TEST(canonical_cases, a_vector_is_no_transpose) {
  EXPECT_EQ(canonicalize(transpose_problem(1, 37, 4)).rank, 1);
  EXPECT_EQ(canonicalize(transpose_problem(37, 1, 4)).rank, 1);
  EXPECT_EQ(canonicalize(transpose_problem(37, 1, 4, 5)).axes[0], (axis{37, 5, 1}));
}

TEST(canonical_cases, axes_that_stay_together_fold) {
  const canonical form = packed({3, 5, 7, 11}, {2, 3, 0, 1}, 4);  // (3 5) (7 11) -> (7 11) (3 5)
  ASSERT_EQ(form.rank, 2);
  EXPECT_EQ(form.axes[0], (axis{77, 1, 15}));
  EXPECT_EQ(form.axes[1], (axis{15, 77, 1}));
}

TEST(canonical_cases, extents_of_1_vanish_whatever_their_strides) {
  problem what = transpose_problem(30, 50, 4);
  what.rank = 4;
  what.axes[2] = {1, INT64_MAX, INT64_MIN};
  what.axes[3] = {1, 0, 0};
  EXPECT_EQ(canonicalize(what), canonicalize(transpose_problem(30, 50, 4)));
}

TEST(canonical_cases, an_extent_of_0_empties_all) {
  problem what = transpose_problem(30, 0, 4);
  what.rank = 3;
  what.axes[2] = {5, 1, INT64_MAX};
  const canonical form = canonicalize(what);
  EXPECT_TRUE(form.empty);
  EXPECT_EQ(words(form), 0);
  EXPECT_EQ(src_span(form).hi, 0);
  EXPECT_EQ(dst_span(form).hi, 0);
}

// Strides next to an extent of 0 are not checked, so no code may compute with them; the sanitizers would report it.
TEST(canonical_cases, an_extent_of_0_comes_first) {
  problem what{.element_bytes = 48, .rank = 3, .axes = {}};
  what.axes[0] = {INT64_MAX, INT64_MIN, INT64_MIN + 1};
  what.axes[1] = {1588, -(INT64_MAX / 100), 1};
  what.axes[2] = {0, 1, 1};
  EXPECT_TRUE(canonicalize(what).empty);
}

TEST(canonical_cases, odd_element_sizes_become_words) {
  constexpr struct {
    std::int64_t element_bytes, word_bytes, words;
  } table[] = {{1, 1, 1},  {2, 2, 1},   {3, 1, 3},  {4, 4, 1},  {5, 1, 5},   {6, 2, 3},  {8, 8, 1},
               {12, 4, 3}, {16, 16, 1}, {20, 4, 5}, {24, 8, 3}, {32, 16, 2}, {40, 8, 5}, {48, 16, 3}};
  for (const auto& row : table) {
    const canonical form = canonicalize(transpose_problem(5, 7, row.element_bytes));
    EXPECT_EQ(form.word_bytes, row.word_bytes) << row.element_bytes;
    ASSERT_EQ(form.rank, row.words == 1 ? 2 : 3) << row.element_bytes;
    if (row.words > 1) {
      EXPECT_EQ(form.axes[2], (axis{row.words, 1, 1})) << row.element_bytes;
    }
    EXPECT_EQ(form.axes[0], (axis{7, row.words, 5 * row.words})) << row.element_bytes;
  }
}

TEST(canonical_cases, inner_runs_become_wider_words) {
  const canonical pairs = packed({5, 7, 2}, {1, 0, 2}, 4);  // complex float
  EXPECT_EQ(pairs.word_bytes, 8);
  ASSERT_EQ(pairs.rank, 2);
  EXPECT_EQ(pairs.axes[0], (axis{7, 1, 5}));
  const canonical pixels = packed({5, 7, 3}, {1, 0, 2}, 4);
  EXPECT_EQ(pixels.word_bytes, 4);
  EXPECT_EQ(pixels.rank, 3);
  const canonical long_runs = packed({5, 7, 24}, {1, 0, 2}, 1);
  EXPECT_EQ(long_runs.word_bytes, 8);
  EXPECT_EQ(long_runs.axes[2], (axis{3, 1, 1}));
  const canonical limited =
      canonicalize(permute_problem(std::vector<std::int64_t>{5, 7, 24}, std::vector{1, 0, 2}, 1), 2);
  EXPECT_EQ(limited.word_bytes, 2);
}

TEST(canonical_cases, a_stride_limits_the_width_of_a_word) {
  problem what = permute_problem(std::vector<std::int64_t>{5, 7, 8}, std::vector{1, 0, 2}, 1,
                                 std::vector<std::int64_t>{7 * 10, 10, 1}, {});
  EXPECT_EQ(canonicalize(what).word_bytes, 2);
  what = permute_problem(std::vector<std::int64_t>{5, 7, 8}, std::vector{1, 0, 2}, 1, {},
                         std::vector<std::int64_t>{65, 13, 1});
  EXPECT_EQ(canonicalize(what).word_bytes, 1);
}

// Both sides run backwards, in elements of 3 bytes: one run of 120 bytes that starts 117 bytes before the pointer.
TEST(canonical_cases, an_offset_limits_the_width_of_a_word) {
  problem what{.element_bytes = 3, .rank = 1};
  what.axes[0] = {40, -1, -1};
  const canonical form = canonicalize(what);
  EXPECT_EQ(form.rank, 1);
  EXPECT_EQ(form.src_offset * form.word_bytes, -117);
  EXPECT_EQ(form.dst_offset * form.word_bytes, -117);
  EXPECT_EQ(moves_of(form), moves_of(what));
}

TEST(canonical_cases, a_reversal_of_dst_alone_runs_through_dst_forwards) {
  problem what{.element_bytes = 4, .rank = 1};
  what.axes[0] = {10, 1, -1};
  const canonical form = canonicalize(what);
  EXPECT_EQ(form.axes[0], (axis{10, -1, 1}));
  EXPECT_EQ(form.src_offset, 9);
  EXPECT_EQ(form.dst_offset, -9);
}

}  // namespace
}  // namespace cornerturn::map::canonical_test
