// The assumptions of kernels/gpu/box.cuh about a box. tests/emulate runs the kernels.
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

// From the lowest address of a whole box at index 0, in bytes.
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
  const gather_args& job = cut.args;
  const std::int64_t word = form.word_bytes;
  const std::int64_t unit = std::max<std::int64_t>(word, 4);

  // Lists: runs x run_elements on one side, lines x line_elements on the other.
  const auto extent = [](const gather_axis* axes, int first, int last) {
    std::int64_t product = 1;
    for (int k = first; k < last; ++k) product *= axes[k].tile.divisor;
    return product;
  };
  ASSERT_LE(job.src_rank, gpu::max_gather_axes);
  ASSERT_LE(job.dst_rank, gpu::max_gather_axes);
  ASSERT_EQ(extent(job.src_axes, 0, job.run_axes), job.run_elements);
  ASSERT_EQ(extent(job.src_axes, job.run_axes, job.src_rank), job.runs);
  ASSERT_EQ(extent(job.dst_axes, 0, job.line_axes), job.line_elements);
  ASSERT_EQ(extent(job.dst_axes, job.line_axes, job.dst_rank), job.lines);
  const auto expect_count = [&](const gather_count& count, std::int64_t all) {
    EXPECT_EQ(count.slot < 0 ? count.each : count.each * job.blocks.tile[count.slot], all);
  };
  expect_count(job.run_element_count, job.run_elements);
  expect_count(job.run_count, job.runs);
  expect_count(job.line_element_count, job.line_elements);
  expect_count(job.line_count, job.lines);

  // Sizes: the box, its lookup tables, the work of the warps.
  const bool packed = word < 4 && job.line_is_contiguous != 0;
  const std::int64_t of_word = packed ? 4 / word : 1;  // elements that a lane gathers at once
  std::int64_t tables = 8 * job.runs + 12 * job.lines + 4 * std::int64_t{job.smem_entries};
  if (job.run_is_contiguous == 0) tables += 8 * job.run_elements;
  if (job.line_is_contiguous == 0) tables += 8 * std::int64_t{job.piece.divisor};
  EXPECT_LE(job.tables + tables, cut.shared_bytes);
  EXPECT_LE(cut.shared_bytes, most_shared_bytes);
  EXPECT_GE(job.smem_entries, packed ? job.line_shifts * of_word * job.piece.divisor : job.piece.divisor);
  EXPECT_EQ(job.tables % 16, 0);
  EXPECT_EQ(job.smem_entries % 2, 0);
  EXPECT_EQ(job.pitch % unit, 0);
  EXPECT_EQ(job.skew % unit, 0);
  const std::int64_t of_chunk = job.in_chunks != 0 ? 16 : job.run_is_contiguous != 0 ? unit : word;
  const std::int64_t before = job.in_chunks != 0 ? 16 - word : 0;  // bytes in front of a run, at most
  EXPECT_EQ(job.pitch % of_chunk, 0);
  EXPECT_EQ(job.skew % of_chunk, 0);
  const std::int64_t rows = job.row_pad == 0 ? 0 : job.run_elements * word / (4 * std::int64_t{job.row.divisor});
  EXPECT_GE(job.pitch, ceil_div(before + job.run_elements * word, of_chunk) * of_chunk + rows * job.row_pad);
  EXPECT_TRUE(job.row_pad == 0 || (word < 4 && job.run_is_contiguous != 0 && job.in_chunks == 0));
  EXPECT_GE((std::int64_t{job.run_chunks.divisor} * gather_steps << job.run_lanes) * of_chunk,
            before + job.run_elements * word);
  const auto room_of_line =
      (std::int64_t{job.line_chunks.divisor} * gather_steps << job.line_lanes) * (packed ? 4 : word);
  EXPECT_GE(room_of_line, job.line_elements * word);
  if (packed && room_of_line < job.line_elements * word + job.line_mask + 1 - word) {  // then lines start with words
    EXPECT_EQ(alignment % 4, 0);
    for (int k = 0; k < job.blocks.rank; ++k) EXPECT_EQ(job.blocks.axes[k].dst_step_bytes % 4, 0);
    for (int k = job.line_axes; k < job.dst_rank; ++k) EXPECT_EQ(job.dst_axes[k].dst_stride_bytes % 4, 0);
    for (int k = 0; k < job.dst_rank; ++k) EXPECT_EQ(job.dst_axes[k].from_end, 0);
  }
  if (std::int64_t{job.piece.divisor} * of_word < job.line_elements) {
    EXPECT_GE(job.piece.divisor, 1 << job.line_lanes);
  }
  for (int k = job.run_axes; k < job.src_rank && job.in_chunks != 0; ++k) {
    EXPECT_EQ(job.src_axes[k].src_stride_bytes % 16, 0);
  }
  for (int k = job.line_axes; k < job.dst_rank && packed && job.line_shifts == 1; ++k) {
    EXPECT_EQ(job.dst_axes[k].dst_stride_bytes % 4, 0);
  }
  if (packed) {
    EXPECT_EQ(job.skew, 0);
  }

  // The grid: all indices of all axes.
  std::int64_t blocks = 1;
  for (int k = 0; k < job.blocks.rank; ++k) blocks *= job.blocks.axes[k].count.divisor;
  EXPECT_EQ(blocks, cut.blocks);
  EXPECT_GE(blocks * job.lines * job.line_elements, map::words(form));

  // Each element: the runs store it at the shared-memory address from which the lines load it.
  const std::map<std::int64_t, std::int64_t> src_of = moves_of(form);
  const std::int64_t src_low = lowest(job.src_axes, job.src_rank, &gather_axis::src_stride_bytes);
  const std::int64_t dst_low = lowest(job.dst_axes, job.dst_rank, &gather_axis::dst_stride_bytes);
  // Src address, from the lowest: places. A src that slides over itself is read, and put, more than once.
  std::map<std::int64_t, std::set<std::int64_t>> put;
  std::set<std::int64_t> places;
  for (std::int64_t run = 0; run < job.runs; ++run) {
    const std::int64_t begin = sum(job.src_axes, job.run_axes, job.src_rank, run, src_stride);
    for (std::int64_t e = 0; e < job.run_elements; ++e) {
      const std::int64_t row = job.row_pad == 0 ? 0 : e * word / (4 * std::int64_t{job.row.divisor});
      const std::int64_t place = run * job.pitch + before + e * word + row * job.row_pad;
      const std::int64_t skewed = place + (place >> 7) * job.skew;
      ASSERT_TRUE(skewed >= 0 && skewed + word <= job.tables && skewed % word == 0);
      ASSERT_TRUE(places.insert(skewed).second) << "two elements in one place";
      put[begin + sum(job.src_axes, 0, job.run_axes, e, src_stride)].insert(place);
    }
  }
  std::int64_t corner = before;
  for (int k = 0; k < job.dst_rank; ++k) {
    if (job.dst_axes[k].opposite == 0) continue;
    corner -= (job.dst_axes[k].tile.divisor - 1) * std::int64_t{job.dst_axes[k].smem_stride};
  }
  const std::int64_t size = job.piece.divisor * of_word;
  std::set<std::int64_t> written;
  for (std::int64_t line = 0; line < job.lines; ++line) {
    const std::int64_t begin = sum(job.dst_axes, job.line_axes, job.dst_rank, line, dst_stride);
    const std::int64_t smem = corner + sum(job.dst_axes, job.line_axes, job.dst_rank, line, smem_stride);
    for (std::int64_t e = 0; e < job.line_elements; ++e) {
      const std::int64_t piece = e / size, p = e % size;
      const std::int64_t to = begin + sum(job.dst_axes, 0, job.line_axes, e, dst_stride);
      ASSERT_TRUE(written.insert(to).second);
      if (job.line_is_contiguous != 0) {
        ASSERT_EQ(to, begin + e * word);
      } else {
        ASSERT_EQ(to, begin + piece * job.piece_dst_stride + sum(job.dst_axes, 0, job.line_axes, p, dst_stride));
      }
      const std::int64_t place =
          smem + piece * job.piece_smem_stride + sum(job.dst_axes, 0, job.line_axes, p, smem_stride);
      const auto from = src_of.find(to + dst_low);
      ASSERT_NE(from, src_of.end()) << "dst byte " << to + dst_low << " is none of the problem's";
      const auto found = put.find(from->second - src_low);
      ASSERT_NE(found, put.end()) << "src byte " << from->second << " is in no run";
      ASSERT_TRUE(found->second.contains(place)) << "line " << line << ", element " << e;
    }
  }
}

device_costs any_tuning(testing::dice& roll) {
  device_costs tuned = costs_for(90);
  if (roll.one_in(3)) return tuned;
  tuned.side_bytes = std::int64_t{4} << roll.below(8);
  for (int k = 0; k < 5; ++k) tuned.gather_bytes[k] = std::int64_t{64 << k} << roll.below(8);
  return tuned;
}

class box_of_words : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(box_of_words, puts_every_element_where_its_line_looks_for_it) {
  testing::dice roll(static_cast<std::uint64_t>(GetParam()));
  for (int k = 0; k < 150 && !HasFailure(); ++k) {
    const problem what = roll.one_in(2) ? testing::any_permutation(roll, GetParam(), 3000)
                                        : testing::any_strides(roll, GetParam(), 3000);
    const map::canonical form = map::canonicalize(what, GetParam());
    const device_costs tuned = any_tuning(roll);
    const int alignment = std::max(1 << roll.below(5), static_cast<int>(GetParam()));
    const box cut = cut_box(form, most_shared_bytes, alignment, tuned);
    ASSERT_GT(cut.blocks, 0u) << testing::to_text(what);
    expect_whole(form, cut, alignment, testing::to_text(what) + ", sides of " + std::to_string(tuned.side_bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(words, box_of_words, ::testing::Values(1, 2, 4, 8, 16));

TEST(box, is_made_smaller_until_it_fits_shared_memory) {
  const map::canonical form = map::canonicalize(problem{.element_bytes = 1, .rank = 1, .axes = {{{100000, 2, 2}}}});
  int before = INT32_MAX;
  for (const int room : {200 << 10, 100 << 10, 48 << 10, 16 << 10}) {
    const box cut = cut_box(form, room, 16, costs_for(90));
    EXPECT_GT(cut.blocks, 0u);
    EXPECT_LE(cut.shared_bytes, room);
    EXPECT_LE(cut.shared_bytes, before);
    before = cut.shared_bytes;
  }
}

TEST(box, of_which_a_grid_cannot_have_enough_is_refused) {
  // 2^45 elements whose runs and lines are single elements.
  problem what{.element_bytes = 1, .rank = 3};
  what.axes[0] = {std::int64_t{1} << 15, std::int64_t{1} << 40, 2};
  what.axes[1] = {std::int64_t{1} << 15, std::int64_t{1} << 20, std::int64_t{1} << 17};
  what.axes[2] = {std::int64_t{1} << 15, 2, std::int64_t{1} << 33};
  device_costs tuned = costs_for(90);
  for (std::int64_t& bytes : tuned.gather_bytes) bytes = 64;
  const box cut = cut_box(map::canonicalize(what), 48 << 10, 16, tuned);
  EXPECT_EQ(cut.blocks, 0u);
  // A single axis with more boxes than a grid.
  const problem line{.element_bytes = 1, .rank = 1, .axes = {{{std::int64_t{1} << 40, 2, 2}}}};
  EXPECT_EQ(cut_box(map::canonicalize(line), 48 << 10, 16, tuned).blocks, 0u);
}

}  // namespace
}  // namespace cornerturn::gpu
