#include "file/passes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "cornerturn/error.hpp"

namespace cornerturn::files {
namespace {

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t gib = 1 << 30;

permuted matrix(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes) {
  return folded({{rows, cols}, {1, 0}, element_bytes});
}

std::int64_t volume(const permuted& what, const box_grid::index& box) {
  std::int64_t bytes = what.element_bytes;
  for (int k = 0; k < what.rank; ++k) bytes *= box[static_cast<std::size_t>(k)];
  return bytes;
}

// The boxes cover the array, the units fit their boxes, a write unit is contiguous, and the buffers fit the memory.
void expect_valid(const pass& one, std::int64_t memory) {
  const permuted& what = one.what;
  std::int64_t units = 0;
  bool is_split = false;
  for (std::size_t k = 0; k < static_cast<std::size_t>(what.rank); ++k) {
    ASSERT_GE(one.box[k], 1);
    ASSERT_LE(one.box[k], what.extents[k]);
    ASSERT_GE(one.read_unit[k], 1);
    ASSERT_LE(one.read_unit[k], one.box[k]);
    ASSERT_GE(one.write_unit[k], 1);
    ASSERT_LE(one.write_unit[k], one.box[k]);
    if (is_split) {
      ASSERT_EQ(one.write_unit[k], one.box[k]);
    }
    is_split = is_split || one.write_unit[k] > 1;
  }
  units = volume(what, one.read_unit) * one.threads * (one.src.is == store_layout::kind::tiles ? 2 : 1);
  ASSERT_EQ(volume(what, one.box), one.summary.box_bytes);
  ASSERT_LE(one.slots * one.summary.box_bytes + units, memory);
  ASSERT_LE(one.memory_bytes, memory);
  ASSERT_EQ(one.summary.bytes, bytes_of(what));
  ASSERT_GT(one.summary.seconds, 0);
}

// The first read and the last write of a pass have no partner: one box more, at the speed of both.
TEST(plan_route, few_boxes_overlap_less) {
  const permuted what = matrix(16384, 16384, 4);
  for (const std::int64_t memory : {gib / 8, gib}) {
    const route how = plan_route(what, {.memory_bytes = memory, .threads = 4, .disk = {1e9, 1e9, 1, 1}});
    ASSERT_EQ(how.passes.size(), 1U);
    const file_pass& pass = how.passes[0].summary;
    const double bytes_alone = 2 * static_cast<double>(bytes_of(what)) / 1e9;
    EXPECT_NEAR(pass.seconds / bytes_alone, 1 + 1 / static_cast<double>(pass.boxes), 0.002);
  }
}

// Runs of 5.7 KiB on one side and 1.1 MiB on the other one are a local optimum: a cut of the third axis pays only if it is deep.
TEST(plan_route, axes_that_are_reversed_have_long_runs_on_both_sides) {
  permuted what;
  what.rank = 4;
  what.element_bytes = 1;
  what.extents = {190, 210, 200, 192};
  what.axes = {3, 2, 1, 0};
  const route how = plan_route(what, {.memory_bytes = 470 << 20, .threads = 4});
  ASSERT_EQ(how.passes.size(), 1U);
  expect_valid(how.passes[0], 470 << 20);
  EXPECT_GE(how.passes[0].summary.read_run_bytes, 12 << 10);
  EXPECT_GE(how.passes[0].summary.write_run_bytes, 12 << 10);
}

TEST(plan_route, a_matrix_has_long_runs_on_both_sides) {
  const route how = plan_route(matrix(65536, 65536, 4), {.memory_bytes = gib, .threads = 4});
  ASSERT_EQ(how.passes.size(), 1U);
  expect_valid(how.passes[0], gib);
  EXPECT_GE(how.passes[0].summary.read_run_bytes, 24 << 10);
  EXPECT_GE(how.passes[0].summary.write_run_bytes, 24 << 10);
}

// A box of whole columns would read runs of 5 KiB.
TEST(plan_route, a_matrix_of_few_boxes_has_long_runs_too) {
  const route how = plan_route(matrix(11584, 11584, 4), {.memory_bytes = 144 * mib, .threads = 4});
  ASSERT_EQ(how.passes.size(), 1U);
  expect_valid(how.passes[0], 144 * mib);
  EXPECT_GE(how.passes[0].summary.read_run_bytes, 14 << 10);
  EXPECT_GE(how.passes[0].summary.write_run_bytes, 14 << 10);
}

TEST(plan_route, bands_of_pixels_are_read_whole) {
  // 12 bands interleaved by pixel: a box of one band would read every page twelve times.
  const route how = plan_route(folded({{40960, 40960, 12}, {2, 0, 1}, 2}), {.memory_bytes = 64 * mib, .threads = 4});
  ASSERT_EQ(how.passes.size(), 1U);
  EXPECT_EQ(how.passes[0].box[0], 12);
}

TEST(plan_route, an_array_in_memory_has_boxes_of_a_cache) {
  resources with{.memory_bytes = gib, .threads = 2};
  with.src.in_memory = true;
  const route how = plan_route(matrix(16384, 16384, 4), with);
  ASSERT_EQ(how.passes.size(), 1U);
  EXPECT_LE(how.passes[0].summary.box_bytes, 8 * mib);
  EXPECT_EQ(how.passes[0].box, how.passes[0].read_unit);
}

TEST(plan_route, little_memory_for_bytes_takes_two_passes) {
  const permuted what = matrix(300000, 40000, 1);
  const route little = plan_route(what, {.memory_bytes = 16 * mib, .threads = 2});
  ASSERT_EQ(little.passes.size(), 2U);
  for (const pass& one : little.passes) expect_valid(one, 16 * mib);
  EXPECT_EQ(little.passes[0].box, little.tile);
  EXPECT_GT(little.passes[0].summary.read_run_bytes, 8 << 10);
  EXPECT_GT(little.passes[1].summary.write_run_bytes, 8 << 10);
  const route much = plan_route(what, {.memory_bytes = 8 * gib, .threads = 2});
  EXPECT_EQ(much.passes.size(), 1U);
}

TEST(plan_route, boxes_are_multiples_of_chunks) {
  resources with{.memory_bytes = 64 * mib, .threads = 2};
  with.dst.is = store_layout::kind::chunks;
  with.dst.chunk = {100, 70, 30};
  const permuted what = unfolded({{1000, 2000, 500}, {2, 0, 1}, 4});
  const route how = plan_one_pass(what, with);
  ASSERT_EQ(how.passes.size(), 1U);
  expect_valid(how.passes[0], 64 * mib);
  for (std::size_t k = 0; k < 3; ++k) {
    for (const auto& of : {how.passes[0].box, how.passes[0].write_unit}) {
      EXPECT_TRUE(of[k] % with.dst.chunk[k] == 0 || of[k] == what.extents[k] || of[k] == how.passes[0].box[k]) << k;
    }
  }
}

TEST(plan_route, too_little_memory_is_refused_with_the_smallest_size) {
  try {
    static_cast<void>(plan_route(unfolded({{10, 10}, {1, 0}, mib}), {.memory_bytes = mib, .threads = 1}));
    FAIL();
  } catch (const error& fault) {
    EXPECT_NE(std::string(fault.what()).find("wanted at least"), std::string::npos) << fault.what();
  }
}

TEST(plan_route, nothing_to_do) {
  EXPECT_TRUE(plan_route(folded({{3, 0}, {1, 0}, 4}), {.memory_bytes = mib}).passes.empty());
  EXPECT_EQ(plan_route(folded({{}, {}, 4}), {.memory_bytes = mib}).passes.size(), 1U);
}

RC_GTEST_PROP(plan_route, any_array_fits_its_memory, ()) {
  const auto rank = static_cast<std::size_t>(*rc::gen::inRange(1, 6));
  stored_array array;
  for (std::size_t k = 0; k < rank; ++k) {
    const auto log = *rc::gen::inRange(0, static_cast<int>(42 / rank));
    array.extents.push_back((std::int64_t{1} << log) + *rc::gen::inRange(0, 5));
  }
  array.axes.resize(rank);
  std::iota(array.axes.begin(), array.axes.end(), 0);
  std::shuffle(array.axes.begin(), array.axes.end(), std::mt19937(*rc::gen::arbitrary<unsigned>()));
  array.element_bytes = *rc::gen::element<std::int64_t>(1, 2, 3, 4, 8, 12, 16);
  const std::int64_t memory = std::int64_t{1} << *rc::gen::inRange(20, 33);
  const permuted what = folded(array);
  const route how = plan_route(what, {.memory_bytes = memory, .threads = *rc::gen::inRange(1, 9)});
  RC_ASSERT(!how.passes.empty());
  for (const pass& one : how.passes) {
    expect_valid(one, memory);
    RC_ASSERT(!testing::Test::HasFatalFailure());
  }
}

}  // namespace
}  // namespace cornerturn::files
