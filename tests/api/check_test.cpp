#include "api/check.hpp"

#include <gtest/gtest.h>
// After gtest.
#include <rapidcheck/gtest.h>

#include <set>

#include "../kernels/oracle.hpp"
#include "expect_error.hpp"

namespace cornerturn::api {
namespace {

using testing::expect_error;

problem strided(std::int64_t element_bytes, std::initializer_list<axis> axes) {
  problem what{.element_bytes = element_bytes, .rank = static_cast<int>(axes.size()), .axes = {}};
  std::copy(axes.begin(), axes.end(), what.axes.begin());
  return what;
}

TEST(check, accepts_what_is_right) {
  EXPECT_NO_THROW(check(transpose_problem(3, 5, 4)));
  EXPECT_NO_THROW(check(problem{.element_bytes = 1, .rank = 0, .axes = {}}));
  EXPECT_NO_THROW(check(strided(4, {{3, 0, 1}, {5, -3, -3}})));
  EXPECT_NO_THROW(check(strided(4, {{1, INT64_MAX, INT64_MIN}})));  // never used
  EXPECT_NO_THROW(check(strided(1, {{INT64_MAX, 1, 1}})));
}

TEST(check, an_empty_problem_may_have_any_strides) {
  EXPECT_NO_THROW(check(strided(8, {{INT64_MAX, INT64_MAX, 0}, {0, 0, 0}, {INT64_MAX, INT64_MIN, INT64_MIN}})));
}

TEST(check, sizes) {
  expect_error(status::invalid_argument, {"element_bytes is 0", "at least 1"}, [] { check(strided(0, {})); });
  expect_error(status::invalid_argument, {"rank is 17", "0 to 16"},
               [] { check(problem{.element_bytes = 1, .rank = 17, .axes = {}}); });
  expect_error(status::invalid_argument, {"rank is -1"},
               [] { check(problem{.element_bytes = 1, .rank = -1, .axes = {}}); });
  expect_error(status::invalid_argument, {"axis 1 has extent -2", "0 or more"}, [] {
    check(strided(4, {{2, 1, 1}, {-2, 2, 2}}));
  });
  expect_error(status::invalid_argument, {"axis 1 has extent -2"}, [] { check(strided(4, {{0, 1, 1}, {-2, 2, 2}})); });
}

TEST(check, elements_of_dst_that_share_a_place) {
  expect_error(status::overlap, {"axis 0", "dst stride 0", "extent 3"}, [] { check(strided(4, {{3, 1, 0}})); });
  expect_error(status::overlap, {"axis 0 has dst stride 4", "reach 4", "at least 5"}, [] {
    check(strided(4, {{2, 1, 4}, {5, 2, 1}}));
  });
  expect_error(status::overlap, {"axis 1 has dst stride -1"}, [] { check(strided(4, {{5, 1, 1}, {2, 5, -1}})); });
  EXPECT_NO_THROW(check(strided(4, {{2, 1, 5}, {5, 2, 1}})));
  EXPECT_NO_THROW(check(strided(4, {{2, 1, -5}, {5, 2, 1}})));
}

TEST(check, bytes_that_leave_63_bits) {
  const std::int64_t big = std::int64_t{1} << 32;
  expect_error(status::overflow, {"axis 1", "extent 4294967296"}, [&] {
    check(strided(1, {{big, 0, 1}, {big, 0, big}}));
  });
  expect_error(status::overflow, {"elements", "axis 0"}, [] { check(strided(2, {{INT64_MAX, 1, 1}})); });
  expect_error(status::overflow, {"src spans"}, [&] { check(strided(1, {{3, std::int64_t{1} << 62, 1}})); });
  expect_error(status::overflow, {"dst spans"}, [&] { check(strided(1, {{3, 1, std::int64_t{1} << 62}})); });
  expect_error(status::overflow, {"src spans"}, [&] { check(strided(8, {{2, std::int64_t{1} << 60, 1}})); });
  expect_error(status::overflow, {"src spans"}, [] { check(strided(1, {{2, INT64_MIN, 1}})); });
  expect_error(status::overflow, {"dst spans"}, [] { check(strided(1, {{2, 1, INT64_MIN}})); });
  expect_error(status::overflow, {"src spans"}, [&] {  // down and up: each fits, both do not
    check(strided(1, {{2, std::int64_t{1} << 62, 1}, {2, -(std::int64_t{1} << 62), 2}}));
  });
}

// What check() accepts, has no two elements of dst in one place.
RC_GTEST_PROP(check, accepts_no_problem_with_a_collision, ()) {
  problem what{.element_bytes = 1, .rank = *rc::gen::inRange(1, 5), .axes = {}};
  for (int k = 0; k < what.rank; ++k)
    what.axes[k] = {*rc::gen::inRange<std::int64_t>(1, 5), 0, *rc::gen::inRange<std::int64_t>(-30, 30)};
  std::set<std::int64_t> places;
  testing::walk(what, [&](std::int64_t, std::int64_t dst) { places.insert(dst); });
  const bool collides = static_cast<std::int64_t>(places.size()) < testing::elements_of(what);
  bool accepted = true;
  try {
    check(what);
  } catch (const error& caught) {
    accepted = false;
    RC_ASSERT(caught.code() == status::overlap);
  }
  RC_ASSERT(!(accepted && collides));
}

}  // namespace
}  // namespace cornerturn::api
