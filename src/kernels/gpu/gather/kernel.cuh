// Gather box: any axes, any alignment of at least one element. A box is a product of index ranges that fits shared
// memory. It holds long runs of src addresses and long lines of dst addresses; the two may share axes.
//   1. a table gets the src offset of each run                                          (runs)
//   2. the runs are copied to shared memory. Equally misaligned runs are copied in chunks of 16 aligned bytes, others
//      word by word, and narrow elements in four-byte words that begin with their run   (runs x pitch bytes)
//   3. while the copies are in flight, tables get the dst offset of each line and the shared-memory offset of each
//      element of a line's first piece. Narrow elements are grouped by four-byte words of dst, for each misalignment of
//      a line
//   4. after a barrier each lane gathers words of a line and stores them to dst
// Every list of axes ends with the axis that the grid may cut. So a box at an edge is a prefix of a whole box, and the
// plan knows all divisors.
#pragma once

#include "kernels/gpu/gather/narrow.cuh"

namespace cornerturn::gpu {

// The words of one thread in a task of a warp: words `word`, word + step, ... of one line, or of one run.
struct task {
  int32_t line;
  int32_t word;
  int32_t step;
};

GPU_INLINE task find_task(int32_t number, int32_t lanes, const map::fast_divisor& chunks) {
  const auto lane = static_cast<int32_t>(thread_index() % warp_lanes);
  const auto stack = static_cast<int32_t>(chunks.quotient(number));
  const int32_t chunk = number - stack * static_cast<int32_t>(chunks.divisor);
  return {(stack << warp_lanes_log2 - lanes) + (lane >> lanes),
          chunk * (gather_steps << lanes) + (lane & (1 << lanes) - 1), 1 << lanes};
}

GPU_INLINE int32_t tasks(int32_t lines, int32_t lanes, const map::fast_divisor& chunks) {
  return (lines + (warp_lanes - 1 >> lanes) >> warp_lanes_log2 - lanes) * static_cast<int32_t>(chunks.divisor);
}

// 2. Copies up to gather_steps chunks of 16 bytes, `step` bytes apart, of the next `left` bytes. A chunk that extends
//    beyond
// src is copied in words.
template <int WordBytes>
GPU_INLINE void fetch_chunks(const gather_args& args, src_bounds readable, const unsigned char* from,
                             int32_t smem_offset, int32_t left, int32_t step) {
  GPU_UNROLL for (int k = 0; k < gather_steps; ++k, from += step, smem_offset += step) {
    if (k * step >= left) continue;
    const auto address = reinterpret_cast<std::uint64_t>(from);
    unsigned char* const to = shared_memory() + skewed<WordBytes>(args, smem_offset);
    if (address >= readable.begin && address + 16 <= readable.end) {
      start_copy<16>(to, from);
      continue;
    }
    for (int byte = 0; byte < 16; byte += WordBytes) {
      if (address + byte < readable.begin || address + byte >= readable.end) continue;
      *reinterpret_cast<word_t<WordBytes>*>(to + byte) = load_global<word_t<WordBytes>>(from + byte);
    }
  }
}

// 2. Copies all runs. `shift`: the misalignment of all runs in bytes, if args.in_chunks.
template <int WordBytes, class Items>
GPU_INLINE void fetch_runs(const gather_args& args, const Items& items, const gather_tables& at,
                           const unsigned char* src, int32_t shift, int32_t runs, int32_t elements) {
  unsigned char* const box = shared_memory();
  const int32_t all = tasks(runs, args.run_lanes, args.run_chunks);
  for (auto i = static_cast<int32_t>(thread_index() / warp_lanes); i < all; i += gather_threads / warp_lanes) {
    const task mine = find_task(i, args.run_lanes, args.run_chunks);
    if (mine.line >= runs) continue;
    const unsigned char* const start = src + at.run_src[mine.line];
    const int32_t first = mine.line * args.pitch;
    const int32_t bytes = elements * WordBytes;
    if (args.in_chunks) {
      const int32_t byte = mine.word * 16;
      fetch_chunks<WordBytes>(args, items.readable(mine.line), start - shift + byte, first + byte, shift + bytes - byte,
                              mine.step * 16);
      continue;
    }
    if constexpr (WordBytes < 4) {
      if (args.run_is_contiguous) {
        fetch_narrow(args, items.readable(mine.line), start, first, mine.word, mine.step, bytes + 3 >> 2);
        continue;
      }
    }
    const auto to = [&](int32_t element) { return box + skewed<WordBytes>(args, first + element * WordBytes); };
    if constexpr (WordBytes >= 4) {
      GPU_UNROLL for (int k = 0; k < gather_steps; ++k) {
        const int32_t element = mine.word + k * mine.step;
        if (element >= elements) continue;
        start_copy<WordBytes>(
            to(element), start + (args.run_is_contiguous ? int64_t{element} * WordBytes : at.element_src[element]));
      }
    } else {
      word_t<WordBytes> value[gather_steps];  // all loads are in flight before the first store
      GPU_UNROLL for (int k = 0; k < gather_steps; ++k) {
        const int32_t element = mine.word + k * mine.step;
        if (element < elements) value[k] = load_global<word_t<WordBytes>>(start + at.element_src[element]);
      }
      GPU_UNROLL for (int k = 0; k < gather_steps; ++k) {
        const int32_t element = mine.word + k * mine.step;
        if (element < elements) *reinterpret_cast<word_t<WordBytes>*>(to(element)) = value[k];
      }
    }
  }
}

template <int WordBytes>
GPU_INLINE word_t<WordBytes> collect(const gather_args& args, int32_t smem_offset) {
  return *reinterpret_cast<const word_t<WordBytes>*>(shared_memory() + skewed<WordBytes>(args, smem_offset));
}

// 4. Stores lines word by word. A warp spans several lines if one is short, or if that avoids bank conflicts.
template <int WordBytes>
GPU_INLINE void write_lines(const gather_args& args, const gather_tables& at, unsigned char* dst, int32_t lines,
                            int32_t elements) {
  const auto size = static_cast<int32_t>(args.piece.divisor);
  const int32_t all = tasks(lines, args.line_lanes, args.line_chunks);
  for (auto i = static_cast<int32_t>(thread_index() / warp_lanes); i < all; i += gather_threads / warp_lanes) {
    const task mine = find_task(i, args.line_lanes, args.line_chunks);
    if (mine.line >= lines) continue;
    unsigned char* const start = dst + at.line_dst[mine.line];
    const int32_t line = at.line_smem[mine.line];
    if constexpr (WordBytes < 4) {
      if (args.line_is_contiguous) {
        write_narrow<WordBytes>(args, at.element_smem, start, line, mine.word, mine.step, elements);
        continue;
      }
    }
    auto piece = static_cast<int32_t>(args.piece.quotient(mine.word));
    int32_t p = mine.word - piece * size;
    GPU_UNROLL for (int k = 0; k < gather_steps; ++k) {
      const int32_t word = mine.word + k * mine.step;
      if (word >= elements) break;
      const int64_t offset =
          args.line_is_contiguous ? int64_t{word} * WordBytes : at.element_dst[p] + piece * args.piece_dst_stride;
      store_global(start + offset,
                   collect<WordBytes>(args, line + piece * args.piece_smem_stride + at.element_smem[p]));
      p += mine.step;  // a piece is no shorter than a step: see cut.cpp
      if (p >= size) p -= size, ++piece;
    }
  }
}

// The address source of a block that gathers one item or a part of it. batch.cuh has another one, many_items.
struct one_item {
  static constexpr bool args_are_variable = false;  // true: they are in shared memory
  const gather_args& args;
  GPU_INLINE void limit(tile_origin&) const {}
  GPU_INLINE int64_t src_offset(int32_t) const { return 0; }
  GPU_INLINE int64_t dst_offset(int32_t) const { return 0; }
  GPU_INLINE src_bounds readable(int32_t) const { return {args.arrays.src_begin, args.arrays.src_end}; }
};

template <int WordBytes, class Items>
GPU_INLINE void gather_box(const gather_args& args, uint32_t block, const Items& items) {
  tile_origin here = find_origin<Items::args_are_variable>(args.blocks, args.arrays.src, args.arrays.dst, block);
  items.limit(here);
  if (here.left[0] <= 0 || here.left[1] <= 0) return;
  const auto thread = static_cast<int32_t>(thread_index());
  const gather_tables at = find_tables(args);
  const int32_t runs = count(args, args.run_count, here);
  const int32_t run_elements = count(args, args.run_element_count, here);
  const int32_t lines = count(args, args.line_count, here);
  const int32_t line_elements = count(args, args.line_element_count, here);
  const unsigned char* src = here.src;  // the lowest address of the box in src
  unsigned char* dst = here.dst;        // the lowest address of the box in dst
  int32_t corner = 0;                   // the shared-memory offset of the element that dst points to
  if (args.reversed) {
    for (int32_t k = 0; k < args.src_rank; ++k) {
      const gather_axis& axis = args.src_axes[k];
      const int32_t last = length(axis.slot, static_cast<int32_t>(axis.tile.divisor), here) - 1;
      if (axis.from_end != 0) src -= last * axis.src_stride_bytes;
    }
    for (int32_t k = 0; k < args.dst_rank; ++k) {
      const gather_axis& axis = args.dst_axes[k];
      const int32_t last = length(axis.slot, static_cast<int32_t>(axis.tile.divisor), here) - 1;
      if (axis.from_end != 0) dst -= last * axis.dst_stride_bytes;
      if (axis.opposite != 0) corner -= last * axis.smem_stride;
    }
  }
  const int32_t shift = args.in_chunks ? static_cast<int32_t>(reinterpret_cast<std::uint64_t>(src) & 15) : 0;
  corner += shift;

  for (int32_t i = thread; i < runs; i += gather_threads) {  // 1.
    at.run_src[i] = src_offset(args.src_axes, args.run_axes, args.src_rank, i) + items.src_offset(i);
  }
  if (!args.run_is_contiguous) {
    for (int32_t i = thread; i < run_elements; i += gather_threads) {
      at.element_src[i] = src_offset(args.src_axes, 0, args.run_axes, i);
    }
  }
  wait_for_earlier_launches();
  block_barrier();  // orders the writes of the tables in 1 before their reads in 2
  fetch_runs<WordBytes>(args, items, at, src, shift, runs, run_elements);  // 2.

  for (int32_t i = thread; i < lines; i += gather_threads) {  // 3.
    at.line_dst[i] = dst_offset(args.dst_axes, args.line_axes, args.dst_rank, i, at.line_smem[i]) + items.dst_offset(i);
    at.line_smem[i] += corner;
  }
  if (WordBytes < 4 && args.line_is_contiguous) {
    fill_groups<WordBytes>(args, at.element_smem,
                           static_cast<int32_t>(reinterpret_cast<std::uint64_t>(dst) & 3) / WordBytes);
  } else {
    for (int32_t i = thread; i < static_cast<int32_t>(args.piece.divisor); i += gather_threads) {
      const int64_t offset = dst_offset(args.dst_axes, 0, args.line_axes, i, at.element_smem[i]);
      if (!args.line_is_contiguous) at.element_dst[i] = offset;
    }
  }
  wait_for_copies();
  block_barrier();  // orders the words copied in 2 and the tables written in 3 before their reads in 4
  write_lines<WordBytes>(args, at, dst, lines, line_elements);  // 4.
}

template <int WordBytes, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
gather_kernel(GPU_PARAMETER gather_args args) {
  static_assert(threads_of(Limits) == gather_threads);
  gather_box<WordBytes>(args, block_index(), one_item{args});
}

}  // namespace cornerturn::gpu
