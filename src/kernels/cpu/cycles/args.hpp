// The arguments of the family cycles, and the flags in its workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.hpp"
#include "kernels/cpu/costs.hpp"
#include "kernels/family.hpp"

namespace cornerturn::kernels {

// Places are numbered in the order of addresses, row_places in a row. The item at place x * inner + y, with y < inner and x
// < outer, belongs to place Y * outer + X. X is (x + rotated_outer) mod outer, and Y is (y + rotated_inner) mod inner.
// The items of count_away consecutive places are read from the workspace, or written to it, end to end.
struct item_cycles {
  std::int64_t row_bytes = 0;  // from one row of places to the next; items of a row are contiguous
  std::int64_t row_places = 1;
  std::int64_t inner = 1;
  std::int64_t outer = 1;
  std::int64_t rotated_inner = 0;
  std::int64_t rotated_outer = 0;
  std::int64_t first_away = 0;
  std::int64_t count_away = 0;
  bool writes_away = false;   // else it reads
  std::int64_t away_at = 0;   // bytes from the begin of the workspace
  std::int64_t flags_at = 0;  // bytes from the begin of the workspace; all 0 before the first unit
};

namespace cpu {

namespace cycles {

struct args {
  item_cycles items;
  std::int64_t item_bytes = 1;
  std::int64_t walkers = 1;  // units
  bool prefetches_to_l2 = false;
};

// Effect  fills an offer of the row cpu_cycles for these items
void fill(offer& made, const item_cycles& items, std::int64_t item_bytes, int threads, const cpu_costs& costs) noexcept;

}  // namespace cycles

// Longer items are moved in parts of this size: two parts that a walker holds and three that it prefetches fit half of an
// L1 of 48 KiB.
inline constexpr std::int64_t cycle_part_bytes = 4096 - 64;

// Bytes of one bit for each part of each place. There are two such bit sets: "claimed" and "read". They consist of words of
// 8 bytes; cycle_flags() aligns them at a multiple of 8 bytes.
[[nodiscard]] inline std::int64_t cycle_bits_bytes(const cycles::args& work) noexcept {
  const std::int64_t parts = base::ceil_div(work.item_bytes, cycle_part_bytes);
  return base::ceil_div(work.items.inner * work.items.outer * parts, 64) * 8;
}
[[nodiscard]] inline std::int64_t cycle_flags_bytes(const cycles::args& work) noexcept {
  return 2 * cycle_bits_bytes(work);
}
[[nodiscard]] inline std::byte* cycle_flags(const cycles::args& work, std::byte* workspace) noexcept {
  std::byte* const at = workspace + work.items.flags_at;
  return at + (-reinterpret_cast<std::uintptr_t>(at) & 7);
}

}  // namespace cpu
}  // namespace cornerturn::kernels
