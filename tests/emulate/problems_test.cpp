// Random problems through the GPU's part of the planner, emulated. RapidCheck shrinks a failing problem.
#include <gtest/gtest.h>
// After gtest.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "api/check.hpp"
#include "move.hpp"

namespace cornerturn::testing {
namespace {

[[maybe_unused]] const int more_cases =
    setenv("RC_PARAMS", ("max_success=" + std::to_string(1000 / slower)).c_str(), 0);

// Up to 6 axes in any order on either side, with gaps and negative strides; src may repeat elements.
rc::Gen<problem> problems() {
  return rc::gen::exec([] {
    problem what;
    what.element_bytes = *rc::gen::element(1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 40);
    what.rank = *rc::gen::inRange(0, 7);
    const auto order = *rc::gen::container<std::vector<int>>(2 * max_rank, rc::gen::inRange(0, 1000));
    std::vector<int> dst_order, src_order;
    for (int k = 0; k < what.rank; ++k) dst_order.push_back(k), src_order.push_back(k);
    std::stable_sort(dst_order.begin(), dst_order.end(), [&](int a, int b) { return order[a] < order[b]; });
    std::stable_sort(src_order.begin(), src_order.end(),
                     [&](int a, int b) { return order[max_rank + a] < order[max_rank + b]; });
    std::int64_t room = 40000 / what.element_bytes;
    for (int k = 0; k < what.rank; ++k) {
      const std::int64_t most = std::min<std::int64_t>(room, *rc::gen::element(4, 20, 70, 300));
      what.axes[k].extent = *rc::gen::inRange<std::int64_t>(1, most + 1);
      room /= what.axes[k].extent;
    }
    const auto gap = rc::gen::weightedElement<std::int64_t>({{12, 0}, {1, 1}, {1, 2}, {1, 8}, {1, 16}});
    const auto sign = rc::gen::weightedElement<std::int64_t>({{5, 1}, {1, -1}});
    std::int64_t next = 1;
    for (const int k : dst_order) {
      next += *gap;
      what.axes[k].dst_stride = next * *sign;
      next *= what.axes[k].extent;
    }
    next = 1;
    for (const int k : src_order) {
      next += *gap;
      what.axes[k].src_stride = next * *rc::gen::weightedElement<std::int64_t>({{12, 1}, {3, -1}, {1, 0}});
      next *= what.axes[k].extent;
    }
    return what;
  });
}

RC_GTEST_PROP(emulated_problems, move_as_they_are_defined, ()) {
  const problem what = *problems();
  api::check(what);
  dice roll(*rc::gen::arbitrary<std::uint32_t>());
  const gpu_setting setting = any_setting(roll, what);
  const moved result = move(what, setting);
  RC_LOG() << to_text(what) << "\n" << to_text(setting) << "\n" << result.row << "\n";
  RC_ASSERT(result.row != "");
  RC_ASSERT(result.fault == "");
}

}  // namespace
}  // namespace cornerturn::testing
