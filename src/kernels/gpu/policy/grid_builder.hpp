// Builds the grid of a launch, fastest axis first, and holds what the offers of all GPU families share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"
#include "kernels/family.hpp"
#include "kernels/gpu/policy/grid.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::gpu {

inline constexpr std::int64_t most_blocks = INT32_MAX;

// Neighbouring tiles of unaligned rows share a sector of src. If a column of tiles has more bytes in src and dst than
// `banded_bytes`, it is walked in bands of so many tiles: the next tile of a row follows while the shared sector is in L2.
// 5 x 92544 x 379 of 2 bytes 0.77 of a copy without bands, 0.90 with them; 16385 x 16383 float32, a column of 8 MB, 0.93
// without and 0.89 with them (H200, 2026-11-23).
inline constexpr std::int64_t banded_bytes = 24 << 20;
inline constexpr std::int64_t band_tiles = 64;

// Axes of one index are omitted.
class grid_builder {
 public:
  grid_builder(grid& blocks, std::int64_t word) noexcept : blocks_(blocks), word_(word) {}

  // Adds an axis of `count` indices. One step advances `tiles` tiles of the slot, if any; steps count words.
  void add(std::int64_t count, int slot, std::int64_t tiles, std::int64_t src_step, std::int64_t dst_step) noexcept {
    if (count == 1) return;
    grid_axis& into = blocks_.axes[blocks_.rank++];
    into.count = map::fast_divisor(static_cast<std::uint32_t>(std::min(count, most_blocks)));
    if (slot >= 0) into.tiles[slot] = static_cast<std::uint32_t>(tiles);
    into.src_step_bytes = src_step * word_;
    into.dst_step_bytes = dst_step * word_;
    if (!base::checked_mul(all_, count, all_) || all_ > most_blocks) all_ = most_blocks + 1;
  }
  // 0 when the grid would be too large.
  [[nodiscard]] std::uint32_t blocks() const noexcept {
    return all_ > most_blocks ? 0 : static_cast<std::uint32_t>(all_);
  }

 private:
  grid& blocks_;
  std::int64_t word_;
  std::int64_t all_ = 1;
};

// Sets the blocks of an offer, and its shared memory to the row's. Returns false when the grid would be too large.
[[nodiscard]] inline bool finish(kernels::offer& made, const grid_builder& number,
                                 const kernels::kernel& row) noexcept {
  made.blocks = number.blocks();
  made.shared_bytes = row.shared_bytes;
  return made.blocks != 0;
}

// The used share of the tiles of `extent` indices that cover `n` indices.
[[nodiscard]] inline double fill(std::int64_t n, std::int64_t extent) noexcept {
  return static_cast<double>(n) / static_cast<double>(base::ceil_div(n, extent) * extent);
}

// 0 to 4 for words of 1, 2, 4, 8 and 16 bytes.
[[nodiscard]] constexpr int log2_of_word(std::int64_t word_bytes) noexcept {
  int size = 0;
  while (std::int64_t{1} << size < word_bytes) ++size;
  return size;
}

}  // namespace cornerturn::gpu
