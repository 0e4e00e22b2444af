// A kernel row chooses its code for the SIMD target of this machine at its first call, once. Asking Highway at each call
// would take a fifth of the time of an 8 x 8 matrix.
#pragma once

#include <atomic>

#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu {

// True when the SIMD target in use stores whole cache lines from registers: AVX-512.
[[nodiscard]] bool stores_lines_from_registers() noexcept;
// True when, besides, the machine selects bytes of two registers: AVX-512 VBMI.
[[nodiscard]] bool selects_bytes() noexcept;
// True when blocks of elements of this size are transposed in registers: policy/element_block-inl.hpp. 3 bytes need
// selects_bytes().
[[nodiscard]] bool turns_in_registers(std::int64_t element_bytes) noexcept;

class dispatched {
 public:
  using function = void (*)(const void* args, const arrays& all, std::int64_t begin, std::int64_t end);

  constexpr explicit dispatched(function first) noexcept : first_(first), chosen_(first) {}

  void operator()(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) const {
    chosen_.load(std::memory_order_relaxed)(args, all, begin, end);
  }
  void remember(function best) noexcept;
  static void forget_all() noexcept;  // after it, the next call of each row chooses anew

 private:
  function first_;
  std::atomic<function> chosen_;
  std::atomic<bool> listed_ = false;
  dispatched* next_ = nullptr;  // links the list of rows that have chosen, for forget_all
};

}  // namespace cornerturn::kernels::cpu
