// The arguments of the family cycles, and the flags in its workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.hpp"
#include "kernels/family.hpp"
#include "kernels/in_place_steps.hpp"

namespace cornerturn::kernels::cpu {

namespace cycles {

struct args {
  item_cycles items;
  std::int64_t walkers = 1;  // units
  bool prefetches_to_l2 = false;
};

}  // namespace cycles

// Longer items are moved in parts of this size: two parts that a walker holds and three that it prefetches fit half of an
// L1 of 48 KiB.
inline constexpr std::int64_t cycle_part_bytes = 4096 - 64;
static_assert(cycle_part_bytes >= shortest_part_bytes);

// Bytes of one bit for each part of each place. There are two such bit sets: "claimed" and "read". They consist of words of
// 8 bytes; cycle_flags() aligns them at a multiple of 8 bytes.
[[nodiscard]] inline std::int64_t cycle_bits_bytes(const cycles::args& work) noexcept {
  const std::int64_t parts = base::ceil_div(work.items.item_bytes, cycle_part_bytes);
  return base::ceil_div(work.items.slots() * parts, 64) * 8;
}
[[nodiscard]] inline std::int64_t cycle_flags_bytes(const cycles::args& work) noexcept {
  return 2 * cycle_bits_bytes(work);
}
[[nodiscard]] inline std::byte* cycle_flags(const cycles::args& work, std::byte* workspace) noexcept {
  std::byte* const at = workspace + work.items.flags_at;
  return at + (-reinterpret_cast<std::uintptr_t>(at) & 7);
}

}  // namespace cornerturn::kernels::cpu
