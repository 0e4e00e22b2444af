// Arithmetic for any strides, element sizes and alignment, element by element.
//   1. a tile is copied to shared memory in the order of src. It has columns, rows and indices of one more axis, each a
//      power of two. Its rows are padded, so that loads down a column use different banks
//   2. after a barrier the tile is walked in the order of dst, computed and stored. It is walked once more for a second
//      destination of another order
// A thread has the elements thread + step * apply_any_threads of its tile. The two terms share no bit, and a tile's extents
// are powers of two, so the offset of an element is the sum of two offsets. The arguments hold the offsets of the steps.
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

// The elements of a thread in one order. Bit `step` of `inside` is 1 if that element is in front of every edge.
struct apply_walk {
  tile_index first;
  const apply_steps& steps;
  uint32_t inside;
};

template <int Steps>
GPU_INLINE apply_walk walk_of(const apply_args& args, const apply_origin& here, bool cols_first) {
  apply_walk made{index_of(args, static_cast<int32_t>(thread_index()), cols_first), args.steps[cols_first ? 1 : 0],
                  (1u << Steps) - 1};
  bool whole = args.is_full != 0;
  GPU_UNROLL for (int s = 0; s < 3; ++s) whole = whole && here.left[s] >= args.blocks.tile[s];
  if (whole) return made;
  made.inside = 0;
  GPU_UNROLL_BY(1) for (int step = 0; step < Steps; ++step) {
    const tile_index more = index_of(args, step * apply_any_threads, cols_first);
    bool is_inside = true;
    GPU_UNROLL for (int s = 0; s < 3; ++s) is_inside = is_inside && made.first.slot[s] + more.slot[s] < here.left[s];
    if (is_inside) made.inside |= 1u << step;
  }
  return made;
}

// Loads all elements of the thread before the first one is used. Elements beyond an edge are 0.
template <int Bytes, int Steps>
GPU_INLINE void load_elements(element_words<Bytes> (&elements)[Steps], const apply_walk& walk,
                              const unsigned char* from, const std::int64_t (&offsets)[apply_any_steps],
                              bool bytewise) {
  GPU_UNROLL for (int step = 0; step < Steps; ++step) {
    if ((walk.inside >> step & 1) != 0) load_element<Bytes>(elements[step], from + offsets[step], bytewise);
  }
}

// 1.
template <int SrcBytes>
GPU_INLINE void fetch(const apply_args& args, const apply_origin& here) {
  constexpr int Steps = any_steps<SrcBytes>;
  const apply_walk walk = walk_of<Steps>(args, here, true);
  const unsigned char* const from = here.src + offset(args, walk.first, &apply_strides::src_bytes);
  unsigned char* const to = shared_memory() + smem_offset<SrcBytes>(args, walk.first);
  element_words<SrcBytes> elements[Steps] = {};
  if (args.math.reads_src != 0) {
    if (args.bytewise == 0) {
      load_elements<SrcBytes>(elements, walk, from, walk.steps.src_bytes, false);
    } else {
      load_elements<SrcBytes>(elements, walk, from, walk.steps.src_bytes, true);
    }
  }
  GPU_UNROLL for (int step = 0; step < Steps; ++step) {
    if ((walk.inside >> step & 1) == 0) continue;
    *reinterpret_cast<word_t<SrcBytes>*>(to + walk.steps.smem_bytes[step]) = from_words<SrcBytes>(elements[step]);
  }
}

// 2. Computes the tile in the order of dst or of a second destination, and stores it.
template <int SrcBytes, int DstBytes, class Math>
GPU_INLINE void finish(const apply_args& args, const apply_origin& here, const Math& math, bool to_dst, bool to_second,
                       bool cols_first) {
  constexpr int Steps = any_steps<SrcBytes>;
  const bool bytewise = args.bytewise != 0;
  const apply_walk walk = walk_of<Steps>(args, here, cols_first);
  const unsigned char* const from = shared_memory() + smem_offset<SrcBytes>(args, walk.first);
  unsigned char* const dst = here.dst + offset(args, walk.first, &apply_strides::dst_bytes);
  unsigned char* const other = here.second + offset(args, walk.first, &apply_strides::second_bytes);
  uint32_t second[Steps][words_of<DstBytes, 1>] = {};
  if (args.math.reads_second != 0) load_elements<DstBytes>(second, walk, other, walk.steps.second_bytes, bytewise);
  GPU_UNROLL for (int step = 0; step < Steps; ++step) {
    if ((walk.inside >> step & 1) == 0) continue;
    uint32_t s[words_of<SrcBytes, 1>], made[words_of<DstBytes, 1>];
    to_words<SrcBytes>(s, *reinterpret_cast<const word_t<SrcBytes>*>(from + walk.steps.smem_bytes[step]));
    math.template make<1>(s, second[step], made);
    if (to_dst) store_element<DstBytes>(dst + walk.steps.dst_bytes[step], made, bytewise);
    if (to_second) store_element<DstBytes>(other + walk.steps.second_bytes[step], made, bytewise);
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
  wait_for_earlier_launches();
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
