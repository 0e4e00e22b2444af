#include "map/in_place.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace cornerturn::map {
namespace {

bool is_fixed(const axis& one) noexcept { return one.src_stride == one.dst_stride; }

// Groups axes with different strides into pairs; returns false if an axis has no partner.
bool find_pairs(const std::array<axis, max_axes>& loose, int count, in_place_form& made) noexcept {
  std::array<bool, max_axes> taken{};
  for (int k = 0; k < count; ++k) {
    if (taken[k]) continue;
    int other = k + 1;
    while (other < count &&
           (taken[other] || loose[other] != axis{loose[k].extent, loose[k].dst_stride, loose[k].src_stride})) {
      ++other;
    }
    if (other == count) return false;
    taken[other] = true;
    const bool by_dst = base::magnitude(loose[k].dst_stride) < base::magnitude(loose[k].src_stride);
    made.pairs[made.pair_count++] = by_dst ? loose[k] : loose[other];
  }
  std::sort(made.pairs.begin(), made.pairs.begin() + made.pair_count,
            [](const axis& a, const axis& b) { return base::magnitude(a.dst_stride) < base::magnitude(b.dst_stride); });
  return true;
}

}  // namespace

in_place_form in_place(const canonical& form) noexcept {
  in_place_form made;
  if (form.src_offset != form.dst_offset) return made;
  std::array<axis, max_axes> loose{};
  int count = 0;
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    if (!is_fixed(one)) {
      loose[count++] = one;
    } else if (k == form.rank - 1 && one.src_stride == 1) {
      made.unit = one.extent;
    } else {
      made.fixed[made.fixed_count++] = one;
    }
  }
  if (form.empty || count == 0) {
    made.kind = in_place_kind::nothing;
  } else if (find_pairs(loose, count, made)) {
    made.kind = in_place_kind::involution;
  } else if (count == 2) {
    // The axes are ordered by dst stride, largest first, so axis 0 is the columns.
    const axis& cols = loose[0];
    const axis& rows = loose[1];
    if (rows.dst_stride == made.unit && cols.src_stride == made.unit && rows.src_stride == cols.extent * made.unit &&
        cols.dst_stride == rows.extent * made.unit) {
      made.kind = in_place_kind::rectangle;
      made.rows = rows.extent;
      made.cols = cols.extent;
    }
  }
  return made;
}

}  // namespace cornerturn::map
