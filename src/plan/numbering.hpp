// How the blocks of a grid are numbered, or the panels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"
#include "kernels/gpu/job.hpp"

namespace cornerturn::planning {

inline constexpr std::int64_t most_blocks = INT32_MAX;

// The fastest axis comes first; one of a single index takes no part.
class numbering {
 public:
  numbering(gpu::grid& blocks, std::int64_t word) noexcept : blocks_(blocks), word_(word) {}

  // `tiles` of a slot, if any, lie between one index and the next; steps are words.
  void add(std::int64_t count, int slot, std::int64_t tiles, std::int64_t src_step, std::int64_t dst_step) noexcept {
    if (count == 1) return;
    gpu::grid_axis& into = blocks_.axes[blocks_.rank++];
    into.count = map::fast_divisor(static_cast<std::uint32_t>(std::min(count, most_blocks)));
    if (slot >= 0) into.tiles[slot] = static_cast<std::uint32_t>(tiles);
    into.src_step_bytes = src_step * word_;
    into.dst_step_bytes = dst_step * word_;
    if (!base::checked_mul(all_, count, all_) || all_ > most_blocks) all_ = most_blocks + 1;
  }
  // 0 where there are more than a grid has.
  [[nodiscard]] std::uint32_t blocks() const noexcept {
    return all_ > most_blocks ? 0 : static_cast<std::uint32_t>(all_);
  }

 private:
  gpu::grid& blocks_;
  std::int64_t word_;
  std::int64_t all_ = 1;
};

}  // namespace cornerturn::planning
