#include "api/apply.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "../kernels/math_cases.hpp"
#include "cornerturn/cornerturn.hpp"
#include "expect_error.hpp"

namespace cornerturn {
namespace {

using testing::dice;
using testing::expect_error;
using testing::math_bench;

problem transpose_with(std::int64_t rows, std::int64_t cols, const arithmetic& math) {
  problem what = transpose_problem(rows, cols, std::max<std::int64_t>(bytes_of(math.src), 1));
  what.math = math;
  return what;
}

constexpr element_type f16 = element_type::float16, f32 = element_type::float32, e4m3 = element_type::float8_e4m3;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(apply, scales_and_adds) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  std::vector<float> c{10, 20, 30, 40, 50, 60};
  const problem what = transpose_with(2, 3, {.src = f32, .dst = f32, .alpha = {2, 0}, .beta = {0.5, 0}});
  plan(what).execute(a.data(), c.data());
  EXPECT_EQ(c, (std::vector<float>{7, 18, 19, 30, 31, 42}));
  execute(what, a.data(), c.data());
  EXPECT_EQ(c, (std::vector<float>{5.5, 17, 13.5, 25, 21.5, 33}));
}

TEST(apply, adds_a_second_source_of_other_strides) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{10, 20, 30, 40, 50, 60}, bias{100, 200, 300};
  std::vector<float> c(6, nan);
  problem what = transpose_with(2, 3, {.src = f32, .dst = f32, .beta = {1, 0}, .second = second_array::source});
  what.axes[0].second_stride = 1;
  what.axes[1].second_stride = 3;
  operands all;
  all.src = a.data();
  all.dst = c.data();
  all.second = b.data();
  execute(what, all);
  EXPECT_EQ(c, (std::vector<float>{11, 44, 22, 55, 33, 66}));
  what.axes[1].second_stride = 0;  // a bias for each column of src
  all.second = bias.data();
  execute(what, all);
  EXPECT_EQ(c, (std::vector<float>{101, 104, 202, 205, 303, 306}));
}

TEST(apply, writes_the_cast_and_its_transpose) {
  const std::vector<float> a{1, 2, 3, 4, 5, 600};
  std::vector<std::uint8_t> cast(6), turned(6);
  problem what = transpose_with(2, 3, {.src = f32, .dst = e4m3, .scaled = true, .second = second_array::destination});
  what.axes[0].second_stride = 1;
  what.axes[1].second_stride = 3;
  const float scale = 2;
  operands all;
  all.src = a.data();
  all.dst = turned.data();
  all.second_dst = cast.data();
  all.scale = &scale;
  plan(what).execute(all);
  EXPECT_EQ(cast, (std::vector<std::uint8_t>{0x40, 0x48, 0x4c, 0x50, 0x52, 0x7e}));
  EXPECT_EQ(turned, (std::vector<std::uint8_t>{0x40, 0x50, 0x48, 0x52, 0x4c, 0x7e}));
}

TEST(apply, what_is_not_multiplied_is_not_read) {
  const std::vector<float> a{1, nan, 3, 4};
  std::vector<float> c(4, nan);
  plan(transpose_with(2, 2, {.src = f32, .dst = f32, .alpha = {2, 0}})).execute(a.data(), c.data());
  EXPECT_EQ(c[0], 2);
  EXPECT_TRUE(std::isnan(c[2]));
  EXPECT_EQ(c[1], 6);
  c = {1, 2, 3, 4};
  plan(transpose_with(2, 2, {.src = f32, .dst = f32, .alpha = {0, 0}, .beta = {3, 0}})).execute(a.data(), c.data());
  EXPECT_EQ(c, (std::vector<float>{3, 6, 9, 12}));
  plan(transpose_with(2, 2, {.src = f32, .dst = f32, .alpha = {0, 0}})).execute(a.data(), c.data());
  EXPECT_EQ(c, (std::vector<float>{0, 0, 0, 0}));
  // This problem has no second source.
  problem what = transpose_with(2, 2, {.src = f32, .dst = f32, .alpha = {2, 0}, .second = second_array::source});
  plan(what).execute(a.data(), c.data());
  EXPECT_EQ(c[1], 6);
}

TEST(apply, types_alone_change_nothing) {
  problem typed = transpose_with(300, 500, {.src = f32, .dst = f32});
  const problem bare = transpose_problem(300, 500, 4);
  EXPECT_EQ(map::canonicalize(typed), map::canonicalize(bare));
  EXPECT_STREQ(plan(typed).kernel(), plan(bare).kernel());
  EXPECT_EQ(plan(typed).explain(), plan(bare).explain());
  typed.in_place = true;
  typed.axes[0].extent = typed.axes[1].extent = 300;
  typed.axes[0].dst_stride = typed.axes[1].src_stride = 300;
  EXPECT_NO_THROW(plan{typed});
  const problem wrapped =
      transpose_with(3, 5, {.src = element_type::int16, .dst = element_type::uint16, .saturate = false});
  EXPECT_STREQ(plan(wrapped).kernel(), plan(transpose_problem(3, 5, 2)).kernel());
}

TEST(apply, a_second_source_may_be_dst_where_its_strides_are_those) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  std::vector<float> c{10, 20, 30, 40, 50, 60};
  problem what = transpose_with(2, 3, {.src = f32, .dst = f32, .beta = {1, 0}, .second = second_array::source});
  for (int k = 0; k < 2; ++k) what.axes[k].second_stride = what.axes[k].dst_stride;
  operands all;
  all.src = a.data();
  all.dst = c.data();
  all.second = c.data();
  plan(what).execute(all);
  EXPECT_EQ(c, (std::vector<float>{11, 24, 32, 45, 53, 66}));
  all.second = c.data() + 1;
  expect_error(status::overlap, {"dst and second overlap", "second - dst is 4 bytes"},
               [&] { plan(what).execute(all); });
  std::swap(what.axes[0].second_stride, what.axes[1].second_stride);
  what.axes[1].second_stride = 3;
  all.second = c.data();
  expect_error(status::overlap, {"dst and second overlap"}, [&] { plan(what).execute(all); });
}

TEST(apply, destinations_overlap_nothing) {
  std::vector<float> some(40);
  problem what = transpose_with(2, 3, {.src = f32, .dst = f16, .second = second_array::destination});
  what.axes[0].second_stride = 1;
  what.axes[1].second_stride = 3;
  operands all;
  all.src = some.data();
  all.dst = some.data() + 6;
  all.second_dst = some.data() + 9;
  EXPECT_NO_THROW(plan(what).execute(all));
  all.second_dst = some.data() + 8;
  expect_error(status::overlap, {"dst and second_dst overlap", "spans bytes 0 to 12"},
               [&] { plan(what).execute(all); });
  all.second_dst = some.data() + 5;
  expect_error(status::overlap, {"src and second_dst overlap", "spans bytes 0 to 24"},
               [&] { plan(what).execute(all); });
}

TEST(apply, a_scale_is_read_at_any_address_and_shares_no_byte_with_dst) {
  problem what = transpose_problem(4, 4, 4);
  what.math = {.src = element_type::float32, .dst = element_type::float8_e4m3, .scaled = true};
  const std::vector<float> src(16, 2.0F);
  std::vector<unsigned char> dst(16), raw(8);
  const float scale = 0.5F;
  std::memcpy(raw.data() + 1, &scale, sizeof scale);
  const auto* const odd = reinterpret_cast<const float*>(raw.data() + 1);
  plan(what).execute({.src = src.data(), .dst = dst.data(), .scale = odd});
  EXPECT_EQ(dst, std::vector<unsigned char>(16, 0x38));  // 1 in float8_e4m3
  expect_error(status::overlap, {"dst and scale overlap"}, [&] {
    plan(what).execute(
        {.src = src.data(), .dst = dst.data(), .scale = reinterpret_cast<const float*>(dst.data() + 12)});
  });
}

TEST(apply, pointers_that_are_wanted_or_are_not) {
  std::vector<float> some(100);
  operands all;
  all.src = some.data();
  all.dst = some.data() + 50;
  const auto refused = [&](const arithmetic& math, std::initializer_list<const char*> parts) {
    expect_error(status::invalid_argument, parts, [&] { plan(transpose_with(2, 2, math)).execute(all); });
  };
  refused({.src = f32, .dst = f32, .beta = {1, 0}, .second = second_array::source},
          {"second is null", "math.second is source"});
  refused({.src = f32, .dst = e4m3, .scaled = true}, {"scale is null", "math.scaled is set"});
  problem dual = transpose_with(2, 2, {.src = f32, .dst = f16, .second = second_array::destination});
  dual.axes[0].second_stride = 1;
  dual.axes[1].second_stride = 2;
  expect_error(status::invalid_argument, {"second_dst is null", "math.second is destination"},
               [&] { plan(dual).execute(all); });
  expect_error(status::invalid_argument, {"second_dst is null"}, [&] { plan(dual).execute(all.src, all.dst); });
  all.scale = some.data();
  refused({.src = f32, .dst = f16}, {"scale is given", "Wanted: null, unless math.scaled is set"});
  refused({}, {"scale is given"});
  all.scale = nullptr;
  all.second_dst = some.data() + 70;
  refused({.src = f32, .dst = f16}, {"second_dst is given"});
  all.second_dst = nullptr;
  all.second = some.data() + 70;
  refused({.src = f32, .dst = f32, .beta = {1, 0}}, {"second is given", "Wanted: null, unless math.second is source"});
  all.second = nullptr;
  all.dst = nullptr;
  refused({.src = f32, .dst = f16}, {"dst is null"});
}

TEST(apply, moves_with_operands_too) {
  std::vector<float> src{1, 2, 3, 4, 5, 6}, dst(6);
  operands all;
  all.src = src.data();
  all.dst = dst.data();
  execute(transpose_problem(2, 3, 4), all);
  EXPECT_EQ(dst, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  problem square = transpose_problem(2, 2, 4);
  square.in_place = true;
  all.src = all.dst;
  execute(square, all);
  EXPECT_EQ(dst, (std::vector<float>{1, 2, 4, 5, 3, 6}));
  std::vector<std::byte> small(1);
  all.workspace = small;
  const problem rectangle = [] {
    problem what = transpose_problem(1000, 700, 4);
    what.in_place = true;
    return what;
  }();
  expect_error(status::invalid_argument, {"workspace has 1 bytes"}, [&] { plan(rectangle).execute(all); });
}

TEST(apply, in_place_is_refused_with_math) {
  std::vector<float> some(4);
  problem what = transpose_with(2, 2, {.src = f32, .dst = f32, .alpha = {2, 0}});
  expect_error(status::overlap, {"set in_place"}, [&] { execute(what, some.data(), some.data()); });
  what.in_place = true;
  expect_error(status::invalid_argument, {"in_place is set", "math"}, [&] { execute(what, some.data(), some.data()); });
}

TEST(apply, tune_measures_moves_only) {
  std::vector<float> some(8);
  expect_error(status::invalid_argument, {"math changes elements"},
               [&] { tune(transpose_with(2, 2, {.src = f32, .dst = f16}), some.data(), some.data() + 4); });
}

TEST(apply, a_row_that_only_moves_is_refused) {
  const arithmetic math{.src = f32, .dst = f16};
  problem lying = transpose_with(70, 90, math);
  lying.axes[0].dst_stride = 1;
  lying.axes[1].dst_stride = 100;
  for (const kernel_info& row : kernel_list()) {
    if (row.backend != "cpu") continue;
    int taken = 0;
    for (const problem& what : {transpose_with(70, 90, math), lying, transpose_problem(70, 90, 4)}) {
      try {
        const plan how(what, {.device = device::cpu, .threads = 1, .parallel = {}, .kernel = row.name.c_str()});
        EXPECT_EQ(how.kernel(), row.name);
        EXPECT_EQ((kernels::find(row.name)->kind == kernels::row_kind::arithmetic), what.math == math) << row.name;
        ++taken;
      } catch (const error& refused) {
        EXPECT_NE(std::string(refused.what()).find("does not accept this problem"), std::string::npos)
            << refused.what();
      }
    }
    const bool computes = (kernels::find(row.name)->kind == kernels::row_kind::arithmetic);
    EXPECT_TRUE(taken > 0 || !computes) << row.name;
  }
}

TEST(apply, bytes_are_those_of_every_array) {
  EXPECT_EQ(plan(transpose_with(10, 10, {.src = f32, .dst = f16})).bytes_moved(), 600);
  EXPECT_EQ(plan(transpose_with(10, 10, {.src = f32, .dst = f16, .beta = {1, 0}})).bytes_moved(), 800);
  EXPECT_EQ(plan(transpose_with(10, 10, {.src = f32, .dst = f32, .alpha = {0, 0}})).bytes_moved(), 400);
}

TEST(apply, explain_names_the_math) {
  problem what = transpose_with(2, 3, {.src = f32, .dst = f16, .alpha = {2, 0}, .beta = {0.5, 0}});
  const std::string text = plan(what).explain();
  EXPECT_NE(text.find("math       float32 to float16, alpha 2, beta 0.5 of dst, saturating\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("4-byte words to 2-byte words"), std::string::npos) << text;
  const arithmetic all{.src = element_type::complex64,
                       .dst = element_type::complex64,
                       .alpha = {1, -2},
                       .beta = {1, 0},
                       .conj = true,
                       .second = second_array::source};
  EXPECT_EQ(api::text_of(all), "complex64, conjugated, alpha (1, -2), beta 1 of a second source");
  EXPECT_EQ(
      api::text_of({.src = f32, .dst = e4m3, .saturate = false, .scaled = true, .second = second_array::destination}),
      "float32 to float8_e4m3, scaled, not saturating, to a second destination too");
}

TEST(apply, types_have_names_and_sizes) {
  for (const element_type type : testing::all_types) EXPECT_STRNE(name(type), "unknown");
  EXPECT_STREQ(name(element_type::uint64), "uint64");
  EXPECT_STREQ(name(static_cast<element_type>(17)), "unknown");
  EXPECT_EQ(bytes_of(element_type::complex128), 16);
  EXPECT_EQ(bytes_of(static_cast<element_type>(17)), 0);
  EXPECT_EQ(bytes_of(static_cast<element_type>(-1)), 0);
}

// Through the plan, with thread teams.
TEST(apply, any_problem_with_any_number_of_threads) {
  dice roll(21);
  const std::vector<testing::type_pair> pairs = testing::all_pairs();
  for (int turn = 0; turn < 60; ++turn) {
    const arithmetic math = testing::any_math(roll, roll.of(pairs));
    const problem shape = roll.one_in(3)   ? transpose_problem(301, 403, 4)
                          : roll.one_in(2) ? testing::any_permutation(roll, 1, 100000)
                                           : testing::any_strides(roll, 1, 50000);
    const problem what = testing::with_math(shape, math, 4, roll);
    math_bench bench(what, roll);
    for (const int threads : {1, 3}) {
      const plan how(what, {.device = device::cpu, .threads = threads, .parallel = {}, .kernel = nullptr});
      bench.clear();
      how.execute(bench.all());
      ASSERT_EQ(bench.difference(), "") << testing::to_text(what, what.math) << '\n' << how.explain();
    }
  }
}

}  // namespace
}  // namespace cornerturn
