// Defines for CUDA the names that the kernel texts in gpu/ use. Only kernels/cuda, kernels/hip and the emulator have
// vendor names. The texts include none of their headers; an instance includes one of them first.
#pragma once

#include <cstdint>

#include "kernels/gpu/policy/limits.hpp"
#include "kernels/gpu/traits.hpp"
#include "kernels/gpu/word.hpp"

// The threads of a block, and the minimum blocks on a multiprocessor, which limit registers.
#define GPU_KERNEL(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#define GPU_INLINE __device__ __forceinline__
#define GPU_PARAMETER const __grid_constant__
#define GPU_UNROLL _Pragma("unroll")
#define GPU_UNROLL_BY(n) _Pragma(GPU_TEXT(unroll n))
#define GPU_TEXT(text) #text
#define GPU_HAS_TENSOR_MEMORY 1  // on sm_90 and later; ladder/tensor.cuh has its functions

namespace cornerturn::gpu {

using std::int32_t;
using std::int64_t;
using std::uint32_t;

inline constexpr kernels::lang_words has_words = {.async_copies = true, .block_flags = true, .small_floats = true};
inline constexpr int warp_lanes = 32, warp_lanes_log2 = 5;

template <int Bytes>
using word_t = typename word<Bytes, uint2, uint4>::type;

// The minimum blocks of a row on the architecture of this compilation.
constexpr int blocks_of_this(std::uint64_t limits) {
#if defined(__CUDA_ARCH__)
  return blocks_of(limits, __CUDA_ARCH__ / 10);
#else
  return blocks_of(limits, 90);
#endif
}

GPU_INLINE uint32_t thread_index() { return threadIdx.x; }
GPU_INLINE uint32_t block_index() { return blockIdx.x; }
// Of a kernel whose arguments have tiles_across and tiles_down: launch.cuh makes its grid of three dimensions.
struct block_position {
  uint32_t x, y, z;
};
GPU_INLINE block_position block_in_grid(uint32_t /*width*/, uint32_t /*height*/) {
  return {blockIdx.x, blockIdx.y, blockIdx.z};
}
// A launch may begin while earlier launches of its stream still run: see overlaps_launches() in launch.cuh. So each thread calls
// this before it accesses global memory, and after the work that needs none. It also lets the next launch begin. Not before the
// wait: blocks that come while two launches before them still run crowd on the multiprocessors that end first. Random problems in
// L2 take 0.976 of the time, the best 0.47; the smallest, up to 0.8 us, take up to 1.09. The GPU takes 0.8 of these signals a
// nanosecond, so small blocks of a large grid do without them: with them, copies of 2 and 16 MB by blocks of 1 KiB take 1.4 and 1.9
// times as long (H200).
template <int BlockBytes = 4096>
GPU_INLINE void wait_for_earlier_launches() {
#if __CUDA_ARCH__ >= 900
  constexpr unsigned most_small_blocks = 1024;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (BlockBytes >= 4096 || gridDim.x * gridDim.y * gridDim.z <= most_small_blocks) {
    asm volatile("griddepcontrol.launch_dependents;");
  }
#endif
}
GPU_INLINE void block_barrier() { __syncthreads(); }
GPU_INLINE unsigned char* shared_memory() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return bytes;
}

GPU_INLINE uint32_t multiply_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
GPU_INLINE uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector) {
  return __byte_perm(low, high, selector);
}
// The value of the next one of 32 lanes, which all call it; the last lane gets its own.
GPU_INLINE uint32_t value_of_next_lane(uint32_t value) { return __shfl_down_sync(0xffffffff, value, 1); }
// The low 32 bits of (high:low) >> (bits % 32).
GPU_INLINE uint32_t funnel_shift_right(uint32_t low, uint32_t high, uint32_t bits) {
  return __funnelshift_r(low, high, bits);
}

// Plain loads and stores, without the streaming hint (ld.cs, st.cs). A tile of float32 16384 x 16384 reaches 0.964 of a
// copy without the hint and 0.933 with it. The hint on loads alone costs 2 points, on stores alone half a point (H200,
// 2026-11-21).
template <class Word>
GPU_INLINE Word load_global(const void* from) {
  return *static_cast<const Word*>(from);
}
// Another lane soon loads these bytes again. A plain load: __ldg promises bytes that no launch writes while this one exists, but
// earlier launches may still write them then.
template <class Word>
GPU_INLINE Word load_cached(const Word* from) {
  return *from;
}
template <class Word>
GPU_INLINE void store_global(void* to, Word value) {
  __stwb(static_cast<Word*>(to), value);  // a plain st that the compiler does not split to share code of another branch
}

// Shared memory. A word is one access.
// A word in shared memory: the compiler loads the parts that are used.
template <class Word>
GPU_INLINE const Word& view_shared(const Word* from) {
  return *from;
}
template <class Word>
GPU_INLINE Word load_shared(const void* from) {
  return *static_cast<const Word*>(from);
}
template <class Word>
GPU_INLINE void store_shared(void* to, Word value) {
  *static_cast<Word*>(to) = value;
}

// Flags in global memory. Flags only signal completed reads: no block reads data that another block of its launch has
// written. So a block that has waited needs no acquire, which would invalidate L1 at each poll.
GPU_INLINE uint32_t read_flag(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
// Sets the flag's bit. Returns true if it was 0.
GPU_INLINE bool claim_bit(uint32_t* flag, uint32_t bit) { return (atomicOr(flag, bit) & bit) == 0; }
// Sets the flag's bit after all loads that the block has started before its last barrier.
GPU_INLINE void publish_bit(uint32_t* flag, uint32_t bit) {
  asm volatile("red.release.gpu.global.or.b32 [%0], %1;" ::"l"(flag), "r"(bit) : "memory");
}
GPU_INLINE void wait_for_bit(const uint32_t* flag, uint32_t bit) {
  while ((read_flag(flag) & bit) == 0) continue;
}
// Adds 1. All loads of the block must be in shared memory at its last barrier. A release would also wait for its later
// loads and stores. Strips of float32 at any address reach 0.72 of a copy with relaxed accesses, 0.58 with acquire and
// release (H200, 2026-11-22).
GPU_INLINE void raise_flag(uint32_t* flag) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
}
GPU_INLINE void wait_for_flag(const uint32_t* flag, uint32_t value) {
  while (read_flag(flag) != value) continue;
}

// Starts a copy from global to shared memory. wait_for_copies() in this thread completes it, a barrier publishes it.
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
// Starts a copy of 16 bytes of a cache line of 128 bytes. Other lanes copy its other bytes next, so L2 fetches the
// line. The kernel uses the bytes [first, end) of the copy. Other blocks may write the others meanwhile: the emulator checks
// that no thread uses them.
GPU_INLINE void start_line_copy(void* shared, const void* global, int32_t /*first*/ = 0, int32_t /*end*/ = 16) {
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

// Conversions from and to small floats. gpu/apply/arithmetic.cuh has others for devices without them.
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
// Converts two numbers to nearest, ties to even. The first one is in the low bits. A NaN loses its sign.
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
// Converts two numbers as above; too large ones become the largest number. Requires  a NaN is 0x7fffffff
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
// Clamps `x` to `limit` in magnitude. A NaN becomes 0x7fffffff.
GPU_INLINE float clamped(float x, float limit) {
#if GPU_SMALL_FLOATS
  asm("min.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(limit));
  asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(-limit));
#endif
  return x;
}

}  // namespace cornerturn::gpu
