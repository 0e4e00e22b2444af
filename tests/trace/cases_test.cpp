// The problems that are found for rows: each kind of row has some, and they are counted in full.
#include "trace/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace cornerturn::trace {
namespace {

const model::architecture& sm_90() { return *model::find_architecture("sm_90"); }

// Each family of rows once: it has problems, every launch is counted in full, and no byte is counted less than once.
TEST(cases, of_a_row_of_each_kind_are_counted_in_full) {
  if (!can_count()) GTEST_SKIP() << "this build cannot count a row";
  std::set<std::string> met;
  for (const std::string_view row : rows()) {
    const std::string kind(row.substr(0, row.find_first_of("0123456789")));
    if (!met.insert(kind).second) continue;
    SCOPED_TRACE(row);
    const std::vector<named_case> cases = cases_for(row, 1, sm_90());
    if (cases.empty()) continue;
    const std::vector<planned_launch> planned = plan_of(cases[0], sm_90());
    if (planned[0].has_flags) continue;  // seconds
    const row_count made = count(cases[0], sm_90());
    ASSERT_EQ(made.launches.size(), planned.size());
    EXPECT_FALSE(made.is_scaled());
    for (std::size_t k = 0; k < planned.size(); ++k) EXPECT_EQ(made.launches[k].row, planned[k].row);
    std::int64_t elements = std::max(cases[0].items, 1);
    for (int k = 0; k < cases[0].what.rank; ++k) elements *= cases[0].what.axes[k].extent;
    const model::traffic all = made.sum();
    if (planned.size() > 1) continue;  // there and back
    EXPECT_GE(all.load.bytes + all.async_load.bytes, elements * cases[0].what.element_bytes);
    const problem& what = cases[0].what;
    const std::int64_t to_bytes = what.math.dst == element_type::bits ? what.element_bytes : bytes_of(what.math.dst);
    EXPECT_EQ(all.store.bytes, elements * to_bytes);
  }
  EXPECT_GT(met.size(), 10U);
}

TEST(cases, are_different_and_start_their_row) {
  constexpr std::string_view row = "gpu_assemble_b4";  // that many problems choose
  const std::vector<named_case> cases = cases_for(row, 4, sm_90());
  ASSERT_EQ(cases.size(), 4U);
  std::set<std::string> texts;
  for (const named_case& one : cases) {
    texts.insert(one.text);
    const std::vector<planned_launch> planned = plan_of(one, sm_90());
    EXPECT_TRUE(std::any_of(planned.begin(), planned.end(), [&](const planned_launch& each) {
      return each.row == row;
    })) << one.text;
  }
  EXPECT_EQ(texts.size(), cases.size());
}

}  // namespace
}  // namespace cornerturn::trace
