// The counts of emulated texts: equal to the analytic model's for every rung and for the rows that it knows, and available
// for every GPU row.
#include "trace/trace.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../ladder/rungs_text.hpp"
#include "cornerturn/error.hpp"
#include "ladder/ladder.hpp"
#include "trace/tally.hpp"

namespace cornerturn::trace {
namespace {

const model::architecture& h200() { return *model::find_architecture("sm_90"); }

void expect_equal(const model::global_count& counted, const model::global_count& predicted, const char* what) {
  EXPECT_EQ(counted.requests, predicted.requests) << what;
  EXPECT_EQ(counted.lines, predicted.lines) << what;
  EXPECT_EQ(counted.bytes, predicted.bytes) << what;
}
void expect_equal(const model::shared_count& counted, const model::shared_count& predicted, const char* what) {
  EXPECT_EQ(counted.requests, predicted.requests) << what;
  EXPECT_EQ(counted.cycles, predicted.cycles) << what;
  EXPECT_EQ(counted.conflicts, predicted.conflicts) << what;
}
void expect_equal(const model::traffic& counted, const model::traffic& predicted) {
  expect_equal(counted.load, predicted.load, "load");
  expect_equal(counted.store, predicted.store, "store");
  expect_equal(counted.async_load, predicted.async_load, "async load");
  expect_equal(counted.shared_load, predicted.shared_load, "shared load");
  expect_equal(counted.shared_store, predicted.shared_store, "shared store");
  expect_equal(counted.async_store, predicted.async_store, "async store");
}

class trace_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_count()) GTEST_SKIP() << "this build cannot count a row";
  }
};

TEST_F(trace_test, counts_every_rung_as_the_model_does) {
  constexpr ladder::matrix_shape shapes[] = {{64, 64},  {96, 100},   {33, 65},  {1, 70},
                                             {130, 50}, {20, 24, 3}, {7, 50, 5}};
  int compared = 0;
  for (const ladder::text& rung : ladder::texts()) {
    const ladder::description* const known = ladder::find_rung(rung.rung, rung.word_bytes);
    if (known == nullptr || known->tensor_load || known->tensor_store) continue;
    for (const ladder::matrix_shape& shape : shapes) {
      if (!rung.takes(shape)) continue;
      SCOPED_TRACE(std::string(rung.rung) + " of " + std::to_string(rung.word_bytes) + " bytes, " +
                   ladder::text_of(shape));
      const auto bytes = static_cast<std::size_t>(shape.rows * shape.cols * shape.batch * rung.word_bytes);
      std::vector<unsigned char> src(bytes + 256), dst(bytes + 256);
      const auto aligned = [](std::vector<unsigned char>& all) {
        return all.data() + (256 - reinterpret_cast<std::uintptr_t>(all.data()) % 256) % 256;
      };
      unsigned char* const from = aligned(src);
      unsigned char* const to = rung.is_in_place ? from : aligned(dst);
      tally counted(h200().rules);
      emulated::session running;
      running.on_request = &tally::on_request;
      running.context = &counted;
      running.src = {from, from + bytes};
      running.dst = {to, to + bytes};
      rung.run(from, to, shape, running);
      ASSERT_EQ(running.fault, "");
      expect_equal(counted.counts, ladder::predict(*known, h200(), shape));
      ++compared;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(compared, 150);
}

TEST_F(trace_test, counts_the_tile_rows_as_the_model_does) {
  for (const int word : {1, 2, 4, 8}) {
    const ladder::description& rung = *ladder::find_rung("90_register_block", word);
    const std::string begin = "gpu_tile_b" + std::to_string(word) + "_" + std::to_string(rung.tile_rows) + "x";
    for (const std::string_view row : rows()) {
      if (!row.starts_with(begin) || row.ends_with("_fused") || row.ends_with("_alternating")) continue;
      const std::int64_t chunk = 16 / word;
      const std::int64_t shapes[][2] = {
          {512, 512}, {256 + chunk, 640 - chunk}, {chunk, 30 * chunk}, {77 * chunk, chunk}};
      for (const auto& shape : shapes) {
        SCOPED_TRACE(std::string(row) + " " + std::to_string(shape[0]) + "x" + std::to_string(shape[1]));
        const row_count made = count(transpose_problem(shape[0], shape[1], word), row, h200());
        ASSERT_EQ(made.launches.size(), 1U);
        EXPECT_FALSE(made.is_scaled());
        expect_equal(made.sum(), ladder::predict(rung, h200(), {shape[0], shape[1]}));
      }
    }
  }
}

// Whole tiles and edges, so many that only some blocks run.
TEST_F(trace_test, scaled_counts_equal_the_models) {
  for (const int word : {2, 8}) {
    const ladder::description& rung = *ladder::find_rung("90_register_block", word);
    for (const std::string_view row : rows()) {
      const std::string begin = "gpu_tile_b" + std::to_string(word) + "_" + std::to_string(rung.tile_rows) + "x";
      if (!row.starts_with(begin) || row.ends_with("_fused") || row.ends_with("_alternating")) continue;
      const std::int64_t chunk = 16 / word;
      const std::int64_t shape[2] = {50 * rung.tile_rows + 3 * chunk, 41 * rung.tile_cols + chunk};
      SCOPED_TRACE(std::string(row) + " " + std::to_string(shape[0]) + "x" + std::to_string(shape[1]));
      const row_count made = count(transpose_problem(shape[0], shape[1], word), row, h200());
      EXPECT_TRUE(made.is_scaled());
      expect_equal(made.sum(), ladder::predict(rung, h200(), {shape[0], shape[1]}));
    }
  }
}

}  // namespace
}  // namespace cornerturn::trace
