#pragma once

#include "kernels/gpu/policy/grid.hpp"

namespace cornerturn::gpu {

// Words of a block of 256 threads. One word a thread is fastest for one run; four are fastest for many runs, because a
// run needs more address arithmetic.
inline constexpr int one_run_block_words = 256;
inline constexpr int many_runs_block_words = 1024;

// `runs` of run_bytes bytes, contiguous on both sides. The outer axes number the runs, fastest first.
struct copy_args : array_args {
  std::int64_t run_bytes = 0;
  std::uint32_t runs = 1;
  std::int32_t piece_log2 = 0;  // words of one run that a block copies
  map::fast_divisor pieces;     // of a run
  std::int32_t rank = 0;
  struct outer_axis {
    map::fast_divisor count;
    std::int64_t src_stride_bytes = 0;
    std::int64_t dst_stride_bytes = 0;
  } axes[map::max_axes];
};

}  // namespace cornerturn::gpu
