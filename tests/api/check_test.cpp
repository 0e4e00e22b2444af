#include "api/check.hpp"

#include <gtest/gtest.h>
// After gtest.
#include <rapidcheck/gtest.h>

#include <set>

#include "../kernels/oracle.hpp"
#include "api/in_place.hpp"
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
  expect_error(status::overflow, {"src spans"}, [&] {  // each of the two fits, their sum does not
    check(strided(1, {{2, std::int64_t{1} << 62, 1}, {2, -(std::int64_t{1} << 62), 2}}));
  });
}

// A stride is a step from one element to the next: one element has none.
TEST(check, an_axis_of_extent_1_has_no_stride) {
  const std::int64_t far = std::int64_t{1} << 62;
  for (const std::int64_t stride : {std::int64_t{0}, far, INT64_MIN, INT64_MAX}) {
    problem what = strided(4, {{3, 1, 5}, {1, stride, stride, stride}, {5, 3, 1}});
    EXPECT_NO_THROW(check(what));
    EXPECT_EQ(map::canonicalize(what), map::canonicalize(strided(4, {{3, 1, 5}, {5, 3, 1}})));
    what.math = {.src = element_type::float32, .dst = element_type::float32, .alpha = {2, 0}, .beta = {1, 0}};
    EXPECT_NO_THROW(check(what));
    what.axes[1].extent = 0;
    EXPECT_NO_THROW(check(what));
    problem square = strided(4, {{3, 1, 3}, {1, stride, -(stride / 2)}, {3, 3, 1}});
    square.in_place = true;
    EXPECT_NO_THROW(check(square));
    EXPECT_NO_THROW(check_in_place(square, map::in_place(map::canonicalize(square))));
  }
}

TEST(check, an_array_in_place_fits_an_address_space) {
  problem what = transpose_problem(std::int64_t{1} << 28, std::int64_t{1} << 28, 1);
  what.in_place = true;
  EXPECT_NO_THROW(check(what));
  what.element_bytes = 2;
  expect_error(status::overflow, {"in_place is set", "wanted at most 72057594037927936"}, [&] { check(what); });
}

problem typed(const arithmetic& math) {
  problem what = strided(std::max<std::int64_t>(bytes_of(math.src), 1), {{3, 1, 5}, {5, 3, 1}});
  what.math = math;
  return what;
}

void expect_refused(const arithmetic& math, std::initializer_list<const char*> parts) {
  expect_error(status::invalid_argument, parts, [&] { check(typed(math)); });
}

TEST(check, types_that_go_together) {
  using enum element_type;
  EXPECT_NO_THROW(check(typed({.src = float32, .dst = float16, .alpha = {2, 0}, .beta = {3, 0}})));
  EXPECT_NO_THROW(check(typed({.src = complex64, .dst = complex64, .alpha = {2, 1}, .beta = {3, 1}, .conj = true})));
  EXPECT_NO_THROW(check(typed({.src = bfloat16, .dst = float8_e5m2, .alpha = {2, 0}, .scaled = true})));
  EXPECT_NO_THROW(check(typed({.src = uint8, .dst = int64})));
  expect_refused({.src = float16, .dst = bfloat16}, {"math converts float16 to bfloat16", "one type on both sides",
                                                     "float8_e4m3", "an integer to an integer"});
  expect_refused({.src = float8_e4m3, .dst = float32}, {"math converts float8_e4m3 to float32"});
  expect_refused({.src = float32, .dst = int32}, {"math converts float32 to int32"});
  expect_refused({.src = bits, .dst = float16}, {"math converts bits to float16", "or bits on both"});
  expect_refused({.src = static_cast<element_type>(99), .dst = float16}, {"math.src is 99", "not an element_type"});
  expect_refused({.src = float16, .dst = static_cast<element_type>(-1)}, {"math.dst is -1"});
  problem what = typed({.src = float32, .dst = float16});
  what.element_bytes = 8;
  expect_error(status::invalid_argument, {"element_bytes is 8", "math.src is float32", "Wanted: 4"},
               [&] { check(what); });
}

TEST(check, arithmetic_that_types_have) {
  using enum element_type;
  expect_refused({.alpha = {2, 0}}, {"math.alpha is 2, which is not supported for bits", "Wanted: 1"});
  expect_refused({.src = int32, .dst = int64, .alpha = {2, 0}},
                 {"math.alpha is 2, which is not supported for int32 to int64"});
  expect_refused({.src = int32, .dst = int32, .beta = {1, 0}}, {"math.beta is 1", "Wanted: 0"});
  expect_refused({.src = float32, .dst = float8_e4m3, .beta = {1, 0}, .scaled = true}, {"math.beta is 1", "Wanted: 0"});
  expect_refused({.src = float8_e4m3, .dst = float8_e4m3, .alpha = {3, 0}}, {"math.alpha is 3"});
  expect_refused({.src = float32, .dst = float16, .alpha = {2, 1}}, {"math.alpha is (2, 1)", "no imaginary part"});
  expect_refused({.src = float32, .dst = float32, .beta = {2, 1}}, {"math.beta is (2, 1)", "no imaginary part"});
  expect_refused({.src = float32, .dst = float32, .conj = true}, {"math.conj is set", "float32", "complex64"});
  expect_refused({.src = float32, .dst = float8_e4m3}, {"math.scaled is not set", "math.scaled set, and a scale of 1"});
  expect_refused({.src = float32, .dst = float16, .scaled = true}, {"math.scaled is set", "a conversion to float8"});
  expect_refused({.src = float8_e4m3, .dst = float8_e4m3, .scaled = true}, {"math.scaled is set"});
}

TEST(check, second_arrays) {
  using enum element_type;
  problem what = typed({.src = float32, .dst = float16, .beta = {1, 0}});
  what.axes[1].second_stride = 7;
  expect_error(status::invalid_argument, {"axis 1 has second stride 7", "math.second is none"}, [&] { check(what); });
  what.math.second = second_array::source;
  EXPECT_NO_THROW(check(what));
  what.axes[1].second_stride = INT64_MAX / 4;
  expect_error(status::overflow, {"the second source spans"}, [&] { check(what); });
  what.math.second = second_array::destination;
  expect_error(status::invalid_argument, {"math.beta is not 0"}, [&] { check(what); });
  what.math.beta = {};
  what.axes[1].second_stride = 3;
  expect_error(status::overlap, {"axis 0 has second stride 0"}, [&] { check(what); });
  what.axes[0].second_stride = 2;
  expect_error(status::overlap, {"axis 1 has second stride 3", "two elements of second", "at least 5"},
               [&] { check(what); });
  what.axes[0].second_stride = -1;
  EXPECT_NO_THROW(check(what));
  what.in_place = true;
  expect_error(status::invalid_argument, {"in_place is set", "second destination"}, [&] { check(what); });
  what = strided(12, {{3, 1, 1, 1}});
  what.math.second = second_array::destination;
  expect_error(status::invalid_argument, {"element_bytes is 12", "1, 2, 4, 8 or 16"}, [&] { check(what); });
  expect_refused({.second = static_cast<second_array>(3)}, {"math.second is 3"});
}

TEST(check, wide_elements_of_dst_reach_further) {
  problem what = strided(1, {{std::int64_t{1} << 61, 1, 1}});
  EXPECT_NO_THROW(check(what));
  what.math = {.src = element_type::int8, .dst = element_type::int64};
  expect_error(status::overflow, {"axis 0"}, [&] { check(what); });
}

// A problem that check() accepts never has two elements of dst at one address.
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
