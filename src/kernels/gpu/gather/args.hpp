#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

// One axis of a box: in every list the axis that a tile may cut comes last.
struct gather_axis {
  std::int64_t src_stride_bytes = 0;
  std::int64_t dst_stride_bytes = 0;
  map::fast_divisor tile;        // indices of the axis in a whole box
  std::int32_t slot = -1;        // which grid extent may shorten it
  std::int32_t smem_stride = 0;  // bytes, from one index to the next; negative where src and dst run in opposite ways
  std::int32_t from_end = 0;     // the grid points at the axis' highest address on this side, not its lowest
  std::int32_t opposite = 0;     // src and dst run in opposite ways: shared memory is read from the axis' end
};

inline constexpr int max_gather_axes = 8;
inline constexpr int gather_steps = 4;

// How many there are in a block: `each` for every index that its part of a cut axis has, or `each` alone.
struct gather_count {
  std::int32_t each = 1;
  std::int32_t slot = -1;
};

// gpu/box.cuh. The box is walked twice: as `runs` of `run_elements` in src, and as `lines` of `line_elements` in dst. A
// line is made of pieces that look alike: element p of piece k lies k * piece_smem_stride bytes behind that of piece 0.
struct gather_args {
  array_args arrays;
  std::int32_t run_axes = 0;  // src_axes[0 .. run_axes) make a run, fastest first; the rest number the runs
  std::int32_t src_rank = 0;
  std::int32_t line_axes = 0;  // the same for dst
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
  map::fast_divisor piece;    // elements of a piece; of one or two bytes and contiguous in dst: four-byte words
  std::int32_t piece_smem_stride = 0;
  std::int64_t piece_dst_stride = 0;  // bytes, where a line is not contiguous
  // A warp goes over runs, and over lines, in chunks of gather_steps words a lane: log2 of the lanes along one, the others
  // lie across several.
  std::int32_t run_lanes = 5;
  std::int32_t line_lanes = 5;
  map::fast_divisor run_chunks;
  map::fast_divisor line_chunks;
  std::int32_t pitch = 0;        // bytes from one run to the next in shared memory
  std::int32_t skew = 0;         // bytes inserted after each 128
  std::int32_t row_pad = 0;      // narrow elements: bytes inserted after each row of a run
  map::fast_divisor row;         // ... which has so many words
  std::int32_t in_chunks = 0;    // runs are misaligned alike, and travel in chunks of 16 bytes
  std::int32_t tables = 0;       // where the address tables begin in shared memory
  std::int32_t places = 0;       // numbers in the first of them
  std::int32_t line_shifts = 1;  // narrow elements: tables for so many alignments of a line. 1: all lines have the same
  std::int32_t line_mask = 3;  // narrow elements: their words are counted from a multiple of 4, or of 32, bytes of dst
  grid blocks;
};

// gpu/box_batch.cuh: boxes of many items, from a table in device memory. A kind of item that many of them have is one
// shape; boxes of one item each are cut as those of gather_args. A box may also hold several small items of one shape: they
// are an axis of their own, the last one of runs and of lines, and the addresses of each say where it lies.
struct gather_shape {
  map::fast_divisor item_runs;   // of one item, where a box holds several
  map::fast_divisor item_lines;  // the same for lines
  std::int32_t item_slot = -1;   // which grid extent counts items; -1: a box is one item or a part of one
  std::uint32_t first = 0;       // item of the block; put in by the block itself
  gather_args box;               // src_begin and src_end count from src, which is null here
};
struct gather_block {
  std::uint32_t shape = 0;
  std::uint32_t first = 0;   // item
  std::uint32_t count = 1;   // items
  std::uint32_t number = 0;  // of the block within an item
};
struct gather_batch_args {
  const unsigned char* shapes =
      nullptr;  // shape_bytes each: the first ones of a gather_shape, as many as any has use for
  const batch_item* items = nullptr;
  const gather_block* blocks = nullptr;
  std::int32_t shape_bytes = 0;  // a multiple of 16
  std::int32_t shape_at = 0;     // where a block keeps its shape in shared memory
};

}  // namespace cornerturn::gpu
