// Swaps of elements one by one, for elements of any size and stride.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/swap/args.hpp"

namespace cornerturn::kernels::cpu {

template <class Swap>
struct swap_one_by_one {
  std::int64_t pitch;
  std::int64_t step;  // bytes from one column to the next
  Swap swap;

  void diagonal(const mirrored& all, const mirrored& /*next*/) const {
    for (std::int64_t r = 1; r < all.rows; ++r) {
      for (std::int64_t c = 0; c < r; ++c) swap(all.upper + r * pitch + c * step, all.upper + c * pitch + r * step);
    }
  }
  void pair(const mirrored& all, const mirrored& next) const {
    // Prefetches the rows of the next pair if elements are close together, so that a row is a few lines.
    const bool near = step <= 4 * 64 && next.rows == all.rows && next.cols == all.cols;
    for (std::int64_t r = 0; r < all.rows; ++r) {
      std::byte* a = all.upper + r * pitch;
      std::byte* b = all.lower + r * step;
      for (std::int64_t c = 0; c < all.cols; ++c, a += step, b += pitch) swap(a, b);
      if (!near) continue;
      const std::int64_t apart =
          std::max<std::int64_t>(step, 64);  // a line, or an element whose neighbours are in others
      for (std::int64_t k = 0; k < all.cols * step; k += apart) __builtin_prefetch(next.upper + r * pitch + k, 1, 2);
      for (std::int64_t k = 0; k < all.cols * step; k += apart) __builtin_prefetch(next.lower + r * pitch + k, 1, 2);
    }
  }
};

template <std::size_t Bytes>
struct swap_exactly {
  void operator()(std::byte* a, std::byte* b) const {
    std::byte kept[Bytes];
    std::memcpy(kept, a, Bytes);
    std::memcpy(a, b, Bytes);
    std::memcpy(b, kept, Bytes);
  }
};

struct swap_any {
  std::int64_t bytes;
  void operator()(std::byte* a, std::byte* b) const {
    constexpr std::int64_t piece = 256;
    std::int64_t k = 0;
    for (; k + piece <= bytes; k += piece) swap_exactly<piece>{}(a + k, b + k);
    for (; k + 16 <= bytes; k += 16) swap_exactly<16>{}(a + k, b + k);
    for (; k < bytes; ++k) std::swap(a[k], b[k]);
  }
};

}  // namespace cornerturn::kernels::cpu
