#include "plan/choose.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "api/check.hpp"
#include "plan/tuning.hpp"

namespace cornerturn::planning::choose_test {
namespace {

base::machine machine_with(std::int64_t l2_bytes) {
  base::machine made;
  made.l1d_bytes = 32 << 10;
  made.l2_bytes = l2_bytes;
  made.l3_bytes = 32 << 20;
  made.page_bytes = 4096;
  return made;
}
const base::machine usual = machine_with(1 << 20);

choice choose_for(const problem& what, const request& wanted = {}, const base::machine& machine = usual) {
  api::check(what);
  return choose(map::canonicalize(what), wanted, machine);
}

problem permuted(std::initializer_list<std::int64_t> extents, std::initializer_list<int> axes,
                 std::int64_t element_bytes) {
  return permute_problem(std::vector(extents), std::vector(axes), element_bytes);
}

problem strided(std::int64_t element_bytes, std::initializer_list<axis> axes) {
  problem what{.element_bytes = element_bytes, .rank = static_cast<int>(axes.size())};
  std::copy(axes.begin(), axes.end(), what.axes.begin());
  return what;
}

void expect_line(const problem& what, int line, const std::string& kernel, const base::machine& machine = usual) {
  const choice made = choose_for(what, {}, machine);
  EXPECT_EQ(made.line, line) << testing::to_text(what);
  ASSERT_NE(made.kernel, nullptr);
  EXPECT_EQ(made.kernel->name, kernel) << testing::to_text(what);
  EXPECT_STRNE(made.reason, "");
}

// L2 of 2 MiB.
const base::machine with_larger_l2 = machine_with(2 << 20);

TEST(short_runs, alternate_between_the_orders_of_dst_and_src) {
  // tokens x heads x 128 to heads x tokens x 128: eight tokens of a head, then eight of the next head
  const choice made = choose_for(permuted({8, 2048, 32, 128}, {0, 2, 1, 3}, 2), {}, with_larger_l2);
  ASSERT_TRUE(made.work.alternates);
  const kernels::chain& outer = made.work.outer;
  ASSERT_EQ(outer.rank, 4);
  EXPECT_EQ(outer.axes[1].extent, 256);
  EXPECT_EQ(outer.axes[2].extent, 32);
  EXPECT_EQ(outer.axes[3].extent, 8);
  EXPECT_EQ(outer.axes[1].src_stride, 8 * outer.axes[3].src_stride);
  EXPECT_EQ(outer.axes[1].dst_stride, 8 * outer.axes[3].dst_stride);
  EXPECT_EQ(outer.total, 8 * 2048 * 32);
}

TEST(short_runs, stay_in_the_order_of_dst_where_nothing_divides_them_or_they_are_long) {
  EXPECT_FALSE(choose_for(permuted({8, 2039, 32, 128}, {0, 2, 1, 3}, 2), {}, with_larger_l2).work.alternates)
      << "prime";
  EXPECT_FALSE(choose_for(permuted({8, 2048, 32, 1024}, {0, 2, 1, 3}, 2), {}, with_larger_l2).work.alternates);
  EXPECT_FALSE(choose_for(permuted({4, 20, 3, 128}, {0, 2, 1, 3}, 2), {}, with_larger_l2).work.alternates)
      << "in cache";
  EXPECT_FALSE(choose_for(permuted({8, 2048, 32, 128}, {0, 2, 1, 3}, 2)).work.alternates) << "another machine";
}

TEST(pages, are_fetched_ahead_where_src_is_read_in_order) {
  const auto by_pages = [](const problem& what) { return choose_for(what, {}, with_larger_l2).work.by_pages; };
  EXPECT_TRUE(by_pages(transpose_problem(1000000, 3, 4)));
  EXPECT_TRUE(by_pages(transpose_problem(300000, 64, 4)));
  EXPECT_TRUE(by_pages(permuted({100000, 8, 8}, {0, 2, 1}, 4)));
  EXPECT_TRUE(by_pages(permuted({10000, 32, 32}, {0, 2, 1}, 4)));
  EXPECT_FALSE(by_pages(transpose_problem(3, 1000000, 4))) << "three streams";
  EXPECT_FALSE(by_pages(transpose_problem(3000, 5000, 4))) << "panels of columns";
  EXPECT_FALSE(by_pages(strided(4, {{1000000, 5, 1}, {4, 1, 1000000}}))) << "gaps";
}

TEST(line_tiles, fill_whole_lines_of_what_stays_in_the_cache) {
  const auto tiles = [](const problem& what, const base::machine& machine) {
    return choose_for(what, {.threads = 1, .kernel = {}}, machine).work.line_tiles;
  };
  for (const std::int64_t word : {1, 2, 4, 8}) {
    EXPECT_TRUE(tiles(transpose_problem(64, 64, word), with_larger_l2)) << word;
    EXPECT_FALSE(tiles(transpose_problem(64, 64, word), usual)) << "another machine";
    EXPECT_EQ(tiles(transpose_problem(100, 70, word), with_larger_l2), word <= 2) << "lines that two runs share";
    EXPECT_FALSE(tiles(transpose_problem(64 / word - 1, 128, word, 0, 64), with_larger_l2)) << "no tile is that short";
  }
  EXPECT_FALSE(tiles(transpose_problem(64, 64, 16), with_larger_l2));
  EXPECT_FALSE(tiles(transpose_problem(4096, 4096, 4), with_larger_l2)) << "not in the cache";
}

TEST(few_columns, are_turned_together_where_rows_lie_end_to_end) {
  const auto few = [](const problem& what, const base::machine& machine) {
    return choose_for(what, {}, machine).work.few_columns;
  };
  for (const std::int64_t cols : {2, 3, 5, 7, 12, 24, 31}) {
    for (const std::int64_t word : {1, 2, 4, 8}) {
      const problem what = transpose_problem(1000000, cols, word);
      const bool registers = word >= 4 && cols * word >= 64 && cols * word % 16 == 0;
      EXPECT_EQ(few(what, with_larger_l2), !registers) << testing::to_text(what);
      EXPECT_FALSE(few(what, usual)) << "another machine";
    }
  }
  EXPECT_TRUE(few(permuted({4096, 4096, 12}, {2, 0, 1}, 2), with_larger_l2));
  EXPECT_TRUE(few(permuted({32, 1080, 1920, 3}, {0, 3, 1, 2}, 1), with_larger_l2));
  EXPECT_FALSE(few(transpose_problem(1000000, 7, 4, 8, 0), with_larger_l2)) << "gaps between rows";
  EXPECT_FALSE(few(permuted({100000, 64, 5}, {0, 2, 1}, 2), with_larger_l2)) << "runs of two lines";
  EXPECT_FALSE(few(transpose_problem(100000, 500, 1), with_larger_l2));
}

TEST(few_rows, are_joined_where_they_are_long) {
  const auto few = [](const problem& what, const base::machine& machine) {
    return choose_for(what, {}, machine).work.few_rows;
  };
  for (const std::int64_t rows : {2, 3, 5, 7, 12, 16}) {
    for (const std::int64_t word : {1, 2, 4, 8}) {
      const problem what = transpose_problem(rows, 1000000, word);
      EXPECT_EQ(few(what, with_larger_l2), word != 8 || rows != 16) << testing::to_text(what);
      EXPECT_FALSE(few(what, usual)) << "another machine";
    }
  }
  EXPECT_TRUE(few(permuted({12, 4096, 4096}, {1, 2, 0}, 2), with_larger_l2));
  EXPECT_TRUE(few(permuted({32, 3, 1080, 1920}, {0, 2, 3, 1}, 1), with_larger_l2));
  EXPECT_FALSE(few(permuted({10000, 5, 1000}, {0, 2, 1}, 2), with_larger_l2)) << "rows of 2 KB";
  EXPECT_FALSE(few(transpose_problem(5, 20000, 1), with_larger_l2)) << "in cache";
}

TEST(decision_list, line_1_nothing_to_move) {
  expect_line(transpose_problem(0, 5, 4), 1, "cpu_copy");
  expect_line(transpose_problem(5, 0, 3), 1, "cpu_copy");
  EXPECT_EQ(choose_for(transpose_problem(0, 5, 4)).work.units, 0);
  EXPECT_EQ(choose_for(transpose_problem(0, 5, 4), {.threads = 1, .kernel = "cpu_reference"}).work.units, 0);
}

TEST(decision_list, line_2_one_contiguous_run) {
  expect_line(problem{.element_bytes = 4}, 2, "cpu_copy");
  expect_line(permuted({3, 5, 7}, {0, 1, 2}, 12), 2, "cpu_copy");
  expect_line(transpose_problem(1, 1000, 8), 2, "cpu_copy");
  expect_line(transpose_problem(1000, 1, 8), 2, "cpu_copy");
}

TEST(decision_list, line_3_dst_has_no_unit_stride) {
  expect_line(strided(4, {{100, 1, 200}, {100, 100, 2}}), 3, "cpu_scatter");
  expect_line(strided(4, {{100, 1, 3}}), 3, "cpu_scatter");
}

TEST(decision_list, line_4_long_inner_runs) {
  expect_line(permuted({30, 40, 1024}, {1, 0, 2}, 1), 4, "cpu_runs");
  expect_line(permuted({30, 40, 64}, {1, 0, 2}, 16), 4, "cpu_runs");
  expect_line(transpose_problem(100, 100, 3, 0, 128), 5, "cpu_gather");
  expect_line(strided(1, {{50, 100, 90}, {60, 1, 1}}), 4, "cpu_runs");  // rows with gaps on both sides
}

TEST(decision_list, line_5_short_inner_runs_are_wide_elements) {
  for (const std::int64_t element_bytes : {3, 5, 6, 7, 12, 24, 40, 48})
    expect_line(transpose_problem(100, 100, element_bytes), 5, "cpu_gather");
  const choice made = choose_for(transpose_problem(100, 100, 24));
  EXPECT_EQ(made.work.element_bytes, 24);
  EXPECT_EQ(made.work.rows.total, 100);
  EXPECT_EQ(made.work.cols.total, 100);
  EXPECT_EQ(made.work.src_col_bytes, 24);
}

TEST(decision_list, line_6_src_has_no_unit_stride) {
  expect_line(strided(4, {{100, 2, 100}, {100, 200, 1}}), 6, "cpu_gather");
  expect_line(strided(4, {{100, 0, 100}, {100, 100, 1}}), 6, "cpu_gather");
  expect_line(strided(8, {{100, 7, 1}}), 6, "cpu_gather");
}

TEST(decision_list, line_7_dst_fits_the_cache) {
  for (const int word : {1, 2, 4, 8, 16}) {
    expect_line(transpose_problem(64, 64, word), 7, "cpu_cached_b" + std::to_string(word));
  }
}

// Bits of an index in another order: on neither side do its own axes fill a line.
problem bits_in_another_order(std::int64_t element_bytes) {
  return permuted({2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
                  {1, 3, 5, 7, 9, 11, 13, 15, 2, 6, 10, 14, 0, 4, 8, 12}, element_bytes);
}

TEST(decision_list, line_8_short_axes_that_alternate) {
  for (const int word : {1, 2, 4, 8, 16}) {
    expect_line(bits_in_another_order(word), 8, "cpu_box_b" + std::to_string(word), machine_with(0));
  }
  expect_line(permuted({2, 3000, 2, 3000}, {1, 3, 0, 2}, 4), 9, "cpu_stream_b4");  // no box is small enough
}

TEST(decision_list, line_9_everything_else) {
  for (const int word : {1, 2, 4, 8, 16}) {
    expect_line(transpose_problem(3000, 3000, word), 9, "cpu_stream_b" + std::to_string(word));
    expect_line(transpose_problem(64, 64, word), 9, "cpu_stream_b" + std::to_string(word), machine_with(1));
  }
  expect_line(transpose_problem(3, 100, 4), 9, "cpu_stream_b4");  // no whole block
  expect_line(transpose_problem(100, 3, 4), 9, "cpu_stream_b4");
  expect_line(permuted({30, 40, 2, 8}, {1, 0, 2, 3}, 1), 9, "cpu_stream_b16",
              machine_with(0));  // 16-byte runs are words
}

TEST(decision_list, stores_are_non_temporal_from_the_cached_limit_on) {
  const std::int64_t limit = cached_limit_bytes(usual);
  const choice fits = choose_for(transpose_problem(64, limit / 64, 1));
  EXPECT_FALSE(fits.work.streaming);
  const choice larger = choose_for(transpose_problem(64, limit / 64 + 1, 1));
  EXPECT_TRUE(larger.work.streaming);
  EXPECT_EQ(larger.line, 9);
}

TEST(decision_list, every_row_of_the_list_is_reached) {
  std::set<std::string> reached;
  for (const kernels::kernel& row : kernels::all()) {
    if (std::string_view(row.family) == "reference") reached.insert(row.name);  // by name only
  }
  const auto reach = [&](const problem& what, const base::machine& machine) {
    reached.insert(choose_for(what, {}, machine).kernel->name);
  };
  for (const std::int64_t element_bytes : testing::element_sizes) {
    reach(transpose_problem(64, 64, element_bytes), usual);
    reach(transpose_problem(64, 64, element_bytes), machine_with(0));
    reach(bits_in_another_order(element_bytes), machine_with(0));
  }
  reach(problem{.element_bytes = 1}, usual);
  reach(permuted({5, 6, 1024}, {1, 0, 2}, 1), usual);
  reach(strided(4, {{100, 1, 3}}), usual);
  for (const kernels::kernel& row : kernels::all()) {
    if (row.run != nullptr) {
      EXPECT_TRUE(reached.contains(row.name)) << row.name;
    }
  }
}

TEST(forced, a_row_for_another_word_is_refused) {
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.threads = 1, .kernel = "cpu_stream_b8"}).kernel, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.threads = 1, .kernel = "cpu_cached_b1"}).kernel, nullptr);
}

TEST(forced, a_row_that_cannot_move_the_problem_is_refused) {
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.threads = 1, .kernel = "cpu_copy"}).kernel, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.threads = 1, .kernel = "cpu_runs"}).kernel, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(2, 2, 4), {.threads = 1, .kernel = "cpu_cached_b4"}).kernel, nullptr);
  EXPECT_EQ(choose_for(strided(4, {{100, 1, 3}}), {.threads = 1, .kernel = "cpu_stream_b4"}).kernel, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.threads = 1, .kernel = "no_such_row"}).kernel, nullptr);
}

TEST(forced, every_row_is_taken_at_its_word) {
  const problem what = transpose_problem(64, 64, 4);
  for (const char* row : {"cpu_reference", "cpu_cached_b4", "cpu_stream_b4", "cpu_gather", "cpu_scatter"}) {
    const choice made = choose_for(what, {.threads = 1, .kernel = row});
    ASSERT_NE(made.kernel, nullptr) << row;
    EXPECT_STREQ(made.kernel->name, row);
  }
}

std::int64_t total(const kernels::chain& one) {
  std::int64_t product = 1;
  for (int k = 0; k < one.rank; ++k) product *= one.axes[k].extent;
  return product;
}

// The assumptions of the kernels about their arguments.
void expect_sane(const problem& what, const choice& made, int threads) {
  const std::string text =
      testing::to_text(what) + " for " + std::to_string(threads) + " threads: " + made.kernel->name;
  const kernels::job& work = made.work;
  const std::int64_t bytes = map::words(work.form) * work.form.word_bytes;
  EXPECT_GE(made.threads, 1) << text;
  EXPECT_LE(made.threads, threads) << text;
  EXPECT_LE(made.threads, std::max<std::int64_t>(work.units, 1)) << text;
  EXPECT_EQ(work.src_hi_bytes, map::src_span(work.form).hi) << text;
  EXPECT_EQ(work.form.src_offset, 0) << text;
  const std::string_view family = made.kernel->family;
  if (made.line <= 2 || family == "reference") return;
  EXPECT_EQ(work.outer.total, total(work.outer)) << text;
  EXPECT_EQ(work.rows.total, total(work.rows)) << text;
  EXPECT_EQ(work.cols.total, total(work.cols)) << text;
  EXPECT_EQ(work.rows.total * work.cols.total * work.outer.total * work.element_bytes, bytes) << text;
  if (family == "runs" || family == "scatter") {
    EXPECT_EQ(work.units, work.outer.total) << text;
    return;
  }
  for (int k = 0; k < work.rows.rank; ++k) {  // contiguous in dst
    const std::int64_t unit = work.element_bytes / work.form.word_bytes;
    EXPECT_EQ(work.rows.axes[k].dst_stride,
              k == 0 ? unit : work.rows.axes[k - 1].dst_stride * work.rows.axes[k - 1].extent)
        << text;
  }
  if (family == "box") {
    EXPECT_LE(work.rows.total * work.cols.total * work.form.word_bytes, tuning_for(usual).box_bytes) << text;
    EXPECT_EQ(work.units, work.outer.total) << text;
    return;
  }
  for (int k = 1; k < work.cols.rank; ++k) {  // of one pitch in src
    EXPECT_EQ(work.cols.axes[k].src_stride, work.cols.axes[k - 1].src_stride * work.cols.axes[k - 1].extent) << text;
  }
  if (family == "cached") {
    EXPECT_EQ(work.rows.rank, 1) << text;
    EXPECT_EQ(work.cols.rank, 1) << text;
    EXPECT_EQ(work.cols.axes[0].src_stride, 1) << text;
    EXPECT_EQ(work.units, work.outer.total) << text;
    return;
  }
  if (family == "stream") {
    EXPECT_EQ(work.src_col_bytes, work.element_bytes) << text;
  }
  EXPECT_EQ(work.units, work.outer.total * work.panels() * work.row_chunks()) << text;
  EXPECT_GE(work.panel, 1) << text;
  EXPECT_GE(work.group, 1) << text;
  EXPECT_GE(work.row_chunk, 1) << text;
  if (work.packed) {
    EXPECT_EQ(work.row_chunks(), 1) << text;
    return;
  }
  EXPECT_TRUE(work.row_chunk == work.rows.total || work.row_chunk % work.group == 0) << text;
  EXPECT_TRUE(work.group == work.rows.total || work.group * work.element_bytes >= 64) << text;
}

TEST(units, cover_everything_whatever_the_threads_are) {
  for (const std::int64_t element_bytes : testing::element_sizes) {
    testing::for_each_problem(element_bytes, 3, 1, usual, [&](const problem& what) {
      for (const int threads : {1, 7}) expect_sane(what, choose_for(what, {.threads = threads, .kernel = {}}), threads);
    });
  }
}

// A plan needs no data, so these problems have real sizes.
TEST(units, cover_large_problems) {
  for (const std::int64_t element_bytes : testing::element_sizes) {
    for (const std::int64_t rows : {2, 3, 17, 999, 4096, 50021, 1 << 20}) {
      for (const std::int64_t cols : {2, 5, 16, 1000, 8192, 50021, 1 << 20}) {
        for (const int threads : {1, 2, 3, 16, 64, 192}) {
          for (const problem& what :
               {transpose_problem(rows, cols, element_bytes),
                transpose_problem(rows, cols, element_bytes, cols + 1, rows + 3),
                batched(transpose_problem(rows, cols, element_bytes), 5, rows * cols, rows * cols)}) {
            const choice made = choose_for(what, {.threads = threads, .kernel = {}});
            expect_sane(what, made, threads);
          }
        }
      }
    }
  }
}

TEST(units, more_threads_than_any_machine_has) {
  const int threads = std::numeric_limits<int>::max();
  for (const problem& what :
       {transpose_problem(std::int64_t{1} << 30, std::int64_t{1} << 30, 4),
        transpose_problem(7, std::int64_t{1} << 40, 4), transpose_problem(std::int64_t{1} << 40, 7, 12)}) {
    expect_sane(what, choose_for(what, {.threads = threads, .kernel = {}}), threads);
  }
}

// Problems of 2^63 - 1 bytes are allowed, so the planner must not compute twice their bytes.
TEST(units, the_largest_problems) {
  const std::int64_t half = std::int64_t{1} << 61;
  for (const problem& what :
       {transpose_problem(half, 2, 1), transpose_problem(2, half, 1), transpose_problem(half / 4, 7, 2),
        transpose_problem(3, half / 4, 4), strided(1, {{INT64_MAX, 1, 1}}), strided(1, {{INT64_MAX - 1, 0, 1}}),
        strided(1, {{4, half, 2}, {2, 1, 1}}), strided(1, {{4, 3, half}, {3, 1, 1}}),
        strided(1, {{3, half, 1}, {3, half / 2, 4}})}) {
    for (const int threads : {1, 16}) {
      SCOPED_TRACE(testing::to_text(what));
      const choice made = choose_for(what, {.threads = threads, .kernel = {}});
      ASSERT_NE(made.kernel, nullptr);
      EXPECT_GT(made.work.units, 0);
    }
  }
}

}  // namespace
}  // namespace cornerturn::planning::choose_test
