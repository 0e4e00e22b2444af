// Pointers become arguments. The tests run on a machine without a GPU: nothing starts.
#include "run/launch.hpp"

#include <gtest/gtest.h>

#include <array>

#include "../kernels/cases.hpp"
#include "../kernels/oracle.hpp"
#include "kernels/gpu/apply/args.hpp"

namespace cornerturn::running::launch_test {
namespace {

const kernels::gpu_traits h200 = {.arch = 90, .multiprocessors = 132, .shared_bytes = 227 << 10, .l2_bytes = 50 << 20};

TEST(launch, alignment_is_that_of_index_0) {
  const auto alignment = [](const map::canonical& form, std::uintptr_t src, std::uintptr_t dst) {
    return alignment_of(form, {.src = reinterpret_cast<const void*>(src), .dst = reinterpret_cast<void*>(dst)});
  };
  const map::canonical plain = map::canonicalize(transpose_problem(64, 64, 4));
  EXPECT_EQ(alignment(plain, 4096, 8192), 16);
  EXPECT_EQ(alignment(plain, 4096 + 8, 8192), 8);
  EXPECT_EQ(alignment(plain, 4096, 8192 + 4), 4);
  EXPECT_EQ(alignment(plain, 4096 + 2, 8192 + 4), 2);
  EXPECT_EQ(alignment(plain, 4097, 8192), 1);
  problem backward{.element_bytes = 4, .rank = 2, .axes = {}};
  backward.axes[0] = {10, -1, 16};
  backward.axes[1] = {16, 12, 1};
  const map::canonical turned = map::canonicalize(backward);
  const auto at = static_cast<std::uint64_t>(4096 - turned.src_offset * 4);
  EXPECT_EQ(alignment(turned, at, 8192), 16) << "the pointer is not, its index 0 is";
}

TEST(launch, alignment_with_math_is_that_of_whole_elements) {
  problem what = transpose_problem(9999, 7001, 8);
  what.math = {.src = element_type::float64, .dst = element_type::float32};
  const map::canonical form = map::canonicalize(what);
  const auto alignment = [&](std::uintptr_t src, std::uintptr_t dst, std::uintptr_t second = 0) {
    return alignment_of(form, {.src = reinterpret_cast<const void*>(src),
                               .dst = reinterpret_cast<void*>(dst),
                               .second = reinterpret_cast<void*>(second)});
  };
  EXPECT_EQ(alignment(4096, 8192), 16);
  EXPECT_EQ(alignment(4096 + 8, 8192), 8);
  EXPECT_EQ(alignment(4096 + 8, 8192 + 4), 8) << "each is a multiple of its own elements";
  EXPECT_EQ(alignment(4096, 8192, 16384 + 4), 8);
  EXPECT_EQ(alignment(4096 + 4, 8192), 4);
  EXPECT_EQ(alignment(4096, 8192, 16384 + 2), 2);
}

TEST(launch, nothing_to_move_starts_nothing) {
  const gpu_plan made = choose_variants(transpose_problem(0, 5, 4), h200, "");
  EXPECT_EQ(made.aligned.chosen.blocks, 0U);
  EXPECT_EQ(start(made.aligned, {}, nullptr), nullptr);
}

TEST(launch, arguments_have_the_addresses_of_index_0_and_the_ends_of_src) {
  problem what{.element_bytes = 4, .rank = 2, .axes = {}};
  what.axes[0] = {10, -1, 16};
  what.axes[1] = {16, 12, 1};
  const gpu_variant made = choose_variant(what, h200, 4, "");
  ASSERT_NE(made.chosen.row, nullptr);
  std::array<float, 12 * 16 + 9> src;
  std::array<float, 10 * 16> dst;
  std::uint32_t flag = 0;
  const launch_arguments all(made.form, made.chosen, {.src = &src[9], .dst = dst.data()}, &flag);
  const auto& arrays = *static_cast<const gpu::array_args*>(all.get());
  const auto at = [](const void* one) { return reinterpret_cast<std::uint64_t>(one); };
  EXPECT_EQ(arrays.src, &src[9] + made.form.src_offset);
  EXPECT_EQ(arrays.dst, dst.data() + made.form.dst_offset);
  EXPECT_EQ(arrays.src_begin, at(&src[0])) << "the last column";
  EXPECT_EQ(arrays.src_end, at(&src[9 + 15 * 12 + 1])) << "the first column";
  EXPECT_EQ(arrays.flags, &flag);
}

TEST(launch, arguments_of_arithmetic_have_the_second_array_and_the_scale) {
  problem what = transpose_problem(64, 64, 4);
  what.math = {.src = element_type::float32, .dst = element_type::float32, .beta = {1, 0}, .scaled = true};
  const gpu_variant made = choose_variant(what, h200, 1, "");
  ASSERT_NE(made.chosen.row, nullptr);
  alignas(16) std::array<std::byte, 64 * 64 * 4 + 16> src, dst;
  const float scale = 2;
  for (const std::size_t shift : {0U, 4U, 1U}) {
    void* const to = &dst[shift];
    const launch_arguments all(made.form, made.chosen, {.src = &src[0], .dst = to, .second = to, .scale = &scale});
    const auto& computed = *static_cast<const gpu::apply_args*>(all.get());
    EXPECT_EQ(computed.second, to);
    EXPECT_EQ(computed.scale, &scale);
    EXPECT_EQ(computed.bytewise, shift == 1 ? 1 : 0);
  }
}

}  // namespace
}  // namespace cornerturn::running::launch_test
