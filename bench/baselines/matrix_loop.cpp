// Finds the matrices in a view, for peers that only transpose matrices.
#include "bench/baselines/baselines.hpp"

namespace cornerturn::bench {

bool matrix_loop::from(const view& what, matrix_loop& out) {
  view flat = folded(what);
  const view_axis* row = nullptr;  // unit stride in dst
  const view_axis* col = nullptr;  // unit stride in src
  for (const view_axis& axis : flat.axes) {
    if (axis.dst_stride == 1) row = &axis;
    if (axis.src_stride == 1) col = &axis;
  }
  if (row == nullptr || col == nullptr || row == col) return false;
  out = {row->extent, col->extent, row->src_stride, col->dst_stride, {}};
  for (const view_axis& axis : flat.axes) {
    if (&axis != row && &axis != col) out.batch.push_back(axis);
  }
  return out.src_ld >= out.cols && out.dst_ld >= out.rows;
}

}  // namespace cornerturn::bench
