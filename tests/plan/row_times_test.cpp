// The CPU rows that the planner chooses are nearly the fastest, by times that were measured on such a machine.
#include "row_times.hpp"

#include <gtest/gtest.h>

#include "api/machine.hpp"
#include "map/canonical.hpp"
#include "plan/choose.hpp"

namespace cornerturn::planning::row_times_test {
namespace {

TEST(choices, cost_little_on_sapphire_rapids) {
  const base::machine machine = api::find_machine("sapphire_rapids", 1).cpu;
  testing::expect_regrets(testing::regrets("sapphire_rapids.txt",
                                           [&](const testing::timed_rows& one) {
                                             const map::canonical form = map::canonicalize(one.what);
                                             return choose(form, {.threads = 1}, machine).row->name;
                                           }),
                          1.1, {});
}

}  // namespace
}  // namespace cornerturn::planning::row_times_test
