// The arguments of the family step: views whose elements are a step apart in src, in dst or in both.
//
// A block is a few elements that are near each other in dst. Every block of a problem has one shape, so one table serves all of
// them: for each byte of dst the window of src that holds it, and its place there.
#pragma once

#include "kernels/cpu/blocking.hpp"

namespace cornerturn::kernels::cpu::step {

inline constexpr std::int64_t most_vector = 64;
inline constexpr std::int64_t most_windows = 24;
// The hardware does not follow steps that skip lines: elements of 8 to 32 bytes, 112 to 384 bytes apart, take 0.64 of the time with a
// prefetch (Zen 4, 2026-11-29).
inline constexpr std::int64_t wide_step_bytes = 96;

struct block_table {
  std::int64_t windows = 0;                // 0: there is no table
  std::uint64_t stored = 0;                // a bit for each byte of dst that belongs to an element
  std::uint64_t loaded = 0;                // bytes of the only window; several windows are loaded whole
  std::int64_t offset[most_windows] = {};  // of a window in src, from the block's first element
  std::uint64_t taken[most_windows] = {};  // the bytes of dst that come from this window
  std::uint8_t place[most_vector] = {};    // in its window, of each byte of dst
};

// The axes inside of a block: at most 64 words, so at most six axes. Strides count words; axes[0] is the fastest in dst.
struct inner_axes {
  std::array<axis, 6> axes{};
  int rank = 0;
  std::int64_t total = 1;

  void push(const axis& one) noexcept {
    axes[static_cast<std::size_t>(rank++)] = one;
    total *= one.extent;
  }
};

// Elements of a block are `inner`, `tile` times along the axis that is cut.
struct cut_axis {
  std::int64_t word_bytes = 1;
  inner_axes inner;
  std::int64_t src_step = 0;  // bytes from one index of the axis that is cut to the next
  std::int64_t dst_step = 0;
  std::int64_t tile = 1;       // indices of a block
  std::int64_t vector = 0;     // bytes of the vectors that the table is for: 64, 16, or 0 without a table
  std::int64_t gap_ahead = 0;  // bytes from a block with gaps to the line of dst that is prefetched

  // The words of an element are contiguous on both sides.
  [[nodiscard]] bool is_run() const noexcept {
    return inner.rank == 0 || (inner.rank == 1 && inner.axes[0].src_stride == 1 && inner.axes[0].dst_stride == 1);
  }
  // Bytes that are moved at once where there is no table.
  [[nodiscard]] std::int64_t moved_bytes() const noexcept { return is_run() ? inner.total * word_bytes : word_bytes; }
};

// A unit is a piece of the axis that is cut.
struct runs_args : cut_axis {
  std::int64_t src_begin = 0;  // bytes from the word of index 0 to the first one of dst, whose axes lead upwards
  std::int64_t dst_begin = 0;
  std::int64_t piece = 1;  // indices of the cut axis
  std::int64_t last = 1;   // of the last piece
  std::int64_t pieces = 1;
  std::int64_t inside = 1;  // units from one piece to the next
  fused_axes outer;
  std::int64_t ahead = 0;      // units from a piece to the one that is prefetched meanwhile; 0: none is
  std::int64_t src_ahead = 0;  // bytes from a window to its prefetch
  bool whole = false;          // a piece has no gaps in dst
  bool streaming = false;      // non-temporal stores; only where it is whole
  bool repeats = false;        // all indices of a piece have one element of src, and no gaps in dst
  block_table blocks;
};

// A transpose whose columns are a step apart in src.
struct transpose_args : blocking {
  std::int64_t src_begin = 0;  // as of runs_args
  std::int64_t dst_begin = 0;
  cut_axis reads;  // along the columns; dst_step 0: columns are contiguous
  block_table read_blocks;
};
using strips_args = transpose_args;
struct packed_args : transpose_args {
  std::int64_t ahead_units = 1;  // as of packed_blocking
};
// Rows may be a step apart in dst.
struct panels_args : transpose_args {
  std::int64_t dst_row_bytes = 1;
  cut_axis writes;  // along the rows
  block_table write_blocks;
};

}  // namespace cornerturn::kernels::cpu::step
