// Small items of a batch, one after the other: each is transposed in the cache, and written in whole lines that
// neighbours in dst share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu {

inline constexpr std::int64_t written_together = 2048;  // bytes of small items, at least

// The row writes `bytes` contiguous bytes from dst on, which is index 0, with ordinary stores. A null `run`: they are
// contiguous in src too. Where panel is not 0, args are of the family register_tile.
struct small_item {
  const void* args = nullptr;
  std::int64_t units = 1;
  run_function run = nullptr;
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t bytes = 0;
  std::int64_t panel = 0;  // bytes of whole columns that are transposed at a time, if it is one matrix
  bool strips = false;     // which may go by item_strips-inl.hpp instead, where the CPU has AVX-512
};

// Effect  moves all of them; what is written is in memory or on its way past the cache
void move_items(std::span<const small_item> items) noexcept;

}  // namespace cornerturn::kernels::cpu
