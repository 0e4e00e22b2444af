// copy_mdspan() with a view class that has only the members of an mdspan, and with the mdspans that this build can include.
#include "cornerturn/mdspan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <numeric>
#include <vector>

#include "expect_error.hpp"

#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/mdspan>
#define WITH_CUDA_MDSPAN
#endif
#if __cplusplus > 202002L && __has_include(<mdspan>)
#include <mdspan>
#define WITH_STD_MDSPAN
#endif

namespace cornerturn {
namespace {

using testing::expect_error;

template <class T, std::size_t Rank>
class view {
 public:
  using element_type = T;
  using numbers = std::array<int, Rank>;  // another index type than the library's
  view(T* data, const numbers& extents, const numbers& strides, bool strided = true)
      : data_(data), extents_(extents), strides_(strides), strided_(strided) {}
  static constexpr std::size_t rank() { return Rank; }
  [[nodiscard]] int extent(std::size_t k) const { return extents_[k]; }
  [[nodiscard]] int stride(std::size_t k) const { return strides_[k]; }
  [[nodiscard]] bool is_strided() const { return strided_; }
  [[nodiscard]] T* data_handle() const { return data_; }

 private:
  T* data_;
  numbers extents_;
  numbers strides_;
  bool strided_;
};

static_assert(strided_view<view<float, 2>> && strided_view<view<const float, 2>>);
static_assert(!strided_view<std::vector<float>> && !strided_view<int>);

template <class Src, class Dst>
concept can_copy = requires(const Src& src, const Dst& dst) {
  copy_mdspan(src, dst);
};
static_assert(can_copy<view<const float, 2>, view<float, 2>>);
static_assert(!can_copy<view<float, 2>, view<const float, 2>>, "dst is written");
static_assert(!can_copy<view<float, 2>, view<float, 3>>, "ranks differ");
static_assert(!can_copy<view<float, 2>, view<double, 2>>, "a copy does not convert");

std::vector<int> counted(std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

TEST(mdspan, copies_between_layouts) {
  const std::vector<int> src = counted(30 * 50);
  std::vector<int> dst(33 * 50, -1);
  copy_mdspan(view<const int, 2>(src.data(), {30, 50}, {50, 1}), view<int, 2>(dst.data(), {30, 50}, {1, 33}));
  for (std::size_t j = 0; j < 50; ++j) {
    for (std::size_t i = 0; i < 33; ++i) ASSERT_EQ(dst[j * 33 + i], i < 30 ? src[i * 50 + j] : -1);
  }
}

TEST(mdspan, copies_other_elements_and_ranks) {
  std::complex<double> one{3, 4}, other;
  copy_mdspan(view<const std::complex<double>, 0>(&one, {}, {}), view<std::complex<double>, 0>(&other, {}, {}));
  EXPECT_EQ(other, one);
  std::vector<std::array<char, 3>> src(2 * 3 * 5), dst(2 * 3 * 5);
  for (std::size_t k = 0; k < src.size(); ++k) src[k] = {static_cast<char>(k), static_cast<char>(k + 50), 7};
  copy_mdspan(view<std::array<char, 3>, 3>(src.data(), {2, 3, 5}, {15, 5, 1}),
              view<std::array<char, 3>, 3>(dst.data(), {2, 3, 5}, {1, 2, 6}));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 5; ++k) ASSERT_EQ(dst[i + 2 * j + 6 * k], src[15 * i + 5 * j + k]);
    }
  }
}

TEST(mdspan, one_pointer_is_in_place) {
  const std::vector<int> src = counted(40 * 30);
  std::vector<int> data = src;
  copy_mdspan(view<const int, 2>(data.data(), {40, 30}, {30, 1}), view<int, 2>(data.data(), {40, 30}, {1, 40}));
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t j = 0; j < 30; ++j) ASSERT_EQ(data[j * 40 + i], src[i * 30 + j]);
  }
}

TEST(mdspan, errors_name_the_axis) {
  std::vector<int> src(100), dst(100);
  expect_error(status::invalid_argument, {"axis 1 has extent 5 in src and 6 in dst"}, [&] {
    copy_mdspan(view<int, 2>(src.data(), {4, 5}, {5, 1}), view<int, 2>(dst.data(), {4, 6}, {6, 1}));
  });
  expect_error(status::invalid_argument, {"no strides"}, [&] {
    copy_mdspan(view<int, 2>(src.data(), {4, 5}, {5, 1}), view<int, 2>(dst.data(), {4, 5}, {5, 1}, false));
  });
  expect_error(status::overlap, {"axis 0", "dst stride 0"}, [&] {
    copy_mdspan(view<int, 2>(src.data(), {4, 5}, {5, 1}), view<int, 2>(dst.data(), {4, 5}, {0, 1}));
  });
}

template <template <class, class, class> class Mdspan, class Extents, class Right, class Left>
void copy_mdspans() {
  const std::vector<int> src = counted(7 * 9 * 4);
  std::vector<int> dst(src.size());
  const Mdspan<const int, Extents, Right> from(src.data(), Extents(7));
  const Mdspan<int, Extents, Left> to(dst.data(), Extents(7));
  copy_mdspan(from, to);
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 9; ++j) {
      for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(dst[i + 7 * j + 63 * k], src[36 * i + 4 * j + k]);
    }
  }
}

#ifdef WITH_CUDA_MDSPAN
template <class T, class Extents, class Layout>
using cuda_mdspan = cuda::std::mdspan<T, Extents, Layout>;
TEST(mdspan, of_cuda) {
  copy_mdspans<cuda_mdspan, cuda::std::extents<int, cuda::std::dynamic_extent, 9, 4>, cuda::std::layout_right,
               cuda::std::layout_left>();
  int one = 5, other = 0;
  copy_mdspan(cuda::std::mdspan<const int, cuda::std::extents<int>>(&one),
              cuda::std::mdspan<int, cuda::std::extents<int>>(&other));
  EXPECT_EQ(other, 5);
}
#endif
#ifdef WITH_STD_MDSPAN
template <class T, class Extents, class Layout>
using std_mdspan = std::mdspan<T, Extents, Layout>;
TEST(mdspan, of_std) {
  copy_mdspans<std_mdspan, std::extents<int, std::dynamic_extent, 9, 4>, std::layout_right, std::layout_left>();
}
#endif

}  // namespace
}  // namespace cornerturn
