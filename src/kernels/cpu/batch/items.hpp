// Small items of a batch, one after the other: each is transposed in the cache and written in whole lines. Items that are
// neighbours in dst share a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernel.hpp"

namespace cornerturn::kernels::cpu {

inline constexpr std::int64_t written_together = 2048;  // fewest bytes of small items that are written as one

// `run` writes `bytes` contiguous bytes from dst on with ordinary stores; dst is the place of index 0. A null `run` means
// that the bytes are contiguous in src too. If panel is not 0, args are register_tile::args.
struct item_call {
  const void* args = nullptr;
  std::int64_t units = 1;
  run_function run = nullptr;
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t bytes = 0;
  std::int64_t panel = 0;  // bytes of the columns that are transposed at a time, if the item is one matrix; else 0
  bool strips = false;     // item_strips-inl.hpp may take the matrix if the CPU has AVX-512
};

// Effect  transposes or copies all items to dst. Every non-temporal store is fenced at the return
void move_items(std::span<const item_call> items) noexcept;

}  // namespace cornerturn::kernels::cpu
