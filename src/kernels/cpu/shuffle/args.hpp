// The arguments of the family shuffle: a small block of bytes is permuted within itself, and then moves as a whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/small_item.hpp"

namespace cornerturn::kernels::cpu::shuffle {

inline constexpr std::int64_t chunk_bytes = 16;  // one shuffle
inline constexpr std::int64_t most_block = 512;  // bytes
inline constexpr std::int64_t most_chunks = most_block / chunk_bytes;

struct args : small_item {
  std::int64_t items = 1;          // of a block: neighbours in src and in dst
  fused_axes outer;                // of blocks; if items > 1, the last block of its last axis may have fewer items
  std::int64_t last_items = 1;     // of that block
  bool end_to_end = false;         // a run of the last axis continues in dst where the run before ends
  bool streaming = false;          // non-temporal stores
  std::int64_t src_end_bytes = 0;  // nothing from here on may be loaded
};

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

// The shuffles of a block. A pair is a chunk of dst and a chunk of src that it takes bytes of.
template <std::int64_t Pairs>
struct masks {
  // The byte of the chunk of src for each byte of the chunk of dst; 0x80: none.
  alignas(chunk_bytes) std::uint8_t mask[Pairs][chunk_bytes];
  std::int16_t offset[Pairs];      // of the chunk of src
  std::uint16_t end[most_chunks];  // pairs up to the end of each chunk of dst
};
inline constexpr std::int64_t most_pairs = most_chunks * most_chunks;
inline constexpr std::int64_t most_kept_pairs = 144;  // the arguments of a plan have 4,000 bytes

struct block_args : args {
  std::int64_t pairs = 0;  // more than most_kept_pairs: each call makes the masks
  masks<most_kept_pairs> kept;
};

// Effect  makes the masks of a block
// Returns the pairs. More than Pairs: `made` lacks some
template <std::int64_t Pairs>
std::int64_t fill_masks(const args& work, masks<Pairs>& made) noexcept {
  word_map from;
  fill_map_of_words(work, from);
  const std::int64_t word = work.word_bytes, block = work.items * work.item_bytes;
  std::int64_t pairs = 0;
  for (std::int64_t k = 0; k < chunks_of(block); ++k) {
    std::array<std::int16_t, most_chunks> pair_of;  // of each chunk of src
    pair_of.fill(-1);
    const std::int64_t first = chunk_at(k, block);
    std::int64_t item = first / work.item_bytes * work.item_bytes;
    std::int64_t inside = first - item;  // of this item
    for (std::int64_t byte = 0; byte < chunk_bytes; byte += word, inside += word) {
      if (inside == work.item_bytes) inside = 0, item += work.item_bytes;
      const std::int64_t src = item + from[static_cast<std::size_t>(inside / word)] * word;
      const std::int64_t chunk = chunk_with(src, block), chunk_begin = chunk_at(chunk, block);
      std::int16_t& pair = pair_of[static_cast<std::size_t>(chunk)];
      const bool is_new = pair < 0;
      if (is_new) pair = static_cast<std::int16_t>(pairs++);
      if (pair >= Pairs) continue;
      if (is_new) {
        std::memset(made.mask[pair], 0x80, chunk_bytes);
        made.offset[pair] = static_cast<std::int16_t>(chunk_begin);
      }
      for (std::int64_t b = 0; b < word; ++b) {
        made.mask[pair][byte + b] = static_cast<std::uint8_t>(src - chunk_begin + b);
      }
    }
    made.end[k] = static_cast<std::uint16_t>(pairs);
  }
  return pairs;
}

}  // namespace cornerturn::kernels::cpu::shuffle
