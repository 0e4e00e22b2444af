// Arithmetic for any strides without shared memory. src is read through L1, as element/kernel.cuh does.
//   1. each thread has a word of dst, neighbouring threads neighbouring ones
//   2. it loads each element of the word; all at once where they are contiguous and aligned in src
//   3. it loads the word of a second source, computes, and stores the word to dst and to a second destination. A second
//      array has the strides of dst
// A word is one element, or 16 bytes of the wider elements where dst is contiguous. A row may begin anywhere: its first
// word is aligned down. Words that an end of a row cuts are copied by elements.
#pragma once

#include "kernels/gpu/apply/aligned.cuh"
#include "kernels/gpu/policy/element_grid.cuh"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

// The elements [low, high) of a word are in its row.
struct word_part {
  int32_t low, high;
};

template <int Bytes>
GPU_INLINE void put(uint32_t* words, int k, const word_t<Bytes>& one) {
  if constexpr (Bytes < 4) {
    words[k * Bytes / 4] |= uint32_t{one} << k * Bytes % 4 * 8;
  } else {
    to_words<Bytes>(words + k * Bytes / 4, one);
  }
}

// True if a word of V elements is one access.
template <int Bytes, int V>
GPU_INLINE bool is_one_word(const void* at, const word_part& part) {
  return part.low == 0 && part.high == V && low_word(at) % (Bytes * V) == 0;
}

// 3. Elements outside `part` are 0, or not stored.
template <int Bytes, int V>
GPU_INLINE void load_word(uint32_t* words, const unsigned char* from, const word_part& part) {
  if (is_one_word<Bytes, V>(from, part)) return to_words<Bytes * V>(words, load_global<word_t<Bytes * V>>(from));
  GPU_UNROLL for (int k = 0; k < V; ++k) {
    if (k >= part.low && k < part.high) put<Bytes>(words, k, load_global<word_t<Bytes>>(from + k * Bytes));
  }
}
template <int Bytes, int V>
GPU_INLINE void store_word(unsigned char* to, const uint32_t* words, const word_part& part) {
  if (is_one_word<Bytes, V>(to, part)) return store_global(to, from_words<Bytes * V>(words));
  GPU_UNROLL for (int k = 0; k < V; ++k) {
    if (k < part.low || k >= part.high) continue;
    if constexpr (Bytes < 4) {
      store_global(to + k * Bytes, static_cast<word_t<Bytes>>(words[k * Bytes / 4] >> k * Bytes % 4 * 8));
    } else {
      store_global(to + k * Bytes, from_words<Bytes>(words + k * Bytes / 4));
    }
  }
}

// 2. Elements outside `part` are 0. from: the first element of the row; first: the index in the row of element 0
template <int Bytes, int V>
GPU_INLINE void gather_word(uint32_t* words, const apply_element_args& args, const unsigned char* from, int32_t first,
                            const word_part& part) {
  using element = word_t<Bytes>;
  if (args.row_rank == 1 && part.low == 0 && part.high == V) {  // nearly all words of large problems
    from += first * int64_t{args.src_bytes};
    if (V > 1 && args.src_bytes == Bytes && low_word(from) % (Bytes * V) == 0) {
      return to_words<Bytes * V>(words, load_cached(reinterpret_cast<const word_t<Bytes * V>*>(from)));
    }
    element value[V];
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      value[k] = load_cached(reinterpret_cast<const element*>(from + k * int64_t{args.src_bytes}));
    }
    GPU_UNROLL for (int k = 0; k < V; ++k) put<Bytes>(words, k, value[k]);
    return;
  }
  constexpr int Part = V < 4 ? V : 4;  // fewer offsets take fewer registers
  GPU_UNROLL for (int begin = 0; begin < V; begin += Part) {
    int64_t offset[Part];
    set_offsets(args, first + begin, offset);
    GPU_UNROLL for (int k = 0; k < Part; ++k) {
      if (begin + k < part.low || begin + k >= part.high) continue;
      put<Bytes>(words, begin + k, load_cached(reinterpret_cast<const element*>(from + offset[k])));
    }
  }
}

template <int SrcBytes, int DstBytes, bool Joined>
GPU_INLINE void apply_word(const apply_element_args& args, const element_word& here, float scale) {
  constexpr int V = Joined ? joined_elements(SrcBytes, DstBytes) : 1;
  unsigned char* const row = static_cast<unsigned char*>(args.dst) + here.dst;
  const int32_t misplaced = V == 1 ? 0 : static_cast<int32_t>(low_word(row) / DstBytes % V);
  const int32_t first = static_cast<int32_t>(here.word) * V - misplaced;
  const auto left = static_cast<int32_t>(args.row_elements) - first;
  const word_part part{first < 0 ? -first : 0, left < V ? left : V};
  uint32_t s[words_of<SrcBytes, V>] = {}, second[words_of<DstBytes, V>] = {}, made[words_of<DstBytes, V>];
  if (args.math.reads_src != 0) {  // 2.
    gather_word<SrcBytes, V>(s, args, static_cast<const unsigned char*>(args.src) + here.src, first, part);
  }
  const int64_t inside = first * int64_t{args.dst_bytes};
  unsigned char* const other = static_cast<unsigned char*>(args.second) + here.dst + inside;
  if (args.math.reads_second != 0) load_word<DstBytes, V>(second, other, part);  // 3.
  with_math<SrcBytes, DstBytes>(args.math, scale, [&](const auto& math) { math.template make<V>(s, second, made); });
  store_word<DstBytes, V>(row + inside, made, part);
  if (args.second_written != 0) store_word<DstBytes, V>(other, made, part);
}

template <int SrcBytes, bool Joined, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
apply_element_kernel(GPU_PARAMETER apply_element_args args) {
  static_assert(threads_of(Limits) == element_threads);
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const element_word here = locate_word(args, number);
  wait_for_earlier_launches<SrcBytes * element_threads>();
  const float scale = args.scale == nullptr ? 1.0f : load_cached(args.scale);
  if constexpr (SrcBytes == 16) {
    apply_word<16, 16, Joined>(args, here, scale);
  } else {
    if (args.element_bytes == 1) apply_word<SrcBytes, 1, Joined>(args, here, scale);
    if (args.element_bytes == 2) apply_word<SrcBytes, 2, Joined>(args, here, scale);
    if (args.element_bytes == 4) apply_word<SrcBytes, 4, Joined>(args, here, scale);
    if (args.element_bytes == 8) apply_word<SrcBytes, 8, Joined>(args, here, scale);
  }
}

}  // namespace cornerturn::gpu
