// How a rectangle in place is cut into strips, and where in the workspace what is not moved at once waits.
#pragma once

#include <cstdint>

#include "base/checked.hpp"
#include "kernels/gpu/cycles/args.hpp"
#include "kernels/gpu/strips/args.hpp"

namespace cornerturn::planning {

inline constexpr std::int64_t workspace_alignment = 256;
// The workspace is at most a share of a larger array, so there are more strips than that.
inline constexpr std::int64_t workspace_share = 20;
inline constexpr std::int64_t fewest_pieces = workspace_share + 1;
inline constexpr std::int64_t most_pieces = 64;
using gpu::most_bands;

// Parts of an item that travel together. Realigned ones have a word that is cut at either end.
using gpu::realigned_part_bytes;
[[nodiscard]] constexpr std::int64_t most_parts(std::int64_t item) noexcept {
  return base::ceil_div(item, realigned_part_bytes);
}

// The largest power of two, up to `most`, that divides all numbers whose bits these are.
[[nodiscard]] int alignment_of(std::int64_t bits, int most) noexcept;

// How a side is cut, and how the other one is: pieces * length + rest, kept + over. Kept columns fill rows of places.
struct cutting {
  bool by_rows = true;
  std::int64_t pieces = 0;  // 0: not at all
  std::int64_t length = 0;
  std::int64_t rest = 0;
  std::int64_t kept = 0;
  std::int64_t over = 0;
  std::int64_t workspace = 0;
  double cost = 1e300;  // passes over the array
};

// Byte offsets in the workspace: flags of strips, the columns over, the rows that rest, one strip, the flags of cycles.
struct waiting {
  std::int64_t over_at = 0;
  std::int64_t rest_at = 0;
  std::int64_t strip_at = 0;
  std::int64_t flags_at = 0;
  std::int64_t bytes = 0;
};
[[nodiscard]] waiting workspace_of(const cutting& cut, std::int64_t element) noexcept;

// What a kind of device makes of it.
struct cutting_terms {
  std::int64_t fewest_pieces;
  std::int64_t most_parts;                                     // of all items
  double (*passes)(const cutting& cut, std::int64_t element);  // over the array at the speed of a copy, about
};
[[nodiscard]] double passes_of_gpu(const cutting& cut, std::int64_t element) noexcept;
[[nodiscard]] double passes_of_cpu(const cutting& cut, std::int64_t element) noexcept;
inline constexpr cutting_terms of_gpu{fewest_pieces, INT32_MAX, passes_of_gpu};

// The cheapest one whose workspace has at most so many bytes; `side` is cut. A rest costs little, so lengths are whole
// chunks of 16 bytes where that pays.
[[nodiscard]] cutting cut_side(bool by_rows, std::int64_t side, std::int64_t other, std::int64_t element,
                               std::int64_t most_bytes, const cutting_terms& terms) noexcept;

}  // namespace cornerturn::planning
