// The src runs of a box of short axes, and their copy in the buffer. For the offer and for box-inl.hpp.
#pragma once

#include <cstdint>

#include "kernels/cpu/blocking.hpp"

namespace cornerturn::kernels::cpu {

struct box_of_runs {
  std::int64_t run = 1;  // words of a src run
  fused_axes runs;       // the axes that lead from one src run to the next
  fused_axes rows;       // the rows of the box; src strides are strides in the buffer, where src runs are contiguous
  bool whole = true;     // every column is inside a src run, and src runs do not overlap
};

// A src run is made of the axes of rows and cols that are contiguous in src.
inline box_of_runs runs_of_box(const blocking& work) noexcept {
  box_of_runs box;
  box.rows = work.rows;
  std::array<bool, map::max_axes> in_run{};  // of the rows
  int cols_in_run = 0;
  for (bool grown = true; grown;) {
    grown = false;
    for (int k = 0; k < work.rows.rank && !grown; ++k) {
      if (in_run[static_cast<std::size_t>(k)] || work.rows.axes[k].src_stride != box.run) continue;
      in_run[static_cast<std::size_t>(k)] = grown = true;
      box.run *= work.rows.axes[k].extent;
    }
    for (int k = 0; k < work.cols.rank && !grown; ++k) {
      if (work.cols.axes[k].src_stride != box.run) continue;
      grown = true;
      ++cols_in_run;
      box.run *= work.cols.axes[k].extent;
    }
  }
  box.whole = cols_in_run == work.cols.rank;
  std::int64_t words = box.run;
  for (int k = 0; k < box.rows.rank; ++k) {
    axis& one = box.rows.axes[k];
    if (in_run[static_cast<std::size_t>(k)])
      continue;  // inside a src run: the stride in the buffer is the stride in src
    box.whole = box.whole && base::magnitude(one.src_stride) >= box.run;
    box.runs.axes[box.runs.rank++] = one;
    box.runs.total *= one.extent;
    one.src_stride = words;
    words *= one.extent;
  }
  return box;
}

}  // namespace cornerturn::kernels::cpu
