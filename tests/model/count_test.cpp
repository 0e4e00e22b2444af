#include "model/count.hpp"

#include <gtest/gtest.h>

#include <set>

namespace cornerturn::model {
namespace {

// A tile of 16 x 32 in shared memory: 256 threads, two rows of a warp each.
program sample(int word_bytes, guard when = guard::inside) {
  program made;
  made.word_bytes = word_bytes;
  made.tile_rows = 16;
  made.tile_cols = 32;
  for (const operation what :
       {operation::global_load, operation::shared_store, operation::shared_load, operation::global_store}) {
    instruction one{what, when, word_bytes, 1, 0, {}};
    const bool out = what == operation::shared_load || what == operation::global_store;
    for (int thread = 0; thread < 512; ++thread) {
      const int row = out ? thread % 16 : thread / 32, col = out ? thread / 16 : thread % 32;
      one.lanes.push_back({row, col, (row * 32 + col) * word_bytes});
    }
    made.instructions.push_back(one);
  }
  return made;
}

// Every tile and every warp, one by one, with their true addresses.
traffic one_by_one(const program& kernel, const extents& shape, const memory_rules& rules = {}) {
  traffic sum;
  const std::int64_t word = kernel.word_bytes;
  for (std::int64_t m = 0; m < shape.batch; ++m) {
    for (std::int64_t row = 0; row < shape.rows; row += kernel.tile_rows) {
      for (std::int64_t col = 0; col < shape.cols; col += kernel.tile_cols) {
        for (const instruction& what : kernel.instructions) {
          const bool to_dst = what.what == operation::global_store;
          const bool turned = to_dst && kernel.turns;
          const std::int64_t pitch = turned ? shape.rows : shape.cols;
          const std::int64_t first = m * shape.rows * shape.cols + (turned ? col * pitch + row : row * pitch + col);
          tile_part tile{static_cast<int>(std::min<std::int64_t>(kernel.tile_rows, shape.rows - row)),
                         static_cast<int>(std::min<std::int64_t>(kernel.tile_cols, shape.cols - col)), first * word,
                         pitch * word};
          for (int warp = 0; warp < static_cast<int>(what.lanes.size()) / rules.lanes; ++warp) {
            const warp_access access = access_of(kernel, what, warp, tile, rules);
            if (access.active == 0) continue;
            if (what.what == operation::global_load || to_dst) {
              global_count& to = to_dst ? sum.store : sum.load;
              std::set<std::int64_t> touched;
              for (int lane = 0; lane < rules.lanes; ++lane) {
                if ((access.active >> lane & 1) == 0) continue;
                const std::int64_t at = access.address[static_cast<std::size_t>(lane)];
                EXPECT_GE(at, 0);
                EXPECT_LE(at + what.lane_bytes, shape.rows * shape.cols * shape.batch * word);
                touched.insert(at / rules.line_bytes);
                to.bytes += what.lane_bytes;
              }
              ++to.requests;
              to.lines += static_cast<std::int64_t>(touched.size());
            } else {
              shared_count& to = what.what == operation::shared_load ? sum.shared_load : sum.shared_store;
              ++to.requests;
              to.cycles += shared_cycles(access, rules).taken;
              to.conflicts += shared_cycles(access, rules).conflicts;
            }
          }
        }
      }
    }
  }
  return sum;
}

void expect_equal(const traffic& a, const traffic& b) {
  EXPECT_EQ(a.load.requests, b.load.requests);
  EXPECT_EQ(a.load.lines, b.load.lines);
  EXPECT_EQ(a.load.bytes, b.load.bytes);
  EXPECT_EQ(a.store.requests, b.store.requests);
  EXPECT_EQ(a.store.lines, b.store.lines);
  EXPECT_EQ(a.store.bytes, b.store.bytes);
  EXPECT_EQ(a.shared_load.requests, b.shared_load.requests);
  EXPECT_EQ(a.shared_load.conflicts, b.shared_load.conflicts);
  EXPECT_EQ(a.shared_store.cycles, b.shared_store.cycles);
}

TEST(count, classes_of_tiles_add_up_to_all_tiles) {
  const extents shapes[] = {{1, 1, 1},    {16, 32, 1},  {15, 31, 1},     {17, 33, 1},  {64, 64, 1},   {1, 1000, 1},
                            {1000, 1, 1}, {100, 52, 1}, {97, 89, 1},     {700, 36, 1}, {36, 1200, 1}, {7, 11, 40},
                            {32, 32, 3},  {50, 20, 37}, {1040, 1056, 1}, {600, 5, 1},  {0, 5, 1},     {5, 0, 1}};
  for (const int word_bytes : {1, 2, 4, 8}) {
    const program kernel = sample(word_bytes);
    for (const extents& shape : shapes) {
      SCOPED_TRACE(testing::Message() << word_bytes << " bytes, " << shape.batch << "x" << shape.rows << "x"
                                      << shape.cols);
      const traffic quick = count(kernel, shape);
      expect_equal(quick, one_by_one(kernel, shape));
      EXPECT_EQ(quick.load.bytes, shape.rows * shape.cols * shape.batch * word_bytes);
      EXPECT_EQ(quick.store.bytes, quick.load.bytes);
    }
  }
}

TEST(count, classes_of_tiles_add_up_on_amd) {
  const extents shapes[] = {{16, 32, 1},  {97, 89, 1}, {700, 36, 1}, {50, 20, 67},
                            {7, 11, 130}, {600, 5, 3}, {3, 1037, 1}};
  for (const memory_rules& rules : {memory_rules{64, 64, phase_rule::amd}, memory_rules{64, 128, phase_rule::amd},
                                    memory_rules{32, 128, phase_rule::amd}}) {
    for (const int word_bytes : {1, 2, 4, 8}) {
      const program kernel = sample(word_bytes);
      for (const extents& shape : shapes) {
        SCOPED_TRACE(testing::Message() << rules.lanes << " lanes, lines of " << rules.line_bytes << ", " << word_bytes
                                        << " bytes, " << shape.batch << "x" << shape.rows << "x" << shape.cols);
        expect_equal(count(kernel, shape, rules), one_by_one(kernel, shape, rules));
      }
    }
  }
}

TEST(count, copies_lie_as_their_source) {
  program kernel = sample(4);
  kernel.turns = false;
  for (const extents& shape : {extents{97, 89, 1}, extents{33, 70, 5}}) {
    expect_equal(count(kernel, shape), one_by_one(kernel, shape));
  }
}

TEST(count, pieces_that_an_edge_cuts_go_by_elements) {
  program kernel;
  kernel.turns = false;
  kernel.tile_rows = 1;
  kernel.tile_cols = 128;
  const auto instruction_of = [](guard when, int index) {
    instruction one{operation::global_load, when, when == guard::whole ? 16 : 4, 4, index, {}};
    for (int thread = 0; thread < 32; ++thread) one.lanes.push_back({0, thread * 4, 0});
    return one;
  };
  kernel.instructions.push_back(instruction_of(guard::whole, 0));
  for (int i = 0; i < 4; ++i) kernel.instructions.push_back(instruction_of(guard::cut, i));
  const traffic made = count(kernel, {1, 128 + 7, 1});
  EXPECT_EQ(made.load.requests, 1 + 1 + 3);  // a warp of whole pieces; then one piece and three elements
  EXPECT_EQ(made.load.lines, 16 + 1 + 3);
  EXPECT_EQ(made.load.bytes, 135 * 4);
}

TEST(count, unguarded_lanes_always_count) {
  const traffic made = count(sample(4, guard::none), {1, 1, 1});
  EXPECT_EQ(made.shared_load.requests, 16);
  EXPECT_EQ(made.shared_load.conflicts, 16 * 15);
}

TEST(count, does_not_overflow_for_large_shapes) {
  const std::int64_t n = std::int64_t{1} << 24;
  const traffic made = count(sample(8), {n, n, 1});
  EXPECT_EQ(made.load.bytes, n * n * 8);
  EXPECT_EQ(made.load.lines, n * n / 4);
  EXPECT_DOUBLE_EQ(made.load.useful(), 1);
  EXPECT_DOUBLE_EQ(made.load.lines_per_request(), 8);
}

TEST(count, ratios_of_nothing_are_nothing) {
  const traffic made = count(sample(4), {0, 0, 1});
  EXPECT_EQ(made.load.useful(), 0);
  EXPECT_EQ(made.load.lines_per_request(), 0);
  EXPECT_EQ(made.shared_load.conflicts_per_request(), 0);
}

}  // namespace
}  // namespace cornerturn::model
