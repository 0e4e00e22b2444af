// The arguments of the family shuffle: a small block of bytes is permuted within itself, and then moves as a whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/small_item.hpp"

namespace cornerturn::kernels::cpu::shuffle {

inline constexpr std::int64_t chunk_bytes = 16;      // one shuffle
inline constexpr std::int64_t most_block = 512;      // bytes
inline constexpr std::int64_t most_pairs = 32 * 32;  // of a chunk of dst and a chunk of src

struct args : small_item {
  std::int64_t items = 1;          // of a block: neighbours in src and in dst
  fused_axes outer;                // of blocks; if items > 1, the last block of its last axis may have fewer items
  std::int64_t last_items = 1;     // of that block
  bool end_to_end = false;         // a run of the last axis continues in dst where the run before ends
  bool streaming = false;          // non-temporal stores
  std::int64_t src_end_bytes = 0;  // nothing from here on may be loaded
};

// The byte of src for each byte of a block of dst.
inline void fill_map_of_block(const args& work, byte_map& from) noexcept {
  fill_map(work, from);
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
