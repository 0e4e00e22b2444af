// Copy: one contiguous run, or many. The innermost axis is contiguous on both sides; whole runs are permuted, without
// shared memory.
//   1. a block has one piece of each of several runs; neighbouring threads have neighbouring words (runs x piece words)
//   2. each thread splits its run number over the outer axes and computes both addresses
//   3. it copies words of 4, 8 or 16 bytes. Narrow elements are copied in words that are aligned in dst; each is
//      realigned from the two aligned words of src that hold it
#pragma once

#include "kernels/gpu/copy/args.hpp"
#include "kernels/gpu/policy/alternating.cuh"
#include "kernels/gpu/policy/unaligned.cuh"

namespace cornerturn::gpu {

inline constexpr int copy_threads = 256;

CORNERTURN_HOST_DEVICE constexpr uint32_t log2_of(uint32_t n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

// 3. Copies a four-byte word of a run of narrow elements.
GPU_INLINE void copy_bytes(const copy_args& args, const unsigned char* src, unsigned char* dst, int64_t word) {
  const auto shift = static_cast<int64_t>(reinterpret_cast<std::uint64_t>(dst) & 3);
  const int64_t first = word * 4 - shift;
  if (first >= args.run_bytes) return;
  const uint32_t value = load_unaligned(src + first, args.src_begin, args.src_end);
  if (first >= 0 && first + 4 <= args.run_bytes) return store_global(dst + first, value);
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    if (first + k >= 0 && first + k < args.run_bytes) dst[first + k] = static_cast<unsigned char>(value >> 8 * k);
  }
}

template <int WordBytes, int Words>
GPU_INLINE void copy_block(const copy_args& args, uint32_t number) {
  constexpr uint32_t block_log2 = log2_of(copy_threads * Words);
  const uint32_t group = args.pieces.quotient(number);  // 1.
  const uint32_t piece = number - group * args.pieces.divisor;
  const unsigned char* from[Words];
  unsigned char* to[Words];
  int64_t word[Words];  // of its run; past the end of the run: no word to copy
  GPU_UNROLL for (int k = 0; k < Words; ++k) {
    const uint32_t mine = k * copy_threads + thread_index();
    uint32_t run = (group << (block_log2 - args.piece_log2)) + (mine >> args.piece_log2);
    word[k] =
        run >= args.runs ? INT64_MAX / 16 : (int64_t{piece} << args.piece_log2) + (mine & (1u << args.piece_log2) - 1);
    int64_t src = 0, dst = 0;
    for (int32_t axis = 0; axis < args.rank; ++axis) {  // 2.
      const auto& outer = args.axes[axis];
      const uint32_t above = outer.count.quotient(run);
      const int64_t index = run - above * outer.count.divisor;
      src += index * outer.src_stride_bytes;
      dst += index * outer.dst_stride_bytes;
      run = above;
    }
    from[k] = static_cast<const unsigned char*>(args.src) + src;
    to[k] = static_cast<unsigned char*>(args.dst) + dst;
  }
  wait_for_earlier_launches();
  if constexpr (WordBytes == 1) {  // 3.
    GPU_UNROLL for (int k = 0; k < Words; ++k) copy_bytes(args, from[k], to[k], word[k]);
  } else {
    word_t<WordBytes> values[Words];
    GPU_UNROLL for (int k = 0; k < Words; ++k) {
      if (word[k] * WordBytes < args.run_bytes)
        values[k] = load_global<word_t<WordBytes>>(from[k] + word[k] * WordBytes);
    }
    GPU_UNROLL for (int k = 0; k < Words; ++k) {
      if (word[k] * WordBytes < args.run_bytes) store_global(to[k] + word[k] * WordBytes, values[k]);
    }
  }
}

template <int WordBytes, int Words, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
copy_kernel(GPU_PARAMETER copy_args args) {
  static_assert(threads_of(Limits) == copy_threads);
  copy_block<WordBytes, Words>(args, block_index());
}

template <int WordBytes, int Words, std::uint64_t Limits>
GPU_KERNEL(threads_of(Limits), blocks_of_this(Limits))
alternating_copy_kernel(GPU_PARAMETER alternating<copy_args> all) {
  static_assert(threads_of(Limits) == copy_threads);
  alternate(all, [](const copy_args& args, uint32_t number) { copy_block<WordBytes, Words>(args, number); });
}

}  // namespace cornerturn::gpu
