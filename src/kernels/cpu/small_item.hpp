// A small block of bytes that is contiguous in src and in dst, and permuted within itself.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/fused_axes.hpp"

namespace cornerturn::kernels::cpu {

inline constexpr std::int64_t most_item = 2048;     // bytes
inline constexpr std::int32_t most_windows = 1024;  // whose selections policy/line_shuffle-inl.hpp keeps: 72 KiB

struct small_item {
  std::int64_t word_bytes = 1;
  std::int64_t item_bytes = 1;
  fused_axes inner;  // its axes
  // Of lines of many items: an item begins so many bytes behind the item before it in src. Its rows, if it has any, are so many
  // bytes apart; without rows, it is contiguous in src.
  std::int64_t src_item_bytes = 0;
  std::int64_t rows = 0;
  std::int64_t row_pitch = 0;
};

// The word of src for each word of an item of dst.
using word_map = std::array<std::uint16_t, most_item>;
inline void fill_map_of_words(const small_item& work, word_map& from) noexcept {
  std::array<std::int64_t, map::max_axes> digit{};
  std::int64_t src = 0, dst = 0;
  for (std::int64_t k = 0; k < work.inner.total; ++k) {
    from[static_cast<std::size_t>(dst)] = static_cast<std::uint16_t>(src);
    for (int a = 0; a < work.inner.rank; ++a) {
      const axis& one = work.inner.axes[static_cast<std::size_t>(a)];
      src += one.src_stride;
      dst += one.dst_stride;
      if (++digit[static_cast<std::size_t>(a)] < one.extent) break;
      src -= one.extent * one.src_stride;
      dst -= one.extent * one.dst_stride;
      digit[static_cast<std::size_t>(a)] = 0;
    }
  }
}

// The byte of src for each byte of an item of dst.
using byte_map = std::array<std::uint16_t, most_item>;
inline void fill_map(const small_item& work, byte_map& from) noexcept {
  word_map words;
  fill_map_of_words(work, words);
  const std::int64_t word = work.word_bytes;
  for (std::int64_t k = 0; k < work.inner.total; ++k) {
    for (std::int64_t byte = 0; byte < word; ++byte) {
      from[static_cast<std::size_t>(k * word + byte)] =
          static_cast<std::uint16_t>(words[static_cast<std::size_t>(k)] * word + byte);
    }
  }
}

}  // namespace cornerturn::kernels::cpu
