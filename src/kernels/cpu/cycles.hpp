// What the plan must know of cycles.cpp: the flags in its workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.hpp"
#include "kernels/job.hpp"

namespace cornerturn::kernels::cpu {

// Of an item that travel together: two of them that are held and three that are fetched stay in half of an L1 of 48 KiB.
inline constexpr std::int64_t cycle_part_bytes = 4096 - 64;

// A bit for each part of each place says that it is claimed, another one that its first walker has read it. Words of 8
// bytes, which begin at a multiple of 8 wherever the workspace does.
[[nodiscard]] inline std::int64_t cycle_bits_bytes(const job& work) noexcept {
  const std::int64_t parts = base::ceil_div(work.element_bytes, cycle_part_bytes);
  return base::ceil_div(work.cycles.inner * work.cycles.outer * parts, 64) * 8;
}
[[nodiscard]] inline std::int64_t cycle_flags_bytes(const job& work) noexcept { return 2 * cycle_bits_bytes(work); }
[[nodiscard]] inline std::byte* cycle_flags(const job& work, std::byte* workspace) noexcept {
  std::byte* const at = workspace + work.cycles.flags_at;
  return at + (-reinterpret_cast<std::uintptr_t>(at) & 7);
}

}  // namespace cornerturn::kernels::cpu
