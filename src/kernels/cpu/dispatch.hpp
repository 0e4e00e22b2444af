// A kernel row chooses its code for the SIMD target of this machine at its first call, once. Asking Highway at each call
// would take a fifth of the time of an 8 x 8 matrix.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/machine.hpp"
#include "kernels/cpu/block_sizes.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu {

// Returns Highway's bits of the SIMD targets that this build has and this machine runs. Highway executes CPUID at each
// question, which takes 6 us on a virtual machine (2026-11-26), so this function keeps the first answer.
[[nodiscard]] std::int64_t simd_target_bits() noexcept;

// The SIMD target in use.
[[nodiscard]] base::simd_target simd_in_use() noexcept;

// True when the SIMD target stores whole cache lines from registers: AVX-512.
[[nodiscard]] constexpr bool stores_lines_from_registers(base::simd_target on) noexcept {
  return on >= base::simd_target::avx512;
}
// True when, besides, it selects bytes of two registers: AVX-512 VBMI.
[[nodiscard]] constexpr bool selects_bytes(base::simd_target on) noexcept {
  return on >= base::simd_target::avx512_vbmi;
}
// True when blocks of elements of this size are transposed in registers: policy/element_block-inl.hpp.
[[nodiscard]] constexpr bool turns_in_registers(base::simd_target on, std::int64_t element_bytes) noexcept {
  return is_listed(element_bytes, block_elements()) && stores_lines_from_registers(on);
}

// The bytes of the vectors that pick words of a view: step/pick-inl.hpp.
[[nodiscard]] constexpr std::int64_t picked_bytes(base::simd_target on, std::int64_t word_bytes) noexcept {
  return selects_bytes(on) || (word_bytes % 2 == 0 && stores_lines_from_registers(on)) ? 64 : 16;
}

class dispatched {
 public:
  using function = void (*)(const void* args, const arrays& all, std::int64_t begin, std::int64_t end);

  constexpr explicit dispatched(function first) noexcept : first_(first), chosen_(first) {}

  void operator()(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) const {
    chosen_.load(std::memory_order_relaxed)(args, all, begin, end);
  }
  void remember(function best) noexcept;
  // Effect  the next call of each row chooses anew, and the targets are detected again
  static void forget_all() noexcept;

 private:
  function first_;
  std::atomic<function> chosen_;
  std::atomic<bool> listed_ = false;
  dispatched* next_ = nullptr;  // links the list of rows that have chosen, for forget_all
};

}  // namespace cornerturn::kernels::cpu
