// A chunk: 16 aligned bytes of global memory. It is loaded and stored whole, or by elements if an edge cuts it.
#pragma once

#include "kernels/gpu/policy/grid.cuh"

namespace cornerturn::gpu {

// Loads `count` elements of a chunk, at most V. The others are undefined, and never stored.
template <int WordBytes>
GPU_INLINE void load_chunk(uint32_t (&chunk)[4], const unsigned char* from, int64_t count) {
  constexpr int V = 16 / WordBytes;
  if (count >= V) {
    const auto all = load_global<word_t<16>>(from);
    chunk[0] = all.x, chunk[1] = all.y, chunk[2] = all.z, chunk[3] = all.w;
    return;
  }
  chunk[0] = chunk[1] = chunk[2] = chunk[3] = 0;
  if constexpr (WordBytes < 4) {
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (k < count) {
        const uint32_t element = load_global<word_t<WordBytes>>(from + k * WordBytes);
        chunk[k * WordBytes / 4] |= element << k * WordBytes % 4 * 8;
      }
    }
  } else {
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      if (k * 4 < count * WordBytes) chunk[k] = load_global<uint32_t>(from + k * 4);
    }
  }
}

template <int WordBytes>
GPU_INLINE void store_chunk(unsigned char* to, const word_t<16>& chunk, int64_t count) {
  constexpr int V = 16 / WordBytes;
  if (count >= V) return store_global(to, chunk);
  const uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
  if constexpr (WordBytes < 4) {
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (k < count) {
        const uint32_t element = words[k * WordBytes / 4] >> k * WordBytes % 4 * 8;
        store_global(to + k * WordBytes, static_cast<word_t<WordBytes>>(element));
      }
    }
  } else {
    GPU_UNROLL for (int k = 0; k < 4; ++k) {
      if (k * 4 < count * WordBytes) store_global(to + k * 4, words[k]);
    }
  }
}

}  // namespace cornerturn::gpu
