// Elements: any axes and any strides, also 0 and negative ones on either side, without shared memory. src is read through
// L1.
//   1. each thread has a word of dst, neighbouring threads neighbouring ones. It splits the number of the word into a row
//      of dst and a word of that row, and the row over the outer axes
//   2. it splits each element of the word over the axes of a row, and loads it
//   3. it stores the word. Only a word that is cut by an end of its row is stored by elements
// A word is one element, or 8 bytes of narrower ones where dst is contiguous. A row may begin anywhere: its first word is
// aligned down.
//
// repeated_element_kernel: src is broadcast along an outer axis, or along the row. A thread loads its word once and stores it at
// several places.
#pragma once

#include "kernels/gpu/element/args.hpp"
#include "kernels/gpu/policy/element_grid.cuh"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

// Makes 8 bytes of their elements; element 0 becomes the lowest bytes.
template <int ElementBytes>
GPU_INLINE word_t<8> join_elements(const word_t<ElementBytes> (&e)[8 / ElementBytes]) {
  if constexpr (ElementBytes == 1) {
    return {byte_permute(byte_permute(e[0], e[1], 0x0040), byte_permute(e[2], e[3], 0x0040), 0x5410),
            byte_permute(byte_permute(e[4], e[5], 0x0040), byte_permute(e[6], e[7], 0x0040), 0x5410)};
  } else if constexpr (ElementBytes == 2) {
    return {byte_permute(e[0], e[1], 0x5410), byte_permute(e[2], e[3], 0x5410)};
  } else {
    return {e[0], e[1]};
  }
}

template <int ElementBytes, int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
element_kernel(GPU_PARAMETER element_args args) {
  static_assert(threads_of(Limits) == element_threads);
  constexpr int V = WordBytes / ElementBytes;
  using element = word_t<ElementBytes>;
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const element_word here = locate_word(args, number);
  const uint32_t word = here.word;
  auto* from = static_cast<const unsigned char*>(args.src) + here.src;
  auto* to = static_cast<unsigned char*>(args.dst) + here.dst;
  if constexpr (V == 1) {
    int64_t offset[1];
    set_offsets(args, static_cast<int32_t>(word), offset);  // 2.
    wait_for_earlier_launches<WordBytes * element_threads>();
    store_global(to + static_cast<int32_t>(word) * int64_t{args.dst_bytes},
                 load_cached(reinterpret_cast<const element*>(from + offset[0])));  // 3.
  } else {
    const auto misplaced = static_cast<int32_t>(low_word(to) / ElementBytes % V);
    const int32_t first = static_cast<int32_t>(word * V) - misplaced;
    to += int64_t{first} * ElementBytes;
    const bool is_whole = first >= 0 && static_cast<uint32_t>(first) + V <= args.row_elements;
    element value[V];
    wait_for_earlier_launches<WordBytes * element_threads>();
    if (is_whole && args.row_rank == 1) {  // nearly all words of large problems
      from += first * int64_t{args.src_bytes};
      GPU_UNROLL for (int k = 0; k < V; ++k) {
        value[k] = load_cached(reinterpret_cast<const element*>(from + k * int64_t{args.src_bytes}));
      }
      return store_global(to, join_elements<ElementBytes>(value));
    }
    constexpr int Part = V < 4 ? V : 4;  // fewer offsets take fewer registers
    GPU_UNROLL for (int part = 0; part < V; part += Part) {
      int64_t offset[Part];
      set_offsets(args, first + part, offset);  // 2.
      GPU_UNROLL for (int k = 0; k < Part; ++k) {
        const bool is_of_row = static_cast<uint32_t>(first + part + k) < args.row_elements;
        value[part + k] = is_of_row ? load_cached(reinterpret_cast<const element*>(from + offset[k])) : 0;
      }
    }
    if (is_whole) return store_global(to, join_elements<ElementBytes>(value));  // 3.
    GPU_UNROLL for (int k = 0; k < V; ++k) {
      if (static_cast<uint32_t>(first + k) < args.row_elements) store_global(to + k * ElementBytes, value[k]);
    }
  }
}

template <int ElementBytes, int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
repeated_element_kernel(GPU_PARAMETER repeat_args args) {
  static_assert(threads_of(Limits) == element_threads);
  constexpr int V = WordBytes / ElementBytes;
  using element = word_t<ElementBytes>;
  const uint32_t number = block_index() * element_threads + thread_index();  // 1.
  if (number >= args.all_words) return;
  const element_word here = locate_word(args, number);
  auto* from = static_cast<const unsigned char*>(args.src) + here.src;
  auto* to = static_cast<unsigned char*>(args.dst) + here.dst;
  const bool along_row = args.repeat_elements > 0;
  int32_t repeats = args.repeats;
  if (!along_row) {
    const uint32_t below = args.below.quotient(number), apart = args.apart.divisor;
    const uint32_t place = below - args.apart.quotient(below) * apart;
    const bool has_last = place + static_cast<uint32_t>(repeats - 1) * apart < args.places;
    repeats = has_last ? repeats : repeats - 1;
  }
  const auto misplaced = V == 1 ? 0 : static_cast<int32_t>(low_word(to) / ElementBytes % V);
  int32_t first = static_cast<int32_t>(here.word * V) - misplaced;
  to += first * int64_t{V == 1 ? args.dst_bytes : ElementBytes};
  element value[V];
  const int32_t known = along_row && first < 0 ? first + args.repeat_elements : first;  // has the value of `first`
  wait_for_earlier_launches<WordBytes * element_threads>();
  constexpr int Part = V < 4 ? V : 4;  // fewer offsets take fewer registers
  GPU_UNROLL for (int part = 0; part < V; part += Part) {
    int64_t offset[Part];
    set_offsets(args, known + part, offset);  // 2.
    GPU_UNROLL for (int k = 0; k < Part; ++k) {
      const bool is_of_row = along_row || static_cast<uint32_t>(first + part + k) < args.row_elements;
      value[part + k] = is_of_row ? load_cached(reinterpret_cast<const element*>(from + offset[k])) : element{};
    }
  }
  for (int32_t place = 0; place < repeats; ++place) {  // 3.
    if constexpr (V == 1) {
      if (static_cast<uint32_t>(first) < args.row_elements) store_global(to, value[0]);
    } else if (first >= 0 && static_cast<uint32_t>(first) + V <= args.row_elements) {
      store_global(to, join_elements<ElementBytes>(value));
    } else {
      GPU_UNROLL for (int k = 0; k < V; ++k) {
        if (static_cast<uint32_t>(first + k) < args.row_elements) store_global(to + k * ElementBytes, value[k]);
      }
    }
    to += args.repeat_dst_bytes;
    first += args.repeat_elements;
  }
}

}  // namespace cornerturn::gpu
