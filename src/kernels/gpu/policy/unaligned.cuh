// Loader and storer of unaligned addresses: aligned words or chunks of 16 bytes, realigned in registers.
#pragma once

#include <type_traits>

#include "kernels/gpu/policy/grid.cuh"
#include "kernels/gpu/policy/transpose_block.cuh"

namespace cornerturn::gpu {

GPU_INLINE uint32_t low_word(const void* address) {
  return static_cast<uint32_t>(reinterpret_cast<std::uint64_t>(address));
}

// Loads the four bytes at `from`; bytes outside [begin, end) are not touched.
GPU_INLINE uint32_t load_unaligned(const unsigned char* from, std::uint64_t begin, std::uint64_t end) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  const uint32_t shift = address & 3;
  if (address - shift >= begin && address - shift + (shift == 0 ? 4 : 8) <= end) {
    const unsigned char* const aligned = from - shift;
    const auto low = load_global<uint32_t>(aligned);
    return shift == 0 ? low : funnel_shift_right(low, load_global<uint32_t>(aligned + 4), shift * 8);
  }
  uint32_t value = 0;
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    if (address + k >= begin && address + k < end) value |= uint32_t{from[k]} << 8 * k;
  }
  return value;
}

// The rows of a tile in src.
struct unaligned_source {
  const unsigned char* first;  // of the tile
  int64_t row_bytes;           // from one row to the next
  std::uint64_t begin, end;    // no byte outside the addresses [begin, end) is read
  int64_t first_row;           // of the tile, in the matrix
  int64_t left[2];             // columns and rows of the matrix, from the tile's first ones on
};

// Copies a granule to shared memory; bytes outside [begin, end) are not touched.
GPU_INLINE void fetch_part(const unaligned_source& src, unsigned char* to, const unsigned char* from) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  if (address >= src.begin && address + 16 <= src.end) return start_line_copy(to, from);
  GPU_UNROLL_BY(1) for (int k = 0; k < 16; ++k) {  // rare, so not unrolled
    if (address + k >= src.begin && address + k < src.end) to[k] = from[k];
  }
}

// As fetch_part, of a granule of which the kernel uses the bytes [first, end). They must be within [begin, end_of_all).
// Other blocks may write the others meanwhile.
GPU_INLINE void fetch_used(std::uint64_t begin, std::uint64_t end_of_all, unsigned char* to, const unsigned char* from,
                           int32_t first, int32_t end) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  if (address >= begin && address + 16 <= end_of_all) return start_line_copy(to, from, first, end);
  GPU_UNROLL_BY(1) for (int32_t k = first; k < end; ++k) to[k] = from[k];  // rare, so not unrolled
}

// Element k, at offset[k] + further of shared memory, becomes bytes k * WordBytes and up of four words.
template <int WordBytes>
GPU_INLINE void gather_words(uint32_t* words, const int* offset, int further) {
  word_t<WordBytes> value[16 / WordBytes];
  GPU_UNROLL for (int k = 0; k < 16 / WordBytes; ++k) {
    value[k] = *reinterpret_cast<const word_t<WordBytes>*>(shared_memory() + offset[k] + further);
  }
  if constexpr (WordBytes == 16) {
    words[0] = value[0].x, words[1] = value[0].y, words[2] = value[0].z, words[3] = value[0].w;
  } else if constexpr (WordBytes == 8) {
    words[0] = value[0].x, words[1] = value[0].y, words[2] = value[1].x, words[3] = value[1].y;
  } else {
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      if constexpr (WordBytes == 4) {
        words[k] = value[k];
      } else if constexpr (WordBytes == 2) {
        words[k] = byte_permute(value[2 * k], value[2 * k + 1], 0x5410);
      } else {
        words[k] = byte_permute(byte_permute(value[4 * k], value[4 * k + 1], 0x0040),
                                byte_permute(value[4 * k + 2], value[4 * k + 3], 0x0040), 0x5410);
      }
    }
  }
}

// Six elements of three bytes, in the low bytes of words. Returns bytes [skipped, skipped + 16), 0 <= skipped < 3.
GPU_INLINE word_t<16> join_triples(const uint32_t (&element)[6], uint32_t skipped) {
  const uint32_t all[5] = {byte_permute(element[0], element[1], 0x4210), byte_permute(element[1], element[2], 0x5421),
                           byte_permute(element[2], element[3], 0x6542), byte_permute(element[4], element[5], 0x4210),
                           element[5] >> 8};
  return {funnel_shift_right(all[0], all[1], skipped * 8), funnel_shift_right(all[1], all[2], skipped * 8),
          funnel_shift_right(all[2], all[3], skipped * 8), funnel_shift_right(all[3], all[4], skipped * 8)};
}

// Rotates 16 bytes down: their lowest `bytes` become the highest ones.
template <int WordBytes>
GPU_INLINE void rotate_down(uint32_t (&words)[4], uint32_t bytes) {
  uint32_t by_bytes[4], by_word[4];
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    by_bytes[k] = WordBytes < 4 ? funnel_shift_right(words[k], words[(k + 1) % 4], bytes % 4 * 8) : words[k];
  }
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    by_word[k] = WordBytes < 8 && (bytes & 4) != 0 ? by_bytes[(k + 1) % 4] : by_bytes[k];
  }
  GPU_UNROLL for (int k = 0; k < 4; ++k) words[k] = (bytes & 8) != 0 ? by_word[(k + 2) % 4] : by_word[k];
}

GPU_INLINE uint32_t word_of(const word_t<16>& chunk, int32_t index) {
  return (index & 2) != 0 ? (index & 1) != 0 ? chunk.w : chunk.z : (index & 1) != 0 ? chunk.y : chunk.x;
}

// Stores bytes [from, to) of a chunk, which are whole words. Bytes at its begin or end are stored in pieces of 8, 4, 2
// and 1 bytes: each store is a request of its own to L2, and a warp has lanes of both kinds.
template <int WordBytes>
GPU_INLINE void store_bytes(unsigned char* chunk, const word_t<16>& value, int32_t from, int32_t to) {
  if (from <= 0 && to >= 16) return store_global(chunk, value);
  const auto store_piece = [&](auto size, int32_t at) {
    constexpr int Size = decltype(size)::value;
    if constexpr (Size == 8) {
      store_global(chunk + at, at == 0 ? word_t<8>{value.x, value.y} : word_t<8>{value.z, value.w});
    } else {
      store_global(chunk + at, static_cast<word_t<Size>>(word_of(value, at >> 2) >> (at & 3) * 8));
    }
  };
  if (from > 0 && to < 16) {
    constexpr int Size = WordBytes < 8 ? WordBytes : 4;
    GPU_UNROLL_BY(1) for (int32_t at = from; at < to; at += Size) store_piece(std::integral_constant<int, Size>(), at);
    return;
  }
  const int32_t bytes = from <= 0 ? to : 16 - from;
  const auto store_if = [&](auto size) {
    constexpr int Size = decltype(size)::value;
    if constexpr (Size >= WordBytes) {
      const int32_t larger = bytes & 16 - 2 * Size;  // bytes in larger pieces
      if ((bytes & Size) != 0) store_piece(size, from <= 0 ? larger : 16 - larger - Size);
    }
  };
  if (bytes <= 0) return;
  store_if(std::integral_constant<int, 8>());
  store_if(std::integral_constant<int, 4>());
  store_if(std::integral_constant<int, 2>());
  store_if(std::integral_constant<int, 1>());
}

// Stores those elements k of a chunk for which from <= k < to.
template <int WordBytes>
GPU_INLINE void store_rows(unsigned char* address, const uint32_t (&words)[4], int64_t from, int64_t to) {
  constexpr int V = 16 / WordBytes;
  const int32_t first = from <= 0 ? 0 : from >= V ? 16 : static_cast<int32_t>(from) * WordBytes;
  const int32_t end = to <= 0 ? 0 : to >= V ? 16 : static_cast<int32_t>(to) * WordBytes;
  store_bytes<WordBytes>(address, {words[0], words[1], words[2], words[3]}, first, end);
}

// Returns bytes [first, first + 16) of two chunks, 0 <= first < 16. With first = 0, `high` is unused. The lanes of a
// warp should have few different values of `first`, because they branch on it.
template <int WordBytes>
GPU_INLINE void realign(uint32_t (&taken)[4], const word_t<16>& low, const word_t<16>& high, uint32_t first) {
  const uint32_t all[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  const auto take = [&](auto from) {
    constexpr int From = decltype(from)::value;
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      taken[k] = WordBytes < 4 ? funnel_shift_right(all[From + k], all[From + k + 1], first % 4 * 8) : all[From + k];
    }
  };
  switch (first / 4) {
    case 0:
      return take(std::integral_constant<int, 0>());
    case 1:
      return take(std::integral_constant<int, 1>());
    case 2:
      return take(std::integral_constant<int, 2>());
    default:
      return take(std::integral_constant<int, 3>());
  }
}

template <int V>
GPU_INLINE word_t<16> chunk_of(const register_block<V>& block, int k) {
  return {block.row[k][0], block.row[k][1], block.row[k][2], block.row[k][3]};
}

// An extent as 32 bits. Extents beyond 2^20, longer than any tile, become 2^20.
GPU_INLINE int32_t clamp_extent(int64_t extent) {
  constexpr int64_t Most = 1 << 20;
  return static_cast<int32_t>(extent < Most ? extent : Most);
}

}  // namespace cornerturn::gpu
