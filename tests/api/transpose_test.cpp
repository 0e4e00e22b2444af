#include "cornerturn/transpose.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <vector>

#include "expect_error.hpp"

namespace cornerturn {
namespace {

using testing::expect_error;

struct pixel {
  std::uint8_t r, g, b;
  friend bool operator==(const pixel&, const pixel&) = default;
};

template <class T>
T element(std::int64_t k);
template <>
std::uint8_t element(std::int64_t k) {
  return static_cast<std::uint8_t>(k * 7 % 251);
}
template <>
std::int16_t element(std::int64_t k) {
  return static_cast<std::int16_t>(k);
}
template <>
float element(std::int64_t k) {
  return static_cast<float>(k);
}
template <>
std::complex<double> element(std::int64_t k) {
  return {static_cast<double>(k), static_cast<double>(-k)};
}
template <>
pixel element(std::int64_t k) {
  return {static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(k >> 8), static_cast<std::uint8_t>(k >> 16)};
}

template <class T>
class one_line : public ::testing::Test {};
using element_types = ::testing::Types<std::uint8_t, std::int16_t, float, std::complex<double>, pixel>;
TYPED_TEST_SUITE(one_line, element_types);

TYPED_TEST(one_line, transpose) {
  for (const auto& [rows, cols, src_ld, dst_ld] :
       {std::array<std::int64_t, 4>{37, 53, 0, 0}, {37, 53, 60, 41}, {1, 9, 0, 0}, {0, 4, 0, 0}, {300, 500, 0, 0}}) {
    const std::int64_t from = src_ld == 0 ? cols : src_ld, to = dst_ld == 0 ? rows : dst_ld;
    std::vector<TypeParam> src(static_cast<std::size_t>(rows * from + 1)), dst(static_cast<std::size_t>(cols * to + 1));
    for (std::size_t k = 0; k < src.size(); ++k) src[k] = element<TypeParam>(static_cast<std::int64_t>(k));
    transpose(src.data(), src_ld, dst.data(), dst_ld, rows, cols);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j)
        ASSERT_EQ(dst[static_cast<std::size_t>(j * to + i)], src[static_cast<std::size_t>(i * from + j)])
            << i << " " << j;
    }
  }
}

TYPED_TEST(one_line, permute) {
  const std::array<std::int64_t, 3> extents{7, 11, 13};
  const std::array<int, 3> axes{2, 0, 1};
  std::vector<TypeParam> src(1001), dst(1001);
  for (std::size_t k = 0; k < src.size(); ++k) src[k] = element<TypeParam>(static_cast<std::int64_t>(k));
  permute<TypeParam>(src.data(), dst.data(), extents, axes);
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 11; ++j) {
      for (std::size_t k = 0; k < 13; ++k) ASSERT_EQ(dst[(k * 7 + i) * 11 + j], src[(i * 11 + j) * 13 + k]);
    }
  }
}

TEST(execute, errors_are_those_of_the_plan) {
  std::vector<float> some(100);
  expect_error(status::invalid_argument, {"src is null"},
               [&] { execute(transpose_problem(5, 7, 4), nullptr, some.data()); });
  expect_error(status::overlap, {"overlap"}, [&] { transpose(some.data(), some.data() + 1, 10, 5); });
  expect_error(status::invalid_argument, {"src_ld is 4", "cols = 5"},
               [&] { transpose(some.data(), 4, some.data() + 50, 0, 5, 5); });
  expect_error(status::invalid_argument, {"element_bytes is 0"},
               [&] { execute(problem{}, some.data(), some.data() + 50); });
}

}  // namespace
}  // namespace cornerturn
