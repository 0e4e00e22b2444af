// The GPU rows that the planner chooses are nearly the fastest, by times that were measured on such a device.
#include <gtest/gtest.h>

#include "gpu_choice.hpp"
#include "map/canonical.hpp"
#include "row_times.hpp"

namespace cornerturn::planning::row_times_gpu_test {
namespace {

TEST(gpu_choices, cost_little_on_an_h200) {
  testing::expect_regrets(testing::regrets("h200.txt",
                                           [](const testing::timed_rows& one) -> std::string {
                                             testing::gpu_wish wanted;
                                             wanted.alignment = one.alignment;
                                             const map::canonical form = map::canonicalize(one.what, one.alignment);
                                             return testing::choose_move(form, wanted).row->name;
                                           }),
                          1.1, {{"view", 1.15}});
}

}  // namespace
}  // namespace cornerturn::planning::row_times_gpu_test
