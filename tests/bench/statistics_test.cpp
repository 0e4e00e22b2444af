#include "bench/statistics.hpp"

#include <gtest/gtest.h>

namespace cornerturn::bench {
namespace {

TEST(statistics, quartiles_interpolate_as_numpy_does) {
  const quartiles found = quartiles_of({4, 1, 3, 2});  // numpy.percentile([1,2,3,4], [25,50,75])
  EXPECT_DOUBLE_EQ(found.q1, 1.75);
  EXPECT_DOUBLE_EQ(found.median, 2.5);
  EXPECT_DOUBLE_EQ(found.q3, 3.25);
}

TEST(statistics, one_sample_is_all_three) {
  const quartiles found = quartiles_of({7});
  EXPECT_DOUBLE_EQ(found.q1, 7);
  EXPECT_DOUBLE_EQ(found.median, 7);
  EXPECT_DOUBLE_EQ(found.q3, 7);
}

TEST(statistics, an_outlier_moves_no_median) {
  EXPECT_DOUBLE_EQ(quartiles_of({1, 1, 1, 1, 1000}).median, 1);
  EXPECT_DOUBLE_EQ(quartiles_of({}).median, 0);
}

TEST(statistics, geometric_mean) {
  EXPECT_NEAR(geometric_mean({0.25, 1, 4}), 1.0, 1e-12);
  EXPECT_NEAR(geometric_mean({0.5, 0.5}), 0.5, 1e-12);
  EXPECT_EQ(geometric_mean({0.5, 0}), 0) << "a case with score 0 must not vanish";
  EXPECT_EQ(geometric_mean({}), 0);
}

}  // namespace
}  // namespace cornerturn::bench
