#include "dist/rows.hpp"

namespace cornerturn::distributed {

// The innermost dimensions that are contiguous in dst are a row, the next one counts rows, and each index of the others is a copy.
row_copies rows_of(const box& one, const strides& dst) {
  row_copies made;
  const auto distance = [&](int d) { return one.dimensions[d].dst_step * dst[one.dimensions[d].axis]; };
  int d = one.rank - 1;
  for (; d >= 0 && distance(d) == made.row; --d) made.row *= one.dimensions[d].extent;
  made.pitch = made.row;
  if (d >= 0 && distance(d) > made.row) {
    made.rows = one.dimensions[d].extent;
    made.pitch = distance(d);
    --d;
  }
  made.dst_offsets.push_back(0);
  for (int outer = 0; outer <= d; ++outer) {
    std::vector<std::int64_t> next;
    for (const std::int64_t begin : made.dst_offsets) {
      for (std::int64_t k = 0; k < one.dimensions[outer].extent; ++k) next.push_back(begin + k * distance(outer));
    }
    made.dst_offsets = std::move(next);
  }
  return made;
}

}  // namespace cornerturn::distributed
