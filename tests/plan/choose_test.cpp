#include "plan/choose.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "api/check.hpp"
#include "kernels/cpu/copy/args.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/cpu/stream/args.hpp"

namespace cornerturn::planning::choose_test {
namespace {

using kernels::cpu::blocking;
using kernels::cpu::blocking_of;
using testing::permuted;
using testing::strided;

using base::simd_target;

// Machines of their own, so that no choice depends on the computer that runs the test.
base::machine with(std::int64_t l2_bytes, bool amd = false, simd_target simd = simd_target::avx512_vbmi) {
  return testing::machine_with(l2_bytes, amd, simd);
}
base::machine with(base::machine one, simd_target simd) {
  one.simd = simd;
  return one;
}
constexpr simd_target targets[] = {simd_target::neon, simd_target::sse4, simd_target::avx2, simd_target::avx512,
                                   simd_target::avx512_vbmi};

const base::machine usual = with(512 << 10);  // it takes the constants of `generic`

kernels::offer choose_for(const problem& what, const cpu_request& wanted = {}, const base::machine& machine = usual) {
  api::check(what);
  return choose(map::canonicalize(what), wanted, machine);
}

std::string row_for(const problem& what, const base::machine& machine = usual) {
  return choose_for(what, {}, machine).row->name;
}

void expect_row(const problem& what, const std::string& row, const base::machine& machine = usual) {
  const kernels::offer made = choose_for(what, {}, machine);
  ASSERT_NE(made.row, nullptr);
  EXPECT_EQ(made.row->name, row) << testing::to_text(what);
  EXPECT_STRNE(made.reason, "");
  EXPECT_EQ(made.time > 0, !map::canonicalize(what).empty) << testing::to_text(what);
}

// L2 of 2 MiB.
const base::machine with_larger_l2 = with(2 << 20);
const base::machine zen3 = with(512 << 10, true);
const base::machine zen4 = with(1 << 20, true);

TEST(short_runs, tile_the_orders_of_dst_and_src) {
  // tokens x heads x 128 to heads x tokens x 128: eight tokens of a head, then of the next one
  for (const base::machine& machine : {with_larger_l2, zen4}) {
    const kernels::offer made = choose_for(permuted({8, 2048, 32, 128}, {0, 2, 1, 3}, 2), {}, machine);
    ASSERT_STREQ(made.row->name, "cpu_copy_runs");
    const kernels::fused_axes& outer = made.as<kernels::cpu::copy::runs_args>().outer;
    ASSERT_EQ(outer.rank, 4);
    EXPECT_EQ(outer.axes[1].extent, 256);
    EXPECT_EQ(outer.axes[2].extent, 32);
    EXPECT_EQ(outer.axes[3].extent, 8);
    EXPECT_EQ(outer.axes[1].src_stride, 8 * outer.axes[3].src_stride);
    EXPECT_EQ(outer.axes[1].dst_stride, 8 * outer.axes[3].dst_stride);
    EXPECT_EQ(outer.total, 8 * 2048 * 32);
  }
}

TEST(short_runs, stay_in_the_order_of_dst_where_nothing_divides_them_or_they_are_long) {
  const auto tiled = [](const problem& what, const base::machine& machine) {
    const kernels::offer made = choose_for(what, {}, machine);
    EXPECT_STREQ(made.row->name, "cpu_copy_runs");
    return made.as<kernels::cpu::copy::runs_args>().outer.rank == 4;
  };
  EXPECT_FALSE(tiled(permuted({8, 2039, 32, 128}, {0, 2, 1, 3}, 2), with_larger_l2)) << "prime";
  EXPECT_FALSE(tiled(permuted({8, 2048, 32, 1024}, {0, 2, 1, 3}, 2), with_larger_l2));
  EXPECT_FALSE(tiled(permuted({4, 20, 3, 128}, {0, 2, 1, 3}, 2), with_larger_l2)) << "in cache";
  EXPECT_FALSE(tiled(permuted({8, 2048, 32, 128}, {0, 2, 1, 3}, 2), usual)) << "another machine";
}

TEST(pages, are_fetched_ahead_where_src_is_read_in_order) {
  const auto by_pages = [](const problem& what) {
    const kernels::offer made = choose_for(what, {}, with_larger_l2);
    const blocking* const work = blocking_of(made);
    return work != nullptr && work->prefetches_pages;
  };
  EXPECT_TRUE(by_pages(transpose_problem(1000000, 3, 4)));
  EXPECT_TRUE(by_pages(transpose_problem(300000, 64, 4)));
  EXPECT_TRUE(by_pages(permuted({100000, 8, 8}, {0, 2, 1}, 4)));
  EXPECT_TRUE(by_pages(permuted({10000, 32, 32}, {0, 2, 1}, 4)));
  EXPECT_FALSE(by_pages(transpose_problem(3, 1000000, 4))) << "three streams";
  EXPECT_FALSE(by_pages(transpose_problem(3000, 5000, 4))) << "panels of columns";
  EXPECT_FALSE(by_pages(strided(4, {{1000000, 5, 1}, {4, 1, 1000000}}))) << "gaps";
}

TEST(register_tile, fills_whole_lines_of_what_stays_in_the_cache) {
  const auto lines = [](const problem& what, const base::machine& machine) {
    return row_for(what, machine).starts_with("cpu_register_tile_lines");
  };
  for (const simd_target simd : targets) {
    const bool registers = kernels::cpu::stores_lines_from_registers(simd);
    for (const std::int64_t word : {1, 2, 4, 8}) {
      const base::machine machine = with(with_larger_l2, simd);
      EXPECT_EQ(lines(transpose_problem(64, 64, word), machine), registers) << name(simd) << ' ' << word;
      EXPECT_EQ(lines(transpose_problem(100, 70, word), machine), registers && word <= 2)
          << "lines that two runs share";
    }
  }
  for (const std::int64_t word : {1, 2, 4, 8}) {
    EXPECT_FALSE(lines(transpose_problem(64, 64, word), usual)) << "another machine";
    EXPECT_FALSE(lines(transpose_problem(64 / word - 1, 128, word, 0, 64), with_larger_l2)) << "no tile is that short";
  }
  EXPECT_FALSE(lines(transpose_problem(64, 64, 16), with_larger_l2));
  EXPECT_FALSE(lines(transpose_problem(4096, 4096, 4), with_larger_l2)) << "not in the cache";
}

// A block is contiguous in src and in dst; items that are neighbours make one block.
TEST(shuffle, takes_small_blocks_of_any_element) {
  for (const simd_target simd : targets) {
    const std::string row = kernels::cpu::selects_bytes(simd) ? "cpu_shuffle_lines" : "cpu_shuffle";
    const base::machine machine = with(zen3, simd);
    expect_row(permuted({187808, 2, 88}, {0, 2, 1}, 1), row, machine);
    expect_row(permuted({5078569, 3, 3}, {0, 2, 1}, 1), row, machine);
    expect_row(permuted({392718, 16, 2}, {0, 2, 1}, 3), row, machine);
    expect_row(permuted({1033767, 6, 2}, {0, 2, 1}, 4), row, machine);
  }
  const problem wide = permuted({2000, 64, 64}, {0, 2, 1}, 1);  // 4096 bytes
  for (const kernels::offer& one : offers(map::canonicalize(wide), {.threads = 1}, zen3)) {
    EXPECT_NE(one.row->name, std::string_view("cpu_shuffle"));
  }
}

TEST(shuffle, has_room_for_the_lines_of_all_phases) {
  const auto by_lines = [](const problem& what, simd_target simd = simd_target::avx512_vbmi) {
    const auto all = offers(map::canonicalize(what), {.threads = 1}, with(zen4, simd));
    return std::any_of(all.begin(), all.end(), [](const kernels::offer& one) {
      return one.row->name == std::string_view("cpu_shuffle_lines");
    });
  };
  for (const simd_target simd : targets) {
    const bool can = kernels::cpu::selects_bytes(simd);
    EXPECT_EQ(by_lines(permuted({15625, 128, 4}, {0, 2, 1}, 1), simd), can);
    EXPECT_EQ(by_lines(permuted({29867, 20, 3}, {0, 2, 1}, 3), simd), can);
  }
  EXPECT_FALSE(by_lines(permuted({29867, 55, 3}, {0, 2, 1}, 3))) << "495 phases, most of them with two windows or more";
  EXPECT_FALSE(by_lines(strided(1, {{3906, 4097, 4097}, {8, 512, 512}, {4, 1, 128}, {128, 4, 1}})))
      << "runs begin anywhere in a line";
}

TEST(rows, nothing_to_move) {
  expect_row(transpose_problem(0, 5, 4), "cpu_copy");
  expect_row(transpose_problem(5, 0, 3), "cpu_copy");
  EXPECT_EQ(choose_for(transpose_problem(0, 5, 4)).units, 0);
  EXPECT_EQ(choose_for(transpose_problem(0, 5, 4), {.kernel = "cpu_reference"}).units, 0);
}

TEST(rows, one_contiguous_run) {
  expect_row(problem{.element_bytes = 4}, "cpu_copy");
  expect_row(permuted({3, 5, 7}, {0, 1, 2}, 12), "cpu_copy");
  expect_row(transpose_problem(1, 1000, 8), "cpu_copy");
  expect_row(transpose_problem(1000, 1, 8), "cpu_copy");
}

TEST(rows, short_inner_runs_are_wide_elements) {
  for (const std::int64_t element_bytes : {5, 7, 40, 48})
    expect_row(transpose_problem(1000, 1000, element_bytes), "cpu_gather");
  for (const std::int64_t element_bytes : {3, 6, 12, 24}) {
    for (const simd_target simd : targets) {
      const bool registers = kernels::cpu::turns_in_registers(simd, element_bytes);
      expect_row(transpose_problem(1000, 1000, element_bytes), registers ? "cpu_stream_elements" : "cpu_gather",
                 with(usual, simd));
    }
  }
  const kernels::offer made = choose_for(transpose_problem(100, 100, 24), {.kernel = "cpu_gather"});
  const blocking& work = *blocking_of(made);
  EXPECT_EQ(work.element_bytes, 24);
  EXPECT_EQ(work.rows.total, 100);
  EXPECT_EQ(work.cols.total, 100);
  EXPECT_EQ(work.src_col_bytes, 24);
}

// Rows of few columns that are contiguous in src are loaded several at a time.
TEST(rows, short_rows_of_wide_elements_are_folded) {
  const auto folded = [](const problem& what) {
    const kernels::offer made = choose_for(what, {.kernel = "cpu_stream_elements"}, zen4);
    EXPECT_STREQ(made.row->name, "cpu_stream_elements") << testing::to_text(what);
    return made.as<kernels::cpu::stream::elements_args>().folded;
  };
  EXPECT_EQ(folded(transpose_problem(1000000, 2, 6)), 4);
  EXPECT_EQ(folded(transpose_problem(1000000, 3, 6)), 2);
  EXPECT_EQ(folded(transpose_problem(1000000, 5, 6)), 1);
  EXPECT_EQ(folded(transpose_problem(1000000, 2, 12)), 2);
  EXPECT_EQ(folded(transpose_problem(1000000, 2, 16)), 2);
  EXPECT_EQ(folded(transpose_problem(1000000, 3, 16)), 1);
  EXPECT_EQ(folded(transpose_problem(1000000, 2, 6, 3, 0)), 1) << "gaps between rows";
}

TEST(step, takes_views_alone) {
  const auto takes = [](const problem& what) {
    const auto all = offers(map::canonicalize(what), {.threads = 1}, with_larger_l2);
    return std::any_of(all.begin(), all.end(),
                       [](const kernels::offer& one) { return std::string_view(one.row->family) == "step"; });
  };
  for (const std::int64_t step : {-16, -3, -2, -1, 0, 2, 3, 5, 16}) {
    for (const int bytes : {1, 2, 4, 8, 16}) EXPECT_TRUE(takes(strided(bytes, {{100000, step, 1}}))) << step;
  }
  EXPECT_TRUE(takes(strided(3, {{100000, -1, 1}})));
  EXPECT_TRUE(takes(strided(1, {{100000, 1, 4}, {3, 100000, 1}}))) << "planes into pixels with a fourth channel";
  EXPECT_TRUE(takes(strided(4, {{100000, 1, 2}})));
  EXPECT_FALSE(takes(transpose_problem(3000, 3000, 4)));
  EXPECT_FALSE(takes(transpose_problem(3, 100000, 1)));
  EXPECT_FALSE(takes(transpose_problem(100000, 3, 1)));
  EXPECT_FALSE(takes(permuted({30, 40, 50, 60}, {2, 0, 3, 1}, 2)));
  EXPECT_FALSE(takes(strided(4, {{100, 2000, 1000}, {1000, 1, 1}}))) << "long runs with gaps behind them";
  EXPECT_FALSE(takes(strided(1, {{100, 0, 1000}, {1000, 1, 1}}))) << "one row again and again";
}

TEST(rows, dst_fits_the_cache) {
  for (const int word : {1, 2, 4, 8, 16}) {
    expect_row(transpose_problem(64, 64, word), "cpu_register_tile_b" + std::to_string(word));
  }
}

// Bits of an index in another order: on neither side do its own axes fill a line.
problem bits_in_another_order(std::int64_t element_bytes) {
  return permuted({2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
                  {1, 3, 5, 7, 9, 11, 13, 15, 2, 6, 10, 14, 0, 4, 8, 12}, element_bytes);
}

TEST(rows, stores_are_non_temporal_from_the_cached_limit_on) {
  const std::int64_t limit = kernels::cpu::cached_limit_bytes(usual);
  const kernels::offer fits = choose_for(transpose_problem(64, limit / 64, 1), {.kernel = "cpu_stream_lines_b1"});
  EXPECT_FALSE(blocking_of(fits)->streaming);
  const kernels::offer larger = choose_for(transpose_problem(64, limit / 64 + 1, 1));
  EXPECT_TRUE(blocking_of(larger)->streaming);
  EXPECT_EQ(row_for(transpose_problem(64, limit / 64, 1)), "cpu_register_tile_b1");
}

TEST(rows, a_broadcast_leaves_the_l2_to_dst) {
  const auto streams = [](std::int64_t rows, std::int64_t cols, std::int64_t src_stride) {
    problem what = transpose_problem(rows, cols, 4);
    what.axes = {{{rows, src_stride, cols}, {cols, 1, 1}}};
    const kernels::offer made = choose_for(what, {.kernel = "cpu_copy_runs"}, with(2 << 20));
    return made.as<kernels::cpu::copy::runs_args>().streaming;
  };
  EXPECT_FALSE(streams(300, 1500, 0)) << "6 KB of src and 1.8 MB of dst fit in 2 MiB";
  EXPECT_TRUE(streams(300, 1500, 1600)) << "src has 1.8 MB";
  EXPECT_TRUE(streams(400, 1500, 0)) << "2.4 MB of dst";
}

TEST(rows, every_row_is_the_cheapest_for_some_problem) {
  std::set<std::string> reached;
  for (const kernels::kernel& row : kernels::all()) {
    if (std::string_view(row.family) == "reference") reached.insert(row.name);  // by name only
  }
  const auto reach = [&](const problem& what) {
    for (const base::machine& machine : {usual, with(0), with(512 << 10, true), zen4, with_larger_l2}) {
      reached.insert(choose_for(what, {}, machine).row->name);
    }
  };
  for (const std::int64_t element_bytes : testing::element_sizes) {
    reach(transpose_problem(64, 64, element_bytes));
    reach(transpose_problem(3008, 3008, element_bytes));
    reach(transpose_problem(3001, 3001, element_bytes));
    reach(bits_in_another_order(element_bytes));
    reach(batched(transpose_problem(4, 4, element_bytes), 1000000, 16, 16));
    for (const std::int64_t few : {3, 5, 7, 20}) {
      reach(transpose_problem(few, 1000000, element_bytes));
      reach(transpose_problem(1000000, few, element_bytes));
    }
    reach(transpose_problem(64 / element_bytes, 1000000, element_bytes));
    reach(batched(transpose_problem(20, 30, element_bytes), 100000, 600, 600));
    reach(batched(transpose_problem(30, 5, element_bytes), 100000, 150, 150));
    reach(batched(transpose_problem(12, 12, element_bytes), 100000, 144, 144));
    reach(batched(transpose_problem(6, 12, element_bytes), 100000, 72, 72));
    reach(batched(transpose_problem(24, 20, element_bytes), 100000, 480, 480));
    reach(batched(transpose_problem(3, 5, element_bytes), 1000000, 15, 15));
    reach(batched(transpose_problem(3, 5, element_bytes), 1000000, 17, 15));
    reach(batched(transpose_problem(6, 12, element_bytes), 100000, 75, 72));
  }
  reach(strided(16, {{1000000, 1, 8}, {7, 1000000, 1}}));
  reach(problem{.element_bytes = 1});
  reach(permuted({5, 6, 1024}, {1, 0, 2}, 1));
  reach(permuted({100000, 7, 5, 3}, {0, 2, 1, 3}, 1));
  reach(permuted({20000, 20, 60, 3}, {0, 2, 1, 3}, 1));
  reach(permuted({70, 22, 52, 4, 12}, {2, 0, 1, 4, 3}, 1));
  reach(permuted({64, 8, 32, 2, 64, 3, 3}, {3, 2, 4, 1, 6, 0, 5}, 1));
  reach(strided(4, {{100, 1, 3}}));
  reach(strided(4, {{3000, 2, 3000}, {3000, 6000, 1}}));
  reach(strided(4, {{30000, -2, 20}, {20, 60000, 1}}));
  reach(strided(12, {{3000, 2, 3000}, {3000, 6000, 1}}));
  reach(strided(4, {{3, std::int64_t{1} << 58, 3}}));  // more than an address space
  for (const kernels::kernel& row : kernels::all()) {
    if (row.run != nullptr && row.kind == kernels::row_kind::move) {
      EXPECT_TRUE(reached.contains(row.name)) << row.name;
    }
  }
}

TEST(offers, are_sorted_and_the_first_is_chosen) {
  for (const problem& what : {transpose_problem(3000, 3001, 4), transpose_problem(64, 64, 4),
                              transpose_problem(1000000, 3, 1), permuted({8, 2048, 32, 64}, {0, 2, 1, 3}, 2)}) {
    const std::vector<kernels::offer> all = offers(map::canonicalize(what), {.threads = 2}, usual);
    ASSERT_GE(all.size(), 2U);
    EXPECT_EQ(all.front().row, choose_for(what, {.threads = 2}).row);
    for (std::size_t k = 0; k < all.size(); ++k) {
      EXPECT_GT(all[k].time, 0) << all[k].row->name;
      EXPECT_STRNE(all[k].reason, "") << all[k].row->name;
      EXPECT_STRNE(kernels::name(all[k].binds), "");
      EXPECT_STRNE(all[k].row->family, "reference");
      if (k > 0) {
        EXPECT_LE(all[k - 1].time, all[k].time);
      }
    }
  }
}

TEST(offers, of_a_forced_row_are_its_own) {
  const map::canonical form = map::canonicalize(transpose_problem(3000, 3001, 4));
  for (const char* row : {"cpu_gather", "cpu_reference", "cpu_stream_panels_b4"}) {
    const std::vector<kernels::offer> all = offers(form, {.kernel = row}, usual);
    ASSERT_EQ(all.size(), 1U) << row;
    EXPECT_STREQ(all[0].row->name, row);
  }
}

TEST(forced, a_row_for_another_word_is_refused) {
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.kernel = "cpu_stream_lines_b8"}).row, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.kernel = "cpu_register_tile_b1"}).row, nullptr);
}

TEST(forced, a_row_that_cannot_move_the_problem_is_refused) {
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.kernel = "cpu_copy"}).row, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.kernel = "cpu_copy_runs"}).row, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(2, 2, 4), {.kernel = "cpu_register_tile_b4"}).row, nullptr);
  EXPECT_EQ(choose_for(strided(4, {{100, 1, 3}}), {.kernel = "cpu_stream_lines_b4"}).row, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(64, 64, 4), {.kernel = "no_such_row"}).row, nullptr);
}

TEST(forced, every_row_is_taken_at_its_word) {
  const problem what = transpose_problem(64, 64, 4);
  for (const char* row :
       {"cpu_reference", "cpu_register_tile_b4", "cpu_stream_lines_b4", "cpu_gather", "cpu_gather_strided"}) {
    const kernels::offer made = choose_for(what, {.kernel = row});
    ASSERT_NE(made.row, nullptr) << row;
    EXPECT_STREQ(made.row->name, row);
  }
}

}  // namespace
}  // namespace cornerturn::planning::choose_test
