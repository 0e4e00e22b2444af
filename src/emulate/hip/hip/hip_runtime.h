// Found before HIP's own header when a text of HIP is compiled for the emulator: HIP's words, by the emulator's functions.
// So src/kernels/hip/lang.cuh runs as it is.
#pragma once

#include <cstdint>

#include "emulate/emulator.hpp"

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define GPU_DYNAMIC_SHARED(type, name) \
  type* const name = reinterpret_cast<type*>(cornerturn::emulated::shared_memory());
#define GPU_VECTOR_OF_FOUR vector_size(16)

namespace cornerturn::emulated {

template <std::uint32_t (*Value)() noexcept>
struct coordinate {
  operator std::uint32_t() const { return Value(); }
};
struct thread_coordinates {
  coordinate<thread_index> x;
};
struct block_coordinates {
  coordinate<block_index> x;
};

// v_perm_b32: each byte of the selector, 0 to 7, names a byte of high:low.
inline std::uint32_t permute(std::uint32_t high, std::uint32_t low, std::uint32_t selector) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  std::uint32_t made = 0;
  for (int k = 0; k < 4; ++k) made |= static_cast<std::uint32_t>(both >> (selector >> 8 * k & 7) * 8 & 255) << 8 * k;
  return made;
}

}  // namespace cornerturn::emulated

inline constexpr cornerturn::emulated::thread_coordinates threadIdx{};
inline constexpr cornerturn::emulated::block_coordinates blockIdx{};

#define __syncthreads() cornerturn::emulated::barrier(0)
#define __builtin_amdgcn_perm(high, low, selector) cornerturn::emulated::permute(high, low, selector)

inline std::uint32_t __umulhi(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}
inline std::uint32_t __funnelshift_r(std::uint32_t low, std::uint32_t high, std::uint32_t bits) {
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}
// By one lane of 32, as kernels/hip/lang.cuh calls it.
inline std::uint32_t __shfl_down(std::uint32_t value, unsigned /*lanes*/, int /*width*/) {
  return cornerturn::emulated::value_of_next_lane(value);
}
