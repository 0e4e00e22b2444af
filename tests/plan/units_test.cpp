// The arguments and the units of every offer of a CPU row: they cover the problem, as the kernels assume.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "kernels/cpu/copy/args.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/cpu/gather/args.hpp"
#include "kernels/cpu/register_tile/args.hpp"
#include "kernels/cpu/shuffle/args.hpp"
#include "kernels/cpu/split.hpp"
#include "kernels/cpu/step/args.hpp"
#include "plan/choose.hpp"

namespace cornerturn::planning::units_test {
namespace {

using kernels::cpu::blocking;
using kernels::cpu::blocking_of;
using testing::strided;

const base::machine usual = testing::machine_with(1 << 20);

std::int64_t total(const kernels::fused_axes& one) {
  std::int64_t product = 1;
  for (int k = 0; k < one.rank; ++k) product *= one.axes[static_cast<std::size_t>(k)].extent;
  return product;
}

// The assumptions of the kernels about their arguments.
void expect_sane(const problem& what, const kernels::offer& made, int threads) {
  const std::string text = testing::to_text(what) + " for " + std::to_string(threads) + " threads: " + made.row->name;
  const map::canonical form = map::canonicalize(what);
  const std::int64_t bytes = map::words(form) * form.word_bytes;
  EXPECT_GE(made.threads, 1) << text;
  EXPECT_LE(made.threads, threads) << text;
  EXPECT_LE(made.threads, std::max<std::int64_t>(made.units, 1)) << text;
  const std::string_view family = made.row->family, row = made.row->name;
  if (row == "cpu_copy") return;
  if (row == "cpu_copy_runs") {
    const auto& work = made.as<kernels::cpu::copy::runs_args>();
    EXPECT_EQ(work.run_bytes * total(work.outer), bytes) << text;
    EXPECT_EQ(made.units, total(work.outer)) << text;
    EXPECT_EQ(total(work.read_order), made.units) << text;
    return;
  }
  if (row == "cpu_copy_elements") {
    const auto& work = made.as<kernels::cpu::copy::elements_args>();
    EXPECT_EQ(work.element_bytes * work.extent * work.rows * work.blocks * total(work.outer), bytes) << text;
    EXPECT_EQ(made.units * work.element_bytes, bytes) << text;
    return;
  }
  if (row == "cpu_gather_strided") {
    EXPECT_EQ(made.units, total(made.as<kernels::cpu::gather::strided_args>().outer)) << text;
    return;
  }
  if (family == "shuffle") {
    const auto& work = made.as<kernels::cpu::shuffle::args>();
    EXPECT_EQ(work.rows > 0 ? work.rows * work.src_item_bytes : work.inner.total * work.word_bytes, work.item_bytes)
        << text;
    EXPECT_EQ(total(work.inner), work.inner.total) << text;
    EXPECT_EQ(total(work.outer), made.units) << text;
    const std::int64_t blocks =
        work.outer.rank == 0 ? 1 : work.outer.axes[static_cast<std::size_t>(work.outer.rank - 1)].extent;
    EXPECT_EQ(made.units / blocks * ((blocks - 1) * work.items + work.last_items) * work.item_bytes, bytes) << text;
    if (row != "cpu_shuffle") {
      EXPECT_LE(work.item_bytes, kernels::cpu::most_item) << text;
      EXPECT_EQ(work.src_end_bytes, map::src_span(form).hi - form.src_offset * form.word_bytes) << text;
      return;
    }
    EXPECT_GE(work.items * work.item_bytes, kernels::cpu::shuffle::chunk_bytes) << text;
    EXPECT_LE(work.items * work.item_bytes, kernels::cpu::shuffle::most_block) << text;
    return;
  }
  if (family == "register_tile") {
    const auto& work = made.as<kernels::cpu::register_tile::args>();
    EXPECT_EQ(work.rows * work.cols * total(work.outer) * work.word_bytes, bytes) << text;
    EXPECT_EQ(made.units, work.outer.total) << text;
    return;
  }
  if (row == "cpu_step_runs") {
    const auto& work = made.as<kernels::cpu::step::runs_args>();
    const std::int64_t units = total(work.outer);
    EXPECT_EQ(made.units, units) << text;
    EXPECT_EQ(units % (work.pieces * work.inside), 0) << text;
    const std::int64_t indices = units / work.pieces * ((work.pieces - 1) * work.piece + work.last);
    EXPECT_EQ(indices * work.inner.total * work.word_bytes, bytes) << text;
    EXPECT_TRUE(work.pieces == 1 || work.piece % work.tile == 0) << text;
    EXPECT_LE(work.blocks.windows, kernels::cpu::step::most_windows) << text;
    return;
  }
  if (row == "cpu_gather_box") {
    const auto& work = made.as<kernels::cpu::gather::box_args>();
    EXPECT_LE(work.pitch * work.runs.total, kernels::cpu::costs_of(usual).box_bytes) << text;
    EXPECT_EQ(made.units, total(work.outer)) << text;
    if (made.units > 1 << 16) return;
    std::int64_t moved = 0;
    for (std::int64_t unit = 0; unit < made.units; ++unit) {
      const kernels::cpu::gather::box_extents box(work, unit);
      EXPECT_EQ(box.rows * box.cols * work.element_bytes, box.runs * box.run_bytes)
          << text;  // as many bytes are stored as are loaded
      moved += box.runs * box.run_bytes;
    }
    EXPECT_EQ(moved, bytes) << text;
    return;
  }
  ASSERT_NE(blocking_of(made), nullptr) << text;
  const blocking& work = *blocking_of(made);
  EXPECT_EQ(work.src_end_bytes, map::src_span(form).hi - form.src_offset * form.word_bytes) << text;
  EXPECT_EQ(work.outer.total, total(work.outer)) << text;
  EXPECT_EQ(work.rows.total, total(work.rows)) << text;
  EXPECT_EQ(work.cols.total, total(work.cols)) << text;
  EXPECT_EQ(work.rows.total * work.cols.total * work.outer.total * work.element_bytes, bytes) << text;
  for (int k = 0; k < work.rows.rank; ++k) {  // contiguous in dst
    const auto at = static_cast<std::size_t>(k);
    const std::int64_t unit = work.element_bytes / work.word_bytes;
    const bool first = k == 0 && row != "cpu_step_panels";  // its rows may have gaps between them
    EXPECT_EQ(work.rows.axes[at].dst_stride, first ? unit
                                             : k == 0
                                                 ? work.rows.axes[at].dst_stride
                                                 : work.rows.axes[at - 1].dst_stride * work.rows.axes[at - 1].extent)
        << text;
  }
  for (std::size_t k = 1; k < static_cast<std::size_t>(work.cols.rank); ++k) {  // of one pitch in src
    EXPECT_EQ(work.cols.axes[k].src_stride, work.cols.axes[k - 1].src_stride * work.cols.axes[k - 1].extent) << text;
  }
  if (family != "gather" && family != "step") {
    EXPECT_EQ(work.src_col_bytes, work.element_bytes) << text;
  }
  EXPECT_EQ(made.units, work.units()) << text;
  EXPECT_GE(work.panel, 1) << text;
  EXPECT_GE(work.group, 1) << text;
  EXPECT_GE(work.row_chunk, 1) << text;
  if (family == "end_to_end" || family == "short_wide" || row == "cpu_gather_packed" || row == "cpu_step_packed") {
    EXPECT_EQ(work.row_chunks(), 1) << text;
    EXPECT_TRUE(kernels::cpu::columns_end_to_end(work)) << text;
    return;
  }
  EXPECT_TRUE(work.row_chunk == work.rows.total || work.row_chunk % work.group == 0) << text;
  EXPECT_TRUE(work.group == work.rows.total || work.group * work.element_bytes >= 64) << text;
}

// Every row that accepts the problem, not the cheapest alone.
void expect_sane_offers(const problem& what, int threads) {
  for (const kernels::offer& one : offers(map::canonicalize(what), {.threads = threads}, usual)) {
    expect_sane(what, one, threads);
  }
}

TEST(units, cover_everything_whatever_the_threads_are) {
  for (const std::int64_t element_bytes : testing::element_sizes) {
    testing::for_each_problem(element_bytes, 3, 1, usual, [&](const problem& what) {
      for (const int threads : {1, 7}) expect_sane_offers(what, threads);
    });
  }
}

// A plan needs no data, so these problems have real sizes.
TEST(units, cover_large_problems) {
  int number = 0;
  for (const std::int64_t element_bytes : testing::element_sizes) {
    for (const std::int64_t rows : {2, 3, 17, 999, 4096, 50021, 1 << 20}) {
      for (const std::int64_t cols : {2, 5, 16, 1000, 8192, 50021, 1 << 20}) {
        if (!testing::keeps(number++)) continue;
        for (const int threads : {1, 2, 3, 16, 64, 192}) {
          for (const problem& what :
               {transpose_problem(rows, cols, element_bytes),
                transpose_problem(rows, cols, element_bytes, cols + 1, rows + 3),
                batched(transpose_problem(rows, cols, element_bytes), 5, rows * cols, rows * cols)}) {
            expect_sane_offers(what, threads);
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
    expect_sane(what, choose(map::canonicalize(what), {.threads = threads}, usual), threads);
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
      const kernels::offer made = choose(map::canonicalize(what), {.threads = threads}, usual);
      ASSERT_NE(made.row, nullptr);
      EXPECT_GT(made.units, 0);
    }
  }
}

// No address space holds such a problem, so no offer may compute with its strides: only rows that take any stride answer.
TEST(units, problems_beyond_any_address_space) {
  const std::int64_t far = std::int64_t{1} << 62;
  for (const problem& what : {strided(1, {{3, 1, 1}, {2, 3, far}}), strided(1, {{3, 1, 1}, {2, far, 3}}),
                              strided(1, {{2, -far, 2}, {2, 1, 1}}), transpose_problem(far / 2, 2, 1)}) {
    SCOPED_TRACE(testing::to_text(what));
    const map::canonical form = map::canonicalize(what);
    EXPECT_FALSE(fits_address_space(form));
    for (const kernels::offer& one : offers(form, {.threads = 16}, usual)) {
      EXPECT_STREQ(one.row->name, "cpu_gather_strided");
      EXPECT_GT(one.units, 0);
    }
    EXPECT_EQ(offers(form, {.threads = 16}, usual).size(), 1U);
    EXPECT_EQ(choose(form, {.kernel = "cpu_stream_lines_b1"}, usual).row, nullptr);
    EXPECT_EQ(
        choose(kernels::facts_of(form), target_of({.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10}), {})
            .row,
        nullptr);
  }
  EXPECT_TRUE(
      fits_address_space(map::canonicalize(transpose_problem(std::int64_t{1} << 28, std::int64_t{1} << 28, 1))));
}

}  // namespace
}  // namespace cornerturn::planning::units_test
