#include "map/skinny.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace cornerturn::map::skinny_test {
namespace {

template <class Map>
class narrow : public ::testing::Test {};

using maps = ::testing::Types<skinny_map<1, 1>, skinny_map<1, 2>, skinny_map<1, 4>, skinny_map<1, 8>, skinny_map<2, 1>,
                              skinny_map<2, 2>, skinny_map<2, 4>, skinny_map<2, 8>, skinny_map<4, 1>, skinny_map<4, 2>,
                              skinny_map<4, 4>, skinny_map<4, 8>, skinny_map<8, 1>, skinny_map<8, 2>, skinny_map<8, 4>,
                              skinny_map<8, 8>>;
TYPED_TEST_SUITE(narrow, maps);

template <class Place>
void expect_no_bank_conflicts(const Place& place) {
  for (int first = 0; first < 256; first += 8) {
    std::set<int> groups;
    for (int lane = 0; lane < 8; ++lane) groups.insert(place(first + lane) / 16 % 8);
    ASSERT_EQ(groups.size(), 8u) << "threads from " << first << " on";
  }
}

TYPED_TEST(narrow, chunks_in_order_cover_the_tile_once) {
  std::set<int> met;
  for (int thread = 0; thread < TypeParam::threads; ++thread) {
    for (int step = 0; step < TypeParam::steps; ++step) met.insert(TypeParam::chunk(thread, step));
  }
  EXPECT_EQ(met.size() * 16, std::size_t{TypeParam::shared_bytes});
  EXPECT_EQ(*met.rbegin() + 1, TypeParam::long_extent * TypeParam::narrow);
  std::set<std::pair<int, int>> places;
  for (const int chunk : met) {
    EXPECT_LT(TypeParam::line_of(chunk), TypeParam::long_extent);
    EXPECT_LT(TypeParam::chunk_in_line(chunk) * TypeParam::v, TypeParam::short_extent);
    places.emplace(TypeParam::line_of(chunk), TypeParam::chunk_in_line(chunk));
  }
  EXPECT_EQ(places.size(), met.size());
}

TYPED_TEST(narrow, blocks_cover_the_tile_once) {
  std::set<int> met;
  for (int thread = 0; thread < TypeParam::threads; ++thread) {
    for (int block = 0; block < TypeParam::blocks; ++block) {
      const int wide = TypeParam::wide_block(thread, block), across = TypeParam::narrow_block(thread, block);
      for (int k = 0; k < TypeParam::v; ++k) {
        const int chunk = TypeParam::block_chunk(wide, across, k);
        EXPECT_EQ(TypeParam::line_of(chunk), wide * TypeParam::v + k);
        EXPECT_EQ(TypeParam::chunk_in_line(chunk), across);
        met.insert(chunk);
      }
    }
  }
  EXPECT_EQ(met.size() * 16, std::size_t{TypeParam::shared_bytes});
}

TYPED_TEST(narrow, places_are_one_to_one) {
  std::set<int> met;
  for (int chunk = 0; chunk * 16 < TypeParam::shared_bytes; ++chunk) {
    const int place = TypeParam::smem_offset(chunk);
    EXPECT_TRUE(place >= 0 && place + 16 <= TypeParam::shared_bytes && place % 16 == 0) << chunk;
    met.insert(place);
  }
  EXPECT_EQ(met.size() * 16, std::size_t{TypeParam::shared_bytes});
}

TYPED_TEST(narrow, shared_memory_is_free_of_bank_conflicts) {
  for (int step = 0; step < TypeParam::steps; ++step) {
    expect_no_bank_conflicts([&](int thread) { return TypeParam::smem_offset(TypeParam::chunk(thread, step)); });
  }
  for (int block = 0; block < TypeParam::blocks; ++block) {
    for (int k = 0; k < TypeParam::v; ++k) {
      expect_no_bank_conflicts([&](int thread) {
        return TypeParam::smem_offset(
            TypeParam::block_chunk(TypeParam::wide_block(thread, block), TypeParam::narrow_block(thread, block), k));
      });
    }
  }
}

}  // namespace
}  // namespace cornerturn::map::skinny_test
