// The numbers in the heads of the rungs and in the lesson. ncu counted the first table on an H200, 2026-11-21.
#include "ladder/prediction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "ladder/ladder.hpp"

namespace cornerturn::ladder {
namespace {

model::traffic of(const char* rung, const matrix_shape& shape, int word_bytes = 4) {
  const description* const found = find_rung(rung, word_bytes);
  EXPECT_NE(found, nullptr) << rung;
  EXPECT_TRUE(found->takes(shape)) << rung << ": " << found->refusal(shape);
  return predict(*found, shape);
}

constexpr matrix_shape square{2048, 2048};

const model::architecture& h200() { return *model::find_architecture("sm_90"); }

TEST(prediction, scattered_rungs_as_the_profiler_counted_them) {
  const model::traffic store = of("05_scattered_store", square);
  EXPECT_EQ(store.load.requests, 131072);
  EXPECT_EQ(store.load.lines, 524288);
  EXPECT_EQ(store.store.requests, 131072);
  EXPECT_EQ(store.store.lines, 4194304);
  EXPECT_DOUBLE_EQ(store.store.useful(), 0.125);
  const model::traffic load = of("10_scattered_load", square);
  EXPECT_EQ(load.load.lines, 4194304);
  EXPECT_EQ(load.store.lines, 524288);
  EXPECT_EQ(of("15_blocks_16x16", square).store.lines, 2097152);
  EXPECT_EQ(of("15_blocks_8x8", square).store.lines, 1048576);
  EXPECT_EQ(of("15_blocks_8x8", square).load.lines, 524288);
}

TEST(prediction, the_control_has_the_sectors_of_the_roof_and_no_conflicts) {
  for (const matrix_shape& shape : {square, matrix_shape{999, 997}}) {
    const model::traffic roof = of("00_copy", shape), control = of("02_shared_copy", shape);
    EXPECT_EQ(control.load.lines, roof.load.lines);
    EXPECT_EQ(control.store.lines, roof.store.lines);
    EXPECT_EQ(control.shared_store.requests, shape.rows * shape.cols / 128 + (shape == square ? 0 : 1));
    EXPECT_EQ(control.shared_load.requests, control.shared_store.requests);
    EXPECT_EQ(control.shared_load.cycles, control.shared_store.cycles);
    EXPECT_EQ(control.shared_load.conflicts + control.shared_store.conflicts, 0);
  }
  EXPECT_EQ(of("02_shared_copy", square).shared_load.cycles, 4 * 32768);
}

TEST(prediction, conflicts_of_the_unpadded_tile) {
  const model::traffic tile = of("20_load_conflicts", square);
  EXPECT_EQ(tile.load.lines, 524288);
  EXPECT_EQ(tile.store.lines, 524288);
  EXPECT_EQ(tile.shared_load.requests, 131072);
  EXPECT_EQ(tile.shared_load.conflicts, 31 * 131072);
  EXPECT_EQ(tile.shared_store.conflicts, 0);
  EXPECT_EQ(of("25_store_conflicts", square).shared_store.conflicts, 31 * 131072);
  EXPECT_EQ(of("25_store_conflicts", square).shared_load.conflicts, 0);
}

TEST(prediction, rungs_that_promise_no_conflicts_have_none) {
  for (const char* rung :
       {"30_padded", "35_swizzled", "45_vector_padded", "50_vector_swizzled", "55_full_tile", "60_diagonal",
        "65_async_copy", "70_batched", "75_in_place", "85_tma_store", "90_register_block"}) {
    for (const matrix_shape& shape : {square, matrix_shape{320, 320}}) {
      const model::traffic made = of(rung, shape);
      EXPECT_EQ(made.shared_load.conflicts, 0) << rung;
      EXPECT_EQ(made.shared_store.conflicts, 0) << rung;
      EXPECT_EQ(made.async_store.conflicts, 0) << rung;
    }
  }
}

TEST(prediction, the_production_kernel_has_no_conflicts_for_any_element) {
  for (const int word_bytes : {1, 2, 4, 8}) {
    const model::traffic made = of("90_register_block", square, word_bytes);
    EXPECT_EQ(made.shared_load.conflicts + made.shared_store.conflicts, 0) << word_bytes;
    EXPECT_DOUBLE_EQ(made.load.lines_per_request(), 16);
    EXPECT_DOUBLE_EQ(made.store.useful(), 1);
  }
}

TEST(prediction, vector_rungs) {
  const model::traffic made = of("40_vector_conflicts", square);
  EXPECT_EQ(made.load.requests, 32768);
  EXPECT_DOUBLE_EQ(made.load.lines_per_request(), 16);
  EXPECT_DOUBLE_EQ(made.shared_load.conflicts_per_request(), 7);
  EXPECT_EQ(made.shared_store.conflicts, 0);
  EXPECT_EQ(of("45_vector_padded", square).shared_store.requests, 4 * made.shared_store.requests);
}

TEST(prediction, engines_that_copy_by_themselves) {
  const model::traffic async = of("65_async_copy", square);
  EXPECT_EQ(async.load.requests, 0);
  EXPECT_EQ(async.async_load.lines, 524288);
  EXPECT_EQ(of("65_async_copy", {4097, 33}).async_load.requests, 5125);
  const model::traffic tma = of("80_tma_load", square);
  EXPECT_EQ(tma.load.requests, 0);
  EXPECT_DOUBLE_EQ(tma.shared_load.conflicts_per_request(), 3);
  const model::traffic both = of("85_tma_store", square);
  EXPECT_EQ(both.load.requests + both.store.requests, 0);
}

TEST(prediction, bytes_that_arrive_are_the_bytes_of_the_matrix) {
  for (const description& rung : rungs()) {
    for (const matrix_shape& shape :
         {matrix_shape{1, 1}, matrix_shape{33, 33}, matrix_shape{100, 36}, matrix_shape{129, 127},
          matrix_shape{1000, 50}, matrix_shape{7, 50, 20}, matrix_shape{128, 128}, matrix_shape{272, 272}}) {
      if (!rung.takes(shape)) continue;
      const model::traffic made = predict(rung, shape);
      const std::int64_t bytes = shape.rows * shape.cols * shape.batch * rung.word_bytes;
      EXPECT_EQ(made.load.bytes + made.async_load.bytes, rung.tensor_load ? 0 : bytes)
          << rung.rung << ' ' << rung.word_bytes << ' ' << text_of(shape);
      EXPECT_EQ(made.store.bytes, rung.tensor_store ? 0 : bytes)
          << rung.rung << ' ' << rung.word_bytes << ' ' << text_of(shape);
      EXPECT_LE(made.load.useful(), 1);
    }
  }
}

TEST(prediction, a_batch_that_is_no_multiple_of_a_sector_straddles_more) {
  const model::traffic one = of("70_batched", {50, 20}), many = of("70_batched", {50, 20, 7});
  EXPECT_EQ(many.load.requests, 7 * one.load.requests);
  EXPECT_EQ(of("70_batched", {64, 32, 7}).load.lines, 7 * of("70_batched", {64, 32}).load.lines);
}

TEST(prediction, refusals_say_why) {
  EXPECT_EQ(find_rung("80_tma_load", 4)->refusal({1000, 50}), "needs rows of src of a multiple of 16 bytes, not 200");
  EXPECT_EQ(find_rung("80_tma_load", 4)->refusal({50, 1000}), "");
  EXPECT_EQ(find_rung("register_block", 4)->refusal({50, 1000}),
            "needs rows of dst of a multiple of 16 bytes, not 200");
  EXPECT_NE(find_rung("in_place", 8)->refusal({5, 7}), "");
  EXPECT_NE(find_rung("padded", 8)->refusal({5, 7, 3}), "");
  EXPECT_EQ(find_rung("65_async_copy", 2), nullptr);
  EXPECT_EQ(find_rung("no such", 4), nullptr);
}

TEST(prediction, table_has_a_line_for_each_launch) {
  std::ostringstream out;
  const matrix_shape shapes[] = {square, {1000, 50}};
  const auto is_float = [](const description& one) { return one.word_bytes == 4; };
  const auto cute = static_cast<int>(std::ranges::count_if(cute_rungs(), is_float));
  EXPECT_EQ(print_predictions(out, "all", 4, shapes, h200()), 20 + 16 + 2 * 8 + 2 * cute);
  EXPECT_EQ(print_predictions(out, "90_register_block", 4, shapes, h200()), 1);
  EXPECT_EQ(print_predictions(out, "no such", 4, shapes, h200()), 0);
  EXPECT_NE(out.str().find("\n20_load_conflicts,4,2048x2048,131072,524288,131072,524288,131072,4194304,4063232,131072,"
                           "131072,0,0,0\n"),
            std::string::npos);
}

// ncu counted 5125 load requests (H200, 2026-11-21): op_ld includes the asynchronous copies of this rung.
TEST(prediction, table_counts_asynchronous_copies_as_the_profiler_does) {
  std::ostringstream out;
  const matrix_shape shapes[] = {{4097, 33}};
  EXPECT_EQ(print_predictions(out, "65_async_copy", 4, shapes, h200()), 1);
  EXPECT_NE(out.str().find("\n65_async_copy,4,4097x33,5125,73233,4617,75809,4617,4617,0,0,0,0,5125,73233\n"),
            std::string::npos)
      << out.str();
}

// Counted on an H200, 2026-11-21: rows 1 and 3 of the last tiles take one wavefront for both columns of a warp, rows 0,
// 2 and 4 take two.
TEST(prediction, wavefronts_of_few_lanes_as_the_profiler_counts_them) {
  EXPECT_EQ(predict(*find_rung("45_vector_padded", 8), {997, 991}).shared_load.cycles, 124371);
  EXPECT_EQ(predict(*find_rung("45_vector_padded", 8), {1, 70001}).shared_load.cycles, 35001);
  EXPECT_EQ(predict(*find_rung("80_tma_load", 8), {50, 1000}).shared_load.cycles, 6500);
  EXPECT_EQ(predict(*find_rung("45_vector_padded", 8), {4097, 33}).shared_store.cycles, 20485);
}

TEST(prediction, occupancy_of_the_block_size_rungs) {
  const auto share = [](const char* rung, const char* machine) {
    return residency(*find_rung(rung, 4), *model::find_architecture(machine)).occupancy;
  };
  EXPECT_NEAR(share("05_scattered_store", "sm_89"), 2.0 / 3, 1e-9);
  EXPECT_EQ(share("15_blocks_16x16", "sm_89"), 1);
  EXPECT_EQ(share("05_scattered_store", "sm_90"), 1);
}

}  // namespace
}  // namespace cornerturn::ladder
