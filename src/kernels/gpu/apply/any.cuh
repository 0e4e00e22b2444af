// Arithmetic for any strides, element sizes and alignment, element by element.
//   1. a tile is copied to shared memory in the order of src. It has columns, rows and indices of one more axis, each a
//      power of two. Its rows are padded, so that loads down a column use different banks
//   2. after a barrier the tile is walked in the order of dst, computed and stored. It is walked once more for a second
//      destination of another order
// Elements beyond an edge are neither loaded nor stored.
#pragma once

#include "kernels/gpu/apply/aligned.cuh"

namespace cornerturn::gpu {

struct tile_index {
  int32_t slot[3];
};

// Element `i` of a tile, columns or rows fastest.
GPU_INLINE tile_index index_of(const apply_args& args, int32_t i, bool cols_first) {
  const int32_t log2_first = args.cut_log2[cols_first ? 0 : 1];
  const int32_t first = i & ((1 << log2_first) - 1);
  i >>= log2_first;
  const int32_t log2_then = args.cut_log2[cols_first ? 1 : 0];
  const int32_t then = i & ((1 << log2_then) - 1);
  return {{cols_first ? first : then, cols_first ? then : first, i >> log2_then}};
}

GPU_INLINE bool inside(const apply_origin& here, const tile_index& at) {
  return at.slot[0] < here.left[0] && at.slot[1] < here.left[1] && at.slot[2] < here.left[2];
}

GPU_INLINE int64_t offset(const apply_args& args, const tile_index& at, int64_t apply_strides::*stride) {
  int64_t sum = 0;
  GPU_UNROLL for (int s = 0; s < 3; ++s) sum += at.slot[s] * (args.slots[s].*stride);
  return sum;
}

// The shared-memory offset of an element. Rows are the fastest, then the indices of slot 2.
template <int Bytes>
GPU_INLINE int32_t smem_offset(const apply_args& args, const tile_index& at) {
  return ((at.slot[2] << args.cut_log2[1]) + at.slot[1]) * args.pitch + at.slot[0] * Bytes;
}

template <int Bytes>
GPU_INLINE void load_element(uint32_t* words, const unsigned char* from, bool bytewise) {
  if (!bytewise) return to_words<Bytes>(words, load_global<word_t<Bytes>>(from));
  GPU_UNROLL for (int k = 0; k < words_of<Bytes, 1>; ++k) words[k] = 0;
  GPU_UNROLL for (int k = 0; k < Bytes; ++k) words[k / 4] |= uint32_t{load_global<word_t<1>>(from + k)} << k % 4 * 8;
}
template <int Bytes>
GPU_INLINE void store_element(unsigned char* to, const uint32_t* words, bool bytewise) {
  if (!bytewise) return store_global(to, from_words<Bytes>(words));
  GPU_UNROLL for (int k = 0; k < Bytes; ++k) store_global(to + k, static_cast<word_t<1>>(words[k / 4] >> k % 4 * 8));
}

template <int SrcBytes>
inline constexpr int any_steps = apply_any_elements(SrcBytes) / apply_any_threads;

template <int Bytes>
using element_words = uint32_t[words_of<Bytes, 1>];

// Loads all elements of the thread before the first one is used.
template <int Bytes, int Steps>
GPU_INLINE void load_elements(element_words<Bytes> (&elements)[Steps], const apply_args& args, const apply_origin& here,
                              const unsigned char* from, int64_t apply_strides::*stride, bool cols_first,
                              bool bytewise) {
  GPU_UNROLL for (int step = 0; step < Steps; ++step) {
    const tile_index at = index_of(args, static_cast<int32_t>(thread_index()) + step * apply_any_threads, cols_first);
    if (inside(here, at)) load_element<Bytes>(elements[step], from + offset(args, at, stride), bytewise);
  }
}

// 1.
template <int SrcBytes>
GPU_INLINE void fetch(const apply_args& args, const apply_origin& here) {
  uint32_t elements[any_steps<SrcBytes>][words_of<SrcBytes, 1>] = {};
  if (args.math.reads_src != 0) {
    if (args.bytewise == 0) {
      load_elements<SrcBytes>(elements, args, here, here.src, &apply_strides::src_bytes, true, false);
    } else {
      load_elements<SrcBytes>(elements, args, here, here.src, &apply_strides::src_bytes, true, true);
    }
  }
  GPU_UNROLL for (int step = 0; step < any_steps<SrcBytes>; ++step) {
    const tile_index at = index_of(args, static_cast<int32_t>(thread_index()) + step * apply_any_threads, true);
    if (!inside(here, at)) continue;
    *reinterpret_cast<word_t<SrcBytes>*>(shared_memory() + smem_offset<SrcBytes>(args, at)) =
        from_words<SrcBytes>(elements[step]);
  }
}

// 2. Computes the tile in the order of dst or of a second destination, and stores it.
template <int SrcBytes, int DstBytes, class Math>
GPU_INLINE void finish(const apply_args& args, const apply_origin& here, const Math& math, bool to_dst, bool to_second,
                       bool cols_first) {
  const bool bytewise = args.bytewise != 0;
  uint32_t second[any_steps<SrcBytes>][words_of<DstBytes, 1>] = {};
  if (args.math.reads_second != 0) {
    load_elements<DstBytes>(second, args, here, here.second, &apply_strides::second_bytes, cols_first, bytewise);
  }
  GPU_UNROLL for (int step = 0; step < any_steps<SrcBytes>; ++step) {
    const tile_index at = index_of(args, static_cast<int32_t>(thread_index()) + step * apply_any_threads, cols_first);
    if (!inside(here, at)) continue;
    uint32_t s[words_of<SrcBytes, 1>], made[words_of<DstBytes, 1>];
    to_words<SrcBytes>(s,
                       *reinterpret_cast<const word_t<SrcBytes>*>(shared_memory() + smem_offset<SrcBytes>(args, at)));
    math.template make<1>(s, second[step], made);
    if (to_dst) store_element<DstBytes>(here.dst + offset(args, at, &apply_strides::dst_bytes), made, bytewise);
    if (to_second)
      store_element<DstBytes>(here.second + offset(args, at, &apply_strides::second_bytes), made, bytewise);
  }
}

// 2. Both walks.
template <int SrcBytes, int DstBytes>
GPU_INLINE void finish_all(const apply_args& args, const apply_origin& here, float scale) {
  with_math<SrcBytes, DstBytes>(args.math, scale, [&](const auto& math) {
    const bool apart = args.second_written != 0 && args.second_by_cols != args.dst_by_cols;
    for (int pass = 0; pass < (apart ? 2 : 1); ++pass) {
      finish<SrcBytes, DstBytes>(args, here, math, pass == 0, pass == 1 || (args.second_written != 0 && !apart),
                                 pass == 0 ? args.dst_by_cols != 0 : args.second_by_cols != 0);
    }
  });
}

template <int SrcBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
apply_any_kernel(GPU_PARAMETER apply_args args) {
  static_assert(threads_of(Limits) == apply_any_threads);
  const apply_origin here = find_origin(args);
  const float scale = args.scale == nullptr ? 1.0f : load_cached(args.scale);
  fetch<SrcBytes>(args, here);
  block_barrier();  // orders the elements stored to shared memory in 1 before their reads in 2
  if constexpr (SrcBytes == 16) {
    finish_all<16, 16>(args, here, scale);
  } else {
    if (args.dst_bytes == 1) finish_all<SrcBytes, 1>(args, here, scale);
    if (args.dst_bytes == 2) finish_all<SrcBytes, 2>(args, here, scale);
    if (args.dst_bytes == 4) finish_all<SrcBytes, 4>(args, here, scale);
    if (args.dst_bytes == 8) finish_all<SrcBytes, 8>(args, here, scale);
  }
}

}  // namespace cornerturn::gpu
