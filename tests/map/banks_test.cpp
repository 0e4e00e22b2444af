#include "map/banks.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace cornerturn::map {
namespace {

TEST(banks, lanes_at_once_follow_the_width) {
  EXPECT_EQ(lanes_at_once(1), 32);
  EXPECT_EQ(lanes_at_once(4), 32);
  EXPECT_EQ(lanes_at_once(8), 16);
  EXPECT_EQ(lanes_at_once(16), 8);
}

TEST(banks, different_cells_of_a_bank_are_served_one_after_another) {
  bank_counter<> column(32);
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(column.add(32 * lane), lane + 1);
  bank_counter<> padded(32);
  for (int lane = 0; lane < 32; ++lane) padded.add(33 * lane);
  EXPECT_EQ(padded.wavefronts(), 1);
  EXPECT_EQ(bank_counter<>(32).wavefronts(), 0) << "no lane";
}

TEST(banks, lanes_of_one_cell_share_its_wavefront) {
  bank_counter<std::int32_t> counter(32);
  for (const std::int32_t cell : {0, 32, 0, 32, 64, 0, 1}) counter.add(cell);
  EXPECT_EQ(counter.wavefronts(), 3);
}

// By definition: the most different cells of a bank.
TEST(banks, any_cells) {
  std::uint32_t state = 1;
  for (const int cells : {8, 16, 32}) {
    for (int turn = 0; turn < 200; ++turn) {
      bank_counter<> counter(cells);
      std::map<int, std::set<int>> seen;
      std::size_t most = 0;
      for (int lane = 0; lane < cells; ++lane) {
        state = state * 1664525 + 1013904223;
        const int cell = static_cast<int>(state >> 20) % (cells * 6);
        seen[cell % cells].insert(cell);
        most = std::max(most, seen[cell % cells].size());
        EXPECT_EQ(counter.add(cell), static_cast<int>(most));
      }
    }
  }
}

}  // namespace
}  // namespace cornerturn::map
