// The runs of a box of short axes in src and in the buffer, for the offer and for box-inl.hpp.
#pragma once

#include <cstdint>

#include "kernels/cpu/blocking.hpp"

namespace cornerturn::kernels::cpu {

struct box_of_runs {
  std::int64_t run = 1;  // words of a src run
  fused_axes runs;       // the axes that lead from one src run to the next
  fused_axes rows;       // the rows of the box, with the buffer, src run after src run, as src
  bool whole = true;     // every column lies inside a src run, and src runs overlap nowhere
};

// The axes of rows and cols that are contiguous in src are a src run.
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
    if (in_run[static_cast<std::size_t>(k)]) continue;  // the same in the buffer
    box.whole = box.whole && base::magnitude(one.src_stride) >= box.run;
    box.runs.axes[box.runs.rank++] = one;
    box.runs.total *= one.extent;
    one.src_stride = words;
    words *= one.extent;
  }
  return box;
}

}  // namespace cornerturn::kernels::cpu
