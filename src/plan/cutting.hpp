// Cuts a rectangle into strips for a transpose in place, and lays out the workspace.
#pragma once

#include <cstdint>

#include "base/checked.hpp"
#include "kernels/in_place_steps.hpp"

namespace cornerturn::planning {

inline constexpr std::int64_t workspace_alignment = 256;
// On the CPU the workspace is at most a 20th of a large array and has room for one strip, so a large array has more than 20 strips.
// A GPU may take more: rectangle_gpu.cpp.
inline constexpr std::int64_t workspace_share = 20;
inline constexpr std::int64_t fewest_pieces = workspace_share + 1;
inline constexpr std::int64_t most_pieces = 64;

// The most parts of an item, each of which a walker copies at once.
[[nodiscard]] constexpr std::int64_t parts_of(std::int64_t item) noexcept {
  return base::ceil_div(item, kernels::shortest_part_bytes);
}

// The largest power of two, up to `most`, that divides all numbers whose bits these are.
[[nodiscard]] int alignment_of(std::int64_t bits, int most) noexcept;

// One side is cut into pieces * length + rest, the other one into kept + over. The kept columns fill rows of slots.
struct cutting {
  bool by_rows = true;
  std::int64_t pieces = 0;  // 0: it cannot be cut
  std::int64_t length = 0;
  std::int64_t rest = 0;
  std::int64_t kept = 0;
  std::int64_t over = 0;
  std::int64_t workspace = 0;
  double cost = 1e300;  // passes over the array
};

// Byte offsets in the workspace, which has the flags of strips, the columns over, the rest rows, a strip, and the flags
// of cycles.
struct workspace_offsets {
  std::int64_t over_at = 0;
  std::int64_t rest_at = 0;
  std::int64_t strip_at = 0;
  std::int64_t flags_at = 0;
  std::int64_t bytes = 0;
};
[[nodiscard]] workspace_offsets workspace_of(const cutting& cut, std::int64_t element) noexcept;

// The limits and the cost model of a kind of device.
struct cutting_terms {
  std::int64_t fewest_pieces;
  std::int64_t most_parts;                                     // of all items
  double (*passes)(const cutting& cut, std::int64_t element);  // predicted time, in copies of the array
};
[[nodiscard]] double passes_of_gpu(const cutting& cut, std::int64_t element) noexcept;
[[nodiscard]] double passes_of_cpu(const cutting& cut, std::int64_t element) noexcept;
inline constexpr cutting_terms of_gpu{fewest_pieces, INT32_MAX, passes_of_gpu};

// The cheapest cutting of `side` whose workspace has at most `most_bytes` bytes. A rest costs little, so lengths are
// whole chunks of 16 bytes if that is cheaper.
[[nodiscard]] cutting cut_side(bool by_rows, std::int64_t side, std::int64_t other, std::int64_t element,
                               std::int64_t most_bytes, const cutting_terms& terms) noexcept;

}  // namespace cornerturn::planning
