// The peers, one file each. A file is compiled only if CMake found its library.
#pragma once

#include <vector>

#include "bench/contender.hpp"

namespace cornerturn::bench {

void add_loops(std::vector<contender>& list);
void add_openblas(std::vector<contender>& list);
void add_eigen(std::vector<contender>& list);
void add_fftw(std::vector<contender>& list);
void add_onednn(std::vector<contender>& list);
void add_hptt(std::vector<contender>& list);

// A view that is a loop over plain matrices: dst[j][i] = src[i][j], i < rows, j < cols, with leading dimensions.
struct matrix_loop {
  std::int64_t rows = 0, cols = 0, src_ld = 0, dst_ld = 0;
  std::vector<view_axis> batch;

  // Effect  fills `out`. Returns false when the folded view has no matrix in it: it is a copy, it has no unit stride in src
  //         or dst, or its rows overlap
  [[nodiscard]] static bool from(const view& what, matrix_loop& out);

  // Effect  calls body(src offset, dst offset), in elements, once for each matrix
  template <class Body>
  void each(const Body& body) const {
    std::int64_t count = 1;
    for (const view_axis& axis : batch) count *= axis.extent;
    for (std::int64_t item = 0; item < count; ++item) {
      std::int64_t rest = item, src = 0, dst = 0;
      for (auto axis = batch.rbegin(); axis != batch.rend(); ++axis) {
        src += rest % axis->extent * axis->src_stride;
        dst += rest % axis->extent * axis->dst_stride;
        rest /= axis->extent;
      }
      body(src, dst);
    }
  }
};

}  // namespace cornerturn::bench
