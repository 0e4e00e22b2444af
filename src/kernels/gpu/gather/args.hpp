#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

// One axis of a gather box. In every list of axes, the axis that the grid may cut comes last.
struct gather_axis {
  std::int64_t src_stride_bytes = 0;
  std::int64_t dst_stride_bytes = 0;
  map::fast_divisor tile;        // indices of the axis in a whole box
  std::int32_t slot = -1;        // the grid extent that may shorten it; -1: none
  std::int32_t smem_stride = 0;  // bytes, from one index to the next; negative if src and dst have opposite directions
  std::int32_t from_end = 0;     // the grid points at the axis' highest address on this side, not its lowest
  std::int32_t opposite = 0;     // src and dst have opposite directions: shared memory is read from the axis' end
};

inline constexpr int max_gather_axes = max_box_axes;
inline constexpr int gather_steps = 4;  // words, or chunks, of a lane in one task of its warp

// A number of runs, lines or elements in a block: `each` times the block's indices of the axis that `slot` cuts.
// Without a slot it is `each`.
struct gather_count {
  std::int32_t each = 1;
  std::int32_t slot = -1;
};

// A block gathers one box. It walks the box twice: as `runs` of `run_elements` in src, and as `lines` of
// `line_elements` in dst. A line is one piece or several equal ones: in shared memory, element p of piece k is k *
// piece_smem_stride bytes behind element p of piece 0.
struct gather_args {
  array_args arrays;
  std::int32_t run_axes = 0;  // src_axes[0 .. run_axes) make a run, fastest first; the rest number the runs
  std::int32_t src_rank = 0;
  std::int32_t line_axes = 0;  // dst_axes[0 .. line_axes) make a line, fastest first; the rest number the lines
  std::int32_t dst_rank = 0;
  std::int32_t run_is_contiguous = 1;
  std::int32_t line_is_contiguous = 1;
  gather_axis src_axes[max_gather_axes];
  gather_axis dst_axes[max_gather_axes];

  std::int32_t run_elements = 1;  // of a whole box
  std::int32_t runs = 1;
  std::int32_t line_elements = 1;
  std::int32_t lines = 1;
  gather_count run_element_count;
  gather_count run_count;
  gather_count line_element_count;
  gather_count line_count;
  std::int32_t reversed = 0;  // some axis has from_end or opposite
  map::fast_divisor piece;    // elements of a piece; four-byte words if elements are narrow and lines are contiguous
  std::int32_t piece_smem_stride = 0;
  std::int64_t piece_dst_stride = 0;  // bytes, if a line is not contiguous
  // A warp walks runs, and lines, in chunks of gather_steps words a lane. 2^run_lanes lanes walk one run, 2^line_lanes
  // one line; the other lanes of the warp walk neighbouring runs or lines.
  std::int32_t run_lanes = 5;
  std::int32_t line_lanes = 5;
  map::fast_divisor run_chunks;
  map::fast_divisor line_chunks;
  std::int32_t pitch = 0;         // bytes from one run to the next in shared memory
  std::int32_t skew = 0;          // bytes inserted after each 128
  std::int32_t row_pad = 0;       // narrow elements: bytes inserted after each row of a run
  map::fast_divisor row;          // narrow elements: words of a row
  std::int32_t in_chunks = 0;     // all runs are equally misaligned, and are copied in chunks of 16 bytes
  std::int32_t tables = 0;        // the shared-memory offset of the address tables
  std::int32_t smem_entries = 0;  // of the first table, element_smem
  std::int32_t line_shifts = 1;   // narrow elements: a table for each misalignment of a line; 1: one for all lines
  std::int32_t line_mask = 3;     // narrow elements: words are counted from a multiple of line_mask + 1 bytes of dst
  grid blocks;
};

// gather/batch.cuh gathers boxes of many items, from a table in device memory. Items that are cut in one way share a
// shape. A box is an item or a part of one, or several small items of one shape. Several items are an axis of the box,
// the last one of runs and of lines; the table has the addresses of each item.
struct gather_shape {
  map::fast_divisor item_runs;   // runs of one item, if a box holds several items
  map::fast_divisor item_lines;  // lines of one item, if a box holds several items
  std::int32_t item_slot = -1;   // the grid extent that counts items; -1: a box is one item or a part of one
  std::uint32_t first = 0;       // item of the block; the block stores it here
  gather_args box;               // src is null; src_begin and src_end are offsets from it
};
struct gather_block {
  std::uint32_t shape = 0;
  std::uint32_t first = 0;   // item
  std::uint32_t count = 1;   // items
  std::uint32_t number = 0;  // of the block within an item
};
struct gather_batch_args {
  const unsigned char* shapes = nullptr;  // shape_bytes each: the used part of a gather_shape
  const item_addresses* items = nullptr;
  const gather_block* blocks = nullptr;
  std::int32_t shape_bytes = 0;  // a multiple of 16
  std::int32_t shape_at = 0;     // the shared-memory offset of the block's shape
};

}  // namespace cornerturn::gpu
