// Swap, in place, many small square matrices that are packed one after another. A group of whole items is one run of
// bytes. A chunk is 16 aligned bytes of it.
//   1. the chunks of a group are copied to shared memory
//   2. after a barrier each lane gathers the words of one chunk of the swapped group, and stores it. It finds its first
//      word by divisions, and each next one by an addition
// The first and the last chunk of a group are stored word by word: the rest of them belongs to other groups.
#pragma once

#include "kernels/gpu/policy/unaligned.cuh"
#include "kernels/gpu/swap/args.hpp"

namespace cornerturn::gpu {

// The words of dst in order, and their places in shared memory.
template <int WordBytes, bool OneWord>
struct item_walk {
  int32_t from;  // smem offset of the word
  int32_t last;  // of the last element of the item
  int32_t part;  // word of the element

  // smem_offset: of the group
  GPU_INLINE item_walk(const swap_items_args& args, int32_t smem_offset, int32_t word) {
    const auto words = static_cast<int32_t>(args.element.divisor), side = static_cast<int32_t>(args.side.divisor);
    const auto item = static_cast<int32_t>(args.item.quotient(word));
    const int32_t rest = word - item * static_cast<int32_t>(args.item.divisor);
    const int32_t element = OneWord ? rest : static_cast<int32_t>(args.element.quotient(rest));
    const auto row = static_cast<int32_t>(args.side.quotient(element));
    const int32_t first = smem_offset + item * args.item_bytes;
    part = OneWord ? 0 : rest - element * words;
    from = first + ((element - row * side) * side + row) * args.element_bytes + part * WordBytes;
    last = first + args.item_bytes - args.element_bytes;
  }

  GPU_INLINE void step(const swap_items_args& args) {
    if constexpr (!OneWord) {
      if (++part < static_cast<int32_t>(args.element.divisor)) {
        from += WordBytes;
        return;
      }
      part = 0;
      from += WordBytes - args.element_bytes;
    }
    const bool ends = from == last;
    int32_t down = from + static_cast<int32_t>(args.side.divisor) * args.element_bytes;
    down -= down > last ? args.item_bytes - args.element_bytes : 0;  // below the last row: the next column
    from = ends ? from + args.element_bytes : down;
    last += ends ? args.item_bytes : 0;
  }
};

// 2.
template <int WordBytes, bool OneWord>
GPU_INLINE void store_group(const swap_items_args& args, unsigned char* group, int32_t bytes) {
  constexpr int N = 16 / WordBytes;
  const auto shift = static_cast<int32_t>(low_word(group) & 15);
  const int32_t words = bytes / WordBytes;
  for (auto chunk = static_cast<int32_t>(thread_index()); chunk * 16 < shift + bytes; chunk += swap_threads) {
    const int32_t first = chunk * N - shift / WordBytes;
    unsigned char* const to = group + first * WordBytes;
    if (first < 0 || first + N > words) {
      const int32_t begin = first < 0 ? -first : 0;
      item_walk<WordBytes, OneWord> walk(args, shift, first + begin);
      GPU_UNROLL_BY(1) for (int32_t k = begin; k < N && first + k < words; ++k, walk.step(args)) {
        store_global(to + k * WordBytes, load_shared<word_t<WordBytes>>(shared_memory() + walk.from));
      }
      continue;
    }
    item_walk<WordBytes, OneWord> walk(args, shift, first);
    int offset[N];
    GPU_UNROLL for (int k = 0; k < N; ++k, walk.step(args)) offset[k] = walk.from;
    uint32_t gathered[4];
    gather_words<WordBytes>(gathered, offset, 0);
    store_global(to, word_t<16>{gathered[0], gathered[1], gathered[2], gathered[3]});
  }
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
swap_items_kernel(GPU_PARAMETER swap_items_args args) {
  static_assert(threads_of(Limits) == swap_threads);
  uint32_t rest = args.groups.quotient(block_index());
  const int64_t first = int64_t{block_index() - rest * args.groups.divisor} * args.group_items;
  auto* group = static_cast<unsigned char*>(args.dst) + first * args.item_bytes;
  for (int32_t k = 0; k < args.outer_rank; ++k) {
    const uint32_t above = args.outer[k].count.quotient(rest);
    group += int64_t{rest - above * args.outer[k].count.divisor} * args.outer[k].stride_bytes;
    rest = above;
  }
  const int64_t left = args.items - first;
  const int32_t bytes = static_cast<int32_t>(left < args.group_items ? left : args.group_items) * args.item_bytes;
  const auto shift = static_cast<int32_t>(low_word(group) & 15);
  wait_for_earlier_launches();
  for (auto byte = static_cast<int32_t>(thread_index()) * 16 - shift; byte < bytes; byte += swap_threads * 16) {  // 1.
    fetch_used(args.src_begin, args.src_end, shared_memory() + shift + byte, group + byte, byte < 0 ? -byte : 0,
               bytes - byte < 16 ? bytes - byte : 16);
  }
  wait_for_copies();
  // The barrier orders the copies to shared memory in 1 before their reads in 2. It also orders the reads of the group in
  // 1 before the writes to it in 2.
  block_barrier();
  if (args.element.divisor == 1) {
    store_group<WordBytes, true>(args, group, bytes);
  } else {
    store_group<WordBytes, false>(args, group, bytes);
  }
}

}  // namespace cornerturn::gpu
