// The launches that a plan tells of: no GPU is needed, only the rows of the list.
#include "api/gpu_launches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "cornerturn/error.hpp"

namespace cornerturn::detail {
namespace {

const kernels::gpu_traits machine_h200 = {.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10};

struct told {
  std::string row;
  std::uint32_t blocks;
  std::vector<std::uint32_t> digits;
  byte_range src, dst;
  std::int64_t flags;
};

class gpu_launches : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu_rows().empty()) GTEST_SKIP() << "this build has no GPU rows";
  }
  std::vector<told> launches_of(const problem& what, const std::string& row) {
    std::vector<told> all;
    gpu_arguments arrays;
    arrays.dst = memory_.data();
    arrays.src = what.in_place ? memory_.data() : memory_.data() + memory_.size() / 2;
    std::vector<std::byte> workspace;
    arrays.workspace = [&](std::int64_t bytes) {
      workspace.resize(static_cast<std::size_t>(bytes));
      return workspace.data();
    };
    for_each_launch(what, machine_h200, row, arrays, [&](const gpu_launch& one) {
      EXPECT_NE(one.arguments, nullptr);
      all.push_back({one.row, one.blocks, one.digits, one.src, one.dst, one.flag_count});
    });
    return all;
  }
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 20);
};

TEST_F(gpu_launches, names_the_forced_row_its_blocks_and_its_arrays) {
  for (const std::string_view row : gpu_rows()) {
    if (!row.starts_with("gpu_tile_b4") || row.ends_with("_fused") || row.ends_with("_alternating")) continue;
    const std::vector<told> all = launches_of(transpose_problem(128, 256, 4), std::string(row));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].row, row);
    EXPECT_EQ(std::accumulate(all[0].digits.begin(), all[0].digits.end(), 1U, std::multiplies<>()), all[0].blocks);
    EXPECT_EQ(all[0].src.end - all[0].src.begin, 128 * 256 * 4);
    EXPECT_EQ(all[0].dst.begin, memory_.data());
    EXPECT_EQ(all[0].dst.end - all[0].dst.begin, 128 * 256 * 4);
  }
}

TEST_F(gpu_launches, an_empty_problem_starts_nothing) {
  EXPECT_TRUE(launches_of(transpose_problem(0, 5, 4), "").empty());
}

TEST_F(gpu_launches, a_rectangle_in_place_starts_several) {
  problem what = transpose_problem(300, 200, 4);
  what.in_place = true;
  const std::vector<told> all = launches_of(what, "");
  ASSERT_GT(all.size(), 1U);
  for (const told& one : all) EXPECT_FALSE(one.row.empty());
}

TEST_F(gpu_launches, refuse_what_no_row_moves) {
  EXPECT_THROW(launches_of(transpose_problem(3, 5, 4), "gpu_no_such_row"), error);
  const std::vector<std::string_view> rows = gpu_rows();
  EXPECT_EQ(std::set<std::string_view>(rows.begin(), rows.end()).size(), rows.size());
  const auto of_16 = std::find_if(rows.begin(), rows.end(), [](std::string_view row) { return row.ends_with("_b16"); });
  ASSERT_NE(of_16, rows.end());
  EXPECT_THROW(launches_of(transpose_problem(3, 5, 1), std::string(*of_16)), error);
}

}  // namespace
}  // namespace cornerturn::detail
