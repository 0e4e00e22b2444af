#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

inline constexpr int assemble_threads = 256;
// The entries of the table of elements that a lane loads at once.
constexpr int assemble_window(std::int64_t word_bytes, int words) { return word_bytes == 1 && words == 1 ? 8 : 4; }

// One axis of a list. The last axis of a list is the one that the grid may cut.
struct assemble_axis {
  std::int64_t stride_bytes = 0;
  map::fast_divisor count;
  std::int32_t smem_stride = 0;  // bytes
};

// `each` times the indices that a box has of the axis in `slot`; without a slot it is `each`.
struct assemble_count {
  std::int32_t each = 1;
  std::int32_t slot = -1;
};

// A box is `rows` runs of src, contiguous `run_bytes` each, and `lines` of dst, contiguous `line_bytes` each. An element
// is one word, or three, or a run of at least 16 bytes that is contiguous on both sides.
struct assemble_args {
  array_args arrays;
  grid blocks;
  std::int32_t row_rank = 0;
  std::int32_t line_rank = 0;
  std::int32_t element_rank = 0;
  assemble_axis rows[max_box_axes];              // strides of src
  assemble_axis lines[max_box_axes];             // strides of dst
  assemble_axis elements[max_box_axes / 2 + 1];  // of a line
  assemble_count row_count;
  assemble_count run_bytes;
  assemble_count line_count;
  assemble_count line_bytes;
  map::fast_divisor element;      // bytes of an element that is a run of bytes
  std::int32_t store_bytes = 32;  // the lines of a box begin and end at multiples: see gpu_traits::store_bytes
  std::int32_t halo = 0;          // indices before the box, of the axis that cuts lines, that are also loaded
  // Byte b of the box is at b ^ (b >> swizzle_shift & swizzle_mask). The mask is for two offsets of 16 bits; 0: no swizzle.
  std::int32_t swizzle_shift = 0;
  std::uint32_t swizzle_mask = 0;
  // Words of 1 and 2 bytes: a lane loads element k ^ turn of its chunk k-th, where turn = lane * 4 >> turn_shift & turn_mask.
  std::int32_t turn_shift = 0;
  std::int32_t turn_mask = 0;  // 0: all lanes load their elements in order
  // Where src descends along an axis of a run, the run begins with the last index. `origin` is the lowest byte of the first run of a
  // whole box with its halo, and offset 0 in shared memory but for its misalignment.
  std::int64_t src_to_origin = 0;  // bytes from the box's first element down to it
  std::int32_t smem_first = 0;     // the offset of the halo's first element, without `entry_bias`
  std::int32_t entry_bias = 0;     // in all entries of the table of elements, so that none is negative
  // Of a whole run with its halo, if the grid cuts an axis along which it descends; else 0.
  std::int32_t descending_run_bytes = 0;
  // The bytes of src that a whole box accesses, counted from its origin: [begin, end).
  std::int64_t span_begin = 0;
  std::int64_t span_end = 0;
  std::int32_t whole_lines = 1;  // 0: src has gaps, and L2 fetches no line of 128 bytes for a granule
  // Neighbouring threads copy neighbouring granules of a run: `granule_threads` of them one run.
  map::fast_divisor granule_threads;
  std::int32_t rows_at_once = 1;  // of all threads
  // A warp walks a stack of lines: 2^line_lanes lanes walk one line, in groups of as many chunks. 2^stack_warps warps share
  // the groups of a stack.
  std::int32_t line_lanes = 0;
  std::int32_t stack_warps = 0;
  std::int32_t whole_groups = 0;  // in lines whose ends are whole sectors; 0: there are none
  std::int32_t edge_groups = 0;   // in any other lines
  map::fast_divisor piece;        // entries of the table of elements before it repeats
  std::int32_t piece_smem_stride = 0;
  std::int32_t most_rows = 0;
  std::int32_t most_lines = 0;
  std::int32_t tables = 0;              // the shared-memory offset of all tables, the bytes of a box
  std::int32_t row_tables = 0;          // of the tables of rows and lines; the table of elements is before them
  std::int32_t element_copy_bytes = 0;  // from one copy of the table of elements to the next: see assemble_tables
};

}  // namespace cornerturn::gpu
