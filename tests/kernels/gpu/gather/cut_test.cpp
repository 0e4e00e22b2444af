// The assumptions of gather/kernel.cuh about a gather box. tests/emulate runs the kernels.
#include "kernels/gpu/gather/cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "../../cases.hpp"
#include "../../oracle.hpp"
#include "base/checked.hpp"

namespace cornerturn::gpu {
namespace {

using base::ceil_div;

constexpr std::int64_t most_shared_bytes = 227 << 10;

// The sum over axes[first, last) of index times stride, with the indices of a linear index.
template <class Stride>
std::int64_t sum(const gather_axis* axes, int first, int last, std::int64_t index, const Stride& stride) {
  std::int64_t offset = 0;
  for (int k = first; k < last; ++k) {
    offset += index % axes[k].tile.divisor * stride(axes[k]);
    index /= axes[k].tile.divisor;
  }
  EXPECT_EQ(index, 0);
  return offset;
}
std::int64_t src_stride(const gather_axis& one) { return one.src_stride_bytes; }
std::int64_t dst_stride(const gather_axis& one) { return one.dst_stride_bytes; }
std::int64_t smem_stride(const gather_axis& one) { return one.smem_stride; }

// The lowest byte offset of a whole box whose index 0 has offset 0.
std::int64_t lowest(const gather_axis* axes, int rank, std::int64_t gather_axis::*stride) {
  std::int64_t offset = 0;
  for (int k = 0; k < rank; ++k) {
    if (axes[k].from_end != 0) offset -= (axes[k].tile.divisor - 1) * (axes[k].*stride);
  }
  return offset;
}

// The source of each element of dst, as byte offsets from the addresses of index 0.
std::map<std::int64_t, std::int64_t> moves_of(const map::canonical& form) {
  std::map<std::int64_t, std::int64_t> src_of;
  for (std::int64_t i = 0; i < map::words(form); ++i) {
    const map::offsets at = map::at(form, i);
    src_of[(at.dst - form.dst_offset) * form.word_bytes] = (at.src - form.src_offset) * form.word_bytes;
  }
  return src_of;
}

void expect_whole(const map::canonical& form, const box& cut, int alignment, const std::string& text) {
  SCOPED_TRACE(text);
  const gather_args& args = cut.args;
  const std::int64_t word = form.word_bytes;
  const std::int64_t unit = std::max<std::int64_t>(word, 4);

  // Lists: runs x run_elements on one side, lines x line_elements on the other.
  const auto extent = [](const gather_axis* axes, int first, int last) {
    std::int64_t product = 1;
    for (int k = first; k < last; ++k) product *= axes[k].tile.divisor;
    return product;
  };
  ASSERT_LE(args.src_rank, gpu::max_gather_axes);
  ASSERT_LE(args.dst_rank, gpu::max_gather_axes);
  ASSERT_EQ(extent(args.src_axes, 0, args.run_axes), args.run_elements);
  ASSERT_EQ(extent(args.src_axes, args.run_axes, args.src_rank), args.runs);
  ASSERT_EQ(extent(args.dst_axes, 0, args.line_axes), args.line_elements);
  ASSERT_EQ(extent(args.dst_axes, args.line_axes, args.dst_rank), args.lines);
  const auto expect_count = [&](const gather_count& count, std::int64_t all) {
    EXPECT_EQ(count.slot < 0 ? count.each : count.each * args.blocks.tile[count.slot], all);
  };
  expect_count(args.run_element_count, args.run_elements);
  expect_count(args.run_count, args.runs);
  expect_count(args.line_element_count, args.line_elements);
  expect_count(args.line_count, args.lines);

  // Sizes: the box, its lookup tables, the work of the warps.
  const bool packed = word < 4 && args.line_is_contiguous != 0;
  const std::int64_t of_word = packed ? 4 / word : 1;  // elements that a lane gathers at once
  std::int64_t tables = 8 * args.runs + 12 * args.lines + 4 * std::int64_t{args.smem_entries};
  if (args.run_is_contiguous == 0) tables += 8 * args.run_elements;
  if (args.line_is_contiguous == 0) tables += 8 * std::int64_t{args.piece.divisor};
  EXPECT_LE(args.tables + tables, cut.shared_bytes);
  EXPECT_LE(cut.shared_bytes, most_shared_bytes);
  EXPECT_GE(args.smem_entries, packed ? args.line_shifts * of_word * args.piece.divisor : args.piece.divisor);
  EXPECT_EQ(args.tables % 16, 0);
  EXPECT_EQ(args.smem_entries % 2, 0);
  EXPECT_EQ(args.pitch % unit, 0);
  EXPECT_EQ(args.skew % unit, 0);
  const std::int64_t of_chunk = args.in_chunks != 0 ? 16 : args.run_is_contiguous != 0 ? unit : word;
  const std::int64_t before = args.in_chunks != 0 ? 16 - word : 0;  // bytes in front of a run, at most
  EXPECT_EQ(args.pitch % of_chunk, 0);
  EXPECT_EQ(args.skew % of_chunk, 0);
  const std::int64_t rows = args.row_pad == 0 ? 0 : args.run_elements * word / (4 * std::int64_t{args.row.divisor});
  EXPECT_GE(args.pitch, ceil_div(before + args.run_elements * word, of_chunk) * of_chunk + rows * args.row_pad);
  EXPECT_TRUE(args.row_pad == 0 || (word < 4 && args.run_is_contiguous != 0 && args.in_chunks == 0));
  EXPECT_GE((std::int64_t{args.run_chunks.divisor} * gather_steps << args.run_lanes) * of_chunk,
            before + args.run_elements * word);
  const auto room_of_line =
      (std::int64_t{args.line_chunks.divisor} * gather_steps << args.line_lanes) * (packed ? 4 : word);
  EXPECT_GE(room_of_line, args.line_elements * word);
  if (packed && room_of_line < args.line_elements * word + args.line_mask + 1 - word) {  // then lines start with words
    EXPECT_EQ(alignment % 4, 0);
    for (int k = 0; k < args.blocks.rank; ++k) EXPECT_EQ(args.blocks.axes[k].dst_step_bytes % 4, 0);
    for (int k = args.line_axes; k < args.dst_rank; ++k) EXPECT_EQ(args.dst_axes[k].dst_stride_bytes % 4, 0);
    for (int k = 0; k < args.dst_rank; ++k) EXPECT_EQ(args.dst_axes[k].from_end, 0);
  }
  if (std::int64_t{args.piece.divisor} * of_word < args.line_elements) {
    EXPECT_GE(args.piece.divisor, 1 << args.line_lanes);
  }
  for (int k = args.run_axes; k < args.src_rank && args.in_chunks != 0; ++k) {
    EXPECT_EQ(args.src_axes[k].src_stride_bytes % 16, 0);
  }
  for (int k = args.line_axes; k < args.dst_rank && packed && args.line_shifts == 1; ++k) {
    EXPECT_EQ(args.dst_axes[k].dst_stride_bytes % 4, 0);
  }
  if (packed) {
    EXPECT_EQ(args.skew, 0);
  }

  // The grid: all indices of all axes.
  std::int64_t blocks = 1;
  for (int k = 0; k < args.blocks.rank; ++k) blocks *= args.blocks.axes[k].count.divisor;
  EXPECT_EQ(blocks, cut.blocks);
  EXPECT_GE(blocks * args.lines * args.line_elements, map::words(form));

  // Each element: the runs store it at the shared-memory address from which the lines load it.
  const std::map<std::int64_t, std::int64_t> src_of = moves_of(form);
  const std::int64_t src_low = lowest(args.src_axes, args.src_rank, &gather_axis::src_stride_bytes);
  const std::int64_t dst_low = lowest(args.dst_axes, args.dst_rank, &gather_axis::dst_stride_bytes);
  // The shared-memory offsets of each src offset. A src that overlaps itself is loaded, and stored, several times.
  std::map<std::int64_t, std::set<std::int64_t>> stored;
  std::set<std::int64_t> offsets;
  for (std::int64_t run = 0; run < args.runs; ++run) {
    const std::int64_t begin = sum(args.src_axes, args.run_axes, args.src_rank, run, src_stride);
    for (std::int64_t e = 0; e < args.run_elements; ++e) {
      const std::int64_t row = args.row_pad == 0 ? 0 : e * word / (4 * std::int64_t{args.row.divisor});
      const std::int64_t offset = run * args.pitch + before + e * word + row * args.row_pad;
      const std::int64_t skewed = offset + (offset >> 7) * args.skew;
      ASSERT_TRUE(skewed >= 0 && skewed + word <= args.tables && skewed % word == 0);
      ASSERT_TRUE(offsets.insert(skewed).second) << "two elements at one offset";
      stored[begin + sum(args.src_axes, 0, args.run_axes, e, src_stride)].insert(offset);
    }
  }
  std::int64_t corner = before;
  for (int k = 0; k < args.dst_rank; ++k) {
    if (args.dst_axes[k].opposite == 0) continue;
    corner -= (args.dst_axes[k].tile.divisor - 1) * std::int64_t{args.dst_axes[k].smem_stride};
  }
  const std::int64_t size = args.piece.divisor * of_word;
  std::set<std::int64_t> written;
  for (std::int64_t line = 0; line < args.lines; ++line) {
    const std::int64_t begin = sum(args.dst_axes, args.line_axes, args.dst_rank, line, dst_stride);
    const std::int64_t smem = corner + sum(args.dst_axes, args.line_axes, args.dst_rank, line, smem_stride);
    for (std::int64_t e = 0; e < args.line_elements; ++e) {
      const std::int64_t piece = e / size, p = e % size;
      const std::int64_t to = begin + sum(args.dst_axes, 0, args.line_axes, e, dst_stride);
      ASSERT_TRUE(written.insert(to).second);
      if (args.line_is_contiguous != 0) {
        ASSERT_EQ(to, begin + e * word);
      } else {
        ASSERT_EQ(to, begin + piece * args.piece_dst_stride + sum(args.dst_axes, 0, args.line_axes, p, dst_stride));
      }
      const std::int64_t offset =
          smem + piece * args.piece_smem_stride + sum(args.dst_axes, 0, args.line_axes, p, smem_stride);
      const auto from = src_of.find(to + dst_low);
      ASSERT_NE(from, src_of.end()) << "dst byte " << to + dst_low << " is none of the problem's";
      const auto found = stored.find(from->second - src_low);
      ASSERT_NE(found, stored.end()) << "src byte " << from->second << " is in no run";
      ASSERT_TRUE(found->second.contains(offset)) << "line " << line << ", element " << e;
    }
  }
}

kernels::target target_of(const device_costs& tuned, int lanes = 32) {
  kernels::target made;
  made.lanes = lanes;
  made.gpu = &tuned;
  return made;
}

device_costs any_tuning(testing::dice& roll) {
  device_costs tuned = costs_for({.arch = 90});
  if (roll.one_in(3)) return tuned;
  tuned.side_bytes = std::int64_t{4} << roll.below(8);
  for (int k = 0; k < 5; ++k) tuned.gather_bytes[k] = std::int64_t{64 << k} << roll.below(8);
  return tuned;
}

class box_of_words : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(box_of_words, stores_every_element_at_the_offset_from_which_its_line_loads_it) {
  testing::dice roll(static_cast<std::uint64_t>(GetParam()));
  for (int k = 0; k < 150 && !HasFailure(); ++k) {
    const problem what = roll.one_in(2) ? testing::any_permutation(roll, GetParam(), 3000)
                                        : testing::any_strides(roll, GetParam(), 3000);
    const map::canonical form = map::canonicalize(what, GetParam());
    const device_costs tuned = any_tuning(roll);
    const int alignment = std::max(1 << roll.below(5), static_cast<int>(GetParam()));
    const box cut = cut_box(form, most_shared_bytes, alignment, target_of(tuned, roll.one_in(2) ? 32 : 64));
    ASSERT_GT(cut.blocks, 0u) << testing::to_text(what);
    expect_whole(form, cut, alignment, testing::to_text(what) + ", sides of " + std::to_string(tuned.side_bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(words, box_of_words, ::testing::Values(1, 2, 4, 8, 16));

TEST(box, is_made_smaller_until_it_fits_shared_memory) {
  const map::canonical form = map::canonicalize(problem{.element_bytes = 1, .rank = 1, .axes = {{{100000, 2, 2}}}});
  int before = INT32_MAX;
  for (const int room : {200 << 10, 100 << 10, 48 << 10, 16 << 10}) {
    const box cut = cut_box(form, room, 16, target_of(costs_for({.arch = 90})));
    EXPECT_GT(cut.blocks, 0u);
    EXPECT_LE(cut.shared_bytes, room);
    EXPECT_LE(cut.shared_bytes, before);
    before = cut.shared_bytes;
  }
}

// A table has 8 bytes for each element of a run whose elements are apart, so a box of long runs would fill shared memory.
TEST(box, has_short_runs_where_elements_are_apart) {
  const problem views[] = {{.element_bytes = 2, .rank = 2, .axes = {{{76, 4, 116908}, {116908, 304, 1}}}},
                           {.element_bytes = 2, .rank = 2, .axes = {{{12, 8, 1269192}, {1269192, 96, 1}}}}};
  for (const problem& what : views) {
    const box cut = cut_box(map::canonicalize(what), most_shared_bytes, 16, target_of(costs_for({.arch = 90})));
    EXPECT_EQ(cut.args.run_is_contiguous, 0);
    EXPECT_EQ(cut.args.run_elements, what.axes[0].extent);
    EXPECT_LE(cut.shared_bytes, most_shared_bytes / 3) << "three blocks fit a multiprocessor";
  }
}

TEST(box, of_which_a_grid_cannot_have_enough_is_refused) {
  // 2^45 elements whose runs and lines are single elements.
  problem what{.element_bytes = 1, .rank = 3};
  what.axes[0] = {std::int64_t{1} << 15, std::int64_t{1} << 40, 2};
  what.axes[1] = {std::int64_t{1} << 15, std::int64_t{1} << 20, std::int64_t{1} << 17};
  what.axes[2] = {std::int64_t{1} << 15, 2, std::int64_t{1} << 33};
  device_costs tuned = costs_for({.arch = 90});
  for (std::int64_t& bytes : tuned.gather_bytes) bytes = 64;
  const box cut = cut_box(map::canonicalize(what), 48 << 10, 16, target_of(tuned));
  EXPECT_EQ(cut.blocks, 0u);
  // A single axis with more boxes than a grid.
  const problem line{.element_bytes = 1, .rank = 1, .axes = {{{std::int64_t{1} << 40, 2, 2}}}};
  EXPECT_EQ(cut_box(map::canonicalize(line), 48 << 10, 16, target_of(tuned)).blocks, 0u);
}

}  // namespace
}  // namespace cornerturn::gpu
