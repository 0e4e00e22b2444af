// The arguments of the family gather: elements of any size and stride, and boxes of short axes.
#pragma once

#include "kernels/cpu/blocking.hpp"
#include "kernels/cpu/small_item.hpp"

namespace cornerturn::kernels::cpu::gather {

using elements_args = blocking;
using packed_args = packed_blocking;
struct shuffled_args : blocking {
  small_item item;  // an element of the blocking
};

// An axis that boxes cut.
struct box_cut {
  std::int64_t tile = 1;  // its indices of a box
  std::int64_t last = 1;  // of the last box
  std::int64_t boxes = 1;
};

// A unit is a box, of at most 64 KiB. Of the axes of a box, `rows` are contiguous in dst, and the axes of a src run in src. Only the
// last one of the rows and the last one of a src run can be cut.
struct box_args {
  std::int64_t word_bytes = 1;  // strides count words, but src strides of rows and cols
  std::int64_t element_bytes = 1;
  fused_axes rows;             // src strides are bytes in the buffer, where src runs are `pitch` bytes apart
  fused_axes cols;             // the other axes of a box; of these too
  fused_axes runs;             // lead from one src run to the next
  fused_axes outer;            // boxes; the last two axes count boxes along the cut column and the cut row
  std::int64_t run_bytes = 1;  // of a src run
  std::int64_t pitch = 1;
  box_cut row_cut;
  box_cut col_cut;
  bool cut_row_is_in_run = false;  // the last axis of the rows is the last axis of src runs, too
  std::int64_t boxes_ahead = 0;    // between a box and its prefetch
  std::int64_t cols_ahead = 1;     // between a dst run and its prefetch
  bool streaming = false;
};

// The extents of a box: fewer at an edge.
struct box_extents {
  std::int64_t rows, cols, runs, run_bytes;

  box_extents(const box_args& work, std::int64_t unit) noexcept
      : rows(work.rows.total), cols(work.cols.total), runs(work.runs.total), run_bytes(work.run_bytes) {
    const auto part = [](std::int64_t& all, const box_cut& cut) { all = all / cut.tile * cut.last; };
    if (unit % work.row_cut.boxes == work.row_cut.boxes - 1) {
      part(rows, work.row_cut);
      part(work.cut_row_is_in_run ? run_bytes : runs, work.row_cut);
    }
    if (unit / work.row_cut.boxes % work.col_cut.boxes == work.col_cut.boxes - 1) {
      part(cols, work.col_cut);
      part(run_bytes, work.col_cut);
    }
  }
};

struct strided_args {
  std::int64_t word_bytes = 1;
  fused_axes outer;
};

}  // namespace cornerturn::kernels::cpu::gather
