// The offers of the family apply. tests/emulate runs the chosen rows.
#include "kernels/gpu/apply/args.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "../../../plan/gpu_choice.hpp"
#include "../../math_cases.hpp"
#include "api/check.hpp"
#include "base/checked.hpp"

namespace cornerturn::gpu::apply_test {
namespace {

using testing::dice;
using testing::to_text;

constexpr element_type f16 = element_type::float16, bf16 = element_type::bfloat16, f32 = element_type::float32,
                       f64 = element_type::float64, e4m3 = element_type::float8_e4m3;
using testing::gpu_wish;
constexpr gpu_wish usual;

problem transpose_with(std::int64_t rows, std::int64_t cols, const arithmetic& math, std::int64_t src_ld = 0,
                       std::int64_t dst_ld = 0) {
  problem what = transpose_problem(rows, cols, bytes_of(math.src), src_ld, dst_ld);
  what.math = math;
  return what;
}
arithmetic cast(element_type src, element_type dst) {
  return {.src = src, .dst = dst, .scaled = dst == element_type::float8_e4m3};
}
kernels::offer choose_for(const problem& what, const gpu_wish& wanted = usual) {
  api::check(what);
  return testing::choose_apply(map::canonicalize(what), kernels::op_of(what.math, what.element_bytes), wanted);
}
void expect(const problem& what, const char* row, const gpu_wish& wanted = usual) {
  const kernels::offer made = choose_for(what, wanted);
  ASSERT_NE(made.row, nullptr) << to_text(what, what.math);
  EXPECT_STREQ(made.row->name, row) << to_text(what, what.math);
  EXPECT_STRNE(made.reason, "");
}

TEST(apply_offer, tiles_where_every_address_is_a_multiple_of_16) {
  expect(transpose_with(16384, 16384, cast(f32, bf16)), "gpu_apply_b4_b2_64x64_r4_xor");
  expect(transpose_with(16384, 16384, cast(bf16, e4m3)), "gpu_apply_b2_b1_128x128_r8_xor");
  expect(transpose_with(8192, 8192, cast(f64, f32)), "gpu_apply_b8_b4_64x64_r2_xor");
  expect(transpose_with(8192, 8192, {.src = f32, .dst = f32, .beta = {2, 0}}), "gpu_apply_b4_b4_64x64_r4_xor");
  // Only chunks of src, and units of dst of as many elements, need be aligned.
  expect(transpose_with(1000, 1000, cast(f32, bf16), 1004, 1004), "gpu_apply_b4_b2_64x64_r4_xor");
}

TEST(apply_offer, unaligned_tiles_where_addresses_are_multiples_of_an_element) {
  expect(transpose_with(1000, 1000, cast(f32, bf16), 1003, 1004), "gpu_apply_b4_b2_unaligned");
  expect(transpose_with(1000, 1000, cast(f32, bf16), 1004, 1006), "gpu_apply_b4_b2_unaligned");
  expect(transpose_with(9999, 7001, cast(f32, bf16)), "gpu_apply_b4_b2_unaligned");
  expect(transpose_with(9999, 7001, cast(bf16, e4m3)), "gpu_apply_b2_b1_unaligned");
  expect(transpose_with(9999, 7001, cast(f64, f32)), "gpu_apply_b8_b4_unaligned");
  expect(transpose_with(9999, 7001, {.src = f64, .dst = f64, .beta = {2, 0}}), "gpu_apply_b8_b8_unaligned");
  expect(batched(transpose_with(99, 101, cast(f32, bf16)), 1000, 99 * 101, 99 * 101), "gpu_apply_b4_b2_unaligned");
  gpu_wish odd = usual;
  for (const int alignment : {8, 4}) {
    odd.alignment = alignment;
    expect(transpose_with(1000, 1000, cast(f32, bf16)), "gpu_apply_b4_b2_unaligned", odd);
  }
  odd.alignment = 2;
  expect(transpose_with(1000, 1000, cast(f32, bf16)), "gpu_apply_b4_any", odd);
  odd.alignment = 4;
  expect(transpose_with(1000, 1000, cast(f64, f32)), "gpu_apply_b8_any", odd);
  expect(transpose_with(9999, 17, cast(f32, bf16)), "gpu_apply_b4_b2_unaligned");
  expect(transpose_with(1 << 20 | 1, 15, cast(f32, bf16)), "gpu_apply_b4_any");  // less than a quarter of a tile
}

TEST(apply_offer, small_tiles_where_large_ones_are_few) {
  expect(transpose_with(512, 512, cast(f16, e4m3)), "gpu_apply_b2_b1_64x64_r8_xor");
  expect(transpose_with(4096, 4096, cast(f16, e4m3)), "gpu_apply_b2_b1_128x128_r8_xor");
  expect(transpose_with(32, 8192, cast(f16, e4m3)), "gpu_apply_b2_b1_64x64_r8_xor");
  expect(transpose_with(8, 1 << 20, cast(f16, e4m3)), "gpu_apply_b2_element");  // an eighth of a tile
}

TEST(apply_offer, pairs_without_a_tile_and_other_orders) {
  expect(transpose_with(1024, 1024, {.src = element_type::int8, .dst = element_type::int32}), "gpu_apply_b1_any");
  problem same_order = transpose_with(1024, 1024, cast(f32, bf16));
  std::swap(same_order.axes[0].dst_stride, same_order.axes[1].dst_stride);
  expect(same_order, "gpu_apply_b4_element");
  same_order.axes[0].dst_stride *= 2, same_order.axes[1].dst_stride *= 2;
  expect(same_order, "gpu_apply_b4_single");
  expect(transpose_with(0, 1024, cast(f32, bf16)), "gpu_apply_b4_any");
}

TEST(apply_offer, second_arrays) {
  problem dual = transpose_with(8192, 8192, cast(bf16, e4m3));
  dual.math.second = second_array::destination;
  const auto with = [&](std::int64_t row_stride, std::int64_t col_stride) {
    problem what = dual;
    for (int k = 0; k < 2; ++k) {
      what.axes[k].second_stride = what.axes[k].dst_stride == 1 ? row_stride : col_stride;
    }
    return what;
  };
  expect(with(8192, 1), "gpu_apply_b2_b1_128x128_r8_xor");  // as src: the cast and its transpose
  EXPECT_EQ(choose_for(with(8192, 1)).as<gpu::apply_args>().second_by_cols, 1);
  expect(with(1, 8192), "gpu_apply_b2_b1_128x128_r8_xor");
  EXPECT_EQ(choose_for(with(1, 8192)).as<gpu::apply_args>().second_by_cols, 0);
  expect(with(8193, 1), "gpu_apply_b2_b1_unaligned");
  EXPECT_EQ(choose_for(with(8193, 1)).as<gpu::apply_args>().second_by_cols, 1);
  expect(with(2, 2 * 8192), "gpu_apply_b2_any");
  problem bias = transpose_with(8192, 8192, {.src = f32, .dst = f32, .beta = {1, 0}, .second = second_array::source});
  for (int k = 0; k < 2; ++k) bias.axes[k].second_stride = bias.axes[k].dst_stride == 1 ? 1 : 0;
  expect(bias, "gpu_apply_b4_b4_64x64_r4_xor");  // a number for each row
  for (int k = 0; k < 2; ++k) bias.axes[k].second_stride = bias.axes[k].dst_stride == 1 ? 0 : 1;
  expect(bias, "gpu_apply_b4_b4_unaligned");  // one for each column: read element by element
}

TEST(apply_offer, rows_by_name) {
  const problem what = transpose_with(1024, 1024, cast(f32, bf16));
  gpu_wish wanted = usual;
  wanted.kernel = "gpu_apply_b4_any";
  expect(what, "gpu_apply_b4_any", wanted);
  for (const char* other :
       {"gpu_apply_b2_any", "gpu_apply_b4_b4_64x64_r4_xor", "gpu_gather_b4", "cpu_apply_reference"}) {
    wanted.kernel = other;
    EXPECT_EQ(choose_for(what, wanted).row, nullptr) << other;
  }
  wanted.kernel = "gpu_apply_b4_b2_unaligned";
  expect(what, "gpu_apply_b4_b2_unaligned", wanted);
  wanted.kernel = "gpu_apply_b4_b2_64x64_r4_xor";
  wanted.alignment = 8;
  EXPECT_EQ(choose_for(what, wanted).row, nullptr);
  // Arithmetic rows make no offers for copies.
  for (const kernels::kernel& row : kernels::all()) {
    if (row.kind != kernels::row_kind::arithmetic || row.element_bytes == 0) continue;
    wanted.kernel = row.name;
    wanted.alignment = 16;
    const problem same = transpose_problem(1024, 1024, row.element_bytes);
    EXPECT_EQ(testing::choose_move(map::canonicalize(same), wanted).row, nullptr) << row.name;
  }
}

// Each block of the grid has its own tile, and all tiles together are the problem.
TEST(apply_offer, grids_cover_every_problem_once) {
  dice roll(41);
  const auto pairs = testing::all_pairs();
  std::set<std::string> met;
  for (int turn = 0; turn < 3000; ++turn) {
    const arithmetic math = testing::any_math(roll, roll.of(pairs));
    const problem shape = roll.one_in(2) ? transpose_problem(16 * (1 + roll.below(40)), 16 * (1 + roll.below(40)), 4)
                                         : testing::any_strides(roll, 1, 50000);
    const problem what = testing::with_math(shape, math, 4, roll);
    gpu_wish wanted = usual;
    wanted.alignment = roll.one_in(3) ? 4 : 16;
    const kernels::offer made = choose_for(what, wanted);
    ASSERT_NE(made.row, nullptr) << to_text(what, what.math);
    met.insert(made.row->name);
    if (made.blocks == 0) continue;
    EXPECT_LE(made.shared_bytes, 48 << 10 | made.row->shared_bytes);
    if (made.args_bytes == sizeof(gpu::apply_element_args)) {
      const auto& args = made.as<gpu::apply_element_args>();
      EXPECT_EQ(args.all_words % args.words.divisor, 0U);
      EXPECT_EQ(std::int64_t{args.all_words / args.words.divisor} * args.row_elements,
                map::words(map::canonicalize(what)))
          << to_text(what, what.math);
      EXPECT_EQ(base::ceil_div(std::int64_t{args.all_words}, std::int64_t{gpu::element_threads}), made.blocks);
      continue;
    }
    const auto& args = made.as<gpu::apply_args>();
    std::int64_t blocks = 1, elements = 1;
    for (int k = 0; k < args.blocks.rank; ++k) {
      const gpu::apply_axis& one = args.blocks.axes[k];
      blocks *= one.count.divisor;
      if (one.tiles[0] + one.tiles[1] + one.tiles[2] == 0) elements *= one.count.divisor;
    }
    for (const std::int64_t extent : args.blocks.extent) elements *= extent;
    EXPECT_EQ(blocks, made.blocks) << to_text(what, what.math);
    EXPECT_EQ(elements, map::words(map::canonicalize(what))) << to_text(what, what.math);
  }
  EXPECT_GE(met.size(), 20U);
}

TEST(apply_offer, terms_that_are_not_there_are_minus_zero) {
  const auto args = [](const arithmetic& math) { return arithmetic_of(kernels::op_of(math, bytes_of(math.src))); };
  const auto is_minus_zero = [](double x) { return x == 0 && std::signbit(x); };
  EXPECT_TRUE(is_minus_zero(args({.src = f32, .dst = f32, .alpha = {2, 0}}).beta_re));
  EXPECT_TRUE(is_minus_zero(args({.src = f32, .dst = f32, .alpha = {0, 0}, .beta = {2, 0}}).alpha_re));
  const gpu::arithmetic_args zero = args({.src = f32, .dst = f32, .alpha = {-0.0, 0}});
  EXPECT_TRUE(zero.alpha_re == 0 && !std::signbit(zero.alpha_re));
  const gpu::arithmetic_args clamp = args({.src = element_type::uint32, .dst = element_type::int8});
  EXPECT_EQ(clamp.kind, gpu::arithmetic_kind::integer);
  EXPECT_EQ(static_cast<std::uint32_t>(clamp.highest) ^ static_cast<std::uint32_t>(clamp.bias), 127U);
}

}  // namespace
}  // namespace cornerturn::gpu::apply_test
