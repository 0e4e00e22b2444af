// The offers of the family apply.
#include "kernels/cpu/apply/args.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../kernels/math_cases.hpp"
#include "kernels/cpu/split.hpp"
#include "plan/choose.hpp"

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

kernels::offer chosen(problem what, const arithmetic& math, cpu_request wanted = {},
                      const base::machine& machine = any_machine()) {
  what.math = math;
  const kernels::op how = kernels::op_of(math, what.element_bytes);
  wanted.math = &how;
  return choose(map::canonicalize(what), wanted, machine);
}

problem with_second(problem what, std::int64_t first, std::int64_t last) {
  what.axes[0].second_stride = first;
  what.axes[1].second_stride = last;
  return what;
}

TEST(choose_apply, each_row_has_its_problem) {
  const problem turned = transpose_problem(300, 500, 4);
  problem lying = turned;
  lying.axes[0].dst_stride = 1;
  lying.axes[1].dst_stride = 600;
  problem gaps = turned;
  gaps.axes[0].dst_stride = 600;
  gaps.axes[1].dst_stride = 2;
  EXPECT_STREQ(chosen(transpose_problem(0, 5, 4), to_half).row->name, "cpu_apply_gather");
  EXPECT_EQ(chosen(transpose_problem(0, 5, 4), to_half).units, 0);
  const auto expect = [](const kernels::offer& made, const char* row) { EXPECT_STREQ(made.row->name, row); };
  expect(chosen(lying, to_half), "cpu_apply_runs");
  expect(chosen(transpose_problem(1, 1, 4), to_half), "cpu_apply_runs");
  expect(chosen(gaps, to_half), "cpu_apply_gather");
  expect(chosen(turned, to_half), "cpu_apply_tile_src");
  expect(chosen(turned, {.src = f32, .dst = f32, .alpha = {2, 0}}), "cpu_apply_tile");
  expect(chosen(with_second(turned, 300, 1), sum), "cpu_apply_tile");
  expect(chosen(with_second(turned, 0, 1), sum), "cpu_apply_tile");  // broadcast along src's rows
  expect(chosen(with_second(turned, 1, 500), sum), "cpu_apply_tile_src");
  expect(chosen(with_second(turned, 1, 0), sum), "cpu_apply_tile_src");
  expect(chosen(with_second(turned, 600, 2), sum), "cpu_apply_gather");
  expect(chosen(with_second(lying, 0, 1), sum), "cpu_apply_gather");
  arithmetic of_dst = sum;
  of_dst.second = second_array::none;
  expect(chosen(turned, of_dst), "cpu_apply_tile");
  expect(chosen(lying, of_dst), "cpu_apply_runs");
  // A short dst run whose elements are in a few far planes of src, and short runs into a dst with gaps.
  problem planes;
  planes.element_bytes = 4;
  planes.rank = 4;
  planes.axes = {axis{39, 2334, 17505}, axis{389, 6, 45}, axis{5, 1, 9}, axis{9, 91026, 1}};
  expect(chosen(planes, of_dst), "cpu_apply_tables");
  problem pixels = planes;
  pixels.rank = 3;
  pixels.axes = {axis{40, 3220, 11040}, axis{460, 7, 24}, axis{7, 1, 3}};
  expect(chosen(pixels, {.src = f32, .dst = element_type::float64}), "cpu_apply_tables");
  base::machine larger_l2 = any_machine();
  larger_l2.l2_bytes = 2 << 20;
  expect(chosen(transpose_problem(3000, 5000, 4), to_half, {}, larger_l2), "cpu_apply_strips");
}

TEST(choose_apply, rows_that_are_asked_for) {
  const problem turned = transpose_problem(300, 500, 4);
  for (const char* name : {"cpu_apply_tile", "cpu_apply_tile_src", "cpu_apply_gather", "cpu_apply_reference"}) {
    const kernels::offer made = chosen(turned, to_half, {.kernel = name});
    ASSERT_NE(made.row, nullptr) << name;
    EXPECT_STREQ(made.row->name, name);
  }
  for (const char* name : {"cpu_apply_runs", "cpu_stream_lines_b4", "cpu_reference", "nothing"}) {
    EXPECT_EQ(chosen(turned, to_half, {.kernel = name}).row, nullptr) << name;
  }
}

TEST(choose_apply, large_results_are_streamed) {
  EXPECT_FALSE(kernels::cpu::blocking_of(chosen(transpose_problem(300, 500, 4), to_half))->streaming);
  EXPECT_TRUE(kernels::cpu::blocking_of(chosen(transpose_problem(30000, 5000, 4), to_half))->streaming);
}

TEST(choose_apply, threads_are_no_more_than_there_is_work_for) {
  EXPECT_EQ(chosen(transpose_problem(30, 50, 4), to_half, {.threads = 8}).threads, 1);
  const kernels::offer made = chosen(transpose_problem(30000, 5000, 4), to_half, {.threads = 8});
  EXPECT_EQ(made.threads, 8);
  EXPECT_GE(made.units, 8);
}

// For every problem and row, rows x cols x outer are its elements, and each axis is in exactly one of the three. The axes of
// rows and cols are contiguous, as the kernels expect.
TEST(choose_apply, every_axis_is_walked_once) {
  dice roll(5);
  const std::vector<testing::type_pair> pairs = testing::all_pairs();
  for (int turn = 0; turn < 2000; ++turn) {
    const arithmetic math = testing::any_math(roll, roll.of(pairs));
    const problem shape =
        roll.one_in(2) ? testing::any_permutation(roll, 1, 100000) : testing::any_strides(roll, 1, 100000);
    const problem what = testing::with_math(shape, math, 4, roll);
    const map::canonical form = map::canonicalize(what);
    const kernels::op how = kernels::op_of(math, what.element_bytes);
    if (form.empty) continue;
    for (const kernels::offer& made : offers(form, {.threads = 3, .math = &how}, any_machine())) {
      const auto& work = made.as<kernels::cpu::blocking>();
      const std::string text = testing::to_text(what, math) + ", " + made.row->name;
      std::multiset<std::int64_t> left, found;
      for (int k = 0; k < form.rank; ++k)
        left.insert(base::magnitude(form.axes[static_cast<std::size_t>(k)].dst_stride));
      for (const kernels::fused_axes* one : {&work.rows, &work.cols, &work.outer}) {
        for (int k = 0; k < one->rank; ++k) {
          found.insert(base::magnitude(one->axes[static_cast<std::size_t>(k)].dst_stride));
        }
      }
      ASSERT_EQ(left, found) << text;
      ASSERT_EQ(work.rows.total * work.cols.total * work.outer.total, map::words(form)) << text;
      ASSERT_EQ(made.units, work.units()) << text;
      const std::string_view row = made.row->name;
      if (row == "cpu_apply_gather") {
        const auto& boxes = made.as<kernels::cpu::apply::gather_args>();
        ASSERT_EQ(boxes.rows.total % boxes.inner_total, 0) << text;
        ASSERT_EQ(boxes.row_chunk % boxes.inner_total, 0) << text;
        ASSERT_EQ(boxes.group % boxes.inner_total, 0) << text;
        ASSERT_LE(boxes.panel, kernels::cpu::apply::most_box_cols) << text;
      }
      if (row == "cpu_apply_tables") {
        for (const auto& [run, part] : {std::pair{work.rows, work.row_chunk}, std::pair{work.cols, work.panel}}) {
          const std::int64_t last = run.rank == 0 ? 1 : run.axes[static_cast<std::size_t>(run.rank - 1)].extent;
          ASSERT_EQ(part % (run.total / last), 0) << text;
        }
        ASSERT_LE(work.row_chunk, 2 * kernels::cpu::apply::most_table_entries) << text;
      }
      if (row != "cpu_apply_tile" && row != "cpu_apply_tile_src" && row != "cpu_apply_strips") continue;
      const auto contiguous = [&](const kernels::fused_axes& run, std::int64_t axis::*stride) {
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
      ASSERT_TRUE(contiguous(row == "cpu_apply_tile_src" ? work.cols : work.rows, &axis::second_stride)) << text;
    }
  }
}

}  // namespace
}  // namespace cornerturn::planning::apply_test
