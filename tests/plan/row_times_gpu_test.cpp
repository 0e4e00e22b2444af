// The GPU rows that the planner chooses are nearly the fastest, by times that were measured on such a device.
#include <gtest/gtest.h>

#include <string>

#include "gpu_choice.hpp"
#include "map/canonical.hpp"
#include "row_times.hpp"

namespace cornerturn::planning::row_times_gpu_test {
namespace {

std::string chosen(const testing::timed_rows& one) {
  testing::gpu_wish wanted;
  wanted.alignment = one.alignment;
  const map::canonical form = map::canonicalize(one.what, one.alignment);
  return testing::choose_move(form, wanted).row->name;
}

TEST(gpu_choices, cost_little_on_an_h200) {
  testing::expect_regrets(testing::regrets("h200.txt", chosen), 1.1, {{"view", 1.15}});
}

// Problems of 16 KiB to 32 MiB in L2, whose constants were fitted to other problems.
TEST(gpu_choices, cost_little_in_the_cache_of_an_h200) {
  testing::expect_regrets(testing::regrets("h200_cached.txt", chosen), 1.08, {});
}

// Views, by times from before launches waited for two launches before them. An H100 takes the constants of the H200.
TEST(gpu_choices, of_views_cost_little_in_the_cache_of_an_h100) {
  testing::expect_regrets(testing::regrets("h100.txt", chosen), 1.1, {});
}

}  // namespace
}  // namespace cornerturn::planning::row_times_gpu_test
