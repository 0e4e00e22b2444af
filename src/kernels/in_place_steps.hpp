// The steps of a rectangle in place, as the planner describes them to the families, and the numbers that both need for the workspace.
#pragma once

#include <cstdint>

namespace cornerturn::kernels {

// Items follow the cycles of a permutation. A slot holds one item. Slots are numbered in the order of addresses, row by row. The item
// of slot x * inner + y, with y < inner and x < outer, belongs to slot Y * outer + X. X is (x + rotated_outer) mod outer, and Y is (y +
// rotated_inner) mod inner. The items of count_in_workspace consecutive slots are read from the workspace, or written to it, end to end.
struct item_cycles {
  std::int64_t item_bytes = 1;
  std::int64_t row_bytes = 0;  // from one row of slots to the next; the slots of a row are contiguous
  std::int64_t row_slots = 1;
  std::int64_t inner = 1;
  std::int64_t outer = 1;
  std::int64_t rotated_inner = 0;
  std::int64_t rotated_outer = 0;
  std::int64_t first_in_workspace = 0;
  std::int64_t count_in_workspace = 0;
  bool writes_workspace = false;  // else it reads
  std::int64_t workspace_at = 0;  // bytes from the begin of the workspace
  std::int64_t flags_at = 0;      // bytes from the begin of the workspace; all 0 before the first unit
  [[nodiscard]] std::int64_t slots() const noexcept { return inner * outer; }
};

// An item moves in parts; a family's parts are no shorter than these, unless the item is.
inline constexpr std::int64_t shortest_part_bytes = 4096 - 64;
// Returns the 4-byte words that hold the flags of `parts` parts
[[nodiscard]] constexpr std::int64_t flag_words(std::int64_t parts) noexcept { return (parts + 15) / 16; }

// Strips are transposed one after another, each over strips that were read before. The outermost axis of the form counts them.
struct strip_steps {
  std::int64_t count = 0;
  std::int64_t src_step_bytes = 0;  // from one strip to the next
  std::int64_t dst_step_bytes = 0;
  std::int64_t dst_begin_bytes = 0;  // from the first strip in src to the first strip in dst
  std::int64_t src_span_bytes = 0;   // of one strip
  std::int64_t dst_span_bytes = 0;
  bool backwards = false;  // the last strip is written first
};

inline constexpr std::int64_t most_bands = 2;  // of a strip: each has a flag
// The share of the elements of unaligned tiles that exist, at least. For emptier tiles, one launch for each strip is faster.
inline constexpr double least_filled = 0.7;

}  // namespace cornerturn::kernels
