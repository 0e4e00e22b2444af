// What the plan must know of the kernels of cycles.cpp: their workspace, and who moves which rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/job.hpp"

namespace cornerturn::kernels::cpu {

// Of an item that travel together. Four of them are in the cache: to, from, next, and the kept one.
inline constexpr std::int64_t cycle_part_bytes = 8192;

[[nodiscard]] constexpr std::int64_t cycle_bits(std::int64_t places) noexcept {
  return (places + 511) / 512 * 64;  // bytes, whole lines
}
[[nodiscard]] inline std::int64_t cycles_workspace(const job& work) noexcept {  // of each unit
  return cycle_bits(work.rows.total * work.cols.total) + std::min((work.panel + 63) / 64 * 64, cycle_part_bytes);
}

// The rows of a unit of cpu_pitch, and which bytes of them [saved_from, saved_to), from `data` on, are to be read from
// the workspace, as the neighbouring unit writes there. A slot of `panel` bytes holds them.
struct pitch_share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t saved_from = 0;
  std::int64_t saved_to = 0;
};
[[nodiscard]] inline pitch_share share_of_pitch(const job& work, std::int64_t unit) noexcept {
  const axis& rows = work.rows.axes[0];
  pitch_share share;
  share.begin = rows.extent / work.units * unit + std::min(unit, rows.extent % work.units);
  share.end = share.begin + rows.extent / work.units + (unit < rows.extent % work.units ? 1 : 0);
  if (share.begin == share.end) return share;
  // The neighbour that writes into this unit's bytes: the one before when rows move apart, else the one behind.
  const std::int64_t from = share.begin * rows.src_stride;
  const std::int64_t to = (share.end - 1) * rows.src_stride + work.element_bytes;
  if (rows.src_stride < rows.dst_stride) {
    const std::int64_t written = share.begin == 0 ? 0 : (share.begin - 1) * rows.dst_stride + work.element_bytes;
    if (written > from) share.saved_from = from, share.saved_to = std::min(written, to);
  } else if (share.end < rows.extent) {
    const std::int64_t written = share.end * rows.dst_stride;
    if (written < to) share.saved_from = std::max(written, from), share.saved_to = to;
  }
  return share;
}

}  // namespace cornerturn::kernels::cpu
