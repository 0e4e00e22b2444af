// Where the rows of a tile begin in src and its columns in dst, when they are several axes: two tables in shared
// memory.
#pragma once

#include "kernels/gpu/grid.cuh"

namespace cornerturn::gpu {

template <bool Chained>
struct job_of {
  using type = tile_job;
};
template <>
struct job_of<true> {
  using type = chain_job;
};
template <bool Chained>
using job_t = typename job_of<Chained>::type;

GPU_INLINE int64_t chain_offset(const chain& axes, uint32_t index) {
  int64_t offset = 0;
  for (int32_t k = 0; k < axes.rank; ++k) {
    const uint32_t above = axes.axes[k].count.quotient(index);
    offset += (index - above * axes.axes[k].count.divisor) * axes.axes[k].stride_bytes;
    index = above;
  }
  return offset;
}

// `rows` and `cols` entries; indices past the end are given too, and never used. `threads` fill them together.
GPU_INLINE void fill_tables(const chain_job& job, const place& here, int64_t* tables, int rows, int cols, int threads) {
  const auto first_col = static_cast<uint32_t>(job.blocks.extent[0] - here.left[0]);
  const auto first_row = static_cast<uint32_t>(job.blocks.extent[1] - here.left[1]);
  for (int i = static_cast<int>(thread_index()); i < rows + cols; i += threads) {
    tables[i] = i < rows ? chain_offset(job.rows, first_row + i) : chain_offset(job.cols, first_col + (i - rows));
  }
}

}  // namespace cornerturn::gpu
