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

// Elements of Chunk to Chunk + Tail bytes: their ends may overlap, so all is loaded before the first store.
template <std::size_t Chunk, std::size_t Tail>
struct swap_two {
  std::int64_t tail;  // where it begins
  void operator()(std::byte* a, std::byte* b) const {
    std::byte of_a[Chunk], of_b[Chunk], end_of_a[Tail], end_of_b[Tail];
    std::memcpy(of_a, a, Chunk);
    std::memcpy(of_b, b, Chunk);
    std::memcpy(end_of_a, a + tail, Tail);
    std::memcpy(end_of_b, b + tail, Tail);
    std::memcpy(a, of_b, Chunk);
    std::memcpy(b, of_a, Chunk);
    std::memcpy(a + tail, end_of_b, Tail);
    std::memcpy(b + tail, end_of_a, Tail);
  }
};

// Shape   16 bytes or more
struct swap_any {
  std::int64_t bytes;
  void operator()(std::byte* a, std::byte* b) const {
    constexpr std::int64_t piece = 256, end = 16;
    std::byte end_of_a[end], end_of_b[end];
    std::memcpy(end_of_a, a + bytes - end, end);
    std::memcpy(end_of_b, b + bytes - end, end);
    std::int64_t k = 0;
    for (; k + piece < bytes - end; k += piece) swap_exactly<piece>{}(a + k, b + k);
    for (; k < bytes - end; k += 16) swap_exactly<16>{}(a + k, b + k);
    std::memcpy(a + bytes - end, end_of_b, end);
    std::memcpy(b + bytes - end, end_of_a, end);
  }
};

}  // namespace cornerturn::kernels::cpu
