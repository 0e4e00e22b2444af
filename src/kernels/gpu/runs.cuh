// Runs: the innermost axis is contiguous on both sides; what is permuted are whole runs. No shared memory.
//   1. a block takes one piece of each of several runs; the threads lie along the runs          (runs x piece words)
//   2. each thread splits the number of its run over the outer axes and adds up both addresses
//   3. words of 4, 8 or 16 bytes are copied. Bytes are collected into words that are aligned in dst, each from the two
//      aligned words of src that hold it
#pragma once

#include "kernels/gpu/grid.cuh"

namespace cornerturn::gpu {

inline constexpr int runs_threads = 256;

CORNERTURN_HOST_DEVICE constexpr uint32_t log2_of(uint32_t n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

// 3. The four bytes at `from`, of which only those in [begin, end) may be touched.
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

GPU_INLINE void copy_bytes(const runs_job& job, const unsigned char* src, unsigned char* dst, int64_t word) {
  const auto shift = static_cast<int64_t>(reinterpret_cast<std::uint64_t>(dst) & 3);
  const int64_t first = word * 4 - shift;
  if (first >= job.run_bytes) return;
  const uint32_t value = load_unaligned(src + first, job.src_begin, job.src_end);
  if (first >= 0 && first + 4 <= job.run_bytes) return store_global(dst + first, value);
  GPU_UNROLL for (int k = 0; k < 4; ++k) {
    if (first + k >= 0 && first + k < job.run_bytes) dst[first + k] = static_cast<unsigned char>(value >> 8 * k);
  }
}

template <int WordBytes, int Words>
GPU_KERNEL(runs_threads, 4)
runs_kernel(GPU_PARAMETER runs_job job) {
  constexpr uint32_t block_log2 = log2_of(runs_threads * Words);
  const uint32_t group = job.pieces.quotient(block_index());  // 1.
  const uint32_t piece = block_index() - group * job.pieces.divisor;
  const unsigned char* from[Words];
  unsigned char* to[Words];
  int64_t word[Words];  // of its run; past its end: nothing to move
  GPU_UNROLL for (int k = 0; k < Words; ++k) {
    const uint32_t mine = k * runs_threads + thread_index();
    uint32_t run = (group << (block_log2 - job.piece_log2)) + (mine >> job.piece_log2);
    word[k] =
        run >= job.runs ? INT64_MAX / 16 : (int64_t{piece} << job.piece_log2) + (mine & (1u << job.piece_log2) - 1);
    int64_t src = 0, dst = 0;
    for (int32_t axis = 0; axis < job.rank; ++axis) {  // 2.
      const auto& outer = job.axes[axis];
      const uint32_t above = outer.count.quotient(run);
      const int64_t index = run - above * outer.count.divisor;
      src += index * outer.src_stride_bytes;
      dst += index * outer.dst_stride_bytes;
      run = above;
    }
    from[k] = static_cast<const unsigned char*>(job.src) + src;
    to[k] = static_cast<unsigned char*>(job.dst) + dst;
  }
  if constexpr (WordBytes == 1) {  // 3.
    GPU_UNROLL for (int k = 0; k < Words; ++k) copy_bytes(job, from[k], to[k], word[k]);
  } else {
    word_t<WordBytes> moved[Words];
    GPU_UNROLL for (int k = 0; k < Words; ++k) {
      if (word[k] * WordBytes < job.run_bytes) moved[k] = load_global<word_t<WordBytes>>(from[k] + word[k] * WordBytes);
    }
    GPU_UNROLL for (int k = 0; k < Words; ++k) {
      if (word[k] * WordBytes < job.run_bytes) store_global(to[k] + word[k] * WordBytes, moved[k]);
    }
  }
}

}  // namespace cornerturn::gpu
