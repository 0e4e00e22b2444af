// The arguments of the family shuffle: a small block of bytes is permuted within itself, and then moves as a whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/fused_axes.hpp"

namespace cornerturn::kernels::cpu::shuffle {

inline constexpr std::int64_t chunk_bytes = 16;      // one shuffle
inline constexpr std::int64_t most_block = 512;      // bytes
inline constexpr std::int64_t most_item = 2048;      // bytes, of runs of items: lines-inl.hpp
inline constexpr std::int32_t most_windows = 1024;   // whose selections lines-inl.hpp keeps: 72 KiB
inline constexpr std::int64_t most_pairs = 32 * 32;  // of a chunk of dst and a chunk of src

struct args {
  std::int64_t word_bytes = 1;
  std::int64_t item_bytes = 1;     // contiguous in src and in dst
  std::int64_t items = 1;          // of a block: neighbours in src and in dst
  fused_axes inner;                // of an item
  fused_axes outer;                // of blocks; if items > 1, the last block of its last axis may have fewer items
  std::int64_t last_items = 1;     // of that block
  bool streaming = false;          // non-temporal stores
  std::int64_t src_end_bytes = 0;  // nothing from here on may be loaded
  // Of lines-inl.hpp. An item begins so many bytes behind the item before it in src, and its rows, if it has any, are so many
  // bytes apart. Without rows, it is contiguous in src.
  std::int64_t src_item_bytes = 0;
  std::int64_t rows = 0;
  std::int64_t row_pitch = 0;
};

// The byte of src for each byte of an item of dst.
using byte_map = std::array<std::uint16_t, most_item>;
inline void fill_map_of_item(const args& work, byte_map& from) noexcept {
  const std::int64_t word = work.word_bytes;
  std::array<std::int64_t, map::max_axes> digit{};
  std::int64_t src = 0, dst = 0;
  for (std::int64_t k = 0; k < work.inner.total; ++k) {
    for (std::int64_t byte = 0; byte < word; ++byte) {
      from[static_cast<std::size_t>(dst * word + byte)] = static_cast<std::uint16_t>(src * word + byte);
    }
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
// The byte of src for each byte of a block of dst.
inline void fill_map(const args& work, byte_map& from) noexcept {
  fill_map_of_item(work, from);
  const std::int64_t bytes = work.item_bytes;
  for (std::int64_t byte = bytes; byte < bytes * work.items; ++byte) {
    from[static_cast<std::size_t>(byte)] =
        static_cast<std::uint16_t>(from[static_cast<std::size_t>(byte - bytes)] + bytes);
  }
}

// Chunk k of a block begins at this byte: the last chunk overlaps the one before.
[[nodiscard]] constexpr std::int64_t chunk_at(std::int64_t k, std::int64_t block) noexcept {
  return std::min(k * chunk_bytes, block - chunk_bytes);
}
[[nodiscard]] constexpr std::int64_t chunks_of(std::int64_t block) noexcept {
  return (block + chunk_bytes - 1) / chunk_bytes;
}

// The chunk of src that byte `byte` is loaded with.
[[nodiscard]] constexpr std::int64_t chunk_with(std::int64_t byte, std::int64_t block) noexcept {
  return std::min(byte / chunk_bytes, chunks_of(block) - 1);
}

}  // namespace cornerturn::kernels::cpu::shuffle
