#include "plan/apply.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../kernels/math_cases.hpp"

namespace cornerturn::planning::apply_test {
namespace {

using testing::dice;

constexpr element_type f32 = element_type::float32;
constexpr arithmetic to_half{.src = f32, .dst = element_type::float16};
constexpr arithmetic sum{.src = f32, .dst = f32, .beta = {1, 0}, .second = second_array::source};

base::machine any_machine() {
  base::machine made;
  made.l1d_bytes = 32 << 10;
  made.l2_bytes = 1 << 20;
  made.l3_bytes = 32 << 20;
  return made;
}

choice chosen(problem what, const arithmetic& math, const request& wanted = {}) {
  what.math = math;
  return choose_apply(map::canonicalize(what), kernels::op_of(math, what.element_bytes), wanted, any_machine());
}

problem with_second(problem what, std::int64_t first, std::int64_t last) {
  what.axes[0].second_stride = first;
  what.axes[1].second_stride = last;
  return what;
}

TEST(choose_apply, each_line_has_its_problem) {
  const problem turned = transpose_problem(300, 500, 4);
  problem lying = turned;
  lying.axes[0].dst_stride = 1;
  lying.axes[1].dst_stride = 600;
  problem gaps = turned;
  gaps.axes[0].dst_stride = 600;
  gaps.axes[1].dst_stride = 2;
  EXPECT_EQ(chosen(transpose_problem(0, 5, 4), to_half).line, 1);
  EXPECT_EQ(chosen(transpose_problem(0, 5, 4), to_half).work.units, 0);
  EXPECT_EQ(chosen(lying, to_half).line, 2);
  EXPECT_EQ(chosen(transpose_problem(1, 1, 4), to_half).line, 2);
  EXPECT_EQ(chosen(gaps, to_half).line, 3);
  EXPECT_EQ(chosen(turned, to_half).line, 4);
  EXPECT_TRUE(chosen(turned, to_half).work.along_src);
  EXPECT_EQ(chosen(turned, {.src = f32, .dst = f32, .alpha = {2, 0}}).line, 5);
  EXPECT_EQ(chosen(with_second(turned, 300, 1), sum).line, 5);
  EXPECT_EQ(chosen(with_second(turned, 0, 1), sum).line, 5) << "broadcast along src's rows";
  EXPECT_EQ(chosen(with_second(turned, 1, 500), sum).line, 6);
  EXPECT_EQ(chosen(with_second(turned, 1, 0), sum).line, 6);
  EXPECT_EQ(chosen(with_second(turned, 600, 2), sum).line, 7);
  EXPECT_EQ(chosen(with_second(lying, 0, 1), sum).line, 7);
  arithmetic of_dst = sum;
  of_dst.second = second_array::none;
  EXPECT_EQ(chosen(turned, of_dst).line, 5);
  EXPECT_EQ(chosen(lying, of_dst).line, 2);
}

TEST(choose_apply, rows_that_are_asked_for) {
  const problem turned = transpose_problem(300, 500, 4);
  for (const char* name : {"cpu_apply_tile", "cpu_apply_gather", "cpu_apply_reference"}) {
    const choice made = chosen(turned, to_half, {.kernel = name});
    ASSERT_NE(made.kernel, nullptr) << name;
    EXPECT_STREQ(made.kernel->name, name);
  }
  for (const char* name : {"cpu_apply_runs", "cpu_stream_b4", "cpu_reference", "nothing"}) {
    EXPECT_EQ(chosen(turned, to_half, {.kernel = name}).kernel, nullptr) << name;
  }
}

TEST(choose_apply, large_results_are_streamed) {
  EXPECT_FALSE(chosen(transpose_problem(300, 500, 4), to_half).work.streaming);
  EXPECT_TRUE(chosen(transpose_problem(30000, 5000, 4), to_half).work.streaming);
}

TEST(choose_apply, threads_are_no_more_than_there_is_work_for) {
  EXPECT_EQ(chosen(transpose_problem(30, 50, 4), to_half, {.threads = 8, .kernel = ""}).threads, 1);
  const choice made = chosen(transpose_problem(30000, 5000, 4), to_half, {.threads = 8, .kernel = ""});
  EXPECT_EQ(made.threads, 8);
  EXPECT_GE(made.work.units, 8);
}

// For every problem, rows x cols x outer are its elements, and each axis is in exactly one of the three. The axes of
// rows and cols are contiguous, as the kernels expect.
TEST(choose_apply, chains_hold_every_axis_once) {
  dice roll(5);
  const std::vector<testing::type_pair> pairs = testing::all_pairs();
  for (int turn = 0; turn < 2000; ++turn) {
    const arithmetic math = testing::any_math(roll, roll.of(pairs));
    const problem shape =
        roll.one_in(2) ? testing::any_permutation(roll, 1, 100000) : testing::any_strides(roll, 1, 100000);
    const problem what = testing::with_math(shape, math, 4, roll);
    const map::canonical form = map::canonicalize(what);
    const kernels::op how = kernels::op_of(math, what.element_bytes);
    const choice made = choose_apply(form, how, {.threads = 3, .kernel = ""}, any_machine());
    const kernels::job& work = made.work;
    if (form.empty) continue;
    const std::string text = testing::to_text(what, math) + ", line " + std::to_string(made.line);
    std::multiset<std::int64_t> left, found;
    for (int k = 0; k < form.rank; ++k) left.insert(form.axes[static_cast<std::size_t>(k)].dst_stride);
    for (const kernels::chain* one : {&work.rows, &work.cols, &work.outer}) {
      for (int k = 0; k < one->rank; ++k) found.insert(one->axes[static_cast<std::size_t>(k)].dst_stride);
    }
    ASSERT_EQ(left, found) << text;
    ASSERT_EQ(work.rows.total * work.cols.total * work.outer.total, map::words(form)) << text;
    ASSERT_EQ(work.units, work.outer.total * work.panels() * work.row_chunks()) << text;
    if (made.kernel != kernels::find("cpu_apply_tile")) continue;
    const auto contiguous = [&](const kernels::chain& run, std::int64_t axis::*stride) {
      std::int64_t next = 1;
      for (int k = 0; k < run.rank; ++k) {
        if (run.axes[static_cast<std::size_t>(k)].*stride != next) return false;
        next *= run.axes[static_cast<std::size_t>(k)].extent;
      }
      return true;
    };
    ASSERT_TRUE(contiguous(work.rows, &axis::dst_stride)) << text;
    ASSERT_TRUE(contiguous(work.cols, &axis::src_stride)) << text;
    if (how.second == second_array::none) continue;
    ASSERT_TRUE(contiguous(work.along_src ? work.cols : work.rows, &axis::second_stride)) << text;
  }
}

}  // namespace
}  // namespace cornerturn::planning::apply_test
