// The assumptions of assemble/kernel.cuh about a box. tests/emulate runs the kernels.
#include "kernels/gpu/assemble/cut.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "../../cases.hpp"
#include "../../oracle.hpp"

namespace cornerturn::gpu::assemble_cut_test {
namespace {

problem permuted(const std::vector<std::int64_t>& extents, const std::vector<int>& axes, std::int64_t element_bytes) {
  return permute_problem(extents, axes, element_bytes);
}

constexpr std::int64_t most_shared_bytes = 227 << 10;

assemble_box cut_of(const problem& what, int words, bool fused, int alignment) {
  kernels::target on;
  on.gpu = &costs_for({.arch = 90});
  return cut_for_assembly(map::canonicalize(what, alignment), words, fused, most_shared_bytes, on);
}

// All runs of a whole box with its halo: strides are equal modulo 16 on both sides, no granule belongs to two runs, and the
// runs end before the tables.
void expect_runs(const assemble_args& args) {
  const auto indices = [&](const assemble_count& number) {
    if (number.slot < 0) return number.each;
    const std::int32_t halo = number.slot == args.line_bytes.slot ? args.halo : 0;
    return number.each * (args.blocks.tile[number.slot] + halo);
  };
  const std::int32_t bytes = indices(args.run_bytes), rows = indices(args.row_count);
  EXPECT_EQ(rows, args.most_rows);
  for (int phase = 0; phase < 16; ++phase) {
    std::set<std::int32_t> taken;
    for (std::int32_t row = 0; row < rows; ++row) {
      std::int32_t offset = phase, rest = row;
      for (int k = 0; k < args.row_rank; ++k) {
        const assemble_axis& one = args.rows[k];
        const auto count = static_cast<std::int32_t>(one.count.divisor);
        const std::int32_t mine = k == args.row_rank - 1 ? rest : rest % count;
        EXPECT_EQ((one.smem_stride - one.stride_bytes) % 16, 0);
        offset += mine * one.smem_stride;
        rest /= count;
      }
      for (std::int32_t granule = offset / 16; granule * 16 < offset + bytes; ++granule) {
        EXPECT_TRUE(taken.insert(granule).second) << "row " << row << " shares granule " << granule;
        EXPECT_LE(granule * 16 + 16, args.tables);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(assembly, runs_do_not_share_granules) {
  for (const std::int64_t rows : {33, 200, 5001}) {
    for (const std::int64_t cols : {17, 129, 7000}) {
      for (const std::int64_t gap : {0, 1, 5, 8}) {
        for (const std::int64_t bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24}) {
          const bool triples = bytes % 3 == 0;
          for (const bool fused : {false, true}) {
            const problem what = transpose_problem(rows, cols, bytes, cols + gap, rows + gap);
            const assemble_box cut = cut_of(what, triples ? 3 : 1, fused, 16);
            if (cut.blocks == 0) continue;
            SCOPED_TRACE(testing::to_text(what));
            EXPECT_LE(cut.shared_bytes, most_shared_bytes);
            expect_runs(cut.args);
          }
        }
      }
    }
  }
}

// Rows of pixels from the last one to the first: a run has all pixels of a box, and begins with the last one.
TEST(assembly, a_flip_has_long_runs) {
  const std::int64_t rows = 400, cols = 30001;
  const problem pixels{.element_bytes = 3, .rank = 2, .axes = {{{rows, cols, cols}, {cols, -1, 1}}}};
  const assemble_box cut = cut_of(pixels, 3, false, 1);
  ASSERT_GT(cut.blocks, 0u);
  EXPECT_GE(cut.run_bytes, 300);
  EXPECT_LT(cut.args.elements[0].smem_stride, 0);
  EXPECT_EQ(cut.args.smem_first, cut.args.descending_run_bytes - 3);
  expect_runs(cut.args);
  // The last axis of a line may not descend where the entries of a table are not negative: runs are rows.
  const problem rows_last{.element_bytes = 3, .rank = 3, .axes = {{{900, 40 * 5, 40 * 5}, {40, -5, 5}, {5, -1, 1}}}};
  const assemble_box table = cut_of(rows_last, 3, true, 1);
  ASSERT_GT(table.blocks, 0u);
  EXPECT_GT(table.args.elements[table.args.element_rank - 1].smem_stride, 0);
  // Bytes in descending order are elements of their own, not runs of 16 bytes.
  const problem bytes{.element_bytes = 1, .rank = 1, .axes = {{{100003, -1, 1}}}};
  EXPECT_GT(cut_of(bytes, 1, false, 1).blocks, 0u);
  EXPECT_EQ(cut_of(bytes, 0, true, 1).blocks, 0u);
}

// A box stages a broadcast element once.
TEST(assembly, a_broadcast_is_staged_once) {
  const problem columns{.element_bytes = 3, .rank = 2, .axes = {{{600, 1, 5000}, {5000, 0, 1}}}};
  const assemble_box cut = cut_of(columns, 3, false, 1);
  ASSERT_GT(cut.blocks, 0u);
  EXPECT_EQ(cut.args.elements[0].smem_stride, 0);
  EXPECT_LT(cut.src_part, 0.05);
  EXPECT_LT(cut.args.tables, 2000);
  expect_runs(cut.args);
}

TEST(assembly, tiles_of_an_axis_are_equally_long) {
  const assemble_box cut = cut_of(transpose_problem(627, 27579, 1), 1, false, 16);
  ASSERT_GT(cut.blocks, 0u);
  for (int slot = 0; slot < 2; ++slot) {
    const std::int64_t extent = cut.args.blocks.extent[slot], tile = cut.args.blocks.tile[slot];
    const std::int64_t tiles = (extent + tile - 1) / tile, even = (extent + tiles - 1) / tiles;
    EXPECT_LT(tile - even, 32) << "slot " << slot;
  }
}

TEST(assembly, long_runs_are_elements_of_their_own) {
  const problem runs = permuted({40, 50, 100}, {1, 0, 2}, 4), words = transpose_problem(400, 300, 4);
  EXPECT_GT(cut_of(runs, 0, true, 4).blocks, 0u);
  EXPECT_EQ(cut_of(runs, 1, true, 4).blocks, 0u);
  EXPECT_EQ(cut_of(words, 0, true, 4).blocks, 0u);
  EXPECT_GT(cut_of(words, 1, false, 4).blocks, 0u);
  EXPECT_EQ(cut_of(words, 1, true, 4).blocks, 0u);
}

TEST(assembly, rows_within_a_run_get_padding_if_their_banks_conflict) {
  // Rows of 192 bytes: every second one begins in the same bank. 4 * 27 bytes are no such rows.
  const assemble_box conflicting = cut_of(permuted({1000, 64, 64}, {0, 2, 1}, 3), 3, true, 1);
  ASSERT_GT(conflicting.blocks, 0u);
  EXPECT_EQ(conflicting.args.run_bytes.each, 192);
  EXPECT_LE(conflicting.conflicts, 4);
  expect_runs(conflicting.args);
  const assemble_box usual = cut_of(permuted({1000, 27, 27}, {0, 2, 1}, 4), 1, true, 4);
  ASSERT_GT(usual.blocks, 0u);
  EXPECT_GT(usual.args.run_bytes.each, 108);
}

TEST(assembly, granules_change_places_if_padding_does_not_help) {
  // src rows are 8 bytes more than a multiple of 16, so lanes that are 16 rows apart share a bank with any padding.
  const assemble_box cut = cut_of(transpose_problem(61, 1653192, 1), 1, true, 16);
  ASSERT_GT(cut.blocks, 0u);
  ASSERT_EQ(cut.args.swizzle_mask, 0x00700070u);
  EXPECT_EQ(cut.args.tables % 128, 0);
  std::set<std::uint32_t> taken;
  for (std::uint32_t byte = 0; byte < static_cast<std::uint32_t>(cut.args.tables); ++byte) {
    const std::uint32_t place = byte ^ (byte >> cut.args.swizzle_shift & cut.args.swizzle_mask);
    EXPECT_LT(place, static_cast<std::uint32_t>(cut.args.tables));
    EXPECT_TRUE(taken.insert(place).second) << byte;
    EXPECT_EQ(place % 16, byte % 16);
  }
  // float32 whose rows are 4 bytes more: padding is enough.
  EXPECT_EQ(cut_of(transpose_problem(61, 1653193, 4), 1, true, 4).args.swizzle_mask, 0u);
}

TEST(assembly, lanes_load_in_different_orders_if_their_banks_conflict_otherwise) {
  // Bytes and 2-byte words; the last column: a table of elements is loaded by fours.
  for (const auto& [what, fused, unit] : {std::tuple{transpose_problem(40000, 8, 1), false, 1},
                                          {transpose_problem(1403777, 125, 1, 125, 1403781), false, 1},
                                          {transpose_problem(40000, 4, 2), false, 1},
                                          {permuted({40000, 2, 8}, {0, 2, 1}, 1), true, 4},
                                          {permuted({40000, 2, 12}, {0, 2, 1}, 2), true, 4}}) {
    SCOPED_TRACE(testing::to_text(what));
    const assemble_box cut = cut_of(what, 1, fused, 16);
    ASSERT_GT(cut.blocks, 0u);
    EXPECT_GT(cut.args.turn_mask, 0);
    EXPECT_EQ(cut.args.turn_mask % unit, 0);
    EXPECT_LT(cut.args.turn_mask, 16 / what.element_bytes);
    EXPECT_LE(cut.conflicts, 2);
  }
  // Rows of 31 bytes have no conflicts. Elements of 4 bytes have no such orders.
  EXPECT_EQ(cut_of(transpose_problem(40000, 31, 1), 1, false, 16).args.turn_mask, 0);
  EXPECT_EQ(cut_of(transpose_problem(40000, 8, 4), 1, false, 16).args.turn_mask, 0);
}

TEST(assembly, lines_are_long_beside_their_halo) {
  // A line of one index of 128 bytes would load the same number of bytes again.
  const assemble_box cut = cut_of(permuted({2, 4, 11, 32, 18, 128, 8}, {5, 4, 2, 6, 0, 3, 1}, 1), 1, true, 16);
  ASSERT_GT(cut.blocks, 0u);
  EXPECT_LE(cut.halo_part, 0.5);
}

TEST(assembly, lines_go_on_over_axes_of_the_box) {
  // 64 x 10 float32: a line of 256 bytes would end within a sector ten times.
  const problem what = batched(transpose_problem(64, 10, 4), 1000, 641, 651);
  const assemble_box cut = cut_of(what, 1, true, 4);
  ASSERT_GT(cut.blocks, 0u);
  EXPECT_EQ(cut.line_bytes, 2560);
}

TEST(assembly, no_boxes_if_lines_would_end_within_sectors) {
  // Five axes of 3 are contiguous in dst, and a line has four axes at most.
  EXPECT_EQ(cut_of(permuted({3, 3, 3, 3, 3, 8192}, {5, 4, 3, 2, 1, 0}, 2), 1, true, 16).blocks, 0u);
}

}  // namespace
}  // namespace cornerturn::gpu::assemble_cut_test
