// Defines for HIP the names that the kernel texts use. kernels/cuda/lang.cuh defines them for CUDA. The texts
// themselves name no vendor. Compiled and emulated, not yet run on AMD hardware.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "kernels/gpu/policy/limits.hpp"
#include "kernels/gpu/traits.hpp"
#include "kernels/gpu/word.hpp"

namespace cornerturn::gpu {

using std::int32_t;
using std::int64_t;
using std::uint32_t;

// Lanes of a wavefront: 64 on GCN and CDNA, 32 on RDNA. RDNA also has a mode of 64 lanes, which HIP does not support.
#if defined(__GFX8__) || defined(__GFX9__)
inline constexpr int warp_lanes = 64, warp_lanes_log2 = 6;
#else
inline constexpr int warp_lanes = 32, warp_lanes_log2 = 5;
#endif
inline constexpr kernels::lang_words has_words = {.async_copies = false, .block_flags = false, .small_floats = false};

// CUDA's second launch bound counts blocks per multiprocessor. HIP's counts wavefronts per execution unit, a SIMD. A
// compute unit of CDNA and a workgroup processor of RDNA have four SIMDs. HIP 5's porting guide divides the threads by
// 32 only: that formula requests 64 wavefronts per SIMD of CDNA for 2048 threads, and 8 fit.
constexpr int wavefronts_of_simd(int threads, int blocks) {
  const int lanes_of_unit = 4 * warp_lanes;
  return (threads * blocks + lanes_of_unit - 1) / lanes_of_unit;
}

}  // namespace cornerturn::gpu

#define GPU_KERNEL(threads, blocks) \
  __global__ void __launch_bounds__((threads), (cornerturn::gpu::wavefronts_of_simd((threads), (blocks))))
#define GPU_INLINE __device__ __forceinline__
#define GPU_PARAMETER const
#define GPU_UNROLL _Pragma("unroll")
#define GPU_UNROLL_BY(n) _Pragma(GPU_TEXT(unroll n))
#define GPU_TEXT(text) #text
#define GPU_HAS_TENSOR_MEMORY 0  // the rungs that need it are absent
#ifndef GPU_DYNAMIC_SHARED       // the emulator defines its own
#define GPU_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define GPU_VECTOR_OF_FOUR ext_vector_type(4)
#endif

namespace cornerturn::gpu {

// Plain structures, not HIP's vector types: clang 15 keeps parts of those vectors in scratch memory.
struct alignas(8) word_of_8 {
  uint32_t x, y;
};
struct alignas(16) word_of_16 {
  uint32_t x, y, z, w;
};

constexpr int blocks_of_this(std::uint64_t limits) { return blocks_of(limits, 90); }

template <int Bytes>
using word_t = typename word<Bytes, word_of_8, word_of_16>::type;

GPU_INLINE uint32_t thread_index() { return threadIdx.x; }
GPU_INLINE uint32_t block_index() { return blockIdx.x; }
// Of a grid of width x height x any number of blocks.
struct block_position {
  uint32_t x, y, z;
};
GPU_INLINE block_position block_in_grid(uint32_t width, uint32_t height) {
  return {block_index() % width, block_index() / width % height, block_index() / width / height};
}
template <int BlockBytes = 4096>
GPU_INLINE void wait_for_earlier_launches() {}  // a launch begins after the launches before it
GPU_INLINE void block_barrier() { __syncthreads(); }
// LDS of the workgroup, 64 KiB at most, at a multiple of 16 bytes.
GPU_INLINE unsigned char* shared_memory() {
  GPU_DYNAMIC_SHARED(word_of_16, lds_of_block)
  return reinterpret_cast<unsigned char*>(lds_of_block);
}

GPU_INLINE uint32_t multiply_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
// Each of the selector's four low hexadecimal digits, 0 to 7, selects a byte of high:low. clang 15 compiles
// __byte_perm() to shifts and masks. One v_perm_b32 is enough, and constant selectors unpack at compile time.
GPU_INLINE uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector) {
  const uint32_t pairs = (selector & 0xff) | (selector & 0xff00) << 8;
  return __builtin_amdgcn_perm(high, low, (pairs & 0x000f000f) | (pairs & 0x00f000f0) << 4);
}
// The value of the next one of 32 lanes, which all call it; the last lane gets its own.
GPU_INLINE uint32_t value_of_next_lane(uint32_t value) { return __shfl_down(value, 1, 32); }
// The low 32 bits of (high:low) >> (bits % 32).
GPU_INLINE uint32_t funnel_shift_right(uint32_t low, uint32_t high, uint32_t bits) {
  return __funnelshift_r(low, high, bits);
}

// Words of 16 bytes as one access, in global memory and in LDS. clang may split the access of a plain structure into 12
// + 4 bytes. It does so if another branch loads or stores the parts.
typedef uint32_t four_words __attribute__((GPU_VECTOR_OF_FOUR));
template <class Word>
GPU_INLINE Word load_whole(const void* from) {
  if constexpr (sizeof(Word) == 16) {
    const four_words all = *static_cast<const four_words*>(from);
    return {all[0], all[1], all[2], all[3]};
  } else {
    return *static_cast<const Word*>(from);
  }
}
template <class Word>
GPU_INLINE void store_whole(void* to, const Word& value) {
  if constexpr (sizeof(Word) == 16) {
    *static_cast<four_words*>(to) = four_words{value.x, value.y, value.z, value.w};
  } else {
    *static_cast<Word*>(to) = value;
  }
}
template <class Word>
GPU_INLINE Word load_global(const void* from) {
  return load_whole<Word>(from);
}
template <class Word>
GPU_INLINE void store_global(void* to, Word value) {
  store_whole(to, value);
}
// A word in shared memory: the compiler loads the parts that are used.
template <class Word>
GPU_INLINE const Word& view_shared(const Word* from) {
  return *from;
}
template <class Word>
GPU_INLINE Word load_shared(const void* from) {
  return load_whole<Word>(from);
}
template <class Word>
GPU_INLINE void store_shared(void* to, Word value) {
  store_whole(to, value);
}
// Another lane soon loads these bytes again. No thread stores to them while the kernel runs.
template <class Word>
GPU_INLINE Word load_cached(const Word* from) {
  return load_whole<Word>(from);
}

// There are no functions for flags between blocks. A release by one thread does not wait for the loads of the block's
// other
// wavefronts: on CDNA, clang 19 emits no s_waitcnt before the s_barrier of __syncthreads. No rung needs flags.

// The copy goes through a register, and the caller's barrier completes it. CDNA 3 can load LDS directly, 4 bytes a lane
// to consecutive addresses, which does not fit the XOR of rung 65.
template <int Bytes>
GPU_INLINE void start_copy(void* shared, const void* global) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  store_shared(shared, load_global<word_t<Bytes>>(global));
}
GPU_INLINE void wait_for_copies() {}

}  // namespace cornerturn::gpu
