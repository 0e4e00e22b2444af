// Every GPU row of kernels.inc, emulated, on generated problems: extents of about a tile, primes, few columns or rows;
// padded, batched, permuted and strided problems; any base addresses and tunings.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "api/check.hpp"
#include "gpu_problems.hpp"
#include "move.hpp"

namespace cornerturn::testing::rows_test {
namespace {

constexpr int enough_failures = 4;
constexpr std::int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 40};

std::vector<std::string> gpu_rows() {
  std::vector<std::string> names;
  for (const kernels::kernel& one : kernels::all()) {
    if (one.launch != nullptr && one.kind == kernels::row_kind::move) names.emplace_back(one.name);
  }
  return names;
}

std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 14695981039346656037u;
  for (const char letter : name) seed = (seed ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return seed;
}

class emulated_rows : public ::testing::TestWithParam<std::string> {
 protected:
  // False when the result is wrong.
  bool give(const problem& what) {
    gpu_setting setting = any_setting(roll_, what);
    setting.row = GetParam();
    if (of_chunks_ && !roll_.one_in(6)) {
      setting.alignment = 16;
      setting.src_misalignment = setting.dst_misalignment = 0;
    }
    const moved result = move(what, setting);
    if (result.row.empty()) return true;
    ++moves_;
    bytes_ += elements_of(what) * what.element_bytes;
    EXPECT_EQ(result.row, GetParam());
    EXPECT_EQ(result.fault, "") << to_text(what) << "\n" << to_text(setting);
    return result.fault.empty();
  }

  const kernels::kernel& row_ = *kernels::find(GetParam());
  const bool of_chunks_ = row_.tile_rows > 0 && row_.family != std::string_view("unaligned_tile");
  dice roll_{seed_of(GetParam())};
  int moves_ = 0;
  std::int64_t bytes_ = 0;
};

TEST_P(emulated_rows, move_every_problem_that_they_accept) {
  std::vector<std::int64_t> wide_enough;
  for (const std::int64_t element_bytes : sizes) {
    if ((element_bytes & -element_bytes) >= row_.element_bytes) wide_enough.push_back(element_bytes);
  }
  const bool of_triples = GetParam().find("x3_") != std::string::npos || GetParam().ends_with("x3");
  const std::int64_t own = (of_triples ? 3 : 1) * row_.element_bytes;
  int failures = 0, met = 0;
  for_each_edge_of(row_, row_.element_bytes, roll_, [&](const problem& what) {
    ASSERT_NO_THROW(api::check(what)) << to_text(what);
    if (failures < enough_failures && ++met % slower == 0) failures += !give(what);
  });
  const int wanted = 60 / slower;
  const std::int64_t enough_bytes = 3'000'000 / slower;
  for (int k = 0; k < 6000 && moves_ < wanted && bytes_ < enough_bytes && failures < enough_failures; ++k) {
    const problem what = any_gpu_problem(roll_, &row_, roll_.one_in(2) ? own : roll_.of(wide_enough));
    ASSERT_NO_THROW(api::check(what)) << to_text(what);
    failures += !give(what);
  }
  EXPECT_TRUE(moves_ >= wanted || bytes_ >= enough_bytes || failures > 0)
      << "only " << moves_ << " problems reach this row";
}

INSTANTIATE_TEST_SUITE_P(list, emulated_rows, ::testing::ValuesIn(gpu_rows()),
                         [](const auto& one) { return one.param; });

class emulated_list : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(emulated_list, moves_every_problem) {
  const std::int64_t element_bytes = GetParam();
  dice roll(static_cast<std::uint64_t>(element_bytes) + 77);
  int failures = 0;
  const auto give = [&](const problem& what) {
    if (failures >= enough_failures) return;
    ASSERT_NO_THROW(api::check(what)) << to_text(what);
    const gpu_setting setting = any_setting(roll, what);
    const moved result = move(what, setting);
    failures += !result.fault.empty() || result.row.empty();
    EXPECT_NE(result.row, "") << "refused: " << to_text(what) << "\n" << to_text(setting);
    EXPECT_EQ(result.fault, "") << result.row << ": " << to_text(what) << "\n" << to_text(setting);
  };
  for (int k = 0; k < 120 / slower; ++k) give(any_gpu_problem(roll, nullptr, element_bytes));
  for_each_problem(element_bytes, 20 * slower, 0, {}, give);
}

INSTANTIATE_TEST_SUITE_P(sizes, emulated_list, ::testing::ValuesIn(sizes));

// Problems whose lanes load their elements in different orders, at any addresses: tests/kernels/gpu/assemble/cut_test.cpp
// says why.
TEST(emulated_assemble, moves_what_lanes_load_in_different_orders) {
  dice roll(1);
  int moves = 0;
  for (const std::int64_t bytes : {1, 2}) {
    const std::string row = "gpu_assemble_b" + std::to_string(bytes);
    for (const std::int64_t cols : {2, 4, 8, 24, 88}) {
      const problem plain = transpose_problem(3000 + roll.below(20), cols, bytes);
      const std::int64_t rows = 2 + roll.below(7);
      const problem fused =
          batched(transpose_problem(rows, cols, bytes), 700 + roll.below(20), rows * cols, rows * cols);
      for (const auto& [what, name] : {std::pair{plain, row}, {fused, row + "_fused"}}) {
        gpu_setting setting;
        setting.row = name;
        setting.alignment = bytes;
        setting.src_misalignment = static_cast<std::size_t>(roll.below(32) * bytes);
        setting.dst_misalignment = static_cast<std::size_t>(roll.below(32) * bytes);
        setting.threads = roll.one_in(2) ? emulated::order::shuffled : emulated::order::backward;
        const moved result = move(what, setting);
        moves += result.row == name;
        EXPECT_EQ(result.fault, "") << to_text(what) << "\n" << to_text(setting);
      }
    }
  }
  EXPECT_GE(moves, 14) << "of 20; some are too small for boxes of their own";
}

// Rows that are read backwards into short runs of dst, and pixels with gaps between them, at any addresses.
TEST(emulated_views, move_backwards_and_over_gaps) {
  dice roll(2);
  std::set<std::string> met;
  const auto give = [&](const problem& what, const std::string& row) {
    gpu_setting setting;
    setting.row = row;
    setting.alignment = what.element_bytes & -what.element_bytes;
    setting.src_misalignment = static_cast<std::size_t>(roll.below(32) * setting.alignment);
    setting.dst_misalignment = static_cast<std::size_t>(roll.below(32) * setting.alignment);
    setting.threads = roll.one_in(2) ? emulated::order::shuffled : emulated::order::backward;
    const moved result = move(what, setting);
    if (result.row == row) met.insert(row);
    EXPECT_EQ(result.fault, "") << to_text(what) << "\n" << to_text(setting);
  };
  for (const std::int64_t bytes : {1, 2, 4, 8, 3, 6}) {
    const std::int64_t word = bytes & -bytes;
    const std::string of = "gpu_assemble_b" + std::to_string(word) + (bytes == word ? "" : "x3") + "_fused";
    for (const std::int64_t rows : {3, 5, 13}) {
      const std::int64_t cols = 700 + roll.below(900), ld = cols + roll.below(3);
      give({.element_bytes = bytes, .rank = 2, .axes = {{{cols, -1, rows}, {rows, ld, 1}}}}, of);
      give({.element_bytes = bytes,
            .rank = 3,
            .axes = {{{5, rows * ld, rows * cols}, {cols, -1, rows}, {rows, -ld, 1}}}},
           of);
    }
    for (const std::int64_t step : {-1, 1}) {
      const problem row{.element_bytes = bytes, .rank = 2, .axes = {{{9, 1111, 1003}, {1000, step, 1}}}};
      give(row, "gpu_element_b" + std::to_string(word) + (bytes == word ? "_mirror" : "x3_mirror"));
      give(row, "gpu_element_b1_runs");
    }
  }
  for (const std::int64_t channels : {3, 2}) {
    for (const std::int64_t step : {4, -4, 5, 6, 7}) {
      for (const std::int64_t inner : {1, -1}) {
        const std::int64_t pixels = 500 + roll.below(700);
        const problem same{
            .element_bytes = 1,
            .rank = 3,
            .axes = {{{7, 9000, pixels * channels + 1}, {pixels, step, channels}, {channels, inner, 1}}}};
        const problem planes{.element_bytes = 1,
                             .rank = 3,
                             .axes = {{{channels, inner, 9 * pixels}, {7, 9000, pixels + 1}, {pixels, step, 1}}}};
        give({.element_bytes = 1, .rank = 2, .axes = {{{channels, inner, pixels + 1}, {pixels, step, 1}}}},
             "gpu_assemble_b1");
        for (const char* row : {"gpu_element_b1x3", "gpu_assemble_b1x3", "gpu_assemble_b1", "gpu_assemble_b1_fused",
                                "gpu_element_b1_several"}) {
          give(same, row);
          give(planes, row);
        }
      }
    }
  }
  for (const std::int64_t word : {1, 2}) {  // the words of each pixel are read backwards
    for (const std::int64_t pixels : {11, 100, 1000}) {
      give({.element_bytes = word,
            .rank = 3,
            .axes = {{{9, 3 * pixels + 2, 3 * pixels + 1}, {pixels, 3, 3}, {3, -1, 1}}}},
           "gpu_element_b" + std::to_string(word) + "x3_mirror");
    }
  }
  for (const std::int64_t step : {2, 4, 5, 8}) {
    const problem apart{.element_bytes = 1, .rank = 2, .axes = {{{4, 700, 700 * step}, {600, 1, step}}}};
    const problem pixels{.element_bytes = 1, .rank = 2, .axes = {{{900, 3, 2 + step}, {3, 1, 1}}}};
    for (const problem& what : {apart, pixels}) give(what, "gpu_element_b1_several");
  }
  for (const char* row :
       {"gpu_assemble_b1_fused", "gpu_assemble_b2_fused", "gpu_assemble_b4_fused", "gpu_assemble_b8_fused",
        "gpu_assemble_b1x3_fused", "gpu_assemble_b2x3_fused", "gpu_assemble_b1", "gpu_assemble_b1", "gpu_assemble_b1x3",
        "gpu_element_b1x3", "gpu_element_b1_mirror", "gpu_element_b2_mirror", "gpu_element_b4_mirror",
        "gpu_element_b8_mirror", "gpu_element_b1x3_mirror", "gpu_element_b2x3_mirror", "gpu_element_b1_runs",
        "gpu_element_b1_several"})
    EXPECT_TRUE(met.contains(row)) << row;
}

}  // namespace
}  // namespace cornerturn::testing::rows_test
