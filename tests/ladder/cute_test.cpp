// The CuTe rungs' layouts as maps: every element is read once, written once and has its own place in the tile. The
// model's counts must equal the counts in the comments of ladder/cute/rungs.cuh.
#include <gtest/gtest.h>

#include <set>

#include "ladder/cute/rungs.cuh"
#include "ladder/ladder.hpp"

namespace cornerturn::ladder::cute_test {
namespace {

template <class Rung, class Map>
void expect_elements_once(const Map& map, int steps, int width) {
  std::set<std::pair<int, int>> seen;
  for (int thread = 0; thread < Rung::threads; ++thread) {
    for (int step = 0; step < steps; ++step) {
      const at e = map(thread, step);
      for (int i = 0; i < width; ++i) EXPECT_TRUE(seen.emplace(e.row, e.col + i).second) << e.row << ", " << e.col + i;
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Rung::tile_rows) * Rung::tile_cols);
  EXPECT_EQ(*seen.begin(), std::pair(0, 0));
  EXPECT_EQ(*seen.rbegin(), std::pair(Rung::tile_rows - 1, Rung::tile_cols - 1));
}

template <class Rung>
void check(const char* name) {
  SCOPED_TRACE(testing::Message() << name << " of " << Rung::word_bytes << " bytes");
  expect_elements_once<Rung>(Rung::read, Rung::steps, Rung::width);
  expect_elements_once<Rung>(Rung::read_element, Rung::elements, 1);
  expect_elements_once<Rung>(Rung::write, Rung::elements, 1);
  if constexpr (Rung::shared_bytes > 0) {
    std::set<int> taken;
    for (int row = 0; row < Rung::tile_rows; ++row) {
      for (int col = 0; col < Rung::tile_cols; ++col) {
        const int place = Rung::place({row, col});
        EXPECT_TRUE(place >= 0 && place + Rung::word_bytes <= Rung::shared_bytes) << place;
        EXPECT_TRUE(taken.insert(place).second) << row << ", " << col;
        if (Rung::width == 1) continue;
        const int first = Rung::place({row, col / Rung::width * Rung::width});  // pieces stay whole and aligned
        EXPECT_EQ(first % 16, 0);
        EXPECT_EQ(place - first, col % Rung::width * Rung::word_bytes);
      }
    }
  }
}

#define RUNG(file, type)    \
  TEST(cute, rung_##type) { \
    check<type<4>>(#file);  \
    check<type<8>>(#file);  \
  }
#include "ladder/cute/cute.inc"
#undef RUNG

model::traffic of(const char* name, const matrix_shape& shape, int word_bytes = 4) {
  const description* const found = find_rung(name, word_bytes);
  EXPECT_NE(found, nullptr) << name;
  return predict(*found, shape);
}

constexpr matrix_shape square{2048, 2048};

TEST(cute, sectors_are_those_of_the_rungs_written_by_hand) {
  for (const auto& [cute, by_hand] :
       {std::pair{"cute_naive_read", "scattered_store"}, std::pair{"cute_naive_write", "scattered_load"},
        std::pair{"cute_load_conflicts", "load_conflicts"}, std::pair{"cute_store_conflicts", "store_conflicts"},
        std::pair{"cute_padded", "padded"}, std::pair{"cute_swizzled", "swizzled"}}) {
    for (const int word_bytes : {4, 8}) {
      const model::traffic one = of(cute, square, word_bytes), other = of(by_hand, square, word_bytes);
      EXPECT_EQ(one.load.requests, other.load.requests) << cute;
      EXPECT_EQ(one.load.lines, other.load.lines) << cute;
      EXPECT_EQ(one.store.requests, other.store.requests) << cute;
      EXPECT_EQ(one.store.lines, other.store.lines) << cute;
      EXPECT_EQ(one.shared_load.conflicts, other.shared_load.conflicts) << cute;
      EXPECT_EQ(one.shared_store.conflicts, other.shared_store.conflicts) << cute;
    }
  }
}

TEST(cute, vectors_keep_conflicts_that_elements_do_not) {
  for (const auto& [name, conflicts] : {std::pair{"cute_vector_conflicts", 31}, std::pair{"cute_vector_padded", 3},
                                        std::pair{"cute_vector_swizzled", 3}}) {
    const model::traffic made = of(name, square);
    EXPECT_DOUBLE_EQ(made.load.lines_per_request(), 16) << name;
    EXPECT_DOUBLE_EQ(made.store.lines_per_request(), 4) << name;
    EXPECT_DOUBLE_EQ(made.shared_load.conflicts_per_request(), conflicts) << name;
    EXPECT_EQ(made.shared_store.conflicts, 0) << name;
  }
}

TEST(cute, bytes_that_arrive_are_the_bytes_of_the_matrix) {
  EXPECT_EQ(cute_rungs().size(), 18u);
  for (const description& rung : cute_rungs()) {
    for (const matrix_shape& shape : {matrix_shape{1, 1}, matrix_shape{33, 130}, matrix_shape{1000, 50}}) {
      const model::traffic made = predict(rung, shape);
      EXPECT_EQ(made.load.bytes, shape.rows * shape.cols * rung.word_bytes) << rung.rung << ' ' << text_of(shape);
      EXPECT_EQ(made.store.bytes, shape.rows * shape.cols * rung.word_bytes) << rung.rung << ' ' << text_of(shape);
    }
  }
}

}  // namespace
}  // namespace cornerturn::ladder::cute_test
