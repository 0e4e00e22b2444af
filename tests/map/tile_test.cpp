#include "map/tile.hpp"

#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <utility>

namespace cornerturn::map::tile_test {
namespace {

template <class Map>
class tile : public ::testing::Test {};

using maps = ::testing::Types<tile_map<1, 8>, tile_map<2, 8>, tile_map<4, 8>, tile_map<8, 8>, tile_map<16, 8>,
                              tile_map<1, 16>, tile_map<2, 16>, tile_map<4, 16>, tile_map<8, 16>, tile_map<16, 16>,
                              tile_map<4, 32>, tile_map<8, 32>, tile_map<16, 32>, tile_map<8, 16, 64>>;
TYPED_TEST_SUITE(tile, maps);

template <class Map, class Visit>
void for_each_chunk(const Visit& visit) {
  for (int thread = 0; thread < Map::threads; ++thread) {
    for (int step = 0; step < Map::steps; ++step) visit(thread, step);
  }
}

// Shared memory serves eight lanes at once; each must use 16 bytes of different banks.
template <class Map, class Place>
void expect_no_bank_conflicts(const Place& place) {
  for (int step = 0; step < Map::steps; ++step) {
    for (int first = 0; first < Map::threads; first += 8) {
      std::set<int> groups;
      for (int lane = 0; lane < 8; ++lane) groups.insert(place(first + lane, step) / 16 % 8);
      ASSERT_EQ(groups.size(), 8u) << "threads from " << first << " on, step " << step;
    }
  }
}

TYPED_TEST(tile, each_chunk_of_src_is_read_once) {
  std::set<std::pair<int, int>> met;
  for_each_chunk<TypeParam>([&](int thread, int step) {
    const int row = TypeParam::src_row(thread, step), col = TypeParam::src_col(thread);
    EXPECT_TRUE(row >= 0 && row < TypeParam::extent && col >= 0 && col < TypeParam::extent);
    EXPECT_EQ(col % TypeParam::v, 0);
    met.emplace(row, col);
  });
  EXPECT_EQ(met.size(), std::size_t{TypeParam::extent} * TypeParam::side);
  EXPECT_EQ(met.size(), std::size_t{TypeParam::threads} * TypeParam::steps);
}

TYPED_TEST(tile, each_chunk_of_dst_is_written_once) {
  std::set<std::pair<int, int>> met;
  for_each_chunk<TypeParam>([&](int thread, int step) {
    const int col = TypeParam::dst_col(thread, step), row = TypeParam::dst_row(thread);
    EXPECT_TRUE(row >= 0 && row < TypeParam::extent && col >= 0 && col < TypeParam::extent);
    EXPECT_EQ(row % TypeParam::v, 0);
    met.emplace(col, row);
  });
  EXPECT_EQ(met.size(), std::size_t{TypeParam::extent} * TypeParam::side);
}

TYPED_TEST(tile, shared_memory_is_filled_and_emptied_once) {
  std::set<int> stored, loaded;
  for_each_chunk<TypeParam>([&](int thread, int step) {
    stored.insert(TypeParam::smem_store(thread, step));
    loaded.insert(TypeParam::smem_load(thread, step));
  });
  EXPECT_EQ(stored.size() * 16, std::size_t{TypeParam::shared_bytes});
  EXPECT_EQ(*stored.begin(), 0);
  EXPECT_EQ(*stored.rbegin(), TypeParam::shared_bytes - 16);
  for (const int place : stored) EXPECT_EQ(place % 16, 0);
  EXPECT_EQ(loaded, stored);
}

// The chunk (column, first row) is loaded from the address at which it was stored.
TYPED_TEST(tile, what_is_stored_is_what_is_loaded) {
  std::set<std::pair<int, std::pair<int, int>>> stored, loaded;
  for_each_chunk<TypeParam>([&](int thread, int step) {
    const int first_row = TypeParam::src_row(thread, step) / TypeParam::v * TypeParam::v;
    const int column = TypeParam::src_col(thread) + step % TypeParam::v;
    stored.insert({TypeParam::smem_store(thread, step), {column, first_row}});
    loaded.insert({TypeParam::smem_load(thread, step), {TypeParam::dst_col(thread, step), TypeParam::dst_row(thread)}});
  });
  EXPECT_EQ(stored, loaded);
}

TYPED_TEST(tile, shared_memory_is_free_of_bank_conflicts) {
  expect_no_bank_conflicts<TypeParam>(TypeParam::smem_store);
  expect_no_bank_conflicts<TypeParam>(TypeParam::smem_load);
}

// `side` consecutive threads read neighbouring chunks of one row, and write neighbouring chunks of one column.
TYPED_TEST(tile, neighbouring_threads_meet_neighbouring_addresses) {
  for_each_chunk<TypeParam>([&](int thread, int step) {
    if (thread % TypeParam::side == 0) return;
    EXPECT_EQ(TypeParam::src_row(thread, step), TypeParam::src_row(thread - 1, step));
    EXPECT_EQ(TypeParam::src_col(thread), TypeParam::src_col(thread - 1) + TypeParam::v);
    EXPECT_EQ(TypeParam::dst_col(thread, step), TypeParam::dst_col(thread - 1, step));
    EXPECT_EQ(TypeParam::dst_row(thread), TypeParam::dst_row(thread - 1) + TypeParam::v);
  });
}

}  // namespace
}  // namespace cornerturn::map::tile_test
