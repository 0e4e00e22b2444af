// Every CPU row with arithmetic x every SIMD target of this machine, on shapes of cases.hpp with random math. Each runs
// whole, then in uneven ranges of units, last range first. Then every pair of types with every kind of math on one
// shape.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <tuple>

#include "api/check.hpp"
#include "kernels/kernel.hpp"
#include "map/canonical.hpp"
#include "math_cases.hpp"
#include "plan/choose.hpp"

namespace cornerturn::testing::apply_test {
namespace {

constexpr int enough_failures = 4;
using parameter = std::tuple<std::string, std::string>;

class apply_rows : public ::testing::TestWithParam<parameter> {
 protected:
  void SetUp() override { ASSERT_TRUE(kernels::force_simd_target(std::get<1>(GetParam()))); }
  void TearDown() override { EXPECT_TRUE(kernels::force_simd_target("")); }

  void check(const problem& what, dice& roll) {
    if (failures_ >= enough_failures) return;
    ASSERT_NO_THROW(api::check(what)) << to_text(what, what.math);
    const map::canonical form = map::canonicalize(what);
    const kernels::op how = kernels::op_of(what.math, what.element_bytes);
    // The second machine walks strips, and its caches are too small for every problem.
    for (const base::machine& machine :
         {machine_with(0, true), machine_with(2 << 20, false), machine_with(std::int64_t{1} << 40, true)}) {
      const std::int64_t beside = machine.amd ? 0 : machine.l2_bytes;
      const kernels::offer made =
          planning::choose(form, {.kernel = std::get<0>(GetParam()), .beside_bytes = beside, .math = &how}, machine);
      if (made.row == nullptr) continue;
      ++accepted_;
      if (made.row->name == std::string_view("cpu_apply_strips")) ++strips_;
      math_bench bench(what, roll);
      const kernels::arrays those = bench.arrays(form);
      made.row->run(made.args, those, 0, made.units);
      const std::string whole = bench.difference();
      EXPECT_EQ(whole, "") << made.row->name << ": " << to_text(what, what.math);
      bench.clear();
      for (std::int64_t end = made.units, ranges = 1; end > 0; ++ranges) {
        const std::int64_t begin = ranges == 4 ? 0 : roll.below(end);
        made.row->run(made.args, those, begin, end);
        end = begin;
      }
      const std::string parts = bench.difference();
      EXPECT_EQ(parts, "") << "in ranges: " << made.row->name << ": " << to_text(what, what.math);
      if (!whole.empty() || !parts.empty()) ++failures_;
    }
  }

  int accepted_ = 0;
  int strips_ = 0;
  int failures_ = 0;
};

TEST_P(apply_rows, compute_every_problem_that_they_accept) {
  dice roll(11);
  const std::vector<type_pair> pairs = all_pairs();
  constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16};
  for (const std::int64_t element_bytes : {1, 4, 8}) {
    for_each_problem(element_bytes, 3 * thinner(), 1, machine_with(0, true), [&](const problem& shape) {
      const arithmetic math = any_math(roll, roll.of(pairs));
      check(with_math(shape, math, roll.of(sizes), roll), roll);
    });
  }
  EXPECT_GT(accepted_, 0);
}

// Views of several boxes, with a second array that is a view of its own.
TEST_P(apply_rows, compute_views) {
  dice roll(16);
  const std::vector<type_pair> pairs = all_pairs();
  constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16};
  for (int k = 0; k < base::ceil_div(25, thinner()); ++k) {
    const problem shape = any_view(roll, 1, 60000);
    check(with_math(shape, any_math(roll, roll.of(pairs)), roll.of(sizes), roll), roll);
  }
  const std::string& row = std::get<0>(GetParam());
  EXPECT_TRUE(accepted_ > 0 || (!row.empty() && row != "cpu_apply_gather"));
}

TEST_P(apply_rows, compute_every_pair_of_types) {
  dice roll(12);
  constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16};
  for (const type_pair& types : all_pairs()) {
    for (int k = 0; k < base::ceil_div(12, thinner()); ++k) {
      const arithmetic math = any_math(roll, types);
      const std::int64_t rows = 1 + roll.below(k == 0 ? 100 : 70), cols = 1 + roll.below(k == 0 ? 300 : 70);
      problem shape = matrix(rows, cols, 4, roll.below(100));
      if (roll.one_in(3)) std::swap(shape.axes[0].src_stride, shape.axes[1].src_stride);
      check(with_math(shape, math, roll.of(sizes), roll), roll);
    }
  }
  EXPECT_GT(accepted_, 0);
  const std::string& row = std::get<0>(GetParam());
  EXPECT_EQ(strips_ > 0, row.empty() || row == "cpu_apply_strips");
}

// Runs of several windows and a partial window.
TEST_P(apply_rows, sum_long_runs) {
  using enum element_type;
  dice roll(13);
  for (const element_type type : {bfloat16, float16, float32, float64, complex64, complex128}) {
    for (int k = 0; k < base::ceil_div(4, thinner()); ++k) {
      const std::int64_t bytes = bytes_of(type);
      const std::int64_t rows = 1 + roll.below(3000 / bytes), cols = 128 / bytes + roll.below(1200 / bytes);
      problem what = matrix(rows, cols, bytes, roll.below(100));
      what.math = {.src = type, .dst = type, .alpha = {2, 0}, .beta = {-0.5, 0}};
      if (roll.one_in(2)) {
        what.math.second = second_array::source;
        for (int n = 0; n < what.rank; ++n) what.axes[n].second_stride = what.axes[n].dst_stride;
      }
      check(what, roll);
    }
  }
  const std::string& row = std::get<0>(GetParam());
  EXPECT_EQ(strips_ > 0, row.empty() || row == "cpu_apply_strips");
}

// Whole and partial blocks of strips, also with rows that are pages apart.
TEST_P(apply_rows, convert_whole_blocks) {
  dice roll(14);
  for (const type_pair& types : all_pairs()) {
    if (types.src == types.dst) continue;
    for (int k = 0; k < base::ceil_div(4, thinner()); ++k) {
      const std::int64_t bytes = bytes_of(types.src), rows = 30 + roll.below(180), cols = 120 + roll.below(200);
      problem what = matrix(rows, cols, bytes, 7 * roll.below(2) + roll.below(4));
      if (roll.one_in(3)) what = transpose_problem(rows, cols, bytes, 2048, rows);
      what.math = {.src = types.src, .dst = types.dst, .saturate = roll.one_in(2)};
      what.math.scaled = bytes_of(types.dst) == 1 && types.dst < element_type::int8;
      check(what, roll);
    }
  }
  const std::string& row = std::get<0>(GetParam());
  EXPECT_EQ(strips_ > 0, row.empty() || row == "cpu_apply_strips");
}

// All 16-bit numbers to bytes, with scales of every kind: powers of two, with ties; odd scales; scales that underflow
// or saturate every number; NaN.
TEST_P(apply_rows, make_every_bfloat16_a_byte_by_any_scale) {
  using enum element_type;
  constexpr std::int64_t side = 256;
  const heap_memory src = lines(2 * side * side), dst = lines(side * side);
  std::vector<kernels::bfloat16> all(side * side);
  for (std::size_t k = 0; k < all.size(); ++k) all[k].bits = static_cast<std::uint16_t>(k * 40503);  // unordered
  std::memcpy(src.get(), all.data(), 2 * all.size());
  std::vector<float> scales{1e-45F, 0x1p-126F, 0x1p-61F, 0x1p-60F, 0x1p60F, 0x1.000002p60F, 1e38F, 0.0F, -1.0F};
  for (const float odd : {INFINITY, -INFINITY, NAN}) scales.push_back(odd);
  dice roll(15);
  for (int exponent = -20; exponent <= 20; ++exponent) {
    scales.push_back(std::ldexp(1.0F, exponent));
    scales.push_back(std::nextafter(scales.back(), 0.0F));
    scales.push_back(std::nextafter(2 * scales.back(), INFINITY));
    scales.push_back(std::ldexp(1.0F + static_cast<float>(roll.below(1 << 23)) * 0x1p-23F, exponent * 3));
    scales.push_back(std::ldexp(1.0F + static_cast<float>(roll.below(1 << 7)) * 0x1p-7F, exponent));
  }
  for (const element_type to : {float8_e4m3, float8_e5m2}) {
    for (const bool saturate : {false, true}) {
      problem what = transpose_problem(side, side, 2);
      what.math = {.src = bfloat16, .dst = to, .saturate = saturate, .scaled = true};
      const kernels::op how = kernels::op_of(what.math, 2);
      const kernels::offer made = planning::choose(
          map::canonicalize(what), {.kernel = std::get<0>(GetParam()), .beside_bytes = 2 << 20, .math = &how},
          machine_with(2 << 20, false));
      if (made.row == nullptr) return;
      for (const float scale : scales) {
        kernels::arrays those;
        those.src = src.get();
        those.dst = dst.get();
        those.scale = scale;
        made.row->run(made.args, those, 0, made.units);
        std::int64_t wrong = 0;
        kernels::visit_types(how, [&](auto, auto type) {
          using Dst = typename decltype(type)::storage;
          for (std::size_t k = 0; k < all.size(); ++k) {
            std::byte wanted;
            Dst by_rule{};
            if constexpr (kernels::is_float8<Dst>) {
              by_rule = kernels::apply<kernels::terms::value>(how, all[k], Dst{}, scale);
            }
            std::memcpy(&wanted, &by_rule, 1);
            wrong += dst.get()[k % side * side + k / side] != wanted;
          }
        });
        ASSERT_EQ(wrong, 0) << "scale " << scale << ", " << to_text(what, what.math);
      }
    }
  }
}

std::vector<parameter> rows_by_targets() {
  std::vector<parameter> all;
  const std::vector<std::string_view> targets = kernels::simd_targets();
  for (const std::string_view target : targets) all.emplace_back("", target);  // the plan decides
  for (const kernels::kernel& row : kernels::all()) {
    if (row.run == nullptr || row.kind != kernels::row_kind::arithmetic) continue;
    for (const std::string_view target : targets) {
      all.emplace_back(row.name, target);
      if (std::string_view(row.name) == "cpu_apply_reference") break;  // one text for all targets
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(cpu, apply_rows, ::testing::ValuesIn(rows_by_targets()), [](const auto& one) {
  const std::string& row = std::get<0>(one.param);
  return (row.empty() ? "unforced" : row) + "_" + std::get<1>(one.param);
});

}  // namespace
}  // namespace cornerturn::testing::apply_test
