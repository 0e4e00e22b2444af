// The offers of the family swap. tests/emulate runs the chosen rows.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "../../../plan/gpu_choice.hpp"
#include "../../in_place_cases.hpp"
#include "kernels/gpu/swap/args.hpp"

namespace cornerturn::gpu::swap_test {
namespace {

using testing::placed;
using testing::to_text;

using testing::gpu_wish;
const gpu_wish usual;

kernels::offer choose_for(const problem& what, const gpu_wish& wanted = usual) {
  std::int64_t word = wanted.alignment;
  if (!wanted.kernel.empty()) word = std::min<std::int64_t>(word, kernels::find(wanted.kernel)->element_bytes);
  const map::canonical form = map::canonicalize(placed(what), word);
  return testing::choose_in_place(form, map::in_place(form), wanted);
}

void expect_row(const problem& what, const std::string& row, const gpu_wish& wanted = usual) {
  const kernels::offer made = choose_for(what, wanted);
  ASSERT_NE(made.row, nullptr) << to_text(what);
  EXPECT_EQ(made.row->name, row) << to_text(what);
  EXPECT_STRNE(made.reason, "");
}

gpu_wish with_alignment(int alignment) {
  gpu_wish wanted = usual;
  wanted.alignment = alignment;
  return wanted;
}

TEST(swap_offer, takes_aligned_and_unaligned) {
  expect_row(transpose_problem(1, 5, 4), "gpu_copy_b4");
  EXPECT_EQ(choose_for(transpose_problem(1, 5, 4)).blocks, 0U);
  expect_row(transpose_problem(4096, 4096, 1), "gpu_swap_b1_128x128_r16_xor");
  expect_row(transpose_problem(4096, 4096, 2), "gpu_swap_b2_128x128_r8_xor");
  expect_row(transpose_problem(4000, 4000, 4), "gpu_swap_b4_64x64_r4_xor");
  expect_row(transpose_problem(4000, 4000, 8), "gpu_swap_b8_64x64_r2_xor");
  expect_row(transpose_problem(4002, 4002, 8), "gpu_swap_b8_unaligned");  // rows that are no whole lines of 128 bytes
  expect_row(transpose_problem(4001, 4001, 4), "gpu_swap_b4_unaligned");
  expect_row(transpose_problem(4001, 4001, 4, 4032, 4032), "gpu_swap_b4_64x64_r4_xor");
  expect_row(transpose_problem(4000, 4000, 4), "gpu_swap_b4_unaligned", with_alignment(4));
  expect_row(transpose_problem(4000, 4000, 16), "gpu_swap_b16_unaligned");
  expect_row(transpose_problem(4000, 4000, 12), "gpu_swap_b4_unaligned");
  expect_row(transpose_problem(8, 8, 4), "gpu_swap_b4_items");
  expect_row(transpose_problem(4000, 4000, 3), "gpu_swap_b1_unaligned");
  expect_row(batched(transpose_problem(7, 7, 1), 1525836, 49, 49), "gpu_swap_b1_items");
  // Rows of 384 bytes: every load of a column is in one bank. As items 0.17 of a copy (H200, 2026-11-25).
  expect_row(batched(transpose_problem(128, 128, 3), 16888, 16384, 16384), "gpu_swap_b1_unaligned");
  expect_row(batched(transpose_problem(32, 32, 3), 59521, 1024, 1024), "gpu_swap_b1_items");
  expect_row(batched(transpose_problem(62, 62, 1), 193227, 3844, 3844), "gpu_swap_b1_items");
  expect_row(batched(transpose_problem(35, 35, 1), 230051, 35 * 35, 35 * 35), "gpu_swap_b1_items");
  expect_row(batched(transpose_problem(8, 8, 4), 2334928, 64, 64), "gpu_swap_b4_items");
  expect_row(batched(transpose_problem(10, 10, 12), 373799, 100, 100), "gpu_swap_b4_items");
  expect_row(batched(transpose_problem(320, 320, 4), 1000, 102400, 102400), "gpu_swap_b4_64x64_r4_xor");
  expect_row(batched(transpose_problem(300, 300, 4), 1000, 90000, 90000), "gpu_swap_b4_unaligned");
  expect_row(batched(transpose_problem(301, 301, 4), 1000, 90601, 90601), "gpu_swap_b4_unaligned");
  // Columns that are not contiguous.
  problem what = transpose_problem(4000, 4000, 4, 8001, 8001);
  for (int k = 0; k < what.rank; ++k) {
    for (std::int64_t* const stride : {&what.axes[k].src_stride, &what.axes[k].dst_stride})
      *stride = *stride == 1 ? 2 : *stride;
  }
  expect_row(what, "gpu_swap_b4_any");
}

TEST(swap_offer, a_row_that_is_asked_for_is_taken_or_refused) {
  for (const kernels::kernel& row : kernels::all()) {
    if (row.launch == nullptr) continue;
    for (const problem& what : {transpose_problem(1000, 1000, 4), transpose_problem(1001, 1001, 4),
                                transpose_problem(1024, 1024, 8), transpose_problem(60, 60, 48)}) {
      gpu_wish wanted = usual;
      wanted.kernel = row.name;
      const kernels::offer made = choose_for(what, wanted);
      if (made.row != nullptr) {
        EXPECT_EQ(made.row, &row);
        EXPECT_EQ(row.kind, kernels::row_kind::in_place);
      }
    }
  }
}

// Every pair of numbers has one place in the triangle, and places of one column of a band are neighbours.
TEST(swap_offer, every_pair_has_one_place) {
  for (std::uint32_t n = 1; n <= 70; ++n) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    for (std::uint32_t place = 0; place < n * (n + 1) / 2; ++place) {
      const auto [down, across] = find_numbers(n, place);
      EXPECT_LE(down, across);
      EXPECT_LT(across, n);
      EXPECT_TRUE(found.emplace(down, across).second) << n << ": " << place;
    }
  }
  testing::dice roll(17);
  for (const std::uint32_t n : {1000U, 4097U, 40000U, 65534U, 65535U}) {
    const auto pairs_above = [&](std::uint32_t row) { return row * n - row * (row - 1) / 2; };
    const auto place_of = [&](std::uint32_t down, std::uint32_t across) {
      const std::uint32_t band = down / swap_band * swap_band, rows = std::min(n - band, swap_band);
      std::uint32_t place = pairs_above(band);
      if (across >= band + rows) return place + rows * (rows + 1) / 2 + (across - band - rows) * rows + down - band;
      for (std::uint32_t row = band; row < down; ++row) place += band + rows - row;
      return place + across - down;
    };
    std::vector<std::uint32_t> places = {0, 1, n - 1, n, pairs_above(n) - 1, pairs_above(n) - 2};
    for (int k = 0; k < 20000; ++k) {
      const auto row = static_cast<std::uint32_t>(roll.below(n));
      places.push_back(pairs_above(row));
      if (row > 0) places.push_back(pairs_above(row) - 1);
      places.push_back(static_cast<std::uint32_t>(roll.below(pairs_above(n))));
    }
    for (const std::uint32_t place : places) {
      const auto [down, across] = find_numbers(n, place);
      ASSERT_TRUE(down <= across && across < n) << n << ": " << place;
      ASSERT_EQ(place_of(down, across), place) << n;
    }
  }
}

TEST(swap_offer, blocks_fit_a_grid) {
  EXPECT_EQ(choose_for(transpose_problem(1024, 1024, 4)).blocks, 16U * 17 / 2);
  EXPECT_EQ(choose_for(batched(transpose_problem(1024, 1024, 4), 3, 1 << 20, 1 << 20)).blocks, 3 * 16U * 17 / 2);
  EXPECT_NE(choose_for(transpose_problem(65535 * 64, 65535 * 64, 4)).row, nullptr);
  EXPECT_NE(choose_for(transpose_problem(65536 * 64, 65536 * 64, 4)).row, nullptr);
  EXPECT_EQ(choose_for(transpose_problem(65536 * 68, 65536 * 68, 4)).row, nullptr);
  EXPECT_EQ(
      choose_for(batched(transpose_problem(65535 * 64, 65535 * 64, 4), 2, std::int64_t{1} << 45, std::int64_t{1} << 45))
          .row,
      nullptr);
}

TEST(swap_offer, shared_memory_fits_48_KiB_but_for_large_tiles) {
  gpu_wish wanted = usual;
  wanted.shared_bytes = 48 << 10;
  for (const std::int64_t element_bytes : {1, 2, 3, 4, 8, 12, 16, 24, 48, 256, 272, 1000, 1009, 4096}) {
    const kernels::offer made = choose_for(transpose_problem(300, 300, element_bytes), wanted);
    ASSERT_NE(made.row, nullptr) << element_bytes;
    EXPECT_LE(made.shared_bytes, wanted.shared_bytes) << element_bytes;
  }
}

}  // namespace
}  // namespace cornerturn::gpu::swap_test
