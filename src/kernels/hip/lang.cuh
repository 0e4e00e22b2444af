// HIP's words for the kernel texts in gpu/: the names of kernels/cuda/lang.cuh, for AMD GPUs. Both headers together are the
// only places of the engine with vendor names and vendor #if.
// Compiled and emulated, not yet run on AMD hardware.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

namespace cornerturn::gpu {

using std::int32_t;
using std::int64_t;
using std::uint32_t;

// Lanes of a wavefront: 64 on GCN and CDNA, 32 on RDNA, where clang compiles for wavefronts of 32 unless told otherwise.
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
inline constexpr int wavefront_lanes = 32;
#else
inline constexpr int wavefront_lanes = 64;
#endif

// CUDA's second launch bound counts blocks of a multiprocessor; HIP's counts wavefronts of an execution unit, a SIMD.
// A compute unit of CDNA and a workgroup processor of RDNA have four SIMDs.
// The porting guide divides by 32 and forgets the SIMDs: that would ask for eight times the wavefronts that fit.
constexpr int wavefronts_of_simd(int threads, int blocks) {
  const int lanes_of_unit = 4 * wavefront_lanes;
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

namespace cornerturn::gpu {

// Plain structures, where HIP has vectors: clang 15 keeps elements of 1, 2 and 8 bytes of a vector in scratch memory.
struct alignas(8) word_of_8 {
  uint32_t x, y;
};
struct alignas(16) word_of_16 {
  uint32_t x, y, z, w;
};

template <int Bytes>
struct word;  // loaded and stored as one access
template <>
struct word<1> {
  using type = std::uint8_t;
};
template <>
struct word<2> {
  using type = std::uint16_t;
};
template <>
struct word<4> {
  using type = std::uint32_t;
};
template <>
struct word<8> {
  using type = word_of_8;
};
template <>
struct word<16> {
  using type = word_of_16;
};
template <int Bytes>
using word_t = typename word<Bytes>::type;

GPU_INLINE uint32_t thread_index() { return threadIdx.x; }
GPU_INLINE uint32_t block_index() { return blockIdx.x; }
GPU_INLINE void block_barrier() { __syncthreads(); }
// LDS of the workgroup, 64 KiB at most, at a multiple of 16 bytes.
GPU_INLINE unsigned char* shared_memory() {
  HIP_DYNAMIC_SHARED(word_of_16, lds_of_block)
  return reinterpret_cast<unsigned char*>(lds_of_block);
}

GPU_INLINE uint32_t multiply_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
// Each of the selector's four low digits, 0 to 7, names a byte of high:low. __byte_perm() has the same effect, but clang 15
// compiles it to shifts and masks where one v_perm_b32 is enough; constant selectors unpack at compile time.
GPU_INLINE uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector) {
  const uint32_t pairs = (selector & 0xff) | (selector & 0xff00) << 8;
  return __builtin_amdgcn_perm(high, low, (pairs & 0x000f000f) | (pairs & 0x00f000f0) << 4);
}
// The low 32 bits of (high:low) >> bits, 0 <= bits < 32.
GPU_INLINE uint32_t funnel_shift_right(uint32_t low, uint32_t high, uint32_t bits) {
  return __funnelshift_r(low, high, bits);
}

template <class Word>
GPU_INLINE Word load_global(const void* from) {
  return *static_cast<const Word*>(from);
}
// Soon loaded again by another lane. No thread stores to it while the kernel runs.
template <class Word>
GPU_INLINE Word load_cached(const Word* from) {
  return *from;
}
template <class Word>
GPU_INLINE void store_global(void* to, Word value) {
  *static_cast<Word*>(to) = value;
}

// Flags in global memory signal completed reads between the blocks of one launch; kernels/cuda/lang.cuh says why a wait
// needs no acquire. Scope agent: all wavefronts of this GPU.
GPU_INLINE uint32_t read_flag(const uint32_t* flag) {
  return __hip_atomic_load(const_cast<uint32_t*>(flag), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
// True if the flag's bit was 0. The bit is then 1.
GPU_INLINE bool claim_bit(uint32_t* flag, uint32_t bit) {
  return (__hip_atomic_fetch_or(flag, bit, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) & bit) == 0;
}
// Orders the loads that the block's threads issued before its last barrier before the bit.
GPU_INLINE void publish_bit(uint32_t* flag, uint32_t bit) {
  __hip_atomic_fetch_or(flag, bit, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
GPU_INLINE void wait_for_bit(const uint32_t* flag, uint32_t bit) {
  while ((read_flag(flag) & bit) == 0) continue;
}
// Adds 1. The block's loads must have reached LDS before its last barrier.
GPU_INLINE void raise_flag(uint32_t* flag) {
  __hip_atomic_fetch_add(flag, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPU_INLINE void wait_for_flag(const uint32_t* flag, uint32_t value) {
  while (read_flag(flag) != value) continue;
}

// HIP has no asynchronous copy from global memory to LDS: the word goes through a register, and the caller's barrier
// completes the copy.
template <int Bytes>
GPU_INLINE void start_copy(void* shared, const void* global) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  *static_cast<word_t<Bytes>*>(shared) = load_global<word_t<Bytes>>(global);
}
GPU_INLINE void start_line_copy(void* shared, const void* global) { start_copy<16>(shared, global); }
GPU_INLINE void wait_for_copies() {}

inline constexpr int blocks_less = 0;  // fewer resident blocks than a kernel asks for; measured on no AMD GPU

// gpu/math.cuh converts small floats by integer arithmetic; only the widening conversion is the hardware's.
inline constexpr bool has_small_floats = false;
GPU_INLINE float float_of_float16(uint32_t bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, static_cast<std::uint16_t>(bits)));
}
GPU_INLINE uint32_t pair_of_float16(float, float) { return 0; }
GPU_INLINE uint32_t pair_of_bfloat16(float, float) { return 0; }
GPU_INLINE uint32_t pair_of_e4m3(float, float) { return 0; }
GPU_INLINE uint32_t pair_of_e5m2(float, float) { return 0; }
GPU_INLINE float clamped(float x, float) { return x; }

}  // namespace cornerturn::gpu
