// How a warp walks a gather box in shared memory: the lanes along a line, and the pitch with the fewest bank conflicts.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/gpu/gather/args.hpp"

namespace cornerturn::gpu {

// log2 of the lanes of a warp, of 2^warp_log2 lanes, that walk one line of `words` words; the warp walks `lines` lines at most.
[[nodiscard]] int lanes_along(std::int64_t words, std::int64_t lines, int most, int warp_log2) noexcept;

// Counts the bank conflicts of the first warp that loads from shared memory in phase 4, for every padding and skew. It
// keeps the pitch with the fewest conflicts, and of two equal ones the pitch that allows chunks of 16 bytes. Returns
// the conflicts.
// by_row: the smem_stride of a dst axis still counts rows, not bytes.
[[nodiscard]] int choose_pitch(gather_args& args, int word, int row_bytes,
                               const std::array<bool, max_gather_axes>& by_row, bool chunks, int warp_lanes) noexcept;

}  // namespace cornerturn::gpu
