// CUDA's words for what the kernel texts in gpu/ say. The only place of the engine with vendor names and vendor #if.
// The emulator of the tests has a header with the same names: gpu/ texts include neither, an instance includes one
// first.
#pragma once

#include <cstdint>

#include "kernels/gpu/policy/limits.hpp"
#include "kernels/gpu/word.hpp"

// Threads of a block, and the fewest blocks that must fit a multiprocessor: a limit on registers.
#define GPU_KERNEL(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#define GPU_INLINE __device__ __forceinline__
#define GPU_PARAMETER const __grid_constant__
#define GPU_UNROLL _Pragma("unroll")
#define GPU_UNROLL_BY(n) _Pragma(GPU_TEXT(unroll n))
#define GPU_TEXT(text) #text
#define GPU_HAS_TENSOR_MEMORY 1  // on sm_90 and later; ladder/tensor.cuh has its words

namespace cornerturn::gpu {

using std::int32_t;
using std::int64_t;
using std::uint32_t;

template <int Bytes>
using word_t = typename word<Bytes, uint2, uint4>::type;

// The blocks of a row's limits on the architecture that is compiled for.
constexpr int blocks_of_this(std::uint64_t limits) {
#if defined(__CUDA_ARCH__)
  return blocks_of(limits, __CUDA_ARCH__ / 10);
#else
  return blocks_of(limits, 90);
#endif
}

GPU_INLINE uint32_t thread_index() { return threadIdx.x; }
GPU_INLINE uint32_t block_index() { return blockIdx.x; }
GPU_INLINE void block_barrier() { __syncthreads(); }
GPU_INLINE unsigned char* shared_memory() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return bytes;
}

GPU_INLINE uint32_t multiply_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
GPU_INLINE uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector) {
  return __byte_perm(low, high, selector);
}
// The low 32 bits of (high:low) >> bits, 0 <= bits < 32.
GPU_INLINE uint32_t funnel_shift_right(uint32_t low, uint32_t high, uint32_t bits) {
  return __funnelshift_r(low, high, bits);
}

// Plain loads and stores: the hint that nothing is met again (ld.cs, st.cs) costs a tile 3 points of the copy, on loads
// alone 2, on stores alone half a point (float32 16384 x 16384: 0.933 with it, 0.964 without; H200, 2026-11-21).
template <class Word>
GPU_INLINE Word load_global(const void* from) {
  return *static_cast<const Word*>(from);
}
// Read by a neighbour again at once. Nothing writes to it while the kernel runs.
template <class Word>
GPU_INLINE Word load_cached(const Word* from) {
  return __ldg(from);
}
template <class Word>
GPU_INLINE void store_global(void* to, Word value) {
  __stwb(static_cast<Word*>(to), value);  // st, that the compiler does not split for the sake of another branch
}

// Shared memory, a word as one access.
template <class Word>
GPU_INLINE Word load_shared(const void* from) {
  return *static_cast<const Word*>(from);
}
template <class Word>
GPU_INLINE void store_shared(void* to, Word value) {
  *static_cast<Word*>(to) = value;
}

// Flags in global memory, by which blocks tell each other what they have read: no block reads what another one of the
// same launch has written. So who has waited only writes, and nothing has to become visible to it: an acquire would empty
// the L1 each time it looks.
GPU_INLINE uint32_t read_flag(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
// Whether the flag's bit was 0; then it is 1.
GPU_INLINE bool claim_bit(uint32_t* flag, uint32_t bit) { return (atomicOr(flag, bit) & bit) == 0; }
// What the block's threads began to read before its last barrier is read before others see the bit.
GPU_INLINE void publish_bit(uint32_t* flag, uint32_t bit) {
  asm volatile("red.release.gpu.global.or.b32 [%0], %1;" ::"l"(flag), "r"(bit) : "memory");
}
GPU_INLINE void wait_for_bit(const uint32_t* flag, uint32_t bit) {
  while ((read_flag(flag) & bit) == 0) continue;
}
// Adds 1. What the block has read must be in shared memory since its last barrier: a release would wait for all that is
// on its way. With both, strips of float32 at any address have 0.58 of a copy, without 0.72 (H200, 2026-11-22).
GPU_INLINE void raise_flag(uint32_t* flag) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
}
GPU_INLINE void wait_for_flag(const uint32_t* flag, uint32_t value) {
  while (read_flag(flag) != value) continue;
}

// Starts a copy from global to shared memory; wait_for_copies() of the same thread, and a barrier, end it.
template <int Bytes>
GPU_INLINE void start_copy(void* shared, const void* global) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(Bytes) : "memory");
#else
  *static_cast<word_t<Bytes>*>(shared) = load_global<word_t<Bytes> >(global);
#endif
}
// 16 bytes of a line of 128 whose other bytes are asked for next, here or by a neighbour: L2 fetches all of it.
GPU_INLINE void start_line_copy(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#else
  start_copy<16>(shared, global);
#endif
}
GPU_INLINE void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Conversions from and to small floats. Where there are none, gpu/math.cuh does without.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
inline constexpr bool has_small_floats = false;
#define GPU_SMALL_FLOATS 0
#else
inline constexpr bool has_small_floats = true;
#define GPU_SMALL_FLOATS 1
#endif
GPU_INLINE float float_of_float16(uint32_t bits) {
  float made;
  asm("{ .reg .b16 half; cvt.u16.u32 half, %1; cvt.f32.f16 %0, half; }" : "=f"(made) : "r"(bits));
  return made;
}
// Two numbers, the first in the low bits, to nearest, ties to even; a NaN is one without its sign.
GPU_INLINE uint32_t pair_of_float16(float low, float high) {
  uint32_t made = 0;
#if GPU_SMALL_FLOATS
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(made) : "f"(high), "f"(low));
#endif
  return made;
}
GPU_INLINE uint32_t pair_of_bfloat16(float low, float high) {
  uint32_t made = 0;
#if GPU_SMALL_FLOATS
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(made) : "f"(high), "f"(low));
#endif
  return made;
}
// The same, and what is too large becomes the largest number. Requires  a NaN is 0x7fffffff
GPU_INLINE uint32_t pair_of_e4m3(float low, float high) {
  std::uint16_t made = 0;
#if GPU_SMALL_FLOATS
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(made) : "f"(high), "f"(low));
#endif
  return made;
}
GPU_INLINE uint32_t pair_of_e5m2(float low, float high) {
  std::uint16_t made = 0;
#if GPU_SMALL_FLOATS
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(made) : "f"(high), "f"(low));
#endif
  return made;
}
// At most `limit` in magnitude. A NaN becomes 0x7fffffff.
GPU_INLINE float clamped(float x, float limit) {
#if GPU_SMALL_FLOATS
  asm("min.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(limit));
  asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(-limit));
#endif
  return x;
}

}  // namespace cornerturn::gpu
